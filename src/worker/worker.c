/* worker.c - the role that answers: sockets, query and the store joined. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/priority.h"
#include "dns/message.h"
#include "ipc/handlers.h"
#include "process/affinity.h"
#include "process/holder_bounds.h"
#include "process/hooks.h"
#include "process/lifeline.h"
#include "process/sockets.h"
#include "settings/settings.h"
#include "worker/let_go.h"
#include "worker/worker.h"
#include "worker/worker_statistics.h"
#include "worker/worker_tls.h"

/* Heartbeats for which the successor of a worker that died of messages is
 * careful: only the message that it dies of is lost. */
#define CAREFUL_HEARTBEATS 8

static void
worker_take_update(struct worker *worker, struct exchange *exchanges, size_t i,
	const struct client_updates_now *now, bool tapped)
{
	struct tap_record record;

	client_updates_take(&worker->updates, &exchanges[i], now);
	if (tapped && exchanges[i].later != NULL
		&& worker_tap_keep(&worker->tap, exchanges, i, &record))
		client_updates_note(exchanges[i].later, &record);
}

/* Passes NOTIFYs and UPDATEs on to xfrd; pass_on stays set where that fails. A
 * NOTIFY that cannot be passed on gets no reply. */
static void
worker_pass_on(struct worker *worker, struct exchange *exchanges, size_t count,
	bool tapped)
{
	const struct client_updates_now now = {(uint64_t)time(NULL),
		clock_coarse_msec()};

	for (size_t i = 0; i < count; i++) {
		struct exchange *x = &exchanges[i];

		if (!x->pass_on)
			continue;
		if (message_get_opcode(x->request) == OPCODE_UPDATE)
			worker_take_update(worker, exchanges, i, &now, tapped);
		else if (notify_pass_on(&worker->notifies,
				&worker->role.peers, x))
			x->pass_on = false;
		else
			x->reply_len = 0;
	}
}

/* The hot path: here sockets, queries and the store meet. */
static void
worker_on_batch(void *ctx, struct exchange *exchanges, size_t count)
{
	struct worker *worker = ctx;
	uint64_t now_msec = clock_coarse_msec();
	bool tapped = worker_tap_begin(&worker->tap, count);
	size_t passed_on;

	role_heartbeat(&worker->role);
	query_set_time(worker->query, (uint64_t)time(NULL),
		(uint32_t)(now_msec / 1000));
	query_set_msec(worker->query, now_msec);
	store_reader_online(worker->reader);
	child_page_set_requests(worker->role.page, exchanges, count);
	passed_on = query_answer_batch(worker->query, worker->view, exchanges,
		count);
	if (tapped)
		worker_tap_note_zones(&worker->tap, worker->query, exchanges,
			count);
	store_reader_offline(worker->reader);
	if (passed_on > 0)
		worker_pass_on(worker, exchanges, count, tapped);
	if (tapped)
		worker_tap_write(&worker->tap, exchanges, count);
	limit_log_write_batch(&worker->limit_log, &worker->access_log,
		worker->query, now_msec / 1000);
	child_page_set_requests(worker->role.page, NULL, 0);
}

static size_t
worker_on_stream(void *ctx, void *stream, uint8_t *reply, size_t capacity)
{
	struct worker *worker = ctx;
	uint32_t now_sec = clock_coarse_sec();
	const struct query_unsent *unsent;
	size_t len;

	query_set_time(worker->query, (uint64_t)time(NULL), now_sec);
	len = query_stream_next(worker->query, stream, reply, capacity);
	if (len > 0)
		worker_tap_write_stream(&worker->tap, stream, reply, len);
	unsent = query_take_unsent(worker->query);
	if (unsent != NULL)
		limit_log_write_unsent(&worker->access_log, unsent, now_sec);
	return len;
}

static void
worker_on_later(void *ctx, void *later, struct net_later *reply)
{
	struct worker *worker = ctx;

	client_updates_on_later(&worker->updates, later, reply);
}

static void
worker_on_stream_end(void *ctx, void *stream)
{
	struct worker *worker = ctx;

	worker_tap_end_stream(stream);
	query_stream_end(worker->query, stream);
}

