/* built.h - builds a zone from a string and looks at the result; for the tests
 * of builds. */
#ifndef TESTS_UNIT_BUILD_BUILT_H
#define TESTS_UNIT_BUILD_BUILT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/build.h"
#include "dns/name.h"
#include "lib/one_fixture.h"
#include "store/writer.h"
#include "zonedb/release.h"

#define SOA "@ SOA ns1 host 7 2 3 4 5\n"
#define HEAD "$TTL 3600\n" SOA "@ NS ns1\nns1 A 192.0.2.1\n"

static store_ref zone; /* the last one built */

static inline void
drop(void)
{
	release_zone(store_writer_heap(f.writer), zone);
	assert_int_equal(live(), 0);
}

static inline void
build_ok(const char *text)
{
	if (zone_fixture_build(&f, "example.", text, &zone) != NSD_OK)
		fail_msg("not built:\n%s", f.findings);
}

/* A primary refuses the zone with the finding. A secondary serves it, and the
 * finding is a warning. */
static inline void
refuses(const char *text, const char *finding)
{
	char line[512];

	f.secondary = false;
	assert_int_equal(zone_fixture_build(&f, "example.", text, &zone),
		NSD_E_ZONE);
	snprintf(line, sizeof(line), "%s\n", finding);
	assert_non_null(strstr(f.findings, line));
	assert_int_equal(live(), 0);
	f.secondary = true;
	build_ok(text);
	f.secondary = false;
	assert_int_equal(f.sink.errors, 0);
	assert_true(f.sink.warnings > 0);
	drop();
}

static inline void
warns(const char *text, const char *finding)
{
	build_ok(text);
	if (strstr(f.findings, finding) == NULL)
		fail_msg("no \"%s\" in:\n%s", finding, f.findings);
	drop();
}

static inline void
is_silent(const char *text)
{
	build_ok(text);
	assert_string_equal(f.findings, "");
	drop();
}

static inline const struct node *
node(const char *name)
{
	return zone_fixture_find(&f, zone, "example.", name);
}

static inline unsigned
flags(const char *name)
{
	assert_non_null(node(name));
	return node(name)->flags;
}

static inline const struct rrset *
rrset(const char *name, uint16_t type)
{
	const struct node_rrset *e;

	assert_non_null(node(name));
	e = node_find_entry(node(name), type);
	return e == NULL ? NULL : store_get(f.view, e->ref);
}

#endif
