/* xfrd.c - the role that will keep secondary zones fresh and take control
 * commands; for now it only lives and ends with the others. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "ipc/handlers.h"
#include "proc/affinity.h"
#include "proc/role.h"
#include "store/store.h"

struct xfrd {
	struct role role;
	struct store_reader *reader;
};

#define XFRD_HANDLERS(X) ROLE_HANDLERS(X)

static void (*const xfrd_handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {XFRD_HANDLERS(IPC_HANDLER)};
IPC_CHECK_HANDLERS(XFRD_HANDLERS, IPC_TO_XFRD);

static enum nsd_err
xfrd_init(struct xfrd *xfrd, const struct role_start *start)
{
	int keep[] = {start->channel.fd, start->stop_fd, log_fd()};
	enum nsd_err err;

	xfrd->role.handlers = xfrd_handlers;
	role_init_name("xfrd", "xfrd");
	role_init_death(start->server, true);
	affinity_set_xfrd(&start->server->conf->server);
	err = store_reader_open(start->store, start->reader_slot, "xfrd",
		&xfrd->reader);
	if (err != NSD_OK)
		return err;
	fs_close_all_but(keep, sizeof(keep) / sizeof(*keep));
	return role_init_loop(&xfrd->role, start);
}

void
xfrd_main(const struct role_start *start)
{
	struct xfrd *xfrd = calloc(1, sizeof(*xfrd));
	enum nsd_err err = xfrd != NULL ? xfrd_init(xfrd, start)
					: NSD_E_MEMORY;

	if (err != NSD_OK) {
		log_error("xfrd cannot start: %s", err_text(err));
		_exit(1);
	}
	role_run(&xfrd->role);
	_exit(0);
}
