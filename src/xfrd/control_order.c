/* control_order.c - orders of the operator to all processes (ipc_order): main
 * obeys, has the others obey, and answers. */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* Octets of an answer. */
#define TEXT_MAX 256u
#define NOT_ALL "error done, but not by all processes yet: "

/* ---- from main ----------------------------------------------------------- */

static void
order_print(const struct ipc_order_done *done, char out[TEXT_MAX])
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
			done->what == ORDER_LOG_REOPEN
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
order_on_answer(struct xfrd *xfrd, struct ctl_call *call,
	const struct ipc_message *answer)
{
	struct ipc_order_done done;
	char text[TEXT_MAX];

	memcpy(&done, answer->payload, sizeof(done));
	order_print(&done, text);
	ctl_printf(call, "%s\n", text);
	ctl_end(call);
}

/* Takes the answer to an order that no client waits for. */
static void
order_on_answer_unheard(void *ctx, const struct ipc_message *answer)
{
	struct ipc_order_done done;
	char text[TEXT_MAX];

	assert(answer != NULL); /* as in question_on_end */
	memcpy(&done, answer->payload, sizeof(done));
	order_print(&done, text);
	if (done.err != NSD_OK)
		log_error("control: %s: %s",
			done.what == ORDER_LOG_REOPEN ? "log_reopen"
						      : "verbosity",
			text);
}

/* ---- to main ------------------------------------------------------------- */

/* Has an order obeyed; takes the call. */
static void
order_add(struct xfrd *xfrd, struct ctl_call *call, enum ipc_order_what what,
	uint32_t value)
{
	const struct ipc_order order = {.what = what, .value = value};
	const struct link_parcel parcel = {
		.type = IPC_ORDER,
		.payload = &order,
		.len = sizeof(order),
	};
	enum nsd_err err;

	if (!ctl_command(call)->no_wait) {
		control_ask_main(xfrd, call, &parcel, order_on_answer);
		return;
	}
	err = role_ask(&xfrd->role, &parcel, order_on_answer_unheard, NULL);
	if (err == NSD_OK) {
		ctl_printf(call, "ok\n");
		ctl_end(call);
	} else {
		control_refuse(call, err);
	}
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
