/* load_compact.c - makes small zones anew where their memory is scattered. */
#include "config.h"

#include <assert.h>

#include "loader/load_compact.h"
#include "loader/load_turn.h"
#include "store/writer.h"
#include "update/update.h"

/* A round begins if free octets among objects are more than a 20th of those
 * that objects take, and if more than a 16th has come and gone since the last
 * round. */
#define FREE_LEAST 20u
#define CHANGED_LEAST 16u

bool
load_compact_begin(struct load_compact *compact,
	const struct load_context *context, const struct load_set *set)
{
	struct store_stats stats;

	if (compact->left > 0)
		return true;
	store_get_stats(context->writer, &stats);
	if (stats.free < stats.live / FREE_LEAST
		|| stats.reclaimed_total - compact->reclaimed
			< stats.live / CHANGED_LEAST)
		return false;
	compact->left = set->count;
	return set->count > 0;
}

bool
load_compact_step(struct load_compact *compact,
	const struct load_context *context, const struct load_set *set)
{
	struct zone_update_options options = {
		.threads = 1,
		.nsec3_iterations_max = context->nsec3_iterations_max,
	};
	struct load_turn turn = load_turn_begin();
	struct store_stats stats;
	uint64_t records = 0;

	assert(compact->left == 0 || set->count > 0);
	/* A zone is made anew without a look at the clock. */
	while (compact->left > 0 && !load_turn_is_over(&turn)) {
		const struct load_zone *zone =
			&set->zones[compact->at++ % set->count];

		compact->left--;
		if (zone->conf == NULL || zone->entry == STORE_NONE)
			continue;
		options.secondary = load_zone_is_lenient(zone);
		/* Without memory the zone stays as it is. */
		if (update_compact(context->writer, zone->entry, &options,
			    &records)
			!= NSD_OK)
			break;
	}
	(void)store_reclaim(context->writer);
	if (compact->left > 0)
		return true;
	store_get_stats(context->writer, &stats);
	compact->reclaimed = stats.reclaimed_total + stats.retired;
	return false;
}
