/* keys.h - requests signed with TSIG (RFC 8945), and their signed replies. */
#ifndef QUERY_KEYS_H
#define QUERY_KEYS_H

#include "query/state.h"

/* A key that a request has named, ready to make MACs. */
struct query_key {
	struct tsig_key tsig;
	struct key_handle secret;
};

/*
 * Checks the TSIG of the request, at q->tsig_at, and sets q->tsig, and of the
 * fields below it those that apply. The first request of a key takes memory.
 * returns RCODE_NOERROR: q->key is who signed it, and there is room for the
 *     signature of the reply beside its limit;
 *     BADKEY, BADSIG, BADTIME: the same as q->tsig_error, which the TSIG of the
 *     reply says;
 *     FORMERR, SERVFAIL: the reply has no TSIG.
 * Cost: one look at each key, and for a known one a MAC over the message.
 */
enum rcode keys_check(struct query_ctx *ctx, struct query *q) MUST_USE;

/* Adds a TSIG, of the kind that q->tsig says, to a reply whose header is
 * written. q->tsig is not QUERY_TSIG_NONE. Without room or memory the reply
 * stays as it is. */
void keys_sign(const struct query_ctx *ctx, struct query *q);

/* Copies the key of a request for a zone transfer, which outlasts the batch.
 * False: no memory, or the key has another secret by now. Release with
 * mac_destroy(key->mac). */
bool keys_copy(const struct query_ctx *ctx, const struct query *q,
	struct tsig_key *key) MUST_USE;

/* The time and error field of a TSIG that is made now. */
struct tsig_stamp keys_stamp(const struct query_ctx *ctx);

/* Destroys all keys that requests have named. */
void keys_destroy(struct query_ctx *ctx);

#endif
