/* test_load_settle.c - zones whose last change is to be settled: none is
 * forgotten, whichever changed last and whoever still reads. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/rrtype.h"
#include "lib/zone_fixture.h"
#include "loader/load_settle.h"
#include "update/update.h"

#define ZONES 40u

static struct zone_fixture f;
static struct load_settle settle;

static const struct zone *
served(store_ref entry)
{
	const struct zone_entry *e = store_get(f.view, entry);

	return store_get(f.view, e->zone);
}

/* A name server gets another address: a cell is to be settled. */
static void
change(store_ref entry, const char *apex, uint8_t last)
{
	const struct zone_update_options options = {.threads = 1};
	uint8_t rdata[4] = {192, 0, 2, last};
	struct diag_sink sink = {.on_diag = NULL};
	struct zone_update *update;
	struct zone_rr rr;
	char owner[64];

	snprintf(owner, sizeof(owner), "ns.%s", apex);
	rr = (struct zone_rr){.owner = zone_fixture_name(owner),
		.ttl_sec = 60, .type = TYPE_A, .rdlen = 4, .rdata = rdata};
	assert_int_equal(update_begin(f.writer, entry, &options, &update),
		NSD_OK);
	assert_int_equal(update_remove_rrset(update, rr.owner, TYPE_A),
		NSD_OK);
	assert_int_equal(update_add(update, &rr), NSD_OK);
	assert_int_equal(update_commit(update, &sink, NULL), NSD_OK);
	load_settle_add(&settle, entry);
}

static void
load_zones(store_ref entries[ZONES], char apexes[ZONES][16])
{
	zone_fixture_init(&f);
	for (unsigned i = 0; i < ZONES; i++) {
		snprintf(apexes[i], 16, "z%u.", i);
		assert_int_equal(zone_fixture_load(&f, apexes[i],
					 "$TTL 60\n@ SOA ns x 1 2 3 4 5\n"
					 "@ NS ns\nns A 192.0.2.1\n",
					 &entries[i]),
			NSD_OK);
	}
}

static void
every_zone_is_settled_once_readers_have_come_to_it(void **state)
{
	static char apexes[ZONES][16];
	static store_ref entries[ZONES];
	struct store_reader *reader;

	load_zones(entries, apexes);
	assert_int_equal(store_reader_open(f.store, 0, "reader", &reader),
		NSD_OK);
	store_reader_online(reader);
	for (unsigned n = 0; n < 3 * ZONES; n++)
		change(entries[n % ZONES], apexes[n % ZONES], (uint8_t)n);
	assert_int_equal(settle.count, ZONES);
	/* The reader is in an older version: none may be settled, and none
	 * forgotten. */
	load_settle_run(&settle, f.writer);
	assert_int_equal(settle.count, ZONES);
	for (unsigned i = 0; i < ZONES; i++)
		assert_int_not_equal(served(entries[i])->pending_first,
			STORE_NONE);
	store_reader_offline(reader);
	load_settle_run(&settle, f.writer);
	assert_int_equal(settle.count, 0);
	for (unsigned i = 0; i < ZONES; i++)
		assert_int_equal(served(entries[i])->pending_first,
			STORE_NONE);
	store_reader_close(reader);
	load_settle_fini(&settle);
	zone_fixture_fini(&f);
}

static void
set_holds_what_was_put_and_not_taken(void **state)
{
	static bool in[512];
	size_t count = 0;
	uint32_t random = 1;

	for (unsigned n = 0; n < 20000; n++) {
		unsigned i = (random >> 8) % 512;
		bool put = (random >> 20) % 512 > count;

		random = random * 1664525u + 1013904223u;
		if (put)
			load_settle_add(&settle, (i + 1) * 6);
		else
			load_settle_remove(&settle, (i + 1) * 6);
		count += (size_t)put - in[i];
		in[i] = put;
		assert_int_equal(settle.count, count);
	}
	for (unsigned i = 0; i < 512; i++) {
		load_settle_remove(&settle, (i + 1) * 6);
		count -= in[i];
		assert_int_equal(settle.count, count);
	}
	load_settle_fini(&settle);
	load_settle_remove(&settle, 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_zone_is_settled_once_readers_have_come_to_it),
		cmocka_unit_test(set_holds_what_was_put_and_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
