/* test_notify.c - NOTIFY in and out. */
#include "config.h"

#include "unit/xfr/machine_world.h"

/* ---- NOTIFY in ---------------------------------------------------------- */

/* RFC 1996 section 3.11 */
static void
notify_of_what_we_have_costs_nothing(void **state)
{
	struct world w;

	open_world(&w, &usual, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 7);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 6);
	assert_none(&w);
	xfr_on_notify(w.machine, w.zone, w.now, 2, false, 0);
	assert_asks(&w, 2, XFR_QUERY_SOA_UDP);
	close_world(&w);
	/* Of none of the primaries: they are probed. */
	open_world(&w, &usual, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, XFR_NONE, true, 8);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	close_world(&w);
}

/* Fault 60: IXFR and a probe of each other primary, then no more. */
static void
serial_ahead_of_reality_costs_one_check(void **state)
{
	struct world w;

	open_world(&w, &usual, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 1, true, 1000);
	assert_int_equal(status_of(&w).notified_serial, 1000);
	assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
	reply(&w, XFR_UNCHANGED);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_asks(&w, 2, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_none(&w);
	assert_false(status_of(&w).is_notified);
	assert_true(xfr_next_time(w.machine) > w.now + 3000 * SEC);
	close_world(&w);
}

/* Fault 61. */
static void
flood_costs_a_check_and_ever_fewer(void **state)
{
	struct world w;
	unsigned asked = 0;

	open_world(&w, &usual, &soa7);
	for (unsigned i = 0; i < 600000; i++) {
		xfr_on_notify(w.machine, w.zone, w.now, 0, true, 1000 + i);
		while (next(&w)) {
			assert_int_not_equal(w.action.act, XFR_NOTIFY);
			asked++;
			if (w.action.act == XFR_PROBE)
				reply_serial(&w, XFR_SOA, 7);
			else
				reply(&w, XFR_UNCHANGED);
		}
		w.now++;
	}
	/* In ten minutes: after 0, 1, 2, 4 ... 32 seconds, then each 64; each
	 * check asks three primaries. */
	assert_in_range(asked, 3 * 10, 3 * 17);
	close_world(&w);
}

static void
notify_during_a_check_is_one_check_more(void **state)
{
	struct world w;

	open_world(&w, &usual, &soa7);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	for (unsigned i = 9; i < 20; i++)
		xfr_on_notify(w.machine, w.zone, w.now, 0, true, i);
	assert_int_equal(status_of(&w).notified_serial, 19);
	reply_serial(&w, XFR_DONE, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	assert_int_equal(w.action.serial, 8);
	reply_serial(&w, XFR_DONE, 19);
	acknowledge(&w, 2);
	assert_none(&w);
	/* The transfer brings what was told meanwhile. */
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 20);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 21);
	reply_serial(&w, XFR_DONE, 21);
	acknowledge(&w, 2);
	assert_none(&w);
	close_world(&w);
}

static void
version_told_before_the_answer_is_no_check_in_vain(void **state)
{
	struct xfr_soa soa = soa7;
	struct world w;

	open_world(&w, &usual, &soa7);
	for (soa.serial = 8; soa.serial < 12; soa.serial++) {
		uint64_t ticket;

		xfr_on_notify(w.machine, w.zone, w.now, 0, true, soa.serial);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		ticket = w.action.ticket;
		xfr_on_served(w.machine, w.zone, w.now, &soa);
		acknowledge(&w, 2);
		w.action.ticket = ticket;
		reply_serial(&w, XFR_DONE, soa.serial);
		assert_none(&w);
	}
	close_world(&w);
}

static void
forced_transfer_takes_any_serial(void **state)
{
	struct world w;

	open_world(&w, &usual, &soa7);
	xfr_on_command(w.machine, w.zone, w.now, true);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	assert_true(w.action.forced);
	assert_true(xfr_wants(w.machine, w.action.ticket, 3));
	/* A second forced transfer while the first is under way. */
	xfr_on_command(w.machine, w.zone, w.now, true);
	reply_serial(&w, XFR_DONE, 3);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	reply_serial(&w, XFR_DONE, 3);
	assert_int_equal(status_of(&w).soa.serial, 3);
	acknowledge(&w, 2);
	assert_none(&w);
	close_world(&w);
}

/* ---- NOTIFY out --------------------------------------------------------- */

