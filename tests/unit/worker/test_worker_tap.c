/* test_worker_tap.c - the sample of queries that a worker writes records of. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/worker_tap.h"

#define WANTS TAP_WANT_KIND(TAP_AUTH)
#define SAMPLE 10u
#define QUERIES (UINT64_C(640000))

static struct tap_switch wanted = {.wants = WANTS, .sample = SAMPLE};
static struct worker_tap tap = {.wanted = &wanted};

/* Chooses of many queries, in batches of such a size; counts those that were
 * chosen, and those that were right behind one that was. */
static void
choose_of_many(unsigned batch, uint64_t *chosen, uint64_t *behind)
{
	bool before = false;

	*chosen = *behind = 0;
	for (uint64_t i = 0; i < QUERIES / batch; i++) {
		bool any = worker_tap_choose(&tap, WANTS, batch);

		assert_int_equal(any, tap.chosen != 0);
		for (unsigned bit = 0; bit < batch; bit++) {
			bool is = (tap.chosen >> bit & 1) != 0;

			*chosen += is;
			*behind += is && before;
			before = is;
		}
	}
}

/* Bounds are ten times the standard deviation, or more. */
static void
check_sample(unsigned batch)
{
	uint64_t chosen, behind;

	choose_of_many(batch, &chosen, &behind);
	assert_in_range(chosen, QUERIES / SAMPLE - 2500,
		QUERIES / SAMPLE + 2500);
	/* A query that was chosen says nothing of the next. */
	assert_in_range(behind, QUERIES / SAMPLE / SAMPLE - 1000,
		QUERIES / SAMPLE / SAMPLE + 1000);
}

static void
sample_has_its_share_whatever_was_chosen_before(void **state)
{
	check_sample(64);
	check_sample(1);
	check_sample(7);
}

static void
sample_of_one_has_all(void **state)
{
	wanted.sample = 1;
	assert_true(worker_tap_choose(&tap, WANTS, 64));
	assert_int_equal(tap.chosen, UINT64_MAX);
	assert_true(worker_tap_choose(&tap, WANTS, 3));
	assert_int_equal(tap.chosen, 7);
	wanted.sample = SAMPLE;
}

/* The largest sample has none, mostly. */
static void
sample_of_very_many_has_few(void **state)
{
	uint64_t chosen, behind;

	wanted.sample = INT32_MAX;
	choose_of_many(64, &chosen, &behind);
	assert_in_range(chosen, 0, 10);
	wanted.sample = SAMPLE;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			sample_has_its_share_whatever_was_chosen_before),
		cmocka_unit_test(sample_of_one_has_all),
		cmocka_unit_test(sample_of_very_many_has_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
