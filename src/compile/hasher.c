/* hasher.c - hashes the names of a zone (RFC 5155 section 5), many at a time,
 * and chooses the hashes that nodes keep. */
#include <string.h>

#include "base/assert.h"
#include "compile/pack_parts.h"
#include "store/writer.h"

#define JOBS (2 * HASHER_OWNERS)

struct name_hasher {
	struct nsec3_job jobs[JOBS];   /* owner i's name 2i, wildcard 2i + 1 */
	struct nsec3_job *job_list[JOBS];
	struct nsec3_find finds[JOBS];
	struct nsec3_find *find_list[JOBS];
	const uint8_t *kept[JOBS];     /* hashes to keep, or NULL */
	uint8_t wildcards[HASHER_OWNERS][NAME_MAX_LEN];
};

static bool
hashing_is_costly(const struct packer_zone *zone)
{
	const struct nsec3_chain *chain;

	if (zone->hash_later)
		return zone->hash_apex_alone;
	chain = store_get(zone->view, zone->chain);
	return (chain->flags & NSEC3_CHAIN_COSTLY) != 0;
}

/*
 * True if a query may need the hash of a name. These are all names that exist
 * for queries. If hashing is too costly, only the apex is hashed.
 */
static bool
name_is_hashed(const struct packer_zone *zone, const struct owner *owner)
{
	return (owner->flags & (OWNER_OCCLUDED | OWNER_AGAIN)) == 0
		&& (owner->labels == 0 || !hashing_is_costly(zone));
}

/* True if a query may need the hash of the wildcard below a name: if the name
 * can be a closest encloser (RFC 5155 section 7.2.1). Below a zone cut or DNAME
 * there is none. */
static bool
wildcard_is_hashed(const struct packer_zone *zone, const struct owner *owner)
{
	return name_is_hashed(zone, owner)
		&& (owner->flags & (OWNER_CUT | OWNER_DNAME_TOP)) == 0
		&& owner->name_len + zone->apex_len + 2u <= NAME_MAX_LEN;
}

static size_t
hasher_list(struct packer *p, const struct owner *owners, size_t count)
{
	const struct packer_zone *zone = p->zone;
	struct name_hasher *h = p->hasher;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct owner *o = &owners[i];

		owner_prefetch_name(owners, i, count);
		h->kept[2 * i] = h->kept[2 * i + 1] = NULL;
		if (name_is_hashed(zone, o)) {
			h->jobs[2 * i].name = o->name;
			h->job_list[n++] = &h->jobs[2 * i];
		}
		if (wildcard_is_hashed(zone, o)) {
			uint8_t *name = h->wildcards[i];

			memcpy(name, "\1*", 2);
			memcpy(name + 2, o->name, o->name_len + zone->apex_len);
			h->jobs[2 * i + 1].name = name;
			h->job_list[n++] = &h->jobs[2 * i + 1];
		}
	}
	return n;
}

/*
 * Nodes keep the start of a hash. If it is also the start of another record's
 * hash, it would lead to the wrong record. Then it is not kept, and each query
 * hashes the name anew. Two such names do not meet by chance.
 */
static void
hasher_keep(struct packer *p, size_t count)
{
	struct name_hasher *h = p->hasher;
	const struct store_view *view = p->zone->view;
	const struct nsec3_chain *chain = store_get(view, p->zone->chain);

	for (size_t i = 0; i < count; i++) {
		struct nsec3_find *find = &h->finds[i];

		find->chain = chain;
		find->is_prefix = true;
		memcpy(find->hash, h->job_list[i]->hash, NSEC3_HASH_LEN);
		h->find_list[i] = find;
	}
	nsec3_find_batch(view, h->find_list, count);
	for (size_t i = 0; i < count; i++) {
		const struct nsec3_find *find = &h->finds[i];

		if (!find->matches || (!find->ambiguous
			    && memcmp(find->hash, find->owner_hash,
				       NSEC3_HASH_LEN) == 0))
			h->kept[h->job_list[i] - h->jobs] = find->hash;
	}
}

/* Leaves room for the hashes of the names, with zeros in their places. Hashes
 * that begin alike will not be kept: see hasher_keep. */
static void
hasher_leave_room(struct packer *p, const struct owner *owners, size_t count)
{
	static const uint8_t zeros[NSEC3_HASH_LEN];
	const uint8_t **kept = p->hasher->kept;

	for (size_t i = 0; i < count; i++) {
		kept[2 * i] = name_is_hashed(p->zone, &owners[i]) ? zeros
								   : NULL;
		kept[2 * i + 1] = wildcard_is_hashed(p->zone, &owners[i])
			? zeros : NULL;
	}
}

enum nsd_err
hasher_run(struct packer *p, const struct owner *owners, size_t count)
{
	struct name_hasher *h = p->hasher;
	size_t n;

	assert(count <= HASHER_OWNERS);
	if (p->zone->chain == STORE_NONE && !p->zone->hash_later)
		return NSD_OK;
	if (h == NULL) {
		h = p->hasher = arena_alloc(&p->arena, sizeof(*h));
		if (h == NULL)
			return NSD_E_MEMORY;
	}
	if (p->zone->hash_later) {
		hasher_leave_room(p, owners, count);
		return NSD_OK;
	}
	n = hasher_list(p, owners, count);
	nsec3_hash_batch(&p->zone->params, h->job_list, n);
	hasher_keep(p, n);
	return NSD_OK;
}

void
hasher_get(struct packer *p, size_t i)
{
	if (p->hasher == NULL)
		return;
	ASSERT_HOT(i < HASHER_OWNERS);
	p->hashes[0] = p->hasher->kept[2 * i];
	p->hashes[1] = p->hasher->kept[2 * i + 1];
}
