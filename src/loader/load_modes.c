/* load_modes.c - chooses how a zone file, or the text of a transfer, is read,
 * and reads it so. */
#include "config.h"

#include <stdlib.h>

#include "compile/build.h"
#include "loader/load_apply.h"
#include "loader/load_change.h"
#include "loader/load_diff.h"
#include "loader/load_loop.h"
#include "loader/load_modes.h"
#include "loader/load_room.h"
#include "loader/load_stream.h"
#include "loader/load_verify.h"
#include "store/writer.h"

/* From this many records on, a zone is compared with its file. A smaller one is
 * built anew in the same time; but not if other secondaries may ask for the
 * differences. */
#define COMPARE_RECORDS 1000u

/* Sets the conditions for the file of a zone that takes updates. At a start a
 * newer file counts. */
static void
modes_guard(const struct load_context *context, const struct load_zone *zone,
	bool is_served, struct load_age *age)
{
	if (!load_zone_takes_updates(zone) || (!is_served && !zone->is_behind))
		return;
	age->wanted = true;
	age->guards = true;
	age->is_behind = zone->is_behind;
	if (zone->is_behind)
		age->served = zone->lacks;
	else
		age->is_updated = context->beside_answers
			&& load_zone_is_updated(
				store_writer_view(context->writer), zone);
}

/* Sets r->served to the published version, and *age. Returns whether the file
 * is to be compared with that version, which stays then: the zone is busy from
 * here on. */
static bool
modes_look(struct load_reading *r, struct load_age *age)
{
	const struct load_context *context = r->context;
	const struct store_view *view = store_writer_view(context->writer);
	struct load_zone *zone = r->zone;
	const struct zone *served;
	bool comparable;

	pthread_mutex_lock(context->busy_lock);
	served = load_zone_published(view, zone);
	comparable = served != NULL
		&& (served->rr_count >= COMPARE_RECORDS
			|| load_zone_get_history(zone).number > 0);
	*age = (struct load_age){
		.apex = zone->conf->wire,
		.served = served != NULL ? served->serial : 0,
		.wanted = served != NULL && r->text == NULL
			&& load_zone_is_received(view, zone),
		.sink = r->sink,
		.name = zone->conf->name,
		.path = r->path,
	};
	if (r->text == NULL)
		modes_guard(context, zone, served != NULL, age);
	zone->busy = comparable || (served != NULL && r->text != NULL
		&& load_change_is_wanted(zone));
	pthread_mutex_unlock(context->busy_lock);
	r->served = served;
	r->age = age;
	return comparable && !zone->whole;
}

void
load_modes_on_parse(void *ctx, uint64_t done, uint64_t total)
{
	load_zone_note_progress(ctx, "reading", done, total);
}

static void
modes_tell_no_room(const struct load_reading *r)
{
	char text[LOAD_ROOM_TEXT_MAX];

	load_room_explain(r->context->writer, r->lacks, text);
	diag_emit(r->sink, DIAG_ERROR, NULL, 0, 0, "zone %s: no room: %s",
		r->zone->conf->name, text);
}

static enum nsd_err
modes_build(const struct load_reading *r)
{
	const struct zonefile_result *files = &r->result->files;
	const char **names = zonefile_list_names(files);
	struct zone_build_input input;
	enum nsd_err err;

	if (names == NULL)
		return NSD_E_MEMORY;
	load_zone_fill_input(r->context, r->zone, files, names, &input);
	input.batches = files->batches;
	if (r->options.threads <= 1) {
		input.threads = 1;
		input.on_progress = NULL;
	}
	err = build_zone(&input, r->context->writer, r->heap, r->sink,
		&r->result->built);
	free(names);
	return err;
}

