/* test_hidden.c - primaries that tell no SOA, break off, or do no EDNS; zones
 * that have expired, to which any serial is new. */
#include "config.h"

#include "unit/xfr/machine_world.h"

static const uint8_t axfr_only[] = {XFR_PRIMARY_AXFR};

static void
open_one(struct world *w, uint32_t flags, bool is_axfr_only)
{
	struct xfr_config config = usual;

	config.primary_count = 1;
	config.flags = flags;
	if (is_axfr_only)
		config.primaries = axfr_only;
	open_due(w, &config);
}

/* ---- no SOA -------------------------------------------------------------- */

static const struct xfr_reply no_soas[] = {
	{.outcome = XFR_RCODE, .rcode = RCODE_REFUSED},
	{.outcome = XFR_RCODE, .rcode = RCODE_NOTIMP},
	{.outcome = XFR_RCODE, .rcode = RCODE_SERVFAIL},
	{.outcome = XFR_NONSENSE}, /* without AA, too */
	{.outcome = XFR_BAD_TSIG},
};
#define NO_SOAS (sizeof(no_soas) / sizeof(*no_soas))

static void
primary_without_soa_is_asked_for_the_transfer(void **state)
{
	struct world w;

	for (size_t i = 0; i < NO_SOAS; i++) {
		open_one(&w, XFR_CONFIG_AXFR_FALLBACK, i % 2 != 0);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply_full(&w, &no_soas[i]);
		assert_asks(&w, 0, i % 2 ? XFR_QUERY_AXFR : XFR_QUERY_IXFR_TCP);
		assert_true(w.action.has_serial);
		reply_serial(&w, XFR_DONE, 8);
		acknowledge(&w, 2);
		assert_none(&w);
		assert_int_equal(status_of(&w).state, XFR_STATE_OK);
		/* The answer that there is nothing newer refreshes the zone
		 * like an SOA. */
		wait_timer(&w);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply_full(&w, &no_soas[i]);
		assert_true(next(&w));
		reply_serial(&w, XFR_UNCHANGED, 8);
		assert_none(&w);
		assert_int_equal(status_of(&w).state, XFR_STATE_OK);
		assert_int_equal(status_of(&w).failed_rounds, 0);
		close_world(&w);
	}
}

/* A primary that cannot be reached is not asked for the transfer too: that
 * would cost more time. */
static void
primary_that_is_down_is_not_asked_for_the_transfer(void **state)
{
	static const enum xfr_outcome outcomes[] = {XFR_TIMEOUT,
		XFR_UNREACHABLE};
	struct world w;

	for (unsigned i = 0; i < 2; i++) {
		open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply(&w, outcomes[i]);
		assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
		reply(&w, outcomes[i]);
		assert_none(&w);
		assert_int_equal(status_of(&w).failed_rounds, 1);
		close_world(&w);
	}
}

/* The primary accepts connections and does not answer the SOA query. */
static void
primary_that_is_mute_about_its_soa_is_asked_briefly(void **state)
{
	static const enum xfr_outcome outcomes[] = {XFR_TIMEOUT,
		XFR_UNREACHABLE};
	struct world w;

	for (unsigned i = 0; i < 2; i++) {
		open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply(&w, XFR_TIMEOUT);
		assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
		reply_full(&w, &(struct xfr_reply){.outcome = outcomes[i],
			.is_open = true});
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		assert_int_equal(w.action.first_msec, i == 0 ? 3000 : 0);
		reply_serial(&w, XFR_DONE, 8);
		close_world(&w);
	}
}

/* The others count as before: one that refuses everything makes no check fail
 * that another one has made. */
