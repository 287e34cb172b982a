/* load_apply.c - publishes what a zone file changes in a zone. */
#include "config.h"

#include <assert.h>

#include "keep/history_edit.h"
#include "load/load_apply.h"
#include "store/writer.h"
#include "update/diff_history.h"

/* Keeps the difference for other secondaries (create-ixfr), or nothing. */
static void
apply_note(const struct load_context *context,
	const struct load_result *result, const struct history_limits *limits)
{
	const struct load_zone *zone = result->zone;
	struct history_draft draft;

	history_draft_init(&draft, zone->conf->wire, limits);
	draft.lost |= !zone->conf->options->create_ixfr;
	diff_history_fill(&draft, result->changes, result->change_count);
	history_push(context->writer, zone->entry, &draft);
	history_draft_fini(&draft);
}

enum nsd_err
load_apply_diff(const struct load_context *context,
	const struct load_result *result, const struct zone_limits *limits,
	struct zone_update_result *done)
{
	struct zone_update_options options = {
		.threads = context->threads_max,
		.secondary = load_zone_is_secondary(result->zone),
		.nsec3_iterations_max = context->nsec3_iterations_max,
		.limits = *limits,
	};
	const struct history_limits keep = load_zone_get_history(result->zone);
	struct diag_sink sink = {.on_diag = NULL};
	struct zone_update *update;
	enum nsd_err err;

	assert(result->outcome == LOAD_DIFFERS);
	err = update_begin(context->writer, result->zone->entry, &options,
		&update);
	if (err != NSD_OK)
		return err;
	for (size_t i = 0; i < result->change_count && err == NSD_OK; i++) {
		const struct diff_change *change = &result->changes[i];

		err = change->add ? update_add(update, &change->rr)
				  : update_remove(update, &change->rr);
	}
	if (err != NSD_OK) {
		update_abort(update);
		return err;
	}
	apply_note(context, result, &keep);
	err = update_commit(update, &sink, done);
	history_settle(context->writer, result->zone->entry, &keep);
	return err;
}