static void
targets_are_told_until_they_answer_or_tries_end(void **state)
{
	static const int64_t pauses[] = {0, 3000, 6000, 12000};
	struct world w;
	uint64_t late;

	open_world(&w, &usual, &soa7);
	xfr_send_notifies(w.machine, w.zone, false);
	acknowledge(&w, 1);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(next(&w));
		assert_int_equal(w.action.act, XFR_NOTIFY);
		assert_int_equal(w.action.target, 1);
		assert_int_equal(w.action.serial, 7);
		w.now += w.action.wait_msec;
		late = w.action.ticket;
		reply(&w, XFR_TIMEOUT);
		if (i == 4)
			break;
		if (pauses[i] > 0) {
			w.now += pauses[i] - 1;
			assert_none(&w);
			w.now++;
		}
	}
	assert_none(&w);
	assert_int_equal(status_of(&w).notifying, 0);
	assert_false(xfr_on_reply(w.machine, late, w.now,
		&(struct xfr_reply){.outcome = XFR_ACKNOWLEDGED}));
	close_world(&w);
}

static void
newer_serial_begins_anew(void **state)
{
	struct xfr_soa soa = soa7;
	struct world w;
	uint64_t first;

	open_world(&w, &usual, &soa7);
	xfr_send_notifies(w.machine, w.zone, false);
	assert_true(next(&w));
	first = w.action.ticket;
	assert_int_equal(w.action.serial, 7);
	soa.serial = 8;
	xfr_on_served(w.machine, w.zone, w.now, &soa);
	assert_int_equal(status_of(&w).notifying, 2);
	/* The other target gets the new serial, and the first target once it
	 * has answered the old one. */
	assert_true(next(&w));
	assert_int_equal(w.action.act, XFR_NOTIFY);
	assert_int_equal(w.action.serial, 8);
	reply(&w, XFR_ACKNOWLEDGED);
	assert_true(xfr_on_reply(w.machine, first, w.now,
		&(struct xfr_reply){.outcome = XFR_ACKNOWLEDGED}));
	assert_true(next(&w));
	assert_int_equal(w.action.act, XFR_NOTIFY);
	assert_int_equal(w.action.serial, 8);
	reply(&w, XFR_ACKNOWLEDGED);
	assert_int_equal(status_of(&w).notifying, 0);
	close_world(&w);
}

static void
primary_zone_notifies_and_is_never_checked(void **state)
{
	struct xfr_config config = usual;
	struct xfr_soa soa = soa7;
	struct world w;

	config.primary_count = 0;
	open_world(&w, &config, &soa7);
	assert_none(&w);
	assert_true(xfr_next_time(w.machine) == XFR_NEVER);
	soa.serial = 8;
	xfr_on_served(w.machine, w.zone, w.now, &soa);
	acknowledge(&w, 2);
	xfr_on_notify(w.machine, w.zone, w.now, 0, true, 9);
	xfr_on_command(w.machine, w.zone, w.now, true);
	assert_none(&w);
	assert_true(status_of(&w).expire_at == XFR_NEVER);
	close_world(&w);
}

/* ---- at a start ---------------------------------------------------------- */

#define PRIMARIES 200

/* Zones that are primary, have data and two targets each. */
static void
open_primaries(struct world *w, uint64_t seed, uint32_t zones[PRIMARIES])
{
	const struct xfr_limits limits = {.probes = 4, .transfers = 4,
		.notifies = 4, .checks_per_sec = 100};
	struct xfr_config config = usual;
	struct xfr_start start = {.has_data = true, .soa = soa7,
		.check_at = XFR_NEVER, .expire_at = XFR_NEVER};

	memset(w, 0, sizeof(*w));
	w->now = 1000;
	assert_int_equal(xfr_machine_create(&limits, seed, w->now,
		&w->machine), NSD_OK);
	config.primary_count = 0;
	assert_int_equal(xfr_add_config(w->machine, &config, &w->config),
		NSD_OK);
	for (unsigned i = 0; i < PRIMARIES; i++)
		assert_int_equal(xfr_add_zone(w->machine, w->config,
			i == 1 ? NULL : &start, w->now, &zones[i]), NSD_OK);
	assert_none(w);
}

/* RFC 1996 section 4.1: the targets of all zones that have data. */
static void
all_are_told_at_a_start(void **state)
{
	uint32_t zones[PRIMARIES], late;
	unsigned told[PRIMARIES][2] = {{0}};
	struct world w;

	open_primaries(&w, 1, zones);
	xfr_notify_all(w.machine);
	for (unsigned i = 0; i < 2 * (PRIMARIES - 1); i++) {
		assert_true(next(&w));
		assert_int_equal(w.action.act, XFR_NOTIFY);
		assert_int_equal(w.action.serial, 7);
		assert_in_range(w.action.zone, zones[0], zones[0]
				+ PRIMARIES - 1);
		told[w.action.zone - zones[0]][w.action.target]++;
		/* Zones that come meanwhile put off no others. */
		if (i == 20)
			assert_int_equal(xfr_add_zone(w.machine, w.config,
				NULL, w.now, &late), NSD_OK);
		reply(&w, i % 2 ? XFR_ACKNOWLEDGED : XFR_RCODE);
	}
	assert_none(&w);
	assert_true(xfr_next_time(w.machine) == XFR_NEVER);
	for (unsigned i = 0; i < PRIMARIES; i++) {
		assert_int_equal(told[i][0], i != 1);
		assert_int_equal(told[i][1], i != 1);
	}
	close_world(&w);
}

