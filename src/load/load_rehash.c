/* load_rehash.c - builds the served version of a zone once more, from its own
 * records, when another limit of NSEC3 iterations is configured. */
#include "config.h"

#include "base/log.h"
#include "build/build.h"
#include "build/parts.h"
#include "dns/name.h"
#include "dns/rrbatch.h"
#include "load/load_reading.h"
#include "load/load_rehash.h"
#include "store/writer.h"
#include "zone/nsec3.h"
#include "zone/walk.h"

/* From this many records on, several threads are used and the zone is walked
 * once for each part: all its records at once would take more memory than the
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
	struct rrbatch *first, *last; /* a list */
	/* Takes the last batch when it is full; NULL: the batch is kept. */
	enum nsd_err (*on_full)(struct rehash *r);
	struct zone_plan *plan;
	struct zone_parts *parts; /* takes only what they want; NULL: all */
};

/* ---- walking ------------------------------------------------------------- */

static enum nsd_err
rehash_flush(struct rehash *r)
{
	enum nsd_err err;

	if (r->last == NULL || r->on_full == NULL)
		return NSD_OK;
	err = r->on_full(r);
	r->last->count = 0;
	r->last->len = 0;
	return err;
}

static enum nsd_err
rehash_make_room(struct rehash *r, size_t size)
{
	struct rrbatch *batch;
	enum nsd_err err;

	if (r->last != NULL && r->last->capacity - r->last->len >= size)
		return NSD_OK;
	err = rehash_flush(r);
	if (err != NSD_OK || (r->last != NULL && r->last->len == 0))
		return err;
	batch = rrbatch_create(BATCH_ROOM);
	if (batch == NULL)
		return NSD_E_MEMORY;
	if (r->last != NULL)
		r->last->next = batch;
	else
		r->first = batch;
	r->last = batch;
	return NSD_OK;
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
	size_t owner_len = name_len(rr->owner);
	enum nsd_err err;

	if (r->parts != NULL
		&& !parts_wants(r->parts, rr->owner, owner_len))
		return NSD_OK;
	err = rehash_make_room(r, sizeof(head) + owner_len + rr->rdlen + 3);
	if (err != NSD_OK)
		return err;
	return rrbatch_append(r->last, &head, rr->owner, rr->rdata);
}

static enum nsd_err
rehash_walk(struct rehash *r)
{
	enum nsd_err err = zone_walk(r->view, r->served, r->apex,
		rehash_on_rr, r);

	return err == NSD_OK ? rehash_flush(r) : err;
}

/* ---- building ------------------------------------------------------------ */

static enum nsd_err
rehash_on_plan(struct rehash *r)
{
	parts_plan_add(r->plan, r->last);
	return NSD_OK;
}

static enum nsd_err
rehash_on_part(struct rehash *r)
{
	return parts_take(r->parts, r->last);
}

static enum nsd_err
rehash_fill_parts(struct rehash *r)
{
	while (parts_next(r->parts)) {
		enum nsd_err err = rehash_walk(r);

		if (err == NSD_OK)
			err = parts_pack(r->parts);
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

static enum nsd_err
rehash_walk_parts(struct rehash *r, const struct zone_build_input *input,
	struct store_writer *writer, struct store_heap *heap,
	struct diag_sink *sink, store_ref *out)
{
	enum nsd_err err = parts_plan_create(r->apex, &r->plan);

	if (err != NSD_OK)
		return err;
	r->on_full = rehash_on_plan;
	err = rehash_walk(r);
	if (err == NSD_OK)
		err = parts_begin(input, r->plan, 0, writer, heap,
			&r->parts);
	if (err == NSD_OK) {
		r->on_full = rehash_on_part;
		err = rehash_fill_parts(r);
		if (err == NSD_OK)
			err = parts_finish(r->parts, sink, out);
		else
			parts_abandon(r->parts);
	}
	parts_plan_destroy(r->plan);
	r->parts = NULL;
	r->on_full = NULL;
	return err;
}

/* *end: whether the zone could be built so. */
static enum nsd_err
rehash_in_parts(struct rehash *r, const struct zone_build_input *input,
	struct store_writer *writer, struct store_heap *heap,
	struct diag_sink *sink, store_ref *out, enum load_end *end)
{
	enum nsd_err err = rehash_walk_parts(r, input, writer, heap, sink,
		out);

	*end = LOAD_END_DONE;
	if (err != NSD_E_LIMIT)
		return err;
	*end = LOAD_END_NOT_IN_PARTS;
	return NSD_OK;
}

static enum nsd_err
rehash_at_once(struct rehash *r, struct zone_build_input *input,
	struct store_writer *writer, struct store_heap *heap,
	struct diag_sink *sink, store_ref *out)
{
	enum nsd_err err = rehash_walk(r);

	input->batches = r->first;
	return err == NSD_OK ? build_zone(input, writer, heap, sink, out)
			     : err;
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
	enum load_way way = large ? LOAD_WAY_PARTS : LOAD_WAY_WHOLE;
	struct zone_build_input input;
	enum load_end end = LOAD_END_DONE;
	enum nsd_err err = NSD_OK;

	load_zone_fill_input(context, zone, &no_files, NULL, &input);
	if (!large) {
		input.threads = 1;
		input.on_progress = NULL;
	}
	if (way == LOAD_WAY_PARTS)
		err = rehash_in_parts(&r, &input, context->writer, heap,
			&sink.sink, out, &end);
	if (err == NSD_OK && end == LOAD_END_NOT_IN_PARTS)
		way = LOAD_WAY_WHOLE;
	if (err == NSD_OK && way == LOAD_WAY_WHOLE)
		err = rehash_at_once(&r, &input, context->writer, heap,
			&sink.sink, out);
	rrbatch_destroy_all(r.first);
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
	result->outcome = err == NSD_OK ? LOAD_REHASHED : LOAD_FAILED;
	result->blameless = true;
}
