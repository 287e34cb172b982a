/* load_update.c - changes of a zone that come in a message. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/octets.h"
#include "dns/name.h"
#include "loader/load_expiry.h"
#include "loader/load_records.h"
#include "loader/load_refusal.h"
#include "loader/load_room.h"
#include "loader/load_update.h"
#include "loader/load_verify.h"
#include "loader/load_versions.h"
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
	uint32_t accepted;
	struct diag_sink sink;
	struct ipc_updated *result;
	struct load_settle *settle;
};

static void
update_on_diag(struct diag_sink *sink, const struct diag *d)
{
	log_write(log_diag_level(d), "update: %s", d->text);
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
	/* A thread reads the version that would change, or one that takes its
	 * place. */
	return zone != NULL && (zone->busy || zone->transfer != NULL)
		? NSD_E_AGAIN : NSD_OK;
}

static enum nsd_err
load_note_update(struct zone_update *update, const struct load_record *record)
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
	struct load_record record;
	struct zone_update *update;
	store_ref entry;
	enum nsd_err err = update_find_entry(f, &entry);

	if (err != NSD_OK)
		return err;
	zone = update_get_configured(f, entry);
	options.secondary = zone != NULL && load_zone_is_lenient(zone);
	err = update_begin(f->context->writer, entry, &options, &update);
	if (err != NSD_OK)
		return err;
	while (err == NSD_OK && load_records_next(&f->cursor, &record))
		err = load_note_update(update, &record);
	if (err == NSD_OK && f->cursor.failed)
		err = NSD_E_WIRE;
	if (err != NSD_OK) {
		update_abort(update);
		return err;
	}
	history_clear(f->context->writer, entry);
	err = update_commit(update, &f->sink, &result);
	if (err == NSD_OK) {
		f->result->added = result.added;
		f->result->removed = result.removed;
		f->result->names = (uint32_t)result.names;
		load_settle_add(f->settle, entry);
	}
	return err;
}

/* Differences are for zones of the configuration alone. */
static enum nsd_err
update_apply_versions(struct update_file *f)
{
	struct load_refusal refusal = {.check = 0};
	struct load_versions v = {
		.context = f->context,
		.accepted = f->accepted,
		.refusal = &refusal,
		.sink = &f->sink,
	};
	const struct load_zone *zone;
	enum nsd_err err = update_find_entry(f, &v.entry);

	if (err != NSD_OK)
		return err;
	zone = update_get_configured(f, v.entry);
	if (zone == NULL)
		return NSD_E_NOT_FOUND;
	v.secondary = load_zone_is_lenient(zone);
	v.history = load_zone_get_history(zone);
	v.verify = zone;
	v.verify_records_max = LOAD_VERIFY_AT_ONCE;
	v.names_max = LOAD_UPDATE_NAMES_AT_ONCE;
	err = load_versions_apply(&v,
		&(struct load_octets){f->cursor.start,
			(size_t)(f->cursor.end - f->cursor.start)}, 1);
	f->result->added = v.done.added;
	f->result->removed = v.done.removed;
	f->result->names = (uint32_t)v.done.names;
	load_settle_add(f->settle, v.entry);
	load_refusal_tell(&refusal, f->result);
	if (err == NSD_OK)
		load_expiry_end(f->context, v.entry);
	return err;
}

/* ---- the file ----------------------------------------------------------- */

/* Reads kind and apex (in lower case; room for NAME_MAX_LEN octets) of the
 * octets of a message. NSD_E_WIRE: it has none; NSD_E_SYSTEM: it cannot be
 * read. */
static enum nsd_err
update_read_head(const struct load_text *text, uint8_t *kind,
	uint8_t *apex)
{
	uint8_t head[LOAD_HEAD_MAX];
	size_t len = text->len < sizeof(head) ? (size_t)text->len
					      : sizeof(head);
	struct cursor cursor;
	enum nsd_err err = load_text_copy(text, head, len);

	if (err != NSD_OK)
		return err;
	cursor_init(&cursor, head, len);
	return load_records_read_head(&cursor, kind, apex);
}

/* Reads the serial of a whole zone, in its first record. False: it has none. */
static bool
update_peek_serial(const struct load_text *text, uint8_t *apex,
	uint32_t *serial)
{
	static const size_t most = CHANGES_HEAD_MAX + CHANGES_RECORD_MAX;
	size_t len = text->len < most ? (size_t)text->len : most;
	uint8_t *data = malloc(len + 1);
	struct changes changes;
	struct changes_rr rr;
	bool found;

	if (data == NULL)
		return false;
	found = load_text_copy(text, data, len) == NSD_OK
		&& changes_open(&changes, data, len) == NSD_OK
		&& changes_read(&changes, &rr) == NSD_OK
		&& rr.part == CHANGES_NEW_SOA;
	if (found) {
		memcpy(apex, changes.apex, changes.apex_len);
		*serial = rr.serial;
	}
	free(data);
	return found;
}