/* Takes the next NOTIFY of a round, also if zones that need none come first. */
static bool
next_of_round(struct world *w)
{
	do
		if (next(w))
			return true;
	while (xfr_next_time(w->machine) <= w->now);
	return false;
}

/* A target that has acknowledged the serial, to this xfrd or the one before, is
 * left out. */
static void
round_leaves_out_what_was_told(void **state)
{
	struct xfr_start start = {.has_data = true, .soa = soa7,
		.check_at = XFR_NEVER, .expire_at = XFR_NEVER,
		.is_told = true};
	uint32_t zones[PRIMARIES], told, refused = XFR_NONE;
	struct xfr_soa soa = soa7;
	struct world w;

	open_primaries(&w, 1, zones);
	assert_int_equal(xfr_add_zone(w.machine, w.config, &start, w.now,
		&told), NSD_OK);
	xfr_notify_all(w.machine);
	for (unsigned i = 0; i < 2 * (PRIMARIES - 1); i++) {
		assert_true(next_of_round(&w));
		assert_int_not_equal(w.action.zone, told);
		if (i == 30)
			refused = w.action.zone;
		reply(&w, i == 30 ? XFR_RCODE : XFR_ACKNOWLEDGED);
	}
	assert_false(next_of_round(&w));
	xfr_notify_all(w.machine);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(next_of_round(&w));
		assert_int_equal(w.action.zone, refused);
		reply(&w, XFR_ACKNOWLEDGED);
	}
	xfr_notify_all(w.machine);
	assert_false(next_of_round(&w));
	/* Another serial, that one of two targets has acknowledged. */
	soa.serial = 8;
	xfr_on_served(w.machine, told, w.now, &soa);
	w.zone = told;
	assert_false(status_of(&w).is_told);
	assert_true(next(&w));
	reply(&w, XFR_ACKNOWLEDGED);
	assert_false(status_of(&w).is_told);
	assert_true(next(&w));
	reply(&w, XFR_ACKNOWLEDGED);
	assert_true(status_of(&w).is_told);
	close_world(&w);
}

static void
round_of_notifies_begins_anywhere(void **state)
{
	uint32_t zones[PRIMARIES], first[2];
	struct world w;

	for (unsigned i = 0; i < 2; i++) {
		open_primaries(&w, i, zones);
		xfr_notify_all(w.machine);
		assert_true(next(&w));
		first[i] = w.action.zone - zones[0];
		close_world(&w);
	}
	assert_int_not_equal(first[0], first[1]);
}

/* The targets are silent, except for one zone. */
static void
changes_do_not_wait_for_a_round_of_notifies(void **state)
{
	uint32_t zones[PRIMARIES];
	struct {
		uint64_t ticket;
		int64_t at;
	} sent[2];
	struct xfr_soa soa = soa7;
	struct world w;
	unsigned count = 0;

	open_primaries(&w, 1, zones);
	xfr_notify_all(w.machine);
	for (unsigned i = 0; i < 600; i++) {
		soa.serial++;
		xfr_on_served(w.machine, zones[0], w.now, &soa);
		for (unsigned target = 0; target < 2; target++) {
			assert_true(next(&w));
			assert_int_equal(w.action.act, XFR_NOTIFY);
			assert_int_equal(w.action.zone, zones[0]);
			assert_int_equal(w.action.target, target);
			assert_int_equal(w.action.serial, soa.serial);
			reply(&w, XFR_ACKNOWLEDGED);
		}
		while (next(&w)) {
			if (w.action.zone == zones[0]) {
				reply(&w, XFR_ACKNOWLEDGED);
				continue;
			}
			/* Half of the places. */
			assert_true(count < 2);
			sent[count].at = w.now + w.action.wait_msec;
			sent[count++].ticket = w.action.ticket;
		}
		w.now += SEC;
		for (unsigned k = count; k-- > 0;) {
			if (sent[k].at > w.now)
				continue;
			w.action.ticket = sent[k].ticket;
			sent[k] = sent[--count];
			reply(&w, XFR_TIMEOUT);
		}
	}
	close_world(&w);
}

