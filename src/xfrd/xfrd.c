/*
 * xfrd.c - the role that keeps secondary zones fresh: its start, and its
 * messages.
 *
 * System calls, for the filter: those of link.c, to main, the loader and
 * workers; a descriptor of a file goes to the loader with each UPDATE; those of
 * net/client.h and of the journal.
 */
#include "config.h"

#include <event2/event.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "base/priority.h"
#include "dns/name.h"
#include "ipc/handlers.h"
#include "journal/journal.h"
#include "process/affinity.h"
#include "process/hooks.h"
#include "process/tls_texts.h"
#include "store/store.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_changes.h"
#include "xfrd/xfrd_client_update.h"
#include "xfrd/xfrd_statistics.h"

/* ---- messages ------------------------------------------------------------ */

static void
xfrd_on_answer(struct role *role, const struct ipc_message *m)
{
	requests_take_answer(&((struct xfrd *)role)->requests, m);
}

static void
xfrd_on_update_waits(struct role *role, const struct ipc_message *m)
{
	uint64_t ticket;

	memcpy(&ticket, m->payload, sizeof(ticket));
	xfrd_keep_take_delay((struct xfrd *)role, ticket);
}

static void
xfrd_on_reconfigured(struct role *role, const struct ipc_message *m)
{
	struct ipc_reconfigured what;
	char *waiting = role->server->waiting;
	size_t len = m->len - IPC_RECONFIGURED_MIN;

	_Static_assert(SERVER_WAITING_MAX >= IPC_RECONFIGURED_TEXT_MAX,
		"what waits has no room");
	memcpy(&what, m->payload, m->len);
	if (what.ticket != 0) {
		role_on_answer(role, m);
		return;
	}
	memcpy(waiting, what.text, len);
	waiting[len] = '\0';
}

static void
xfrd_on_zones(struct role *role, uint64_t ticket)
{
	xfrd_client_update_drop_keys((struct xfrd *)role);
	xfrd_follow((struct xfrd *)role, ticket);
}

static void
xfrd_on_save(struct role *role, uint64_t ticket)
{
	xfrd_save_on_ask((struct xfrd *)role, ticket);
}

static void
xfrd_on_saved(struct role *role, bool is_followed)
{
	xfrd_save_on_over((struct xfrd *)role, is_followed);
}

static void
xfrd_on_clients(struct role *role, const struct ipc_message *m)
{
	struct xfrd *xfrd = (struct xfrd *)role;
	struct secrets *texts;
	enum nsd_err err = m->fd_count != 1 ? NSD_E_WIRE
		: tls_texts_unpack_all(m->fds[0], &texts);

	if (err == NSD_OK) {
		err = xfrd_tls_take(&xfrd->tls, &xfrd->asks, texts);
		secrets_drop(texts);
	}
	if (err == NSD_OK)
		return;
	log_error("xfrd: certificates for primaries: %s: ending, so that the"
		  " next one has them", err_text(err));
	role_stop(role);
}

static void
xfrd_on_served(struct role *role, const struct ipc_message *m)
{
	xfrd_turn_look((struct xfrd *)role);
}

/* A loader or writer has connected, or has room again. */
static void
xfrd_on_peer(struct role *role, struct peer *peer)
{
	struct xfrd *xfrd = (struct xfrd *)role;
	bool is_new = peer->link.channel.id != xfrd->loader;

	if (peer->link.channel.peer == ROLE_WRITER)
		xfrd_write_on_writer(xfrd, &peer->link);
	if (peer->link.channel.peer != ROLE_LOADER)
		return;
	xfrd->loader = peer->link.channel.id;
	requests_go_on(&xfrd->requests, &peer->link);
	xfrd_turn_on_loader(xfrd, is_new);
}

static void
xfrd_on_peer_gone(struct role *role, struct peer *peer)
{
	struct xfrd *xfrd = (struct xfrd *)role;

	if (peer->link.channel.peer == ROLE_LOADER) {
		requests_stop(&xfrd->requests);
		xfrd_changes_on_loader_gone(xfrd);
	}
	/* The successor of a writer may be here already. */
	if (&peer->link == xfrd->writes.requests.link)
		xfrd_write_on_writer_gone(xfrd);
}

static void
xfrd_on_written(struct role *role, const struct ipc_message *m)
{
	requests_take_answer(&((struct xfrd *)role)->writes.requests, m);
}

/* ---- workers ------------------------------------------------------------- */

static void
xfrd_on_let_go(struct role *role, const struct ipc_message *m)
{
	struct ipc_let_go let_go;

	memcpy(&let_go, m->payload, sizeof(let_go));
	control_let_go((struct xfrd *)role, let_go.epoch);
	xfrd_produce_let_go((struct xfrd *)role, let_go.epoch);
	xfrd_catalog_let_go((struct xfrd *)role, let_go.epoch);
	xfrd_edit_renew_let_go((struct xfrd *)role, let_go.epoch);
}