static bool
worker_may_proxy(void *ctx, const struct sockaddr_storage *peer)
{
	struct worker *worker = ctx;

	return proxies_allow(worker->proxies, peer, &worker->access_log);
}

static void
worker_on_spent(void *ctx, const struct sockaddr_storage *peer, int64_t nsec,
	uint64_t now_msec)
{
	struct worker *worker = ctx;
	struct cpu_limit_block blocks[SETTINGS_NETBLOCKS_MAX];
	unsigned count = cpu_limit_spend(&worker->cpu_limit, peer, nsec,
		now_msec, blocks);

	if (__builtin_expect(count > 0, 0))
		limit_log_write_cpu(&worker->cpu_log, blocks, count,
			now_msec / 1000);
}

static bool
worker_is_throttled(void *ctx, const struct sockaddr_storage *peer,
	uint64_t now_msec)
{
	const struct worker *worker = ctx;

	return cpu_limit_bars(&worker->cpu_limit, peer, now_msec);
}

/* ---- messages ----------------------------------------------------------- */

/* Closed connections, if most are, after which memory is given back: with TLS
 * some 13 KiB each, which malloc would keep for any small block behind it. */
#define TRIM_LEFT 256u

static void
worker_trim(struct worker *worker)
{
	unsigned count = 0;

	FOR_EACH_GROUP(worker, g)
		count += g->tcp != NULL ? net_tcp_count(g->tcp) : 0;
	if (count >= worker->trim_from) {
		worker->trim_from = count;
	} else if (worker->trim_from - count >= TRIM_LEFT
		&& count <= worker->trim_from / 4) {
		worker->trim_from = count;
		platform_heap_trim();
	}
}

static void
worker_on_heartbeat(struct role *role)
{
	struct worker *worker = (struct worker *)role;

	client_updates_on_time(&worker->updates, clock_coarse_msec());
	worker_count_lost(worker);
	worker_trim(worker);
	worker_grow_careless(worker);
}

static void
worker_on_statistics(struct role *role, const struct ipc_message *m)
{
	struct worker *worker = (struct worker *)role;

	if (worker->own == NULL) /* a standby: the other worker writes */
		return;
	worker_count_lost(worker);
	worker_statistics_log(worker->counters, time(NULL), worker->boot);
}

/* Reads the settings of sockets. Answers find their settings in the store
 * themselves. NSD_E_MEMORY: some are as they were. */
static enum nsd_err
worker_read_settings(struct worker *worker)
{
	const struct settings *settings;
	enum nsd_err err;

	store_reader_online(worker->reader);
	settings = settings_get(worker->view);
	worker->tcp_options = (struct net_tcp_options){
		.connections_max = settings->tcp_count,
		.queries_max = settings->tcp_query_count,
		.timeout_sec = settings->tcp_timeout_sec,
		.reject_overflow = settings->tcp_reject_overflow,
		.stream_rate = HOLDER_STREAM_RATE,
		.limits_cpu = RATELIMIT && settings->tcp_cpu_limit > 0,
	};
	counts_get_limits(worker->counts, settings->rrl_size,
		&worker->limits);
	if (cpu_limit_set(&worker->cpu_limit, settings) != NSD_OK)
		log_error("out of memory for tcp-cpu-whitelist");
	err = proxies_set(worker->proxies, settings);
	if (err != NSD_OK)
		log_error("out of memory for allow-proxy");
	worker->rssac = settings->rssac002
		? counts_get_rssac(worker->counts, worker->index) : NULL;
	worker->reply_size = settings->udp4_size > settings->udp6_size
		? settings->udp4_size
		: settings->udp6_size;
	store_reader_offline(worker->reader);
	if (worker->reply_size < 512)
		worker->reply_size = 512;
	return err;
}

static void
worker_on_settings(struct role *role)
{
	struct worker *worker = (struct worker *)role;

	(void)worker_read_settings(worker);
	query_forget_keys(worker->query);
	query_set_rssac(worker->query, worker->rssac);
	worker_set_options(worker);
}

static void
worker_on_tls_texts(struct role *role, const struct ipc_message *m)
{
	struct worker *worker = (struct worker *)role;

	worker_tls_renew(worker->tls, worker->index, m);
}

