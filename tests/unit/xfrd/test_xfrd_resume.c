/* test_xfrd_resume.c - transfers that were durable and not published are given
 * to the loader, as it takes them. The journal is a real one, the loader is
 * played. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "lib/journal_fixture.h"
#include "xfrd/xfrd.h"

#define ZONES 4u
#define ASKED_MAX 8u
#define SMALL 100u
#define LARGE (2u << 20) /* octets of a text with a file of its own */

/* The linker puts this in front of the real one (--wrap). */
enum nsd_err __wrap_xfrd_loader_update(struct xfrd *xfrd,
	const struct load_text *text, request_on_end *on_end, void *ctx);

/* Requests to the loader. */
static struct {
	request_on_end *on_end; /* NULL: answered */
	void *ctx;
	uint64_t len;
} asked[ASKED_MAX];
static unsigned asked_count, under_way, under_way_max;

static char folder[JOURNAL_FIXTURE_PATH];

enum nsd_err
__wrap_xfrd_loader_update(struct xfrd *xfrd, const struct load_text *text,
	request_on_end *on_end, void *ctx)
{
	assert_true(text->has_sums);
	if (under_way == under_way_max)
		return NSD_E_AGAIN;
	assert_true(asked_count < ASKED_MAX);
	asked[asked_count].on_end = on_end;
	asked[asked_count].ctx = ctx;
	asked[asked_count++].len = text->len;
	under_way++;
	return NSD_OK;
}

/* ---- helpers ------------------------------------------------------------- */

static void
answer(unsigned number, enum nsd_err err)
{
	struct ipc_updated updated = {.err = (uint32_t)err};
	struct ipc_message message = {.len = sizeof(updated)};
	request_on_end *end = asked[number].on_end;

	assert_true(number < asked_count && end != NULL);
	memcpy(message.payload, &updated, sizeof(updated));
	asked[number].on_end = NULL;
	under_way--;
	end(asked[number].ctx, &message);
}

/* Has a whole zone of this serial be durable. Returns its id. */
static uint64_t
keep(unsigned zone, uint32_t serial, uint64_t len)
{
	struct journal *journal = fixture.xfrd.journal;
	uint64_t id = journal_fixture_send(journal, zone, 0, serial, len);
	struct journal_done done;

	journal_fixture_wait(journal, &done);
	assert_true(id != 0 && done.id == id && done.err == NSD_OK);
	return id;
}

static bool
has_entry(unsigned zone, uint32_t serial)
{
	struct journal_entry entry;

	return journal_find_serial(fixture.xfrd.journal,
		journal_fixture_apex(zone), serial, &entry);
}

/* Returns the count of zones that the machine has. */
static unsigned
count_begun(void)
{
	const struct xfrd_zone_table *table = &fixture.xfrd.zones.table;
	unsigned count = 0;

	for (uint32_t i = 0; i < table->end; i++)
		count += xfrd_zone_at(table, i)->handle != XFR_NONE;
	return count;
}

static void
run(void)
{
	event_base_loop(fixture.xfrd.role.base, EVLOOP_NONBLOCK);
}

static int
begin(void **state)
{
	struct xfrd *xfrd = &fixture.xfrd;
	char text[100 * ZONES];
	struct event *quiet;
	size_t len = 0;

	(void)fixture_begin(state);
	for (unsigned i = 0; i < ZONES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"zone: name: z%u zonefile: f request-xfr: 192.0.2.1"
			" NOKEY\n", i);
	fixture_publish(text);
	fixture_open();
	journal_fixture_folder(folder);
	xfrd->journal = journal_fixture_open(folder, 0, NULL);
	/* The machine has no turns here. */
	quiet = xfrd->zones.event;
	assert_int_equal(xfrd_turn_init(xfrd), NSD_OK);
	event_free(xfrd->zones.event);
	xfrd->zones.event = quiet;
	xfrd->zones.told = true;
	asked_count = under_way = 0;
	under_way_max = ASKED_MAX;
	return 0;
}

static int
end(void **state)
{
	assert_int_equal(under_way, 0);
	event_free(fixture.xfrd.zones.look_event);
	journal_close(fixture.xfrd.journal);
	journal_fixture_remove(folder);
	fixture_close();
	return fixture_end(state);
}

/* ---- tests --------------------------------------------------------------- */

