/*
 * share.h - finds an RRset of the zone at hand with the same contents.
 *
 * Tables of open addressing that live for one build, in shards by hash: look
 * ups take no lock, adding does. Contents are told by the uncompressed RRset
 * (rdlen and RDATA of each RR in order), type and TTL.
 *
 * What updates need of it stays behind in the store: struct share_index, which
 * knows the RRsets by hash alone and looks at the RRset itself to be sure. It
 * is the writer's; a loader that takes over makes it anew when it is needed.
 */
#ifndef KEEP_SHARE_H
#define KEEP_SHARE_H

#include <pthread.h>

#include "base/arena.h"
#include "base/err.h"
#include "dns/rrtype.h"
#include "store/store.h"
#include "store/writer.h"
#include "zone/share_index.h"
#include "zone/zone.h"

struct share_key {
	const uint8_t *raw;
	uint32_t raw_len;
	uint32_t ttl_sec;
	uint16_t type;
	uint64_t hash; /* share_hash of the rest */
};

#define SHARE_RAW_MAX 2048u /* larger RRsets are not shared */

struct share_table;

struct share_shard {
	pthread_mutex_t lock;
	struct share_table *table;
	struct arena *arena;
	struct arena own_arena;
};

struct share {
	const struct store_view *view;
	uint64_t seed;
	struct share_shard *shards;
	unsigned shard_count; /* power of two */
	bool lean;            /* no copy of contents is kept beside the store's;
			       * needs apex */
	bool threads;         /* more than one */
	/* An update's: no shards, but the index that the zone has. */
	struct store_heap *heap;
	store_ref *index;     /* where the reference to it is kept */
	const uint8_t *apex;  /* lower case */
};

/*
 * Begins the table of one build.
 * in: arena, the calling thread's, kept until share_fini; expected, how many
 * records there are. Several threads get several shards.
 * returns NSD_OK; NSD_E_MEMORY (nothing stays).
 */
enum nsd_err share_init(struct share *share, const struct store_view *view,
	struct arena *arena, unsigned threads, uint64_t expected) MUST_USE;
void share_fini(struct share *share);

uint64_t share_hash(const struct share *share, const struct share_key *key);
uint32_t share_hash_template(const struct share *share,
	const struct sig_template *t);

/* The RRset with these contents, or none. */
store_ref share_find(const struct share *share, const struct share_key *key);

/*
 * Adds an RRset. If another thread has added the same in the meantime,
 * *found is that one, else it is ref.
 * returns NSD_OK; NSD_E_MEMORY if the table cannot grow: it is as it was.
 */
enum nsd_err share_add(struct share *share, const struct share_key *key,
	store_ref ref, store_ref *found) MUST_USE;

/* Puts what a build has shared into an index in the store, with room for so
 * many more. *index is none if that is little, or too much for one object: then
 * the first update makes one.
 * returns NSD_OK; NSD_E_MEMORY if the store has no memory. */
enum nsd_err share_save(const struct share *share, struct store_heap *heap,
	size_t more, store_ref *index) MUST_USE;

/* ---- share_index.c */

/* True if the RRset has these contents. Needs share->apex. */
bool share_rrset_matches(const struct share *share,
	const struct rrset *rrset, const struct share_key *key);

/* Looks up and adds in the index from now on. If *index is none, it is made.
 * returns NSD_OK; NSD_E_MEMORY if the store has no memory for it. */
enum nsd_err share_open_index(struct share *share, struct store_heap *heap,
	store_ref *index, const uint8_t *apex) MUST_USE;
/* The RRset with these contents, or none. */
store_ref share_index_find(const struct share *share,
	const struct share_key *key);
/* Adds an object by its hash. returns NSD_OK, also if the index is as large
 * as it may be and the object is left out; NSD_E_MEMORY if it cannot grow, and
 * then it is as it was. */
enum nsd_err share_index_add(struct share *share, uint32_t hash,
	store_ref ref) MUST_USE;
/* The hash of an RRset's contents; false if it is not one to be shared. */
bool share_index_hash_rrset(const struct share *share,
	const struct rrset *rrset, uint32_t *hash);
/* There must be room. */
void share_index_put(struct share_index *index, uint32_t hash, store_ref ref);
/* Adds an RRset that the zone has, if it is one to be shared. returns as
 * share_index_add. */
enum nsd_err share_index_add_rrset(struct share *share, store_ref ref)
	MUST_USE;
/* Takes out an RRset that is to go; what is not there is no error. */
void share_index_remove_rrset(struct share *share, store_ref ref);
void share_index_remove(struct share *share, uint32_t hash, store_ref ref);

static inline struct share_index *
share_get_index(const struct share *share)
{
	return store_edit(share->heap, *share->index);
}

/* Types whose RDATA tells its owner or its neighbours: never the same. */
static inline bool
share_wants_type(uint16_t type)
{
	return type != TYPE_SOA && type != TYPE_DS && type != TYPE_NSEC
		&& type != TYPE_NSEC3;
}

/* A seed of a value that differs from one table to the next. */
uint64_t share_hash_seed(uint64_t value);
/* A good 64-bit hash of octets. */
uint64_t share_hash_octets(uint64_t seed, const uint8_t *p, size_t len);

#endif
