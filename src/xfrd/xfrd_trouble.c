/* xfrd_trouble.c - finds trouble, and counts it for metrics. */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "journal/journal.h"
#include "process/counts.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"

/* Zones in one turn of the loop. */
#define TURN_ZONES 500u
/* A count is good for this many times the time that it took: see struct
 * xfrd_trouble. */
#define GOOD_FACTOR 20

/* ---- a zone -------------------------------------------------------------- */

static enum statistics_zone_trouble
trouble_of_secondary(const struct xfrd_zone *zone,
	const struct xfr_status *status)
{
	if (status->has_data && status->state == XFR_STATE_EXPIRED)
		return STATISTICS_ZONE_EXPIRED;
	if (status->failed_rounds > 0)
		return status->has_data ? STATISTICS_ZONE_NOT_REFRESHED
					: STATISTICS_ZONE_NO_DATA;
	return zone->written.err != NSD_OK ? STATISTICS_ZONE_NOT_WRITTEN
					   : STATISTICS_ZONE_WELL;
}

static enum statistics_zone_trouble
trouble_of_primary(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct journal_entry entry;
	struct xfrd_soa soa;

	if (!xfrd_zones_get_soa(xfrd, zone, &soa))
		return STATISTICS_ZONE_NOT_LOADED;
	if (soa.file_failed)
		return STATISTICS_ZONE_AS_IT_WAS;
	/* A primary that took updates may take none any more. */
	return zone->written.err != NSD_OK && xfrd->journal != NULL
			&& journal_find_serial(xfrd->journal,
				xfrd_zone_apex(zone), soa.numbers.serial,
				&entry)
		? STATISTICS_ZONE_NOT_WRITTEN : STATISTICS_ZONE_WELL;
}

const struct xfrd_said_way *
xfrd_trouble_find_notify(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	const struct xfrd_said_way *way = zone->said;
	uint32_t targets;

	if (way == NULL)
		return NULL;
	targets = xfrd_zone_count(xfrd, zone, SETTINGS_NOTIFY);
	while (way != NULL && !(way->is_notify && way->is_final
			&& way->server < targets))
		way = way->next;
	return way;
}

static enum statistics_zone_trouble
trouble_of_data(struct xfrd *xfrd, struct xfrd_zone *zone,
	struct xfr_status *status)
{
	status->has_data = false;
	if (!xfrd_zone_is_secondary(xfrd, zone))
		return trouble_of_primary(xfrd, zone);
	if (zone->handle == XFR_NONE)
		return STATISTICS_ZONE_WELL;
	xfr_get_status(xfrd->zones.machine, zone->handle, clock_now_msec(),
		status);
	return trouble_of_secondary(zone, status);
}

enum statistics_zone_trouble
xfrd_trouble_find(struct xfrd *xfrd, struct xfrd_zone *zone,
	struct xfr_status *status)
{
	enum statistics_zone_trouble trouble;

	xfrd_read_begin(xfrd);
	trouble = trouble_of_data(xfrd, zone, status);
	if (trouble == STATISTICS_ZONE_WELL
		&& xfrd_trouble_find_notify(xfrd, zone) != NULL)
		trouble = STATISTICS_ZONE_NOT_HEARD;
	xfrd_read_end(xfrd);
	return trouble;
}

/* ---- the rest ------------------------------------------------------------ */

static void
trouble_count_processes(const struct counts *counts,
	struct statistics_trouble *found)
{
	/* Names of processes; a number may follow. */
	static const char *const names[STATISTICS_PROCESSES] = {
		[STATISTICS_LOADER] = "loader",
		[STATISTICS_XFRD] = "xfrd",
		[STATISTICS_SERVER] = "server",
	};
	int64_t now = clock_now_msec();

