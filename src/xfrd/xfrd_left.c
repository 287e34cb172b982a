/*
 * xfrd_left.c - state of a zone that outlives a change of its options: whether
 * all targets of NOTIFY have acknowledged the serial, the outcome of the last
 * try to write it to its file, and how long a secondary zone may be answered
 * from. A zone whose targets or file, or xfrdir, are others begins without the
 * first two.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "xfrd/xfrd.h"

static void
left_hash(uint64_t *hash, const char *text)
{
	do
		*hash = (*hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	while (*text++ != '\0');
}

/* Returns a hash of the options that count. */
static uint64_t
left_hash_options(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	uint32_t count = xfrd_options_count(&options, SETTINGS_NOTIFY);
	const char *file = xfrd_options_file(&options);
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	left_hash(&hash, file != NULL ? file : "");
	/* xfrdir is the place of the copy, if the zone's file cannot be
	 * written. */
	left_hash(&hash, xfrd->role.server->conf->server.xfrdir);
	for (uint32_t i = 0; i < count; i++) {
		struct settings_texts target = xfrd_options_texts(&options,
			SETTINGS_NOTIFY, i);

		left_hash(&hash, target.spec);
		left_hash(&hash, target.key_name != NULL ? target.key_name
							 : "");
	}
	xfrd_read_end(xfrd);
	return hash;
}

bool
xfrd_left_get(struct xfrd *xfrd, const struct xfrd_zone *zone,
	int64_t now, struct xfrd_left_zone *left)
{
	struct xfr_status status;

	if (zone->handle == XFR_NONE)
		return false;
	memset(left, 0, sizeof(*left));
	xfr_get_status(xfrd->zones.machine, zone->handle, now, &status);
	left->serial = status.soa.serial;
	left->is_told = status.is_told;
	left->expire_at = XFR_NEVER;
	if (status.has_data && status.expire_at != XFR_NEVER) {
		left->acquired_at = status.acquired_at;
		left->expire_at = status.expire_at;
		left->lifetime_msec = status.lifetime_msec;
	}
	left->written = zone->written;
	if (left->written.at_sec == 0 && !left->is_told
		&& left->expire_at == XFR_NEVER)
		return false;
	/* The hash of the zone's present options: it may not have the published
	 * ones yet. */
	left->options = zone->options;
	return true;
}

/* Finds the state that a zone has left. NULL: none. */
static const struct xfrd_left_zone *
left_find(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	return zone->past != NULL
			&& zone->past->left.options
				== left_hash_options(xfrd, zone)
		? &zone->past->left : NULL;
}

void
xfrd_left_get_start(struct xfrd *xfrd, const struct xfrd_zone *zone,
	struct xfr_start *start)
{
	const struct xfrd_left_zone *left = zone->past != NULL
		? &zone->past->left : NULL;

	assert(zone->handle == XFR_NONE);
	if (left == NULL || !start->has_data
		|| left->serial != start->soa.serial)
		return;
	start->is_told = left->is_told == 1 && left_find(xfrd, zone) != NULL;
	if (left->expire_at == XFR_NEVER)
		return;
	start->acquired_at = left->acquired_at;
	start->expire_at = left->expire_at;
	start->lifetime_msec = left->lifetime_msec;
}

bool
xfrd_left_is_other(struct xfrd *xfrd, const struct xfrd_zone *zone)
{
	return zone->handle != XFR_NONE
		&& zone->options != left_hash_options(xfrd, zone);
}

void
xfrd_left_get_written(struct xfrd *xfrd, struct xfrd_zone *zone)
{
	const struct xfrd_left_zone *left = left_find(xfrd, zone);

	assert(zone->handle != XFR_NONE);
	zone->options = left_hash_options(xfrd, zone);
	if (left != NULL && left->written.at_sec != 0)
		zone->written = left->written;
}
