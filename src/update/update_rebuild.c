/* update_rebuild.c - an update that touches nearly all names: builds the zone
 * anew from its records and the changes. */
#include <string.h>

#include "base/grow.h"
#include "compile/build.h"
#include "update/update_pass.h"
#include "zonedb/release.h"

#define BATCH_ROOM (1u << 20)
#define LARGE 100000u /* changes */

/* ---- when -------------------------------------------------------------- */

static bool
apex_has_type(const struct zone_update *u, uint16_t type)
{
	return node_find_entry(store_get(u->view, u->old->apex), type)
		!= NULL;
}

static bool
node_has_nsec3(const struct zone_update *u, store_ref ref)
{
	const struct node *node;
	const struct node_rrset *e;

	if (ref == STORE_NONE)
		return false;
	node = store_get(u->view, ref);
	e = node_entries(node);
	for (unsigned i = 0; i < node->entry_count; i++)
		if (e[i].type == TYPE_NSEC3)
			return true;
	return false;
}

static bool
owner_has_nsec3(const struct zone_update *u, const struct owner *owner)
{
	uint8_t hash[NSEC3_HASH_LEN];

	return (owner->labels == 1 && nsec3_parse_label(owner->name, hash))
		|| node_has_nsec3(u, update_find_ref(u, &u->old->names, owner))
		|| node_has_nsec3(u, update_find_ref(u, &u->old->nsec3, owner));
}

/*
 * True if the changes decide which NSEC3 chain is used, or if a build takes
 * less time: it takes 0.2 us for each record of the zone, an update 4 us for
 * each record that changes.
 */
bool
update_needs_rebuild(const struct zone_update *u)
{
	bool many;

	if (u->change_count == 0)
		return false;
	if (u->change_count > LARGE && u->change_count > u->old->rr_count / 4)
		return true;
	many = nsec3_change_needs_build(u->view, u->old, &u->owners[0],
		TYPE_NSEC3);
	for (size_t i = 0; i < u->change_count; i++) {
		const struct owner *owner = &u->owners[i];
		uint16_t type = u->changes[owner->index].rr->type;

		if (u->changes[owner->index].kind == CHANGE_ABSENT)
			continue;
		if (nsec3_change_needs_build(u->view, u->old, owner, type)
			|| (type == TYPE_ANY && owner->labels == 0
				&& apex_has_type(u, TYPE_NSEC3PARAM))
			|| (many && owner_has_nsec3(u, owner)))
			return true;
	}
	return false;
}

/* ---- merging ----------------------------------------------------------- */

struct rebuild {
	struct zone_update *u;
	struct rrbatch *first;
	struct rrbatch *last;
	size_t change_at; /* among the sorted owners */
	/* the owner at hand, if it has changes */
	size_t run;       /* of changes; 0: it has none */
	struct owner owner;
	uint8_t name[NAME_MAX_LEN];
	struct item *items;
	size_t count;
	size_t room;
};

static enum nsd_err
rebuild_put(struct rebuild *r, const uint8_t *owner,
	const struct rrbatch_rr *rr, const uint8_t *rdata)
{
	struct rrbatch *batch = rrbatch_make_room(&r->first, &r->last,
		rr->rdlen, BATCH_ROOM);

	return batch == NULL ? NSD_E_MEMORY
		: rrbatch_append(batch, rr, owner, rdata);
}

