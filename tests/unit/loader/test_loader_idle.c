/* test_loader_idle.c - the loader's idle work: its order, and that no row of
 * changes puts it off. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <cmocka.h>

#include "compile/build.h"
#include "dns/rrtype.h"
#include "lib/zone_fixture.h"
#include "loader/loader.h"
#include "update/update.h"
#include "zonedb/table_edit.h"

#define NAMES 5000u /* some turns to let go of */

static struct zone_fixture f;
static struct loader loader;
static struct store_reader *reader;
static store_ref entry;

static char *
make_text(void)
{
	size_t room = NAMES * 32 + 256, at;
	char *text = malloc(room);

	assert_non_null(text);
	at = (size_t)snprintf(text, room,
		"$TTL 60\n@ SOA ns x 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n");
	for (unsigned i = 0; i < NAMES; i++)
		at += (size_t)snprintf(text + at, room - at, "h%u TXT %u\n",
			i, i);
	return text;
}

static int
open_loader(void **state)
{
	char *text = make_text();

	zone_fixture_init(&f);
	assert_int_equal(zone_fixture_load(&f, "z.", text, &entry), NSD_OK);
	free(text);
	memset(&loader, 0, sizeof(loader));
	loader.writer = f.writer;
	loader.context = (struct load_context){
		.writer = f.writer,
		.threads_max = 1,
	};
	loader.retire.on_work = loader_on_retire;
	loader.retire.ctx = &loader;
	loader.role.base = event_base_new();
	assert_non_null(loader.role.base);
	loader.idle_event = event_new(loader.role.base, -1, 0, loader_on_idle,
		&loader);
	loader.reclaim_event = event_new(loader.role.base, -1, 0,
		loader_on_reclaim, &loader);
	loader.counts_event = event_new(loader.role.base, -1, 0,
		loader_on_counts, &loader);
	loader.compact_event = event_new(loader.role.base, -1, 0,
		loader_on_compact, &loader);
	assert_int_equal(store_reader_open(f.store, 0, "reader", &reader),
		NSD_OK);
	return 0;
}

static int
close_loader(void **state)
{
	while (load_retire_step(&loader.retire, loader.writer))
		;
	load_settle_fini(&loader.settle);
	event_free(loader.idle_event);
	event_free(loader.counts_event);
	event_free(loader.reclaim_event);
	event_free(loader.compact_event);
	event_base_free(loader.role.base);
	store_reader_close(reader);
	zone_fixture_fini(&f);
	return 0;
}

static bool
is_retiring(void)
{
	return load_retire_has(&loader.retire, zone_fixture_name("z."));
}

/* Publishes another version of the served zone. */
static void
replace(void)
{
	char *text = make_text();
	store_ref zone;

	assert_int_equal(zone_fixture_build(&f, "z.", text, &zone), NSD_OK);
	free(text);
	load_retire_add(&loader.retire, f.writer, zone_fixture_name("z."),
		table_swap_zone(f.writer, entry, zone));
	assert_true(is_retiring());
}

static int64_t
coarse_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Waits until a postponed timer would be noticed, by the clock that timers
 * use. */
static void
let_time_pass(void)
{
	int64_t start = coarse_usec();

	while (coarse_usec() <= start)
		;
}

static struct timeval
when_due(const struct event *event)
{
	struct timeval when;

	assert_true(event_pending(event, EV_TIMEOUT, &when));
	return when;
}

static void
change_name_server(void)
{
	const struct zone_update_options options = {.threads = 1};
	static const uint8_t rdata[4] = {192, 0, 2, 9};
	struct diag_sink sink = {.on_diag = NULL};
	struct zone_update *update;
	struct zone_rr rr = {.owner = zone_fixture_name("ns.z."),
		.ttl_sec = 60, .type = TYPE_A, .rdlen = 4, .rdata = rdata};

	assert_int_equal(update_begin(f.writer, entry, &options, &update),
		NSD_OK);
	assert_int_equal(update_remove_rrset(update, rr.owner, TYPE_A),
		NSD_OK);
	assert_int_equal(update_add(update, &rr), NSD_OK);
	assert_int_equal(update_commit(update, &sink, NULL), NSD_OK);
	load_settle_add(&loader.settle, entry);
}

static bool
is_to_settle(void)
{
	const struct zone_entry *e = store_get(f.view, entry);
	const struct zone *zone = store_get(f.view, e->zone);

	return zone->pending_first != STORE_NONE;
}

/* ---- the tests ----------------------------------------------------------- */

static void
changes_in_a_row_do_not_put_off_letting_go(void **state)
{
	struct timeval first, later;

	replace();
	first = when_due(loader.idle_event);
	let_time_pass();
	loader_on_retire(&loader);
	later = when_due(loader.idle_event);
	assert_true(timercmp(&first, &later, ==));
}

