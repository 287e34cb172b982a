/*
 * zone_fixture.h - zones from strings: text -> records -> zone in a store ->
 * table, all in one process.
 */
#ifndef TESTS_LIB_ZONE_FIXTURE_H
#define TESTS_LIB_ZONE_FIXTURE_H

#include "base/diag.h"
#include "base/err.h"
#include "store/store.h"
#include "zone/zone.h"

struct store_writer;

struct zone_fixture {
	struct store *store;
	struct store_writer *writer;
	const struct store_view *view;
	unsigned threads;      /* of builds; 1 */
	bool secondary;        /* builds are a secondary's */
	uint32_t nsec3_iterations_max; /* of builds; 0: the default */
	struct diag_sink sink; /* counts of the last build */
	char findings[16384];  /* "file:line: severity: text\n" of that */
};

/* Makes a store with nothing in it. Aborts the test program on failure, as
 * all functions here do where they return nothing. */
void zone_fixture_init(struct zone_fixture *f);
void zone_fixture_fini(struct zone_fixture *f);

/* Parses and builds; the zone is not published. apex: presentation format.
 * returns what the parser or build_zone did. */
enum nsd_err zone_fixture_build(struct zone_fixture *f, const char *apex,
	const char *text, store_ref *zone);

/* As zone_fixture_build, and serves the zone: adds it to the table or gives
 * its new version to the one that is there. entry may be NULL. */
enum nsd_err zone_fixture_load(struct zone_fixture *f, const char *apex,
	const char *text, store_ref *entry);

/* The node of a name (presentation format) in a zone, or NULL. */
const struct node *zone_fixture_find(const struct zone_fixture *f,
	store_ref zone, const char *apex, const char *name);

/* A name of presentation format as wire, in static memory of which the last
 * eight calls are good. */
const uint8_t *zone_fixture_name(const char *text);

#endif