static void
xfrd_on_notify(struct role *role, const struct ipc_message *m)
{
	const struct role_hooks *hooks = role->server->hooks;
	struct peer *worker = peers_find(&role->peers, m->channel);
	const struct ipc_notify *notify = (const struct ipc_notify *)m->payload;
	struct sockaddr_storage from = {.ss_family = AF_UNSPEC};

	if (hooks != NULL && hooks->on_notify != NULL)
		hooks->on_notify(m->index, notify, m->len);
	memcpy(&from, notify->address, sizeof(notify->address));
	child_page_take(role->page, CHILD_PAGE_NOTIFY, &from, notify->message,
		m->len - offsetof(struct ipc_notify, message));
	xfrd_notify_take((struct xfrd *)role, notify, m->len);
	child_page_drop(role->page);
	if (worker != NULL)
		link_return(&worker->link, IPC_NOTIFY);
}

static void
xfrd_on_client_update(struct role *role, const struct ipc_message *m)
{
	xfrd_client_update_take((struct xfrd *)role, m);
}

/* ---- end ----------------------------------------------------------------- */

static void
xfrd_on_all_written(evutil_socket_t fd, short what, void *arg)
{
	control_finish(arg);
}

/* Writes zone files first, so that the stop is answered when all is done. */
static void
xfrd_on_stop(struct role *role)
{
	struct xfrd *xfrd = (struct xfrd *)role;
	struct event *then;

	/* Xfrd may be told twice: by a signal to all processes, and by main. */
	if (xfrd->told_stop)
		return;
	then = event_new(role->base, -1, 0, xfrd_on_all_written, xfrd);
	xfrd->told_stop = true;
	control_close(xfrd);
	if (then == NULL || !xfrd_write_end(xfrd, then))
		control_finish(xfrd);
}

static void
xfrd_on_term_over(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;

	if (!xfrd->told_stop)
		xfrd_on_stop(&xfrd->role);
}

/* A signal to all processes may come before main's word, and before the writer
 * that main makes for the end. */
static void
xfrd_on_term(struct role *role)
{
	static const struct timeval wait = {.tv_sec = 1};

	if (event_base_once(role->base, -1, EV_TIMEOUT, xfrd_on_term_over,
		    role, &wait)
		== -1)
		role_stop(role);
}

/* ---- start --------------------------------------------------------------- */

#define XFRD_HANDLERS(X)                                                     \
	ROLE_HANDLERS(X)                                                     \
	X(UPDATED, xfrd_on_answer)                                           \
	X(UPDATE_WAITS, xfrd_on_update_waits)                                \
	X(ZONE_CHANGED, xfrd_on_answer)                                      \
	X(READ_DONE, xfrd_on_answer)                                         \
	X(FILE_NOTED, xfrd_on_answer)                                        \
	X(BROADCAST_DONE, role_on_answer)                                    \
	X(COOKIES_DONE, role_on_answer)                                      \
	X(SERVED, xfrd_on_served)                                            \
	X(ZONE_WRITTEN, xfrd_on_written)                                     \
	X(FILES_FOUND, xfrd_on_written)                                      \
	X(RECONFIGURED, xfrd_on_reconfigured)                                \
	X(KEY_DONE, role_on_answer)                                          \
	X(TLS_TEXTS, control_on_tls_texts)                                   \
	X(CONFIGURE, xfrd_on_configure)                                      \
	X(TLS_CLIENTS, xfrd_on_clients)                                      \
	X(NOTIFY, xfrd_on_notify)                                            \
	X(CLIENT_UPDATE, xfrd_on_client_update)                              \
	X(LET_GO, xfrd_on_let_go)