static enum nsd_err
rebuild_put_items(struct rebuild *r, const struct item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum nsd_err err = rebuild_put(r, r->name, items[i].rr,
			rrbatch_rr_rdata(items[i].rr));

		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

/* Merges the changes into the records of the owner at hand, all of which have
 * been seen. */
static enum nsd_err
rebuild_flush(struct rebuild *r)
{
	struct zone_update *u = r->u;
	struct arena_mark mark = arena_mark(&u->scratch);
	struct item *merged, *tmp;
	size_t count;
	enum nsd_err err;

	if (r->run == 0)
		return NSD_OK;
	tmp = arena_alloc(&u->scratch, r->count * sizeof(*tmp) + 1);
	if (tmp == NULL)
		return NSD_E_MEMORY;
	items_sort(r->items, tmp, r->count);
	err = update_merge_items(u, &u->owners[r->change_at], r->run, r->items,
		r->count, &merged, &count);
	r->change_at += r->run;
	r->run = 0;
	r->count = 0;
	if (err == NSD_OK)
		err = rebuild_put_items(r, merged, count);
	arena_rewind(&u->scratch, &mark);
	return err;
}

static void
rebuild_set_owner(struct rebuild *r, const uint8_t *name)
{
	size_t len = name_len(name);

	memcpy(r->name, name, len);
	r->owner.flags = 0;
	owner_measure(&r->owner, r->name, len, r->u->zone.apex,
		r->u->zone.apex_len);
}

/* Finds the changes of the owner at hand, which has some. */
static void
rebuild_open_run(struct rebuild *r)
{
	struct zone_update *u = r->u;

	r->run = update_run_len(&u->owners[r->change_at],
		u->change_count - r->change_at);
}

/* Adds owners that have changes but no records so far: those before the owner,
 * or all that are left if it is NULL. */
static enum nsd_err
rebuild_add_new_owners(struct rebuild *r, const struct owner *owner)
{
	struct zone_update *u = r->u;

	while (r->change_at < u->change_count && (owner == NULL
		|| owner_compare(&u->owners[r->change_at], owner) < 0)) {
		enum nsd_err err;
		uint8_t keep[NAME_MAX_LEN];

		memcpy(keep, r->name, sizeof(keep));
		memcpy(r->name, u->owners[r->change_at].name,
			name_len(u->owners[r->change_at].name));
		rebuild_open_run(r);
		err = rebuild_flush(r);
		memcpy(r->name, keep, sizeof(keep));
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

static enum nsd_err
rebuild_take_owner(struct rebuild *r, const uint8_t *name)
{
	struct zone_update *u = r->u;
	enum nsd_err err = rebuild_flush(r);

	if (err != NSD_OK)
		return err;
	rebuild_set_owner(r, name);
	err = rebuild_add_new_owners(r, &r->owner);
	if (err == NSD_OK && r->change_at < u->change_count
		&& owner_compare(&u->owners[r->change_at], &r->owner) == 0)
		rebuild_open_run(r);
	return err;
}

static enum nsd_err
rebuild_take(void *ctx, const struct zone_rr *rr)
{
	struct rebuild *r = ctx;
	struct rrbatch_rr head = {.ttl_sec = rr->ttl_sec, .type = rr->type,
		.rdlen = rr->rdlen}, *copy;
	enum nsd_err err = NSD_OK;

	if (!name_equal(rr->owner, r->name))
		err = rebuild_take_owner(r, rr->owner);
	if (err != NSD_OK)
		return err;
	if (r->run == 0)
		return rebuild_put(r, rr->owner, &head, rr->rdata);
	copy = arena_alloc(&r->u->arena, sizeof(*copy) + rr->rdlen);
	r->items = grow_arena(&r->u->arena, r->items, r->count, &r->room,
		sizeof(r->items[0]));
	if (copy == NULL || r->items == NULL)
		return NSD_E_MEMORY;
	*copy = head;
	memcpy(copy->data, rr->rdata, rr->rdlen);
	r->items[r->count].rr = copy;
	r->items[r->count].key = items_key(copy);
	r->items[r->count].order = (uint32_t)r->count;
	r->count++;
	return NSD_OK;
}

/* ---- doing it ---------------------------------------------------------- */

static enum nsd_err
rebuild_merge(struct rebuild *r)
{
	struct zone_update *u = r->u;
	struct arena_mark mark = arena_mark(&u->scratch);
	struct owner *tmp = arena_alloc(&u->scratch,
		u->change_count * sizeof(*tmp) + 1);
	enum nsd_err err;

	if (tmp == NULL)
		return NSD_E_MEMORY;
	owner_sort(u->owners, tmp, u->change_count);
	arena_rewind(&u->scratch, &mark);
	/* The walk begins with the apex, which has an SOA. */
	memcpy(r->name, u->zone.apex, u->zone.apex_len);
	rebuild_set_owner(r, u->zone.apex);
	if (u->change_count > 0 && u->owners[0].labels == 0)
		rebuild_open_run(r);
	err = zone_walk(u->view, u->old, u->zone.apex, rebuild_take, r);
	if (err == NSD_OK)
		err = rebuild_flush(r);
	return err != NSD_OK ? err : rebuild_add_new_owners(r, NULL);
}

enum nsd_err
update_rebuild(struct zone_update *u, bool always, struct diag_sink *sink)
{
	struct zone_build_input input = {
		.apex = u->zone.apex,
		.threads = u->options.threads,
		.secondary = u->options.secondary,
		.nsec3_iterations_max = u->options.nsec3_iterations_max,
		.limits = u->options.limits,
	};
	struct rebuild r = {.u = u};
	enum nsd_err err = rebuild_merge(&r);
	store_ref zone;

	if (err == NSD_OK && u->options.exact && u->misfits > 0)
		err = NSD_E_INEXACT;
	if (err == NSD_OK && (always || u->result.added > 0
		|| u->result.removed > 0)) {
		const struct zone *made;

		input.batches = r.first;
		err = build_zone(&input, u->writer, u->heap, sink, &zone);
		if (err == NSD_OK) {
			err = update_check(u, store_edit(u->heap, zone), true);
			if (err != NSD_OK)
				release_zone(u->heap, zone);
		}
		if (err == NSD_OK) {
			made = store_get(u->view, zone);
			u->result.names = made->node_count;
			u->result.hashed = made->chain != STORE_NONE
				? made->node_count : 0;
			u->made = zone;
			u->anew = true;
		}
	}
	rrbatch_destroy_all(r.first);
	return err;
}