static void
primary_that_refuses_all_does_no_harm(void **state)
{
	struct world w;

	open_due(&w, &usual);
	refuse(&w, 0, RCODE_REFUSED);
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_none(&w);
	assert_int_equal(status_of(&w).state, XFR_STATE_OK);
	assert_true(status_of(&w).check_at > w.now + 3000 * SEC);
	close_world(&w);
	/* A primary that had begun to send a newer version has one. */
	open_due(&w, &usual);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_rcode(&w, RCODE_REFUSED);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	reply_full(&w, &(struct xfr_reply){.outcome = XFR_TOO_LARGE,
		.has_begun = true});
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_none(&w);
	assert_true(status_of(&w).check_at <= w.now + 600 * SEC);
	close_world(&w);
}

static void
survey_transfers_from_those_without_soa_last(void **state)
{
	struct xfr_config config = usual;
	struct xfr_action probes[3];
	struct world w;

	config.flags |= XFR_CONFIG_CHECK_ALL;
	for (unsigned newer = 0; newer < 2; newer++) {
		open_due(&w, &config);
		for (unsigned i = 0; i < 3; i++) {
			assert_asks(&w, i, XFR_QUERY_SOA_UDP);
			probes[i] = w.action;
		}
		w.action = probes[0];
		reply_rcode(&w, RCODE_REFUSED);
		w.action = probes[1];
		reply_serial(&w, XFR_SOA, 7 + newer);
		assert_none(&w);
		w.action = probes[2];
		reply_serial(&w, XFR_SOA, 7);
		if (newer) {
			assert_asks(&w, 1, XFR_QUERY_IXFR_TCP);
			reply(&w, XFR_TOO_LARGE);
		}
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		/* No serial of this primary is known. */
		reply_serial(&w, newer ? XFR_DONE : XFR_UNCHANGED,
			newer ? 9 : 7);
		if (newer)
			acknowledge(&w, 2);
		assert_none(&w);
		assert_int_equal(status_of(&w).state, XFR_STATE_OK);
		assert_int_equal(status_of(&w).failed_rounds, 0);
		close_world(&w);
	}
}

/* ---- IXFR that breaks off ------------------------------------------------ */

