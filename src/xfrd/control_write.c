/* control_write.c - the verb write: has zone files written. */
#include "config.h"

#include <string.h>

#include "conf/conf.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* Answers the command. ok: all changes are in zone files, flushed. If many
 * zones failed, one is named; the log and zonestatus have the others. */
static void
write_on_end(void *ctx, const struct xfrd_write_result *result)
{
	const struct xfrd_written *last = &result->last_failed;
	struct ctl_call *call = ctx;

	if (result->failed == 0)
		ctl_printf(call, "ok\n");
	else
		ctl_printf(call, "error %u zone%s cannot be written: %s%s\n",
			(unsigned)result->failed,
			result->failed == 1 ? "" : "s",
			xfrd_written_why(last),
			last->to == IPC_WRITTEN_COPY
				? ", a copy is in xfrdir"
				: "");
	ctl_end(call);
}

static void
write_on_progress(struct ctl_call *call, struct ctl_progress *progress)
{
	const struct xfrd *xfrd = ctl_hooks(call)->ctx;

	/* A single zone has no count. */
	if (ctl_argument(call, 0) != NULL
		|| xfrd->writes.state != XFRD_WRITES_ROUND)
		return;
	progress->done = xfrd->writes.next;
	progress->all = xfrd->zones.table.end;
}

void
control_on_write(struct xfrd *xfrd, struct ctl_call *call)
{
	bool waits = !ctl_command(call)->no_wait;
	const uint8_t *apex;
	enum nsd_err err;

	if (!control_find_apex(xfrd, call, &apex))
		return;
	/* The hooks are set before: the call may end in xfrd_write. */
	ctl_hooks(call)->ctx = xfrd;
	ctl_hooks(call)->on_progress = write_on_progress;
	err = xfrd_write(xfrd, apex,
		waits ? write_on_end : NULL, waits ? call : NULL);
	if (err == NSD_OK && waits)
		return;
	if (err == NSD_OK)
		ctl_printf(call, "ok\n");
	else if (err == NSD_E_DENIED)
		ctl_printf(call, "error the journal cannot be used\n");
	else if (err == NSD_E_LIMIT)
		ctl_printf(call, "error too many zones are to be written\n");
	else
		ctl_printf(call, "error %s\n", err_text(err));
	ctl_end(call);
}
