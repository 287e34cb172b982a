/* keys.h - requests signed with TSIG (RFC 8945), and their signed replies. */
#ifndef QUERY_KEYS_H
#define QUERY_KEYS_H

#include "query/state.h"

/* A key that has been asked for, with the means to use it. */
struct query_key {
	struct tsig_key tsig;
	struct vault_place secret;
};

/*
 * Checks the TSIG of the request, at q->tsig_at, and sets what q has of it. The
 * first request of a key takes memory.
 * returns RCODE_NOERROR: q->key is who signed it, and there is room for the
 *     signature of the reply beside its limit;
 *     BADKEY, BADSIG, BADTIME: the same as q->tsig_error, which the TSIG of the
 *     reply says;
 *     FORMERR, SERVFAIL: the reply has no TSIG.
 * Cost: one look at each key, and for a known one a MAC over the message.
 */
enum rcode keys_check(struct query_ctx *ctx, struct query *q) MUST_USE;

/* Adds the TSIG that q->tsig says, which is not QUERY_TSIG_NONE, to a reply
 * whose header is written. Without room, or memory, it stays as it is. */
void keys_sign(const struct query_ctx *ctx, struct query *q);

/* Makes a key for an exchange that lasts. False: no memory, or the key has
 * another secret since. Release with mac_destroy(key->mac). */
bool keys_copy(const struct query_ctx *ctx, const struct query *q,
	struct tsig_key *key) MUST_USE;

/* What a message that is signed now says. */
struct tsig_stamp keys_stamp(const struct query_ctx *ctx);

/* Forgets all keys that have been asked for. */
void keys_destroy(struct query_ctx *ctx);

#endif
