/* update.c - a transaction on a zone: notes what is asked for, then does all of
 * it or nothing. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "store/writer.h"
#include "update/update_pass.h"
#include "zonedb/release.h"
#include "zonedb/retire.h"
#include "zonedb/table_edit.h"

#define COMPACT_MAX 4000u /* records of a zone that is made anew at once */
#define UPDATE_MEMORY 16384u /* octets of each arena that cost no mapping */

struct update_memory {
	struct zone_update update;
	uint64_t memory[3][UPDATE_MEMORY / 8];
};

/* ---- noting changes ---------------------------------------------------- */

enum nsd_err
update_begin(struct store_writer *writer, store_ref entry_ref,
	const struct zone_update_options *options, struct zone_update **update)
{
	const struct store_view *view = store_writer_view(writer);
	const struct zone_entry *entry = store_get(view, entry_ref);
	struct update_memory *m;
	struct zone_update *u;

	if (entry->zone == STORE_NONE)
		return NSD_E_NOT_FOUND;
	m = malloc(sizeof(*m));
	if (m == NULL)
		return NSD_E_MEMORY;
	u = &m->update;
	memset(u, 0, sizeof(*u));
	u->writer = writer;
	u->heap = options->heap != NULL ? options->heap
					: store_writer_heap(writer);
	u->view = view;
	u->entry = entry_ref;
	u->options = *options;
	u->zone.apex_len = (uint8_t)(entry->leaf.name_len + 1);
	memcpy(u->zone.apex, entry->name, u->zone.apex_len);
	u->zone.secondary = options->secondary;
	u->zone.limits = options->limits;
	u->zone.view = view;
	arena_init(&u->arena, m->memory[0], sizeof(m->memory[0]));
	arena_init(&u->packer.arena, m->memory[1], sizeof(m->memory[1]));
	arena_init(&u->scratch, m->memory[2], sizeof(m->memory[2]));
	packer_init(&u->packer, &u->zone, u->heap, NULL);
	*update = u;
	return NSD_OK;
}

void
update_abort(struct zone_update *u)
{
	arena_fini(&u->scratch);
	arena_fini(&u->packer.arena);
	arena_fini(&u->arena);
	free(u);
}

/* Makes room for one more owner with its change. */
static enum nsd_err
changes_reserve(struct zone_update *u)
{
	size_t room = u->change_room;
	struct owner *owners;
	struct update_change *changes;

	if (u->change_count > UINT32_MAX / 2)
		return NSD_E_LIMIT;
	owners = grow_arena(&u->arena, u->owners, u->change_count, &room,
		sizeof(*owners));
	if (owners == NULL)
		return NSD_E_MEMORY;
	u->owners = owners;
	changes = grow_arena(&u->arena, u->changes, u->change_count,
		&u->change_room, sizeof(*changes));
	if (changes == NULL)
		return NSD_E_MEMORY;
	u->changes = changes;
	return NSD_OK;
}

static enum nsd_err
update_note(struct zone_update *u, enum change_kind kind,
	const struct zone_rr *rr)
{
	size_t len = name_len(rr->owner);
	struct rrbatch_rr *copy = arena_alloc(&u->arena,
		sizeof(*copy) + len + rr->rdlen);
	struct owner owner = {.flags = 0};
	enum nsd_err err = changes_reserve(u);

	if (copy == NULL || err != NSD_OK)
		return copy == NULL ? NSD_E_MEMORY : err;
	memset(copy, 0, sizeof(*copy));
	copy->ttl_sec = rr->ttl_sec;
	copy->type = rr->type;
	copy->rdlen = rr->rdlen;
	copy->owner_len = (uint8_t)len;
	memcpy(copy->data, rr->owner, len);
	name_lower(copy->data);
	if (rr->rdlen > 0)
		memcpy(copy->data + len, rr->rdata, rr->rdlen);
	if (!owner_measure(&owner, copy->data, len, u->zone.apex,
		    u->zone.apex_len))
		return NSD_E_ZONE;
	owner.index = (uint32_t)u->change_count;
	u->owners[u->change_count] = owner;
	u->changes[u->change_count].kind = kind;
	u->changes[u->change_count].version = u->version;
	u->changes[u->change_count].rr = copy;
	u->change_count++;
	return NSD_OK;
}

enum nsd_err
update_add(struct zone_update *update, const struct zone_rr *rr)
{
	return update_note(update, CHANGE_ADD, rr);
}

enum nsd_err
update_remove(struct zone_update *update, const struct zone_rr *rr)
{
	return update_note(update, CHANGE_REMOVE, rr);
}

enum nsd_err
update_remove_rrset(struct zone_update *update, const uint8_t *owner,
	uint16_t type)
{
	const struct zone_rr rr = {.owner = owner, .type = type};

	return update_note(update, CHANGE_REMOVE_SET, &rr);
}

void
update_next_version(struct zone_update *update)
{
	assert(update->options.exact);
	update->version++;
}

/* ---- doing it ---------------------------------------------------------- */