static void
changes_in_a_row_do_not_put_off_reclaiming(void **state)
{
	struct timeval first, later;

	store_reader_online(reader);
	change_name_server();
	loader_reclaim(&loader);
	first = when_due(loader.reclaim_event);
	let_time_pass();
	loader_reclaim(&loader);
	later = when_due(loader.reclaim_event);
	assert_true(timercmp(&first, &later, ==));
	store_reader_offline(reader);
}

static void
nothing_to_do_waits_for_no_timer(void **state)
{
	load_retire_add(&loader.retire, f.writer, zone_fixture_name("z."),
		STORE_NONE);
	assert_false(event_pending(loader.idle_event, EV_TIMEOUT, NULL));
	loader_on_idle(-1, 0, &loader);
	assert_false(event_pending(loader.idle_event, EV_TIMEOUT, NULL));
}

/* The order: old versions are freed; known kinds are counted; other work
 * follows when no pass runs. */
static void
first_that_is_wanted_has_the_turn(void **state)
{
	struct load_pool *pool = (struct load_pool *)&loader;
	unsigned turns[4] = {0};

	replace();
	loader_trim(&loader);
	loader.trim.waits = 0;
	loader.kinds.wanted = true;
	loader.pool = pool;
	while (event_pending(loader.idle_event, EV_TIMEOUT, NULL)) {
		unsigned at = is_retiring()	     ? 0
			: loader.kinds.wanted	     ? 1
			: loader.pool != NULL	     ? 2
						     : 3;

		turns[at]++;
		if (at == 2 && turns[at] == 3)
			loader.pool = NULL;
		event_del(loader.idle_event);
		loader_on_idle(-1, 0, &loader);
		assert_true(at == 0 || !is_retiring());
		assert_true(at == 1 || loader.kinds.wanted == (at == 0));
		assert_true(at >= 2 || loader.trim.at == 0);
		assert_true(at >= 2 || loader.trim.wanted);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_true(turns[i] > 0);
	assert_false(loader.trim.wanted);
	assert_false(loader.kinds.wanted);
}

/* A thread of it may be at the addresses. */
static void
nothing_is_settled_while_a_pass_runs(void **state)
{
	change_name_server();
	assert_true(is_to_settle());
	loader.pool = (struct load_pool *)&loader;
	loader_on_reclaim(-1, 0, &loader);
	assert_true(is_to_settle());
	assert_true(event_pending(loader.reclaim_event, EV_TIMEOUT, NULL));
	loader.pool = NULL;
	loader_on_reclaim(-1, 0, &loader);
	assert_false(is_to_settle());
	assert_int_equal(loader.settle.count, 0);
}

/* Memory is trimmed when half of the zones have gone, few or many, but not for
 * each zone. */
static void
memory_is_given_back_when_half_of_the_zones_have_gone(void **state)
{
	static struct conf conf = {.zone_count = 3};
	static struct server server = {.conf = &conf};

	loader.role.server = &server;
	loader.gone = 2;
	loader_reclaim(&loader);
	assert_false(event_pending(loader.reclaim_event, EV_TIMEOUT, NULL));
	loader_on_reclaim(-1, 0, &loader);
	assert_false(loader.trim.wanted);
	loader.gone = 3;
	loader_reclaim(&loader);
	assert_true(event_pending(loader.reclaim_event, EV_TIMEOUT, NULL));
	assert_false(loader.trim.wanted);
	event_del(loader.reclaim_event);
	loader_on_reclaim(-1, 0, &loader);
	assert_true(loader.trim.wanted);
	assert_int_equal(loader.gone, 0);
	assert_false(event_pending(loader.reclaim_event, EV_TIMEOUT, NULL));
	/* A trim that is under way comes to its end first. */
	loader.trim.at = 1;
	loader.gone = 3;
	loader_on_reclaim(-1, 0, &loader);
	assert_int_equal(loader.trim.at, 1);
	assert_int_equal(loader.gone, 3);
	assert_true(event_pending(loader.reclaim_event, EV_TIMEOUT, NULL));
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, open_loader, close_loader)
	const struct CMUnitTest tests[] = {
		TEST(changes_in_a_row_do_not_put_off_letting_go),
		TEST(changes_in_a_row_do_not_put_off_reclaiming),
		TEST(nothing_to_do_waits_for_no_timer),
		TEST(first_that_is_wanted_has_the_turn),
		TEST(nothing_is_settled_while_a_pass_runs),
		TEST(memory_is_given_back_when_half_of_the_zones_have_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
