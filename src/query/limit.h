/* limit.h - limits of the rate of answers over UDP (guard/rrl.h). */
#ifndef QUERY_LIMIT_H
#define QUERY_LIMIT_H

#include "query/state.h"

/* True if answers to a batch of this transport are limited. */
static inline bool
limit_applies(const struct query_ctx *ctx, enum exchange_transport transport)
{
	return transport == TRANSPORT_UDP && ctx->options.limits != NULL
		&& (ctx->settings->rrl_ratelimit
			   | ctx->settings->rrl_whitelist_ratelimit)
		!= 0;
}

/* Sets the subject of an answer from a zone: before it is composed, as a chain
 * leads elsewhere. */
void limit_begin(struct query *q);

/* Sets the kind and hashes of a reply that is composed, before reply_end:
 * q->rate and q->limit_hashes. Their buckets are being fetched from then on. */
void limit_classify(struct query_ctx *ctx, struct query *q);

/*
 * Counts the reply. It stays as it is, or is cut short (TC), so that a real
 * client asks again over TCP. False: no reply is to be sent.
 */
bool limit_count(struct query_ctx *ctx, struct query *q);

#endif
