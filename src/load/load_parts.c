/* load_parts.c - reads a zone file in several readings, each for the names of
 * one range. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/platform.h"
#include "load/load_files.h"
#include "load/load_findings.h"
#include "load/load_parts.h"

/* Octets of the file in one piece. Larger pieces would be most of the memory
 * that the last readings take. */
#define PIECE_SIZE ((size_t)256 << 10)

static enum nsd_err
load_parts_on_plan(void *ctx, const struct rrbatch *batch)
{
	const struct load_reading *r = ctx;

	parts_plan_add(r->plan, batch);
	return load_reading_check_age(r->age, batch);
}

static enum nsd_err
load_parts_on_batch(void *ctx, const struct rrbatch *batch)
{
	return parts_take(ctx, batch);
}

static bool
load_parts_wants(const void *ctx, const uint8_t *owner, size_t len)
{
	return parts_wants(ctx, owner, len);
}

/* One more reading. The first one has told all findings. */
static enum nsd_err
load_parts_read_range(const struct load_reading *r, struct zone_parts *parts)
{
	struct zonefile_options options = r->options;
	struct zonefile_result again;
	enum nsd_err err;

	options.on_batch = load_parts_on_batch;
	options.batch_ctx = parts;
	options.wants_owner = load_parts_wants;
	options.wants_ctx = parts;
	options.on_progress = NULL;
	options.piece_size = PIECE_SIZE;
	err = load_reading_parse(r, &options, NULL, &again);
	if ((err == NSD_OK || err == NSD_E_SYNTAX)
		&& !load_files_are_equal(&r->result->files, &again))
		err = NSD_E_AGAIN;
	zonefile_result_fini(&again);
	/* Else malloc would keep what the parser has freed. */
	platform_heap_trim();
	return err == NSD_OK ? parts_pack(parts) : err;
}

static enum nsd_err
load_parts_build(const struct load_reading *r,
	const struct zone_build_input *input)
{
	struct zone_parts *parts;
	enum nsd_err err = parts_begin(input, r->plan, 0,
		r->context->writer, r->heap, &parts);

	if (err != NSD_OK)
		return err;
	while (err == NSD_OK && parts_next(parts))
		err = load_parts_read_range(r, parts);
	if (err != NSD_OK) {
		parts_abandon(parts);
		return err;
	}
	return parts_finish(parts, r->sink, &r->result->built);
}

/* A first reading, for the plan alone. */
static enum nsd_err
load_parts_plan(const struct load_reading *r)
{
	struct zonefile_options options = r->options;

	parts_plan_reset(r->plan);
	load_findings_restart(r->sink);
	options.on_batch = load_parts_on_plan;
	options.batch_ctx = (void *)(uintptr_t)r;
	return load_reading_parse(r, &options, r->sink, &r->result->files);
}

static enum nsd_err
load_parts_read_all(const struct load_reading *r, enum load_end *end)
{
	const struct zonefile_result *files = &r->result->files;
	struct zone_build_input input;
	const char **names;
	enum nsd_err err;

	if (files->source_count == 0 && (err = load_parts_plan(r)) != NSD_OK)
		return err;
	if (!load_files_are_rereadable(files))
		return NSD_OK;
	names = zonefile_list_names(files);
	if (names == NULL)
		return NSD_E_MEMORY;
	load_zone_fill_input(r->context, r->zone, files, names, &input);
	err = load_parts_build(r, &input);
	free(names);
	if (err != NSD_OK)
		return err;
	*end = LOAD_END_DONE;
	r->result->outcome = LOAD_BUILT;
	return NSD_OK;
}

enum nsd_err
load_parts_read(const struct load_reading *r, enum load_end *end)
{
	enum nsd_err err;

	assert(r->plan != NULL);
	*end = LOAD_END_NOT_IN_PARTS;
	err = load_parts_read_all(r, end);
	if (err == NSD_E_DENIED) {
		*end = LOAD_END_OLDER;
		return NSD_OK;
	}
	/* Some see only in a range that the zone is not one for parts. */
	return err == NSD_E_LIMIT ? NSD_OK : err;
}
