/* update_merge.c - several versions become one: of all that they do to a
 * record, what it comes to is left. */
#include <string.h>

#include "update/update_pass.h"

/* The changes of one record, version by version. */
struct merging {
	const struct rrbatch_rr *removed; /* the first time; NULL: it must not
					   * have been there */
	const struct rrbatch_rr *added;   /* the last time; NULL: it is not
					   * there */
	const struct rrbatch_rr *any;
	bool known; /* some version has changed it */
};

/* The changes that are left take the place of those that were noted, of which
 * there are never less. */
struct merged {
	struct zone_update *u;
	struct update_change *changes;
	size_t count;
};

static void
merged_put(struct merged *m, const struct owner *owner,
	enum change_kind kind, const struct rrbatch_rr *rr)
{
	struct owner *out = &m->u->owners[m->count];

	*out = *owner;
	out->index = (uint32_t)m->count;
	m->changes[m->count++] = (struct update_change){
		.kind = kind,
		.rr = rr,
	};
}

/* The end of what is done to the record of the first item in one version. */
static size_t
version_end(const struct zone_update *u, const struct item *items, size_t count)
{
	const struct update_change *changes = u->changes;
	size_t n = 1;

	while (n < count && changes[items[n].order].version
			== changes[items[0].order].version)
		n++;
	return n;
}

/* Takes what one version does to a record. False: it must not be done. */
static bool
merging_take(struct merging *r, const struct zone_update *u,
	const struct item *items, size_t count)
{
	const struct rrbatch_rr *removed = NULL, *added = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct update_change *c = &u->changes[items[i].order];
		const struct rrbatch_rr **at = c->kind == CHANGE_ADD
			? &added : &removed;

		if (*at != NULL)
			return false;
		*at = c->rr;
		r->any = c->rr;
	}
	/* A version removes a record exactly if it is there, also if it adds it
	 * again. */
	if (r->known && (removed != NULL) != (r->added != NULL))
		return false;
	if (!r->known)
		r->removed = removed;
	r->known = true;
	r->added = added;
	return true;
}

/* Merges the changes of one record, in the order they were noted. */
static enum nsd_err
merge_record(struct merged *m, const struct owner *owner,
	const struct item *items, size_t count)
{
	struct merging r = {.known = false};
	size_t n;

	for (size_t i = 0; i < count; i += n) {
		n = version_end(m->u, items + i, count - i);
		if (!merging_take(&r, m->u, items + i, n))
			return NSD_E_INEXACT;
	}
	if (r.removed != NULL)
		merged_put(m, owner, CHANGE_REMOVE, r.removed);
	if (r.added != NULL)
		merged_put(m, owner, CHANGE_ADD, r.added);
	if (r.removed == NULL && r.added == NULL)
		merged_put(m, owner, CHANGE_ABSENT, r.any);
	return NSD_OK;
}

/* Counts the sorted items of the record of the first. */
static size_t
record_end(const struct item *items, size_t count)
{
	size_t n = 1;

	while (n < count && items[n].key == items[0].key
		&& items_compare_rr(items[0].rr->type, items[0].rr,
			items[n].rr) == 0)
		n++;
	return n;
}

/* Merges the changes of one name: a run of sorted owners. */
static enum nsd_err
merge_name(struct merged *m, const struct owner *run, size_t count,
	struct item *items, struct item *tmp)
{
	const struct owner owner = run[0];
	enum nsd_err err = NSD_OK;
	size_t n;

	for (size_t i = 0; i < count; i++) {
		const struct rrbatch_rr *rr = m->u->changes[run[i].index].rr;

		items[i] = (struct item){items_key(rr), run[i].index, rr};
	}
	items_sort(items, tmp, count);
	for (size_t i = 0; i < count && err == NSD_OK; i += n) {
		n = record_end(items + i, count - i);
		err = merge_record(m, &owner, items + i, n);
	}
	return err;
}

enum nsd_err
update_merge(struct zone_update *u)
{
	size_t count = u->change_count, n;
	struct arena_mark mark = arena_mark(&u->scratch);
	struct owner *tmp = arena_alloc(&u->scratch, count * sizeof(*tmp));
	struct item *items = arena_alloc(&u->scratch,
		2 * count * sizeof(*items));
	struct merged m = {
		.u = u,
		.changes = arena_alloc(&u->arena, count * sizeof(*m.changes)),
	};
	enum nsd_err err = NSD_OK;

	if (tmp == NULL || items == NULL || m.changes == NULL)
		return NSD_E_MEMORY;
	owner_sort(u->owners, tmp, count);
	for (size_t i = 0; i < count && err == NSD_OK; i += n) {
		n = update_run_len(&u->owners[i], count - i);
		err = merge_name(&m, &u->owners[i], n, items, items + count);
	}
	arena_rewind(&u->scratch, &mark);
	if (err != NSD_OK)
		return err;
	u->changes = m.changes;
	u->change_count = u->change_room = m.count;
	return NSD_OK;
}
