/* test_refresh.c - when a zone expires, and that it is checked before and then.
 */
#include "config.h"

#include "unit/xfr/machine_world.h"
#include "xfr/state.h"

/* Fault 62. */
static void
zone_expires_when_due_and_revives(void **state)
{
	struct world w;
	bool has_expired = false;

	open_world(&w, &usual, &soa7);
	assert_expiry(&w, 1000 + 86400 * SEC);
	while (!has_expired) {
		while (next(&w))
			if (w.action.act == XFR_EXPIRED)
				has_expired = true;
			else
				reply(&w, XFR_BAD_TSIG);
		assert_true(w.now <= 1000 + 86400 * SEC);
		if (!has_expired)
			wait_timer(&w);
	}
	assert_true(w.now == 1000 + 86400 * SEC);
	assert_int_equal(status_of(&w).state, XFR_STATE_EXPIRED);
	wait_timer(&w);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_expiry(&w, w.now + 86400 * SEC);
	assert_int_equal(status_of(&w).state, XFR_STATE_OK);
	close_world(&w);
}

/* An EXPIRE of 0 counts as refresh plus retry, and an SOA of 0 0 0 0 as two
 * seconds, or the zone would never be served. The EXPIRE option with the same
 * value changes nothing. */
static void
zone_whose_expiry_is_0_lives_for_refresh_and_retry(void **state)
{
	struct xfr_soa soas[] = {soa7, {.serial = 7}};
	static const int64_t lives[] = {4200 * SEC, 2 * SEC};
	struct world w;

	soas[0].expire_sec = 0;
	for (unsigned i = 0; i < 4; i++) {
		open_world(&w, &usual, &soas[i / 2]);
		for (unsigned k = 0; k < 20; k++) {
			assert_none(&w);
			assert_int_equal(status_of(&w).state, XFR_STATE_OK);
			assert_true(status_of(&w).expire_at
				== w.now + lives[i / 2]);
			wait_timer(&w);
			assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
			reply_full(&w, &(struct xfr_reply){.outcome = XFR_SOA,
				.soa = soas[i / 2], .has_expire = i % 2});
		}
		close_world(&w);
	}
}

/* Measures the time from a successful check to the next one, 20 times. */
static void
check_early(const struct xfr_soa *soa, uint32_t refresh_min_sec,
	int64_t least_msec, int64_t most_msec)
{
	struct xfr_config config = usual;
	struct world w;
	int64_t from;

	config.refresh_min_sec = refresh_min_sec;
	open_world(&w, &config, soa);
	for (unsigned i = 0; i < 20; i++) {
		assert_none(&w);
		from = w.now;
		wait_timer(&w);
		assert_in_range(w.now - from, least_msec, most_msec);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply_full(&w, &(struct xfr_reply){.outcome = XFR_SOA,
			.soa = *soa});
	}
	close_world(&w);
}

/* A zone whose expiry is before its refresh: a retry before the end, or when
 * half of the time is left. */
static void
zone_is_checked_before_it_expires(void **state)
{
	static const struct {
		uint32_t refresh_sec, retry_sec, expire_sec, refresh_min_sec;
		int64_t least_msec, most_msec;
	} rows[] = {
		{3600, 600, 1, 0, 900, 900},
		{1, 1, 1, 0, 900, 900},
		{3600, 600, 5, 0, 2250, 2500},
		{3600, 1, 5, 0, 3600, 4000},
		{3600, 600, 3600, 0, 2700000, 3000000},
		{172800, 7200, 86400, 0, 71280000, 79200000},
		{UINT32_MAX, 600, UINT32_MAX, 0, 2177280000, 2419200000},
		/* Bounds of the refresh do not make it expire. */
		{60, 30, 300, 3600, 243000, 270000},
		{60, 30, 5, UINT32_MAX, 2250, 2500},
		/* Rows with an expiry that is long enough. */
		{3600, 600, 3601, 0, 3240000, 3600000},
		{3600, 600, 4200, 0, 3240000, 3600000},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct xfr_soa soa = {.serial = 7,
			.refresh_sec = rows[i].refresh_sec,
			.retry_sec = rows[i].retry_sec,
			.expire_sec = rows[i].expire_sec};

		check_early(&soa, rows[i].refresh_min_sec,
			rows[i].least_msec, rows[i].most_msec);
	}
}

