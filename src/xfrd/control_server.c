/* control_server.c - verbs about the server as a whole. */
#include "config.h"

#include "base/log.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* It is answered when main tells us to end (control_finish), which it does
 * whatever else happens. */
void
control_on_stop(struct xfrd *xfrd, struct ctl_call *call)
{
	role_send(&xfrd->role, IPC_STOP, NULL, 0);
}

void
control_on_status(struct xfrd *xfrd, struct ctl_call *call)
{
	if (ctl_command(call)->json) {
		control_json_status(xfrd, call);
	} else {
		ctl_printf(call, "version: %s\n", PACKAGE_VERSION);
		ctl_printf(call, "verbosity: %u\n", log_verbosity());
		if (RATELIMIT)
			ctl_printf(call, "ratelimit: %u\n",
				xfrd->role.server->conf->server.rrl_ratelimit);
	}
	ctl_end(call);
}

void
control_on_serverpid(struct xfrd *xfrd, struct ctl_call *call)
{
	ctl_printf(call, "%ld\n", (long)xfrd->role.server->main_pid);
	ctl_end(call);
}
