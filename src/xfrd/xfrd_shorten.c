/* xfrd_shorten.c - keeps what the journal has of a zone from growing without an
 * end. */
#include "config.h"

#include <assert.h>

#include "journal/journal.h"
#include "xfrd/xfrd.h"

/* Octets of differences in the journal for each record of the zone, beside a
 * number of octets for any zone. More than that is mostly more than the zone
 * itself. At half of the bound the zone's file is written, and the journal
 * forgets the differences. */
#define RECORD_OCTETS 512u

/* Has the zone's file written. A try that failed is made again by the clock. */
static void
shorten_write(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool has_file = xfrd_options_file(&options) != NULL;

	xfrd_read_end(xfrd);
	if (!has_file || xfrd->role.server->conf->server.zonefiles_write == 0
		|| zone->written.err != NSD_OK)
		return;
	if (xfrd_write(xfrd, xfrd_zone_apex(zone), NULL, NULL) != NSD_OK)
		return; /* the next version asks again */
}

bool
xfrd_shorten(struct xfrd *xfrd, struct xfrd_zone *zone, uint64_t least,
	uint64_t *octets)
{
	const uint8_t *apex = xfrd_zone_apex(zone);
	struct journal_entry newest, oldest;
	struct xfrd_soa soa;
	uint64_t most;

	assert(xfrd->journal != NULL);
	if (!journal_find_newest(xfrd->journal, apex, &newest, octets)
		|| newest.kind == JOURNAL_WHOLE
		|| *octets < least / 2
		|| !journal_find_oldest(xfrd->journal, apex, &oldest)
		|| !xfrd_zones_get_soa(xfrd, zone, &soa))
		return false;
	most = least + soa.records * RECORD_OCTETS;
	/* A zone of large records would be written whole again and again. */
	if (oldest.kind == JOURNAL_WHOLE)
		most += 2 * oldest.text_len;
	if (*octets >= most)
		return true;
	if (*octets >= most / 2)
		shorten_write(xfrd, zone);
	return false;
}
