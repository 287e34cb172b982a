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
#include "base/key_store.h"
#include "dns/counters.h"
#include "dns/name.h"
#include "guard/cookie.h"
#include "guard/rrl.h"
#include "query/rssac.h"
#include "settings/acl.h"
#include "store/store.h"

/* Options that a worker has from its start. All others are settings, which each
 * batch finds in the store (settings/settings.h). */
struct query_options {
	unsigned cname_max;    /* links of a chain to follow; 18 */
	struct rssac *rssac;   /* NULL: no figures of RSSAC002 */
	const struct counters_block *block; /* counters of groups of zones;
				  * NULL: they are not counted */
	/* The key store with the secrets of the settings' keys; NULL: no key is
	 * known. */
	const struct key_store *key_store;
	const struct rrl *limits; /* of the rate of answers; NULL: none */
	uint64_t seed; /* of random choices; any number */
	const struct cookie_share *cookies; /* NULL: no cookies */
	struct store_reader *reader; /* of the caller, to pin versions that
				      * are transferred; NULL: no transfers */
	bool candidates; /* answers from the version of a zone that is being
			  * verified, if there is one */
};

struct query_ctx;

/*
 * Makes the context that a worker answers with.
 * in: options, borrowed, but what it refers to is kept until
 * query_ctx_destroy; counters, kept as long.
 * out: *ctx, the caller's; release it with query_ctx_destroy.
 * returns NSD_OK; NSD_E_MEMORY if the process has no memory (*ctx is not set).
 */
enum nsd_err query_ctx_create(const struct query_options *options,
	struct counters *counters, struct query_ctx **ctx) MUST_USE;
void query_ctx_destroy(struct query_ctx *ctx);

/* Drops state that was made of the secrets of keys; it is made anew when
 * needed. Not within query_answer_batch. */
void query_forget_keys(struct query_ctx *ctx);

/* Sets where figures of RSSAC002 are counted; NULL: nowhere. Not within
 * query_answer_batch. */
void query_set_rssac(struct query_ctx *ctx, struct rssac *rssac);

/* Sets the time of later calls. now_sec: since 1970; signatures of keys are
 * checked and made with it. uptime_sec: of CLOCK_MONOTONIC; zones expire by it,
 * so a change of the date makes no zone expire. */
void query_set_time(struct query_ctx *ctx, uint64_t now_sec,
	uint32_t uptime_sec);

/* Sets the time for limits: clock_coarse_msec. */
void query_set_msec(struct query_ctx *ctx, uint64_t now_msec);

/*
 * Answers a batch of 1 to EXCHANGE_BATCH_MAX requests.
 * in: exchanges, borrowed; the requests may be any octets. The caller is online
 * as a reader of the store during the call.
 * out: each reply in its buffer, and its reply_len; 0: nothing may be sent.
 * Sets pass_on of each NOTIFY and each UPDATE that is allowed; an UPDATE has no
 * reply yet: query_answer_update makes it. Returns their count. Replies
 * do not refer into the store. Cannot fail, does not block. Allocates nothing,
 * but for the first request of a key and for a zone transfer; these answer
 * SERVFAIL without memory. Its cost has a limit, for any requests and zones;
 * lists and keys of nsd.conf are walked from the start.
 */
size_t query_answer_batch(struct query_ctx *ctx, const struct store_view *view,
	struct exchange *exchanges, size_t count);

/* The octets of the name of the zone that request i of the last batch was for,
 * the last ones of the question's name; 0: there is no such zone. The caller is
 * still online. */
uint8_t query_zone_len(const struct query_ctx *ctx, size_t i);

/* The outcome of an UPDATE (RFC 2136) that was passed on. */
struct query_outcome {
	uint16_t rcode;   /* enum rcode, up to 15 */
	uint16_t ede;     /* enum ede_code */
	const char *text; /* of the extended error; NULL: none */
};

/*
 * Makes the reply to an UPDATE that had pass_on set, signed if the request is.
 * in: x: a copy of the request as it was, with room for the reply; the caller
 * is online as a reader of the store. The time has been set (query_set_time) to
 * that of the first call: by now the request's signature may be too old.
 * out: x->reply_len; 0: there is no reply, as the key that signed the request
 * is gone, and the update may have been made.
 */
void query_answer_update(struct query_ctx *ctx, const struct store_view *view,
	struct exchange *x, const struct query_outcome *outcome);

/* A netblock and subject whose answers a rate limit begins or ceases to hold
 * back. */
