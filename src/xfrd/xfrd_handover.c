/*
 * xfrd_handover.c - state of a zone that outlives a change of its options:
 * whether all targets of NOTIFY have acknowledged the serial, the outcome of
 * the last try to write it to its file, and how long a secondary zone may be
 * answered from. A zone whose targets or file, or xfrdir, are others begins
 * without the first two.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "xfrd/xfrd.h"

static void
handover_hash(uint64_t *hash, const char *text)
{
	do
		*hash = (*hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	while (*text++ != '\0');
}

/* Returns a hash of the options that count. */
static uint64_t
handover_hash_options(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	uint32_t count = xfrd_options_count(&options, SETTINGS_NOTIFY);
	const char *file = xfrd_options_file(&options);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	handover_hash(&hash, file != NULL ? file : "");
	/* xfrdir is the place of the copy, if the zone's file cannot be
	 * written. */
	handover_hash(&hash, xfrd->role.server->conf->server.xfrdir);
	for (uint32_t i = 0; i < count; i++) {
		struct settings_texts target = xfrd_options_texts(&options,
			SETTINGS_NOTIFY, i);

		handover_hash(&hash, target.spec);
		handover_hash(&hash, target.key_name != NULL ? target.key_name
							 : "");
	}
	xfrd_read_end(xfrd);
	return hash;
}

bool
xfrd_handover_get(struct xfrd *xfrd, const struct xfrd_zone *zone,
	int64_t now, struct xfrd_handover *handover)
{
	struct xfr_status status;

	if (zone->handle == XFR_NONE)
		return false;
	memset(handover, 0, sizeof(*handover));
	xfr_get_status(xfrd->zones.machine, zone->handle, now, &status);
	handover->serial = status.soa.serial;
	handover->is_told = status.is_told;
	handover->expire_at = XFR_NEVER;
	if (status.has_data && status.expire_at != XFR_NEVER) {
		handover->acquired_at = status.acquired_at;
		handover->expire_at = status.expire_at;
		handover->lifetime_msec = status.lifetime_msec;
	}
	handover->written = zone->written;
	if (handover->written.at_sec == 0 && !handover->is_told
		&& handover->expire_at == XFR_NEVER)
		return false;
	/* The hash of the zone's present options: it may not have the published
	 * ones yet. */
	handover->options = zone->options;
	return true;
}

/* Finds the state that a zone has handover. NULL: none. */
static const struct xfrd_handover *
handover_find(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	return zone->past != NULL
			&& zone->past->handover.options
				== handover_hash_options(xfrd, zone)
		? &zone->past->handover : NULL;
}

void
xfrd_handover_get_start(struct xfrd *xfrd, const struct xfrd_zone *zone,
	struct xfr_start *start)
{
	const struct xfrd_handover *handover = zone->past != NULL
		? &zone->past->handover : NULL;

	assert(zone->handle == XFR_NONE);
	if (handover == NULL || !start->has_data
		|| handover->serial != start->soa.serial)
		return;
	start->is_told = handover->is_told == 1
		&& handover_find(xfrd, zone) != NULL;
	if (handover->expire_at == XFR_NEVER)
		return;
	start->acquired_at = handover->acquired_at;
	start->expire_at = handover->expire_at;
	start->lifetime_msec = handover->lifetime_msec;
}

bool
xfrd_handover_is_other(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	return zone->handle != XFR_NONE
		&& zone->options != handover_hash_options(xfrd, zone);
}

void
xfrd_handover_get_written(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	const struct xfrd_handover *handover = handover_find(xfrd, zone);

	assert(zone->handle != XFR_NONE);
	zone->options = handover_hash_options(xfrd, zone);
	if (handover != NULL && handover->written.at_sec != 0)
		zone->written = handover->written;
}