/* Makes a version that shares with the old one whatever does not change. */
static enum nsd_err
update_run(struct zone_update *u)
{
	enum nsd_err err = update_plan(u);

	/* A misfit is reported rather than findings that result from it. */
	if (u->options.exact && u->misfits > 0 && err != NSD_E_MEMORY)
		return NSD_E_INEXACT;
	if (err != NSD_OK || !u->effective)
		return err;
	if (u->old->share == STORE_NONE && update_is_too_long(u))
		return NSD_E_LIMIT;
	err = update_open_share(u->heap, u->old, u->zone.apex, &u->zone.share);
	if (err != NSD_OK)
		return err;
	u->names = u->old->names;
	u->nsec3 = u->old->nsec3;
	u->targets = u->old->targets;
	u->owned.arena = &u->arena;
	u->garbage.arena = &u->arena;
	err = update_chain(u);
	if (err == NSD_OK)
		err = update_pack(u);
	if (err == NSD_OK)
		err = update_cells(u);
	if (err == NSD_OK)
		err = update_apply(u);
	if (err != NSD_OK)
		update_undo(u);
	return err;
}

enum nsd_err
update_make(struct zone_update *u, struct diag_sink *sink)
{
	const struct zone_entry *entry = store_get(u->view, u->entry);
	struct findings *findings = &u->packer.findings;
	enum nsd_err err;

	u->old_ref = entry->zone;
	u->old = store_edit(u->heap, u->old_ref);
	err = u->version > 0 ? update_merge(u) : NSD_OK;
	if (err != NSD_OK)
		return err;
	/* NSD_E_AGAIN: the whole zone is to be built anew, as that takes less,
	 * or as no record of its NSEC3 chain would be left. */
	err = update_needs_rebuild(u) ? NSD_E_AGAIN : update_run(u);
	if (err == NSD_E_AGAIN && update_is_too_long(u))
		return NSD_E_LIMIT;
	if (err == NSD_E_AGAIN) {
		memset(&u->result, 0, sizeof(u->result));
		u->misfits = 0;
		err = update_rebuild(u, false, sink);
	} else if (err == NSD_OK || err == NSD_E_ZONE) {
		findings_emit(&findings, 1, NULL, 0, sink);
	}
	return err;
}

store_ref
update_show(struct zone_update *u)
{
	assert(!u->was_shown && !u->published);
	if (u->made == STORE_NONE)
		return STORE_NONE;
	u->was_shown = true;
	if (!u->anew)
		update_publish_cells(u, store_edit(u->heap, u->made));
	table_set_candidate(u->writer, u->entry, u->made);
	return u->made;
}

store_ref
update_withdraw(struct zone_update *u)
{
	store_ref made = u->made;

	assert(u->was_shown && !u->published);
	table_set_candidate(u->writer, u->entry, STORE_NONE);
	if (!u->anew) {
		update_withdraw_cells(u);
		return STORE_NONE;
	}
	u->made = STORE_NONE;
	return made;
}

store_ref
update_publish(struct zone_update *u)
{
	struct zone_entry *entry = store_edit(u->heap, u->entry);

	u->published = true;
	if (u->made == STORE_NONE)
		return STORE_NONE;
	assert(entry->zone == u->old_ref);
	if (u->anew)
		return table_swap_zone(u->writer, u->entry, u->made);
	if (!u->was_shown)
		update_publish_cells(u, store_edit(u->heap, u->made));
	store_publish_ref(u->writer, &entry->zone, u->made);
	if (u->was_shown)
		table_set_candidate(u->writer, u->entry, STORE_NONE);
	/* No whole zone has gone: update_end retires what was replaced. */
	return STORE_NONE;
}

void
update_end(struct zone_update *u, struct zone_update_result *result)
{
	if (u->made != STORE_NONE && u->anew && !u->published)
		release_zone(u->heap, u->made);
	else if (u->made != STORE_NONE && !u->anew && u->published)
		update_retire(u);
	else if (u->made != STORE_NONE && !u->anew)
		update_undo(u);
	if (u->published && result != NULL)
		*result = u->result;
	update_abort(u);
}

enum nsd_err
update_commit(struct zone_update *u, struct diag_sink *sink,
	struct zone_update_result *result)
{
	enum nsd_err err;

	update_settle(u->writer, u->entry);
	err = update_make(u, sink);
	if (err == NSD_OK)
		retire_zone(u->writer, update_publish(u));
	update_end(u, result);
	return err;
}

static void
ignore_diag(struct diag_sink *sink, const struct diag *d)
{
	(void)sink;
	(void)d;
}

enum nsd_err
update_compact(struct store_writer *writer, store_ref entry_ref,
	const struct zone_update_options *options, uint64_t *records)
{
	/* Findings were reported when the zone was loaded or changed. */
	struct diag_sink sink = { .on_diag = ignore_diag };
	struct zone_update *u;
	enum nsd_err err = update_begin(writer, entry_ref, options, &u);
	const struct zone_entry *entry;

	if (err == NSD_E_NOT_FOUND)
		return NSD_OK;
	if (err != NSD_OK)
		return err;
	entry = store_get(u->view, entry_ref);
	u->old_ref = entry->zone;
	u->old = store_edit(u->heap, u->old_ref);
	if (u->old->rr_count <= COMPACT_MAX
		&& entry->candidate == STORE_NONE) {
		update_cells_settle(u->writer, u->old);
		*records += u->old->rr_count;
		err = update_rebuild(u, true, &sink);
		if (err == NSD_OK)
			retire_zone(writer, update_publish(u));
	}
	update_end(u, NULL);
	return err == NSD_E_MEMORY ? err : NSD_OK;
}

void
update_settle(struct store_writer *writer, store_ref entry_ref)
{
	struct store_heap *heap = store_writer_heap(writer);
	const struct zone_entry *entry = store_edit(heap, entry_ref);

	/* A candidate goes on from what is pending. */
	if (entry->zone != STORE_NONE && entry->candidate == STORE_NONE)
		update_cells_settle(writer, store_edit(heap, entry->zone));
}
