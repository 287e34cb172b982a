/* xfrd.c - the role that will keep secondary zones fresh and take control
 * commands; for now it only lives and ends with the others. */
#include "config.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
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

/* Returns the folder of a file, or of NULL or "" nothing, in *copy, which the
 * caller frees. */
static const char *
xfrd_folder_of(const char *file, char **copy)
{
	*copy = file != NULL && *file != '\0' ? strdup(file) : NULL;
	return *copy != NULL ? dirname(*copy) : NULL;
}

/* It may write to its own folders and to that of zone files. */
static enum nsd_err
xfrd_enter_sandbox(const struct role_start *start)
{
	const struct conf_server *o = &start->server->conf->server;
	const char *chroot = start->server->chroot;
	const char *folders[5] = {NULL};
	char *copies[2];
	const char *names[] = {
		o->zonesdir,
		o->xfrdir,
		xfrd_folder_of(o->xfrdfile, &copies[0]),
		xfrd_folder_of(o->zonelistfile, &copies[1]),
	};
	unsigned count = 0;
	enum nsd_err err;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i] != NULL && *names[i] != '\0')
			folders[count++] = conf_path_in_chroot(chroot,
				names[i]);
	err = sandbox_enter(&start->server->sandbox, ROLE_XFRD, folders);
	free(copies[0]);
	free(copies[1]);
	return err;
}

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
	err = role_init_loop(&xfrd->role, start);
	return err == NSD_OK ? xfrd_enter_sandbox(start) : err;
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
