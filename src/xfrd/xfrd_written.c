/*
 * xfrd_written.c - outcomes of writing zone files, and the versions in these.
 *
 * The journal tells about files that were written before this process began: it
 * has what zone files do not hold, and nothing else (doc/decisions/0087).
 */
#include "config.h"

#include <string.h>

#include "journal/journal.h"
#include "xfrd/xfrd.h"

const char *
xfrd_written_why(const struct xfrd_written *done)
{
	return done->err == NSD_E_SYSTEM ? strerror(done->error)
					 : err_text((enum nsd_err)done->err);
}

bool
xfrd_written_find_serial(struct xfrd *xfrd, struct xfrd_zone *zone,
	uint32_t *serial)
{
	const struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	bool has_file = xfrd_options_file(&options) != NULL;
	struct journal_entry entry;
	struct xfrd_soa soa;

	xfrd_read_end(xfrd);
	if (!has_file || xfrd->journal == NULL
		|| !xfrd_zones_get_soa(xfrd, zone, &soa))
		return false;
	/* Without an entry the version came from the file, or is written to
	 * it. */
	if (!journal_find_serial(xfrd->journal, xfrd_zone_apex(zone),
		    soa.numbers.serial, &entry)) {
		*serial = soa.numbers.serial;
		return true;
	}
	if (journal_find_oldest(xfrd->journal, xfrd_zone_apex(zone), &entry)
		&& entry.kind == JOURNAL_DIFFS) {
		*serial = entry.from;
		return true;
	}
	/* Whole zones of the journal take the place of the file's version. */
	*serial = zone->written.file_serial;
	return zone->written.in_file;
}
