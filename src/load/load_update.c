/* load_update.c - changes of a zone that come in a message. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/octets.h"
#include "build/build.h"
#include "dns/name.h"
#include "dns/rdata.h"
#include "dns/rrbatch.h"
#include "dns/rrtype.h"
#include "keep/release.h"
#include "keep/table_edit.h"
#include "load/load_leave.h"
#include "load/load_room.h"
#include "load/load_update.h"
#include "store/writer.h"
#include "update/update.h"
#include "zone/table.h"

#define LEN_MAX (1u << 30)

struct update_file {
	const struct load_context *context;
	const struct load_zone *zones;
	size_t zone_count;
	struct cursor cursor;
	uint8_t kind;
	uint8_t apex[NAME_MAX_LEN];
	struct diag_sink sink;
	struct ipc_updated *result;
	struct load_settle *settle;
};

struct update_record {
	uint8_t action;
	uint8_t owner[NAME_MAX_LEN];
	struct zone_rr rr;
};

static void
update_on_diag(struct diag_sink *sink, const struct diag *d)
{
	log_write(log_diag_level(d), "update: %s", d->text);
}

/* True if the record has the layout of its type: what is packed relies on it.
 * Values that break a rule are the sender's affair. */
static bool
update_check(const struct update_record *record)
{
	const struct zone_rr *rr = &record->rr;
	const char *why;

	if (record->action == LOAD_UPDATE_REMOVE_RRSET)
		return rr->rdlen == 0;
	return !rrtype_is_meta(rr->type)
		&& rdata_check(rr->type, rr->rdata, rr->rdlen, &why)
		!= NSD_E_WIRE;
}

/* Reads the next record. False at the end, or if there is no record: then the
 * cursor has failed. */
static bool
update_read(struct update_file *f, struct update_record *record)
{
	struct cursor *c = &f->cursor;
	size_t len;

	if (c->failed || cursor_left(c) == 0)
		return false;
	record->action = cursor_read_u8(c);
	if (name_read_uncompressed(c, record->owner, &len) != NSD_OK)
		return false;
	name_lower(record->owner);
	record->rr.owner = record->owner;
	record->rr.type = cursor_read_u16(c);
	record->rr.ttl_sec = cursor_read_u32(c);
	record->rr.rdlen = cursor_read_u16(c);
	record->rr.rdata = cursor_read_octets(c, record->rr.rdlen);
	if (!c->failed && !update_check(record))
		c->failed = true;
	return !c->failed;
}

/* ---- a zone that is served ---------------------------------------------- */

/* Returns the zone of the configuration that has this entry, or NULL. */
static const struct load_zone *
update_get_configured(const struct update_file *f, store_ref entry)
{
	const struct zone_entry *e = store_get(
		store_writer_view(f->context->writer), entry);

	return e->id < f->zone_count && f->zones[e->id].entry == entry
		? &f->zones[e->id]
		: NULL;
}

static enum nsd_err
update_find_entry(const struct update_file *f, store_ref *entry)
{
	const struct store_view *view = store_writer_view(f->context->writer);
	const struct load_zone *zone;

	if (table_find_apex(view, f->apex, entry) != NSD_OK)
		return NSD_E_NOT_FOUND;
	zone = update_get_configured(f, *entry);
	/* busy: a thread reads the version that would change. */
	return zone != NULL && zone->busy ? NSD_E_AGAIN : NSD_OK;
}

static enum nsd_err
update_note(struct zone_update *update, const struct update_record *record)
{
	switch (record->action) {
	case LOAD_UPDATE_REMOVE:
		return update_remove(update, &record->rr);
	case LOAD_UPDATE_ADD:
		return update_add(update, &record->rr);
	case LOAD_UPDATE_REMOVE_RRSET:
		return update_remove_rrset(update, record->owner,
			record->rr.type);
	default:
		return NSD_E_WIRE;
	}
}

