/* control_broadcast.c - commands of the operator to all processes
 * (ipc_broadcast): main obeys, has the others obey, and answers. */
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
broadcast_print(const struct ipc_broadcast_done *done, char out[TEXT_MAX])
{
	switch (done->err) {
	case NSD_OK:
		snprintf(out, TEXT_MAX, "ok");
		break;
	case NSD_E_NOT_FOUND:
		snprintf(out, TEXT_MAX, "error nsd.conf chooses no messages "
			"for dnstap, and has no query-log");
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
			done->what == BROADCAST_LOG_REOPEN
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
broadcast_on_answer(struct xfrd *xfrd, struct ctl_call *call,
	const struct ipc_message *answer)
{
	struct ipc_broadcast_done done;
	char text[TEXT_MAX];

	memcpy(&done, answer->payload, sizeof(done));
	broadcast_print(&done, text);
	ctl_printf(call, "%s\n", text);
	ctl_end(call);
}

/* Takes the answer to a broadcast that no client waits for. */
static void
broadcast_on_answer_unheard(void *ctx, const struct ipc_message *answer)
{
	struct ipc_broadcast_done done;
	char text[TEXT_MAX];

	assert(answer != NULL); /* as in question_on_end */
	memcpy(&done, answer->payload, sizeof(done));
	broadcast_print(&done, text);
	if (done.err != NSD_OK)
		log_error("control: %s: %s",
			done.what == BROADCAST_LOG_REOPEN ? "log_reopen"
			: done.what == BROADCAST_TAP ? "dnstap_on, dnstap_off"
						     : "verbosity",
			text);
}

/* ---- to main ------------------------------------------------------------- */

/* Has a broadcast obeyed; takes the call. */
static void
broadcast_add(struct xfrd *xfrd, struct ctl_call *call,
	enum ipc_broadcast_what what, uint32_t value)
{
	const struct ipc_broadcast broadcast = {.what = what, .value = value};
	const struct link_message message = {
		.type = IPC_BROADCAST,
		.payload = &broadcast,
		.len = sizeof(broadcast),
	};
	enum nsd_err err;

	if (!ctl_command(call)->no_wait) {
		control_ask_main(xfrd, call, &message, broadcast_on_answer);
		return;
	}
	err = role_ask(&xfrd->role, &message, broadcast_on_answer_unheard,
		NULL);
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
	broadcast_add(xfrd, call, BROADCAST_LOG_REOPEN, 0);
}

void
control_on_dnstap_on(struct xfrd *xfrd, struct ctl_call *call)
{
	broadcast_add(xfrd, call, BROADCAST_TAP, 1);
}

void
control_on_dnstap_off(struct xfrd *xfrd, struct ctl_call *call)
{
	broadcast_add(xfrd, call, BROADCAST_TAP, 0);
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
	broadcast_add(xfrd, call, BROADCAST_VERBOSITY, (uint32_t)value);
}
