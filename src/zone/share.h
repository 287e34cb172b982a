/*
 * share.h - finds an RRset of the zone at hand with the same contents.
 *
 * Tables of open addressing that live for one build, in shards by hash: look
 * ups take no lock, adding does. Contents are told by the uncompressed RRset
 * (rdlen and RDATA of each RR in order), type and TTL.
 */
#ifndef ZONE_SHARE_H
#define ZONE_SHARE_H

#include <pthread.h>

#include "base/arena.h"
#include "base/err.h"
#include "store/store.h"

struct share_key {
	const uint8_t *raw;
	uint32_t raw_len;
	uint32_t ttl_sec;
	uint16_t type;
	uint64_t hash; /* share_hash of the rest */
};

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
	bool threads;         /* more than one */
};

/* arena: the calling thread's. Several threads get several shards. */
enum nsd_err share_init(struct share *share, const struct store_view *view,
	struct arena *arena, unsigned threads, uint64_t expected) MUST_USE;
void share_fini(struct share *share);

uint64_t share_hash(const struct share *share, const struct share_key *key);

/* The RRset with these contents, or none. */
store_ref share_find(const struct share *share, const struct share_key *key);

/*
 * Adds an RRset. If another thread has added the same in the meantime,
 * *found is that one, else it is ref.
 */
enum nsd_err share_add(struct share *share, const struct share_key *key,
	store_ref ref, store_ref *found) MUST_USE;

/* A good 64-bit hash of octets. */
uint64_t share_hash_octets(uint64_t seed, const uint8_t *p, size_t len);

#endif