/* RFC 7314 section 4: a primary that is about to lose the zone itself. */
static void
zone_that_an_option_shortens_is_checked_before_it_expires(void **state)
{
	struct xfr_reply full = {.outcome = XFR_DONE, .soa = soa7,
		.has_expire = true, .expire_sec = 6};
	struct world w;
	int64_t from;

	full.soa.serial = 8;
	open_world(&w, &usual, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply_full(&w, &full);
	acknowledge(&w, 2);
	assert_none(&w);
	from = w.now;
	wait_timer(&w);
	assert_in_range(w.now - from, 2700, 3000);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	full.outcome = XFR_SOA;
	full.expire_sec = 86400;
	reply_full(&w, &full);
	assert_none(&w);
	from = w.now;
	wait_timer(&w);
	assert_in_range(w.now - from, 3240 * SEC, 3600 * SEC);
	close_world(&w);
}

static void
assert_expires(struct world *w, int64_t at)
{
	assert_none(w);
	wait_timer(w);
	assert_true(w->now == at);
	assert_true(next(w));
	assert_int_equal(w->action.act, XFR_EXPIRED);
}

static void
all_refuse(struct world *w)
{
	for (unsigned p = 0; p < 3; p++)
		refuse(w, p, RCODE_REFUSED);
}

/* Though its retry is later; from then on it is asked for after its retry. */
static void
zone_that_expires_is_checked_at_once(void **state)
{
	struct xfr_soa soa = soa7;
	struct world w;

	soa.expire_sec = 5;
	open_world(&w, &usual, &soa);
	assert_none(&w);
	wait_timer(&w);
	all_refuse(&w);
	assert_expires(&w, 6000);
	all_refuse(&w);
	assert_none(&w);
	wait_timer(&w);
	assert_in_range(w.now - 6000, 1080 * SEC, 1200 * SEC);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_full(&w, &(struct xfr_reply){.outcome = XFR_SOA, .soa = soa});
	assert_int_equal(status_of(&w).state, XFR_STATE_OK);
	close_world(&w);
}

/* A zone is not checked twice in a second, nor while it is being checked. */
static void
zone_that_expires_in_or_after_a_check_is_not_checked_twice(void **state)
{
	struct xfr_soa soa = soa7;
	struct world w;
	int64_t from;

	soa.expire_sec = 1;
	open_world(&w, &usual, &soa);
	assert_none(&w);
	wait_timer(&w);
	from = w.now;
	all_refuse(&w);
	assert_expires(&w, 2000);
	assert_none(&w);
	wait_timer(&w);
	assert_true(w.now == from + SEC);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_full(&w, &(struct xfr_reply){.outcome = XFR_SOA, .soa = soa});
	assert_none(&w);
	from = w.now;
	wait_timer(&w);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_expires(&w, from + SEC);
	assert_none(&w);
	w.now += SEC;
	assert_none(&w);
	close_world(&w);
}

/* A state file's time of the next check does not let a zone expire; an expired
 * zone is checked at once. */
static void
zone_that_expires_soon_after_a_start_is_checked_before(void **state)
{
	struct xfr_start start = {.has_data = true, .soa = soa7,
		.acquired_at = 500, .check_at = 1000 + 3600 * SEC,
		.expire_at = 1000 + 10 * SEC};
	struct world w;
	uint32_t zone;

	open_world(&w, &usual, &soa7);
	assert_int_equal(xfr_add_zone(w.machine, w.config, &start, w.now,
		&zone), NSD_OK);
	assert_none(&w);
	wait_timer(&w);
	assert_in_range(w.now - 1000, 4500, 5000);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_int_equal(w.action.zone, zone);
	/* A zone whose retry would be after its expiry. */
	start.failed_rounds = 2;
	start.expire_at = w.now + 10 * SEC;
	assert_int_equal(xfr_add_zone(w.machine, w.config, &start, w.now,
		&zone), NSD_OK);
	assert_none(&w);
	start.expire_at = w.now;
	assert_int_equal(xfr_add_zone(w.machine, w.config, &start, w.now,
		&zone), NSD_OK);
	assert_true(next(&w));
	assert_int_equal(w.action.act, XFR_EXPIRED);
	assert_int_equal(w.action.zone, zone);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_int_equal(w.action.zone, zone);
	assert_none(&w);
	close_world(&w);
}

/* xfrdfile has no expiry, but the time at which a zone was fresh. */
static void
expiry_of_the_store_is_not_put_off_by_the_file(void **state)
{
	const struct xfr_state_clocks before = {1800000000, 1000},
		after = {1800000500, 501000};
	struct xfr_start start = {.has_data = true, .soa = soa7,
		.acquired_at = 1000, .check_at = 1000,
		.expire_at = 1000 + 600 * SEC};
	struct xfr_state_zone kept;
	struct xfr_status status;
	struct world w;
	uint32_t zone;

	open_world(&w, &usual, &soa7);
	assert_int_equal(xfr_add_zone(w.machine, w.config, &start, w.now,
		&zone), NSD_OK);
	xfr_get_status(w.machine, zone, w.now, &status);
	assert_true(status.expire_at == 1000 + 600 * SEC);
	xfr_state_from_status(&status, &before, &kept);
	w.now = after.now;
	xfr_state_to_start(&kept, before.real_sec, &after, &soa7, &start);
	assert_int_equal(xfr_add_zone(w.machine, w.config, &start, w.now,
		&zone), NSD_OK);
	xfr_get_status(w.machine, zone, w.now, &status);
	assert_true(status.expire_at == 1000 + 600 * SEC);
	close_world(&w);
}

/* RFC 7314 section 4 */
static void
expire_option_shortens_what_is_new_only(void **state)
{
	struct xfr_reply full = {.outcome = XFR_SOA, .soa = soa7,
		.has_expire = true, .expire_sec = 50};
	struct world w;
	int64_t before;

	open_world(&w, &usual, &soa7);
	before = status_of(&w).expire_at;
	xfr_on_command(w.machine, w.zone, w.now, false);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_full(&w, &full);
	assert_true(status_of(&w).expire_at == before);
	full.expire_sec = 86400000;
	w.now += SEC;
	xfr_on_command(w.machine, w.zone, w.now, false);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_full(&w, &full);
	assert_true(status_of(&w).expire_at == w.now + 86400 * SEC);
	full.soa.serial = 8;
	full.expire_sec = 50;
	full.outcome = XFR_DONE;
	xfr_on_notify(w.machine, w.zone, w.now + 2 * SEC, 0, true, 8);
	w.now += 2 * SEC;
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply_full(&w, &full);
	assert_true(status_of(&w).expire_at == w.now + 50 * SEC);
	close_world(&w);
}

static void
least_expiry_is_the_configured_one_or_by_rule(void **state)
{
	struct xfr_config config = usual;
	struct xfr_soa soa = soa7;
	struct world w;

	soa.expire_sec = 1;
	config.expire_min_sec = 500;
	open_world(&w, &config, &soa);
	assert_true(status_of(&w).expire_at == 1000 + 500 * SEC);
	close_world(&w);
	config.flags |= XFR_CONFIG_EXPIRE_RULE;
	open_world(&w, &config, &soa);
	assert_true(status_of(&w).expire_at == 1000 + 4201 * SEC);
	close_world(&w);
}

/* RFC 7314 section 4: the bound is of what the SOA says. Who has the zone from
 * a secondary does not outlive it by the bound. */
static void
least_expiry_does_not_lengthen_the_option(void **state)
{
	static const struct {
		uint32_t soa_sec, option_sec, lives_sec;
	} rows[] = {
		{1, 50, 50},
		{1, 1, 500},     /* a primary's */
		{1, 600, 500},
		{86400, 50, 50},
		{86400, 0, 0},
		{86400, 86400, 86400},
		{0, 0, 4200},    /* a primary's */
		{0, 70, 70},
		{0, 1, 0},       /* a secondary's, at its end */
	};
	struct xfr_config config = usual;
	struct world w;

	config.expire_min_sec = 500;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct xfr_reply full = {.outcome = XFR_DONE, .soa = soa7,
			.has_expire = true, .expire_sec = rows[i].option_sec};

		full.soa.expire_sec = rows[i].soa_sec;
		open_world(&w, &config, NULL);
		assert_asks(&w, 0, XFR_QUERY_AXFR);
		reply_full(&w, &full);
		assert_true(status_of(&w).expire_at
			== w.now + rows[i].lives_sec * SEC);
		close_world(&w);
	}
}

