/*
 * control_order.c - what all processes have to do (ipc_order): main does it,
 * has the others do it, and answers. It takes one order at a time.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* One that is with main, the first, or waits for that. */
struct control_order {
	struct cds_list_head node; /* of control.orders */
	struct ctl_call *call;
	struct ipc_order order;
};

/* ---- to main ------------------------------------------------------------- */

static void
order_next(struct xfrd *xfrd)
{
	struct control *control = &xfrd->control;
	struct control_order *one = list_first_or_null(&control->orders,
		struct control_order, node);

	if (one == NULL || control->order_ticket == one->order.ticket)
		return;
	control->order_ticket = one->order.ticket;
	role_send(&xfrd->role, IPC_ORDER, &one->order, sizeof(one->order));
}

static void
order_add(struct xfrd *xfrd, struct ctl_call *call, enum ipc_order_what what,
	uint32_t value)
{
	struct control_order *one = calloc(1, sizeof(*one));

	if (one == NULL) {
		ctl_printf(call, "error out of memory\n");
		ctl_end(call);
		return;
	}
	one->call = call;
	one->order = (struct ipc_order){
		.ticket = ++xfrd->control.tickets,
		.what = what,
		.value = value,
	};
	cds_list_add_tail(&one->node, &xfrd->control.orders);
	order_next(xfrd);
}

/* ---- from main ----------------------------------------------------------- */

static void
order_print(const struct control_order *one,
	const struct ipc_order_done *done)
{
	struct ctl_call *call = one->call;

	switch (done->err) {
	case NSD_OK:
		ctl_printf(call, "ok\n");
		break;
	case NSD_E_AGAIN:
		if (done->role == ROLE_WORKER)
			ctl_printf(call, "error server %u does not answer\n",
				(unsigned)done->index + 1);
		else
			ctl_printf(call, "error %s does not answer\n",
				ipc_role_name((enum ipc_role)done->role));
		break;
	case NSD_E_SYSTEM:
		ctl_printf(call, "error %s: %s\n",
			one->order.what == ORDER_LOG_REOPEN
				? "cannot open the log file"
				: "main refuses",
			strerror((int)done->error));
		break;
	default:
		ctl_printf(call, "error %s\n",
			err_text((enum nsd_err)done->err));
		break;
	}
}

void
control_order_take(struct xfrd *xfrd, const struct ipc_message *m)
{
	struct control_order *one = list_first_or_null(&xfrd->control.orders,
		struct control_order, node);
	struct ipc_order_done done;

	memcpy(&done, m->payload, sizeof(done));
	if (one == NULL || one->order.ticket != done.ticket)
		return;
	cds_list_del(&one->node);
	order_print(one, &done);
	ctl_end(one->call);
	free(one);
	order_next(xfrd);
}

/* ---- verbs --------------------------------------------------------------- */

void
control_on_log_reopen(struct xfrd *xfrd, struct ctl_call *call)
{
	order_add(xfrd, call, ORDER_LOG_REOPEN, 0);
}

void
control_on_verbosity(struct xfrd *xfrd, struct ctl_call *call)
{
	const char *text = ctl_argument(call, 0);
	unsigned long value;
	char *end;

	if (text == NULL) {
		ctl_printf(call, "verbosity %u\n", log_verbosity());
		ctl_end(call);
		return;
	}
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || value > INT32_MAX) {
		ctl_printf(call, "error in verbosity number syntax: %s\n",
			text);
		ctl_end(call);
		return;
	}
	order_add(xfrd, call, ORDER_VERBOSITY, (uint32_t)value);
}