static void
worker_on_let_go(struct role *role, const struct ipc_message *m)
{
	struct worker *worker = (struct worker *)role;
	struct let_go let_go = {worker->query, &worker->access_log,
		((const struct ipc_let_go *)m->payload)->epoch};

	FOR_EACH_GROUP(worker, g)
		let_go_of_streams(&let_go, g->tcp);
}

/* Serves in place of a dead worker, whose clients' messages wait in the
 * sockets. */
static void
worker_on_serve(struct role *role, const struct ipc_message *m)
{
	if (worker_serve((struct worker *)role) != NSD_OK)
		_exit(1); /* the log says why */
	role_send(role, IPC_SERVING, NULL, 0);
}

static void
worker_on_updated(struct role *role, const struct ipc_message *m)
{
	struct worker *worker = (struct worker *)role;

	client_updates_on_updated(&worker->updates, m);
}

#define WORKER_HANDLERS(X)                                                   \
	ROLE_HANDLERS(X)                                                     \
	X(STATISTICS, worker_on_statistics)                                  \
	X(TLS_TEXTS, worker_on_tls_texts)                                    \
	X(SERVE, worker_on_serve)                                            \
	X(ADOPT, worker_on_adopt)                                            \
	X(RELEASE, worker_on_release)                                        \
	X(CLIENT_UPDATED, worker_on_updated)                                \
	X(LET_GO, worker_on_let_go)