/* A zone with soa7 gets a config with another least expiry. */
static void
other_bounds_count_from_the_last_refresh(void **state)
{
	static const struct {
		uint32_t old_min_sec, new_min_sec;
		int64_t left_sec; /* of its time; it was refreshed at 1 s */
		int64_t expires_at_sec;
	} rows[] = {
		/* The bound has not changed. */
		{0, 0, 86400, 86401},
		{0, 0, 50, 51},
		/* More. */
		{0, 100000, 86400, 100001},
		{86401, 100000, 86401, 100001},
		/* An option has shortened it. */
		{0, 100000, 50, 51},
		{100000, 0, 50, 51},
		/* Less, and gone at once. */
		{200000, 0, 200000, 86401},
		{200000, 90000, 200000, 90001},
		/* The zone has expired. */
		{0, 200000, 2, 3},
	};
	struct xfr_config config = usual;
	struct xfr_status status;
	struct xfr_start start;
	struct world w;
	uint32_t id, zone;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		config.expire_min_sec = rows[i].old_min_sec;
		open_world(&w, &config, &soa7);
		status = status_of(&w);
		start = (struct xfr_start){.has_data = true, .soa = soa7,
			.acquired_at = status.acquired_at,
			.check_at = XFR_NEVER,
			.expire_at = 1000 + rows[i].left_sec * SEC,
			.lifetime_msec = status.lifetime_msec};
		config.expire_min_sec = rows[i].new_min_sec;
		assert_int_equal(xfr_add_config(w.machine, &config, &id),
			NSD_OK);
		assert_int_equal(xfr_add_zone(w.machine, id, &start, 10 * SEC,
			&zone), NSD_OK);
		xfr_get_status(w.machine, zone, 10 * SEC, &status);
		assert_true(status.expire_at == rows[i].expires_at_sec * SEC);
		close_world(&w);
	}
}

