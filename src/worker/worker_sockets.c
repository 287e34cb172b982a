/* worker_sockets.c - the sockets that a worker serves: its own, and those of
 * workers that are down. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "process/server.h"
#include "process/sockets.h"
#include "process/title.h"
#include "worker/worker.h"

static void
group_close(struct socket_group *group)
{
	if (group == NULL)
		return;
	for (unsigned i = 0; i < group->udp_count; i++)
		net_udp_close(group->udp[i]);
	if (group->tcp != NULL)
		net_tcp_close(group->tcp);
	for (unsigned i = 0; group->fds != NULL && i < group->fd_count; i++)
		close(group->fds[i]);
	free(group->udp);
	free(group->fds);
	free(group);
}

/* Adds a TCP socket. Without the TLS that it should have it is not served:
 * confidential data would be sent in plain. */
static void
listeners_add(const struct worker *worker, const struct listener *l,
	struct net_listener *listeners, unsigned *count)
{
	if (l->tls && worker->tls == NULL)
		return;
	listeners[(*count)++] = (struct net_listener){
		.fd = l->fd,
		.for_proxies = proxies_has_port(worker->proxies, l->fd),
		.filter = l->tls
			? tls_server_get_filter(worker->tls, l->mutual) : NULL,
	};
}

/* Serves sockets. NULL: they cannot be served; said in the log. */
static struct socket_group *
group_open(struct worker *worker, unsigned server,
	const struct listener *sockets, unsigned count)
{
	struct socket_group *group = calloc(1, sizeof(*group));
	struct net_listener *listeners = calloc(count + 1u, sizeof(*listeners));
	struct child_page *page = worker->role.page;
	struct net_udp_options udp = {
		.reply_size = worker->reply_size,
		.room = page != NULL ? &page->udp : NULL,
	};
	unsigned listener_count = 0;
	enum nsd_err err = NSD_E_MEMORY;

	worker->tcp_options.room = page != NULL ? &page->tcp : NULL;
	if (group != NULL)
		group->udp = calloc(count + 1u, sizeof(struct net_udp *));
	if (group == NULL || listeners == NULL || group->udp == NULL)
		goto done;
	group->server = server;
	err = NSD_OK;
	for (unsigned i = 0; i < count && err == NSD_OK; i++) {
		udp.for_proxies = proxies_has_port(worker->proxies,
			sockets[i].fd);
		if (sockets[i].tcp) {
			listeners_add(worker, &sockets[i], listeners,
				&listener_count);
			continue;
		}
		err = net_udp_open(worker->role.base, sockets[i].fd, &udp,
			&worker->handler, &group->udp[group->udp_count]);
		group->udp_count += err == NSD_OK;
	}
	if (err == NSD_OK && listener_count > 0)
		err = net_tcp_open(worker->role.base, listeners, listener_count,
			&worker->tcp_options, &worker->handler, &group->tcp);
done:
	free(listeners);
	if (err == NSD_OK)
		return group;
	log_error("cannot serve the sockets of server %u: %s", server + 1,
		err_text(err));
	group_close(group);
	return NULL;
}

static void
group_count_lost(const struct worker *worker, const struct socket_group *group)
{
	for (unsigned i = 0; i < group->udp_count; i++)
		worker->counters->lost += net_udp_take_lost(group->udp[i]);
}

/* An idle worker asks the kernel nothing: datagrams are lost only behind
 * others, which it takes. */
void
worker_count_lost(struct worker *worker)
{
	if (worker->requests == worker->requests_then)
		return;
	worker->requests_then = worker->requests;
	FOR_EACH_GROUP(worker, g)
		group_count_lost(worker, g);
}

static struct socket_group *
worker_open_own(struct worker *worker, const struct listeners *all)
{
	struct listener *sockets = calloc(all->count, sizeof(*sockets));
	struct socket_group *group = NULL;
	unsigned count = 0;

	for (unsigned i = 0; sockets != NULL && i < all->count; i++)
		if (all->items[i].server == worker->index)
			sockets[count++] = all->items[i];
	if (sockets != NULL)
		group = group_open(worker, worker->index, sockets, count);
	free(sockets);
	return group;
}

