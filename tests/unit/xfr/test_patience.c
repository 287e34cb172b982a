/* test_patience.c - how long a transfer is waited for. Fault 57: a primary that
 * drips, so that it never ends. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "xfr/patience.h"

#define SEC INT64_C(1000)

/* A transfer of which so many octets a second come, from its beginning on.
 * Returns after how many seconds it is given up; 0: it was not, within a day.
 * looks: how often it was looked at. */
static int64_t
drip_beside(bool is_free, uint64_t octets_a_sec, uint32_t first_msec,
	unsigned *looks)
{
	const int64_t begun = 1234567;
	struct xfr_patience patience;
	struct xfr_patience_look look = {.is_free = is_free};
	int64_t now = begun;
	uint32_t wait = xfr_patience_begin(&patience, now, first_msec);

	*looks = 0;
	while (wait > 0 && now < begun + 86400 * SEC) {
		now += wait;
		look.received = (uint64_t)((now - begun) / SEC)
			* octets_a_sec;
		++*looks;
		wait = xfr_patience_look(&patience, now, &look);
	}
	return wait > 0 ? 0 : (now - begun) / SEC;
}

static int64_t
drip(uint64_t octets_a_sec, uint32_t first_msec, unsigned *looks)
{
	return drip_beside(false, octets_a_sec, first_msec, looks);
}

/* A slow transfer that blocks no other one may go on: 32 KB at 700 octets a
 * second. */
static void
transfer_that_is_slow_and_steady_goes_on(void **state)
{
	unsigned looks;

	assert_in_range(drip_beside(true, 700, 0, &looks), 7200, 7230);
	assert_in_range(drip_beside(true, 35, 2000, &looks), 7200, 7230);
	assert_int_equal(drip_beside(true, 34, 0, &looks), 30);
	assert_int_equal(drip_beside(true, 0, 0, &looks), 30);
}

static void
transfer_that_drips_ends_after_two_hours(void **state)
{
	unsigned looks;

	/* Just what is needed, and all that a network can bring. */
	assert_in_range(drip(1093, 0, &looks), 7200, 7230);
	assert_in_range(looks, 240, 241);
	assert_in_range(drip(1093, 2000, &looks), 7200, 7230);
	assert_in_range(drip(UINT64_C(10000000000), 0, &looks), 7200, 7230);
	assert_in_range(looks, 240, 241);
}

static void
transfer_that_brings_less_ends_soon(void **state)
{
	unsigned looks;

	assert_int_equal(drip(1092, 0, &looks), 30);
	assert_int_equal(drip(1, 0, &looks), 30);
	/* A first message of its own time. */
	assert_int_equal(drip(1, 2000, &looks), 32);
	assert_int_equal(drip(0, 2000, &looks), 2);
	assert_int_equal(drip(0, 0, &looks), 30);
}

/* A transfer that was fast stops. */
static void
transfer_that_stops_halfway_ends_soon(void **state)
{
	struct xfr_patience_look look = {.received = 0};
	struct xfr_patience patience;
	int64_t now = 0;

	assert_int_equal(xfr_patience_begin(&patience, now, 0), 30 * SEC);
	for (unsigned i = 0; i < 100; i++) {
		now += 30 * SEC;
		look.received += XFR_SLOW_OCTETS;
		assert_int_equal(xfr_patience_look(&patience, now, &look),
			30 * SEC);
	}
	look.received += XFR_SLOW_OCTETS - 1;
	assert_int_equal(xfr_patience_look(&patience, now + 30 * SEC, &look),
		0);
}

/* A transfer that we do not read, or whose turn is to come, has two hours. */
static void
who_waits_for_others_has_the_same_two_hours(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct xfr_patience_look look = {.is_held = i == 1};
		struct xfr_patience patience;
		int64_t now = 77;
		uint32_t wait = xfr_patience_begin(&patience, now, 2000);

		while (wait > 0) {
			assert_int_equal(wait, 2000);
			assert_true(now < 77 + 7200 * SEC);
			now += wait;
			look.turn_at = i == 0 ? now : 77;
			wait = xfr_patience_look(&patience, now, &look);
		}
		assert_in_range(now, 77 + 7200 * SEC, 77 + 7202 * SEC);
	}
}

/* A transfer that waited behind others has its full time from its turn on. */
static void
patience_begins_when_the_turn_comes(void **state)
{
	static const uint32_t first_msec[] = {2000, 0};

	for (unsigned i = 0; i < 2; i++) {
		uint32_t all = i == 0 ? 2000 : 30000;
		struct xfr_patience_look look = {.turn_at = 1000 * SEC};
		struct xfr_patience patience;

		assert_int_equal(xfr_patience_begin(&patience, 900 * SEC,
			first_msec[i]), all);
		assert_int_equal(xfr_patience_look(&patience,
			1000 * SEC + 500, &look), all - 500);
		assert_int_equal(xfr_patience_look(&patience,
			1000 * SEC + all, &look), 0);
	}
}

static void
held_transfer_is_not_slow(void **state)
{
	struct xfr_patience_look look = {.received = 10, .is_held = true};
	struct xfr_patience patience;

	xfr_patience_begin(&patience, 0, 0);
	assert_int_equal(xfr_patience_look(&patience, 30 * SEC, &look),
		30 * SEC);
	look.is_held = false;
	look.turn_at = 60 * SEC; /* counts for a first message only */
	assert_int_equal(xfr_patience_look(&patience, 60 * SEC, &look), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transfer_that_is_slow_and_steady_goes_on),
		cmocka_unit_test(transfer_that_drips_ends_after_two_hours),
		cmocka_unit_test(transfer_that_brings_less_ends_soon),
		cmocka_unit_test(transfer_that_stops_halfway_ends_soon),
		cmocka_unit_test(who_waits_for_others_has_the_same_two_hours),
		cmocka_unit_test(patience_begins_when_the_turn_comes),
		cmocka_unit_test(held_transfer_is_not_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
