/* cookies.h - cookies of clients (RFC 7873), and ours for them. */
#ifndef QUERY_COOKIES_H
#define QUERY_COOKIES_H

#include "query/state.h"

/* The octets of the COOKIE option in the reply. */
static inline uint32_t
cookies_len(const struct query *q)
{
	return q->cookie != COOKIE_NONE ? EDNS_OPTION_HEAD + COOKIE_LEN : 0;
}

/* True if the client has shown that it receives at its address. */
static inline bool
cookies_prove_client(const struct query *q)
{
	return q->cookie == COOKIE_GOOD || q->cookie == COOKIE_RENEW;
}

/* Takes the secrets that are to be used, before a batch. */
void cookies_begin(struct query_ctx *ctx);

/* Checks the cookie of a request. Without answer-cookie, it is as if there were
 * none. */
void cookies_check(const struct query_ctx *ctx, struct query *q);

/* Writes cookies_len octets, at least 1: the whole option. */
void cookies_write(const struct query_ctx *ctx, const struct query *q,
	uint8_t *out);

#endif
