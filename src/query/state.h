/*
 * state.h - a worker's state of each request while a batch goes through the
 * stages, and its state between batches.
 */
#ifndef QUERY_STATE_H
#define QUERY_STATE_H

#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/exchange.h"
#include "dns/edns.h"
#include "dns/message.h"
#include "dns/tsig.h"
#include "names/trie.h"
#include "query/query.h"
#include "settings/settings.h"
#include "store/store.h"
#include "zone/nsec3.h"
#include "zone/zone.h"

/* The work that is left for a request. The order counts: from STEP_NOTIFY on
 * all but STEP_CHAOS need a zone. */
enum query_step {
	STEP_DROP,     /* no reply may be sent */
	STEP_LATER,    /* the caller has the reply sent later */
	STEP_HEADER,   /* rcode is set: reply with header (and OPT) */
	STEP_QUESTION, /* rcode is set: reply with the question, too */
	STEP_NOTIFY,   /* NOTIFY, once the zone is known */
	STEP_UPDATE,   /* UPDATE, the same; its zone section is read */
	STEP_TRANSFER, /* AXFR or IXFR, once the zone is known */
	STEP_CHAOS,    /* class CH: no zone */
	STEP_ZONE,     /* the answer comes from a zone, still to be found */
	STEP_COMPOSE,  /* the zone is at hand */
};

/* The result of looking up a name and type in a zone (RFC 1034 section
 * 4.3.2). */
enum outcome {
	OUTCOME_HIT,        /* an RRset of the type */
	OUTCOME_HIT_ANY,    /* records, any of which will do (RFC 8482) */
	OUTCOME_HIT_SIGS,   /* signatures, asked for by type RRSIG */
	OUTCOME_CNAME,
	OUTCOME_DNAME,      /* node is an ancestor with a DNAME */
	OUTCOME_DELEGATION, /* node is the topmost cut */
	OUTCOME_NODATA,
	OUTCOME_NXDOMAIN,
	OUTCOME_WILDCARD,   /* not known yet: look for the wildcard */
	OUTCOME_BROKEN,     /* the zone lacks something that it must have */
};

/* A search for one name in one zone, and what came of it. */
struct search {
	const struct zone_entry *entry;
	const struct zone *zone;
	const struct message_name *name; /* the name in hand */
	uint32_t name_at;       /* where it is in the reply */
	uint8_t zone_labels;    /* labels of the apex */
	bool from_wildcard;     /* node is the wildcard that name matched */
	enum outcome outcome;
	const struct node *node;
	const struct node *encloser; /* closest encloser, if name is absent */
	const struct node_rrset *found; /* entry of the type, or of the CNAME,
					 * DNAME or NS; or NULL */
};

/* The most entries of a name that are looked at for QTYPE ANY and RRSIG: a zone
 * may have a name with all types. Names in practice have far fewer. */
#define QUERY_ENTRIES_MAX 64u

enum section { SECTION_ANSWER, SECTION_AUTHORITY, SECTION_ADDITIONAL,
	SECTION_COUNT };

/*
 * Work that the octets of a reply do not show, in units of some 20 ns: a record
 * whose names are compressed anew (measured: doc/decisions/0060), and a cell
 * that is followed for it; a transfer that begins, and a changeset that is
 * looked at. The others are octets that cost a unit: of changesets that are
 * made one, and of the reply where they are taken back.
 */
#define WORK_FOLDED 12u
#define WORK_CELL 2u
#define WORK_TRANSFER 64u
#define WORK_CHANGESET 4u
#define WORK_OCTETS_CONDENSED 4u
#define WORK_OCTETS_LOST 64u

/* The reply as far as it is written. */
struct reply {
	uint8_t *out;
	uint32_t len;
	uint32_t limit;    /* most octets that it may have, without OPT */
	uint16_t flags;    /* second word of the header, without rcode */
	uint16_t rcode;    /* may be an extended one */
	uint16_t count[SECTION_COUNT];
	uint32_t work;     /* so far, as WORK_* have it. No limit, as that of
			    * proofs, depends on it */
	const struct store_view *view;
	/* The zone that RRsets are emitted from. */
	const uint8_t *apex; /* whole name */
	uint32_t apex_at;    /* where the apex is in the reply */
	bool apex_is_whole;  /* the apex has no pointer there */
	uint8_t *scratch;    /* MESSAGE_MAX_LEN octets */
};

