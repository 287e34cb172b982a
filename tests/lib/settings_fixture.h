/* settings_fixture.h - settings for tests, made and published in one call. */
#ifndef TESTS_LIB_SETTINGS_FIXTURE_H
#define TESTS_LIB_SETTINGS_FIXTURE_H

#include "store/store.h"
#include "zonedb/settings_edit.h"

/* Gives a zone lists. Aborts the test program on failure, as all functions here
 * do. */
void settings_fixture_set(struct store_writer *writer, store_ref entry,
	const struct settings_lists *lists);

/* The same with allow-query and provide-xfr alone. */
void settings_fixture_set_acl(struct store_writer *writer, store_ref entry,
	const struct acl_element *query, uint32_t query_count,
	const struct acl_element *provide, uint32_t provide_count);

/* Publishes options of the server; without keys and patterns. */
void settings_fixture_publish(struct store_writer *writer,
	const struct settings_setup *setup);

#endif
