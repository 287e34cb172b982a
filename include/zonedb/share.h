/*
 * share.h - finds an RRset of the zone at hand with the same contents.
 *
 * A build has hash tables with open addressing, in shards by hash. A look-up
 * takes no lock; adding does. Contents are the uncompressed RRset (rdlen and
 * RDATA of each RR in order), type and TTL.
 *
 * Updates use struct share_index, which a build leaves behind in the store. It
 * has only the hash of each RRset; the RRset itself is compared. The index is
 * the writer's. A loader that takes over makes it anew when it is needed.
 */
#ifndef ZONEDB_SHARE_H
#define ZONEDB_SHARE_H

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
	uint64_t hash; /* share_hash of the other members */
};

#define SHARE_RAW_MAX 2048u /* octets of raw; larger RRsets are not shared */

struct share_table;

struct share_shard {
	pthread_mutex_t lock;
	struct share_table *table;
	struct arena *arena;
	struct arena own_arena;
	size_t copied; /* octets */
};

struct share {
	const struct store_view *view;
	uint64_t seed;
	struct share_shard *shards;
	unsigned shard_count; /* power of two */
	size_t copies_max;    /* octets of contents that a shard copies;
			       * contents without a copy are read in the store,
			       * which needs apex and takes longer */
	bool threads;         /* more than one */
	/* An update has no shards, but the zone's index. */
	struct store_heap *heap;
	store_ref *index;     /* of the reference to the index */
	const uint8_t *apex;  /* lower case */
};

/*
 * Begins the table of one build. Release it with share_fini.
 * in: arena, the calling thread's, kept until share_fini; threads, the count of
 * threads that are going to use the table (several get several shards);
 * expected, about the count of records.
 * returns NSD_OK; NSD_E_MEMORY if the process has no memory (nothing stays).
 */
enum nsd_err share_init(struct share *share, const struct store_view *view,
	struct arena *arena, unsigned threads, uint64_t expected) MUST_USE;
void share_fini(struct share *share);

/* The hash of a key whose other members are set. */
uint64_t share_hash(const struct share *share, const struct share_key *key);
uint32_t share_hash_template(const struct share *share,
	const struct sig_template *t);

/* The RRset with these contents, or none. */
store_ref share_find(const struct share *share, const struct share_key *key);

/*
 * Adds an RRset that share_find has not found.
 * out: *found, the same RRset if another thread has added it meanwhile; else
 * ref.
 * returns NSD_OK; NSD_E_MEMORY if the table or index cannot grow: it is as it
 * was.
 */
enum nsd_err share_add(struct share *share, const struct share_key *key,
	store_ref ref, store_ref *found) MUST_USE;

/* Makes an index in the store of the RRsets in a build's table, with room for
 * `more` others.
 * out: *index; none if there are fewer than 256 of both, or too many for one
 * object. Then the first update makes an index.
 * returns NSD_OK; NSD_E_MEMORY if the store has no memory. */
enum nsd_err share_save(const struct share *share, struct store_heap *heap,
	size_t more, store_ref *index) MUST_USE;

/* ---- share_index.c */

/* True if the RRset has these contents. Needs share->apex. */
bool share_rrset_matches(const struct share *share,
	const struct rrset *rrset, const struct share_key *key);

/* Begins the share of an update: look-ups and additions use the zone's index
 * from now on. If *index is none, an empty one is made. index and apex (lower
 * case) are kept as long as the share is used; it needs no share_fini.
 * returns NSD_OK; NSD_E_MEMORY if the store has no memory for an index. */
enum nsd_err share_open_index(struct share *share, struct store_heap *heap,
	store_ref *index, const uint8_t *apex) MUST_USE;
/* The RRset with these contents, or none. This function and the next ones are
 * only for a share of share_open_index. */
store_ref share_index_find(const struct share *share,
	const struct share_key *key);
/* Adds an object by its hash. If the index has its greatest size and is full,
 * the object is left out.
 * returns NSD_OK; NSD_E_MEMORY if the store has no memory for a larger index,
 * which is then as it was. */
enum nsd_err share_index_add(struct share *share, uint32_t hash,
	store_ref ref) MUST_USE;
/* Makes the hash of an RRset's contents. returns false if the RRset is not one
 * that is shared (*hash is not set). */
bool share_index_hash_rrset(const struct share *share,
	const struct rrset *rrset, uint32_t *hash);
/* Puts an object into the index, which has to have a free slot. */
void share_index_put(struct share_index *index, uint32_t hash, store_ref ref);
/* Adds an RRset of the zone if it is one that is shared and is not in the index
 * yet. returns as share_index_add. */
enum nsd_err share_index_add_rrset(struct share *share, store_ref ref)
	MUST_USE;
/* Takes an RRset, or an object with this hash, out of the index. Does nothing
 * if it is not there. */
void share_index_remove_rrset(struct share *share, store_ref ref);
void share_index_remove(struct share *share, uint32_t hash, store_ref ref);

/* The index of an update's share; lent until the next addition. */
static inline struct share_index *
share_get_index(const struct share *share)
{
	return store_edit(share->heap, *share->index);
}

/* False for types whose RDATA names its owner or neighbours, and so is never
 * the same for two owners. */
static inline bool
share_wants_type(uint16_t type)
{
	return type != TYPE_SOA && type != TYPE_DS && type != TYPE_NSEC
		&& type != TYPE_NSEC3;
}

/* Makes a seed from a value that differs from one table to the next. */
uint64_t share_hash_seed(uint64_t value);
/* A good 64-bit hash of octets. */
uint64_t share_hash_octets(uint64_t seed, const uint8_t *p, size_t len);

#endif
