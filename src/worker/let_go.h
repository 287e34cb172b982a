/* let_go.h - a worker ends transfers that keep old versions of zones in the
 * store: see holder.h. */
#ifndef WORKER_LET_GO_H
#define WORKER_LET_GO_H

#include "net/server.h"
#include "query/query.h"
#include "worker/limit_log.h"

struct let_go {
	struct query_ctx *query;
	struct limit_log *log; /* reports transfers that are ended */
	uint64_t epoch;        /* of the store: versions pinned up to it are let
				* go */
};

/* Closes the connections of transfers that keep versions up to let_go->epoch.
 * let_go: NULL is fine. */
void let_go_of_streams(struct let_go *let_go, struct net_tcp *tcp);

#endif
