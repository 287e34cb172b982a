/* limit_log.h - reports of rate limits and of access lists, as lines of the
 * log. */
#ifndef WORKER_LIMIT_LOG_H
#define WORKER_LIMIT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "query/query.h"
#include "worker/cpu_limit.h"

/* The state of one log of a worker; zeroed at first. */
struct limit_log {
	uint64_t sec;    /* the second that lines are counted for */
	uint32_t lines;  /* written in that second */
	uint32_t missed; /* since the last line */
};

/* Reports the last batch. By one log, at verbosity 1: netblocks that a limit
 * began or ceased to hold back. By the other: at 1 transfers that were allowed
 * and UPDATEs that were refused, at 2 other requests that were refused. Each
 * log writes 20 lines a second at most, and how many it left out. Cost: two
 * tests where there is nothing. */
void limit_log_write_batch(struct limit_log *limits, struct limit_log *access,
	const struct query_ctx *query, uint64_t now_sec);
/* Reports a proxy that is not in allow-proxy, at 2. */
void limit_log_write_proxy(struct limit_log *access,
	const struct sockaddr_storage *proxy, uint64_t now_sec);
/* Reports the record that has ended a transfer, at 2. */
void limit_log_write_unsent(struct limit_log *access,
	const struct query_unsent *unsent, uint64_t now_sec);
/* Reports a transfer that is ended because it keeps old versions. */
void limit_log_write_ended(struct limit_log *access, const uint8_t *apex,
	const struct sockaddr_storage *client, uint64_t now_sec);
/* Reports netblocks that have used up their processor's time, at 1; by a log of
 * its own. */
void limit_log_write_cpu(struct limit_log *log,
	const struct cpu_limit_block *blocks, size_t count, uint64_t now_sec);

#endif