static void (*const worker_handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {WORKER_HANDLERS(IPC_HANDLER)};
IPC_CHECK_HANDLERS(WORKER_HANDLERS, IPC_TO_WORKER);

/* xfrd is there, or takes more. */
static void
worker_on_peer(struct role *role, struct peer *peer)
{
	struct worker *worker = (struct worker *)role;

	notify_go_on(&worker->notifies, &role->peers);
	client_updates_go_on(&worker->updates);
}

static void
worker_on_peer_gone(struct role *role, struct peer *peer)
{
	struct worker *worker = (struct worker *)role;

	client_updates_on_gone(&worker->updates, peer->link.channel.id);
}

static void
worker_on_lifeline(evutil_socket_t fd, short what, void *arg)
{
	struct worker *worker = arg;

	if (!lifeline_accept(fd))
		return;
	log_notice("server %u makes room for a new main process",
		worker->index + 1);
	role_stop(&worker->role);
}

/* Goes on answering until another server takes over. A standby, which main
 * cannot tell to serve any more, begins to. */
static void
worker_on_main_gone(struct role *role)
{
	struct worker *worker = (struct worker *)role;

	if (worker_serve(worker) != NSD_OK)
		_exit(1); /* the log says why */
	log_error("the main process is gone; server %u goes on answering",
		worker->index + 1);
	if (worker->lifeline == -1)
		return;
	worker->lifeline_event = event_new(role->base, worker->lifeline,
		EV_READ | EV_PERSIST, worker_on_lifeline, worker);
	if (worker->lifeline_event == NULL
		|| event_add(worker->lifeline_event, NULL) == -1)
		log_error("out of memory for the lifeline");
}

/* ---- start -------------------------------------------------------------- */

/* Frees the configuration. The store has the options that matter; a million
 * zones need not be in each worker, too. */
static void
worker_forget_configuration(struct server *server)
{
	conf_destroy(server->conf);
	server->conf = NULL;
	platform_heap_trim();
}

/* name: gets the name of the worker when it serves. */
static void
worker_init_name(const struct role_start *start, char *name, size_t size)
{
	char log_name[32], title[32];

	if (start->verifies) {
		snprintf(name, size, "verify server");
		role_init_name("verify", name);
		return;
	}
	snprintf(name, size, "server %u", start->index + 1);
	snprintf(log_name, sizeof(log_name), "srv%u", start->index + 1);
	snprintf(title, sizeof(title), "standby %u", start->index + 1);
	role_init_name(strdup(log_name), start->stands_by ? title : name);
}

static void
worker_set_handlers(struct role *role)
{
	role->handlers = worker_handlers;
	role->on_heartbeat = worker_on_heartbeat;
	role->on_main_gone = worker_on_main_gone;
	role->on_settings = worker_on_settings;
	role->on_peer = worker_on_peer;
	role->on_peer_gone = worker_on_peer_gone;
}

static void
worker_init_updates(struct worker *worker)
{
	worker->updates.query = worker->query;
	worker->updates.reader = worker->reader;
	worker->updates.counters = worker->counters;
	worker->updates.tap = &worker->tap;
	worker->updates.peers = &worker->role.peers;
}

static enum nsd_err
worker_init(struct worker *worker, const struct role_start *start)
{
	struct query_options options = {.cname_max = MAX_CNAME_CHAIN};
	struct server *server = start->server;
	const int kept[] = {start->channel.fd, start->stop_fd,
		server->lifeline};
	char title[32];
	enum nsd_err err;

	worker->index = start->index;
	worker->verifies = start->verifies;
	worker->careful_heartbeats = start->is_careful ? CAREFUL_HEARTBEATS : 0;
	worker->counts = server->counts;
	counts_get_block(server->counts, start->index, &worker->block);
	worker->counters = worker->block.rows;
	worker->lifeline = server->lifeline;
	worker->boot = server->boot;
	worker->proxies = server->proxies;
	worker->handler = (struct net_handler){
		.on_batch = worker_on_batch,
		.on_stream = worker_on_stream,
		.on_stream_end = worker_on_stream_end,
		.on_later = worker_on_later,
		.may_proxy = worker_may_proxy,
		.on_spent = worker_on_spent,
		.is_throttled = worker_is_throttled,
		.ctx = worker,
		.rx_err = &worker->counters->rx_err,
		.tx_err = &worker->counters->tx_err,
		.requests = &worker->requests,
		.turns = start->page != NULL ? &start->page->turns : NULL,
		.wants_local = &counts_get_switch(server->counts)->wants,
		.latency = counts_get_latency(server->counts, start->index),
	};
	worker_set_handlers(&worker->role);

	worker_init_name(start, title, sizeof(title));
	role_init_death(server, start->verifies);
	if (!start->verifies)
		affinity_set_server(&server->conf->server, start->index);
	priority_answer();
	err = store_reader_open(start->store, start->reader_slot, title,
		&worker->reader);
	if (err != NSD_OK)
		return err;
	worker->view = store_reader_view(worker->reader);
	control_listeners_leave(&server->control);
	sockets_keep(&server->listeners, start->index, kept,
		sizeof(kept) / sizeof(*kept));
	cpu_limit_init(&worker->cpu_limit, &worker->limits);
	/* Without its list of proxies everybody would be one. */
	err = worker_read_settings(worker);
	if (err != NSD_OK)
		return err;
	options.rssac = worker->rssac;
	options.block = &worker->block;
	options.reader = worker->reader;
	options.candidates = start->verifies;
	options.key_store = server->key_store;
	options.limits = RATELIMIT ? &worker->limits : NULL;
	options.cookies = counts_get_cookies(server->counts);
	/* Clients may guess the seed: it is not derived from any key. */
	if (getrandom(&options.seed, sizeof(options.seed), 0)
		!= (ssize_t)sizeof(options.seed))
		return NSD_E_SYSTEM;
	worker_forget_configuration(server);
	err = query_ctx_create(&options, worker->counters, &worker->query);
	worker_init_updates(worker);
	if (err == NSD_OK)
		err = role_init_loop(&worker->role, start);
	if (err == NSD_OK)
		err = worker_tls_open(&worker->role, &worker->tls);
	if (err == NSD_OK && !start->stands_by)
		err = worker_serve(worker);
	if (err != NSD_OK)
		return err;
	return sandbox_enter(&server->sandbox, ROLE_WORKER, NULL);
}

void
worker_main(const struct role_start *start)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	enum nsd_err err = worker != NULL ? worker_init(worker, start)
					  : NSD_E_MEMORY;

	if (err != NSD_OK) {
		log_error("%s %u cannot start: %s", start->verifies
				? "verify server" : "server",
			start->verifies ? 1 : start->index + 1, err_text(err));
		_exit(1);
	}
	if (start->server->hooks != NULL
		&& start->server->hooks->on_worker != NULL)
		start->server->hooks->on_worker(&worker->role);
	if (worker->own != NULL)
		role_send(&worker->role, IPC_SERVING, NULL, 0);
	role_run(&worker->role);
	/* The kernel closes and unmaps all. No batch is half answered. */
	_exit(0);
}
