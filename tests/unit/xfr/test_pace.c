/* test_pace.c - many zones: what they cost at rest, how many are asked for at a
 * time, and who waits for whom. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "unit/xfr/machine_world.h"

#define MILLION 1000000u

static const struct xfr_start overdue = {.has_data = true, .soa = {.serial = 7,
	.refresh_sec = 3600, .retry_sec = 600, .expire_sec = 864000},
	.acquired_at = 1000, .check_at = 0, .expire_at = XFR_NEVER};

static void
add_zones(struct world *w, unsigned count, const struct xfr_start *start)
{
	uint32_t zone;

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(xfr_add_zone(w->machine, w->config, start,
			w->now, &zone), NSD_OK);
}

static double
cpu_sec(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* The figures are printed, not judged; the octets are. */
static void
million_zones_are_small_and_cost_nothing_at_rest(void **state)
{
	struct xfr_start start = overdue;
	struct xfr_counts counts;
	struct world w;
	double from = cpu_sec();
	unsigned calls = 0, told = 0;
	uint32_t zone;
	int64_t at;

	open_world(&w, &usual, &soa7);
	start.check_at = w.now + 3000 * SEC;
	add_zones(&w, MILLION - 1, &start);
	assert_false(xfr_next(w.machine, w.now, &w.action));
	while (xfr_next_expiry(w.machine, &zone, &at))
		told++;
	assert_int_equal(told, MILLION);
	xfr_get_counts(w.machine, &counts);
	assert_int_equal(counts.zones, MILLION);
	assert_true(counts.octets < 200 * (size_t)MILLION);
	print_message("%.1f octets a zone; added and told in %.2f s\n",
		(double)counts.octets / MILLION, cpu_sec() - from);
	/* With no timer due for 3000 s, calls do no work. */
	assert_true(xfr_next_time(w.machine) == w.now + 3000 * SEC);
	from = cpu_sec();
	for (; w.now < 3001 * SEC; w.now += 100) {
		assert_false(xfr_next(w.machine, w.now, &w.action));
		calls++;
	}
	print_message("%u calls at rest took %.6f s\n", calls,
		cpu_sec() - from);
	close_world(&w);
}

/* A million zones overdue at once: checks keep to the limit a second, and a
 * call is short. */
static void
million_overdue_zones_pace_themselves(void **state)
{
	const int64_t start_at = 1000;
	struct world w;
	unsigned probes = 0;
	double from;
	int64_t next_at;

	open_world(&w, &usual, &soa7);
	add_zones(&w, MILLION - 1, &overdue);
	from = cpu_sec();
	for (; w.now < start_at + 10 * SEC; w.now = next_at) {
		while (xfr_next(w.machine, w.now, &w.action))
			if (w.action.act == XFR_PROBE) {
				probes++;
				reply_serial(&w, XFR_SOA, 7);
			}
		next_at = xfr_next_time(w.machine);
		/* The next event is the next check, or timers to look at. */
		assert_true(next_at - w.now <= 1);
		assert_true(probes <= 1000 + 10 * (w.now - start_at) + 10);
		if (next_at < w.now)
			next_at = w.now;
	}
	assert_true(probes >= 90000);
	print_message("%u checks of a million in 10 s took %.2f s\n", probes,
		cpu_sec() - from);
	close_world(&w);
}

static void
notify_goes_before_a_million_checks_that_time_out(void **state)
{
	struct xfr_counts counts;
	struct world w;
	uint32_t zone;
	unsigned probes = 0;

	open_world(&w, &usual, &soa7);
	add_zones(&w, 100000, &overdue);
	assert_int_equal(xfr_add_zone(w.machine, w.config, &overdue, w.now,
		&zone), NSD_OK);
	for (unsigned i = 0; i < 2000; i++, w.now++)
		while (next(&w))
			probes += w.action.act == XFR_PROBE;
	/* A quarter of the probes is left to NOTIFYs. */
	assert_int_equal(probes, xfr_limits_usual.probes / 4 * 3);
	xfr_on_notify(w.machine, zone, w.now, 0, false, 0);
	assert_true(next(&w));
	assert_int_equal(w.action.act, XFR_PROBE);
	assert_int_equal(w.action.zone, zone);
	assert_none(&w);
	xfr_get_counts(w.machine, &counts);
	assert_int_equal(counts.probes, probes + 1);
	assert_true(counts.waiting > 1000);
	close_world(&w);
}

static void
floods_of_notify_leave_room_for_checks_by_timer(void **state)
{
	struct world w;
	unsigned urgent = 0, by_timer = 0;
	struct xfr_start later = overdue;

	open_world(&w, &usual, &soa7);
	later.check_at = w.now + 10 * SEC;
	add_zones(&w, 5000, &later);
	for (uint32_t zone = 0; zone < 4000; zone++)
		xfr_on_notify(w.machine, zone, w.now, 0, false, 0);
	while (next(&w))
		urgent++;
	assert_int_equal(urgent, xfr_limits_usual.probes / 4 * 3);
	w.now += 10 * SEC;
	while (next(&w))
		if (w.action.zone >= 4000)
			by_timer++;
	assert_int_equal(by_timer, xfr_limits_usual.probes / 4);
	close_world(&w);
}

static void
transfers_and_notifies_are_bounded(void **state)
{
	struct xfr_counts counts;
	struct world w;
	uint64_t first;

	open_world(&w, &usual, NULL);
	add_zones(&w, 1000, NULL);
	assert_true(next(&w));
	first = w.action.ticket;
	while (next(&w))
		assert_int_equal(w.action.act, XFR_TRANSFER);
	xfr_get_counts(w.machine, &counts);
	assert_int_equal(counts.transfers, xfr_limits_usual.transfers / 4 * 3);
	/* A transfer that is received and not published yet holds no
	 * connection. */
	xfr_on_received(w.machine, first);
	xfr_on_received(w.machine, first);
	assert_true(next(&w));
	assert_none(&w);
	w.action.ticket = first;
	reply_serial(&w, XFR_DONE, 7);
	xfr_get_counts(w.machine, &counts);
	assert_int_equal(counts.transfers, xfr_limits_usual.transfers / 4 * 3);
	close_world(&w);

	open_world(&w, &usual, &soa7);
	add_zones(&w, 999, &(struct xfr_start){.has_data = true, .soa = soa7,
		.acquired_at = 1000, .check_at = 3000000,
		.expire_at = XFR_NEVER});
	for (uint32_t zone = 0; zone < 1000; zone++)
		xfr_send_notifies(w.machine, zone, false);
	for (unsigned i = 0; i < xfr_limits_usual.notifies; i++) {
		assert_true(next(&w));
		assert_int_equal(w.action.act, XFR_NOTIFY);
	}
	assert_none(&w);
	reply(&w, XFR_ACKNOWLEDGED);
	assert_true(next(&w));
	assert_none(&w);
	close_world(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			million_zones_are_small_and_cost_nothing_at_rest),
		cmocka_unit_test(million_overdue_zones_pace_themselves),
		cmocka_unit_test(
			notify_goes_before_a_million_checks_that_time_out),
		cmocka_unit_test(
			floods_of_notify_leave_room_for_checks_by_timer),
		cmocka_unit_test(transfers_and_notifies_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
