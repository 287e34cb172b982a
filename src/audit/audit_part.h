/*
 * audit_part.h - common parts of an audit's files.
 *
 * audit_log.c     findings: the first ones of each kind are kept to the end
 * audit_place.c   finds the lines of the zone file for what was kept
 * audit_pool.c    batches of work, and the threads that do them
 * audit_owner.c   the records of the owner at hand
 * audit_types.c   sets of types and their bitmaps
 * audit_keys.c    the DNSKEY RRset
 * audit_anchors.c its trust anchors
 * audit_sigs.c    the RRSIGs of an RRset; in any thread
 * audit_nsec.c    the NSEC chain
 * audit_names.c   the names that should have an NSEC3 record; all are kept
 *                 until all records are known
 * audit_nsec3.c   the NSEC3 records; hashes the names, in all threads, and
 *                 compares both
 * audit.c         walks the zone an owner at a time; hands RRsets to sigs, and
 *                 the owner's name to both chains
 * audit_change.c  audits what a change has touched
 * audit_hashes.c  the NSEC3 chain in use at what a change has touched
 *
 * Functions return NSD_E_MEMORY without memory, and the audit then ends with
 * that error.
 */
#ifndef AUDIT_AUDIT_PART_H
#define AUDIT_AUDIT_PART_H

#include <pthread.h>

#include "audit/audit.h"
#include "base/arena.h"
#include "base/threads.h"
#include "base/verify.h"
#include "dns/dnskey.h"
#include "dns/name.h"
#include "dns/nsec3.h"

#define AUDIT_THREADS_MAX 16u
#define RRSIG_HEAD 18u  /* octets before the signer's name, RFC 4034 3.1 */
#define BITMAP_MAX (256u * 34u)

struct audit;
struct audit_worker;
struct zone_rr;

/* ---- findings (audit_log.c) -------------------------------------------- */

/* The subject of a finding, and its place among findings of its kind. */
struct audit_place {
	const uint8_t *owner; /* wire name */
	uint16_t type;        /* 0: the name itself */
	const uint8_t *rrsig; /* RDATA of the RRSIG over type, or NULL */
	uint64_t order;
};

struct audit_finding {
	struct audit_finding *next; /* of the same slot; audit_place.c's */
	uint64_t order;
	enum audit_kind kind;
	bool breaking;
	bool has_rrsig;
	uint8_t rrsig[RRSIG_HEAD];
	uint16_t type;
	uint16_t file;
	uint32_t line; /* 0: not known */
	uint8_t owner[NAME_MAX_LEN];
	char text[];
};

/* The findings of all threads. Which ones are kept does not depend on the
 * threads: those with the least order. */
struct audit_log {
	pthread_mutex_t lock;
	unsigned shown_max;
	struct {
		struct audit_finding **kept; /* room for shown_max */
		unsigned kept_count;
		uint64_t count;
		uint64_t breaking;      /* of count */
		unsigned kept_breaking; /* of kept_count */
	} kinds[AUDIT_KIND_COUNT];
};

enum nsd_err audit_log_init(struct audit_log *log, unsigned shown_max)
	MUST_USE;
void audit_log_fini(struct audit_log *log);

/* Notes a finding. Any thread. Borrows everything. mild: another record makes
 * up for it, so that it breaks nothing. Without memory it is counted, and not
 * kept. */
void audit_add(struct audit *audit, enum audit_kind kind, bool mild,
	const struct audit_place *place, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* If a finding would not be kept, counts it and returns true; its text need not
 * be made then. Else does nothing. Any thread. */
bool audit_skip(struct audit *audit, enum audit_kind kind, bool mild,
	uint64_t order);

/* Forgets all findings of a kind. */
void audit_log_drop(struct audit_log *log, enum audit_kind kind);

/* Tells the sink what was kept, and how many of each kind were not. */
void audit_log_emit(struct audit_log *log, const struct audit_options *options,
	struct diag_sink *sink, struct audit_report *report);

/* Finds the lines of findings that have none yet; audit_place.c. */
void audit_place_find(struct audit_log *log, const struct rrbatch *batches);

/* ---- work and threads (audit_pool.c) ----------------------------------- */

/* Items of one sort back to back, each at a multiple of 8. */
struct audit_batch {
	struct audit_batch *next;      /* in the queue */
	struct audit_batch *kept_next; /* of the names, in order */
	void (*run)(struct audit_worker *worker,
		const struct audit_batch *batch);
	bool kept;   /* the submitter owns the batch; else the pool frees it
		      * when it is done */
	size_t len;
	size_t room;
	uint8_t data[] __attribute__((aligned(8)));
};

/* A thread's own state. */
struct audit_worker {
	struct audit *audit;
	enum nsd_err err; /* of its batches */
	/* audit_sigs.c's */
	struct verify_context **contexts; /* of each key, made when needed */
	uint8_t *message; /* the octets that a signature covers */
	size_t message_room;
	unsigned tries; /* of signatures, for the RRset at hand */
	unsigned looks; /* at keys, for it */
	uint64_t verified;
};

struct audit_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake; /* there is work, or closed */
	pthread_cond_t idle; /* a batch is done */
	struct audit_batch *first;
	struct audit_batch **last;
	unsigned queued;
	unsigned busy; /* threads that have a batch; without the caller */
	bool closed;
	struct threads threads;
	struct audit_worker workers[AUDIT_THREADS_MAX]; /* 0: the caller's */
};

