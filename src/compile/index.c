/* index.c - the first pass: makes sorted owners of the batches, and checks that
 * each is in the zone. */
#include <string.h>

#include "base/assert.h"
#include "compile/build_pass.h"

#define SMALL_COUNT 4096u /* owners; what they take is not worth giving back */

static void
index_out_of_zone(struct build_worker *w, const struct rrbatch_rr *rr,
	const uint8_t *name)
{
	char owner[NAME_TEXT_MAX], apex[NAME_TEXT_MAX];

	findings_add(&w->packer.findings, packer_severity(&w->packer), rr,
		"out of zone data: %s is outside the zone for fqdn %s",
		findings_name_text(name, owner),
		findings_name_text(w->build->zone.apex, apex));
}

/* Finishes an owner. An owner with nothing but NSEC3 moves to the other end. */
static void
index_close(struct build_worker *w, struct owner *owner)
{
	struct index_range *r = &w->index;

	if (owner == NULL)
		return;
	if ((owner->flags & OWNER_OTHER) == 0) {
		r->hash_count++;
		r->room[r->room_count - r->hash_count] = *owner;
		r->name_count--;
	} else if ((owner->flags & OWNER_NSEC3) != 0) {
		__atomic_store_n(&w->build->nsec3_in_names, true,
			__ATOMIC_RELAXED);
	}
}

static struct owner *
index_open(struct build_worker *w, const struct rrbatch_rr *rr)
{
	struct owner *owner = &w->index.room[w->index.name_count];

	ASSERT_HOT(w->index.name_count + w->index.hash_count
		< w->index.room_count);
	owner->rr_count = 0;
	owner->flags = 0;
	if (!owner_measure(owner, rr->data, rr->owner_len, w->build->zone.apex,
		    w->build->zone.apex_len))
		return NULL;
	w->index.name_count++;
	return owner;
}

static void
index_batch(struct build_worker *w, const struct rrbatch *batch)
{
	const struct rrbatch_rr *rr = rrbatch_first(batch);
	const struct rrbatch_rr *first = NULL; /* of the owner at hand */
	struct owner *owner = NULL;

	for (size_t i = 0; i < batch->count; i++, rr = rrbatch_next(rr)) {
		if (rr->owner_len != 0
			&& (first == NULL || first->owner_len != rr->owner_len
				|| memcmp(first->data, rr->data,
					   rr->owner_len) != 0)) {
			index_close(w, owner);
			first = rr;
			owner = index_open(w, rr);
		}
		if (owner == NULL) {
			if (first != NULL)
				index_out_of_zone(w, rr, first->data);
			continue;
		}
		owner->rr_count++;
		owner->flags |= owner_flags_of_rr(rr);
	}
	index_close(w, owner);
}

static void
owners_reverse(struct owner *items, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct owner moved = items[i];

		items[i] = items[count - 1 - i];
		items[count - 1 - i] = moved;
	}
}

/* Large scratch of the sort is freed right after it. If the file is in no
 * order, it would be a fifth of all memory of the build. */
static enum nsd_err
index_sort(struct build_worker *w, struct owner *hashes)
{
	struct index_range *r = &w->index;
	size_t most = r->name_count > r->hash_count ? r->name_count
						     : r->hash_count;
	struct arena own, *arena = &own;
	struct owner *tmp;

	if (most == 0)
		return NSD_OK;
	if (most <= SMALL_COUNT)
		arena = build_worker_part(w);
	arena_init(&own, NULL, 0);
	tmp = arena_alloc(arena, most * sizeof(*tmp));
	if (tmp != NULL) {
		owner_sort(r->room, tmp, r->name_count);
		owner_sort(hashes, tmp, r->hash_count);
	}
	arena_fini(&own);
	return tmp == NULL ? NSD_E_MEMORY : NSD_OK;
}

static enum nsd_err
index_worker(struct build_worker *w)
{
	const struct index_range *r = &w->index;
	struct owner *hashes;

	for (const struct rrbatch *b = r->batch_first; b != r->batch_end;
		b = b->next)
		index_batch(w, b);
	hashes = r->room + r->room_count - r->hash_count;
	owners_reverse(hashes, r->hash_count);
	return index_sort(w, hashes);
}

/* Gives each worker a stretch of the batches, all with about as many records,
 * and room for the owners in it. */
static enum nsd_err
index_share_out(struct build *b, struct arena *rooms)
{
	const struct rrbatch *batch = b->input->batches;
	uint64_t done = 0;

	for (unsigned i = 0; i < b->worker_count; i++) {
		struct index_range *r = &b->workers[i].index;
		uint64_t end = b->rr_total * (i + 1) / b->worker_count;

		r->batch_first = batch;
		r->room_count = r->name_count = r->hash_count = 0;
		while (batch != NULL && (done < end
			       || i + 1 == b->worker_count)) {
			done += batch->count;
			r->room_count += batch->count;
			batch = batch->next;
		}
		r->batch_end = batch;
		r->room = arena_alloc(rooms,
			(r->room_count + 1) * sizeof(*r->room));
		if (r->room == NULL)
			return NSD_E_MEMORY;
	}
	return NSD_OK;
}

/* ---- merging the workers' lists ---------------------------------------- */

struct owner_list {
	struct owner *items;
	size_t count;
};

/* One round: lists 2i and 2i+1 become one. Each worker does a part of each. */
struct merge_round {
	const struct owner_list *from;
	struct owner_list *to;
	unsigned count; /* of from */
};

static void
index_merge_part(const struct owner_list *a, const struct owner_list *b,
	struct owner *out, size_t start, size_t end)
{
	size_t a_start = owner_merge_split(a->items, a->count, b->items,
		b->count, start);
	size_t a_end = owner_merge_split(a->items, a->count, b->items,
		b->count, end);

