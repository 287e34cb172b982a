/*
 * xfrd.c - the role that will keep secondary zones fresh and take control
 * commands.
 *
 * System calls, for whoever filters them: those of link.c, to main, the loader
 * and workers; a descriptor of a file goes to the loader with each UPDATE.
 */
#include "config.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/priority.h"
#include "dns/name.h"
#include "ipc/handlers.h"
#include "proc/affinity.h"
#include "proc/hooks.h"
#include "proc/xfrd.h"
#include "store/store.h"

/* ---- the loader ---------------------------------------------------------- */

enum nsd_err
xfrd_update(struct xfrd *xfrd, const struct load_text *text,
	request_on_end *on_end, void *ctx)
{
	const struct ipc_update update = {
		.offset = text->offset,
		.len = text->len,
	};
	const struct link_parcel parcel = {
		.type = IPC_UPDATE,
		.payload = &update,
		.len = sizeof(update),
		.fds = &text->fd,
		.fd_count = 1,
	};

	return requests_add(&xfrd->requests, &parcel, on_end, ctx);
}

enum nsd_err
xfrd_expire(struct xfrd *xfrd, const uint8_t *apex, uint64_t left_msec)
{
	struct peer *loader = peers_find_role(&xfrd->role.peers, ROLE_LOADER);
	struct ipc_expiry expiry = {.left_msec = left_msec};
	size_t len = name_len(apex);
	const struct link_parcel parcel = {
		.type = IPC_EXPIRY,
		.payload = &expiry,
		.len = offsetof(struct ipc_expiry, apex) + len,
	};

	if (loader == NULL)
		return NSD_E_AGAIN;
	memcpy(expiry.apex, apex, len);
	return link_send(&loader->link, &parcel);
}

enum nsd_err
xfrd_change_zone(struct xfrd *xfrd, struct zone_change *change,
	request_on_end *on_end, void *ctx)
{
	struct ipc_zone payload;
	struct link_parcel parcel = {
		.type = IPC_CHANGE_ZONE,
		.payload = &payload,
	};
	enum nsd_err err;

	change->err = NSD_OK;
	change->loaded = false;
	err = zone_message_write(change, &payload, &parcel.len);
	if (err != NSD_OK)
		return err;
	return requests_add(&xfrd->requests, &parcel, on_end, ctx);
}

static void
xfrd_on_answer(struct role *role, const struct ipc_message *m)
{
	requests_take_answer(&((struct xfrd *)role)->requests, m);
}

static void
xfrd_on_peer(struct role *role, struct peer *peer)
{
	if (peer->link.channel.peer == ROLE_LOADER)
		requests_go_on(&((struct xfrd *)role)->requests, &peer->link);
}

static void
xfrd_on_peer_gone(struct role *role, struct peer *peer)
{
	if (peer->link.channel.peer == ROLE_LOADER)
		requests_stop(&((struct xfrd *)role)->requests);
}

/* ---- workers ------------------------------------------------------------- */

/* What to do with it comes with the timers of zones. */
static void
xfrd_on_notify(struct role *role, const struct ipc_message *m)
{
	const struct role_hooks *hooks = role->server->hooks;
	struct peer *worker = peers_find(&role->peers, m->channel);

	if (hooks != NULL && hooks->on_notify != NULL)
		hooks->on_notify(m->index,
			(const struct ipc_notify *)m->payload, m->len);
	if (worker != NULL)
		link_return(&worker->link, IPC_NOTIFY);
}

/* ---- start --------------------------------------------------------------- */

#define XFRD_HANDLERS(X)                                                     \
	ROLE_HANDLERS(X)                                                     \
	X(UPDATED, xfrd_on_answer)                                           \
	X(ZONE_CHANGED, xfrd_on_answer)                                      \
	X(NOTIFY, xfrd_on_notify)

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
	xfrd->role.on_peer = xfrd_on_peer;
	xfrd->role.on_peer_gone = xfrd_on_peer_gone;
	role_init_name("xfrd", "xfrd");
	secrets_drop(start->server->secrets);
	role_init_death(start->server, true);
	affinity_set_xfrd(&start->server->conf->server);
	/* Changes of zones come through it. */
	priority_answer();
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
	if (start->server->hooks != NULL
		&& start->server->hooks->on_xfrd != NULL)
		start->server->hooks->on_xfrd(xfrd);
	role_run(&xfrd->role);
	_exit(0);
}
