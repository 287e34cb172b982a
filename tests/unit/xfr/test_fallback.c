/* test_fallback.c - which primary is asked for what, and what comes of its
 * answers. */
#include "config.h"

#include "unit/xfr/machine_world.h"

/* ---- fallback ----------------------------------------------------------- */

/* A silent primary is left soon while there is another one, and asked again
 * after all others. */
static void
udp_then_the_next_primary_then_tcp(void **state)
{
	struct world w;

	open_due(&w, &usual);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_int_equal(w.action.wait_msec, 2000);
	reply(&w, XFR_TIMEOUT);
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	reply(&w, XFR_USE_TCP);
	assert_asks(&w, 1, XFR_QUERY_SOA_TCP);
	reply(&w, XFR_TIMEOUT);
	assert_asks(&w, 2, XFR_QUERY_SOA_UDP);
	assert_int_equal(w.action.wait_msec, 3000);
	reply(&w, XFR_TIMEOUT);
	assert_asks(&w, 2, XFR_QUERY_SOA_TCP);
	reply(&w, XFR_UNREACHABLE);
	assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
	assert_int_equal(w.action.wait_msec, 10000);
	reply(&w, XFR_TIMEOUT);
	assert_none(&w);
	assert_int_equal(status_of(&w).error, XFR_TIMEOUT);
	close_world(&w);
}

/* A zone without data has its transfers begun at once: the first message of
 * each has little time, until there is nobody else. */
static void
silent_primary_does_not_hold_a_fresh_zone(void **state)
{
	struct world w;

	open_world(&w, &usual, NULL);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	assert_int_equal(w.action.first_msec, 2000);
	assert_int_equal(w.action.wait_msec, 0);
	reply(&w, XFR_TIMEOUT);
	assert_asks(&w, 1, XFR_QUERY_AXFR);
	assert_int_equal(w.action.first_msec, 2000);
	reply(&w, XFR_TIMEOUT);
	assert_asks(&w, 2, XFR_QUERY_AXFR);
	assert_int_equal(w.action.first_msec, 0);
	reply_rcode(&w, RCODE_REFUSED);
	for (unsigned i = 0; i < 2; i++) {
		assert_asks(&w, i, XFR_QUERY_AXFR);
		assert_int_equal(w.action.first_msec, 0);
		reply(&w, XFR_TIMEOUT);
	}
	assert_none(&w);
	assert_true(xfr_next_time(w.machine) > w.now);
	close_world(&w);
}

/* A retry does not take the place of another zone's transfer (pool.h): neither
 * the AXFR that follows, nor the transfer from the next primary. */
static void
transfer_that_follows_a_failed_one_is_told(void **state)
{
	struct world w;

	open_world(&w, &usual, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 1, true, 8);
	assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
	assert_false(w.action.has_failed);
	reply_rcode(&w, RCODE_SERVFAIL);
	assert_asks(&w, 1, XFR_QUERY_AXFR);
	assert_true(w.action.has_failed);
	close_world(&w);
	open_world(&w, &usual, NULL);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	assert_false(w.action.has_failed);
	reply(&w, XFR_NONSENSE);
	assert_asks(&w, 1, XFR_QUERY_AXFR);
	assert_true(w.action.has_failed);
	close_world(&w);
}

/* The last primary that is not known to be silent gets its full time, even if
 * it is slow. */
static void
silence_of_others_is_no_reason_for_haste(void **state)
{
	struct world w;
	uint32_t zones[4];

	open_world(&w, &usual, NULL);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(xfr_add_zone(w.machine, w.config, NULL,
			w.now, &zones[i]), NSD_OK);
	/* The fifth waits with the first; its primary is chosen late. */
	for (unsigned i = 0; i < 4; i++) {
		assert_asks(&w, 0, XFR_QUERY_AXFR);
		reply(&w, XFR_TIMEOUT);
		assert_asks(&w, 1, XFR_QUERY_AXFR);
		reply(&w, XFR_TIMEOUT);
		assert_asks(&w, 2, XFR_QUERY_AXFR);
		reply_serial(&w, XFR_DONE, 7);
		acknowledge(&w, 2);
	}
	assert_asks(&w, 2, XFR_QUERY_AXFR);
	assert_int_equal(w.action.first_msec, 0);
	close_world(&w);
}

