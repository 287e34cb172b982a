/*
 * xfrd_written.c - what became of zone files that were to be written, and what
 * they hold.
 *
 * What was before this process began is known by the journal: it has what zone
 * files do not hold, and nothing else (doc/decisions/0087).
 */
#include "config.h"

#include <string.h>

#include "base/grow.h"
#include "conf/conf.h"
#include "journal/journal.h"
#include "xfrd/xfrd.h"

struct xfrd_written *
xfrd_written_edit(struct xfrd_writes *writes, uint32_t handle)
{
	while (handle != XFR_NONE && handle >= writes->done_room) {
		size_t old = writes->done_room;
		struct xfrd_written *done = grow_array(writes->done, old,
			&writes->done_room, sizeof(*done));

		if (done == NULL)
			return NULL;
		memset(done + old, 0, (writes->done_room - old)
			* sizeof(*done));
		writes->done = done;
	}
	return handle != XFR_NONE ? &writes->done[handle] : NULL;
}

bool
xfrd_written_get(const struct xfrd *xfrd, uint32_t handle,
	struct xfrd_written *done)
{
	if (handle >= xfrd->writes.done_room
		|| xfrd->writes.done[handle].at_sec == 0)
		return false;
	*done = xfrd->writes.done[handle];
	return true;
}

void
xfrd_written_forget(struct xfrd *xfrd, uint32_t handle)
{
	if (handle < xfrd->writes.done_room)
		memset(&xfrd->writes.done[handle], 0,
			sizeof(*xfrd->writes.done));
}

const char *
xfrd_written_why(const struct xfrd_written *done)
{
	return done->err == NSD_E_SYSTEM ? strerror(done->error)
					 : err_text((enum nsd_err)done->err);
}

bool
xfrd_written_find_serial(struct xfrd *xfrd, const struct conf_zone *zone,
	uint32_t *serial)
{
	uint32_t handle = xfrd->zones.handles[zone->index];
	struct journal_entry entry;
	struct xfrd_written done;
	struct xfrd_soa soa;

	if (zone->zonefile == NULL || xfrd->journal == NULL
		|| !xfrd_zones_get_soa(xfrd, zone, &soa))
		return false;
	/* Else it came from the file, or is written. */
	if (!journal_find_serial(xfrd->journal, zone->wire,
		    soa.numbers.serial, &entry)) {
		*serial = soa.numbers.serial;
		return true;
	}
	if (journal_find_oldest(xfrd->journal, zone->wire, &entry)
		&& entry.kind == JOURNAL_DIFFS) {
		*serial = entry.from;
		return true;
	}
	/* Whole zones take the place of what the file holds. */
	if (handle == XFR_NONE || !xfrd_written_get(xfrd, handle, &done)
		|| !done.in_file)
		return false;
	*serial = done.file_serial;
	return true;
}
