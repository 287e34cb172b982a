/* load_diff.c - reads a zone file beside the version that is served. */
#include "config.h"

#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "load/load_diff.h"
#include "store/writer.h"

/* A smaller zone is built anew: that takes no longer than to compare it. */
#define RECORDS_MIN 1000u
/* What may be collected, as a share of the zone: its store has some 32 octets
 * for each record, and the whole is not to take more than 1.3 times that. */
#define MEMORY_PER_RECORD 4u
#define MEMORY_LEAST (1u << 20)

/* Who takes what the first reading gives. */
struct first_reading {
	struct diff *diff;
	struct zone_plan *plan; /* or NULL */
};

static enum nsd_err
load_diff_on_sum(void *ctx, const struct rrbatch *batch)
{
	const struct first_reading *first = ctx;

	if (first->plan != NULL)
		zone_plan_add(first->plan, batch);
	return diff_sum(first->diff, batch);
}

static enum nsd_err
load_diff_on_collect(void *ctx, const struct rrbatch *batch)
{
	return diff_collect(ctx, batch);
}

bool
load_sources_are_equal(const struct zonefile_result *a,
	const struct zonefile_result *b)
{
	if (a->source_count != b->source_count)
		return false;
	for (size_t i = 0; i < a->source_count; i++) {
		const struct zonefile_source *x = &a->sources[i];
		const struct zonefile_source *y = &b->sources[i];

		if (strcmp(x->path, y->path) != 0 || x->size != y->size
			|| x->inode != y->inode || x->device != y->device
			|| x->mtime.tv_sec != y->mtime.tv_sec
			|| x->mtime.tv_nsec != y->mtime.tv_nsec
			|| x->ctime.tv_sec != y->ctime.tv_sec
			|| x->ctime.tv_nsec != y->ctime.tv_nsec)
			return false;
	}
	return true;
}

/* The second reading. What is to be said was said in the first. */
static enum nsd_err
load_diff_collect(struct diff *diff, const char *path,
	struct zonefile_options options, struct load_result *result)
{
	struct zonefile_result again;
	enum nsd_err err;

	options.on_batch = load_diff_on_collect;
	options.batch_ctx = diff;
	err = zonefile_parse(path, &options, NULL, &again);
	if (err == NSD_OK && !load_sources_are_equal(&result->files, &again))
		err = NSD_E_AGAIN;
	zonefile_result_fini(&again);
	if (err == NSD_OK)
		err = diff_finish(diff, &result->changes,
			&result->change_count);
	return err;
}

static enum nsd_err
load_diff_run(struct diff *diff, const char *path,
	struct zonefile_options options, struct zone_plan *plan,
	struct diag_sink *sink, struct load_result *result)
{
	struct first_reading first = {diff, plan};
	enum nsd_err err;
	bool equal;

	options.on_batch = load_diff_on_sum;
	options.batch_ctx = &first;
	err = zonefile_parse(path, &options, sink, &result->files);
	if (err == NSD_E_ZONE) /* not read to the end */
		zonefile_result_fini(&result->files);
	if (err == NSD_OK)
		err = diff_compare(diff, &equal);
	if (err == NSD_OK && !equal)
		err = load_diff_collect(diff, path, options, result);
	/* What the build has something to say to, with file and line. */
	return err == NSD_E_ZONE ? NSD_E_LIMIT : err;
}

enum nsd_err
load_diff_read(const struct load_context *context, struct load_zone *zone,
	const char *path, const struct zonefile_options *options,
	struct zone_plan *plan, struct diag_sink *sink,
	struct load_result *result)
{
	const struct store_view *view = store_writer_view(context->writer);
	const struct zone *served;
	struct diff *diff;
	uint64_t key[2];
	enum nsd_err err;

	pthread_mutex_lock(context->busy_lock);
	served = load_zone_published(view, zone);
	if (served != NULL && served->rr_count < RECORDS_MIN)
		served = NULL;
	zone->busy = served != NULL;
	pthread_mutex_unlock(context->busy_lock);
	if (!zone->busy || zone->whole
		|| getrandom(key, sizeof(key), 0) != sizeof(key)
		|| diff_create(view, served, zone->conf->wire, key,
			   served->rr_count * MEMORY_PER_RECORD + MEMORY_LEAST,
			   &diff)
			!= NSD_OK)
		return NSD_E_LIMIT;
	err = load_diff_run(diff, path, *options, plan, sink, result);
	if (err != NSD_OK) {
		diff_destroy(diff);
		return err;
	}
	result->outcome = result->change_count > 0 ? LOAD_DIFFERS : LOAD_SAME;
	result->diff = diff;
	return NSD_OK;
}

enum nsd_err
load_diff_apply(const struct load_context *context,
	const struct load_result *result, struct zone_update_result *done)
{
	struct zone_update_options options = {
		.threads = context->threads_max,
		.secondary = load_zone_is_secondary(result->zone),
		.nsec3_iterations_max = context->nsec3_iterations_max,
	};
	struct diag_sink sink = {.on_diag = NULL};
	struct zone_update *update;
	enum nsd_err err = zone_update_begin(context->writer,
		result->zone->entry, &options, &update);

	if (err != NSD_OK)
		return err;
	for (size_t i = 0; i < result->change_count && err == NSD_OK; i++) {
		const struct diff_change *change = &result->changes[i];

		err = change->add ? zone_update_add(update, &change->rr)
				  : zone_update_remove(update, &change->rr);
	}
	if (err != NSD_OK) {
		zone_update_abort(update);
		return err;
	}
	return zone_update_commit(update, &sink, done);
}
