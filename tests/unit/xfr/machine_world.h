/*
 * machine_world.h - a machine with one zone, what it asks, and answers to it.
 */
#ifndef UNIT_XFR_MACHINE_WORLD_H
#define UNIT_XFR_MACHINE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dns/message.h"
#include "xfr/machine.h"

#define SEC INT64_C(1000)

static const uint8_t three[3] = {0};
static const struct xfr_config usual = {.primaries = three,
	.primary_count = 3, .target_count = 2, .notify_tries = 5,
	.flags = XFR_CONFIG_AXFR_FALLBACK, .refresh_max_sec = 2419200,
	.retry_max_sec = 1209600};
static const struct xfr_soa soa7 = {.serial = 7, .refresh_sec = 3600,
	.retry_sec = 600, .expire_sec = 86400};

/* A machine with one zone, and its time. */
struct world {
	struct xfr_machine *machine;
	struct xfr_action action;
	uint32_t config, zone;
	int64_t now;
};

/* A zone, w->zone from now on. soa: NULL: it has no data. */
static inline void
add_to_world(struct world *w, const struct xfr_soa *soa)
{
	struct xfr_start start = {.has_data = true, .acquired_at = 1000,
		.check_at = XFR_NEVER, .expire_at = XFR_NEVER};

	if (soa != NULL)
		start.soa = *soa;
	assert_int_equal(xfr_add_zone(w->machine, w->config,
		soa == NULL ? NULL : &start, w->now, &w->zone), NSD_OK);
}

static inline void
open_world(struct world *w, const struct xfr_config *config,
	const struct xfr_soa *soa)
{
	memset(w, 0, sizeof(*w));
	w->now = 1000;
	assert_int_equal(xfr_machine_create(&xfr_limits_usual, 1, w->now,
		&w->machine), NSD_OK);
	assert_int_equal(xfr_add_config(w->machine, config, &w->config),
		NSD_OK);
	add_to_world(w, soa);
}

static inline void
close_world(struct world *w)
{
	xfr_machine_destroy(w->machine);
}

/* The next action; false: none. */
static inline bool
next(struct world *w)
{
	return xfr_next(w->machine, w->now, &w->action);
}

/* The loader is to be told of w->zone, and of no other one. */
static inline void
assert_expiry(struct world *w, int64_t expected)
{
	uint32_t zone;
	int64_t at;

	assert_true(xfr_next_expiry(w->machine, &zone, &at));
	assert_int_equal(zone, w->zone);
	assert_true(at == expected);
	assert_false(xfr_next_expiry(w->machine, &zone, &at));
}

static inline void
assert_none(struct world *w)
{
	assert_false(next(w));
}

/* Moves the time to the next timer. */
static inline void
wait_timer(struct world *w)
{
	int64_t at = xfr_next_time(w->machine);

	assert_true(at != XFR_NEVER && at > w->now);
	w->now = at;
}

/* Opens one whose zone is due for its check. */
static inline void
open_due(struct world *w, const struct xfr_config *config)
{
	open_world(w, config, &soa7);
	assert_none(w);
	wait_timer(w);
}

static inline void
assert_asks(struct world *w, uint32_t primary, enum xfr_query query)
{
	assert_true(next(w));
	assert_int_equal(w->action.act, query <= XFR_QUERY_SOA_TCP ? XFR_PROBE
							       : XFR_TRANSFER);
	assert_int_equal(w->action.primary, primary);
	assert_int_equal(w->action.query, query);
}

static inline void
reply_full(struct world *w, const struct xfr_reply *reply)
{
	assert_true(xfr_on_reply(w->machine, w->action.ticket, w->now, reply));
	/* A request is answered once. */
	assert_false(xfr_on_reply(w->machine, w->action.ticket, w->now,
		reply));
}

static inline void
reply(struct world *w, enum xfr_outcome outcome)
{
	reply_full(w, &(struct xfr_reply){.outcome = outcome});
}

static inline void
reply_rcode(struct world *w, uint16_t rcode)
{
	reply_full(w, &(struct xfr_reply){.outcome = XFR_RCODE,
		.rcode = rcode});
}

/* Tells no SOA and gives no transfer: so it says, whatever it is asked for. Not
 * in a survey. */
static inline void
refuse(struct world *w, uint32_t primary, uint16_t rcode)
{
	assert_asks(w, primary, XFR_QUERY_SOA_UDP);
	reply_rcode(w, rcode);
	assert_asks(w, primary, XFR_QUERY_IXFR_TCP);
	reply_rcode(w, rcode);
	assert_asks(w, primary, XFR_QUERY_AXFR);
	reply_rcode(w, rcode);
}

/* The primary's SOA, or a transfer to it. */
static inline void
reply_serial(struct world *w, enum xfr_outcome outcome, uint32_t serial)
{
	struct xfr_reply full = {.outcome = outcome, .soa = soa7};

	full.soa.serial = serial;
	reply_full(w, &full);
}

static inline struct xfr_status
status_of(struct world *w)
{
	struct xfr_status status;

	xfr_get_status(w->machine, w->zone, w->now, &status);
	return status;
}

/* Answers the NOTIFYs that wait. */
static inline void
acknowledge(struct world *w, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		assert_true(next(w));
		assert_int_equal(w->action.act, XFR_NOTIFY);
		reply(w, XFR_ACKNOWLEDGED);
	}
}

#endif
