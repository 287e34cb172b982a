/* state_time.c - dates of xfrd.state as times of the machine's clock. */
#include "config.h"

#include <string.h>

#include "xfr/state.h"

#define MSEC INT64_C(1000)

/* Dates may be this much ahead, as clocks are set by small steps. NSD's
 * bound. */
#define AHEAD_SEC 15

/* No zone lives this long, and no file is this old. */
#define AGE_MAX_SEC (INT64_C(10) * 365 * 86400 * 100)

/* Returns the file's SOA with this serial; NULL: none. One with a possible date
 * is preferred. */
static const struct xfr_state_soa *
time_of_soa(const struct xfr_state_zone *zone, int64_t real_sec,
	uint32_t serial)
{
	static const enum xfr_state_which order[] = {
		XFR_STATE_DISK,
		XFR_STATE_NSD,
	};
	const struct xfr_state_soa *found = NULL;

	for (unsigned i = 0; zone != NULL && i < 2; i++) {
		const struct xfr_state_soa *soa = &zone->soas[order[i]];

		if (soa->acquired_sec == 0 || soa->serial != serial)
			continue;
		if (soa->acquired_sec <= real_sec + AHEAD_SEC)
			return soa;
		found = soa;
	}
	return found;
}

static int64_t
bound_time(int64_t n, int64_t least, int64_t most)
{
	return n < least ? least : n > most ? most : n;
}

void
xfr_state_to_start(const struct xfr_state_zone *zone, int64_t filetime_sec,
	const struct xfr_state_clocks *clocks, const struct xfr_soa *served,
	struct xfr_start *start)
{
	int64_t real_sec = clocks->real_sec, age_sec;
	const struct xfr_state_soa *soa;

	*start = (struct xfr_start){.acquired_at = clocks->now,
		.check_at = clocks->now, .expire_at = XFR_NEVER};
	/* NSD goes on counting while a zone that is well waits for its
	 * refresh. */
	if (zone != NULL && zone->state != XFR_STATE_OK)
		start->failed_rounds = zone->backoff;
	if (served == NULL)
		return;
	start->has_data = true;
	start->soa = *served;
	soa = time_of_soa(zone, real_sec, served->serial);
	if (soa == NULL)
		return;
	/* An expired zone stays expired, whatever the dates are. */
	if (zone->state == XFR_STATE_EXPIRED)
		start->expire_at = clocks->now;
	if (soa->acquired_sec > real_sec + AHEAD_SEC)
		return;
	age_sec = bound_time(real_sec - soa->acquired_sec, 0, AGE_MAX_SEC);
	start->acquired_at = clocks->now - age_sec * MSEC;
	/* The date of a file may lie in the future: its pauses are of no use
	 * then. */
	if (filetime_sec > real_sec + AHEAD_SEC)
		return;
	age_sec = bound_time(real_sec - filetime_sec, 0, AGE_MAX_SEC);
	if (zone->next_timeout_sec > age_sec)
		start->check_at = clocks->now
			+ (zone->next_timeout_sec - age_sec) * MSEC;
}

static void
fill_soa(struct xfr_state_soa *to, const struct xfr_soa *soa,
	const struct xfr_state_clocks *clocks, int64_t at)
{
	int64_t date = clocks->real_sec - (clocks->now - at) / MSEC;

	to->acquired_sec = date < 1 ? 1 : date;
	to->serial = soa->serial;
	to->refresh_sec = soa->refresh_sec;
	to->retry_sec = soa->retry_sec;
	to->expire_sec = soa->expire_sec;
}

void
xfr_state_from_status(const struct xfr_status *status,
	const struct xfr_state_clocks *clocks, struct xfr_state_zone *zone)
{
	int64_t left = 0;

	memset(zone, 0, sizeof(*zone));
	zone->state = status->state;
	/* Without data NSD says refreshing. */
	if (!status->has_data)
		zone->state = XFR_STATE_REFRESHING;
	if (status->next_primary != XFR_NONE)
		zone->master = status->next_primary;
	zone->next_master = zone->round_num = -1;
	if (status->check_at != XFR_NEVER)
		left = (status->check_at - clocks->now) / MSEC;
	zone->next_timeout_sec = (uint32_t)bound_time(left, 0, UINT32_MAX);
	zone->backoff = status->failed_rounds;
	if (!status->has_data)
		return;
	fill_soa(&zone->soas[XFR_STATE_NSD], &status->soa, clocks,
		status->served_at);
	fill_soa(&zone->soas[XFR_STATE_DISK], &status->soa, clocks,
		status->acquired_at);
}
