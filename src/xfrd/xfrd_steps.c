/*
 * xfrd_steps.c - finds primary zones of which another version has come
 * (create-ixfr): what it differs by is to be written beside their zone files,
 * by xfrd_write.c. Files of secondary zones are written with the zone file.
 *
 * A version with the serial of the one before has no differences: the files
 * are to go. And a zone file that was read again and says the same is newer
 * than the files beside it now, so these are written anew.
 *
 * What was served at the first look has its differences beside its file as a
 * rule: it was read with them, or the process before this one has had them
 * written. But a version may have come just before, so the writer looks at the
 * files (doc/decisions/0092).
 */
#include "config.h"

#include <string.h>

#include "base/grow.h"
#include "conf/conf.h"
#include "xfrd/xfrd.h"

/* In a turn of the loop: zones that are looked at. */
#define TURN_ZONES 5000

/* What is known of a zone of that kind. */
struct xfrd_steps_zone {
	uint32_t serial;    /* these were so when it was looked at last: */
	store_ref sources;
	bool had_steps;
	bool known;  /* it was looked at */
	bool is_due; /* it is not written yet, */
	bool unsure; /* or may be: it was there when it was first looked at */
};

static bool
steps_are_kept(const struct conf_zone *zone)
{
	const struct conf_pattern *options = zone->options;

	return zone->zonefile != NULL && options->request_xfr.count == 0
		&& options->store_ixfr && options->create_ixfr;
}

/* NULL: without memory. */
static struct xfrd_steps_zone *
steps_get(struct xfrd_steps *steps, uint32_t place)
{
	while (place >= steps->room) {
		size_t old = steps->room;
		struct xfrd_steps_zone *zones = grow_array(steps->zones, old,
			&steps->room, sizeof(*zones));

		if (zones == NULL)
			return NULL;
		memset(zones + old, 0, (steps->room - old) * sizeof(*zones));
		steps->zones = zones;
	}
	return &steps->zones[place];
}

/* Whether files are to be written, or to go. */
static bool
steps_are_due(const struct xfrd_steps_zone *seen, const struct xfrd_soa *soa)
{
	bool has_steps = soa->has_history || soa->steps_stale;

	if (!seen->known)
		return has_steps;
	return seen->serial != soa->numbers.serial
		|| seen->had_steps != soa->has_history
		|| (has_steps && seen->sources != soa->sources);
}

bool
xfrd_steps_look(struct xfrd *xfrd, const struct conf_zone *zone)
{
	struct xfrd_steps *steps = &xfrd->writes.steps;
	struct xfrd_steps_zone *seen;
	struct xfrd_soa soa;

	if (!steps_are_kept(zone) || !xfrd_zones_get_soa(xfrd, zone, &soa))
		return false;
	seen = steps_get(steps, zone->index);
	if (seen == NULL)
		return false; /* it is known from the next look on */
	if (steps_are_due(seen, &soa)) {
		steps->due_count += !seen->is_due;
		seen->is_due = true;
		seen->unsure = !seen->known && !soa.steps_stale;
	}
	seen->known = true;
	seen->serial = soa.numbers.serial;
	seen->sources = soa.sources;
	seen->had_steps = soa.has_history;
	return seen->is_due;
}

void
xfrd_steps_look_at_all(struct xfrd *xfrd)
{
	const struct conf *conf = xfrd->role.server->conf;

	for (size_t i = 0; i < conf->zone_count; i++)
		(void)xfrd_steps_look(xfrd, conf->zones[i]);
}

static void
steps_forget(struct xfrd_steps *steps, struct xfrd_steps_zone *seen)
{
	steps->due_count -= seen->is_due;
	memset(seen, 0, sizeof(*seen));
}

void
xfrd_steps_move(struct xfrd *xfrd, uint32_t place, uint32_t last)
{
	struct xfrd_steps *steps = &xfrd->writes.steps;

	if (place < steps->room)
		steps_forget(steps, &steps->zones[place]);
	if (last >= steps->room || last == place)
		return;
	steps->zones[place] = steps->zones[last];
	memset(&steps->zones[last], 0, sizeof(*steps->zones));
}

const struct conf_zone *
xfrd_steps_take(struct xfrd *xfrd, bool *unsure)
{
	const struct conf *conf = xfrd->role.server->conf;
	struct xfrd_steps *steps = &xfrd->writes.steps;

	for (unsigned i = 0; i < TURN_ZONES && steps->due_count > 0; i++) {
		uint32_t place = steps->next++;

		if (place >= conf->zone_count || place >= steps->room) {
			steps->next = 0;
			continue;
		}
		if (!steps->zones[place].is_due)
			continue;
		steps->zones[place].is_due = false;
		steps->due_count--;
		*unsure = steps->zones[place].unsure;
		if (steps_are_kept(conf->zones[place]))
			return conf->zones[place];
	}
	return NULL;
}
