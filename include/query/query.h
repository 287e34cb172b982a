/*
 * query.h - answers DNS queries from the store: octets in, octets out.
 *
 * No sockets, no clock, no logging. Each worker has a query_ctx of its own.
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/exchange.h"
#include "query/counters.h"
#include "query/rssac.h"
#include "store/store.h"

/* What a worker is told at its start. All other options are settings, which
 * each batch finds in the store (settings/settings.h). */
struct query_options {
	unsigned cname_max;    /* links of a chain to follow; 18 */
	struct rssac *rssac;   /* NULL: no figures of RSSAC002 */
};

struct query_ctx;

/*
 * Makes the context that a worker answers with.
 * in: options, borrowed, but its rssac is kept until query_ctx_destroy;
 * counters, kept as long.
 * out: *ctx, the caller's; release it with query_ctx_destroy.
 * returns NSD_OK; NSD_E_MEMORY if the process has no memory (*ctx is not set).
 */
enum nsd_err query_ctx_create(const struct query_options *options,
	struct counters *counters, struct query_ctx **ctx) MUST_USE;
void query_ctx_destroy(struct query_ctx *ctx);

/*
 * Answers a batch of 1 to EXCHANGE_BATCH_MAX requests.
 * in: exchanges, borrowed; the requests may be any octets. The caller is online
 * as a reader of the store during the call.
 * out: each reply in its buffer, and its reply_len; 0: nothing may be sent.
 * Replies do not refer into the store. Cannot fail, allocates nothing, does not
 * block. Its cost has a limit, whatever the requests and zones hold.
 */
void query_answer_batch(struct query_ctx *ctx, const struct store_view *view,
	struct exchange *exchanges, size_t count);

#endif