/* An RRset in the reply whose targets may get additional data. */
struct placed {
	const struct rrset *rrset;
	const struct zone *zone;        /* the RRset's */
	const struct node *node;        /* owner of the RRset */
	uint32_t at;       /* offset of its first octet */
	uint32_t owner_at;
	uint32_t rotated;  /* sent octets that were moved to the end */
	uint32_t len;      /* sent octets */
	uint32_t loose;    /* 0: packed; else some name is longer than in the
			    * store, and owners have this many octets */
};
#define PLACED_MAX 2 /* the answer, and NS in the authority section */

/* A name that a wildcard answered for. With DNSSEC, the reply has to prove that
 * no closer name exists (RFC 4035 section 3.1.3.3). */
struct expansion {
	const struct zone_entry *entry;
	const struct zone *zone;
	const struct node *encloser;
	uint32_t name_at; /* in the reply */
};

/* The most links of a chain, even if cname_max allows more. */
#define LINKS_MAX (MAX_CNAME_CHAIN > 32 ? MAX_CNAME_CHAIN : 32)
/*
 * The most records that deny in one reply. An expansion needs at most one. The
 * end of a chain needs at most three: for closest encloser, next closer name
 * and wildcard. At most LINKS_MAX + 1 names are expanded. With that many the
 * chain is cut off, and its end denies nothing.
 */
#define DENIALS_MAX (LINKS_MAX + 4)

/*
 * The cost of the proofs of one reply so far, over all links of a chain.
 * Someone may make a zone that costs more than any sound one does. So there are
 * limits, and proofs that would exceed them are left out of the reply.
 */
struct proof_spent {
	uint32_t hashes; /* names hashed for NSEC3 */
	uint32_t rounds; /* of SHA-1 for these: iterations + 1 each */
	uint32_t steps;  /* back from a name to one that has an NSEC */
};
/* Hashes that are free, whatever the iterations. The proof of a name without
 * links before it needs one. */
#define PROOF_HASHES_FREE 2
/* Enough to prove the longest chain with 150 iterations. If a zone has more,
 * validators take it as insecure anyway (RFC 9276 section 3.2). */
#define PROOF_ROUNDS_MAX (DENIALS_MAX * (150 + 1))
/* Two names deny at the end of a chain. On the way back from each, all
 * ancestors of a name may be empty non-terminals. A link mostly takes a step or
 * two, since what it denies is near its wildcard. */
#define PROOF_STEPS_MAX (2 * (NAME_MAX_LABELS + 1) + 2 * DENIALS_MAX)

/* The statement that a proof by NSEC3 has to make. */
enum proof_kind {
	PROOF_NONE,
	PROOF_TYPE,       /* the name exists without the type (RFC 5155
			   * sections 7.2.3, 7.2.4, 7.2.7) */
	PROOF_WILDCARD_TYPE, /* the wildcard exists without the type (7.2.5) */
	PROOF_NAME,       /* neither name nor wildcard exists (7.2.2) */
	PROOF_EXPANSION,  /* no closer name than the wildcard exists (7.2.6) */
};

/* The records of a proof. */
enum proof_part {
	PART_ENCLOSER, /* matches the closest encloser */
	PART_CLOSER,   /* covers the next closer name */
	PART_OWN,      /* matches the name, or its wildcard, or covers that */
	PART_COUNT,
};

/* A proof by NSEC3 that is being put together. */
struct nsec3_proof {
	enum proof_kind kind;
	uint32_t name_at; /* where the name is in the reply */
	const struct nsec3_chain *chain;
	uint8_t wanted;   /* parts to look for: bits by enum proof_part */
	bool hashes;      /* the next closer name has to be hashed */
	struct nsec3_job job;
	struct nsec3_find parts[PART_COUNT];
};

/* The TSIG of the reply. Only keys_check sets it, once it has checked that of
 * the request. */
enum query_tsig {
	QUERY_TSIG_NONE,    /* no TSIG: the request has none, or was not
			     * checked */
	QUERY_TSIG_SIGNED,  /* signed with the key that chain has */
	QUERY_TSIG_REFUSED, /* a TSIG without a MAC, with tsig_error */
};

