/* share.c - the table by which a build finds RRsets with the same contents. */
#include <string.h>

#include "zonedb/share.h"

#define SHARDS 64u
#define TABLE_FIRST 16u

struct share_slot {
	uint32_t hash;
	store_ref ref;      /* written last */
	const uint8_t *raw; /* copy of the uncompressed RRset, or NULL */
};

struct share_table {
	size_t mask;
	size_t used;
	struct share_slot slots[];
};

static struct share_table *
table_create(struct arena *arena, size_t slots)
{
	struct share_table *t = arena_alloc_zero(arena,
		sizeof(*t) + slots * sizeof(t->slots[0]));

	if (t != NULL)
		t->mask = slots - 1;
	return t;
}

enum nsd_err
share_init(struct share *share, const struct store_view *view,
	struct arena *arena, unsigned threads, uint64_t expected)
{
	size_t slots = TABLE_FIRST;

	share->index = NULL;
	share->copies_max = SIZE_MAX;
	share->view = view;
	share->seed = share_hash_seed((uintptr_t)share);
	share->threads = threads > 1;
	share->shard_count = 0;
	share->shards = arena_alloc(arena, sizeof(*share->shards)
		* (share->threads ? SHARDS : 1));
	if (share->shards == NULL)
		return NSD_E_MEMORY;
	/* Start with a sixteenth of the slots: most records of a large zone are
	 * in shared RRsets, or in RRsets that are not tried. */
	if (share->threads)
		while (slots * SHARDS * 16 < expected)
			slots *= 2;
	while (share->shard_count < (share->threads ? SHARDS : 1)) {
		struct share_shard *s = &share->shards[share->shard_count];

		arena_init(&s->own_arena, NULL, 0);
		s->copied = 0;
		s->arena = share->threads ? &s->own_arena : arena;
		s->table = table_create(s->arena, slots);
		if (s->table == NULL) {
			arena_fini(&s->own_arena);
			share_fini(share);
			return NSD_E_MEMORY;
		}
		pthread_mutex_init(&s->lock, NULL);
		share->shard_count++;
	}
	return NSD_OK;
}

void
share_fini(struct share *share)
{
	for (unsigned i = 0; i < share->shard_count; i++) {
		arena_fini(&share->shards[i].own_arena);
		pthread_mutex_destroy(&share->shards[i].lock);
	}
	share->shard_count = 0;
}

static bool
slot_matches(const struct share *share, const struct share_slot *slot,
	store_ref ref, const struct share_key *key)
{
	const struct rrset *rrset;
	uint32_t len;

	if (slot->hash != (uint32_t)key->hash)
		return false;
	rrset = store_get(share->view, ref);
	if (slot->raw == NULL)
		return share_rrset_matches(share, rrset, key);
	if (rrset->type != key->type || rrset->ttl_sec != key->ttl_sec)
		return false;
	memcpy(&len, slot->raw, sizeof(len));
	return len == key->raw_len
		&& memcmp(slot->raw + sizeof(len), key->raw, len) == 0;
}

static store_ref
table_find(const struct share *share, const struct share_table *table,
	const struct share_key *key)
{
	for (size_t i = key->hash;; i++) {
		const struct share_slot *slot = &table->slots[i & table->mask];
		store_ref ref = store_load_ref(&slot->ref);

		if (ref == STORE_NONE || slot_matches(share, slot, ref, key))
			return ref;
	}
}

static inline struct share_shard *
share_get_shard(const struct share *share, uint64_t hash)
{
	return &share->shards[(hash >> 56) & (share->shard_count - 1)];
}

store_ref
share_find(const struct share *share, const struct share_key *key)
{
	struct share_shard *s;

	if (share->index != NULL)
		return share_index_find(share, key);
	s = share_get_shard(share, key->hash);
	return table_find(share, __atomic_load_n(&s->table, __ATOMIC_ACQUIRE),
		key);
}