	owner_merge(a->items + a_start, a_end - a_start,
		b->items + (start - a_start),
		(end - a_end) - (start - a_start), out + start);
}

static enum nsd_err
merge_worker(struct build_worker *w)
{
	const struct merge_round *r = w->pass_arg;

	for (unsigned i = 0; i < r->count; i += 2) {
		const struct owner_list *a = &r->from[i], *b = a + 1;
		struct owner_list none = {a->items, 0};
		unsigned n = w->build->worker_count;
		size_t total;

		if (i + 1 == r->count)
			b = &none;
		total = a->count + b->count;
		if (total == 0)
			continue;
		index_merge_part(a, b, r->to[i / 2].items,
			total * w->number / n, total * (w->number + 1) / n);
	}
	return NSD_OK;
}

/* Merges `count` lists, which are overwritten, into one. rooms: an arena for
 * what is in between. */
static enum nsd_err
owners_merge_all(struct build *b, struct owner_list *lists, unsigned count,
	struct arena *rooms, struct owner_list *result)
{
	struct owner_list *to;
	size_t total = 0;

	for (unsigned i = 0; i < count; i++)
		total += lists[i].count;
	to = arena_alloc(build_part(b), count * sizeof(*to));
	if (to == NULL)
		return NSD_E_MEMORY;
	while (count > 1) {
		struct merge_round round = {lists, to, count};
		struct owner *room = arena_alloc(
			count > 2 ? rooms : build_part(b),
			total * sizeof(*room) + 1);

		if (room == NULL)
			return NSD_E_MEMORY;
		for (unsigned i = 0; i < count; i += 2) {
			to[i / 2].items = room;
			to[i / 2].count = lists[i].count
				+ (i + 1 < count ? lists[i + 1].count : 0);
			room += to[i / 2].count;
		}
		for (unsigned i = 0; i < b->worker_count; i++)
			b->workers[i].pass_arg = &round;
		if (workers_run(b, merge_worker) != NSD_OK)
			return NSD_E_MEMORY;
		count = (count + 1) / 2;
		memcpy(lists, to, count * sizeof(*lists));
	}
	*result = lists[0];
	return NSD_OK;
}

/* ---- owners that have NSEC3 and other data, apart ---------------------- */

/* Owners of `hashes` that are in `names` too go to the front of moved; the
 * rest stays. Returns how many. */
static size_t
hashes_take_names(struct build *b, struct owner *moved)
{
	size_t kept = 0, at = 0, count = 0;

	for (size_t i = 0; i < b->hash_count; i++) {
		const struct owner *h = &b->hashes[i];

		while (at < b->name_count
			&& owner_compare(&b->names[at], h) < 0)
			at++;
		if (at < b->name_count && owner_compare(&b->names[at], h) == 0)
			moved[count++] = *h;
		else
			b->hashes[kept++] = *h;
	}
	b->hash_count = kept;
	return count;
}

static bool
hashes_meet_names(const struct build *b)
{
	size_t at = 0;

	for (size_t i = 0; i < b->hash_count; i++) {
		while (at < b->name_count
			&& owner_compare(&b->names[at], &b->hashes[i]) < 0)
			at++;
		if (at < b->name_count
			&& owner_compare(&b->names[at], &b->hashes[i]) == 0)
			return true;
	}
	return false;
}

/* A name may have NSEC3 in one place of the input and other data in another:
 * then it is an ordinary name. */
static enum nsd_err
index_join_lists(struct build *b)
{
	struct owner *moved, *names;
	size_t count;

	if (b->hash_count == 0 || !hashes_meet_names(b))
		return NSD_OK;
	moved = arena_alloc(build_part(b), b->hash_count * sizeof(*moved));
	names = arena_alloc(build_part(b),
		(b->name_count + b->hash_count) * sizeof(*names));
	if (moved == NULL || names == NULL)
		return NSD_E_MEMORY;
	b->nsec3_in_names = true;
	count = hashes_take_names(b, moved);
	owner_merge(b->names, b->name_count, moved, count, names);
	b->names = names;
	b->name_count += count;
	return NSD_OK;
}

static enum nsd_err
index_merge(struct build *b, struct arena *rooms)
{
	struct owner_list *lists, names, hashes;
	enum nsd_err err;

	lists = arena_alloc(build_part(b), b->worker_count * sizeof(*lists));
	if (lists == NULL)
		return NSD_E_MEMORY;
	for (unsigned i = 0; i < b->worker_count; i++) {
		lists[i].items = b->workers[i].index.room;
		lists[i].count = b->workers[i].index.name_count;
	}
	err = owners_merge_all(b, lists, b->worker_count, rooms, &names);
	if (err != NSD_OK)
		return err;
	for (unsigned i = 0; i < b->worker_count; i++) {
		const struct index_range *r = &b->workers[i].index;

		lists[i].items = r->room + r->room_count - r->hash_count;
		lists[i].count = r->hash_count;
	}
	err = owners_merge_all(b, lists, b->worker_count, rooms, &hashes);
	if (err != NSD_OK)
		return err;
	b->names = names.items;
	b->name_count = names.count;
	b->hashes = hashes.items;
	b->hash_count = hashes.count;
	return NSD_OK;
}

enum nsd_err
index_build(struct build *b)
{
	struct arena own;
	/* The list of one worker is the result. */
	struct arena *rooms = b->worker_count > 1 ? &own : build_part(b);
	enum nsd_err err;

	arena_init(&own, NULL, 0);
	err = index_share_out(b, rooms);
	if (err == NSD_OK)
		err = workers_run(b, index_worker);
	if (err == NSD_OK)
		err = index_merge(b, rooms);
	arena_fini(&own);
	return err == NSD_OK ? index_join_lists(b) : err;
}
