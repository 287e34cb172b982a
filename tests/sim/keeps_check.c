/* keeps_check.c - the checks of the simulation of keeping. */
#include "config.h"

#include <string.h>

#include "journal/state.h"
#include "lib/fake_clock.h"
#include "sim/keeps.h"

#define SLACK_MSEC 2500 /* dates are seconds */
/* The bound in xfrd_keep_bound.c, and some entries, as xfrd may have died
 * at it. */
#define OCTETS_MAX (UINT64_C(128) << 20)
/* Texts of zones with pads may be longer than a segment. */
#define TEXT_MAX (UINT64_C(2) << 20)

struct xfrd_zone *
keeps_find_zone(unsigned number)
{
	return xfrd_zone_find(&sim.xfrd->zones.table, zone_apex(number));
}

bool
keeps_get_status(unsigned number, struct xfr_status *status)
{
	const struct xfrd_zone *zone = keeps_find_zone(number);

	if (zone == NULL || zone->handle == XFR_NONE)
		return false;
	xfr_get_status(sim.xfrd->zones.machine, zone->handle,
		fake_clock_msec, status);
	return true;
}

/* ---- timers -------------------------------------------------------------- */

/* A time that was kept: it is no later now, and no earlier than this. */
static void
check_kept(unsigned number, const char *what, int64_t is, int64_t was,
	int64_t least)
{
	if (is > was + SLACK_MSEC || is < least - SLACK_MSEC)
		fail("z%u: %s was %lld before the stop and is %lld", number,
			what, (long long)was, (long long)is);
}

/* A zone has begun after a stop. It may expire a little earlier: after the
 * death of an xfrd, the file may have an older date than the store. */
static void
check_timers_kept(unsigned number, const struct xfr_status *status)
{
	struct zone_model *zone = &sim.zones[number];
	int64_t expires = status->acquired_at + EXPIRE_SEC * 1000;

	zone->has_kept = false;
	if (loader_version(number) != zone->kept || zone->was_poked)
		return;
	check_kept(number, "acquired", status->acquired_at,
		zone->kept_acquired_at, zone->kept_acquired_at);
	/* A zone that has expired stays so. */
	if (zone->kept_expire_at <= fake_clock_msec
		&& status->expire_at > fake_clock_msec)
		fail("z%u has expired before the stop, and has not now",
			number);
	if (zone->kept_expire_at > fake_clock_msec)
		check_kept(number, "expiry", status->expire_at,
			zone->kept_expire_at, expires < zone->kept_expire_at
				? expires : zone->kept_expire_at);
	if (zone->kept_check_at != XFR_NEVER
		&& zone->kept_check_at > fake_clock_msec + SLACK_MSEC)
		check_kept(number, "check", status->check_at,
			zone->kept_check_at, zone->kept_check_at);
}

static void
check_timers(unsigned number)
{
	struct zone_model *zone = &sim.zones[number];
	struct xfr_status status;

	if (!keeps_get_status(number, &status) || !status.has_data)
		return;
	/* A version that xfrd sees counts as fresh. */
	if (zone->is_unheard || (zone->seen != loader_version(number)
		&& status.soa.serial
			== zone->serials[loader_version(number)])) {
		zone_hear(number);
		zone->seen = loader_version(number);
	}
	zone->has_expired |= status.state == XFR_STATE_EXPIRED;
	if (zone->has_kept)
		check_timers_kept(number, &status);
	if (status.expire_at > zone->heard_msec + EXPIRE_SEC * 1000
			+ SLACK_MSEC * (1 + zone->begins))
		fail("z%u expires %lld ms after the last word of a primary",
			number, (long long)(status.expire_at
			- zone->heard_msec));
	if (!status.is_checking && status.check_at > fake_clock_msec
			+ REFRESH_SEC * 1000 + SLACK_MSEC)
		fail("z%u is checked in %lld ms", number,
			(long long)(status.check_at - fake_clock_msec));
}

/* Adds the octets of differences. */
static bool
add_octets(void *ctx, const struct journal_entry *entry)
{
	uint64_t *octets = ctx;

	if (entry->kind == JOURNAL_DIFFS)
		*octets += entry->text_len;
	return true;
}

static void
check_octets(unsigned number)
{
	uint64_t octets = 0;

	(void)journal_each(sim.xfrd->journal, zone_apex(number), add_octets,
		&octets);
	if (octets * JOURNAL_SCALE > OCTETS_MAX)
		fail("z%u: the journal has %llu octets of differences", number,
			(unsigned long long)octets);
}

/* Checks the bound in journal.h. */
static void
check_disk(void)
{
	struct journal_usage usage;
	uint64_t segment = sim.xfrd->journal->segment_size;

	journal_get_usage(sim.xfrd->journal, &usage);
	if (usage.disk_octets > 3 * (usage.live_octets + 200 * usage.entries)
			+ 4 * segment + TEXT_MAX)
		fail("the journal has %llu octets on the disk, %llu live",
			(unsigned long long)usage.disk_octets,
			(unsigned long long)usage.live_octets);
}

/* Checks what a start would publish if the power failed now. */
static void
check_flushed(void)
{
	int dirfd = disk_open_flushed();

	loader_check_folder(dirfd);
	disk_close_flushed(dirfd);
}

void
keeps_check_all(void)
{
	for (unsigned i = 0; i < ZONES && sim.xfrd != NULL; i++)
		check_timers(i);
	if (one_in(sim.calm ? 200 : 40))
		check_flushed();
}

/* ---- moments ------------------------------------------------------------- */

void
keeps_check_begin(void)
{
	for (unsigned i = 0; i < ZONES; i++) {
		sim.zones[i].begins++;
		sim.zones[i].has_expired = false;
		sim.zones[i].is_unheard = !sim.zones[i].has_kept
			&& loader_expiry(i) == 0;
		if (sim.zones[i].is_unheard)
			sim.zones[i].seen = NO_VERSION;
	}
}

void
keeps_check_stop(void)
{
	struct xfr_status status;

	for (unsigned i = 0; i < ZONES; i++) {
		struct zone_model *zone = &sim.zones[i];

		zone->has_kept = keeps_get_status(i, &status) && status.has_data
			&& sim.xfrd->zones.told && !sim.xfrd->state.failed
			&& loader_version(i) != NO_VERSION
			&& status.soa.serial
				== zone->serials[loader_version(i)];
		if (!zone->has_kept)
			continue;
		zone->was_poked = false;
		zone->kept = loader_version(i);
		zone->kept_acquired_at = status.acquired_at;
		zone->kept_check_at = status.is_checking ? XFR_NEVER
			: status.check_at;
		zone->kept_expire_at = status.expire_at;
	}
}

void
keeps_check_written(void)
{
	struct journal_entry entry;

	for (unsigned i = 0; i < ZONES; i++) {
		const struct zone_model *zone = &sim.zones[i];
		bool has = journal_find_oldest(sim.xfrd->journal, zone_apex(i),
			&entry);

		if (zone->has_file && zone->file != zone->newest)
			fail("z%u: its file has version %d of %d", i,
				zone->file, zone->newest);
		if (zone->has_file && has)
			fail("z%u: the journal has what its file has", i);
		if (!zone->has_file && !has)
			fail("z%u: nothing has it", i);
		check_octets(i);
	}
	check_disk();
	check_flushed();
}
