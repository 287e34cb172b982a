/* fixture.c - an xfrd that reads a store, and the loader that fills it. */
#include "config.h"

#include <event2/event.h>
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"
#include "lib/zone_fixture.h"
#include "loader/load_list.h"
#include "store/writer.h"

struct xfrd_fixture fixture;

int
fixture_begin(void **state)
{
	memset(&fixture, 0, sizeof(fixture));
	store_fixture_init(&fixture.store, 1);
	return 0;
}

int
fixture_end(void **state)
{
	store_fixture_fini(&fixture.store);
	conf_destroy(fixture.server.conf);
	return 0;
}

void
fixture_republish(void)
{
	const struct conf *conf = fixture.server.conf;
	struct load_zone *zones = calloc(conf->zone_count + 1, sizeof(*zones));
	struct load_list_result result;

	assert_non_null(zones);
	assert_int_equal(load_list_publish(fixture.store.writer, conf, zones,
		&result), NSD_OK);
	free(zones);
}

void
fixture_publish(const char *text)
{
	conf_destroy(fixture.server.conf);
	assert_int_equal(conf_load_text("t", text, strlen(text), false, NULL,
		&fixture.server.conf), NSD_OK);
	fixture_republish();
}

enum nsd_err
fixture_list(const char *name, const char *pattern)
{
	struct conf *conf = fixture.server.conf;
	const struct conf_zone *zone = conf_find_zone_text(conf, name);
	enum nsd_err err;

	if (pattern == NULL)
		err = zone == NULL ? NSD_E_NOT_FOUND
				   : conf_remove_zone(conf, zone->wire);
	else if (zone != NULL)
		err = conf_change_zone(conf, zone->wire, pattern);
	else
		err = conf_add_zone(conf, name, pattern, &zone);
	if (err == NSD_OK)
		fixture_republish();
	return err;
}

static void
fixture_on_event(evutil_socket_t fd, short what, void *arg)
{
}

void
fixture_open(void)
{
	struct xfrd *xfrd = &fixture.xfrd;

	memset(xfrd, 0, sizeof(*xfrd));
	xfrd->role.server = &fixture.server;
	xfrd->is_behind = fixture.behind;
	xfrd->role.base = event_base_new();
	CDS_INIT_LIST_HEAD(&xfrd->jobs);
	CDS_INIT_LIST_HEAD(&xfrd->produce.zones);
	CDS_INIT_LIST_HEAD(&xfrd->sources);
	CDS_INIT_LIST_HEAD(&xfrd->catalogs);
	CDS_INIT_LIST_HEAD(&xfrd->folders.list);
	assert_int_equal(store_reader_open(fixture.store.store, 0, "xfrd",
		&xfrd->reader), NSD_OK);
	assert_int_equal(xfrd_zones_init(xfrd), NSD_OK);
	xfrd->zones.event = event_new(xfrd->role.base, -1, 0, fixture_on_event,
		NULL);
	assert_non_null(xfrd->zones.event);
}

void
fixture_close(void)
{
	struct xfrd *xfrd = &fixture.xfrd;

	assert_int_equal(xfrd->reading.depth, 0);
	event_free(xfrd->zones.event);
	event_base_free(xfrd->role.base);
	store_reader_close(xfrd->reader);
	for (uint32_t i = 0; i < xfrd->zones.table.end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(&xfrd->zones.table, i);

		if (zone != NULL)
			xfrd_said_forget(&zone->said);
	}
	xfr_machine_destroy(xfrd->zones.machine);
	tdestroy(xfrd->zones.configs, free);
	xfrd_zone_table_fini(&xfrd->zones.table);
}

void
fixture_serve(const char *name, const char *serial, const char *records)
{
	struct zone_fixture zones = {
		.store = fixture.store.store,
		.writer = fixture.store.writer,
		.view = fixture.store.view,
		.threads = 1,
	};
	size_t size = strlen(records) + 200;
	char *text = malloc(size);

	assert_non_null(text);
	snprintf(text, size, "@ 0 SOA . . %s 2 3 4 5\n%s", serial, records);
	assert_int_equal(zone_fixture_load(&zones, name, text, NULL), NSD_OK);
	free(text);
}

unsigned
fixture_count_pins(void)
{
	struct store_stats stats;

	store_get_stats(fixture.store.writer, &stats);
	return stats.pins;
}

struct xfrd_zone *
fixture_find(const char *name)
{
	return xfrd_zone_find_text(&fixture.xfrd.zones.table, name);
}
