/* xfrd_refused.c - versions that the loader has refused. */
#include "config.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "dns/serial.h"
#include "xfrd/xfrd_refused.h"

static int
refused_compare(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

struct xfrd_refused_version *
xfrd_refused_find(const struct xfrd_zone_table *table,
	const struct xfrd_zone *zone)
{
	struct xfrd_refused_version **place;

	if (!zone->is_refused)
		return NULL;
	place = tfind(&zone->number, &table->refused, refused_compare);
	assert(place != NULL);
	return *place;
}

/* Finds that of a zone, or makes an empty one. NULL: no memory. */
static struct xfrd_refused_version *
refused_get(struct xfrd_zone_table *table, struct xfrd_zone *zone)
{
	struct xfrd_refused_version *refused = xfrd_refused_find(table, zone);

	if (refused != NULL)
		return refused;
	refused = calloc(1, sizeof(*refused));
	if (refused == NULL)
		return NULL;
	refused->number = zone->number;
	if (tsearch(refused, &table->refused, refused_compare) == NULL) {
		free(refused);
		return NULL;
	}
	zone->is_refused = true;
	table->refused_count++;
	return refused;
}

/* Copies a text of the loader. Names in it have their escapes already. */
static void
refused_copy_why(char why[IPC_WHY_MAX + 1], const char from[IPC_WHY_MAX])
{
	size_t len = strnlen(from, IPC_WHY_MAX);

	for (size_t i = 0; i < len; i++)
		why[i] = from[i] < ' ' || from[i] > '~' || from[i] == '"'
			? '?' : from[i];
	why[len] = '\0';
}

void
xfrd_refused_note(struct xfrd_zone_table *table, struct xfrd_zone *zone,
	const struct ipc_updated *updated, uint32_t primary)
{
	struct xfrd_refused_version *refused = refused_get(table, zone);

	assert(updated->refused != 0);
	table->refusals++;
	if (refused == NULL)
		return;
	if (refused->serial != updated->refused_serial || refused->times == 0) {
		refused->serial = updated->refused_serial;
		refused->times = 0;
		refused->since_msec = clock_now_msec();
	}
	refused->times++;
	refused->check = updated->refused & IPC_CHECK_ALL;
	refused->primary = primary;
	refused_copy_why(refused->why, updated->why);
}

void
xfrd_refused_drop(struct xfrd_zone_table *table, struct xfrd_zone *zone)
{
	struct xfrd_refused_version *refused = xfrd_refused_find(table, zone);

	if (refused == NULL)
		return;
	tdelete(refused, &table->refused, refused_compare);
	free(refused);
	zone->is_refused = false;
	assert(table->refused_count > 0);
	table->refused_count--;
}

uint32_t
xfrd_refused_accepts(const struct xfrd_zone_table *table,
	const struct xfrd_zone *zone, uint32_t serial)
{
	const struct xfrd_refused_version *refused = xfrd_refused_find(table,
		zone);

	if (refused == NULL || !refused->is_accepted)
		return 0;
	if (serial == refused->serial)
		return IPC_CHECK_ALL;
	return serial_is_newer(serial, refused->serial) ? refused->check : 0;
}

const char *
xfrd_refused_check_word(uint32_t check)
{
	switch (check) {
	case IPC_CHECK_CHANGE:
		return "xfr-max-change";
	case IPC_CHECK_DIGEST:
		return "zonemd-verify";
	case IPC_CHECK_SIGNED:
		return "dnssec-verify";
	default:
		return "verifier";
	}
}
