/* vet_index.c - the index by which updates find equal contents: each slot leads
 * to an object of this zone, and is where its contents are looked for. */
#include "keep/share.h"
#include "vet/vet_part.h"

/* How many slots are tried for one object. Updates fill the table to seven
 * eighths at most, so runs of full slots are short. */
#define PROBES_MAX 65536u

bool
vet_index_head(struct vet_part *p)
{
	struct vet_zone *zone = p->zone;
	store_ref ref = zone->zone->share;
	const struct share_index *index = vet_get(p, VET_INDEX, ref,
		sizeof(*index));
	uint64_t slots, used = 0;

	if (index == NULL)
		return false;
	slots = (uint64_t)index->mask + 1;
	if ((slots & (slots - 1)) != 0
		|| vet_get(p, VET_INDEX, ref, share_index_size(index)) == NULL
		|| !vet_claim(p, VET_INDEX, ref, share_index_size(index)))
		return vet_fail(p, VET_INDEX, ref, "has no such size");
	for (uint64_t i = 0; i < slots; i++)
		used += index->slots[i].ref != STORE_NONE;
	if (used != index->used || used == slots)
		return vet_fail(p, VET_INDEX, ref,
			"has not as many slots as it says");
	zone->index = index;
	zone->share = (struct share){.view = p->vet->view,
		.seed = index->seed, .apex = zone->entry->name};
	return true;
}

/* Counts an object if the index has it, with its hash. */
static void
index_count(struct vet_part *p, uint32_t hash, store_ref ref)
{
	const struct share_index *index = p->zone->index;
	const struct share_index_slot *slot;

	for (uint32_t n = 0; n < PROBES_MAX && n <= index->mask; n++) {
		slot = share_index_get(index, (hash >> 1) + n);
		if (slot == NULL)
			return;
		if (slot->ref == ref) {
			p->indexed += slot->hash == hash;
			return;
		}
	}
}

void
vet_index_rrset(struct vet_part *p, store_ref ref)
{
	uint32_t hash;

	if (p->zone->index != NULL
		&& share_index_hash_rrset(&p->zone->share,
			store_get(p->vet->view, ref), &hash))
		index_count(p, hash, ref);
}

void
vet_index_template(struct vet_part *p, store_ref ref)
{
	if (p->zone->index != NULL)
		index_count(p, share_hash_template(&p->zone->share,
				    store_get(p->vet->view, ref)),
			ref);
}
