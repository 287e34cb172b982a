/*
 * transfer_state.h - a transfer under way. From the top: transfer.c begins and
 * ends it and makes its messages, transfer_condense.c makes one difference of
 * several, transfer_fill.c writes records into a message, transfer_walk.c finds
 * out which is next.
 */
#ifndef QUERY_TRANSFER_STATE_H
#define QUERY_TRANSFER_STATE_H

#include "query/emit.h"
#include "query/transfer.h"
#include "zone/history.h"
#include "zone/nsec3_page.h"

/* The parts of a transfer, in the order in which they are sent. */
enum transfer_part {
	TRANSFER_FIRST_SOA,
	TRANSFER_CHANGESETS, /* differences between versions; the last SOA is
			   * next */
	TRANSFER_NAMES,
	TRANSFER_OTHERS,  /* owners of NSEC3 records outside of the chain */
	TRANSFER_CHAIN,
	TRANSFER_LAST_SOA,
	TRANSFER_NONE,
};

/*
 * A name relative to the apex. The labels lie in the store, which keeps them as
 * long as the version is pinned, or in `hashed`. Behind them there are 7 octets
 * more that may be read.
 */
struct transfer_name {
	const uint8_t *labels;
	uint8_t len;    /* octets */
	uint8_t count;  /* labels */
	bool is_placed; /* the name is in the message, and at[] is set */
	uint8_t label_at[NAME_MAX_LABELS + 1]; /* offset of each label, and
						* len behind the last */
	uint32_t at[NAME_MAX_LABELS + 1]; /* offset of each label in the
					   * message; behind the last one that
					   * of the apex */
	uint8_t hashed[1 + NSEC3_LABEL_LEN + 7];
};

/* The form of the next records, all at the same owner. */
enum item_kind { ITEM_RRSET, ITEM_SIGS, ITEM_NSEC3, ITEM_STEP };

/* Names that are looked at ahead, so that they are in the cache by then. */
#define TRANSFER_AHEAD 8u

struct transfer {
	const struct store_view *view;
	struct store_pin pin;
	void *note; /* the caller's */
	const struct zone *zone;
	uint8_t apex[NAME_MAX_LEN];
	/* Header and question, the same in each message. */
	uint8_t head[MESSAGE_HEADER_LEN + NAME_MAX_LEN
		+ MESSAGE_QUESTION_TAIL];
	uint32_t head_len;
	/* The OPT of the first message, perhaps with a cookie, EXPIRE and
	 * edns-tcp-keepalive. */
	uint8_t opt[EDNS_OPT_LEN + 3 * EDNS_OPTION_HEAD + COOKIE_LEN + 4 + 2];
	uint32_t opt_len;          /* 0: the next message has none */
	bool is_padded;            /* each message has padding, and ends a
				    * block */
	bool is_signed;
	struct tsig_key key;
	struct tsig_chain chain;

	enum transfer_part part;
	struct history_path path;  /* changesets that are still to be sent; none
				    * if the zone is sent */
	uint8_t *condensed;        /* one made of them all; or NULL */
	struct cursor changeset;   /* records of one that are not sent yet */
	struct history_rr record;
	struct trie_iter nodes;
	store_ref ahead[TRANSFER_AHEAD]; /* nodes that come next: a ring */
	unsigned ahead_at;
	const struct node_rrset *entry, *entry_end; /* of a node: those that
				    * come next; equal: none do */
	unsigned soa_items;        /* of the first SOA, or the last, so far */
	struct nsec3_iter records;
	bool has_sent_record;      /* the record's signatures are next */

	enum item_kind kind;
	const void *object;        /* struct rrset, rrset_sigs, nsec3_record
				    * or history_rr */
	uint32_t sent;             /* octets of its data, if it fits into no
				    * message and is sent in several */
	/* The owner of the item, and the one before if that is in the message;
	 * both are in `names`. */
	struct transfer_name *owner;
	struct transfer_name *last;
	struct transfer_name names[2];
};

/* Differences that have more octets than this are sent as they are. It bounds
 * the time for a request: a record takes 12 octets at least. */
#define TRANSFER_CONDENSE_MAX 65536u
/* The most octets of differences where the result has to fit a datagram: any
 * client that may transfer a zone can ask without a connection, as often as a
 * line carries. */
#define TRANSFER_CONDENSE_UDP_MAX 4096u

/* Makes one difference of those of t->path, which is not walked yet, if they
 * have no more than octets_max octets, and it is certain to be the same for all
 * clients and does not take long. Returns the octets that it has read; 0: none,
 * as there are too many, or one difference alone. */
size_t transfer_condense(struct transfer *t, size_t octets_max);

/* Begins to walk: t->path and what is before it are set, all else is zero. Goes
 * to the first item. */
void transfer_walk_begin(struct transfer *t);

/* Goes to the next item; TRANSFER_NONE: there is none. */
void transfer_walk_next(struct transfer *t);

/* Fills a message with items, and goes to the first that has no room. */
void transfer_fill(struct transfer *t, struct reply *reply);

/* Writes one item into an empty message; or, if it does not fit as a whole,
 * single records of it. */
void transfer_fill_one(struct transfer *t, struct reply *reply);

#endif
