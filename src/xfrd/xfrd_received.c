/* xfrd_received.c - the last transfer of each zone: its kind, octets and
 * time. */
#include "config.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "base/log.h"
#include "xfrd/xfrd.h"

const char *
xfrd_received_kind(const struct xfrd_received *last)
{
	return last->is_diffs ? "IXFR"
		: last->asked_diffs ? "AXFR for IXFR"
				    : "AXFR";
}

static bool
received_make_room(struct xfrd *xfrd, uint32_t handle)
{
	while (handle >= xfrd->received_room) {
		size_t old = xfrd->received_room;
		struct xfrd_received *more = grow_array(xfrd->received, old,
			&xfrd->received_room, sizeof(*more));

		if (more == NULL)
			return false;
		memset(more + old, 0, (xfrd->received_room - old)
			* sizeof(*more));
		xfrd->received = more;
	}
	return true;
}

void
xfrd_received_note(const struct xfrd_job *job, const char *received)
{
	const struct xfr_read_result *result = &job->reader.result;
	int64_t usec = job->ended_usec - job->began_usec;
	struct xfrd_received last = {
		.at_sec = (uint32_t)time(NULL),
		.octets = result->received < UINT32_MAX
			? (uint32_t)result->received : UINT32_MAX,
		.msec = (uint32_t)(usec / 1000),
		.primary = (uint16_t)job->action.primary,
		.is_diffs = result->kind == XFR_DIFFS,
		.asked_diffs = job->action.way != XFR_WAY_AXFR,
	};

	log_at(1, LOG_LEVEL_INFO, "zone %s. %s of %"PRIu64" bytes in %g"
		" seconds, %s", job->zone->name, received, result->received,
		(double)usec / 1e6, xfrd_received_kind(&last));
	/* One that waited for nobody has no zone any more. */
	if (job->ticket != XFR_NO_TICKET
		&& received_make_room(job->xfrd, job->action.zone))
		job->xfrd->received[job->action.zone] = last;
}

bool
xfrd_received_get(const struct xfrd *xfrd, uint32_t handle,
	struct xfrd_received *last)
{
	if (handle >= xfrd->received_room
		|| xfrd->received[handle].at_sec == 0)
		return false;
	*last = xfrd->received[handle];
	return true;
}

void
xfrd_received_forget(struct xfrd *xfrd, uint32_t handle)
{
	if (handle < xfrd->received_room)
		memset(&xfrd->received[handle], 0, sizeof(*xfrd->received));
}
