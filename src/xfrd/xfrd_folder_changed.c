/* xfrd_folder_changed.c - has the loader read files of folders that have
 * changed. */
#include "config.h"

#include <event2/event.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_folder.h"

/* The pause before the loader is asked again. */
#define RETRY_SEC 10

/* Outcomes are in the log. */
static void
folders_on_changed_read(void *ctx, const struct ipc_message *answer)
{
	struct xfrd *xfrd = ctx;

	xfrd->folders.reads = false;
	xfrd_folder_read_changed(xfrd);
}

void
xfrd_folder_read_changed(struct xfrd *xfrd)
{
	static const struct timeval retry = {.tv_sec = RETRY_SEC};
	struct xfrd_folders *folders = &xfrd->folders;

	if (folders->changed == 0 || folders->reads)
		return;
	if (xfrd_loader_read(xfrd,
		    folders->changed == 1 ? folders->changed_apex : NULL,
		    folders_on_changed_read, xfrd)
		== NSD_OK) {
		folders->reads = true;
		folders->changed = 0;
	} else {
		event_add(folders->event, &retry);
	}
}