/* Fault 58. */
static void
ixfr_that_fails_is_followed_by_axfr_for_a_while(void **state)
{
	static const struct {
		struct xfr_reply reply;
		unsigned hours; /* without IXFR */
	} rows[] = {
		{{.outcome = XFR_RCODE, .rcode = RCODE_SERVFAIL}, 1},
		{{.outcome = XFR_RCODE, .rcode = RCODE_NOTIMP}, 48},
		{{.outcome = XFR_RCODE, .rcode = RCODE_REFUSED}, 1},
		{{.outcome = XFR_RCODE, .rcode = RCODE_FORMERR}, 48},
		{{.outcome = XFR_RCODE, .rcode = RCODE_NOTAUTH}, 1},
		{{.outcome = XFR_NONSENSE}, 1},
		{{.outcome = XFR_NO_FIT}, 0},
	};
	struct world w;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t serial = 8;
		int64_t end;

		open_world(&w, &usual, &soa7);
		xfr_on_notify(w.machine, w.zone, w.now, 1, true, serial);
		assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
		reply_full(&w, &rows[i].reply);
		assert_asks(&w, 1, XFR_QUERY_AXFR);
		reply_serial(&w, XFR_DONE, serial);
		end = w.now + rows[i].hours * 3600 * SEC;
		if (rows[i].hours > 0) {
			acknowledge(&w, 2);
			w.now = end - SEC;
			xfr_on_notify(w.machine, w.zone, w.now, 1, true,
				++serial);
			/* AXFR needs to be sure that there is something. */
			if (rows[i].hours == 48)
				assert_true(next(&w));
			else
				assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
			if (w.action.act == XFR_EXPIRED)
				assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
			reply_serial(&w, XFR_SOA, serial);
			assert_asks(&w, 1, XFR_QUERY_AXFR);
			reply_serial(&w, XFR_DONE, serial);
		}
		acknowledge(&w, 2);
		w.now = end + SEC;
		xfr_on_notify(w.machine, w.zone, w.now, 1, true, ++serial);
		assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
		close_world(&w);
	}
}

static void
axfr_that_fails_too_does_not_forbid_ixfr(void **state)
{
	struct world w;

	open_world(&w, &usual, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply_rcode(&w, RCODE_SERVFAIL);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	reply_rcode(&w, RCODE_SERVFAIL);
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 8);
	assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
	reply_serial(&w, XFR_DONE, 8);
	acknowledge(&w, 2);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 9);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	close_world(&w);
}

