/*
 * audit_part.h - what the parts of an audit share.
 *
 * walk     audit.c: the records of the zone, an owner at a time; what the
 *          owner is; hands its RRsets to sigs, its name to the two chains
 * sigs     audit_sigs.c: the RRSIGs of an RRset, in any thread
 * keys     audit_keys.c: the DNSKEY RRset
 * nsec     audit_nsec.c: the chain of names, and type bitmaps
 * nsec3    audit_nsec3.c: the chain of hashes; names are kept until all
 *          records are known, then hashed in all threads
 * pool     audit_pool.c: batches of work and the threads that do them
 * log      audit_log.c: findings, kept until the end
 */
#ifndef AUDIT_AUDIT_PART_H
#define AUDIT_AUDIT_PART_H

#include <pthread.h>

#include "audit/audit.h"
#include "base/arena.h"
#include "base/verify.h"
#include "dns/name.h"
#include "dns/nsec3.h"

#define AUDIT_THREADS_MAX 16u
#define RRSIG_HEAD 18u  /* octets before the signer's name, RFC 4034 3.1 */
#define DNSKEY_HEAD 4u
#define BITMAP_MAX (256u * 34u)

/* ---- findings ---------------------------------------------------------- */

/* What a finding is about, and where it stands among those of its kind. */
struct audit_place {
	const uint8_t *owner; /* wire name */
	uint16_t type;        /* 0: the name itself */
	const uint8_t *rrsig; /* RDATA of the RRSIG over type, or NULL */
	uint64_t order;
};

struct audit_finding;

struct audit_log {
	pthread_mutex_t lock;
	unsigned shown_max;
	struct {
		struct audit_finding **kept; /* shown_max, least order */
		unsigned kept_count;
		uint64_t count;
		uint64_t breaking; /* of them, those that break */
		unsigned kept_breaking;
	} kinds[AUDIT_KIND_COUNT];
};

struct audit;

enum nsd_err audit_log_init(struct audit_log *log, unsigned shown_max)
	MUST_USE;
void audit_log_fini(struct audit_log *log);
/* Notes a finding; any thread. mild: another record makes up for it. */
void audit_add(struct audit *audit, enum audit_kind kind, bool mild,
	const struct audit_place *place, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* Counts a finding that would not be kept, so that its text need not be made;
 * false if it would be. */
bool audit_skip(struct audit *audit, enum audit_kind kind, bool mild,
	uint64_t order);
/* Forgets all findings of a kind. */
void audit_log_drop(struct audit_log *log, enum audit_kind kind);
void audit_log_emit(struct audit_log *log, const struct audit_options *options,
	struct diag_sink *sink, struct audit_report *report);
/* Finds the lines of findings in the records; audit_place.c. */
void audit_log_locate(struct audit_log *log,
	const struct audit_options *options);

struct audit_finding {
	struct audit_finding *next; /* of the same slot; audit_place.c */
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

/* ---- keys -------------------------------------------------------------- */

struct audit_key {
	uint16_t flags;
	uint16_t tag;
	uint8_t algorithm;
	bool usable;  /* a zone key of protocol 3 */
	bool revoked;
	bool broken;
	bool self_signed;       /* signs the DNSKEY RRset; set by sigs */
	struct verify_key *key; /* NULL: its signatures are not verified */
};

struct audit_keys {
	struct audit_key *keys; /* ascending by algorithm, tag */
	size_t count;
	uint8_t needed[32];     /* bit a: each RRset needs RRSIGs of it */
	unsigned needed_count;
};

/* A run of records in wire form: each RDLENGTH and RDATA. */
struct audit_rrs {
	const uint8_t *data;
	size_t len;
};

/* Takes the keys of the DNSKEY RRset apart. */
enum nsd_err audit_keys_read(struct audit *audit,
	const struct audit_rrs *rrs) MUST_USE;
void audit_keys_fini(struct audit_keys *keys);
/* The first key with algorithm and tag, others behind it; NULL: none. */
struct audit_key *audit_keys_find(const struct audit_keys *keys,
	uint8_t algorithm, uint16_t tag);
/* After all signatures were seen: which keys sign the DNSKEY RRset. */
void audit_keys_finish(struct audit *audit);

static inline bool
audit_keys_need(const struct audit_keys *keys, unsigned algorithm)
{
	return (keys->needed[algorithm / 8] >> algorithm % 8 & 1) != 0;
}

/* ---- work and threads -------------------------------------------------- */

enum audit_work { AUDIT_WORK_RRSETS, AUDIT_WORK_NAMES };

/* Items back to back, each at a multiple of 8. */
struct audit_batch {
	struct audit_batch *next;      /* in the queue */
	struct audit_batch *kept_next; /* of names, in order */
	enum audit_work work;
	size_t len;
	size_t room;
	uint8_t data[] __attribute__((aligned(8)));
};

struct audit_worker {
	struct audit *audit;
	pthread_t thread;
	struct verify_context **contexts; /* of each key, made when needed */
	uint8_t *message; /* what a signature covers */
	size_t message_room;
	uint64_t verified;
	enum nsd_err err;
};

struct audit_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake; /* there is work, or closed */
	pthread_cond_t idle; /* a batch is done */
	struct audit_batch *first;
	struct audit_batch **last;
	unsigned queued;
	unsigned busy;
	bool closed;
	unsigned threads;  /* that may be started */
	unsigned started;
	struct audit_worker workers[AUDIT_THREADS_MAX]; /* 0: the caller's */
};

enum nsd_err audit_pool_init(struct audit *audit, unsigned threads) MUST_USE;
void audit_pool_fini(struct audit *audit);
struct audit_batch *audit_batch_create(enum audit_work work, size_t room);
/* Takes the batch. May do some of the work itself. */
void audit_pool_submit(struct audit *audit, struct audit_batch *batch);
/* Does all that is left, and waits for the others; the first error. */
enum nsd_err audit_pool_drain(struct audit *audit) MUST_USE;

/* ---- signatures -------------------------------------------------------- */

/* An RRset to be looked at, in a batch. */
struct audit_rrset {
	uint64_t order;
	uint32_t size;     /* octets to the next one */
	uint32_t ttl_sec;
	uint32_t rrs_len;  /* each: RDLENGTH 2, RDATA */
	uint32_t sigs_len; /* each: TTL 4, RDLENGTH 2, RDATA */
	uint16_t type;
	uint8_t owner_len;
	uint8_t labels;    /* as an RRSIG has to count them */
	uint8_t data[];    /* owner, rrs, sigs */
};

/* Looks at an RRset; its owner is the zone's to sign. */
void audit_sigs_check(struct audit_worker *worker,
	const struct audit_rrset *rrset);
/* Takes back the contexts of a worker. */
void audit_sigs_fini(struct audit_worker *worker);

/* ---- owners ------------------------------------------------------------ */

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
	uint8_t name_len;
	uint64_t order;
	bool apex;
	bool cut;
	bool occluded;
	bool exists; /* has records beside NSEC, NSEC3 and RRSIG */
	bool has_ds;
	struct audit_group *groups;
	size_t group_count;
	size_t group_room;
	uint8_t *data;
	size_t data_len;
	size_t data_room;
};

