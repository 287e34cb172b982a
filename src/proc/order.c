/* order.c - what the operator wants of all processes, in main. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "proc/child.h"
#include "proc/errand.h"
#include "proc/log_change.h"
#include "proc/order.h"
#include "proc/supervisor.h"

static void
order_answer(struct supervisor *s, struct ipc_order_done *done)
{
	struct order *order = &s->order;

	done->ticket = order->ticket;
	if (order->asker != NULL)
		(void)child_send(order->asker, IPC_ORDER_DONE, done,
			sizeof(*done), NULL, 0);
	order->asker = NULL;
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

/* Main's own part. */
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

	/* One at a time, so that nobody makes much of them wait. One of an xfrd
	 * that has died makes way. */
	if (s->errands[ERRAND_ORDER].left > 0 && s->order.asker != NULL) {
		log_error("refused an ORDER of xfrd: one is being obeyed");
		return;
	}
	memcpy(&order, m->payload, sizeof(order));
	errand_forget(s, ERRAND_ORDER);
	s->order.asker = xfrd;
	s->order.ticket = order.ticket;
	done.err = order_obey(s, &order);
	done.error = (uint32_t)errno;
	if (done.err == NSD_OK)
		done.err = errand_begin(s, ERRAND_ORDER, &order,
			ROLE_CHILDREN);
	if (done.err != NSD_OK)
		order_answer(s, &done);
}

void
order_on_end(struct supervisor *s, const struct child *child)
{
	if (s->order.asker == child)
		s->order.asker = NULL;
}

enum nsd_err
order_init(struct supervisor *s)
{
	return errand_init(s, ERRAND_ORDER, order_on_done);
}
