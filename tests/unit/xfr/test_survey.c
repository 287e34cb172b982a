/* test_survey.c - multi-primary-check: all primaries are asked for their SOA at
 * once, and the newest is transferred. */
#include "config.h"

#include "unit/xfr/machine_world.h"

#define MANY 20u

/* A machine with one zone of so many primaries. */
static void
open_survey(struct world *w, unsigned primaries, const struct xfr_soa *soa)
{
	static const uint8_t flags[MANY] = {0};
	struct xfr_config config = usual;

	config.primaries = flags;
	config.primary_count = primaries;
	config.flags |= XFR_CONFIG_CHECK_ALL;
	open_world(w, &config, soa);
	if (soa == NULL)
		return;
	assert_none(w);
	wait_timer(w);
}

/* Takes the probes that the machine wants now, in any order. Returns how
 * many. */
static unsigned
take_probes(struct world *w, struct xfr_action *probes, enum xfr_query query)
{
	unsigned count = 0;

	while (next(w)) {
		assert_int_equal(w->action.act, XFR_PROBE);
		assert_int_equal(w->action.query, query);
		probes[w->action.primary] = w->action;
		count++;
	}
	return count;
}

static void
answer(struct world *w, const struct xfr_action *probe, uint32_t serial)
{
	w->action = *probe;
	reply_serial(w, XFR_SOA, serial);
}

static void
break_off(struct world *w, const struct xfr_action *probe,
	enum xfr_outcome outcome)
{
	w->action = *probe;
	reply(w, outcome);
}

static void
all_primaries_are_asked_at_once_and_the_newest_wins(void **state)
{
	struct xfr_action probes[3];
	struct world w;

	open_survey(&w, 3, &soa7);
	assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 3);
	answer(&w, &probes[2], 7);
	answer(&w, &probes[0], 8);
	assert_none(&w);
	answer(&w, &probes[1], 10);
	assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
	assert_int_equal(w.action.first_msec, 2000);
	reply(&w, XFR_TIMEOUT);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	assert_int_equal(w.action.first_msec, 0);
	reply(&w, XFR_TOO_LARGE);
	/* The slow one again. */
	assert_asks(&w, 1, XFR_QUERY_SOA_TCP);
	reply_serial(&w, XFR_SOA, 10);
	assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
	assert_int_equal(w.action.first_msec, 0);
	reply(&w, XFR_TIMEOUT);
	/* The third has what we have: that refreshes, but is not all. */
	assert_none(&w);
	assert_int_equal(status_of(&w).state, XFR_STATE_REFRESHING);
	assert_true(status_of(&w).expire_at == w.now + 86400 * SEC);
	assert_true(status_of(&w).check_at <= w.now + 600 * SEC);
	close_world(&w);
}

/* RFC 1982: 5 is newer than UINT32_MAX. */
static void
newest_is_told_by_serial_arithmetic(void **state)
{
	struct xfr_action probes[3];
	struct world w;

	open_survey(&w, 3, NULL);
	assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 3);
	answer(&w, &probes[0], UINT32_MAX);
	answer(&w, &probes[1], 5);
	answer(&w, &probes[2], UINT32_MAX - 1);
	assert_asks(&w, 1, XFR_QUERY_AXFR);
	reply_serial(&w, XFR_DONE, 5);
	assert_int_equal(status_of(&w).soa.serial, 5);
	close_world(&w);
}

static void
silent_primary_is_waited_for_once_and_over_tcp_if_nobody_has_newer(
	void **state)
{
	struct xfr_action probes[3];
	struct world w;

	open_survey(&w, 3, NULL);
	assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(probes[i].wait_msec, 2000);
	answer(&w, &probes[1], 5);
	answer(&w, &probes[2], 4);
	assert_none(&w);
	break_off(&w, &probes[0], XFR_TIMEOUT);
	assert_asks(&w, 1, XFR_QUERY_AXFR);
	reply_serial(&w, XFR_DONE, 5);
	acknowledge(&w, 2);
	assert_none(&w);
	/* No other primary has a newer version: the silent one is asked once
	 * more. */
	wait_timer(&w);
	assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 3);
	answer(&w, &probes[1], 5);
	answer(&w, &probes[2], 5);
	break_off(&w, &probes[0], XFR_TIMEOUT);
	assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
	assert_int_equal(w.action.wait_msec, 10000);
	reply_serial(&w, XFR_SOA, 6);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply_serial(&w, XFR_DONE, 6);
	close_world(&w);
}