/* Starts no thread yet. threads: at most, with the caller's. */
enum nsd_err audit_pool_init(struct audit *audit, unsigned threads) MUST_USE;

/* Ends the threads; what is still queued is not done. */
void audit_pool_fini(struct audit *audit);

/* An empty batch; NULL without memory. Released with free. */
struct audit_batch *audit_batch_create(size_t room, bool kept) MUST_USE;

/* Has a thread call run for the batch. Takes the batch, unless it is kept: then
 * keeps it until the next audit_pool_drain. May do queued work itself. */
void audit_pool_submit(struct audit *audit, struct audit_batch *batch,
	void (*run)(struct audit_worker *worker,
		const struct audit_batch *batch));

/* Returns when all that was submitted is done: the first error of a worker. */
enum nsd_err audit_pool_drain(struct audit *audit) MUST_USE;

/* ---- owners (audit_owner.c) -------------------------------------------- */

/* Records of one type at the owner at hand, or RRSIGs over one type. */
struct audit_group {
	uint16_t type;
	bool sigs;
	uint32_t ttl_sec; /* of an RRset */
	size_t at;        /* in the owner's data */
	size_t len;
};

struct audit_owner {
	uint8_t name[NAME_MAX_LEN];
	uint8_t name_len; /* 0: there was none yet */
	uint64_t order;
	bool apex;
	bool cut;
	bool occluded;
	bool exists; /* has records beside NSEC, NSEC3 and RRSIG */
	bool has_ds;
	struct audit_group *groups;
	size_t group_count;
	size_t group_room;
	uint8_t *data; /* of an RR: RDLENGTH, RDATA; of an RRSIG: TTL first */
	size_t data_len;
	size_t data_room;
};

/* Begins with an owner that has no records yet. */
void audit_owner_begin(struct audit_owner *o, const uint8_t *name, size_t len);

/* Adds a record. Records of a type come together, and its RRSIGs behind
 * them. */
enum nsd_err audit_owner_add(struct audit_owner *o, const struct zone_rr *rr)
	MUST_USE;

void audit_owner_fini(struct audit_owner *o);

/* The records of a type, or NULL. */
const struct audit_group *audit_owner_find(const struct audit_owner *owner,
	uint16_t type);

/* Sets bit a for each algorithm a of an RRSIG over the type. */
void audit_owner_find_algorithms(const struct audit_owner *owner,
	uint16_t type, uint8_t bits[32]);

/* ---- sets of types (audit_types.c) ------------------------------------- */

struct audit_types {
	uint8_t bits[256][32];
	unsigned end; /* windows from here on are empty */
};

/* Adds the types that the bitmap of a name should have, to an empty set. */
void audit_types_of(struct audit_types *types,
	const struct audit_owner *owner);

void audit_types_clear(struct audit_types *types);

/* Writes the bitmap of RFC 4034 section 4.1.2; returns its length. */
size_t audit_types_write(const struct audit_types *types,
	uint8_t out[BITMAP_MAX]);

#define AUDIT_DIFFERENCE_MAX 80u

/* True if two bitmaps have other types; out then says how. */
bool audit_types_differ(const uint8_t *have, size_t have_len,
	const uint8_t *want, size_t want_len, char out[AUDIT_DIFFERENCE_MAX]);

/* ---- keys (audit_keys.c) ----------------------------------------------- */

/* Records in wire form, one behind the other: each RDLENGTH and RDATA. */
struct audit_rrs {
	const uint8_t *data;
	size_t len;
};

struct audit_key {
	uint16_t flags;
	uint16_t tag;
	uint8_t algorithm;
	bool usable;  /* a zone key of protocol 3 */
	bool revoked;
	bool broken;
	bool anchored;          /* a trust anchor names it */
	bool self_signed;       /* signs the DNSKEY RRset; audit_sigs.c sets
				 * it */
	struct verify_key *key; /* NULL: signatures of it are not verified */
};

