/* load_apply.c - publishes the changes that a zone file, or a transferred zone,
 * makes in a zone. */
#include "config.h"

#include <assert.h>

#include "loader/load_apply.h"
#include "loader/load_candidate.h"
#include "loader/load_digest.h"
#include "loader/load_loop.h"
#include "loader/load_retire.h"
#include "loader/load_verify.h"
#include "store/writer.h"
#include "update/diff_history.h"
#include "zonedb/history_edit.h"

/* Changes that are being published. */
struct apply {
	const struct load_context *context;
	const struct load_result *result;
	const struct load_digest_file *file;
	const struct load_apply_options *options;
	struct zone_update *update;
	struct history_draft draft;
	struct history_limits keep;
};

static enum nsd_err
apply_check(void *ctx, struct update_candidate *candidate)
{
	const struct apply *a = ctx;

	if (a->file != NULL)
		return load_digest_check(a->file, candidate->zone);
	return load_verify(a->context, a->result->zone, a->options->accepted,
		candidate, a->options->refusal);
}

static enum nsd_err
apply_begin(struct apply *a)
{
	const struct load_apply_options *options = a->options;
	struct zone_update_options o = {
		.threads = a->context->threads_max,
		.secondary = load_zone_is_lenient(a->result->zone),
		.nsec3_iterations_max = a->context->nsec3_iterations_max,
		.limits = options->limits,
		.heap = options->heap,
		.check = options->verify || a->file != NULL ? apply_check
			: NULL,
		.check_ctx = a,
	};

	return update_begin(a->context->writer, a->result->zone->entry, &o,
		&a->update);
}

static enum nsd_err
apply_note(const struct apply *a)
{
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < a->result->change_count && err == NSD_OK; i++) {
		const struct diff_change *change = &a->result->changes[i];

		err = change->add ? update_add(a->update, &change->rr)
				  : update_remove(a->update, &change->rr);
	}
	return err;
}

/* Keeps the difference for other secondaries (create-ixfr, or a zone that takes
 * updates), or none at all. */
static void
apply_draft(struct apply *a)
{
	const struct load_zone *zone = a->result->zone;

	a->keep = load_zone_get_history(zone);
	history_draft_init(&a->draft, zone->conf->wire, &a->keep);
	a->draft.lost |= !zone->conf->options->create_ixfr
		&& !load_zone_takes_updates(zone);
	diff_history_fill(&a->draft, a->result->changes,
		a->result->change_count);
}

/* Publishes; called by the loop. */
static void
apply_publish(void *arg)
{
	struct apply *a = arg;
	struct store_writer *writer = a->context->writer;
	store_ref entry = a->result->zone->entry, old;

	history_push(writer, entry, &a->draft);
	old = update_publish(a->update);
	history_prune(writer, entry, &a->keep);
	update_settle(writer, entry);
	load_retire_add(a->context->retire, writer,
		a->result->zone->conf->wire, old);
}

static enum nsd_err
apply_verify(const struct apply *a, const struct load_apply_options *options)
{
	struct load_candidate candidate = {
		.zone = a->result->zone,
		.update = a->update,
	};
	enum nsd_err err = NSD_OK;

	if ((options->accepted & IPC_CHECK_VERIFIER) == 0)
		err = load_candidate_check(a->context, &candidate);
	if (err == NSD_E_REFUSED && options->refusal != NULL)
		load_refusal_set(options->refusal, IPC_CHECK_VERIFIER,
			candidate.serial, "%s", candidate.why);
	else if (err == NSD_E_REFUSED && options->sink != NULL)
		diag_emit(options->sink, DIAG_ERROR, options->path, 0, 0,
			"%s", candidate.why);
	return err;
}

enum nsd_err
load_apply_diff(const struct load_context *context,
	const struct load_result *result,
	const struct load_apply_options *options,
	struct zone_update_result *done)
{
	const struct load_digest_file file = {context, result->zone,
		options->path, options->sink};
	struct apply a = {
		.context = context,
		.result = result,
		.file = options->path != NULL ? &file : NULL,
		.options = options,
	};
	struct diag_sink sink = {.on_diag = NULL};
	enum nsd_err err;

	assert(result->outcome == LOAD_COMPARED);
	err = apply_begin(&a);
	if (err != NSD_OK)
		return err;
	err = apply_note(&a);
	if (err == NSD_OK)
		err = update_make(a.update, &sink);
	if (err == NSD_OK)
		err = apply_verify(&a, options);
	if (err == NSD_OK) {
		apply_draft(&a);
		load_loop_call(context->loop, apply_publish, &a);
		history_draft_fini(&a.draft);
	}
	update_end(a.update, done);
	return err;
}
