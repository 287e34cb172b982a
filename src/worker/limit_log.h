/* limit_log.h - what rate limits hold back, and whom lists let in or not, as
 * lines of the log. */
#ifndef WORKER_LIMIT_LOG_H
#define WORKER_LIMIT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "query/query.h"
#include "worker/cpu_limit.h"

/* Of a worker; zeroed at first. */
struct limit_log {
	uint64_t sec;    /* the one that is being counted for */
	uint32_t lines;  /* in it */
	uint32_t missed; /* since the last line */
};

/* Logs what the last batch has to tell: at verbosity 1 what has begun or ended
 * to be held back, by one log; at 1 who is given a zone, and at 2 who is
 * refused something, by the other. Each writes 20 lines a second at most, and
 * how many it left out. Cost: two tests where there is nothing. */
void limit_log_write_batch(struct limit_log *limits, struct limit_log *access,
	const struct query_ctx *query, uint64_t now_sec);
/* To the second of these: at 2 that who may not has spoken for another. */
void limit_log_write_proxy(struct limit_log *access,
	const struct sockaddr_storage *proxy, uint64_t now_sec);
/* To the same: at 2 what ended the transfer whose last message was made. */
void limit_log_write_unsent(struct limit_log *access,
	const struct query_unsent *unsent, uint64_t now_sec);
/* To the same: a transfer is ended, as it keeps old versions. */
void limit_log_write_ended(struct limit_log *access, const uint8_t *apex,
	const struct sockaddr_storage *client, uint64_t now_sec);
/* What processor's time has been used up, at 1; by a log of its own. */
void limit_log_write_cpu(struct limit_log *log,
	const struct cpu_limit_block *blocks, size_t count, uint64_t now_sec);

#endif
