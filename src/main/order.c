/* order.c - orders of the operator to all processes, in main. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "main/barrier.h"
#include "main/child.h"
#include "main/log_change.h"
#include "main/order.h"
#include "main/supervisor.h"

static void
order_answer(struct supervisor *s, struct ipc_order_done *done)
{
	done->what = s->order.what;
	asker_answer(s, &s->order.asker, IPC_ORDER, done, sizeof(*done));
}

static void
order_on_done(struct supervisor *s, const struct child *late)
{
	struct ipc_order_done done = {.err = NSD_OK};

	if (late != NULL) {
		done.err = NSD_E_AGAIN;
		done.role = late->role;
		done.index = late->index;
	}
	order_answer(s, &done);
}

/* Does main's part of an order. */
static enum nsd_err
order_obey(struct supervisor *s, const struct ipc_order *order)
{
	switch (order->what) {
	case ORDER_LOG_REOPEN:
		return log_change_reopen(s);
	case ORDER_VERBOSITY:
		log_set_verbosity(order->value);
		return NSD_OK;
	default:
		errno = EINVAL;
		return NSD_E_SYSTEM;
	}
}

void
order_on_order(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m)
{
	struct ipc_order_done done = {.err = NSD_OK};
	struct ipc_order order;

	memcpy(&order, m->payload, sizeof(order));
	barrier_forget(s, BARRIER_ORDER);
	s->order.asker = asker_of(xfrd, m);
	s->order.what = (enum ipc_order_what)order.what;
	done.err = order_obey(s, &order);
	done.error = (uint32_t)errno;
	if (done.err == NSD_OK)
		done.err = barrier_begin(s, BARRIER_ORDER, &order,
			ROLE_CHILDREN);
	if (done.err != NSD_OK)
		order_answer(s, &done);
}

enum nsd_err
order_init(struct supervisor *s)
{
	return barrier_init(s, BARRIER_ORDER, order_on_done);
}
