/* test_load_wait.c - changes that wait for a zone: those of one zone stay in
 * order, and no turn takes long. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "loader/load_turn.h"
#include "loader/load_wait.h"

#define ZONES 3u

static const uint8_t apexes[ZONES][4] = {"\1a", "\1b", "\1c"};

static struct load_wait wait;
static bool busy[ZONES];
static uint64_t last[ZONES]; /* ticket that was done */
static unsigned done;

static bool
add(unsigned zone, uint64_t ticket)
{
	const struct load_change change = {
		.ticket = ticket,
		.len = 1,
		.data = malloc(1),
		.text = {.fd = -1},
	};

	assert_non_null(change.data);
	if (load_wait_add(&wait, apexes[zone], &change))
		return true;
	free(change.data);
	return false;
}

static bool
try(void *ctx, const struct load_waiting *one)
{
	unsigned zone = one->apex[1] - (unsigned)'a';

	assert_in_range(zone, 0, ZONES - 1);
	if (busy[zone])
		return false;
	assert_true(one->change.ticket > last[zone]);
	last[zone] = one->change.ticket;
	done++;
	return true;
}

/* A change that takes as long as a turn. */
static bool
try_slowly(void *ctx, const struct load_waiting *one)
{
	int64_t end = clock_now_usec() + LOAD_TURN_USEC;

	while (clock_now_usec() < end)
		;
	return try(ctx, one);
}

static int
clear(void **state)
{
	for (unsigned i = 0; i < ZONES; i++) {
		busy[i] = false;
		last[i] = 0;
	}
	load_wait_restart(&wait);
	while (load_wait_step(&wait, try, NULL))
		;
	assert_int_equal(wait.count, 0);
	assert_int_equal(wait.octets, 0);
	assert_null(wait.first);
	for (unsigned i = 0; i < ZONES; i++)
		last[i] = 0;
	done = 0;
	return 0;
}

static void
turn_ends_when_it_has_taken_long(void **state)
{
	for (unsigned i = 1; i <= 5; i++)
		assert_true(add(0, i));
	/* The queue does nothing before it is told that a zone is free. */
	assert_false(load_wait_step(&wait, try_slowly, NULL));
	assert_int_equal(done, 0);
	load_wait_restart(&wait);
	for (unsigned i = 1; i <= 5; i++) {
		assert_true(load_wait_step(&wait, try_slowly, NULL));
		assert_int_equal(done, i);
	}
	assert_false(load_wait_step(&wait, try_slowly, NULL));
	assert_int_equal(wait.count, 0);
}

static void
those_that_stay_take_turns_too(void **state)
{
	busy[0] = true;
	assert_true(add(0, 1));
	assert_true(add(0, 2));
	assert_true(add(1, 3));
	load_wait_restart(&wait);
	for (unsigned i = 0; i < 3; i++)
		assert_true(load_wait_step(&wait, try_slowly, NULL));
	assert_false(load_wait_step(&wait, try_slowly, NULL));
	assert_int_equal(done, 1);
	assert_true(load_wait_has(&wait, apexes[0]));
	assert_false(load_wait_has(&wait, apexes[1]));
}

static void
zone_that_is_free_in_the_midst_is_begun_from_its_first(void **state)
{
	busy[0] = true;
	assert_true(add(0, 1));
	assert_true(add(0, 2));
	load_wait_restart(&wait);
	assert_true(load_wait_step(&wait, try_slowly, NULL));
	busy[0] = false;
	load_wait_restart(&wait);
	while (load_wait_step(&wait, try, NULL))
		;
	assert_int_equal(last[0], 2);
	assert_int_equal(done, 2);
}

static void
room_is_bounded(void **state)
{
	uint8_t octet;
	const struct load_change change = {
		.ticket = 1,
		.len = LOAD_WAIT_OCTETS + 1,
		.data = &octet,
	};

	for (unsigned i = 1; i <= LOAD_WAIT_MAX; i++)
		assert_true(add(i % ZONES, i));
	assert_false(add(0, LOAD_WAIT_MAX + 1));
	(void)clear(NULL);
	assert_false(load_wait_add(&wait, apexes[0], &change));
}

/* Zones become busy and free, changes come, turns are taken: try sees to the
 * order. */
static void
order_of_a_zone_stays_whatever_happens(void **state)
{
	uint32_t random = 1;
	uint64_t ticket = 0;

	for (unsigned n = 0; n < 100000; n++) {
		unsigned zone, what;

		random = random * 1664525u + 1013904223u;
		zone = (random >> 8) % ZONES;
		what = (random >> 16) % 8;
		if (what == 0) {
			busy[zone] = true;
		} else if (what == 1 && busy[zone]) {
			busy[zone] = false;
			load_wait_restart(&wait);
		} else if (what < 5) {
			/* As the loader does. */
			ticket++;
			if (busy[zone] || load_wait_has(&wait, apexes[zone]))
				(void)add(zone, ticket);
			else
				last[zone] = ticket;
		} else {
			(void)load_wait_step(&wait, try, NULL);
		}
	}
	for (unsigned i = 0; i < ZONES; i++)
		busy[i] = false;
	load_wait_restart(&wait);
	while (load_wait_step(&wait, try, NULL))
		;
	assert_int_equal(wait.count, 0);
	assert_int_equal(wait.octets, 0);
	assert_true(done > 1000);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, clear)
	const struct CMUnitTest tests[] = {
		TEST(turn_ends_when_it_has_taken_long),
		TEST(those_that_stay_take_turns_too),
		TEST(zone_that_is_free_in_the_midst_is_begun_from_its_first),
		TEST(room_is_bounded),
		TEST(order_of_a_zone_stays_whatever_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
