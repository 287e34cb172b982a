/* test_timers.c - the heap gives the first of many times. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "xfr/timers.h"

#define IDS 500u

/* The least of the times that are set, by looking at all. */
static int64_t
least(const int64_t *times)
{
	int64_t at = INT64_MAX;

	for (unsigned i = 0; i < IDS; i++)
		if (times[i] < at)
			at = times[i];
	return at;
}

static void
first_is_the_least_whatever_was_set_moved_and_removed(void **state)
{
	struct timers t = {0};
	int64_t times[IDS];
	uint64_t chance = 1;

	assert_int_equal(timers_reserve(&t, IDS - 1), NSD_OK);
	assert_null(timers_first(&t));
	for (unsigned i = 0; i < IDS; i++)
		times[i] = INT64_MAX;
	for (unsigned round = 0; round < 20000; round++) {
		uint32_t id = chance_below(&chance, IDS);
		const struct timer *first;

		if (chance_below(&chance, 3) == 0) {
			times[id] = INT64_MAX;
			timers_remove(&t, id);
		} else {
			times[id] = chance_below(&chance, 1000);
			timers_set(&t, id, times[id]);
		}
		first = timers_first(&t);
		if (first == NULL) {
			assert_true(least(times) == INT64_MAX);
			continue;
		}
		assert_true(first->at == least(times));
		assert_true(times[first->id] == first->at);
	}
	timers_fini(&t);
}

static void
an_id_without_room_or_time_is_removed_in_vain(void **state)
{
	struct timers t = {0};

	timers_remove(&t, 7);
	assert_int_equal(timers_reserve(&t, 7), NSD_OK);
	timers_remove(&t, 7);
	timers_set(&t, 7, -5);
	timers_set(&t, 3, -5);
	assert_int_equal(t.count, 2);
	timers_remove(&t, 7);
	assert_int_equal(timers_first(&t)->id, 3);
	timers_fini(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			first_is_the_least_whatever_was_set_moved_and_removed),
		cmocka_unit_test(
			an_id_without_room_or_time_is_removed_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
