/* load_apply.c - publishes what a zone file changes in a zone. */
#include "config.h"

#include <assert.h>

#include "load/load_apply.h"
#include "store/writer.h"

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
	return update_commit(update, &sink, done);
}