/* The zone changes while the answer to a NOTIFY of the round is waited for:
 * that place is no longer the round's. */
static void
zone_that_changes_leaves_the_round(void **state)
{
	uint32_t zones[PRIMARIES];
	struct xfr_soa soa = soa7;
	uint64_t tickets[2];
	struct world w;

	open_primaries(&w, 1, zones);
	xfr_notify_all(w.machine);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(next(&w));
		tickets[i] = w.action.ticket;
	}
	assert_none(&w);
	soa.serial = 8;
	xfr_on_served(w.machine, w.action.zone, w.now, &soa);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(next(&w));
		assert_int_equal(w.action.serial, 7);
	}
	assert_none(&w);
	for (unsigned i = 0; i < 2; i++) {
		w.action.ticket = tickets[i];
		reply(&w, XFR_ACKNOWLEDGED);
		assert_true(next(&w));
		assert_int_equal(w.action.serial, 8);
		reply(&w, XFR_ACKNOWLEDGED);
	}
	assert_none(&w);
	close_world(&w);
}

/* ---- targets that are slow ----------------------------------------------- */

/* Target 0 of each zone is slow for a while, target 1 answers at once. */
enum slow {
	SLOW_SILENT,
	SLOW_LATE,   /* answers after 2 seconds */
	SLOW_SELDOM, /* answers every fourth */
};

struct half {
	struct world w;
	uint32_t zones[PRIMARIES];
	struct {
		uint64_t ticket;
		int64_t at;
	} sent[4];
	unsigned sent_count;
	unsigned told[2]; /* answers of each target */
	enum slow slow;
	unsigned seldom;
	bool is_heard;    /* target 0 answers, too */
};

static void
half_ask(struct half *h)
{
	while (next_of_round(&h->w)) {
		uint32_t target = h->w.action.target;

		assert_int_equal(h->w.action.act, XFR_NOTIFY);
		if (target == 1 || h->is_heard
			|| (h->slow == SLOW_SELDOM && ++h->seldom % 4 == 0)) {
			h->told[target]++;
			reply(&h->w, XFR_ACKNOWLEDGED);
			continue;
		}
		assert_in_range(h->sent_count, 0, 3);
		h->sent[h->sent_count].at = h->w.now + (h->slow == SLOW_LATE
			? 2 * SEC : h->w.action.wait_msec);
		h->sent[h->sent_count++].ticket = h->w.action.ticket;
	}
}

static void
half_run(struct half *h, unsigned seconds)
{
	half_ask(h);
	while (seconds-- > 0) {
		h->w.now += SEC;
		for (unsigned k = h->sent_count; k-- > 0;) {
			if (h->sent[k].at > h->w.now)
				continue;
			h->w.action.ticket = h->sent[k].ticket;
			h->sent[k] = h->sent[--h->sent_count];
			if (h->slow == SLOW_LATE)
				h->told[0]++;
			reply(&h->w, h->slow == SLOW_LATE ? XFR_ACKNOWLEDGED
							  : XFR_TIMEOUT);
		}
		half_ask(h);
	}
}

/* Places: 4, or 2 for a round. Of the first 8 that wait for target 0, each
 * takes 3 seconds. Then it has one place, and the other is told at once. */
static void
check_living(struct half *h, unsigned zones)
{
	half_run(h, 30);
	assert_int_equal(h->told[1], zones);
	assert_in_range(h->told[0], 0, h->slow == SLOW_SILENT ? 0 : zones / 2);
	assert_int_equal(h->sent_count, 1);
	/* The target is heard: it is told of all. */
	h->is_heard = true;
	half_run(h, 4);
	assert_in_range(h->told[0], zones - 2, zones);
	half_run(h, 60);
	assert_int_equal(h->told[0], zones);
	assert_int_equal(h->told[1], zones);
	assert_true(xfr_next_time(h->w.machine) == XFR_NEVER);
	close_world(&h->w);
}

static void
slow_target_holds_up_no_other(void **state)
{
	for (unsigned slow = SLOW_SILENT; slow <= SLOW_SELDOM; slow++) {
		struct half h = {.slow = slow};

		open_primaries(&h.w, 1, h.zones);
		for (unsigned i = 0; i < PRIMARIES; i++)
			if (i != 1)
				xfr_send_notifies(h.w.machine, h.zones[i],
					false);
		check_living(&h, PRIMARIES - 1);
	}
}