static enum nsd_err
update_change(struct update_file *f)
{
	struct zone_update_options options = {
		.threads = f->context->threads_max,
		.nsec3_iterations_max = f->context->nsec3_iterations_max,
		.limits = f->context->limits,
	};
	struct zone_update_result result;
	const struct load_zone *zone;
	struct update_record record;
	struct zone_update *update;
	store_ref entry;
	enum nsd_err err = update_find_entry(f, &entry);

	if (err != NSD_OK)
		return err;
	zone = update_get_configured(f, entry);
	options.secondary = zone != NULL && load_zone_is_secondary(zone);
	err = update_begin(f->context->writer, entry, &options, &update);
	if (err != NSD_OK)
		return err;
	while (err == NSD_OK && update_read(f, &record))
		err = update_note(update, &record);
	if (err == NSD_OK && f->cursor.failed)
		err = NSD_E_WIRE;
	if (err != NSD_OK) {
		update_abort(update);
		return err;
	}
	err = update_commit(update, &f->sink, &result);
	if (err == NSD_OK) {
		f->result->added = result.added;
		f->result->removed = result.removed;
		f->result->names = (uint32_t)result.names;
		load_settle_add(f->settle, entry);
	}
	return err;
}

/* ---- a zone that comes or goes ------------------------------------------ */

static enum nsd_err
update_collect(struct update_file *f, struct rrbatch *batch)
{
	struct update_record record;
	enum nsd_err err = NSD_OK;

	while (err == NSD_OK && update_read(f, &record)) {
		struct rrbatch_rr head = {
			.ttl_sec = record.rr.ttl_sec,
			.type = record.rr.type,
			.rdlen = record.rr.rdlen,
		};

		err = record.action != LOAD_UPDATE_ADD
			? NSD_E_WIRE
			: rrbatch_append(batch, &head, record.owner,
				  record.rr.rdata);
	}
	return err == NSD_OK && f->cursor.failed ? NSD_E_WIRE : err;
}

static enum nsd_err
update_build(struct update_file *f, store_ref *zone)
{
	/* In a batch a record takes 16 octets and padding, here 10. */
	struct rrbatch *batch = rrbatch_create(
		cursor_left(&f->cursor) * 2 + 64);
	struct zone_build_input input = {
		.apex = f->apex,
		.batches = batch,
		.threads = 1,
		.nsec3_iterations_max = f->context->nsec3_iterations_max,
		.limits = f->context->limits,
	};
	enum nsd_err err = batch != NULL ? update_collect(f, batch)
					 : NSD_E_MEMORY;

	if (err == NSD_OK)
		err = build_zone(&input, f->context->writer,
			store_writer_heap(f->context->writer), &f->sink, zone);
	if (err == NSD_OK)
		f->result->added = batch->count;
	rrbatch_destroy(batch);
	return err;
}

static enum nsd_err
update_add_zone(struct update_file *f)
{
	struct store_writer *writer = f->context->writer;
	struct zone_setup setup = {
		.apex = f->apex,
		.id = UINT32_MAX,
		.flags = ZONE_ENTRY_ADDED,
	};
	store_ref zone, entry;
	enum nsd_err err = update_build(f, &zone);

	if (err != NSD_OK)
		return err;
	err = table_add(writer, &setup, 1, &entry);
	if (err == NSD_OK)
		table_set_zone(writer, entry, zone);
	else
		release_zone(store_writer_heap(writer), zone);
	return err;
}

/* Only a zone that a message has added can go. */
static enum nsd_err
update_remove_zone(struct update_file *f)
{
	const struct store_view *view = store_writer_view(f->context->writer);
	store_ref entry, zone;
	enum nsd_err err;

	if (cursor_left(&f->cursor) > 0)
		return NSD_E_WIRE;
	if (table_find_apex(view, f->apex, &entry) != NSD_OK)
		return NSD_E_NOT_FOUND;
	if (update_get_configured(f, entry) != NULL)
		return NSD_E_DENIED;
	load_settle_remove(f->settle, entry);
	err = table_take(f->context->writer, f->apex, &zone);
	if (err == NSD_OK)
		load_leave_add(f->context->leave, f->context->writer, zone);
	return err;
}

