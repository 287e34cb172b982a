/* load_ways.c - chooses how a zone file, or what a transfer has brought, is
 * read, and reads it so. */
#include "config.h"

#include <stdlib.h>

#include "build/build.h"
#include "load/load_apply.h"
#include "load/load_diff.h"
#include "load/load_findings.h"
#include "load/load_loop.h"
#include "load/load_parts.h"
#include "load/load_room.h"
#include "load/load_stream.h"
#include "load/load_verify.h"
#include "load/load_ways.h"
#include "store/writer.h"

/* From this many records on, a zone is compared with its file. A smaller one is
 * built anew in the same time; but not if others may ask for what differs. */
#define COMPARE_RECORDS 1000u

/* Chooses the way, and sets r->served to the published version. A version that
 * is compared stays: the zone is busy from here on. */
static enum load_way
ways_choose(struct load_reading *r, struct load_age *age, bool large)
{
	const struct load_context *context = r->context;
	struct load_zone *zone = r->zone;
	const struct zone *served;
	bool comparable;

	pthread_mutex_lock(context->busy_lock);
	served = load_zone_published(store_writer_view(context->writer), zone);
	comparable = served != NULL
		&& (served->rr_count >= COMPARE_RECORDS
			|| load_zone_get_history(zone).number > 0);
	*age = (struct load_age){
		.apex = zone->conf->wire,
		.served = served != NULL ? served->serial : 0,
		.wanted = served != NULL && r->text == NULL
			&& load_zone_is_received(
				store_writer_view(context->writer), zone),
	};
	zone->busy = comparable;
	pthread_mutex_unlock(context->busy_lock);
	r->served = served;
	if (comparable && !zone->whole)
		return LOAD_WAY_COMPARE;
	if (!large)
		return LOAD_WAY_WHOLE;
	return served != NULL ? LOAD_WAY_PARTS : LOAD_WAY_STREAM;
}

void
load_ways_on_parse(void *ctx, uint64_t done, uint64_t total)
{
	load_zone_note_progress(ctx, "reading", done, total);
}

static void
ways_tell_no_room(const struct load_reading *r)
{
	char text[LOAD_ROOM_TEXT_MAX];

	load_room_explain(r->context->writer, r->lacks, text);
	diag_emit(r->sink, DIAG_ERROR, NULL, 0, 0, "zone %s: no room: %s",
		r->zone->conf->name, text);
}

static enum nsd_err
ways_build(const struct load_reading *r)
{
	const struct zonefile_result *files = &r->result->files;
	const char **names = zonefile_list_names(files);
	struct zone_build_input input;
	enum nsd_err err = NSD_E_MEMORY;

	if (names != NULL) {
		load_zone_fill_input(r->context, r->zone, files, names,
			&input);
		input.batches = files->batches;
		if (r->options.threads <= 1) {
			input.threads = 1;
			input.on_progress = NULL;
		}
		err = build_zone(&input, r->context->writer, r->heap, r->sink,
			&r->result->built);
	}
	if (err == NSD_E_MEMORY)
		ways_tell_no_room(r);
	free(names);
	return err;
}

/* Builds the zone from all records at once. */
static enum nsd_err
ways_whole(const struct load_reading *r)
{
	struct zonefile_result *files = &r->result->files;
	/* A file that was read to its end before has had its findings told. */
	struct diag_sink *sink = files->source_count > 0 ? NULL : r->sink;
	enum nsd_err err;

	zonefile_result_fini(files);
	if (sink != NULL)
		load_findings_restart(sink);
	err = load_reading_parse(r, &r->options, sink, files);
	for (const struct rrbatch *b = files->batches;
		err == NSD_OK && b != NULL; b = b->next)
		err = load_reading_check_age(r->age, b);
	if (err == NSD_OK)
		err = ways_build(r);
	else if (err == NSD_E_MEMORY)
		ways_tell_no_room(r);
	rrbatch_destroy_all(files->batches);
	files->batches = NULL;
	if (err == NSD_OK)
		r->result->outcome = LOAD_BUILT;
	if (err != NSD_E_DENIED)
		return err;
	r->result->outcome = LOAD_OLDER;
	return NSD_OK;
}

/* Reads without having all records in memory. *way: which one is left when it
 * turns out that the chosen one does not do; else as before. */
static enum nsd_err
ways_lean(const struct load_reading *r, enum load_way *way)
{
	enum load_end end = LOAD_END_DONE;
	enum nsd_err err = NSD_OK;

	if (*way == LOAD_WAY_COMPARE)
		err = load_diff_read(r, &end);
	if (err == NSD_OK && end == LOAD_END_NOT_COMPARED)
		*way = r->plan != NULL ? LOAD_WAY_PARTS : LOAD_WAY_WHOLE;
	if (err == NSD_OK && *way == LOAD_WAY_PARTS)
		err = load_parts_read(r, &end);
	if (err == NSD_OK && *way == LOAD_WAY_STREAM)
		err = load_stream_read(r, &end);
	if (err == NSD_OK && end == LOAD_END_OLDER)
		r->result->outcome = LOAD_OLDER;
	if (err == NSD_OK && (end == LOAD_END_NOT_IN_PARTS
			|| end == LOAD_END_NOT_STREAMED))
		*way = LOAD_WAY_WHOLE;
	if (err == NSD_E_MEMORY)
		ways_tell_no_room(r);
	return err;
}

/* True if the changes that were found are published here, by this thread: they
 * are many, or their version is to be looked at first. */
static bool
ways_applies(const struct load_reading *r)
{
	return r->result->outcome == LOAD_DIFFERS
		&& (r->result->change_count > LOAD_APPLY_AT_ONCE
			|| (r->text != NULL && load_verify_is_wanted(r->zone)));
}

/* Publishes them. If that fails, the zone is to be built anew, which says why:
 * the outcome is LOAD_UNCHANGED then. */
static enum nsd_err
ways_apply(const struct load_reading *r)
{
	struct load_apply_options options = {
		.heap = r->heap,
		.verify = r->text != NULL,
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
	return err == NSD_E_DIGEST ? err : NSD_OK;
}

/* After the changes were found; *way: as of ways_lean. */
static enum nsd_err
ways_publish(const struct load_reading *r, enum load_way *way)
{
	enum nsd_err err;

	if (!ways_applies(r))
		return NSD_OK;
	err = ways_apply(r);
	if (err != NSD_OK || r->result->outcome == LOAD_APPLIED)
		return err;
	*way = r->plan != NULL ? LOAD_WAY_PARTS : LOAD_WAY_WHOLE;
	return ways_lean(r, way);
}

enum nsd_err
load_ways_run(struct load_reading *r, bool large)
{
	struct load_age age;
	enum load_way way = ways_choose(r, &age, large);
	enum nsd_err err;

	r->age = &age;

	/* The plan is made in the same reading as the comparison. */
	if (large && (way == LOAD_WAY_COMPARE || way == LOAD_WAY_PARTS)
		&& parts_plan_create(r->zone->conf->wire, &r->plan) != NSD_OK) {
		ways_tell_no_room(r);
		return NSD_E_MEMORY;
	}
	err = ways_lean(r, &way);
	if (err == NSD_OK)
		err = ways_publish(r, &way);
	parts_plan_destroy(r->plan);
	if (err == NSD_OK && way == LOAD_WAY_WHOLE)
		err = ways_whole(r);
	return err;
}