/* Builds the zone from all records at once. */
static enum nsd_err
modes_whole(const struct load_reading *r)
{
	struct zonefile_result *files = &r->result->files;
	enum nsd_err err = load_reading_parse_anew(r, &r->options);

	for (const struct rrbatch *b = files->batches;
		err == NSD_OK && b != NULL; b = b->next)
		err = load_reading_check_age(r->age, b);
	if (err == NSD_OK)
		err = modes_build(r);
	rrbatch_destroy_all(files->batches);
	files->batches = NULL;
	if (err == NSD_OK)
		r->result->outcome = LOAD_BUILT;
	return err;
}

/* True if this thread publishes the changes that were found: they are many, or
 * their version is to be verified first. */
static bool
modes_applies(const struct load_reading *r)
{
	return r->result->change_count > 0
		&& (r->result->change_count > LOAD_APPLY_AT_ONCE
			|| r->context->awaits
			|| (r->text != NULL ? load_verify_is_wanted(r->zone)
				: r->zone->conf->options->zonemd_verify));
}

/* Publishes the changes. NSD_E_LIMIT: that failed, and the zone is to be built
 * anew, which says why. */
static enum nsd_err
modes_apply(const struct load_reading *r)
{
	struct load_apply_options options = {
		.heap = r->heap,
		.verify = r->text != NULL,
		.sink = r->sink,
		.path = r->text == NULL ? r->path : NULL,
		.accepted = r->text != NULL ? r->text->accepted
			: r->zone->accepts ? IPC_CHECK_ALL : 0,
		.refusal = r->refusal,
	};
	struct load_result *result = r->result;
	enum nsd_err err;

	if (r->text != NULL)
		options.limits = r->context->limits;
	result->old_serial = r->served->serial;
	load_loop_begin_edit(r->context->loop);
	err = load_apply_diff(r->context, result, &options, &result->done);
	load_loop_end_edit(r->context->loop);
	if (err == NSD_OK) {
		result->outcome = LOAD_APPLIED;
		return NSD_OK;
	}
	diff_destroy(result->diff);
	result->diff = NULL;
	result->change_count = 0;
	result->outcome = LOAD_UNCHANGED;
	return load_refusal_is(err) || err == NSD_E_PEER ? err : NSD_E_LIMIT;
}

/* Finds the differences to the served version, and publishes them if they are
 * many. */
static enum nsd_err
modes_compare(const struct load_reading *r)
{
	struct load_result *result = r->result;
	enum nsd_err err = load_diff_read(r);

	if (err == NSD_OK && result->change_count > 0 && r->age->guards
		&& r->age->is_same) {
		diff_destroy(result->diff);
		result->diff = NULL;
		result->change_count = 0;
		return load_reading_refuse_same(r->age);
	}
	return err == NSD_OK && modes_applies(r) ? modes_apply(r) : err;
}

/* Reads it in one mode after the other. */
static enum nsd_err
modes_try(struct load_reading *r, bool compare)
{
	enum nsd_err err = compare ? modes_compare(r) : NSD_E_LIMIT;

	/* A file that cannot be compared differs. */
	if (err == NSD_E_LIMIT && r->age->guards && r->age->is_same)
		return load_reading_refuse_same(r->age);
	if (err == NSD_E_LIMIT && r->large)
		err = load_stream_read(r);
	if (err == NSD_E_LIMIT)
		err = modes_whole(r);
	return err;
}

/* Tries one mode after the other. NSD_E_LIMIT of a mode: it does not suit the
 * zone, and the next one has its turn. NSD_E_DENIED: the file is older than
 * what is served, which stays; or is refused. */
enum nsd_err
load_modes_run(struct load_reading *r)
{
	struct load_age age;
	enum nsd_err err = modes_try(r, modes_look(r, &age));

	if (err == NSD_E_MEMORY)
		modes_tell_no_room(r);
	if (err == NSD_E_DENIED && age.is_refused)
		return NSD_E_ZONE;
	if (err != NSD_E_DENIED)
		return err;
	r->result->outcome = LOAD_KEPT;
	return NSD_OK;
}
