/*
 * xfrd_changesets.c - finds primary zones of which another version has come
 * (create-ixfr): the differences are to be written beside their zone files, by
 * xfrd_write.c. Those of zones whose versions come from xfrd are written with
 * the zone file.
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
changesets_are_kept(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool kept = options.pattern != NULL
		&& options.pattern->storing.store_ixfr
		&& options.pattern->storing.create_ixfr
		&& !xfrd_options_are_from_xfrd(&options)
		&& xfrd_options_file(&options) != NULL;

	xfrd_read_end(xfrd);
	return kept;
}

/* True if files are to be written, or to go. */
static bool
changesets_are_due(const struct xfrd_zone *zone, const struct xfrd_soa *soa)
{
	bool has_changesets = soa->has_history || soa->changesets_stale;

	if (!zone->changesets_known)
		return has_changesets;
	return zone->changesets.serial != soa->numbers.serial
		|| zone->had_changesets != soa->has_history
		|| (has_changesets && zone->changesets.sources != soa->sources);
}

bool
xfrd_changesets_look(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_soa soa;

	if (!changesets_are_kept(xfrd, zone)
		|| !xfrd_zones_get_soa(xfrd, zone, &soa))
		return false;
	if (changesets_are_due(zone, &soa)) {
		xfrd->writes.changesets.due_count += !zone->changesets_due;
		zone->changesets_due = true;
		assert(xfrd->writes.changesets.due_count
			<= xfrd->zones.table.count);
		zone->changesets_unsure = !zone->changesets_known
			&& !soa.changesets_stale;
	}
	zone->changesets_known = true;
	zone->changesets.serial = soa.numbers.serial;
	zone->changesets.sources = soa.sources;
	zone->had_changesets = soa.has_history;
	return zone->changesets_due;
}

void
xfrd_changesets_look_at_all(struct xfrd *xfrd)
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;

	for (uint32_t i = 0; i < table->end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, i);

		if (zone != NULL)
			(void)xfrd_changesets_look(xfrd, zone);
	}
}

/* Notes that the files of a zone are not due any more: they are written, or not
 * wanted. */
static void
changesets_end_due(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	assert(xfrd->writes.changesets.due_count >= zone->changesets_due);
	xfrd->writes.changesets.due_count -= zone->changesets_due;
	zone->changesets_due = false;
}

void
xfrd_changesets_forget(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	changesets_end_due(xfrd, zone);
}

struct xfrd_zone *
xfrd_changesets_take(struct xfrd *xfrd, bool *unsure)
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	struct xfrd_changesets *changesets = &xfrd->writes.changesets;

	for (unsigned i = 0; i < TURN_ZONES && changesets->due_count > 0; i++) {
		struct xfrd_zone *zone;

		if (changesets->next >= table->end)
			changesets->next = 0;
		zone = xfrd_zone_at(table, changesets->next++);
		if (zone == NULL || !zone->changesets_due)
			continue;
		changesets_end_due(xfrd, zone);
		*unsure = zone->changesets_unsure;
		if (changesets_are_kept(xfrd, zone))
			return zone;
	}
	return NULL;
}