/* The records of a type, or NULL. */
const struct audit_group *audit_owner_find(const struct audit_owner *owner,
	uint16_t type);

/* ---- bitmaps ----------------------------------------------------------- */

/* A set of types. */
struct audit_types {
	uint8_t bits[256][32];
	unsigned end; /* windows from here on are empty */
};

void audit_types_clear(struct audit_types *types);
/* The bitmap of RFC 4034 section 4.1.2; returns its length. */
size_t audit_types_write(const struct audit_types *types,
	uint8_t out[BITMAP_MAX]);
/* The types that a name has in the eyes of a resolver. */
void audit_types_of(struct audit_types *types,
	const struct audit_owner *owner);
#define AUDIT_DIFFERENCE_MAX 80u
/* Says how a bitmap differs from what it should be; false: it does not. */
bool audit_bitmap_differs(const uint8_t *have, size_t have_len,
	const uint8_t *want, size_t want_len, char out[AUDIT_DIFFERENCE_MAX]);

/* ---- NSEC -------------------------------------------------------------- */

struct audit_nsec {
	bool wanted;     /* the zone uses NSEC */
	uint64_t seen;
	bool has_previous; /* an NSEC whose next name is not yet checked */
	uint64_t previous_order;
	uint8_t previous[NAME_MAX_LEN];
	uint8_t next[NAME_MAX_LEN];
};

void audit_nsec_name(struct audit *audit, const struct audit_owner *owner);
void audit_nsec_finish(struct audit *audit);

/* ---- NSEC3 ------------------------------------------------------------- */

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

struct audit_nsec3_param {
	uint8_t salt_len;
	uint8_t salt[255];
	uint16_t iterations;
	struct audit_nsec3_record *records; /* by hash */
	size_t count;
};

#define AUDIT_PARAMS_MAX 8u

/* A name that has or may have an NSEC3, in a batch. */
struct audit_name {
	uint64_t order;
	uint16_t bitmap_len;
	uint8_t name_len;
	bool optional; /* an insecure delegation, or only such below it */
	uint8_t data[]; /* name, bitmap */
};

struct audit_parent { /* of the owner at hand, below the apex */
	bool exists;   /* has records of its own */
	bool required; /* of an empty one: not just insecure delegations */
};

struct audit_nsec3 {
	struct audit_nsec3_param params[AUDIT_PARAMS_MAX];
	unsigned param_count;
	const struct audit_nsec3_param *current; /* names are matched to it */
	uint32_t *index; /* of the current: by the first bits of a hash the
			  * first record with these or greater ones */
	struct audit_nsec3_record *records;
	size_t count;
	size_t room;
	uint64_t unused;      /* records without a parameter set */
	struct arena arena;   /* bitmaps */
	struct audit_batch *names; /* all, oldest first */
	struct audit_batch *names_last;
	uint8_t previous[NAME_MAX_LEN]; /* the last name added */
	unsigned depth;       /* labels of it below the apex */
	struct audit_parent parents[NAME_MAX_LABELS + 1]; /* by labels below
							   * the apex */
};

enum nsd_err audit_nsec3_params(struct audit *audit,
	const struct audit_rrs *rrs) MUST_USE;
/* The names; audit_names.c. */
enum nsd_err audit_nsec3_name(struct audit *audit,
	const struct audit_owner *owner) MUST_USE;
enum nsd_err audit_nsec3_close(struct audit *audit, unsigned depth) MUST_USE;
enum nsd_err audit_nsec3_records(struct audit *audit,
	const struct audit_owner *owner, const struct audit_group *group)
	MUST_USE;
void audit_nsec3_hash_names(struct audit *audit,
	const struct audit_batch *batch);
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
	struct audit_nsec3 nsec3;
	struct audit_types types; /* scratch, empty between uses */
	struct audit_owner owner; /* at hand */
	uint64_t order;           /* counts what is looked at */
	bool has_keys;
	uint8_t hidden[NAME_MAX_LEN]; /* the cut or DNAME above, or unset */
	bool has_hidden;
	struct audit_batch *rrsets; /* being filled */
};

#endif
