/* test_xfr_memory.c - fault 71: each allocation of the machine fails once; what
 * fails is told or tried again, and no zone is lost. */
#include "config.h"

#include "lib/failing.h"
#include "unit/xfr/machine_world.h"

#define ZONES 40u

/* Answers all that is asked, until the machine wants nothing but time. */
static void
answer_all(struct world *w)
{
	while (next(w)) {
		if (w->action.act == XFR_NOTIFY)
			reply(w, XFR_ACKNOWLEDGED);
		else if (w->action.act == XFR_PROBE)
			reply_serial(w, XFR_SOA, 8);
		else
			reply_serial(w, XFR_DONE, 8);
	}
}

/* False: a zone could not be added. */
static bool
add_zones(struct world *w)
{
	uint32_t zone;
	bool is_full = false;

	for (unsigned i = 0; i < ZONES && !is_full; i++)
		is_full = xfr_add_zone(w->machine, w->config, NULL, w->now,
			&zone) != NSD_OK;
	return !is_full;
}

static bool
live_failing(int at)
{
	struct xfr_counts counts;
	struct world w;
	uint32_t id, zone;
	bool has_failed;

	open_world(&w, &usual, &soa7);
	failing_once(at);
	if (xfr_add_config(w.machine, &usual, &id) == NSD_OK)
		xfr_release_config(w.machine, id);
	while (!add_zones(&w))
		assert_true(failing_has_failed());
	xfr_on_command(w.machine, w.zone, w.now, false);
	for (unsigned i = 0; i < 5; i++) {
		answer_all(&w);
		w.now += 1000;
	}
	has_failed = failing_has_failed();
	failing_once(-1);
	answer_all(&w);
	xfr_get_counts(w.machine, &counts);
	assert_int_equal(counts.probes + counts.transfers + counts.notifies,
		0);
	assert_int_equal(counts.urgent + counts.waiting, 0);
	for (zone = 0; zone < counts.zones; zone++) {
		struct xfr_status status;

		xfr_get_status(w.machine, zone, w.now, &status);
		assert_int_equal(status.soa.serial, 8);
	}
	close_world(&w);
	return has_failed;
}

static void
each_allocation_that_fails_loses_no_zone(void **state)
{
	int at = 0;

	while (live_failing(at))
		at++;
	assert_true(at > 8);
}

static void
machine_without_memory_is_told(void **state)
{
	struct xfr_machine *machine;

	failing_once(0);
	assert_int_equal(xfr_machine_create(&xfr_limits_usual, 1, 0,
		&machine), NSD_E_MEMORY);
	failing_once(-1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_that_fails_loses_no_zone),
		cmocka_unit_test(machine_without_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