bool
load_update_is_past(const struct load_context *context,
	const struct load_text *text)
{
	struct ipc_updated served;
	uint8_t apex[NAME_MAX_LEN];
	uint32_t serial;

	if (!update_peek_serial(text, apex, &serial))
		return false;
	load_update_fill(context, apex, &served);
	/* RFC 1982 section 3.2 */
	return served.loaded != 0 && (int32_t)(served.serial - serial) > 0;
}

static enum nsd_err
load_run_update(struct update_file *f, const uint8_t *data, size_t len)
{
	cursor_init(&f->cursor, data, len);
	if (load_records_read_head(&f->cursor, &f->kind, f->apex) != NSD_OK)
		return NSD_E_WIRE;
	switch (f->kind) {
	case LOAD_UPDATE_CHANGE:
		return update_change(f);
	case LOAD_UPDATE_DIFFS:
		return update_apply_versions(f);
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
load_update_read(const struct load_text *text, uint64_t max, uint8_t **data)
{
	enum nsd_err err;

	if (text->len > max)
		return NSD_E_LIMIT;
	*data = malloc(text->len + 1);
	if (*data == NULL)
		return NSD_E_MEMORY;
	err = load_text_copy(text, *data, text->len);
	if (err != NSD_OK) {
		free(*data);
		*data = NULL;
	}
	return err;
}

uint64_t
load_update_served_max(const struct store_view *view, store_ref entry)
{
	store_ref served = entry == STORE_NONE ? STORE_NONE
		: ((const struct zone_entry *)store_get(view, entry))->zone;

	return load_update_diffs_max(served == STORE_NONE ? 0
		: ((const struct zone *)store_get(view, served))->rr_count);
}

/* The same, of a name that may be no zone's. */
static uint64_t
update_apex_max(const struct store_view *view, const uint8_t *apex)
{
	store_ref entry;

	if (table_find_apex(view, apex, &entry) != NSD_OK)
		entry = STORE_NONE;
	return load_update_served_max(view, entry);
}

/* Takes all octets into memory, and reads there what they are: their sender may
 * have changed the file since it was looked at. */
static enum nsd_err
update_take_octets(const struct load_text *text, struct load_change *change,
	uint8_t *apex)
{
	struct load_text copy = {.fd = -1, .len = text->len};
	enum nsd_err err = load_update_read(text, LEN_MAX, &change->data);

	if (err != NSD_OK)
		return err;
	change->len = text->len;
	copy.data = change->data;
	err = update_read_head(&copy, &change->kind, apex);
	if (err == NSD_OK && change->kind == LOAD_UPDATE_WHOLE)
		change->text = copy;
	return err;
}

enum nsd_err
load_update_take(const struct store_view *view, const struct load_text *text,
	struct load_change *change, uint8_t *apex)
{
	uint8_t kind;
	enum nsd_err err;

	if (text->len <= LOAD_UPDATE_AT_ONCE)
		return update_take_octets(text, change, apex);
	err = update_read_head(text, &kind, apex);
	if (err != NSD_OK)
		return err;
	if (kind == LOAD_UPDATE_DIFFS
		&& text->len > update_apex_max(view, apex))
		return NSD_E_LIMIT;
	if (kind < LOAD_UPDATE_WHOLE) {
		err = update_take_octets(text, change, apex);
		return err == NSD_OK && change->kind != kind ? NSD_E_WIRE
							     : err;
	}
	/* A later reader of the file looks at the kind again. */
	change->kind = kind;
	change->text = *text;
	change->text.is_diffs = kind == LOAD_UPDATE_DIFFS;
	change->text.fd = fcntl(text->fd, F_DUPFD_CLOEXEC, 0);
	return change->text.fd != -1 ? NSD_OK : NSD_E_SYSTEM;
}

void
load_update_fill(const struct load_context *context, const uint8_t *apex,
	struct ipc_updated *result)
{
	const struct store_view *view = store_writer_view(context->writer);
	const struct zone_entry *entry;
	const struct zone *zone;
	store_ref ref;

	result->loaded = 0;
	result->serial = 0;
	if (table_find_apex(view, apex, &ref) != NSD_OK)
		return;
	entry = store_get(view, ref);
	if (entry->zone == STORE_NONE)
		return;
	zone = store_get(view, entry->zone);
	result->loaded = 1;
	result->serial = zone->serial;
}

void
load_update_apply(const struct load_context *context,
	const struct load_zone *zones, size_t zone_count,
	struct load_settle *settle, const struct load_change *change,
	struct ipc_updated *result)
{
	struct update_file f = {
		.context = context,
		.zones = zones,
		.zone_count = zone_count,
		.accepted = change->text.accepted,
		.sink = {.on_diag = update_on_diag},
		.result = result,
		.settle = settle,
	};

	uint32_t lacks = store_count_lacks(context->writer);

	/* No thread begins to read the zone's version meanwhile. */
	pthread_mutex_lock(context->busy_lock);
	result->err = load_run_update(&f, change->data, change->len);
	pthread_mutex_unlock(context->busy_lock);
	if (result->err == NSD_E_MEMORY)
		update_tell_no_room(&f, lacks);
}
