/* worker.h - the state of a worker, for the files that it is made of. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "guard/rrl.h"
#include "net/server.h"
#include "process/counts.h"
#include "process/role.h"
#include "query/query.h"
#include "store/store.h"
#include "tls/server.h"
#include "worker/client_updates.h"
#include "worker/cpu_limit.h"
#include "worker/limit_log.h"
#include "worker/notify.h"
#include "worker/proxies.h"
#include "worker/worker_tap.h"

/* Sockets of one server that are served: our own, or adopted. */
struct socket_group {
	struct socket_group *next;
	unsigned server;
	struct net_tcp *tcp;
	unsigned udp_count;
	unsigned fd_count;
	struct net_udp **udp;
	int *fds;      /* adopted: closed with the group */
};

struct worker {
	struct role role;
	bool verifies; /* the verify server, which is one behind the others */
	unsigned index;
	struct store_reader *reader;
	const struct store_view *view;
	const struct counts *counts;
	struct counters *counters;
	struct counters_block block;
	struct query_ctx *query;
	struct rrl limits;
	struct cpu_limit cpu_limit;
	struct limit_log limit_log;
	struct limit_log cpu_log;
	struct limit_log access_log;
	struct worker_tap tap;
	uint64_t requests; /* of all sockets; net_handler has what it is for */
	uint64_t requests_then; /* when lost datagrams were counted last */
	struct net_tcp_options tcp_options;
	struct net_handler handler;
	size_t reply_size;
	struct rssac *rssac; /* figures of RSSAC002; NULL: not wanted */
	struct proxies *proxies;
	struct notify_queue notifies; /* for xfrd */
	struct client_updates updates;
	struct tls_server *tls;       /* NULL: none */
	struct socket_group *own;     /* NULL: a standby */
	struct socket_group *adopted;
	unsigned careful_heartbeats; /* until it reads many at a time */
	unsigned trim_from; /* the most connections since the last trim */
	struct event *lifeline_event;
	int lifeline;
	time_t boot;
};

/* Goes through the worker's own group, then the adopted ones. */
#define FOR_EACH_GROUP(worker, g)                                            \
	for (struct socket_group *g = (worker)->own != NULL                  \
			? (worker)->own : (worker)->adopted; g != NULL;      \
		g = g == (worker)->own ? (worker)->adopted : g->next)

/* ---- worker_sockets.c ---------------------------------------------------- */

/* Serves the worker's own sockets from now on. NSD_E_MEMORY: it cannot. */
enum nsd_err worker_serve(struct worker *worker) MUST_USE;
/* Counts down the heartbeats in which one message is read at a time. */
void worker_grow_careless(struct worker *worker);

/* Counts the lost datagrams of all sockets. */
void worker_count_lost(struct worker *worker);

/* Gives all sockets the options that the worker has for them. */
void worker_set_options(struct worker *worker);

/* Serves the clients of another worker, which is down; or does so no more. */
void worker_on_adopt(struct role *role, const struct ipc_message *m);
void worker_on_release(struct role *role, const struct ipc_message *m);

#endif