static void
worker_set_careful(const struct worker *worker, bool careful)
{
	for (unsigned i = 0; i < worker->own->udp_count; i++)
		net_udp_set_careful(worker->own->udp[i], careful);
}

enum nsd_err
worker_serve(struct worker *worker)
{
	const struct counts *counts = worker->counts;

	if (worker->own == NULL) {
		worker_tap_serve(&worker->tap, counts_get_switch(counts),
			counts_get_ring(counts, worker->index),
			counts_get_cursor(counts, worker->index));
		worker->own = worker_open_own(worker,
			&worker->role.server->listeners);
	}
	if (worker->own == NULL)
		return NSD_E_MEMORY;
	if (worker->careful_heartbeats > 0)
		worker_set_careful(worker, true);
	if (worker->verifies)
		title_set("nsd: verify server");
	else
		title_set("nsd: server %u", worker->index + 1);
	return NSD_OK;
}

void
worker_grow_careless(struct worker *worker)
{
	if (worker->own != NULL && worker->careful_heartbeats > 0
		&& --worker->careful_heartbeats == 0)
		worker_set_careful(worker, false);
}

void
worker_on_adopt(struct role *role, const struct ipc_message *m)
{
	struct worker *worker = (struct worker *)role;
	struct ipc_adopt adopt;
	struct listener sockets[IPC_FDS_MAX];
	int *fds = calloc(m->fd_count + 1u, sizeof(*fds));
	struct socket_group *group = NULL;

	memcpy(&adopt, m->payload, sizeof(adopt));
	for (unsigned i = 0; fds != NULL && i < m->fd_count; i++) {
		/* dup: the message's descriptors are closed when we return. */
		fds[i] = dup(m->fds[i]);
		sockets[i] = (struct listener){
			.fd = fds[i],
			.tcp = (adopt.tcp_map >> i & 1) != 0,
			.tls = (adopt.tls_map >> i & 1) != 0,
			.mutual = (adopt.mutual_map >> i & 1) != 0,
		};
	}
	if (fds != NULL)
		group = group_open(worker, adopt.server, sockets, m->fd_count);
	if (group == NULL) {
		for (unsigned i = 0; fds != NULL && i < m->fd_count; i++)
			close(fds[i]);
		free(fds);
		return;
	}
	group->fds = fds;
	group->fd_count = m->fd_count;
	group->next = worker->adopted;
	worker->adopted = group;
	log_notice("server %u answers for server %u meanwhile",
		worker->index + 1, adopt.server + 1);
}

void
worker_on_release(struct role *role, const struct ipc_message *m)
{
	struct worker *worker = (struct worker *)role;
	struct socket_group **at = &worker->adopted;
	struct ipc_adopt adopt;

	memcpy(&adopt, m->payload, sizeof(adopt));
	while (*at != NULL) {
		struct socket_group *group = *at;

		if (group->server != adopt.server) {
			at = &group->next;
			continue;
		}
		*at = group->next;
		group_count_lost(worker, group);
		group_close(group);
	}
}

static void
group_set_options(const struct worker *worker,
	const struct socket_group *group)
{
	enum nsd_err err = NSD_OK;

	if (group->tcp != NULL)
		net_tcp_set_options(group->tcp, &worker->tcp_options);
	for (unsigned i = 0; i < group->udp_count && err == NSD_OK; i++)
		err = net_udp_set_reply_size(group->udp[i],
			worker->reply_size);
	if (err != NSD_OK)
		log_error("out of memory for UDP replies of %zu octets",
			worker->reply_size);
}

void
worker_set_options(struct worker *worker)
{
	FOR_EACH_GROUP(worker, g)
		group_set_options(worker, g);
}