static void
tell_newer(struct world *w, uint32_t serial)
{
	assert_asks(w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(w, XFR_SOA, serial);
}

static void
ixfr_that_breaks_off_is_followed_by_axfr(void **state)
{
	static const enum xfr_outcome outcomes[] = {XFR_TIMEOUT,
		XFR_UNREACHABLE, XFR_BAD_TSIG};
	struct world w;

	for (unsigned i = 0; i < 3; i++) {
		open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
		tell_newer(&w, 8);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		reply_full(&w, &(struct xfr_reply){.outcome = outcomes[i],
			.has_begun = true});
		assert_asks(&w, 0, XFR_QUERY_AXFR);
		reply_serial(&w, XFR_DONE, 8);
		acknowledge(&w, 2);
		assert_none(&w);
		/* And not tried for an hour. */
		xfr_on_command(w.machine, w.zone, w.now, false);
		tell_newer(&w, 9);
		assert_asks(&w, 0, XFR_QUERY_AXFR);
		close_world(&w);
	}
}

static void
second_ixfr_that_fails_is_followed_by_axfr(void **state)
{
	static const enum xfr_outcome outcomes[] = {XFR_TIMEOUT,
		XFR_UNREACHABLE, XFR_BAD_TSIG, XFR_TOO_LARGE};
	struct world w;

	for (unsigned i = 0; i < 4; i++) {
		open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
		tell_newer(&w, 8);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		reply(&w, outcomes[i]);
		assert_none(&w);
		wait_timer(&w);
		tell_newer(&w, 8);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		reply(&w, outcomes[i]);
		assert_asks(&w, 0, XFR_QUERY_AXFR);
		close_world(&w);
		/* A success in between resets the count. */
		open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
		for (uint32_t serial = 8; serial < 10; serial++) {
			tell_newer(&w, serial);
			assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
			reply(&w, outcomes[i]);
			assert_none(&w);
			wait_timer(&w);
			tell_newer(&w, serial);
			assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
			reply_serial(&w, XFR_DONE, serial);
			acknowledge(&w, 2);
			assert_none(&w);
			wait_timer(&w);
		}
		close_world(&w);
	}
}

/* A primary that was down, or whose host is, has the IXFR of its zones asked
 * for when it is there again. */
static void
ixfr_of_a_primary_that_is_down_does_not_count(void **state)
{
	unsigned transfers = 0;
	struct world w;

	open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
	for (unsigned i = 0; i < 4; i++) {
		xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
		while (next(&w)) {
			assert_int_not_equal(w.action.query, XFR_QUERY_AXFR);
			transfers += w.action.act == XFR_TRANSFER;
			reply(&w, i % 2 ? XFR_TIMEOUT : XFR_UNREACHABLE);
		}
		w.now += 100 * SEC;
	}
	assert_true(transfers > 1);
	xfr_on_command(w.machine, w.zone, w.now, false);
	tell_newer(&w, 8);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	close_world(&w);
}

static void
ixfr_that_breaks_off_is_left_where_fallback_is_not_allowed(void **state)
{
	struct world w;

	open_one(&w, 0, false);
	for (unsigned i = 0; i < 3; i++) {
		tell_newer(&w, 8);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		reply_full(&w, &(struct xfr_reply){.outcome = XFR_UNREACHABLE,
			.has_begun = true, .is_open = true});
		assert_none(&w);
		wait_timer(&w);
	}
	close_world(&w);
}

/* ---- EDNS ---------------------------------------------------------------- */

static void
reply_no_edns(struct world *w)
{
	reply_full(w, &(struct xfr_reply){.outcome = XFR_RCODE,
		.rcode = RCODE_FORMERR, .lacks_edns = true});
}

static void
primary_without_edns_is_asked_once_more_without(void **state)
{
	struct world w;

	open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_false(w.action.no_edns);
	reply_no_edns(&w);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_true(w.action.no_edns);
	reply_serial(&w, XFR_SOA, 8);
	/* The lack of EDNS is remembered. */
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	assert_true(w.action.no_edns);
	/* FORMERR to a request without EDNS is an answer. */
	reply_no_edns(&w);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	assert_true(w.action.no_edns);
	reply_serial(&w, XFR_DONE, 8);
	acknowledge(&w, 2);
	assert_none(&w);
	/* For an hour. */
	w.now += 3599 * SEC;
	xfr_on_command(w.machine, w.zone, w.now, false);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_true(w.action.no_edns);
	reply_serial(&w, XFR_SOA, 8);
	assert_none(&w);
	w.now += 2 * SEC;
	xfr_on_command(w.machine, w.zone, w.now, false);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_false(w.action.no_edns);
	close_world(&w);
}

/* The transfers of a zone without data, and a survey. */
static void
transfers_and_surveys_do_without_edns(void **state)
{
	struct xfr_config config = usual;
	struct world w;

	open_world(&w, &config, NULL);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	reply_no_edns(&w);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	assert_true(w.action.no_edns);
	reply_serial(&w, XFR_DONE, 8);
	close_world(&w);
	config.flags |= XFR_CONFIG_CHECK_ALL;
	config.primary_count = 2;
	open_world(&w, &config, &soa7);
	xfr_on_command(w.machine, w.zone, w.now, false);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_no_edns(&w);
	assert_asks(&w, 1, XFR_QUERY_SOA_UDP);
	assert_false(w.action.no_edns);
	reply_serial(&w, XFR_SOA, 8);
	assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
	assert_true(w.action.no_edns);
	reply_serial(&w, XFR_SOA, 9);
	assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
	close_world(&w);
}

/* Says nothing to a request, on a connection that it has taken. */
static void
say_nothing(struct world *w, enum xfr_outcome outcome)
{
	reply_full(w, &(struct xfr_reply){.outcome = outcome, .is_open = true});
}

/* A transfer is asked for with EDNS, which is in vain, and without. */
static void
assert_asks_again_without(struct world *w, enum xfr_query query,
	enum xfr_outcome outcome)
{
	assert_asks(w, 0, query);
	assert_false(w->action.no_edns);
	say_nothing(w, outcome);
	assert_asks(w, 0, query);
	assert_true(w->action.no_edns);
}

/* An IXFR after a NOTIFY, from a primary that drops what has EDNS. */
static void
transfer_from_one_that_drops(struct world *w, uint32_t serial)
{
	xfr_on_notify(w->machine, w->zone, w->now, 0, true, serial);
	assert_asks_again_without(w, XFR_QUERY_IXFR_TCP, XFR_UNREACHABLE);
	reply_serial(w, XFR_DONE, serial);
	acknowledge(w, 2);
	assert_none(w);
}

/* The primary, or a device before it, drops requests with EDNS. It may also
 * have been away for a moment, so it takes two failures in a row. */
static void
primary_that_drops_edns_is_asked_without(void **state)
{
	static const enum xfr_outcome outcomes[] = {XFR_TIMEOUT,
		XFR_UNREACHABLE};
	struct world w;

	for (unsigned i = 0; i < 2; i++) {
		open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
		for (uint32_t serial = 8; serial < 10; serial++) {
			assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
			assert_false(w.action.no_edns);
			reply(&w, XFR_TIMEOUT);
			assert_asks(&w, 0, XFR_QUERY_SOA_TCP);
			assert_false(w.action.no_edns);
			say_nothing(&w, outcomes[i]);
			assert_asks_again_without(&w, XFR_QUERY_IXFR_TCP,
				outcomes[i]);
			reply_serial(&w, XFR_DONE, serial);
			acknowledge(&w, 2);
			assert_none(&w);
			wait_timer(&w);
		}
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		assert_true(w.action.no_edns);
		reply_serial(&w, XFR_SOA, 10);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		assert_true(w.action.no_edns);
		reply_serial(&w, XFR_DONE, 10);
		acknowledge(&w, 2);
		assert_none(&w);
		/* A single failure is enough after that hour. */
		w.now += 3600 * SEC;
		transfer_from_one_that_drops(&w, 11);
		xfr_on_notify(w.machine, w.zone, w.now, 0, true, 12);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		assert_true(w.action.no_edns);
		close_world(&w);
	}
}

static void
primary_that_drops_transfers_with_edns_is_asked_without(void **state)
{
	struct world w;

	open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
	for (uint32_t serial = 8; serial < 10; serial++) {
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		assert_false(w.action.no_edns);
		reply_serial(&w, XFR_SOA, serial);
		assert_asks_again_without(&w, XFR_QUERY_IXFR_TCP, XFR_TIMEOUT);
		reply_serial(&w, XFR_DONE, serial);
		acknowledge(&w, 2);
		assert_none(&w);
		wait_timer(&w);
	}
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	assert_true(w.action.no_edns);
	close_world(&w);
	/* A zone without data has a whole transfer. */
	open_world(&w, &usual, NULL);
	assert_asks_again_without(&w, XFR_QUERY_AXFR, XFR_UNREACHABLE);
	reply_serial(&w, XFR_DONE, 8);
	close_world(&w);
}

static void
answer_with_edns_ends_the_doubt(void **state)
{
	struct world w;

	open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
	for (uint32_t serial = 8; serial < 16; serial += 2) {
		transfer_from_one_that_drops(&w, serial);
		xfr_on_notify(w.machine, w.zone, w.now, 0, true, serial + 1);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		assert_false(w.action.no_edns);
		reply_serial(&w, XFR_DONE, serial + 1);
		acknowledge(&w, 2);
		assert_none(&w);
	}
	close_world(&w);
}

/* A primary that restarts ends all its connections at once. */
static void
many_that_end_at_once_are_one_doubt(void **state)
{
	const struct xfr_config config = {.primaries = three,
		.primary_count = 1, .flags = XFR_CONFIG_AXFR_FALLBACK,
		.refresh_max_sec = 2419200, .retry_max_sec = 1209600};
	struct xfr_action first[8];
	struct world w;
	uint32_t zone;

	open_world(&w, &config, NULL);
	for (unsigned i = 1; i < 8; i++)
		assert_int_equal(xfr_add_zone(w.machine, w.config, NULL,
			w.now, &zone), NSD_OK);
	for (unsigned i = 0; i < 8; i++) {
		assert_asks(&w, 0, XFR_QUERY_AXFR);
		first[i] = w.action;
	}
	for (unsigned i = 0; i < 8; i++) {
		w.action = first[i];
		say_nothing(&w, XFR_UNREACHABLE);
		assert_asks(&w, 0, XFR_QUERY_AXFR);
		assert_true(w.action.no_edns);
		reply_serial(&w, XFR_DONE, 8);
	}
	assert_int_equal(xfr_add_zone(w.machine, w.config, NULL, w.now,
		&zone), NSD_OK);
	assert_asks(&w, 0, XFR_QUERY_AXFR);
	assert_false(w.action.no_edns);
	close_world(&w);
}

/* A primary that is silent with EDNS and without keeps EDNS. The IXFR has
 * failed twice by then. */
static void
primary_that_says_nothing_at_all_keeps_edns(void **state)
{
	struct world w;

	open_one(&w, XFR_CONFIG_AXFR_FALLBACK, false);
	for (unsigned i = 0; i < 3; i++) {
		xfr_on_notify(w.machine, w.zone, w.now, 0, true, 8);
		assert_asks_again_without(&w, XFR_QUERY_IXFR_TCP, XFR_TIMEOUT);
		say_nothing(&w, XFR_TIMEOUT);
		assert_asks(&w, 0, XFR_QUERY_AXFR);
		say_nothing(&w, XFR_TIMEOUT);
		assert_none(&w);
		assert_int_equal(status_of(&w).error, XFR_TIMEOUT);
		w.now += 100 * SEC;
		if (i < 2)
			continue;
		/* The primary is known to be silent by now. */
		xfr_on_command(w.machine, w.zone, w.now, false);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		assert_false(w.action.no_edns);
	}
	close_world(&w);
}

/* ---- a zone that has expired --------------------------------------------- */

/* A zone with serial 7 whose time is over, in its check. */
static void
open_expired(struct world *w, const struct xfr_config *config)
{
	struct xfr_start start = {.has_data = true, .soa = soa7,
		.acquired_at = 500, .check_at = XFR_NEVER, .expire_at = 900};

	open_world(w, config, NULL);
	xfr_remove_zone(w->machine, w->zone);
	assert_int_equal(xfr_add_zone(w->machine, w->config, &start, w->now,
		&w->zone), NSD_OK);
	assert_true(next(w));
	assert_int_equal(w->action.act, XFR_EXPIRED);
}

static const uint32_t others[] = {5, 8, 0x80000007u, 0x80000008u};
#define OTHERS (sizeof(others) / sizeof(*others))

static void
assert_served(struct world *w, uint32_t serial)
{
	assert_int_equal(status_of(w).state, XFR_STATE_OK);
	assert_int_equal(status_of(w).soa.serial, serial);
	acknowledge(w, 2);
	assert_none(w);
}

static void
expired_zone_takes_any_serial(void **state)
{
	struct world w;

	for (size_t i = 0; i < OTHERS; i++) {
		open_expired(&w, &usual);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply_serial(&w, XFR_SOA, others[i]);
		assert_asks(&w, 0, others[i] == 8 ? XFR_QUERY_IXFR_TCP
						  : XFR_QUERY_AXFR);
		assert_int_equal(w.action.forced, others[i] != 8);
		assert_true(xfr_wants(w.machine, w.action.ticket, others[i]));
		reply_serial(&w, XFR_DONE, others[i]);
		assert_served(&w, others[i]);
		close_world(&w);
		/* A primary that gives no SOA: IXFR says that its version is
		 * not newer. */
		open_expired(&w, &usual);
		assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
		reply_rcode(&w, RCODE_REFUSED);
		assert_asks(&w, 0, XFR_QUERY_IXFR_TCP);
		if (others[i] != 8) {
			reply_serial(&w, XFR_BEHIND, others[i]);
			assert_asks(&w, 0, XFR_QUERY_AXFR);
			assert_true(w.action.forced);
		}
		reply_serial(&w, XFR_DONE, others[i]);
		assert_served(&w, others[i]);
		close_world(&w);
		/* A NOTIFY from the primary, in a check and before one. */
		open_expired(&w, &usual);
		xfr_on_notify(w.machine, w.zone, w.now, 1, true, others[i]);
		assert_true(next(&w));
		assert_int_equal(w.action.primary, 1);
		if (others[i] == 8)
			assert_int_equal(w.action.query, XFR_QUERY_IXFR_TCP);
		reply_serial(&w, XFR_DONE, others[i]);
		assert_served(&w, others[i]);
		close_world(&w);
	}
	/* The same version is not transferred again. */
	open_expired(&w, &usual);
	assert_asks(&w, 0, XFR_QUERY_SOA_UDP);
	reply_serial(&w, XFR_SOA, 7);
	assert_none(&w);
	assert_int_equal(status_of(&w).state, XFR_STATE_OK);
	close_world(&w);
}

static void
survey_of_an_expired_zone_takes_the_newest_of_the_others(void **state)
{
	struct xfr_config config = usual;
	struct xfr_action probes[3];
	struct world w;

	config.flags |= XFR_CONFIG_CHECK_ALL;
	for (unsigned same = 0; same < 2; same++) {
		open_expired(&w, &config);
		for (unsigned i = 0; i < 3; i++) {
			assert_asks(&w, i, XFR_QUERY_SOA_UDP);
			probes[i] = w.action;
		}
		for (unsigned i = 0; i < 3; i++) {
			w.action = probes[i];
			reply_serial(&w, XFR_SOA, same && i == 2 ? 7
				: i == 1 ? 5 : 4);
		}
		if (!same) {
			assert_asks(&w, 1, XFR_QUERY_AXFR);
			reply_serial(&w, XFR_DONE, 5);
			assert_served(&w, 5);
		} else {
			/* The others have nothing for a zone that lives. */
			while (next(&w))
				reply_serial(&w, XFR_BEHIND, 4);
			assert_int_equal(status_of(&w).soa.serial, 7);
			assert_int_equal(status_of(&w).failed_rounds, 0);
		}
		close_world(&w);
	}
}

#define TEST(name) cmocka_unit_test(name)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(primary_without_soa_is_asked_for_the_transfer),
		TEST(primary_that_is_down_is_not_asked_for_the_transfer),
		TEST(primary_that_is_mute_about_its_soa_is_asked_briefly),
		TEST(primary_that_refuses_all_does_no_harm),
		TEST(survey_transfers_from_those_without_soa_last),
		TEST(ixfr_that_breaks_off_is_followed_by_axfr),
		TEST(second_ixfr_that_fails_is_followed_by_axfr),
		TEST(ixfr_of_a_primary_that_is_down_does_not_count),
		TEST(ixfr_that_breaks_off_is_left_where_fallback_is_not_allowed),
		TEST(primary_without_edns_is_asked_once_more_without),
		TEST(transfers_and_surveys_do_without_edns),
		TEST(primary_that_drops_edns_is_asked_without),
		TEST(primary_that_drops_transfers_with_edns_is_asked_without),
		TEST(answer_with_edns_ends_the_doubt),
		TEST(many_that_end_at_once_are_one_doubt),
		TEST(primary_that_says_nothing_at_all_keeps_edns),
		TEST(expired_zone_takes_any_serial),
		TEST(survey_of_an_expired_zone_takes_the_newest_of_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
