/* noted.c - the loader as xfrd sees it when zone files are written: it notes
 * each, after a while. */
#include "config.h"

#include <event2/event.h>
#include <string.h>
#include <sys/time.h>

#include "sim/fate.h"
#include "xfrd/xfrd.h"

enum nsd_err __wrap_xfrd_loader_note_file(struct xfrd *xfrd,
	const uint8_t *apex, const struct ipc_written *written,
	request_on_end *on_end, void *ctx);

/* One file is written at a time. */
static struct {
	request_on_end *on_end;
	void *ctx;
} noted;

static void
noted_tell(evutil_socket_t fd, short what, void *arg)
{
	noted.on_end(noted.ctx, NULL);
}

enum nsd_err
__wrap_xfrd_loader_note_file(struct xfrd *xfrd, const uint8_t *apex,
	const struct ipc_written *written, request_on_end *on_end, void *ctx)
{
	static const struct timeval at_once = {.tv_sec = 0};

	if (one_in(10))
		return NSD_E_AGAIN;
	noted.on_end = on_end;
	noted.ctx = ctx;
	return event_base_once(xfrd->role.base, -1, EV_TIMEOUT, noted_tell,
		       NULL, &at_once) == 0 ? NSD_OK : NSD_E_MEMORY;
}
