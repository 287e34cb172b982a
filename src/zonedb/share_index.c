/* share_index.c - the index by which updates find RRsets with the same
 * contents. It lies in the store, and the writer changes it in place. */
#include <string.h>

#include "zone/unpack.h"
#include "zonedb/share.h"

#define SLOTS_FIRST 16u

static enum nsd_err
index_create(struct store_heap *heap, size_t slots, uint64_t seed,
	store_ref *ref)
{
	size_t size = sizeof(struct share_index)
		+ slots * sizeof(struct share_index_slot);
	struct share_index *index;

	if (size > STORE_OBJECT_MAX)
		return NSD_E_LIMIT;
	index = store_alloc(heap, size, ref);
	if (index == NULL)
		return NSD_E_MEMORY;
	memset(index, 0, size);
	index->seed = seed;
	index->mask = (uint32_t)(slots - 1);
	return NSD_OK;
}

enum nsd_err
share_open_index(struct share *share, struct store_heap *heap,
	store_ref *index, const uint8_t *apex)
{
	memset(share, 0, sizeof(*share));
	share->view = store_heap_view(heap);
	share->heap = heap;
	share->index = index;
	share->apex = apex;
	if (*index == STORE_NONE) {
		enum nsd_err err = index_create(heap, SLOTS_FIRST,
			share_hash_octets((uintptr_t)share, apex,
				name_len(apex)), index);

		if (err != NSD_OK)
			return err;
	}
	share->seed = share_get_index(share)->seed;
	return NSD_OK;
}

void
share_index_put(struct share_index *index, uint32_t hash, store_ref ref)
{
	uint32_t i = hash >> 1;

	while (index->slots[i & index->mask].ref != STORE_NONE)
		i++;
	index->slots[i & index->mask].hash = hash;
	index->slots[i & index->mask].ref = ref;
	index->used++;
}

/* Frees the old index at once: only the writer ever reads it. */
static enum nsd_err
index_grow(struct share *share)
{
	struct share_index *old = share_get_index(share), *index;
	store_ref ref;
	enum nsd_err err = index_create(share->heap,
		(old->mask + (size_t)1) * 2, old->seed, &ref);

	if (err != NSD_OK)
		return err;
	index = store_edit(share->heap, ref);
	for (size_t i = 0; i <= old->mask; i++)
		if (old->slots[i].ref != STORE_NONE)
			share_index_put(index, old->slots[i].hash,
				old->slots[i].ref);
	store_free(share->heap, *share->index, share_index_size(old));
	*share->index = ref;
	return NSD_OK;
}

enum nsd_err
share_index_add(struct share *share, uint32_t hash, store_ref ref)
{
	struct share_index *index = share_get_index(share);

	if (index->used >= index->mask - index->mask / 8) {
		enum nsd_err err = index_grow(share);

		/* The index is as large as it may be. Contents that it lacks
		 * are stored once more. */
		if (err == NSD_E_LIMIT)
			return NSD_OK;
		if (err != NSD_OK)
			return err;
		index = share_get_index(share);
	}
	share_index_put(index, hash, ref);
	return NSD_OK;
}

/* Fills the free slot from those behind it: each that may stand there moves,
 * and leaves a free slot itself. */
void
share_index_remove(struct share *share, uint32_t hash, store_ref ref)
{
	struct share_index *index = share_get_index(share);
	uint32_t mask = index->mask, hole = (hash >> 1) & mask;

	while (index->slots[hole].ref != STORE_NONE
		&& index->slots[hole].ref != ref)
		hole = (hole + 1) & mask;
	if (index->slots[hole].ref == STORE_NONE)
		return;
	for (uint32_t i = (hole + 1) & mask;
		index->slots[i].ref != STORE_NONE; i = (i + 1) & mask) {
		uint32_t home = (index->slots[i].hash >> 1) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		index->slots[hole] = index->slots[i];
		hole = i;
	}
	index->slots[hole].ref = STORE_NONE;
	index->used--;
}

bool
share_rrset_matches(const struct share *share, const struct rrset *rrset,
	const struct share_key *key)
{
	const uint8_t *rr = rrset->data, *end = rr + rrset_len(rrset);
	const uint8_t *raw = key->raw, *raw_end = raw + key->raw_len;
	uint8_t rdata[SHARE_RAW_MAX];

	if (rrset->type != key->type || rrset->ttl_sec != key->ttl_sec)
		return false;
	for (; rr < end; rr += 2u + octets_get_u16(rr)) {
		size_t len = unpack_rdata(rrset, rr, share->apex, rdata);

		if ((size_t)(raw_end - raw) < 2 + len
			|| octets_get_u16(raw) != len
			|| memcmp(raw + 2, rdata, len) != 0)
			return false;
		raw += 2 + len;
	}
	return raw == raw_end;
}

store_ref
share_index_find(const struct share *share, const struct share_key *key)
{
	const struct share_index *index = share_get_index(share);
	uint32_t hash = share_index_hash(key->hash, false), at = hash >> 1;
	const struct share_index_slot *slot;

	for (; (slot = share_index_get(index, at)) != NULL; at++)
		if (slot->hash == hash && share_rrset_matches(share,
				store_get(share->view, slot->ref), key))
			return slot->ref;
	return STORE_NONE;
}

/* True if the RRset may be in the index: as packing_make_key decides. */
static bool
rrset_is_shared(const struct rrset *rrset)
{
	const struct rrset_tail *tail = rrset_get_tail(rrset);

	if (!share_wants_type(rrset->type)
		|| (rrset->len_flags & RRSET_OWNER_ROOT) != 0
		|| rrset_len(rrset) > SHARE_RAW_MAX)
		return false;
	for (unsigned i = 0; tail != NULL && i < tail->target_count; i++)
		if ((rrset_tail_targets(tail)[i].flags & TARGET_IN_DOMAIN)
			!= 0)
			return false;
	return true;
}

bool
share_index_hash_rrset(const struct share *share, const struct rrset *rrset,
	uint32_t *hash)
{
	const uint8_t *rr = rrset->data, *end = rr + rrset_len(rrset);
	uint8_t raw[SHARE_RAW_MAX + 65535 + 2];
	struct share_key key = {.raw = raw, .ttl_sec = rrset->ttl_sec,
		.type = rrset->type};
	size_t at = 0;

	if (!rrset_is_shared(rrset))
		return false;
	for (; rr < end; rr += 2u + octets_get_u16(rr)) {
		size_t len = unpack_rdata(rrset, rr, share->apex,
			raw + at + 2);

		octets_put_u16(raw + at, (uint16_t)len);
		at += 2 + len;
		if (at > SHARE_RAW_MAX)
			return false;
	}
	key.raw_len = (uint32_t)at;
	*hash = share_index_hash(share_hash(share, &key), false);
	return true;
}

enum nsd_err
share_index_add_rrset(struct share *share, store_ref ref)
{
	const struct share_index *index = share_get_index(share);
	const struct share_index_slot *slot;
	uint32_t hash, at;

	if (!share_index_hash_rrset(share, store_get(share->view, ref), &hash))
		return NSD_OK;
	for (at = hash >> 1; (slot = share_index_get(index, at)) != NULL; at++)
		if (slot->ref == ref)
			return NSD_OK;
	return share_index_add(share, hash, ref);
}

void
share_index_remove_rrset(struct share *share, store_ref ref)
{
	uint32_t hash;

	if (share_index_hash_rrset(share, store_get(share->view, ref), &hash))
		share_index_remove(share, hash, ref);
}
