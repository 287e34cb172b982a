/*
 * changes.c - zones come, go and get other patterns, among disks that are full,
 * flushes that fail, memory that runs out, answers that come late, twice or
 * never, loaders that die, and xfrds and computers that die at any moment.
 *
 * Now and then a reconfig has some of these zones stand in nsd.conf, and others
 * no more.
 *
 * usage: changes [SEED [STEPS [tell]]]
 * See fate.h; STEPS: 6000.
 *
 * What is checked:
 * - Each change is answered once. What is answered as done is so, at once, in
 *   what is published; what is answered otherwise is not; and what was answered
 *   so is so after xfrd was killed, or the power was cut, at that very moment,
 *   or at any write since.
 * - A change that was not answered then is done or not, whole.
 * - Once nothing goes wrong any more, all is answered within a bounded time;
 *   and the zone list, what is published and what xfrd knows are the same.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/zonelist.h"
#include "sim/changes.h"
#include "xfrd/xfrd_changes.h"

#define STEPS 6000u
#define TURNS_MAX 6000u /* until all is quiet */
#define PLANS 8u

/* ---- quiet times --------------------------------------------------------- */

/* States of zones, by the list. */
static unsigned listed[NAMES];

static enum nsd_err
on_line(void *ctx, const struct zonelist_line *line)
{
	for (unsigned i = 0; i < NAMES; i++) {
		if (strcmp(line->name, model_name(i)) != 0)
			continue;
		if (listed[i] != STATE_NONE)
			fail("%s has two lines", line->name);
		for (unsigned p = 1; p <= 3; p++)
			if (strcmp(line->pattern, patterns[p]) == 0)
				listed[i] = 1u << p;
		return NSD_OK;
	}
	fail("the list has %s", line->name);
}

static void
read_list(void)
{
	const struct zonelist_reader reader = {.on_zone = on_line};
	struct diag_sink sink = {.on_diag = NULL};
	struct zonelist *list;

	for (unsigned i = 0; i < NAMES; i++)
		listed[i] = STATE_NONE;
	if (zonelist_open(disk_list(), -1, &reader, &sink, &list) != NSD_OK)
		fail("the list cannot be read");
	zonelist_close(list);
}

/* The state of a zone that xfrd knows of. */
static unsigned
known_state(unsigned number)
{
	struct xfrd_zone *zone = xfrd_zone_find_text(&sim.xfrd->zones.table,
		model_name(number));
	struct xfrd_options options;
	unsigned state = STATE_NONE;
	const char *pattern;

	if (zone == NULL || !zone->is_listed)
		return zone == NULL ? STATE_NONE : STATE_FIXED;
	options = xfrd_options_begin(sim.xfrd, zone);
	pattern = xfrd_options_pattern(&options);
	for (unsigned p = 1; p <= 3 && pattern != NULL; p++)
		if (strcmp(pattern, patterns[p]) == 0)
			state = 1u << p;
	xfrd_read_end(sim.xfrd);
	return state;
}

static void
check_zone(unsigned zone)
{
	unsigned state = loader_state(zone), known = known_state(zone);

	if (known != state || listed[zone] != (state == STATE_FIXED ? STATE_NONE
		: state))
		fail("%s is published in state %u, xfrd knows of %u and its"
		     " list of %u", model_name(zone), state, known,
			listed[zone]);
	model_settle(zone, state);
}

/* Lets nothing go wrong until all is quiet, and compares. */
static void
settle(void)
{
	sim.calm = true;
	disk_fail(false);
	for (unsigned i = 0; sim.xfrd == NULL || !model_is_quiet()
		|| !sim_is_quiet(); i++) {
		if (i == TURNS_MAX) {
			model_print();
			fail("it hangs: xfrd's step is %d, %u requests, "
			     "disk %d, loader %d",
				(int)sim.xfrd->changes->step,
				sim.xfrd->requests.count, disk_is_idle(),
				loader_is_idle());
		}
		sim_turn();
	}
	disk_settle();
	disk_note();
	read_list();
	for (unsigned i = 0; i < NAMES; i++)
		check_zone(i);
	model_doubt_nothing();
	sim.calm = false;
}

static void
xfrd_hear_of_conf(void)
{
	xfrd_follow(sim.xfrd, 1);
}

/* Other zones stand in nsd.conf, some of the list among them. */
static void
reconfig(void)
{
	for (unsigned i = 0; i < ZONES; i++)
		sim.fixed[i] = one_in(4);
	note("reconfig");
	loader_reconfig();
	model_reconfig();
	(void)xfrd_call(xfrd_hear_of_conf);
}

/* ---- a run --------------------------------------------------------------- */

static void
act(void)
{
	if (sim.xfrd != NULL && one_in(3))
		for (unsigned i = 1 + below(one_in(10) ? 30 : 3);
			i > 0 && sim.xfrd != NULL; i--)
			(void)xfrd_call(model_ask);
	if (sim.plan.disk_fails && one_in(60))
		disk_fail(!one_in(3));
	if (sim.plan.loader_dies && one_in(200))
		loader_die();
	if (sim.plan.xfrd_dies && sim.xfrd != NULL && one_in(200))
		sim_bury(sim.plan.power_fails && one_in(2));
	sim_turn();
	if (!one_in(150))
		return;
	settle();
	if (one_in(4))
		reconfig();
}

/* Each fault by itself, none, and all together. */
static void
make_plan(void)
{
	unsigned kind = (unsigned)(fate.seed % PLANS);

	sim.plan = (struct plan){
		.loader_dies = kind == 1 || kind >= 6,
		.xfrd_dies = kind == 2 || kind == 3 || kind >= 6,
		.power_fails = kind == 3 || kind >= 6,
		.disk_fails = kind == 4 || kind == 7,
		.memory_fails = kind == 5 || kind == 7,
	};
}

static void
run(unsigned steps)
{
	unsigned lives = sim.lives;

	memset(&sim, 0, sizeof(sim));
	sim.lives = lives;
	make_plan();
	for (unsigned i = ZONES; i < NAMES; i++)
		sim.fixed[i] = true;
	sim.server.list = -1;
	sim.peer.link.channel.peer = ROLE_LOADER;
	model_begin();
	disk_begin();
	loader_begin();
	if (conf_load_text("t", "server: zonefiles-write: 0\n", 27, false, NULL,
		&sim.server.conf) != NSD_OK)
		abort();
	sim.server.conf->server.zonelistfile = disk_list();
	for (; fate.step < steps; fate.step++)
		act();
	settle();
	sim_bury(false);
	loader_end();
	conf_destroy(sim.server.conf);
	disk_end();
}

/* An xfrd that dies leaves what its functions were about to free. */
static void
run_and_tell(unsigned steps)
{
	make_plan();
	fate_allow_leaks(sim.plan.xfrd_dies);
	run(steps);
	fate_allow_leaks(false);
	printf("%llu changes, %llu done, %llu refused, %llu deaths of xfrd, "
	       "%llu of the computer, %llu of loaders\n", sim.asked, sim.done,
		sim.refused, sim.deaths, sim.cuts, sim.loaders);
}

int
main(int argc, char **argv)
{
	return fate_main(argc, argv, "changes", STEPS, run_and_tell);
}