static void
table_put(struct share_table *table, uint32_t hash, const uint8_t *raw,
	store_ref ref)
{
	struct share_slot *slot;
	size_t i = hash;

	while (table->slots[i & table->mask].ref != STORE_NONE)
		i++;
	slot = &table->slots[i & table->mask];
	slot->hash = hash;
	slot->raw = raw;
	table->used++;
	__atomic_store_n(&slot->ref, ref, __ATOMIC_RELEASE);
}

/* Makes a new table. The old one stays as it is: other threads may still look
 * up in it. */
static enum nsd_err
shard_grow(struct share_shard *s)
{
	struct share_table *old = s->table;
	struct share_table *t = table_create(s->arena, (old->mask + 1) * 4);

	if (t == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i <= old->mask; i++)
		if (old->slots[i].ref != STORE_NONE)
			table_put(t, old->slots[i].hash, old->slots[i].raw,
				old->slots[i].ref);
	__atomic_store_n(&s->table, t, __ATOMIC_RELEASE);
	return NSD_OK;
}

static enum nsd_err
shard_add(struct share *share, struct share_shard *s,
	const struct share_key *key, store_ref ref, store_ref *found)
{
	uint8_t *raw = NULL;

	*found = table_find(share, s->table, key);
	if (*found != STORE_NONE)
		return NSD_OK;
	if (s->table->used * 3 > s->table->mask * 2
		&& shard_grow(s) != NSD_OK)
		return NSD_E_MEMORY;
	if (s->copied < share->copies_max) {
		s->copied += key->raw_len;
		raw = arena_alloc(s->arena, sizeof(key->raw_len)
			+ key->raw_len);
		if (raw == NULL)
			return NSD_E_MEMORY;
		memcpy(raw, &key->raw_len, sizeof(key->raw_len));
		memcpy(raw + sizeof(key->raw_len), key->raw, key->raw_len);
	}
	table_put(s->table, (uint32_t)key->hash, raw, ref);
	*found = ref;
	return NSD_OK;
}

enum nsd_err
share_add(struct share *share, const struct share_key *key, store_ref ref,
	store_ref *found)
{
	struct share_shard *s;
	enum nsd_err err;

	if (share->index != NULL) {
		*found = ref;
		return share_index_add(share,
			share_index_hash(key->hash, false), ref);
	}
	s = share_get_shard(share, key->hash);
	if (!share->threads)
		return shard_add(share, s, key, ref, found);
	pthread_mutex_lock(&s->lock);
	err = shard_add(share, s, key, ref, found);
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* ---- for updates ------------------------------------------------------- */

#define SAVE_MIN 256u /* RRsets */

enum nsd_err
share_save(const struct share *share, struct store_heap *heap,
	size_t more, store_ref *ref)
{
	size_t used = more, slots = SAVE_MIN;
	struct share_index *index;

	*ref = STORE_NONE;
	for (unsigned i = 0; i < share->shard_count; i++)
		used += share->shards[i].table->used;
	if (used < SAVE_MIN)
		return NSD_OK;
	/* Leave room for half as many to come. */
	while (slots * 4 < used * 6)
		slots *= 2;
	if (sizeof(*index) + slots * sizeof(index->slots[0])
		> STORE_OBJECT_MAX)
		return NSD_OK;
	index = store_alloc(heap,
		sizeof(*index) + slots * sizeof(index->slots[0]), ref);
	if (index == NULL)
		return NSD_E_MEMORY;
	memset(index, 0, sizeof(*index) + slots * sizeof(index->slots[0]));
	index->seed = share->seed;
	index->mask = (uint32_t)(slots - 1);
	for (unsigned i = 0; i < share->shard_count; i++) {
		const struct share_table *t = share->shards[i].table;

		for (size_t n = 0; n <= t->mask; n++)
			if (t->slots[n].ref != STORE_NONE)
				share_index_put(index, share_index_hash(
					t->slots[n].hash, false),
					t->slots[n].ref);
	}
	return NSD_OK;
}