	for (unsigned i = 0; i < counts_workers(counts) + 3; i++) {
		struct counts_process p;

		if (!counts_get_process(counts, i, &p) || p.deaths == 0)
			continue;
		if (p.in_hand_msec != 0 && now - p.in_hand_msec
				<= XFRD_TROUBLE_IN_HAND_MSEC)
			found->in_hand++;
		for (unsigned j = 0; j < STATISTICS_PROCESSES; j++)
			if (strncmp(p.name, names[j], strlen(names[j])) == 0)
				found->deaths[j] += p.deaths;
	}
}

static void
trouble_count_rest(const struct xfrd *xfrd, struct statistics_trouble *found)
{
	const char *line = xfrd->role.server->waiting;
	const struct xfrd_catalog *catalog;
	const struct xfrd_folder *folder;
	char why[XFRD_ERROR_MAX];

	cds_list_for_each_entry(catalog, &xfrd->catalogs, node)
		found->catalogs += *xfrd_catalog_print_invalid(catalog, why,
			sizeof(why)) != '\0';
	cds_list_for_each_entry(folder, &xfrd->folders.list, node)
		found->catalogs += *xfrd_folder_print_fault(folder, why,
			sizeof(why)) != '\0';
	trouble_count_processes(xfrd->role.server->counts, found);
	found->refused_zones = xfrd->zones.table.refused_count;
	found->refusals = xfrd->zones.table.refusals;
	found->no_journal = xfrd->journal == NULL;
	found->no_changes = xfrd->changes == NULL;
	while (*line != '\0') {
		line += strcspn(line, "\n");
		line += *line == '\n';
		found->waiting++;
	}
}

/* ---- a count ------------------------------------------------------------- */

void
xfrd_trouble_want(struct xfrd *xfrd)
{
	struct xfrd_trouble *t = &xfrd->trouble;

	/* A count that was left before its end is old. */
	if (t->waiting++ > 0)
		return;
	t->next = 0;
	t->worked_usec = 0;
	memset(&t->sum, 0, sizeof(t->sum));
}

void
xfrd_trouble_leave(struct xfrd *xfrd)
{
	assert(xfrd->trouble.waiting > 0);
	xfrd->trouble.waiting--;
}

static void
trouble_count_zone(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	struct statistics_trouble *sum = &xfrd->trouble.sum;
	enum statistics_zone_trouble trouble;
	struct xfr_status status;

	trouble = xfrd_trouble_find(xfrd, zone, &status);
	assert(trouble < sizeof(sum->zones) / sizeof(*sum->zones));
	sum->zones[trouble]++;
	if (status.has_data) {
		int64_t age = clock_now_msec() - status.acquired_at;

		if (age > sum->oldest_refresh_msec)
			sum->oldest_refresh_msec = age;
	}
}

/* Zones may come and go meanwhile: some may be left out. */
static void
trouble_count_some(struct xfrd *xfrd)
{
	const struct xfrd_zone_table *table = &xfrd->zones.table;
	struct xfrd_trouble *t = &xfrd->trouble;
	int64_t begin = clock_now_usec(), now;

	for (unsigned i = 0; i < TURN_ZONES && t->next < table->end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, t->next++);

		if (zone != NULL)
			trouble_count_zone(xfrd, zone);
	}
	now = clock_now_usec();
	t->worked_usec += now - begin;
	if (t->next < table->end)
		return;
	t->counted = t->sum;
	t->good_until_usec = now + 1 + t->worked_usec * GOOD_FACTOR;
	t->next = 0;
	t->worked_usec = 0;
	memset(&t->sum, 0, sizeof(t->sum));
}

bool
xfrd_trouble_count(struct xfrd *xfrd, struct statistics_trouble *found)
{
	struct xfrd_trouble *t = &xfrd->trouble;
	int64_t now = clock_now_usec();

	assert(t->waiting > 0);
	if (t->good_until_usec == 0 || now >= t->good_until_usec)
		trouble_count_some(xfrd);
	if (t->good_until_usec == 0 || now >= t->good_until_usec)
		return false;
	*found = t->counted;
	trouble_count_rest(xfrd, found);
	return true;
}
