/* control_reload.c - the verb reload: has the loader read zone files. */
#include "config.h"

#include <string.h>

#include "xfrd/control.h"
#include "xfrd/xfrd.h"

/* Prints the outcome. len: of all reasons. */
static void
reload_print(struct ctl_call *call, const struct ipc_read_done *done,
	size_t len)
{
	size_t failed = done->failed_len < len ? done->failed_len : len;

	if (done->err == NSD_E_ZONE)
		ctl_printf(call, "error %u zone%s cannot be read:\n%.*s",
			(unsigned)done->failed, done->failed == 1 ? "" : "s",
			(int)failed, done->reasons);
	if (done->before > 0)
		ctl_printf(call, "%s%u zone%s cannot be read, as before:\n"
				 "%.*s",
			done->err == NSD_OK ? "warning " : "and ",
			(unsigned)done->before, done->before == 1 ? "" : "s",
			(int)(len - failed), done->reasons + failed);
	if (done->err == NSD_OK)
		ctl_printf(call, "ok\n");
}

/* Takes the loader's answer: ok, or the number of zones that have failed, and
 * why. */
void
control_on_read(void *ctx, const struct ipc_message *answer)
{
	struct ctl_call *call = ctx;
	struct ipc_read_done done;
	size_t len;

	if (answer == NULL) {
		ctl_printf(call, "error the loader died while it read zones:"
				 " see the log, and try again\n");
		ctl_end(call);
		return;
	}
	memcpy(&done, answer->payload, answer->len);
	len = answer->len - offsetof(struct ipc_read_done, reasons);
	if (done.err == NSD_OK || done.err == NSD_E_ZONE)
		reload_print(call, &done, len);
	else
		ctl_printf(call, "error %s\n",
			err_text((enum nsd_err)done.err));
	ctl_end(call);
}

/* Ends a reload without a client: scripts made for NSD go on at once. */
static void
reload_on_end_unheard(void *ctx, const struct ipc_message *answer)
{
}

void
control_on_reload(struct xfrd *xfrd, struct ctl_call *call)
{
	bool waits = !ctl_command(call)->no_wait;
	const uint8_t *apex;
	enum nsd_err err;

	if (!control_find_apex(xfrd, call, &apex))
		return;
	err = xfrd_loader_read(xfrd, apex,
		waits ? control_on_read : reload_on_end_unheard,
		waits ? call : NULL);
	if (apex == NULL)
		xfrd_folder_read_all(xfrd);
	if (err == NSD_OK && waits) {
		ctl_hooks(call)->ctx = xfrd;
		ctl_hooks(call)->on_progress = control_progress_of_loader;
		return;
	}
	if (err == NSD_OK)
		ctl_printf(call, "ok\n");
	else if (err == NSD_E_AGAIN)
		ctl_printf(call, "error the loader has too much to do\n");
	else
		ctl_printf(call, "error %s\n", err_text(err));
	ctl_end(call);
}
