/* control_reconfig.c - the verbs reconfig and repattern: nsd.conf is read
 * anew. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ctl/call.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_save.h"

/* Prints the answer: its text names changes, options that wait, or the reason
 * of a refusal. */
static void
reconfig_on_answer(struct xfrd *xfrd, struct ctl_call *call,
	const struct ipc_message *answer)
{
	struct ipc_reconfigured what;

	memcpy(&what, answer->payload, answer->len);
	/* Zones go later, when xfrd follows: updates wait until then. */
	if (what.what == RECONFIGURED_BEGUN)
		xfrd_follow_release_later(xfrd);
	else
		xfrd_client_update_release(xfrd, NULL);
	ctl_write(call, what.text, answer->len - IPC_RECONFIGURED_MIN);
	switch ((enum ipc_reconfigured_what)what.what) {
	case RECONFIGURED_NOTHING:
		ctl_printf(call, "reconfig completed: no changes detected\n"
				 "ok\n");
		break;
	case RECONFIGURED_WAITS:
		ctl_printf(call, "reconfig completed: no changes applied, all"
				 " of them wait for a restart\nok\n");
		break;
	case RECONFIGURED_CHANGED:
		ctl_printf(call, "reconfig completed: changes applied\nok\n");
		break;
	case RECONFIGURED_BEGUN:
		ctl_printf(call, "reconfig begun: changes are being applied\n"
				 "ok\n");
		break;
	case RECONFIGURED_LATE:
	case RECONFIGURED_UNREAD:
		/* The last line is an error. */
		break;
	case RECONFIGURED_REFUSED:
		ctl_printf(call, "error reconfig refused: nothing has"
				 " changed\n");
		break;
	}
	ctl_end(call);
}

/* A reconfig that waits for files to be written. */
struct reconfig_save {
	struct xfrd *xfrd;
	struct ctl_call *call;
};

static void
reconfig_ask(struct xfrd *xfrd, struct ctl_call *call)
{
	const struct ipc_reconfig ask = {
		.no_wait = ctl_command(call)->no_wait,
	};

	if (!control_ask_main(xfrd, call, &(struct link_message){
		    .type = IPC_RECONFIG,
		    .payload = &ask,
		    .len = sizeof(ask),
	    }, reconfig_on_answer))
		xfrd_client_update_release(xfrd, NULL);
}

/* Files that cannot be written hold nothing up: what is wrong with them may be
 * what the operator mends. */
static void
reconfig_on_saved(void *ctx, const char *why)
{
	struct reconfig_save *save = ctx;
	struct xfrd *xfrd = save->xfrd;
	struct ctl_call *call = save->call;

	free(save);
	if (*why != '\0')
		ctl_printf(call, "warning %s\n", why);
	reconfig_ask(xfrd, call);
}

void
control_on_reconfig(struct xfrd *xfrd, struct ctl_call *call)
{
	struct reconfig_save *save = malloc(sizeof(*save));
	enum nsd_err err = NSD_E_MEMORY;

	ctl_printf(call, "reconfig start, read %s\n",
		xfrd->role.server->conf->file);
	ctl_hooks(call)->ctx = xfrd;
	ctl_hooks(call)->on_progress = control_progress_of_loader;
	if (save != NULL) {
		*save = (struct reconfig_save){xfrd, call};
		err = xfrd_save(xfrd, NULL, reconfig_on_saved, save);
	}
	if (err != NSD_OK) {
		free(save);
		control_refuse(call, err);
	}
}