struct query_block {
	bool begins;
	bool whitelisted;
	bool named;     /* false: the answers have no name in common */
	uint16_t kind;  /* enum answer_kind */
	uint16_t qtype;
	struct sockaddr_storage client;
	uint8_t netblock[16]; /* of the client; netblock_bits of it count */
	unsigned netblock_bits;
	uint8_t name[NAME_MAX_LEN]; /* common to the answers */
};
/* The most blocks that are reported for a batch; more go unreported. */
#define QUERY_BLOCKS_MAX 4

/* The blocks that began and ended with the last batch. Lent until the next. */
const struct query_block *query_blocks(const struct query_ctx *ctx,
	size_t *count);

enum query_access_kind {
	QUERY_ACCESS_QUERY,
	QUERY_ACCESS_NOTIFY,
	QUERY_ACCESS_AXFR,
	QUERY_ACCESS_IXFR,
	QUERY_ACCESS_UPDATE,  /* allow-update, update-policy */
	QUERY_ACCESS_FORWARD, /* update-forward */
};

/* The fault of an UPDATE that no list is about. */
enum query_fault {
	QUERY_FAULT_NONE,
	QUERY_FAULT_ZONE,      /* no such zone is here */
	QUERY_FAULT_POLICY,    /* update-policy does not allow a record */
	QUERY_FAULT_KEY,       /* no such key */
	QUERY_FAULT_SIGNATURE,
	QUERY_FAULT_TIME,      /* signed at another time than ours */
	QUERY_FAULT_UNSIGNED,  /* update-policy is for signed ones alone */
};

/* A decision of an access list: a request that was refused, or a transfer that
 * was allowed. */
struct query_access {
	enum query_access_kind kind;
	bool allowed;
	bool blocked; /* by an element; false: no element matches, or the
		       * verbosity is not query_access_verbosity */
	struct acl_block block; /* the element, if blocked */
	struct sockaddr_storage client;
	struct sockaddr_storage proxy; /* if it is the proxy that is blocked */
	uint8_t name[NAME_MAX_LEN]; /* of the question */
	uint8_t key[NAME_MAX_LEN]; /* of an UPDATE's signature, which is right;
				    * the root: none */
	enum query_fault fault;
	uint8_t of[NAME_MAX_LEN]; /* POLICY: the owner; KEY, SIGNATURE, TIME:
				   * the key */
	uint16_t type;            /* POLICY: of the record */
	uint64_t signed_sec;      /* TIME: the request's, since 1970 */
	uint64_t now_sec;         /* TIME: ours */
};
/* The most decisions that are reported for a batch; more go unreported. */
#define QUERY_ACCESSES_MAX 4

/* The verbosity at which a decision is written to the log. Whoever is let
 * change a zone needs to know why a change was refused. */
static inline unsigned
query_access_verbosity(const struct query_access *access)
{
	return access->allowed || access->kind >= QUERY_ACCESS_UPDATE ? 1 : 2;
}

/* The decisions of the last batch. Lent until the next. */
const struct query_access *query_accesses(const struct query_ctx *ctx,
	size_t *count);

/*
 * Makes the messages of a zone transfer, whose first reply has no octets and
 * exchange.stream set. query_stream_next writes one message and returns its
 * length; 0: there are no more. reply has MESSAGE_MAX_LEN octets of room.
 * query_stream_end is called once for each stream, whether or not all messages
 * were asked for; it lets go of the version of the store that the stream holds.
 * The reader may be offline.
 * Cost of a message: linear in its octets.
 */
size_t query_stream_next(struct query_ctx *ctx, void *stream, uint8_t *reply,
	size_t capacity);
void query_stream_end(struct query_ctx *ctx, void *stream);

/* A pointer of the caller's own that goes with a stream: NULL at first. */
void **query_stream_note(void *stream);

/* Finds the apex of a stream's zone, if the stream's version was pinned up to
 * an epoch of the store (store_reader_has_pinned); else NULL. Lent until the
 * stream ends. */
const uint8_t *query_stream_find_pinned(const struct query_ctx *ctx,
	const void *stream, uint64_t epoch);

/* A record that has ended a transfer, for it has no room in any message. */
struct query_unsent {
	bool of_difference; /* false: of the zone */
	uint8_t owner[NAME_MAX_LEN];
	uint8_t zone[NAME_MAX_LEN];
};

/* The unsent record of the last query_stream_next; NULL: there was none, or it
 * was asked for before. Lent until the next. */
const struct query_unsent *query_take_unsent(struct query_ctx *ctx);

#endif
