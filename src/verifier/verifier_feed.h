/*
 * verifier_feed.h - writes a zone to the program that judges it.
 */
#ifndef VERIFIER_VERIFIER_FEED_H
#define VERIFIER_VERIFIER_FEED_H

#include <stdint.h>

#include "base/err.h"
#include "store/store.h"
#include "zone/zone.h"

struct verifier_feed {
	const struct store_view *view;
	const struct zone *zone;
	const uint8_t *apex;
	int fed_fd; /* is closed once the zone has been read from the store */
};

/*
 * In a process of its own, which ends then: writes the zone as text to fd,
 * until nobody reads any more. After SIGUSR1 it does not wait for the reader,
 * but reads the rest of the zone into a file in memory first. The verifier
 * keeps the version from being freed until fed_fd is closed.
 * returns NSD_OK, also if the reader has read enough; NSD_E_MEMORY,
 *     NSD_E_SYSTEM: the reader gets a part of the zone.
 */
enum nsd_err verifier_feed_write(const struct verifier_feed *feed, int fd)
	MUST_USE;

#endif
