/* fixture.h - an xfrd that reads a store, and the loader that fills it, for
 * tests. */
#ifndef TESTS_UNIT_XFRD_FIXTURE_H
#define TESTS_UNIT_XFRD_FIXTURE_H

#include "lib/store_fixture.h"
#include "xfrd/xfrd.h"

/* A fixture a test, so that memory that is left is a leak of that test. */
struct xfrd_fixture {
	struct store_fixture store;
	struct server server; /* conf: the configuration that is published */
	struct xfrd xfrd;
	bool behind; /* the next one that begins is (xfrd.is_behind) */
};

extern struct xfrd_fixture fixture;

/* Makes and removes the store: setup and teardown of a test. */
int fixture_begin(void **state);
int fixture_end(void **state);

/* The loader publishes a configuration: the text of nsd.conf. */
void fixture_publish(const char *text);
/* The same again: it was changed. */
void fixture_republish(void);
/* The loader adds a zone of the zone list with the options of a pattern; or
 * changes its pattern; or removes it (NULL). Returns as conf_add_zone and the
 * others. */
enum nsd_err fixture_list(const char *name, const char *pattern);

/* The loader publishes a version of a zone: SOA, and records of which "@" is
 * the apex. */
void fixture_serve(const char *name, const char *serial, const char *records);
/* Counts what is pinned in the store. */
unsigned fixture_count_pins(void);

/* An xfrd begins, with what is published then. */
void fixture_open(void);
void fixture_close(void);

/* NULL: xfrd does not know the zone. */
struct xfrd_zone *fixture_find(const char *name);

#endif
