/* test_machine.c - when a zone is checked, zones that come and go. tests/sim
 * has many zones for months. */
#include "config.h"

#include "unit/xfr/machine_world.h"

/* ---- timers ------------------------------------------------------------- */

/* RFC 1034 section 4.3.5 */
static void
fresh_zone_is_asked_for_after_its_refresh(void **state)
{
	struct world w;
	int64_t from;

	open_due(&w, &usual);
	assert_true(w.now <= 1000 + 3600 * SEC);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	from = w.now;
	assert_none(&w);
	wait_timer(&w);
	assert_in_range(w.now - from, 3240 * SEC, 3600 * SEC);
	assert_int_equal(status_of(&w).state, XFR_STATE_OK);
	close_world(&w);
}

static void
newer_serial_is_transferred_and_notified(void **state)
{
	struct world w;

	open_due(&w, &usual);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 9);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	assert_true(w.action.has_serial && w.action.serial == 7);
	assert_true(xfr_wants(w.machine, w.action.ticket, 8));
	assert_false(xfr_wants(w.machine, w.action.ticket, 7));
	reply_serial(&w, XFR_DONE, 9);
	assert_int_equal(status_of(&w).soa.serial, 9);
	assert_int_equal(status_of(&w).notifying, 2);
	acknowledge(&w, 2);
	assert_int_equal(status_of(&w).notifying, 0);
	assert_none(&w);
	close_world(&w);
}

/* RFC 1982 */
static void
serial_wraps_and_half_of_all_apart_is_not_newer(void **state)
{
	static const struct {
		uint32_t ours, theirs;
		bool is_newer;
	} rows[] = {
		{UINT32_MAX, 0, true},
		{UINT32_MAX, 5, true},
		{0, UINT32_MAX, false},
		{0, 0x7fffffff, true},
		{0, 0x80000000, false},
		{0x80000000, 0, false},
	};
	struct world w;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct xfr_soa soa = soa7;

		soa.serial = rows[i].ours;
		open_world(&w, &usual, &soa);
		assert_none(&w);
		wait_timer(&w);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply_serial(&w, XFR_SOA, rows[i].theirs);
		assert_asks(&w, rows[i].is_newer ? 0 : 1, rows[i].is_newer
			? XFR_QUERY_IXFR_TCP : XFR_QUERY_SOA_UDP);
		close_world(&w);
	}
}

static void
bounds_of_refresh_and_retry_hold(void **state)
{
	struct xfr_config config = usual;
	struct world w;
	int64_t from;

	config.refresh_min_sec = config.refresh_max_sec = 100;
	config.retry_min_sec = config.retry_max_sec = 20;
	open_due(&w, &config);
	for (unsigned i = 0; i < 20; i++) {
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply_serial(&w, XFR_SOA, 7);
		from = w.now;
		assert_none(&w);
		wait_timer(&w);
		assert_true(w.now - from == 100 * SEC);
	}
	for (unsigned i = 0; i < 20; i++) {
		for (unsigned p = 0; p < 3; p++)
			refuse(&w, p, RCODE_SERVFAIL);
		from = w.now;
		assert_none(&w);
		wait_timer(&w);
		assert_true(w.now - from == 20 * SEC);
	}
	close_world(&w);
}

/* A refused version is asked of the primary that gave it, then of others; an
 * older one as a whole. A primary that lags behind does not end the check. */
static void
accepted_version_is_fetched(void **state)
{
	struct world w;

	open_due(&w, &usual);
	for (unsigned p = 0; p < 3; p++)
		refuse(&w, p, RCODE_SERVFAIL);
	assert_none(&w);
	xfr_on_accept(w.machine, w.zone, w.now, 2, 9);
	assert_asks(&w, 2, XFR_QUERY_IXFR_TCP);
	reply_full(&w, &(struct xfr_reply){.outcome = XFR_UNCHANGED,
		.has_soa = true, .soa = soa7});
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 9);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply_full(&w, &(struct xfr_reply){.outcome = XFR_REFUSED});
	/* The whole zone would be refused, too. */
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_none(&w);
	assert_true(status_of(&w).failed_rounds == 2);
	xfr_on_accept(w.machine, w.zone, w.now, XFR_NONE, 3);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	close_world(&w);
}

/* The reason is of the primary that failed last. A success leaves it; an answer
 * that leads to another way of asking is no error. */