struct audit_keys {
	struct audit_key *keys; /* ascending by algorithm, tag */
	size_t count;
	uint8_t needed[32];     /* bit a: each RRset needs RRSIGs of
				 * algorithm a */
	uint8_t needed_list[256]; /* these algorithms, ascending */
	unsigned needed_count;
};

/* Takes the DNSKEY RRset apart. sigs: bit a: an RRSIG over it is of algorithm
 * a. */
enum nsd_err audit_keys_read(struct audit *audit, const struct audit_rrs *rrs,
	const uint8_t sigs[32]) MUST_USE;
void audit_keys_fini(struct audit_keys *keys);

/* The first key with algorithm and tag; others with the same follow it. NULL:
 * none. */
struct audit_key *audit_keys_find(const struct audit_keys *keys,
	uint8_t algorithm, uint16_t tag);

/* Checks which keys sign the DNSKEY RRset; after all signatures. */
void audit_keys_finish(struct audit *audit);

/* True if bit a is set for algorithm a. */
static inline bool
audit_keys_have(const uint8_t bits[32], unsigned algorithm)
{
	return (bits[algorithm / 8] >> algorithm % 8 & 1) != 0;
}

/* ---- trust anchors (audit_anchors.c) ----------------------------------- */

/* RDATA of a DNSKEY record. */
struct audit_octets {
	const uint8_t *data;
	size_t len;
};

/* Finds whether a trust anchor names a key. NSD_E_MEMORY. */
enum nsd_err audit_anchors_match(const struct audit_options *options,
	const struct audit_octets *key, bool *matches) MUST_USE;
/* Checks that a key with an anchor signs the DNSKEY RRset; after all
 * signatures. */
void audit_anchors_finish(struct audit *audit);

/* ---- signatures (audit_sigs.c) ----------------------------------------- */

/* An RRset that the zone should sign, as an item of a batch. */
struct audit_rrset {
	uint64_t order;
	uint32_t size;     /* octets to the next item */
	uint32_t ttl_sec;
	uint32_t rrs_len;  /* records to verify, each RDLENGTH 2, RDATA; 0: not
			    * to be verified */
	uint32_t sigs_len; /* signatures, each TTL 4, RDLENGTH 2, RDATA */
	uint16_t type;
	uint8_t owner_len;
	uint8_t labels;    /* as an RRSIG has to count them */
	uint8_t data[];    /* owner, rrs, sigs */
};

/* Checks the signatures of a batch of RRsets. */
void audit_sigs_check(struct audit_worker *worker,
	const struct audit_batch *batch);

/* Releases what audit_sigs_check left in a worker. Before audit_keys_fini. */
void audit_sigs_fini(struct audit_worker *worker);

/* ---- NSEC (audit_nsec.c) ----------------------------------------------- */

struct audit_nsec {
	bool wanted;     /* the zone uses NSEC */
	uint64_t seen;
	bool has_previous; /* the next name of an NSEC is still to be checked:
			    * the three fields below are set */
	uint64_t previous_order;
	uint8_t previous[NAME_MAX_LEN];
	uint8_t next[NAME_MAX_LEN];
};

/* Checks the NSEC of an owner; called in canonical order. */
void audit_nsec_name(struct audit *audit, const struct audit_owner *owner);

/* Notes the NSEC of an owner, and checks nothing: the next call of one of the
 * others says what should come behind it. */
void audit_nsec_begin(struct audit *audit, const struct audit_owner *owner);
/* Checks the NSEC of the last owner: the name comes behind it. */
void audit_nsec_check_next(struct audit *audit, const uint8_t *name);

/* After the last owner. */
void audit_nsec_finish(struct audit *audit);

/* ---- names that should have an NSEC3 (audit_names.c) ------------------- */

/* A name that should have an NSEC3, as an item of a batch. */
struct audit_name {
	uint64_t order;
	uint16_t bitmap_len;
	uint8_t name_len;
	bool optional; /* opt-out may cover it: an insecure delegation, or an
			* empty name with only such below it */
	uint8_t data[]; /* name, bitmap */
};

/* A name above the owner at hand, or that itself. */
struct audit_parent {
	bool exists;   /* has records of its own */
	bool required; /* of an empty one: not only insecure delegations lie
			* below it */
};

struct audit_names {
	struct audit_batch *first; /* all, oldest first */
	struct audit_batch *last;
	uint8_t previous[NAME_MAX_LEN]; /* the last name added */
	unsigned depth; /* labels of it below the apex */
	struct audit_parent parents[NAME_MAX_LABELS + 1]; /* by labels below
							   * the apex */
};

/* Adds an owner, and the empty names that its predecessor had above it. In
 * canonical order. */