/* A newer version does not wait for a primary with four timeouts. */
static void
newer_version_does_not_wait_for_those_silent_for_long(void **state)
{
	struct xfr_action probes[3];
	struct world w;
	uint32_t serial = 7;

	open_survey(&w, 3, &soa7);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 3);
		break_off(&w, &probes[0], XFR_TIMEOUT);
		answer(&w, &probes[1], ++serial);
		answer(&w, &probes[2], serial);
		assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
		reply_serial(&w, XFR_DONE, serial);
		acknowledge(&w, 2);
		assert_none(&w);
		xfr_on_command(w.machine, w.zone, w.now, false);
	}
	assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 3);
	answer(&w, &probes[2], ++serial);
	assert_none(&w);
	answer(&w, &probes[1], serial);
	assert_true(next(&w));
	assert_int_equal(w.action.act, XFR_CANCEL);
	assert_true(w.action.ticket == probes[0].ticket);
	assert_asks(&w, 2, XFR_QUERY_IXFR_TCP);
	reply_serial(&w, XFR_DONE, serial);
	acknowledge(&w, 2);
	/* Without a newer version the silent primary is asked all the same,
	 * once. */
	xfr_on_command(w.machine, w.zone, w.now, false);
	assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 3);
	answer(&w, &probes[1], serial);
	answer(&w, &probes[2], serial);
	assert_none(&w);
	assert_true(status_of(&w).is_checking);
	break_off(&w, &probes[0], XFR_TIMEOUT);
	assert_none(&w);
	assert_false(status_of(&w).is_checking);
	close_world(&w);
}

static void
primary_that_needs_tcp_is_heard_before_the_transfer(void **state)
{
	static const enum xfr_outcome outcomes[] = {XFR_USE_TCP,
		XFR_UNREACHABLE, XFR_NONSENSE};
	struct xfr_action probes[2];
	struct world w;

	for (unsigned i = 0; i < 3; i++) {
		open_survey(&w, 2, &soa7);
		assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 2);
		break_off(&w, &probes[1], outcomes[i]);
		answer(&w, &probes[0], 8);
		assert_asks(&w, 1, XFR_QUERY_SOA_TCP);
		reply_serial(&w, XFR_SOA, 9);
		assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
		reply_serial(&w, XFR_DONE, 9);
		close_world(&w);
	}
	/* The only one. */
	open_survey(&w, 1, &soa7);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_int_equal(w.action.wait_msec, 3000);
	reply(&w, XFR_TIMEOUT);
	assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
	reply(&w, XFR_TIMEOUT);
	assert_none(&w);
	assert_int_equal(status_of(&w).failed_rounds, 1);
	close_world(&w);
}

static void
eight_are_asked_at_a_time(void **state)
{
	struct xfr_action probes[MANY];
	struct xfr_counts counts;
	struct world w;

	open_survey(&w, MANY, &soa7);
	assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 8);
	for (unsigned i = 0; i < MANY - 8; i++) {
		answer(&w, &probes[i], 7);
		assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 1);
		xfr_get_counts(w.machine, &counts);
		assert_int_equal(counts.probes, 8);
	}
	for (unsigned i = MANY - 8; i < MANY; i++) {
		assert_none(&w);
		answer(&w, &probes[i], i == MANY - 1 ? 8 : 7);
	}
	assert_asks(&w, MANY - 1, XFR_QUERY_IXFR_TCP);
	xfr_get_counts(w.machine, &counts);
	assert_int_equal(counts.probes, 0);
	close_world(&w);
}

/* Our own fault, a zone that goes: what is under way is dropped. */
static void
end_of_a_survey_drops_its_requests(void **state)
{
	struct xfr_action probes[3];
	struct xfr_counts counts;
	struct world w;

	for (unsigned i = 0; i < 2; i++) {
		open_survey(&w, 3, &soa7);
		assert_int_equal(take_probes(&w, probes, XFR_QUERY_SOA_UDP), 3);
		if (i == 0)
			break_off(&w, &probes[1], XFR_LOCAL);
		else
			xfr_remove_zone(w.machine, w.zone);
		for (unsigned k = 0; k < (i == 0 ? 2 : 3); k++) {
			assert_true(next(&w));
			assert_int_equal(w.action.act, XFR_CANCEL);
			assert_false(xfr_on_reply(w.machine, w.action.ticket,
				w.now, &(struct xfr_reply){
					.outcome = XFR_TIMEOUT}));
		}
		assert_none(&w);
		xfr_get_counts(w.machine, &counts);
		assert_int_equal(counts.probes, 0);
		assert_int_equal(counts.waiting + counts.urgent, 0);
		close_world(&w);
	}
}

#define TEST(name) cmocka_unit_test(name)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_primaries_are_asked_at_once_and_the_newest_wins),
		TEST(newest_is_told_by_serial_arithmetic),
		TEST(silent_primary_is_waited_for_once_and_over_tcp_if_nobody_has_newer),
		TEST(newer_version_does_not_wait_for_those_silent_for_long),
		TEST(primary_that_needs_tcp_is_heard_before_the_transfer),
		TEST(eight_are_asked_at_a_time),
		TEST(end_of_a_survey_drops_its_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