static void
reason_is_that_of_the_last_error(void **state)
{
	struct world w;

	open_due(&w, &usual);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_full(&w, &(struct xfr_reply){.outcome = XFR_USE_TCP,
		.reason = 5});
	assert_false(status_of(&w).has_error);
	assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
	reply_full(&w, &(struct xfr_reply){.outcome = XFR_TIMEOUT,
		.reason = 6});
	assert_int_equal(status_of(&w).error_reason, 6);
	assert_int_equal(status_of(&w).error_primary, 0);
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 8);
	assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
	reply_full(&w, &(struct xfr_reply){.outcome = XFR_NO_FIT,
		.reason = 7});
	assert_int_equal(status_of(&w).error_reason, 7);
	assert_int_equal(status_of(&w).error_primary, 1);
	assert_asks(&w, 1, XFR_QUERY_AXFR);
	reply_serial(&w, XFR_DONE, 8);
	assert_int_equal(status_of(&w).error_reason, 7);
	close_world(&w);
}

/* Retries after 600, 1200, 2400 and then 3600 seconds, the refresh; or else up
 * to eight times the retry. */
static void
check_pauses(uint32_t refresh_sec, const int64_t *pauses)
{
	struct xfr_soa soa = soa7;
	struct world w;
	int64_t from;

	soa.refresh_sec = refresh_sec;
	open_world(&w, &usual, &soa);
	assert_none(&w);
	wait_timer(&w);
	for (unsigned i = 0; i < 5; i++) {
		for (unsigned p = 0; p < 3; p++)
			refuse(&w, p, RCODE_REFUSED);
		from = w.now;
		assert_none(&w);
		assert_int_equal(status_of(&w).state, XFR_STATE_REFRESHING);
		assert_int_equal(status_of(&w).failed_rounds, i + 1);
		assert_int_equal(status_of(&w).error_rcode, RCODE_REFUSED);
		assert_int_equal(status_of(&w).error_primary, 2);
		wait_timer(&w);
		assert_in_range(w.now - from, pauses[i] * 900,
			pauses[i] * 1000);
	}
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_int_equal(status_of(&w).failed_rounds, 0);
	close_world(&w);
}

static void
retries_grow_to_the_refresh_or_eight_times(void **state)
{
	static const int64_t short_ones[] = {600, 1200, 2400, 3600, 3600};
	static const int64_t long_ones[] = {600, 1200, 2400, 4800, 4800};

	check_pauses(3600, short_ones);
	check_pauses(36000, long_ones);
}

/* Pauses that have grown are halved as the end comes nearer, down to the SOA's
 * retry. */
static void
last_hours_before_expiry_have_several_retries(void **state)
{
	struct xfr_soa soa = soa7;
	struct world w;
	unsigned checks = 0;

	soa.refresh_sec = 86400;
	soa.expire_sec = 10 * 86400;
	open_world(&w, &usual, &soa);
	for (;;) {
		while (next(&w)) {
			if (w.action.act == XFR_EXPIRED)
				break;
			/* In the last pause of full length. */
			checks += w.action.primary == 0
				&& w.action.act == XFR_PROBE
				&& w.now > 1000 + (864000 - 4800) * SEC;
			reply(&w, XFR_BAD_TSIG);
		}
		if (w.action.act == XFR_EXPIRED)
			break;
		wait_timer(&w);
	}
	assert_in_range(checks, 4, 9);
	close_world(&w);
}

static void
zone_without_data_is_tried_as_nsd_does(void **state)
{
	struct world w;
	int64_t least = 10, from;

	open_world(&w, &usual, NULL);
	for (unsigned i = 0; i < 15; i++) {
		for (unsigned p = 0; p < 3; p++) {
			assert_asks(&w, p, XFR_QUERY_AXFR);
			assert_false(w.action.has_serial);
			reply(&w, XFR_NONSENSE);
		}
		from = w.now;
		assert_none(&w);
		assert_int_equal(status_of(&w).state, XFR_STATE_EXPIRED);
		wait_timer(&w);
		assert_in_range(w.now - from, least * SEC, 2 * least * SEC);
		least = least < 10240 ? least * 2 : least;
	}
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	assert_true(xfr_wants(w.machine, w.action.ticket, 0));
	reply_serial(&w, XFR_DONE, 1);
	assert_int_equal(status_of(&w).state, XFR_STATE_OK);
	close_world(&w);
}

static void
next_check_of_a_state_file_is_within_the_refresh(void **state)
{
	struct xfr_start start = {.has_data = true, .soa = soa7,
		.check_at = XFR_NEVER - 1, .expire_at = XFR_NEVER};
	struct world w;
	uint32_t zone;

	open_world(&w, &usual, &soa7);
	assert_none(&w);
	assert_int_equal(xfr_add_zone(w.machine, w.config, &start, w.now,
		&zone), NSD_OK);
	assert_none(&w);
	assert_true(xfr_next_time(w.machine) <= w.now + 3600 * SEC);
	close_world(&w);
}

