/*
 * xfrd_steps.c - finds primary zones of which another version has come
 * (create-ixfr): the differences are to be written beside their zone files, by
 * xfrd_write.c. Files of secondary zones are written with the zone file.
 *
 * A version with the serial of the one before has no differences: the files are
 * to go. And a zone file that was read again and says the same is newer than
 * the files beside it now, so these are written anew.
 *
 * A version that was served at the first look has its differences beside its
 * file as a rule: it was read with them, or the process before this one has had
 * them written. But a version may have come just before, so the writer looks at
 * the files (doc/decisions/0092).
 */
#include "config.h"

#include <assert.h>

#include "xfrd/xfrd.h"

/* Zones that are looked at in a turn of the loop. */
#define TURN_ZONES 5000

static bool
steps_are_kept(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool kept = options.pattern != NULL
		&& options.pattern->storing.store_ixfr
		&& options.pattern->storing.create_ixfr
		&& xfrd_options_count(&options, SETTINGS_REQUEST_XFR) == 0
		&& xfrd_options_file(&options) != NULL;

	xfrd_read_end(xfrd);
	return kept;
}

/* True if files are to be written, or to go. */
static bool
steps_are_due(const struct xfrd_zone *zone, const struct xfrd_soa *soa)
{
	bool has_steps = soa->has_history || soa->steps_stale;

	if (!zone->steps_known)
		return has_steps;
	return zone->steps.serial != soa->numbers.serial
		|| zone->had_steps != soa->has_history
		|| (has_steps && zone->steps.sources != soa->sources);
}

bool
xfrd_steps_look(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_soa soa;

	if (!steps_are_kept(xfrd, zone)
		|| !xfrd_zones_get_soa(xfrd, zone, &soa))
		return false;
	if (steps_are_due(zone, &soa)) {
		xfrd->writes.steps.due_count += !zone->steps_due;
		zone->steps_due = true;
		assert(xfrd->writes.steps.due_count
			<= xfrd->zones.table.count);
		zone->steps_unsure = !zone->steps_known
			&& !soa.steps_stale;
	}
	zone->steps_known = true;
	zone->steps.serial = soa.numbers.serial;
	zone->steps.sources = soa.sources;
	zone->had_steps = soa.has_history;
	return zone->steps_due;
}

void
xfrd_steps_look_at_all(struct xfrd *xfrd)
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;

	for (uint32_t i = 0; i < table->end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, i);

		if (zone != NULL)
			(void)xfrd_steps_look(xfrd, zone);
	}
}

/* Notes that the files of a zone are not due any more: they are written, or not
 * wanted. */
static void
steps_end_due(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	assert(xfrd->writes.steps.due_count >= zone->steps_due);
	xfrd->writes.steps.due_count -= zone->steps_due;
	zone->steps_due = false;
}

void
xfrd_steps_forget(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	steps_end_due(xfrd, zone);
}

struct xfrd_zone *
xfrd_steps_take(struct xfrd *xfrd, bool *unsure)
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	struct xfrd_steps *steps = &xfrd->writes.steps;

	for (unsigned i = 0; i < TURN_ZONES && steps->due_count > 0; i++) {
		struct xfrd_zone *zone;

		if (steps->next >= table->end)
			steps->next = 0;
		zone = xfrd_zone_at(table, steps->next++);
		if (zone == NULL || !zone->steps_due)
			continue;
		steps_end_due(xfrd, zone);
		*unsure = zone->steps_unsure;
		if (steps_are_kept(xfrd, zone))
			return zone;
	}
	return NULL;
}
