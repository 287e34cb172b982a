/* load_transfer.c - makes a version of a zone from the text of a transfer, or
 * applies it. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "loader/load_candidate.h"
#include "loader/load_findings.h"
#include "loader/load_loop.h"
#include "loader/load_modes.h"
#include "loader/load_room.h"
#include "loader/load_transfer.h"
#include "loader/load_update.h"
#include "loader/load_verify.h"
#include "loader/load_versions.h"
#include "store/writer.h"
#include "zonedb/release.h"

/* From this many octets on, several threads build a zone faster. */
#define LARGE_TEXT (4u << 20)

static enum nsd_err
transfer_verify_by_program(const struct load_reading *r)
{
	struct load_candidate candidate = {
		.zone = r->zone,
		.built = r->result->built,
	};
	enum nsd_err err = NSD_OK;

	if ((r->text->accepted & IPC_CHECK_VERIFIER) == 0)
		err = load_candidate_check(r->context, &candidate);
	r->result->built = candidate.built;
	if (err == NSD_E_REFUSED)
		load_refusal_set(r->refusal, IPC_CHECK_VERIFIER,
			candidate.serial, "%s", candidate.why);
	return err;
}

/* Verifies the version; changes were verified when they were applied. */
static enum nsd_err
transfer_verify(const struct load_reading *r)
{
	const struct store_view *view = store_writer_view(r->context->writer);
	struct update_candidate candidate = {.served = r->served};
	struct load_result *result = r->result;
	uint32_t accepted = r->text->accepted;
	enum nsd_err err;

	if (result->outcome == LOAD_COMPARED && result->change_count == 0) {
		candidate.zone = r->served;
		if ((r->served->flags & ZONE_VERIFIED) != 0)
			accepted |= IPC_CHECK_SIGNED;
		return load_verify(r->context, r->zone, accepted, &candidate,
			r->refusal);
	}
	if (result->outcome != LOAD_BUILT)
		return NSD_OK;
	assert(result->built != STORE_NONE);
	candidate.zone = store_get(view, result->built);
	err = load_verify(r->context, r->zone, accepted, &candidate,
		r->refusal);
	if (err == NSD_OK) {
		struct zone *built = store_edit(r->heap, result->built);

		built->flags |= candidate.is_verified ? ZONE_VERIFIED : 0;
		built->data_count = candidate.data_count;
		return transfer_verify_by_program(r);
	}
	release_zone(r->heap, result->built);
	result->built = STORE_NONE;
	return err;
}

/* Keeps why a version was refused for the loop. */
static void
transfer_note_refusal(const struct load_refusal *refusal,
	struct load_result *result)
{
	if (refusal->check == 0)
		return;
	result->refusal = malloc(sizeof(*refusal));
	if (result->refusal != NULL)
		*result->refusal = *refusal;
}

static void
transfer_run(struct load_reading *r)
{
	const char *name = r->zone->conf->name;
	struct load_result *result = r->result;
	enum nsd_err err;

	log_at(5, LOG_LEVEL_INFO, "zone %s: reading a transfer of %llu octets",
		name, (unsigned long long)r->text->len);
	err = load_modes_run(r);
	if (err == NSD_OK)
		err = transfer_verify(r);
	if (err == NSD_OK)
		return;
	transfer_note_refusal(r->refusal, result);
	/* The loop tells of a refusal. */
	if (!load_refusal_is(err))
		log_error("zone %s: what a transfer has brought cannot be"
			  " served: %s", name, err_reason(err));
	result->outcome = LOAD_FAILED;
	/* A text that changed meanwhile (NSD_E_AGAIN) is not the one that its
	 * sender has checked. */
	result->err = err == NSD_E_AGAIN ? NSD_E_WIRE : err;
	result->crowded = err == NSD_E_MEMORY && r->served != NULL
		&& store_count_lacks(r->context->writer) != r->lacks
		&& store_is_full(r->context->writer);
}

/* ---- differences --------------------------------------------------------- */

static void
transfer_on_diag(struct diag_sink *sink, const struct diag *d)
{
	log_write(log_diag_level(d), "update: %s", d->text);
}

static enum nsd_err
transfer_apply(const struct load_context *context, struct load_zone *zone,
	const struct load_task *task, struct load_result *result)
{
	struct load_refusal refusal = {.check = 0};
	struct diag_sink sink = {.on_diag = transfer_on_diag};
	struct load_versions v = {
		.context = context,
		.entry = zone->entry,
		.secondary = load_zone_is_lenient(zone),
		.history = load_zone_get_history(zone),
		.verify = zone,
		.accepted = task->text->accepted,
		.refusal = &refusal,
		.verify_records_max = UINT64_MAX,
		.heap = task->heap,
		.cancelled = &context->cancelled,
		.sink = &sink,
	};
	uint8_t *data;
	enum nsd_err err = load_update_read(task->text,
		load_update_served_max(store_writer_view(context->writer),
			zone->entry), &data);

	if (err != NSD_OK)
		return err;
	load_loop_begin_edit(context->loop);
	err = load_versions_apply(&v,
		&(struct load_octets){data, task->text->len}, 1);
	load_loop_end_edit(context->loop);
	free(data);
	result->done = v.done;
	transfer_note_refusal(&refusal, result);
	return err;
}

static void
transfer_tell_no_room(const struct load_context *context,
	const struct load_zone *zone, uint32_t lacks)
{
	char text[LOAD_ROOM_TEXT_MAX];

	load_room_explain(context->writer, lacks, text);
	log_error("update: zone %s: no room: %s", zone->conf->name, text);
}

/* Large differences: all is done when this returns. */
static void
transfer_read_diffs(const struct load_context *context,
	struct load_zone *zone, const struct load_task *task,
	struct load_result *result)
{
	const struct store_view *view = store_writer_view(context->writer);
	uint32_t lacks = store_count_lacks(context->writer);
	const struct zone *served;

	/* busy keeps others from changing the served version, or freeing it. */
	pthread_mutex_lock(context->busy_lock);
	assert(!zone->busy);
	zone->busy = true;
	served = load_zone_published(view, zone);
	result->old_serial = served != NULL ? served->serial : 0;
	pthread_mutex_unlock(context->busy_lock);
	result->err = transfer_apply(context, zone, task, result);
	if (result->err == NSD_E_MEMORY)
		transfer_tell_no_room(context, zone, lacks);
	result->outcome = result->err == NSD_OK ? LOAD_APPLIED : LOAD_FAILED;
}

/* ---- both ---------------------------------------------------------------- */

void
load_transfer_read(const struct load_context *context, struct load_zone *zone,
	const struct load_task *task, struct load_result *result)
{
	struct load_refusal refusal = {.check = 0};
	struct load_findings findings;
	struct load_reading r = {
		.context = context,
		.zone = zone,
		.path = zone->conf->name,
		.text = task->text,
		.options = {
			.apex = zone->conf->wire,
			.threads = task->large ? context->threads_max : 1,
			.secondary = true,
			.on_progress = task->large ? load_modes_on_parse : NULL,
			.progress_ctx = context->progress,
		},
		.large = task->large,
		.heap = task->heap,
		.sink = &findings.sink,
		.refusal = &refusal,
		.lacks = store_count_lacks(context->writer),
		.result = result,
	};

	if (task->text->is_diffs) {
		transfer_read_diffs(context, zone, task, result);
		return;
	}
	if (!task->large && r.text->len >= LARGE_TEXT) {
		result->outcome = LOAD_LARGE;
		return;
	}
	load_findings_init(&findings);
	transfer_run(&r);
}