static void
slow_target_holds_up_no_round(void **state)
{
	for (unsigned slow = SLOW_SILENT; slow <= SLOW_SELDOM; slow++) {
		struct half h = {.slow = slow};

		open_primaries(&h.w, 1, h.zones);
		xfr_notify_all(h.w.machine);
		check_living(&h, PRIMARIES - 1);
	}
}

/* The zone that an operator asks for is told before all others, once; then
 * nobody needs to wait for it. All others are told in the order in which they
 * were begun, if that is done again and again, too. */
static void
zone_may_be_told_first(void **state)
{
	struct half h = {.slow = SLOW_SILENT};
	uint32_t *zones = h.zones, last = XFR_NONE;
	struct world *w = &h.w;

	open_primaries(w, 1, zones);
	for (unsigned i = 2; i < PRIMARIES; i++)
		xfr_send_notifies(w->machine, zones[i], false);
	half_run(&h, 30);
	w->zone = zones[150];
	assert_int_equal(status_of(w).notifying, 1);
	assert_int_equal(status_of(w).notifying_slow, 1);
	xfr_send_notifies(w->machine, w->zone, true);
	assert_int_equal(status_of(w).notifying, 2);
	assert_int_equal(status_of(w).notifying_slow, 0);
	assert_true(next(w));
	assert_int_equal(w->action.zone, w->zone);
	assert_int_equal(w->action.target, 1);
	reply(w, XFR_ACKNOWLEDGED);
	assert_none(w);
	assert_int_equal(h.sent_count, 1);
	h.sent_count = 0;
	w->action.ticket = h.sent[0].ticket;
	w->now = h.sent[0].at;
	reply(w, XFR_TIMEOUT);
	assert_true(next(w));
	assert_int_equal(w->action.zone, w->zone);
	assert_int_equal(w->action.target, 0);
	assert_int_equal(status_of(w).notifying_slow, 0);
	w->now += 3 * SEC;
	reply(w, XFR_TIMEOUT);
	assert_int_equal(status_of(w).notifying, 1);
	assert_int_equal(status_of(w).notifying_slow, 1);
	for (unsigned i = 0; i < 10; i++) {
		for (unsigned k = 2; k < PRIMARIES; k++)
			xfr_send_notifies(w->machine, zones[k], false);
		do {
			assert_true(next(w));
			if (w->action.target == 1)
				reply(w, XFR_ACKNOWLEDGED);
		} while (w->action.target == 1);
		assert_int_not_equal(w->action.zone, last);
		last = w->action.zone;
		w->now += 3 * SEC;
		reply(w, XFR_TIMEOUT);
	}
	close_world(w);
}

/* A target that refuses is not slow, and one out of reach takes no place. */
static void
target_that_refuses_is_not_slow(void **state)
{
	static const enum xfr_outcome outcomes[] = {XFR_RCODE, XFR_UNREACHABLE,
		XFR_LOCAL};
	uint32_t zones[PRIMARIES];
	struct world w;

	for (unsigned k = 0; k < 3; k++) {
		open_primaries(&w, 1, zones);
		for (unsigned i = 2; i < 50; i++)
			xfr_send_notifies(w.machine, zones[i], false);
		for (unsigned i = 0; i < 2 * 48; i++) {
			assert_true(next(&w));
			reply(&w, outcomes[k]);
		}
		if (k == 0)
			assert_none(&w);
		/* Both zones can use all places. */
		xfr_send_notifies(w.machine, zones[50], false);
		xfr_send_notifies(w.machine, zones[51], false);
		for (unsigned i = 0; i < 4; i++)
			assert_true(next(&w));
		assert_none(&w);
		close_world(&w);
	}
}

#define TEST(name) cmocka_unit_test(name)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(notify_of_what_we_have_costs_nothing),
		TEST(serial_ahead_of_reality_costs_one_check),
		TEST(flood_costs_a_check_and_ever_fewer),
		TEST(notify_during_a_check_is_one_check_more),
		TEST(version_told_before_the_answer_is_no_check_in_vain),
		TEST(forced_transfer_takes_any_serial),
		TEST(targets_are_told_until_they_answer_or_tries_end),
		TEST(newer_serial_begins_anew),
		TEST(primary_zone_notifies_and_is_never_checked),
		TEST(all_are_told_at_a_start),
		TEST(round_leaves_out_what_was_told),
		TEST(round_of_notifies_begins_anywhere),
		TEST(changes_do_not_wait_for_a_round_of_notifies),
		TEST(zone_that_changes_leaves_the_round),
		TEST(slow_target_holds_up_no_other),
		TEST(slow_target_holds_up_no_round),
		TEST(zone_may_be_told_first),
		TEST(target_that_refuses_is_not_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