/* ---- the file ----------------------------------------------------------- */

static enum nsd_err
update_read_head(struct cursor *c, uint8_t *kind, uint8_t *apex)
{
	size_t apex_len;

	*kind = cursor_read_u8(c);
	if (name_read_uncompressed(c, apex, &apex_len) != NSD_OK)
		return NSD_E_WIRE;
	name_lower(apex);
	return NSD_OK;
}

enum nsd_err
load_update_get_apex(const uint8_t *data, uint64_t len, uint8_t *apex)
{
	struct cursor cursor;
	uint8_t kind;

	cursor_init(&cursor, data, len);
	return update_read_head(&cursor, &kind, apex);
}

bool
load_update_was_done(const struct load_context *context, const uint8_t *data,
	uint64_t len)
{
	const struct store_view *view = store_writer_view(context->writer);
	uint8_t kind, apex[NAME_MAX_LEN];
	const struct zone_entry *entry;
	struct cursor cursor;
	store_ref ref;

	cursor_init(&cursor, data, len);
	if (update_read_head(&cursor, &kind, apex) != NSD_OK)
		return false;
	if (table_find_apex(view, apex, &ref) != NSD_OK)
		return kind == LOAD_UPDATE_REMOVE_ZONE;
	entry = store_get(view, ref);
	return kind == LOAD_UPDATE_ADD_ZONE
		&& (entry->flags & ZONE_ENTRY_ADDED) != 0;
}

static enum nsd_err
update_run(struct update_file *f, const uint8_t *data, size_t len)
{
	cursor_init(&f->cursor, data, len);
	if (update_read_head(&f->cursor, &f->kind, f->apex) != NSD_OK)
		return NSD_E_WIRE;
	switch (f->kind) {
	case LOAD_UPDATE_CHANGE:
		return update_change(f);
	case LOAD_UPDATE_ADD_ZONE:
		return update_add_zone(f);
	case LOAD_UPDATE_REMOVE_ZONE:
		return update_remove_zone(f);
	default:
		return NSD_E_WIRE;
	}
}

static void
update_tell_no_room(const struct update_file *f, uint32_t lacks)
{
	char text[LOAD_ROOM_TEXT_MAX], name[NAME_TEXT_MAX];

	load_room_explain(f->context->writer, lacks, text);
	name_print_text(f->apex, name);
	log_error("update: zone %s: no room: %s", name, text);
}

enum nsd_err
load_update_read(int fd, uint64_t len, uint8_t **data)
{
	uint64_t at = 0;

	if (len > LEN_MAX)
		return NSD_E_LIMIT;
	*data = malloc(len + 1);
	if (*data == NULL)
		return NSD_E_MEMORY;
	while (at < len) {
		ssize_t n = pread(fd, *data + at, len - at, (off_t)at);

		if (n <= 0) {
			free(*data);
			return NSD_E_SYSTEM;
		}
		at += (uint64_t)n;
	}
	return NSD_OK;
}

void
load_update_apply(const struct load_context *context,
	const struct load_zone *zones, size_t zone_count,
	struct load_settle *settle, const uint8_t *data, uint64_t len,
	struct ipc_updated *result)
{
	struct update_file f = {
		.context = context,
		.zones = zones,
		.zone_count = zone_count,
		.sink = {.on_diag = update_on_diag},
		.result = result,
		.settle = settle,
	};

	uint32_t lacks = store_count_lacks(context->writer);

	/* No thread begins to read the zone's version meanwhile. */
	pthread_mutex_lock(context->busy_lock);
	result->err = update_run(&f, data, len);
	pthread_mutex_unlock(context->busy_lock);
	if (result->err == NSD_E_MEMORY)
		update_tell_no_room(&f, lacks);
}
