/* update_changes.c - sorts the changes of one name, and finds those of a
 * type. */
#include <stdlib.h>
#include <string.h>

#include "update/update_changes.h"

static struct item *
changes_next(struct name_changes *changes, enum change_kind kind)
{
	if (kind == CHANGE_ADD)
		return &changes->adds[changes->add_count++];
	return kind == CHANGE_ABSENT
		? &changes->absents[changes->absent_count++]
		: &changes->removes[changes->remove_count++];
}

static void
changes_note(struct name_changes *changes, const struct update_change *c)
{
	struct item *item;

	if (c->kind == CHANGE_REMOVE_SET) {
		changes->sets[changes->set_count++] = (struct removed_set){
			.type = c->rr->type,
			.times = 1,
		};
		return;
	}
	item = changes_next(changes, c->kind);
	item->rr = c->rr;
	item->key = items_key(c->rr);
	item->order = UPDATE_ORDER_NEW + (uint32_t)(changes->add_count
		+ changes->remove_count);
}

/* Of equal records only the first stays, with the lowest TTL of all. */
static void
changes_drop_duplicates(struct zone_update *u, struct name_changes *changes)
{
	size_t kept = 0;

	for (size_t i = 0; i < changes->add_count; i++) {
		const struct rrbatch_rr *rr = changes->adds[i].rr;
		struct rrbatch_rr *last;

		if (kept == 0
			|| changes->adds[kept - 1].key != changes->adds[i].key
			|| items_compare_rr(rr->type,
				   changes->adds[kept - 1].rr, rr) != 0) {
			changes->adds[kept++] = changes->adds[i];
			continue;
		}
		u->result.present++;
		u->misfits++;
		last = (struct rrbatch_rr *)(uintptr_t)
			changes->adds[kept - 1].rr; /* the update's own */
		if (rr->ttl_sec < last->ttl_sec)
			last->ttl_sec = rr->ttl_sec;
	}
	changes->add_count = kept;
}

/* Counts removals that come twice as misfits. They stay: the second finds the
 * same record as the first. */
static void
changes_count_twice(struct zone_update *u, const struct name_changes *changes)
{
	for (size_t i = 1; i < changes->remove_count; i++) {
		const struct item *a = &changes->removes[i - 1];
		const struct item *b = &changes->removes[i];

		u->misfits += a->key == b->key
			&& items_compare_rr(a->rr->type, a->rr, b->rr) == 0;
	}
}

static int
changes_compare_sets(const void *a, const void *b)
{
	const struct removed_set *x = a, *y = b;

	return (x->type > y->type) - (x->type < y->type);
}

/* Sorts the sets, and joins those of one type: an update may ask for all types
 * many times. */
static void
changes_sort_sets(struct name_changes *changes)
{
	size_t kept = 0;

	if (changes->set_count > 1)
		qsort(changes->sets, changes->set_count,
			sizeof(changes->sets[0]), changes_compare_sets);
	for (size_t i = 0; i < changes->set_count; i++) {
		if (kept > 0 && changes->sets[kept - 1].type
			== changes->sets[i].type)
			changes->sets[kept - 1].times++;
		else
			changes->sets[kept++] = changes->sets[i];
	}
	changes->set_count = kept;
}

enum nsd_err
update_changes_make(struct zone_update *u, struct name_changes *changes,
	const struct owner *run, size_t count)
{
	struct item *tmp = arena_alloc(&u->scratch, count * sizeof(*tmp));

	memset(changes, 0, sizeof(*changes));
	changes->adds = arena_alloc(&u->scratch, count * sizeof(*tmp));
	changes->removes = arena_alloc(&u->scratch, count * sizeof(*tmp));
	changes->absents = arena_alloc(&u->scratch, count * sizeof(*tmp));
	changes->sets = arena_alloc(&u->scratch,
		count * sizeof(changes->sets[0]));
	if (tmp == NULL || changes->adds == NULL || changes->removes == NULL
		|| changes->absents == NULL || changes->sets == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < count; i++)
		changes_note(changes, &u->changes[run[i].index]);
	items_sort(changes->adds, tmp, changes->add_count);
	changes_drop_duplicates(u, changes);
	items_sort(changes->removes, tmp, changes->remove_count);
	changes_count_twice(u, changes);
	items_sort(changes->absents, tmp, changes->absent_count);
	changes_sort_sets(changes);
	return NSD_OK;
}

size_t
update_find_key(const struct item *items, size_t count, uint32_t key,
	size_t *found)
{
	size_t low = 0, high = count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < count && items[end].key == key; end++)
		;
	*found = end - low;
	return low;
}

/* True if there is a set of this type; marks it as found. */
static bool
changes_find_set(const struct name_changes *changes, uint16_t type)
{
	const struct removed_set wanted = {.type = type};
	struct removed_set *set = changes->set_count == 0 ? NULL
		: bsearch(&wanted, changes->sets, changes->set_count,
			sizeof(changes->sets[0]), changes_compare_sets);

	if (set != NULL)
		set->found = true;
	return set != NULL;
}

/* True if a whole RRset is to be removed: key is that of its items. */
static bool
changes_has_set(const struct name_changes *changes, uint32_t key)
{
	bool is_sigs = (key & 1) != 0;
	bool by_type = changes_find_set(changes, is_sigs ? TYPE_RRSIG
		: (uint16_t)(key >> 1));

	return changes_find_set(changes, TYPE_ANY) || by_type;
}

bool
update_changes_get_part(struct name_changes *changes, uint32_t key, bool there,
	struct update_part *p)
{
	memset(p, 0, sizeof(*p));
	p->adds = changes->adds + update_find_key(changes->adds,
		changes->add_count, key, &p->add_count);
	p->removes = changes->removes + update_find_key(changes->removes,
		changes->remove_count, key, &p->remove_count);
	p->absents = changes->absents + update_find_key(changes->absents,
		changes->absent_count, key, &p->absent_count);
	p->remove_all = there && changes_has_set(changes, key);
	return p->add_count > 0 || p->remove_count > 0 || p->absent_count > 0
		|| p->remove_all;
}
