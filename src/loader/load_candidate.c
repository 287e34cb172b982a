/* load_candidate.c - has a thread wait for the verdict on a version. */
#include "config.h"

#include <assert.h>

#include "loader/load_candidate.h"
#include "loader/load_loop.h"

static bool
judging_get(const bool *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/* conf_find_judging, without the configuration, which a thread must not look
 * at. */
bool
load_candidate_is_wanted(const struct load_context *context,
	const struct load_zone *zone)
{
	const struct load_judging *v = context->judging;
	const struct conf_pattern *options = zone->conf->options;

	if (v == NULL || !judging_get(&v->enabled) || zone->accepts)
		return false;
	if (options->verify_zone == CONF_INHERIT
			? !judging_get(&v->zones)
			: options->verify_zone == 0)
		return false;
	return options->verifier.count > 0 || judging_get(&v->has_command);
}

struct candidate_call {
	const struct load_judging *judging;
	struct load_candidate *candidate;
};

static void
candidate_begin(void *arg)
{
	const struct candidate_call *call = arg;

	call->judging->begin(call->judging->ctx, call->candidate);
}

enum nsd_err
load_candidate_check(const struct load_context *context,
	struct load_candidate *candidate)
{
	struct candidate_call call = {context->judging, candidate};

	if (!context->awaits)
		return NSD_OK;
	assert(!load_loop_is_own(context->loop));
	/* No edit goes on meanwhile: the loop may look at all zones. */
	if (candidate->update != NULL)
		load_loop_end_edit(context->loop);
	load_loop_call(context->loop, candidate_begin, &call);
	load_loop_await(context->loop, &candidate->done);
	if (candidate->update != NULL)
		load_loop_begin_edit(context->loop);
	return candidate->err;
}
