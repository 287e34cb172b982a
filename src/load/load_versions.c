/* load_versions.c - applies the differences that a transfer has brought. */
#include "config.h"

#include <stdlib.h>

#include "base/grow.h"
#include "load/load_records.h"
#include "load/load_update.h"
#include "load/load_versions.h"
#include "store/writer.h"
#include "zone/zone.h"

/* The differences between one version and the next: octets from begin to
 * end. */
struct version {
	size_t begin, end;
	uint32_t from, to;
	bool has_to; /* the new SOA has come */
};

struct versions {
	struct version *items;
	size_t count, room;
};

/* ---- where they are ------------------------------------------------------ */

/* An SOA that is removed: the next version begins. It is to go on where the
 * last one ends. */
static enum nsd_err
versions_begin(struct versions *list, size_t at, uint32_t from)
{
	struct version *items;

	if (list->count > 0 && (!list->items[list->count - 1].has_to
			|| list->items[list->count - 1].to != from))
		return NSD_E_WIRE;
	items = grow_array(list->items, list->count, &list->room,
		sizeof(*items));
	if (items == NULL)
		return NSD_E_MEMORY;
	list->items = items;
	items[list->count++] = (struct version){.begin = at, .from = from};
	return NSD_OK;
}

static enum nsd_err
versions_take(struct versions *list, const struct load_record *record,
	size_t at, const uint8_t *apex)
{
	bool remove = record->action == LOAD_UPDATE_REMOVE;
	struct version *last;
	uint32_t serial;
	bool is_soa = load_records_is_soa(record, apex, &serial);

	if (is_soa && remove)
		return versions_begin(list, at, serial);
	if (list->count == 0
		|| (!remove && record->action != LOAD_UPDATE_ADD))
		return NSD_E_WIRE;
	last = &list->items[list->count - 1];
	/* Removals come before the new SOA, additions behind it. */
	if (is_soa ? last->has_to : last->has_to == remove)
		return NSD_E_WIRE;
	if (is_soa) {
		last->has_to = true;
		last->to = serial;
	}
	return NSD_OK;
}

static enum nsd_err
versions_find(struct versions *list, const uint8_t *octets, size_t len,
	const uint8_t *apex)
{
	struct load_record record;
	struct cursor cursor;
	enum nsd_err err = NSD_OK;
	size_t at = 0;

	cursor_init(&cursor, octets, len);
	while (err == NSD_OK && load_records_next(&cursor, &record)) {
		err = versions_take(list, &record, at, apex);
		at = cursor_offset(&cursor);
		if (list->count > 0)
			list->items[list->count - 1].end = at;
	}
	if (err != NSD_OK)
		return err;
	return cursor.failed || list->count == 0
			|| !list->items[list->count - 1].has_to
		? NSD_E_WIRE : NSD_OK;
}

/* ---- one of them --------------------------------------------------------- */

static enum nsd_err
version_note(struct zone_update *update, const uint8_t *octets,
	const struct version *one)
{
	struct load_record record;
	struct cursor cursor;
	enum nsd_err err = NSD_OK;

	cursor_init(&cursor, octets + one->begin, one->end - one->begin);
	while (err == NSD_OK && load_records_next(&cursor, &record))
		err = record.action == LOAD_UPDATE_ADD
			? update_add(update, &record.rr)
			: update_remove(update, &record.rr);
	return err;
}

static enum nsd_err
version_apply(struct load_versions *v, const uint8_t *octets,
	const struct version *one)
{
	const struct zone_update_options options = {
		.threads = v->context->threads_max,
		.secondary = v->secondary,
		.nsec3_iterations_max = v->context->nsec3_iterations_max,
		.limits = v->context->limits,
		.exact = true,
	};
	struct zone_update_result done;
	struct zone_update *update;
	enum nsd_err err = update_begin(v->context->writer, v->entry, &options,
		&update);

	if (err != NSD_OK)
		return err;
	err = version_note(update, octets, one);
	if (err != NSD_OK) {
		update_abort(update);
		return err;
	}
	err = update_commit(update, v->sink, &done);
	if (err == NSD_OK) {
		v->done.added += done.added;
		v->done.removed += done.removed;
		v->done.names += done.names;
	}
	return err;
}

/* Those from the serial that is served on. */
static enum nsd_err
versions_apply(struct load_versions *v, const uint8_t *octets,
	const struct versions *list)
{
	const struct store_view *view = store_writer_view(v->context->writer);
	const struct zone_entry *entry = store_get(view, v->entry);
	const struct zone *served;
	enum nsd_err err = NSD_OK;
	size_t i = 0;

	if (entry->zone == STORE_NONE)
		return NSD_E_INEXACT;
	served = store_get(view, entry->zone);
	if (served->serial == list->items[list->count - 1].to)
		return NSD_OK;
	while (i < list->count && list->items[i].from != served->serial)
		i++;
	if (i == list->count)
		return NSD_E_INEXACT;
	for (; err == NSD_OK && i < list->count; i++)
		err = version_apply(v, octets, &list->items[i]);
	return err;
}

enum nsd_err
load_versions_apply(struct load_versions *v, const uint8_t *octets,
	size_t len)
{
	struct versions list = {.items = NULL};
	enum nsd_err err = versions_find(&list, octets, len, v->apex);

	if (err == NSD_OK)
		err = versions_apply(v, octets, &list);
	free(list.items);
	return err;
}
