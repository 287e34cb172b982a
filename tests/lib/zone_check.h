/*
 * zone_check.h - takes a zone in the store apart: is it sound in itself, does
 * it equal another one in all but the places of its objects.
 */
#ifndef TESTS_LIB_ZONE_CHECK_H
#define TESTS_LIB_ZONE_CHECK_H

#include "store/store.h"
#include "zone/zone.h"

/* The checks return NULL, or a description of the fault in static memory. */

/* Holders are counted right, cells lead to the addresses of their names. */
const char *zone_check_sound(const struct store_view *view, store_ref zone,
	const uint8_t *apex);

/* Same names, flags, records, targets, addresses, facts, shape of tries. */
const char *zone_check_equal(const struct store_view *view, store_ref a,
	store_ref b);

/* Objects that several can hold. */
struct zone_check_shared {
	size_t rrsets;
	size_t templates;
	size_t nsec3_templates;
};

/* Octets of all that the zone leads to and nothing else does, as the store
 * counts them. shared may be NULL. */
size_t zone_check_octets(const struct store_view *view, store_ref zone,
	struct zone_check_shared *shared);

/* The zone as readers of this version see it, as text; release with free. */
char *zone_check_print(const struct store_view *view, store_ref zone,
	const uint8_t *apex);

#endif