static void
no_axfr_where_fallback_is_not_allowed(void **state)
{
	struct xfr_config config = usual;
	struct world w;

	config.flags = 0;
	open_world(&w, &config, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply_rcode(&w, RCODE_NOTIMP);
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	close_world(&w);
}

static void
ixfr_over_udp_goes_on_over_tcp(void **state)
{
	static const uint8_t flags[3] = {XFR_PRIMARY_UDP, XFR_PRIMARY_AXFR};
	static const enum xfr_outcome outcomes[] = {XFR_USE_TCP,
		XFR_UNREACHABLE};
	struct xfr_config config = usual;
	struct world w;

	config.primaries = flags;
	for (unsigned i = 0; i < 2; i++) {
		open_world(&w, &config, &soa7);
		xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
		assert_asks(&w, 0, XFR_QUERY_IXFR_UDP);
		reply(&w, outcomes[i]);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		reply(&w, XFR_TIMEOUT);
		/* Primary 1 does AXFR only, so it is asked for its SOA. */
		assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
		reply_serial(&w, XFR_SOA, 8);
		assert_asks(&w, 1, XFR_QUERY_AXFR);
		close_world(&w);
	}
}

static void
ixfr_over_udp_without_answer_goes_on_over_tcp_in_the_end(void **state)
{
	static const uint8_t flags[3] = {XFR_PRIMARY_UDP, XFR_PRIMARY_AXFR};
	struct xfr_config config = usual;
	struct world w;

	config.primaries = flags;
	open_world(&w, &config, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_UDP);
	reply(&w, XFR_TIMEOUT);
	for (unsigned i = 1; i < 3; i++) {
		assert_asks(&w, i, XFR_QUERY_SOA_UDP);
		reply_serial(&w, XFR_SOA, 7);
	}
	assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
	reply_serial(&w, XFR_SOA, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_UDP);
	assert_int_equal(w.action.wait_msec, 5000);
	reply(&w, XFR_TIMEOUT);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply_serial(&w, XFR_DONE, 8);
	close_world(&w);
}

static void
our_own_fault_ends_the_check(void **state)
{
	struct world w;

	open_world(&w, &usual, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply(&w, XFR_LOCAL);
	assert_none(&w);
	assert_int_equal(status_of(&w).state, XFR_STATE_REFRESHING);
	assert_int_equal(status_of(&w).error, XFR_LOCAL);
	close_world(&w);
}

/* The disk was full: it is tried again soon, more seldom each time, and in the
 * end as seldom as after any other failure. */
static void
our_own_fault_is_tried_again_soon(void **state)
{
	int64_t most = SEC;
	struct world w;

	open_world(&w, &usual, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	for (unsigned i = 0; i < 13; i++) {
		int64_t pause;

		reply(&w, XFR_LOCAL);
		assert_none(&w);
		pause = status_of(&w).check_at - w.now;
		assert_true(pause <= most);
		if (most <= 512 * SEC)
			assert_true(pause >= most * 9 / 10);
		else
			assert_true(pause >= 540 * SEC);
		most *= 2;
		wait_timer(&w);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply_serial(&w, XFR_SOA, 8);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	}
	reply(&w, XFR_TOO_LARGE);
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_none(&w);
	assert_true(status_of(&w).check_at - w.now >= 540 * SEC);
	close_world(&w);
}

static void
failed_transfer_is_tried_again_though_another_has_our_serial(void **state)
{
	struct world w;

	open_due(&w, &usual);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 9);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply(&w, XFR_TOO_LARGE);
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_none(&w);
	assert_true(status_of(&w).check_at <= w.now + 600 * SEC);
	close_world(&w);
}

/* A primary tells a newer serial and gives what the zone has: it does not
 * expire, and the next check comes after the retry, not the refresh. */
static void
promise_that_is_not_kept_is_a_failure(void **state)
{
	const struct xfr_config config = {.primaries = three,
		.primary_count = 1, .refresh_max_sec = 2419200,
		.retry_max_sec = 1209600};
	struct world w;
	int64_t asked_at;

	open_due(&w, &config);
	asked_at = w.now;
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply(&w, XFR_UNCHANGED);
	assert_none(&w);
	assert_int_equal(status_of(&w).error, XFR_UNCHANGED);
	assert_true(status_of(&w).expire_at == asked_at + 86400 * SEC);
	assert_true(status_of(&w).check_at <= w.now + 600 * SEC);
	/* The next answer ends the error. */
	w.now = status_of(&w).check_at;
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_none(&w);
	assert_true(status_of(&w).check_at > w.now + 3000 * SEC);
	close_world(&w);
}

/* Fault 60. */
static void
serial_that_goes_back_refreshes_nothing(void **state)
{
	struct world w;
	int64_t expire_at;

	open_world(&w, &usual, &soa7);
	expire_at = status_of(&w).expire_at;
	assert_none(&w);
	wait_timer(&w);
	for (unsigned i = 0; i < 3; i++) {
		assert_asks(&w, i, XFR_QUERY_SOA_UDP);
		reply_serial(&w, XFR_SOA, 6);
	}
	assert_none(&w);
	assert_true(status_of(&w).expire_at == expire_at);
	assert_int_equal(status_of(&w).error, XFR_BEHIND);
	assert_int_equal(status_of(&w).state, XFR_STATE_REFRESHING);
	close_world(&w);
}

/* A version that a former xfrd had received is published during the
 * transfer. */
static void
transfer_of_what_has_come_meanwhile_is_no_failure(void **state)
{
	struct world w;

	open_world(&w, &usual, NULL);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	xfr_on_served(w.machine, w.zone, w.now, &soa7);
	reply_serial(&w, XFR_BEHIND, 7);
	while (next(&w))
		assert_int_equal(w.action.act, XFR_NOTIFY);
	assert_int_equal(status_of(&w).failed_rounds, 0);
	assert_false(status_of(&w).has_error);
	assert_int_equal(status_of(&w).state, XFR_STATE_OK);
	close_world(&w);
}

/* After four timeouts; and one check in half a minute asks them in turn. */
static void
silent_primaries_are_asked_last_and_only_over_udp(void **state)
{
	struct world w;
	uint32_t zones[8];
	struct xfr_start start = {.has_data = true, .soa = soa7,
		.acquired_at = 1000, .check_at = XFR_NEVER,
		.expire_at = XFR_NEVER};

	open_world(&w, &usual, &soa7);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(xfr_add_zone(w.machine, w.config, &start,
			w.now, &zones[i]), NSD_OK);
	assert_none(&w);
	for (unsigned i = 0; i < 2; i++) {
		xfr_on_command(w.machine, zones[i], w.now, false);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply(&w, XFR_TIMEOUT);
		assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
		reply_serial(&w, XFR_SOA, 7);
		/* The datagram may have been lost, so the primary is asked over
		 * TCP. */
		assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
		reply(&w, XFR_TIMEOUT);
	}
	xfr_on_command(w.machine, zones[4], w.now, false);
	refuse(&w, 1, RCODE_REFUSED);
	refuse(&w, 2, RCODE_REFUSED);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply(&w, XFR_TIMEOUT);
	assert_none(&w);
	w.now += 31 * SEC;
	xfr_on_command(w.machine, zones[5], w.now, false);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply(&w, XFR_TIMEOUT);
	for (unsigned i = 1; i < 3; i++)
		refuse(&w, i, RCODE_REFUSED);
	assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
	reply_serial(&w, XFR_SOA, 7);
	xfr_on_command(w.machine, zones[6], w.now, false);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	close_world(&w);
}

/* A silent primary is tried now and then. A check that waits for a token has
 * not tried it yet, so the next check does. */
static void
silent_primary_is_not_asked_by_a_check_that_has_no_token(void **state)
{
	struct xfr_limits limits = xfr_limits_usual;
	const int64_t times[] = {XFR_NEVER, XFR_NEVER, 40 * SEC, 40 * SEC + 1};
	struct xfr_start start = {.has_data = true, .soa = soa7,
		.acquired_at = 1000, .expire_at = XFR_NEVER};
	struct world w = {.now = 1000};
	uint32_t other, zones[4];

	limits.checks_per_sec = 1;
	assert_int_equal(xfr_machine_create(&limits, 1, w.now, &w.machine),
		NSD_OK);
	assert_int_equal(xfr_add_config(w.machine, &usual, &w.config), NSD_OK);
	assert_int_equal(xfr_add_config(w.machine, &usual, &other), NSD_OK);
	for (unsigned i = 0; i < 4; i++) {
		start.check_at = times[i];
		assert_int_equal(xfr_add_zone(w.machine,
			i == 2 ? other : w.config, &start, w.now, &zones[i]),
			NSD_OK);
	}
	for (unsigned i = 0; i < 2; i++) {
		xfr_on_command(w.machine, zones[i], w.now, false);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply(&w, XFR_TIMEOUT);
		assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
		reply_serial(&w, XFR_SOA, 7);
		assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
		reply(&w, XFR_TIMEOUT);
	}
	/* The token goes to a zone of other primaries. */
	w.now = times[2];
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	w.now = times[3];
	assert_none(&w);
	w.now += SEC;
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	close_world(&w);
}

#define TEST(name) cmocka_unit_test(name)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(udp_then_the_next_primary_then_tcp),
		TEST(silent_primary_does_not_hold_a_fresh_zone),
		TEST(transfer_that_follows_a_failed_one_is_told),
		TEST(silence_of_others_is_no_reason_for_haste),
		TEST(ixfr_that_fails_is_followed_by_axfr_for_a_while),
		TEST(axfr_that_fails_too_does_not_forbid_ixfr),
		TEST(no_axfr_where_fallback_is_not_allowed),
		TEST(ixfr_over_udp_goes_on_over_tcp),
		TEST(ixfr_over_udp_without_answer_goes_on_over_tcp_in_the_end),
		TEST(our_own_fault_ends_the_check),
		TEST(our_own_fault_is_tried_again_soon),
		TEST(failed_transfer_is_tried_again_though_another_has_our_serial),
		TEST(promise_that_is_not_kept_is_a_failure),
		TEST(serial_that_goes_back_refreshes_nothing),
		TEST(transfer_of_what_has_come_meanwhile_is_no_failure),
		TEST(silent_primaries_are_asked_last_and_only_over_udp),
		TEST(silent_primary_is_not_asked_by_a_check_that_has_no_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