/* ---- zones come and go -------------------------------------------------- */

static void
removed_zone_is_cancelled_and_its_answers_find_nobody(void **state)
{
	struct xfr_counts counts;
	struct world w;
	uint64_t tickets[2];
	uint32_t other;

	open_world(&w, &usual, &soa7);
	xfr_on_command(w.machine, w.zone, w.now, false);
	xfr_send_notifies(w.machine, w.zone, false);
	assert_true(next(&w));
	tickets[0] = w.action.ticket;
	assert_true(next(&w));
	assert_int_equal(w.action.act, XFR_NOTIFY);
	tickets[1] = w.action.ticket;
	xfr_remove_zone(w.machine, w.zone);
	assert_int_equal(xfr_add_zone(w.machine, w.config, NULL, w.now,
		&other), NSD_OK);
	for (unsigned i = 0; i < 2; i++) {
		assert_false(xfr_on_reply(w.machine, tickets[i], w.now,
			&(struct xfr_reply){.outcome = XFR_TIMEOUT}));
		assert_true(next(&w));
		assert_int_equal(w.action.act, XFR_CANCEL);
		assert_true(w.action.ticket == tickets[0]
			|| w.action.ticket == tickets[1]);
	}
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	xfr_get_counts(w.machine, &counts);
	assert_int_equal(counts.zones, 1);
	assert_int_equal(counts.probes, 0);
	assert_int_equal(counts.transfers, 1);
	assert_int_equal(counts.notifies, 0);
	xfr_remove_zone(w.machine, other);
	xfr_release_config(w.machine, w.config);
	xfr_get_counts(w.machine, &counts);
	assert_int_equal(counts.zones, 0);
	assert_int_equal(counts.configs, 0);
	close_world(&w);
}

static void
handle_of_a_removed_zone_is_used_again(void **state)
{
	struct world w;
	uint32_t zone;
	int64_t at;

	open_world(&w, &usual, &soa7);
	/* The zone's expiry has not been sent to the loader yet. */
	xfr_remove_zone(w.machine, w.zone);
	assert_int_equal(xfr_add_zone(w.machine, w.config, NULL, w.now,
		&zone), NSD_OK);
	assert_int_not_equal(zone, w.zone);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	assert_none(&w);
	assert_false(xfr_next_expiry(w.machine, &zone, &at));
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(xfr_add_zone(w.machine, w.config, NULL,
			w.now, &zone), NSD_OK);
		assert_int_equal(zone, w.zone);
		xfr_remove_zone(w.machine, zone);
	}
	close_world(&w);
}

static void
too_many_primaries_are_refused(void **state)
{
	static const uint8_t flags[XFR_PRIMARIES_MAX + 1] = {0};
	struct xfr_config config = usual;
	struct world w;
	uint32_t id;

	config.primaries = flags;
	config.primary_count = XFR_PRIMARIES_MAX;
	open_world(&w, &config, &soa7);
	xfr_on_command(w.machine, w.zone, w.now, false);
	for (unsigned i = 0; i < XFR_PRIMARIES_MAX; i++)
		refuse(&w, i, RCODE_REFUSED);
	assert_none(&w);
	config.primary_count++;
	assert_int_equal(xfr_add_config(w.machine, &config, &id),
		NSD_E_LIMIT);
	config.primary_count = 1;
	config.target_count = XFR_TARGETS_MAX + 1;
	assert_int_equal(xfr_add_config(w.machine, &config, &id),
		NSD_E_LIMIT);
	close_world(&w);
}

#define TEST(name) cmocka_unit_test(name)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(accepted_version_is_fetched),
		TEST(fresh_zone_is_asked_for_after_its_refresh),
		TEST(newer_serial_is_transferred_and_notified),
		TEST(serial_wraps_and_half_of_all_apart_is_not_newer),
		TEST(bounds_of_refresh_and_retry_hold),
		TEST(reason_is_that_of_the_last_error),
		TEST(retries_grow_to_the_refresh_or_eight_times),
		TEST(last_hours_before_expiry_have_several_retries),
		TEST(zone_without_data_is_tried_as_nsd_does),
		TEST(next_check_of_a_state_file_is_within_the_refresh),
		TEST(removed_zone_is_cancelled_and_its_answers_find_nobody),
		TEST(handle_of_a_removed_zone_is_used_again),
		TEST(too_many_primaries_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