static void (*const xfrd_handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {XFRD_HANDLERS(IPC_HANDLER)};
IPC_CHECK_HANDLERS(XFRD_HANDLERS, IPC_TO_XFRD);

/* Confines xfrd to the folder of the journal, and if zones may come and go,
 * by the control channel, by catalogs or by folders, that of their list. The
 * journal's threads start in between, confined to folders: putting a journal in
 * order takes more system calls than using it. */
static enum nsd_err
xfrd_enter_sandbox(struct xfrd *xfrd, const struct role_start *start)
{
	struct sandbox sandbox = start->server->sandbox;
	bool changes = xfrd_change_is_needed(xfrd);
	char path[PATH_MAX], list[PATH_MAX];
	const char *folders[3];
	unsigned count = 0;
	enum nsd_err err;

	if (server_find_journal(start->server, path, sizeof(path))
		&& journal_make_folder(path) == NSD_OK)
		folders[count++] = path;
	folders[count] = changes ? xfrd_change_find_folder(xfrd, list,
				     sizeof(list))
				 : NULL;
	folders[count + (folders[count] != NULL)] = NULL;
	/* Folders of zone files come with a reconfig, too, and by mounting. */
	sandbox.lists = xfrd->folders.are_allowed =
		xfrd_folder_are_there(xfrd);
	err = sandbox_enter_folders(&sandbox, ROLE_XFRD, folders);
	if (err != NSD_OK)
		return err;
	xfrd_keep_init(xfrd);
	err = xfrd_freeze_init(xfrd);
	if (err != NSD_OK)
		return err;
	if (changes)
		xfrd_change_init(xfrd);
	xfrd_folder_follow(xfrd);
	return sandbox_enter_calls(&sandbox, ROLE_XFRD);
}

static void
xfrd_init_asks(struct xfrd *xfrd)
{
	xfrd->asks.base = xfrd->role.base;
	xfrd->asks.page = xfrd->role.page;
	xfrd_asks_follow(&xfrd->asks, &xfrd->role.server->conf->server);
	xfrd_asks_init(&xfrd->asks);
	CDS_INIT_LIST_HEAD(&xfrd->jobs);
	CDS_INIT_LIST_HEAD(&xfrd->held);
	CDS_INIT_LIST_HEAD(&xfrd->ended);
	CDS_INIT_LIST_HEAD(&xfrd->waiting);
	CDS_INIT_LIST_HEAD(&xfrd->judged_waiting);
	CDS_INIT_LIST_HEAD(&xfrd->sources);
	CDS_INIT_LIST_HEAD(&xfrd->catalogs);
}

/* Closes all descriptors but the log, the channel to main, the zone list, and
 * the sockets of the control channel and of metrics. */
static enum nsd_err
xfrd_close_descriptors(const struct role_start *start)
{
	const struct control_listeners *listeners = &start->server->control;
	const struct admin_listeners *metrics = &start->server->metrics;
	int *keep = calloc(listeners->count + metrics->count + 3u + LOG_FDS_MAX,
		sizeof(*keep));
	unsigned count = 0;

	if (keep == NULL)
		return NSD_E_MEMORY;
	keep[count++] = start->channel.fd;
	keep[count++] = start->stop_fd;
	keep[count++] = start->server->list;
	count += log_list_fds(keep + count);
	for (unsigned i = 0; i < listeners->count; i++)
		keep[count++] = listeners->items[i].fd;
	for (unsigned i = 0; i < metrics->count; i++)
		keep[count++] = metrics->fds[i];
	fs_close_all_but(keep, count);
	free(keep);
	return NSD_OK;
}

static enum nsd_err
xfrd_init(struct xfrd *xfrd, const struct role_start *start)
{
	enum nsd_err err;

	secrets_drop(start->server->tls);
	start->server->tls = NULL;
	xfrd->is_behind = start->is_behind;
	xfrd->role.handlers = xfrd_handlers;
	xfrd->first = start->server->conf;
	xfrd->role.on_zones = xfrd_on_zones;
	xfrd->role.on_save = xfrd_on_save;
	xfrd->role.on_saved = xfrd_on_saved;
	xfrd->role.on_peer = xfrd_on_peer;
	xfrd->role.on_peer_gone = xfrd_on_peer_gone;
	xfrd->role.on_stop = xfrd_on_stop;
	xfrd->role.on_term = xfrd_on_term;
	role_init_name("xfrd", "xfrd");
	role_init_death(start->server, true);
	affinity_set_xfrd(&start->server->conf->server);
	/* Changes of zones come through the control channel. */
	priority_answer();
	err = store_reader_open(start->store, start->reader_slot, "xfrd",
		&xfrd->reader);
	if (err != NSD_OK)
		return err;
	err = xfrd_close_descriptors(start);
	if (err != NSD_OK)
		return err;
	err = role_init_loop(&xfrd->role, start);
	if (err != NSD_OK)
		return err;
	xfrd_init_asks(xfrd);
	err = xfrd_tls_take(&xfrd->tls, &xfrd->asks,
		start->server->tls_clients);
	secrets_drop(start->server->tls_clients);
	start->server->tls_clients = NULL;
	if (err == NSD_OK)
		err = xfrd_zones_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_turn_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_follow_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_catalog_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_jobs_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_edit_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_client_update_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_forward_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_produce_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_write_init(xfrd);
	if (err == NSD_OK)
		err = xfrd_folder_init(xfrd);
	if (err != NSD_OK)
		return err;
	xfrd_state_init(xfrd);
	control_init(xfrd);
	xfrd_metrics_follow(xfrd);
	return xfrd_enter_sandbox(xfrd, start);
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
	xfrd_state_save(xfrd);
	xfrd_freeze_end(xfrd);
	xfrd_keep_fini(xfrd);
	_exit(0);
}
