/*
 * control_order.c - what all processes have to do (ipc_order): main does it,
 * has the others do it, and answers. It takes one order at a time.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* Orders that nobody waits for, at most: each is some memory. */
#define UNHEARD_MAX 16u
/* Octets of an answer. */
#define TEXT_MAX 256u
#define NOT_ALL "error done, but not by all processes yet: "

/* One that is with main, the first, or waits for that. */
struct control_order {
	struct cds_list_head node; /* of control.orders */
	struct ctl_call *call;     /* NULL: nobody waits for it */
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
order_say(struct ctl_call *call, const char *answer)
{
	ctl_printf(call, "%s\n", answer);
	ctl_end(call);
}

/* Takes the call. */
static void
order_add(struct xfrd *xfrd, struct ctl_call *call, enum ipc_order_what what,
	uint32_t value)
{
	bool hasty = ctl_command(call)->no_wait;
	struct control_order *one;

	if (hasty && xfrd->control.unheard_orders == UNHEARD_MAX) {
		order_say(call, "error main has too much to do");
		return;
	}
	one = calloc(1, sizeof(*one));
	if (one == NULL) {
		order_say(call, "error out of memory");
		return;
	}
	one->call = hasty ? NULL : call;
	xfrd->control.unheard_orders += hasty;
	one->order = (struct ipc_order){
		.ticket = ++xfrd->control.tickets,
		.what = what,
		.value = value,
	};
	cds_list_add_tail(&one->node, &xfrd->control.orders);
	order_next(xfrd);
	if (hasty)
		order_say(call, "ok");
}

/* ---- from main ----------------------------------------------------------- */

static void
order_print(const struct control_order *one,
	const struct ipc_order_done *done, char out[TEXT_MAX])
{
	switch (done->err) {
	case NSD_OK:
		snprintf(out, TEXT_MAX, "ok");
		break;
	case NSD_E_AGAIN:
		if (done->role == ROLE_WORKER)
			snprintf(out, TEXT_MAX, NOT_ALL "server %u does not"
				" answer", (unsigned)done->index + 1);
		else
			snprintf(out, TEXT_MAX, NOT_ALL "%s does not answer",
				ipc_role_name((enum ipc_role)done->role));
		break;
	case NSD_E_SYSTEM:
		snprintf(out, TEXT_MAX, "error %s: %s",
			one->order.what == ORDER_LOG_REOPEN
				? "cannot open the log file"
				: "main refuses",
			strerror((int)done->error));
		break;
	default:
		snprintf(out, TEXT_MAX, "error %s",
			err_text((enum nsd_err)done->err));
		break;
	}
}

static void
order_end(struct xfrd *xfrd, const struct control_order *one,
	const struct ipc_order_done *done)
{
	char text[TEXT_MAX];

	order_print(one, done, text);
	if (one->call != NULL) {
		order_say(one->call, text);
		return;
	}
	xfrd->control.unheard_orders--;
	if (done->err != NSD_OK)
		log_error("control: %s: %s",
			one->order.what == ORDER_LOG_REOPEN ? "log_reopen"
							    : "verbosity",
			text);
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
	order_end(xfrd, one, &done);
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
