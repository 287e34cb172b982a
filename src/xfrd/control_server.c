/* control_server.c - verbs about the server as a whole. */
#include "config.h"

#include "base/log.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* The call is answered when main tells xfrd to end (control_finish), which main
 * does in any case. */
void
control_on_stop(struct xfrd *xfrd, struct ctl_call *call)
{
	role_send(&xfrd->role, IPC_STOP, NULL, 0);
}

void
control_on_serverpid(struct xfrd *xfrd, struct ctl_call *call)
{
	ctl_printf(call, "%ld\n", (long)xfrd->role.server->main_pid);
	ctl_end(call);
}