enum nsd_err audit_names_add(struct audit *audit,
	const struct audit_owner *owner) MUST_USE;

/* After the last owner. */
enum nsd_err audit_names_finish(struct audit *audit) MUST_USE;
void audit_names_fini(struct audit_names *names);

/* ---- NSEC3 (audit_nsec3.c) --------------------------------------------- */

#define NSEC3_OPT_OUT 1u

/* An NSEC3 taken apart (RFC 5155 section 3.2). */
struct nsec3_parts {
	uint8_t algorithm;
	uint8_t flags;
	uint16_t iterations;
	uint8_t salt_len;
	const uint8_t *salt;
	uint8_t next_len;
	const uint8_t *next;
	const uint8_t *bitmap;
	size_t bitmap_len;
};

/* Takes the RDATA of an NSEC3 apart. False: it is malformed. */
bool audit_nsec3_read(const uint8_t *rdata, size_t len,
	struct nsec3_parts *parts);

struct audit_nsec3_record {
	uint8_t hash[NSEC3_HASH_LEN];
	uint8_t next[NSEC3_HASH_LEN];
	uint8_t param;   /* index of its parameters */
	uint8_t flags;
	bool has_next;   /* next is a hash */
	bool matched;    /* a name has its hash; atomic */
	uint32_t bitmap_len;
	uint64_t order;
	const uint8_t *bitmap; /* in the arena */
};

#define AUDIT_INDEX_BITS 16u

/* An NSEC3PARAM, and the records that have its parameters. */
struct audit_nsec3_param {
	uint8_t salt_len;
	uint8_t salt[255];
	uint16_t iterations;
	struct audit_nsec3_record *records; /* ascending by hash */
	size_t count;
};

#define AUDIT_PARAMS_MAX 8u

struct audit_nsec3 {
	struct audit_nsec3_param params[AUDIT_PARAMS_MAX];
	unsigned param_count;
	const struct audit_nsec3_param *current; /* names are hashed for it */
	bool optional; /* names that opt-out may cover are hashed, else the
			* others */
	uint32_t *index; /* of the current: by the first AUDIT_INDEX_BITS of a
			  * hash, the first record that begins with these or
			  * greater ones */
	struct audit_nsec3_record *records;
	size_t count;
	size_t room;
	uint64_t unused;      /* records with the parameters of no NSEC3PARAM */
	struct arena arena;   /* bitmaps */
};

/* Reads the NSEC3PARAM RRset. */
void audit_nsec3_params(struct audit *audit, const struct audit_rrs *rrs);

/* Keeps the NSEC3 records of an owner. */
enum nsd_err audit_nsec3_records(struct audit *audit,
	const struct audit_owner *owner, const struct audit_group *group)
	MUST_USE;

/* After all records and names. */
enum nsd_err audit_nsec3_finish(struct audit *audit) MUST_USE;
void audit_nsec3_fini(struct audit_nsec3 *nsec3);

/* ---- the audit --------------------------------------------------------- */

struct audit {
	const struct audit_options *options;
	size_t apex_len;
	unsigned apex_labels;
	struct audit_log log;
	struct audit_keys keys;
	struct audit_pool pool;
	struct audit_nsec nsec;
	struct audit_names names;
	struct audit_nsec3 nsec3;
	struct audit_types types; /* scratch, empty between uses */
	struct audit_owner owner; /* at hand */
	bool is_unsigned;         /* found to be unsigned: nothing else is
				   * checked */
	uint64_t order;           /* counts owners and names */
	bool has_keys;
	uint8_t hidden[NAME_MAX_LEN]; /* the last cut or DNAME; what is below
				       * it is hidden */
	bool has_hidden;
	struct audit_batch *rrsets; /* being filled, or NULL */
};

/*
 * Sets what an owner is, by its records. occluded: it lies below a zone cut,
 * where another zone is, or below a DNAME, where nothing is (RFC 6672 section
 * 2.4). Returns true if it hides the names below it in this way.
 */
bool audit_owner_classify(struct audit *audit, struct audit_owner *owner,
	bool occluded);
/* Reads keys and NSEC3 parameters at the apex. NSD_E_NOT_FOUND: the zone is not
 * signed. */
enum nsd_err audit_apex_read(struct audit *audit,
	const struct audit_owner *owner) MUST_USE;
/* RFC 4035 sections 2.1 and 2.4: DNSKEY only at the apex, DS only at cuts. */
void audit_owner_check_types(struct audit *audit,
	const struct audit_owner *owner);
/* Hands the RRsets to the checks of their signatures. */
enum nsd_err audit_owner_check_rrsets(struct audit *audit,
	const struct audit_owner *owner) MUST_USE;

#endif
