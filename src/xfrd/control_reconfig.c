/* control_reconfig.c - the verbs reconfig and repattern: nsd.conf is read
 * anew. */
#include "config.h"

#include <string.h>

#include "ctl/call.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_reconfig.h"

/* What waits is said last, behind warnings. */
static bool
reconfig_says_what_waits(const char *text, size_t len)
{
	static const char end[] = "waits for a restart\n";
	const size_t end_len = sizeof(end) - 1;

	return len >= end_len
		&& memcmp(text + len - end_len, end, end_len) == 0;
}

static void
reconfig_on_end(void *ctx, const struct ipc_reconfigured *what, size_t len)
{
	struct ctl_call *call = ctx;

	switch ((enum ipc_reconfigured_what)what->what) {
	case RECONFIGURED_NOTHING:
		/* What waits for a restart. */
		ctl_write(call, what->text, len);
		ctl_printf(call, "reconfig completed: %s\nok\n",
			reconfig_says_what_waits(what->text, len)
				? "no changes applied, all of them wait for a"
				  " restart"
				: "no changes detected");
		break;
	case RECONFIGURED_CHANGED:
		/* What has changed, and what waits. */
		ctl_write(call, what->text, len);
		ctl_printf(call, "reconfig completed: changes applied\nok\n");
		break;
	case RECONFIGURED_BEGUN:
		ctl_write(call, what->text, len);
		ctl_printf(call, "reconfig begun: changes are being applied\n"
				 "ok\n");
		break;
	case RECONFIGURED_LATE:
	case RECONFIGURED_UNREAD:
		/* The last line is an error. */
		ctl_write(call, what->text, len);
		break;
	case RECONFIGURED_REFUSED:
		/* Why, in lines that begin with the name of the file. */
		ctl_write(call, what->text, len);
		ctl_printf(call, "error reconfig refused: nothing has"
				 " changed\n");
		break;
	}
	ctl_end(call);
}

void
control_on_reconfig(struct xfrd *xfrd, struct ctl_call *call)
{
	ctl_printf(call, "reconfig start, read %s\n",
		xfrd->role.server->conf->file);
	ctl_hooks(call)->ctx = xfrd;
	ctl_hooks(call)->on_progress = control_progress_of_loader;
	xfrd_reconfig_ask(xfrd, ctl_command(call)->no_wait, reconfig_on_end,
		call);
}
