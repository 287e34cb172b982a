/* load_parts.c - reads a zone file in several readings, each for the names of
 * one range. */
#include "config.h"

#include <malloc.h>
#include <stdlib.h>

#include "load/load_diff.h"
#include "load/load_parts.h"

/* Large ones would be most of the memory that the last readings take. */
#define PIECE_SIZE ((size_t)256 << 10)

static enum nsd_err
load_parts_on_plan(void *ctx, const struct rrbatch *batch)
{
	zone_plan_add(ctx, batch);
	return NSD_OK;
}

static enum nsd_err
load_parts_on_batch(void *ctx, const struct rrbatch *batch)
{
	return zone_parts_take(ctx, batch);
}

static bool
load_parts_wants(const void *ctx, const uint8_t *owner, size_t len)
{
	return zone_parts_wants(ctx, owner, len);
}

/* One more reading. What is to be said was said in the first. */
static enum nsd_err
load_parts_read_range(struct zone_parts *parts, const char *path,
	struct zonefile_options options, const struct load_result *result)
{
	struct zonefile_result again;
	enum nsd_err err;

	options.on_batch = load_parts_on_batch;
	options.batch_ctx = parts;
	options.wants_owner = load_parts_wants;
	options.wants_ctx = parts;
	options.on_progress = NULL;
	options.piece_size = PIECE_SIZE;
	err = zonefile_parse(path, &options, NULL, &again);
	if ((err == NSD_OK || err == NSD_E_SYNTAX)
		&& !load_sources_are_equal(&result->files, &again))
		err = NSD_E_AGAIN;
	zonefile_result_fini(&again);
	/* What the parser has freed would be kept for the next reading. */
	malloc_trim(0);
	return err == NSD_OK ? zone_parts_pack(parts) : err;
}

/* What has no size may be a pipe, which gives its contents once. */
static bool
sources_can_be_read_again(const struct zonefile_result *files)
{
	for (size_t i = 0; i < files->source_count; i++)
		if (files->sources[i].size == 0)
			return false;
	return true;
}

static enum nsd_err
load_parts_build(const struct load_context *context,
	const struct zone_build_input *input, const char *path,
	const struct zonefile_options *options, const struct zone_plan *plan,
	struct store_heap *heap, struct diag_sink *sink,
	struct load_result *result)
{
	struct zone_parts *parts;
	enum nsd_err err = zone_parts_begin(input, plan, 0, context->writer,
		heap, &parts);

	if (err != NSD_OK)
		return err;
	while (err == NSD_OK && zone_parts_next(parts))
		err = load_parts_read_range(parts, path, *options, result);
	if (err != NSD_OK) {
		zone_parts_abandon(parts);
		return err;
	}
	return zone_parts_finish(parts, sink, &result->built);
}

enum nsd_err
load_parts_read(const struct load_context *context,
	const struct load_zone *zone, const char *path,
	const struct zonefile_options *options, struct zone_plan *plan,
	struct store_heap *heap, struct diag_sink *sink,
	struct load_result *result)
{
	struct zonefile_options first = *options;
	struct zone_build_input input;
	const char **names;
	enum nsd_err err;

	if (result->files.source_count == 0) {
		zone_plan_reset(plan);
		first.on_batch = load_parts_on_plan;
		first.batch_ctx = plan;
		err = zonefile_parse(path, &first, sink, &result->files);
		if (err != NSD_OK)
			return err;
	}
	if (!sources_can_be_read_again(&result->files))
		return NSD_E_LIMIT;
	names = calloc(result->files.source_count + 1, sizeof(*names));
	if (names == NULL)
		return NSD_E_MEMORY;
	load_zone_fill_input(context, zone, &result->files, names, &input);
	err = load_parts_build(context, &input, path, options, plan, heap,
		sink, result);
	free(names);
	if (err == NSD_OK)
		result->outcome = LOAD_BUILT;
	return err;
}
