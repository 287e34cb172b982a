/* xfrd_received.c - the last transfer of each zone: its kind, octets and
 * time. */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <time.h>

#include "base/log.h"
#include "xfrd/xfrd.h"

const char *
xfrd_received_kind(const struct xfrd_received *last)
{
	return last->is_diffs ? "IXFR"
		: last->asked_diffs ? "AXFR for IXFR"
				    : "AXFR";
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
		.asked_diffs = job->action.query != XFR_QUERY_AXFR,
	};

	assert(usec >= 0);
	log_at(1, LOG_LEVEL_INFO, "zone %s. %s of %"PRIu64" bytes in %g"
		" seconds, %s", job->name, received, result->received,
		(double)usec / 1e6, xfrd_received_kind(&last));
	/* A cancelled job may have no zone any more. */
	if (job->ticket != XFR_NO_TICKET)
		job->zone->received = last;
}
