/* order.c - what the operator wants of all processes, in main. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "base/log.h"
#include "proc/child.h"
#include "proc/children.h"
#include "proc/order.h"

/* How long a child may take. One that hangs is replaced some time later. */
#define LATE_SEC 10

/* ---- its end ------------------------------------------------------------- */

static void
order_answer(struct supervisor *s, struct ipc_order_done *done)
{
	struct order *order = &s->order;

	event_del(order->late_event);
	order->left = 0;
	done->ticket = order->ticket;
	if (order->asker != NULL)
		(void)child_send(order->asker, IPC_ORDER_DONE, done,
			sizeof(*done), NULL, 0);
	order->asker = NULL;
}

/* Has a child no more counted. */
static void
order_count(struct supervisor *s, struct child *child)
{
	struct ipc_order_done done = {.err = NSD_OK};

	if (s->order.left == 0 || child->owes != s->order.number)
		return;
	child->owes = 0;
	if (--s->order.left == 0)
		order_answer(s, &done);
}

static void
order_find_late(struct child *child, void *arg)
{
	struct ipc_order_done *done = arg;

	if (child->owes != child->supervisor->order.number
		|| done->role != 0)
		return;
	done->role = child->role;
	done->index = child->index;
}

static void
order_on_late(evutil_socket_t fd, short what, void *arg)
{
	struct ipc_order_done done = {.err = NSD_E_AGAIN};
	struct supervisor *s = arg;

	children_walk(s, order_find_late, &done);
	order_answer(s, &done);
}

/* ---- its begin ----------------------------------------------------------- */

static void
order_tell(struct child *child, void *arg)
{
	const struct ipc_order *order = arg;
	struct supervisor *s = child->supervisor;
	int fd = order->what == ORDER_LOG_REOPEN ? log_fd() : -1;

	if (child->reaped || child->told_stop)
		return;
	/* What cannot be told is dead, or killed: it is reaped. */
	child->owes = s->order.number;
	s->order.left++;
	(void)child_send(child, IPC_OBEY, order, sizeof(*order), &fd,
		fd != -1);
}

/* Main's own part. */
static enum nsd_err
order_obey(const struct ipc_order *order)
{
	switch (order->what) {
	case ORDER_LOG_REOPEN:
		return log_reopen();
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
	const struct timeval late = {.tv_sec = LATE_SEC};
	struct ipc_order_done done = {.err = NSD_OK};
	struct ipc_order order;

	/* One at a time, so that nobody makes much of them wait. One of an xfrd
	 * that has died makes way. */
	if (s->order.left > 0 && s->order.asker != NULL) {
		log_error("refused an ORDER of xfrd: one is being obeyed");
		return;
	}
	memcpy(&order, m->payload, sizeof(order));
	s->order.asker = xfrd;
	s->order.ticket = order.ticket;
	s->order.number++;
	s->order.left = 0;
	done.err = order_obey(&order);
	done.error = (uint32_t)errno;
	if (done.err != NSD_OK || event_add(s->order.late_event, &late) == -1) {
		if (done.err == NSD_OK)
			done.err = NSD_E_MEMORY;
		order_answer(s, &done);
		return;
	}
	order.ticket = s->order.number;
	children_walk(s, order_tell, &order);
	if (s->order.left == 0)
		order_answer(s, &done);
}

void
order_on_obeyed(struct supervisor *s, struct child *child,
	const struct ipc_message *m)
{
	uint64_t number;

	memcpy(&number, m->payload, sizeof(number));
	if (number == s->order.number)
		order_count(s, child);
}

void
order_on_end(struct supervisor *s, struct child *child)
{
	if (s->order.asker == child)
		s->order.asker = NULL;
	order_count(s, child);
}

enum nsd_err
order_init(struct supervisor *s)
{
	s->order.late_event = event_new(s->base, -1, 0, order_on_late, s);
	return s->order.late_event != NULL ? NSD_OK : NSD_E_MEMORY;
}
