/* load_rehash.c - builds the served version of a zone once more, from its own
 * records, when another limit of NSEC3 iterations is configured. */
#include "config.h"

#include <assert.h>

#include "base/log.h"
#include "compile/build.h"
#include "compile/stream.h"
#include "dns/name.h"
#include "dns/rrbatch.h"
#include "loader/load_rehash.h"
#include "store/writer.h"
#include "zone/nsec3.h"
#include "zone/walk.h"

/* From this many records on, several threads are used and the zone is built
 * while it is walked: all its records at once would take more memory than the
 * zone itself. */
#define LARGE_RECORDS 100000u
#define BATCH_ROOM ((size_t)256 << 10)

/* For findings of the build. They have no place in a file. */
struct rehash_sink {
	struct diag_sink sink; /* first */
	const struct load_zone *zone;
};

/* A walk of the zone, a batch of records at a time. */
struct rehash {
	const struct store_view *view;
	const struct zone *served;
	const uint8_t *apex;
	struct rrbatch *batch;        /* at hand, or NULL */
	struct rrbatch *first, **end; /* a list, if there is no stream */
	struct zone_stream *stream;   /* or NULL */
};

/* ---- walking ------------------------------------------------------------- */

static enum nsd_err
rehash_flush(struct rehash *r)
{
	struct rrbatch *batch = r->batch;

	r->batch = NULL;
	if (batch == NULL)
		return NSD_OK;
	if (r->stream != NULL)
		return stream_take(r->stream, batch);
	*r->end = batch;
	r->end = &batch->next;
	return NSD_OK;
}

static enum nsd_err
rehash_make_room(struct rehash *r, size_t size)
{
	enum nsd_err err;

	if (r->batch != NULL && r->batch->capacity - r->batch->len >= size)
		return NSD_OK;
	err = rehash_flush(r);
	if (err == NSD_OK)
		r->batch = rrbatch_create(BATCH_ROOM);
	return err == NSD_OK && r->batch == NULL ? NSD_E_MEMORY : err;
}

static enum nsd_err
rehash_on_rr(void *ctx, const struct zone_rr *rr)
{
	struct rehash *r = ctx;
	struct rrbatch_rr head = {
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
	};
	enum nsd_err err = rehash_make_room(r, sizeof(head)
		+ name_len(rr->owner) + rr->rdlen + 3);

	return err == NSD_OK ? rrbatch_append(r->batch, &head, rr->owner,
		rr->rdata) : err;
}

static enum nsd_err
rehash_walk(struct rehash *r)
{
	enum nsd_err err = zone_walk(r->view, r->served, r->apex,
		rehash_on_rr, r);

	return err == NSD_OK ? rehash_flush(r) : err;
}

/* ---- building ------------------------------------------------------------ */

/* Builds from a stream. NSD_E_LIMIT: the zone is to be built of all records at
 * once. */
static enum nsd_err
rehash_from_stream(struct rehash *r, const struct zone_build_input *input,
	struct store_writer *writer, struct store_heap *heap,
	struct diag_sink *sink, store_ref *out)
{
	const struct zone_stream_options options = {
		.rr_expected = r->served->rr_count,
	};
	struct zone_stream *stream;
	enum nsd_err err = stream_begin(input, &options, writer, heap,
		&r->stream);

	if (err != NSD_OK)
		return err;
	err = rehash_walk(r);
	stream = r->stream;
	r->stream = NULL;
	if (err == NSD_OK)
		return stream_finish(stream, input->files, input->file_count,
			sink, out);
	stream_abandon(stream);
	rrbatch_destroy(r->batch);
	r->batch = NULL;
	return err;
}

static enum nsd_err
rehash_at_once(struct rehash *r, struct zone_build_input *input,
	struct store_writer *writer, struct store_heap *heap,
	struct diag_sink *sink, store_ref *out)
{
	enum nsd_err err;

	/* An earlier stream has left no batches. */
	assert(r->stream == NULL && r->batch == NULL && r->first == NULL);
	err = rehash_walk(r);
	input->batches = r->first;
	if (err == NSD_OK)
		err = build_zone(input, writer, heap, sink, out);
	rrbatch_destroy_all(r->first);
	rrbatch_destroy(r->batch);
	return err;
}

static void
rehash_on_diag(struct diag_sink *sink, const struct diag *d)
{
	const struct load_zone *zone = ((struct rehash_sink *)sink)->zone;

	/* Warnings were told when the file was read. */
	if (d->severity == DIAG_WARNING && log_verbosity() < 2)
		return;
	log_write(log_diag_level(d), "zone %s: %s", zone->conf->name, d->text);
}

static enum nsd_err
rehash_build(const struct load_context *context, const struct load_zone *zone,
	const struct zone *served, struct store_heap *heap, bool large,
	store_ref *out)
{
	static const struct zonefile_result no_files;
	struct rehash_sink sink = {{.on_diag = rehash_on_diag}, zone};
	struct rehash r = {
		.view = store_writer_view(context->writer),
		.served = served,
		.apex = zone->conf->wire,
	};
	struct zone_build_input input;
	enum nsd_err err = NSD_E_LIMIT;

	r.end = &r.first;
	load_zone_fill_input(context, zone, &no_files, NULL, &input);
	if (!large) {
		input.threads = 1;
		input.on_progress = NULL;
	}
	if (large)
		err = rehash_from_stream(&r, &input, context->writer, heap,
			&sink.sink, out);
	/* NSD_E_AGAIN: parameters that no stream can use. The records are in
	 * order, so a sorter would not help. */
	if (err == NSD_E_LIMIT || err == NSD_E_AGAIN)
		err = rehash_at_once(&r, &input, context->writer, heap,
			&sink.sink, out);
	return err;
}

/* ---- when ---------------------------------------------------------------- */

/* Returns the version that is served if it is from another limit, or NULL.
 * busy_lock is held: a change may retire the version of a zone that is not
 * busy. */
static const struct zone *
rehash_look(const struct load_context *context, const struct load_zone *zone)
{
	const struct store_view *view = store_writer_view(context->writer);
	const struct zone *served = load_zone_published(view, zone);

	return served == NULL || build_keeps_nsec3_limit(view, served,
		context->nsec3_iterations_max) ? NULL : served;
}

bool
load_rehash_is_wanted(const struct load_context *context,
	const struct load_zone *zone, bool *large)
{
	const struct zone *served;

	pthread_mutex_lock(context->busy_lock);
	served = rehash_look(context, zone);
	*large = served != NULL && served->rr_count >= LARGE_RECORDS;
	pthread_mutex_unlock(context->busy_lock);
	return served != NULL;
}

void
load_rehash_run(const struct load_context *context, struct load_zone *zone,
	struct store_heap *heap, bool large, struct load_result *result)
{
	const struct zone *served;
	enum nsd_err err;

	pthread_mutex_lock(context->busy_lock);
	served = rehash_look(context, zone);
	zone->busy |= served != NULL;
	pthread_mutex_unlock(context->busy_lock);
	if (served == NULL)
		return;
	err = rehash_build(context, zone, served, heap, large,
		&result->rehashed);
	if (err != NSD_OK) {
		result->rehashed = STORE_NONE;
		log_error("zone %s cannot be hashed for another limit of NSEC3"
			  " iterations: %s",
			zone->conf->name, err_text(err));
	}
	if (result->outcome != LOAD_UNCHANGED)
		return;
	result->outcome = err == NSD_OK ? LOAD_KEPT : LOAD_FAILED;
}