static void
expiries_are_told_again_to_another_loader(void **state)
{
	struct world w;
	uint32_t second;

	open_world(&w, &usual, &soa7);
	assert_int_equal(xfr_add_zone(w.machine, w.config, NULL, w.now,
		&second), NSD_OK);
	while (xfr_next(w.machine, w.now, &w.action))
		;
	assert_expiry(&w, 1000 + 86400 * SEC);
	xfr_resend_expiries(w.machine);
	assert_false(xfr_next(w.machine, w.now, &w.action));
	assert_true(xfr_next_time(w.machine) > w.now);
	assert_expiry(&w, 1000 + 86400 * SEC);
	close_world(&w);
}

/* An expiry that the loader refuses is sent again, after others; once, however
 * often it is asked for; and not for a zone that is gone. */
static void
expiry_that_is_not_taken_comes_again(void **state)
{
	struct world w;
	uint32_t first, second, zone;
	int64_t at;

	open_world(&w, &usual, &soa7);
	first = w.zone;
	add_to_world(&w, &soa7);
	second = w.zone;
	assert_true(xfr_next_expiry(w.machine, &zone, &at));
	assert_int_equal(zone, first);
	xfr_resend_expiry(w.machine, first);
	assert_true(xfr_next_expiry(w.machine, &zone, &at));
	assert_int_equal(zone, second);
	assert_true(at == 1000 + 86400 * SEC);
	xfr_resend_expiry(w.machine, second);
	xfr_resend_expiry(w.machine, second);
	xfr_remove_zone(w.machine, first);
	assert_expiry(&w, at);
	assert_int_equal(w.zone, second);
	/* The removed zone's number is free now. */
	add_to_world(&w, &soa7);
	assert_int_equal(w.zone, first);
	close_world(&w);
}

#define TEST(name) cmocka_unit_test(name)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(zone_expires_when_due_and_revives),
		TEST(zone_whose_expiry_is_0_lives_for_refresh_and_retry),
		TEST(zone_is_checked_before_it_expires),
		TEST(zone_that_an_option_shortens_is_checked_before_it_expires),
		TEST(zone_that_expires_is_checked_at_once),
		TEST(zone_that_expires_in_or_after_a_check_is_not_checked_twice),
		TEST(zone_that_expires_soon_after_a_start_is_checked_before),
		TEST(expiry_of_the_store_is_not_put_off_by_the_file),
		TEST(expire_option_shortens_what_is_new_only),
		TEST(least_expiry_is_the_configured_one_or_by_rule),
		TEST(least_expiry_does_not_lengthen_the_option),
		TEST(other_bounds_count_from_the_last_refresh),
		TEST(expiries_are_told_again_to_another_loader),
		TEST(expiry_that_is_not_taken_comes_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