static void
look_waits_for_room_among_the_requests(void **state)
{
	for (unsigned i = 0; i < ZONES; i++)
		(void)keep(i, 5, SMALL);
	under_way_max = 2;
	xfrd_turn_look(&fixture.xfrd);
	run();
	assert_int_equal(asked_count, 2);
	assert_int_equal(count_begun(), 2);
	assert_true(fixture.xfrd.zones.looking);
	/* No clock has to tell it that there is room. */
	answer(0, NSD_OK);
	run();
	assert_int_equal(asked_count, 3);
	assert_int_equal(count_begun(), 3);
	answer(1, NSD_OK);
	run();
	assert_int_equal(asked_count, ZONES);
	assert_int_equal(count_begun(), ZONES);
	assert_false(fixture.xfrd.zones.looking);
	answer(2, NSD_OK);
	answer(3, NSD_OK);
}

/* nsd-control waits for that. */
static void
reconfig_waits_for_room_among_the_requests(void **state)
{
	struct xfrd *xfrd = &fixture.xfrd;

	for (unsigned i = 0; i < ZONES; i++)
		(void)keep(i, 5, SMALL);
	assert_int_equal(xfrd_follow_init(xfrd), NSD_OK);
	under_way_max = 1;
	xfrd_follow(xfrd, 7);
	/* The last zone is not reached: main is not told of the end. */
	for (unsigned i = 0; i < ZONES - 1; i++) {
		run();
		assert_int_equal(asked_count, i + 1);
		assert_int_equal(count_begun(), i + 1);
		/* No clock has to tell it that there is room. */
		answer(i, NSD_OK);
	}
	assert_int_equal(xfrd->follow.step, XFRD_FOLLOW_ZONES);
	event_free(xfrd->follow.event);
	event_free(xfrd->follow.release_event);
	xfrd->follow = (struct xfrd_follow){.step = XFRD_FOLLOW_NONE};
}

/* A zone whose options have changed is added, too. */
static void
zone_that_is_added_waits_for_room(void **state)
{
	(void)keep(1, 5, SMALL);
	under_way_max = 0;
	xfrd_turn_add(&fixture.xfrd, fixture_find("z1"));
	run();
	assert_int_equal(fixture_find("z1")->handle, XFR_NONE);
	assert_true(fixture.xfrd.zones.looking);
	under_way_max = 1;
	event_active(fixture.xfrd.zones.look_event, EV_TIMEOUT, 0);
	run();
	assert_int_equal(asked_count, 1);
	assert_int_not_equal(fixture_find("z1")->handle, XFR_NONE);
	answer(0, NSD_OK);
}

/* xfrd does not read it: a large one would take the loop too long. */
static void
damaged_text_is_found_by_the_loader(void **state)
{
	char path[JOURNAL_FIXTURE_PATH + 48];

	snprintf(path, sizeof(path), "%s/%010llu.zone", folder,
		(unsigned long long)keep(0, 5, LARGE));
	assert_int_equal(truncate(path, LARGE / 2), 0);
	xfrd_turn_look(&fixture.xfrd);
	run();
	assert_int_equal(asked_count, 1);
	assert_true(asked[0].len == LARGE);
	assert_true(has_entry(0, 5));
	answer(0, NSD_E_WIRE);
	assert_false(has_entry(0, 5));
}

static void
refused_entry_takes_no_later_one_along(void **state)
{
	(void)keep(0, 5, SMALL);
	xfrd_turn_look(&fixture.xfrd);
	run();
	assert_int_equal(asked_count, 1);
	(void)keep(0, 6, SMALL);
	answer(0, NSD_E_ZONE);
	assert_false(has_entry(0, 5));
	assert_true(has_entry(0, 6));
}

static void
refused_entry_takes_none_along_that_is_not_durable_yet(void **state)
{
	struct journal *journal = fixture.xfrd.journal;
	struct journal_done done;

	(void)keep(0, 5, SMALL);
	xfrd_turn_look(&fixture.xfrd);
	run();
	assert_int_equal(asked_count, 1);
	assert_true(journal_fixture_send(journal, 0, 0, 6, SMALL) != 0);
	answer(0, NSD_E_ZONE);
	journal_fixture_wait(journal, &done);
	assert_int_equal(done.err, NSD_OK);
	assert_false(has_entry(0, 5));
	assert_true(has_entry(0, 6));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(look_waits_for_room_among_the_requests),
		TEST(reconfig_waits_for_room_among_the_requests),
		TEST(zone_that_is_added_waits_for_room),
		TEST(damaged_text_is_found_by_the_loader),
		TEST(refused_entry_takes_no_later_one_along),
		TEST(refused_entry_takes_none_along_that_is_not_durable_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
