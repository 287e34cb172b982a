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

/* The server-wide options that shape answers (doc/surface.md 1.2). */
struct query_options {
	const char *identity;  /* NULL: refuse (hide-identity) */
	const char *version;   /* NULL: refuse (hide-version) */
	const uint8_t *nsid;   /* NULL: none */
	uint16_t nsid_len;
	uint16_t udp4_size;    /* ipv4-edns-size */
	uint16_t udp6_size;
	bool drop_updates;
	bool round_robin;
	bool minimal_responses;
	bool confine_to_zone;
	bool refuse_any;
	unsigned cname_max;    /* links of a chain to follow; 18 */
	struct rssac *rssac;   /* NULL: no figures of RSSAC002 */
};

struct query_ctx;

/*
 * Makes the context that a worker answers with.
 * in: options, borrowed, but its texts, NSID and rssac are kept until
 * query_ctx_destroy; counters, kept as long.
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