struct query {
	struct exchange *exchange;
	enum query_step step;
	bool udp;
	uint16_t udp_size;    /* ipv4-edns-size or ipv6-edns-size */
	uint16_t ede;         /* enum ede_code */
	const char *ede_text; /* or NULL */
	uint16_t tsig_at;     /* offset of a TSIG in the request; 0: none */
	enum query_tsig tsig; /* of the reply */
	enum rcode tsig_error;/* the fault of the request's TSIG */
	store_ref key;        /* struct settings_key that signed the request;
			       * none: not signed */
	struct key_handle secret; /* the key's */
	struct tsig_chain chain;
	struct edns edns;
	enum cookie_state cookie;
	uint32_t rate;       /* answers a second; 0: any number */
	struct {
		uint8_t labels;   /* of the question's name, its last ones */
		bool is_wildcard; /* all names below these have its answer */
	} common;            /* of limit_begin */
	uint64_t limit_hashes[SETTINGS_NETBLOCKS_MAX]; /* of the buckets that
			      * this one counts for, in the order of the
			      * client's netblocks */
	struct reply reply;
	/* The zone of the question's name, for ZONEVERSION; NULL: none. */
	const struct zone *zone;
	uint8_t zone_labels;
	uint32_t group;      /* of the zone, for statistics; 0: none */
	struct search search;
	struct placed placed[PLACED_MAX];
	unsigned placed_count;
	unsigned link_count; /* CNAMEs followed */
	uint32_t links_at[LINKS_MAX + 1]; /* owners of the CNAMEs in the
					   * reply */
	unsigned dname_count; /* DNAMEs in the reply */
	struct {
		const struct node *node;
		uint32_t target_at;
	} dnames[LINKS_MAX + 1];
	unsigned expansion_count;
	struct expansion expansions[LINKS_MAX + 1];
	unsigned denial_count;
	const void *denials[DENIALS_MAX]; /* noted by denial_note */
	struct proof_spent spent;
	struct nsec3_proof proof; /* of the question's name */
	struct message_question question;
	struct trie_walk walk;
	/* "*" below the closest encloser, relative to the apex. */
	uint8_t wildcard_label_at[NAME_MAX_LABELS + 1];
	uint8_t wildcard[NAME_MAX_LEN];
};

struct zone_table;
struct query_key;

/* The most octets of a text that is made for the client, with its NUL. */
#define QUERY_TEXT_MAX 320u

/* Counters of round-robin. */
#define QUERY_ROTATION_BITS 10
#define QUERY_ROTATIONS (1u << QUERY_ROTATION_BITS)

struct query_ctx {
	struct query_options options;
	struct counters *counters;
	struct counters uncounted; /* of requests that come again */
	/* The first RR of the next RRsets (round-robin); see next_rotation. */
	uint16_t rotations[QUERY_ROTATIONS];
	uint64_t now_sec; /* since 1970 */
	uint32_t uptime_sec; /* of CLOCK_MONOTONIC */
	uint64_t now_tick;   /* of rrl.h */
	uint64_t chance;     /* which of those limited are sent cut short */
	uint64_t cookie_version;
	struct cookie_secrets cookie_secrets;
	size_t block_count;
	struct query_block blocks[QUERY_BLOCKS_MAX];
	size_t access_count;
	struct query_access accesses[QUERY_ACCESSES_MAX];
	bool has_unsent;
	struct query_unsent unsent;
	struct query_key **keys; /* a key for each one of the settings, made at
				  * its first use */
	uint32_t key_count;      /* of `keys` */
	const struct settings *keys_of; /* the settings: only compared */
	/* For one call of query_answer_batch. */
	const struct store_view *view;
	const struct zone_table *table;
	const struct settings *settings;
	size_t passed_on; /* exchanges that have pass_on set */
	const struct query_outcome *outcome; /* of the request at hand, an
				  * UPDATE that was passed on; or NULL */
	struct message_name link; /* the name in hand behind a CNAME */
	struct message_name target; /* of an additional look-up */
	struct trie_walk walk;    /* of links and additional look-ups */
	struct nsec3_proof proof; /* of links */
	uint8_t scratch[MESSAGE_MAX_LEN];
	/* The text of a request, that its ede_text may lead to. */
	char texts[EXCHANGE_BATCH_MAX][QUERY_TEXT_MAX];
	struct query queries[EXCHANGE_BATCH_MAX];
};

/* True if the name of the question is the apex of its zone. */
static inline bool
query_is_of_apex(const struct query *q)
{
	const struct zone_entry *entry = q->search.entry;

	return entry != NULL && entry->leaf.labels == q->question.name.count;
}

static inline bool
query_wants_dnssec(const struct query *q)
{
	return q->edns.dnssec_ok;
}

/* True if the reply needs proofs: the client asks for DNSSEC, and the zone is
 * signed. */
static inline bool
query_wants_proof(const struct query *q, const struct zone *zone)
{
	return q->edns.dnssec_ok && (zone->flags & ZONE_SIGNED) != 0;
}

static inline void
query_set_ede(struct query *q, enum ede_code code, const char *text)
{
	q->ede = code;
	q->ede_text = text;
}

/* Ends a request with a code. The reply will have the question. */
static inline void
query_fail(struct query *q, enum rcode rcode, enum ede_code code,
	const char *text)
{
	q->step = STEP_QUESTION;
	q->reply.rcode = rcode;
	query_set_ede(q, code, text);
}

#endif
