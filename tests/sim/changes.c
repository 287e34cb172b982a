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

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conf/zonelist.h"
#include "lib/failing.h"
#include "lib/fake_clock.h"
#include "sim/changes.h"
#include "xfrd/xfrd_changes.h"

#define STEPS 6000u
#define TURNS_MAX 6000u /* until all is quiet */
#define PLANS 8u

/* The linker puts these in front of the real ones (--wrap). */
void __wrap_role_stop(struct role *role);
void __wrap_role_send_obeyed(struct role *role, uint64_t ticket);
void __wrap_role_send(struct role *role, enum ipc_type type,
	const void *payload, size_t len);

struct sim sim;
/* The xfrds that have died: their memory is no leak. */
static struct xfrd **dead;

/* ---- xfrd ---------------------------------------------------------------- */

void
__wrap_role_stop(struct role *role)
{
	sim.has_ended = true;
}

void
__wrap_role_send_obeyed(struct role *role, uint64_t ticket)
{
}

void
__wrap_role_send(struct role *role, enum ipc_type type, const void *payload,
	size_t len)
{
}

void
may_die(uint32_t times)
{
	if (sim.in_xfrd && !sim.calm && sim.plan.xfrd_dies
		&& one_in(times * 4))
		longjmp(sim.died, 1);
}

/* Takes back what the system had given to an xfrd. */
static void
xfrd_close(struct xfrd *xfrd)
{
	struct zonelist *list = xfrd->changes != NULL ? xfrd->changes->list
						      : NULL;

	if (list != NULL && list->fd != -1)
		close(list->fd);
	if (list != NULL && list->folder != -1)
		close(list->folder);
	if (list != NULL && list->renewed.path != NULL)
		close(list->renewed.fd);
	if (xfrd->reading.depth > 0)
		store_reader_offline(xfrd->reader);
	if (xfrd->reader != NULL)
		store_reader_close(xfrd->reader);
	event_base_free(xfrd->role.base);
}

/* Ends an xfrd that has died; perhaps with the computer. */
static void
xfrd_bury(bool is_cut)
{
	struct xfrd *xfrd = sim.xfrd;

	note("xfrd dies%s", is_cut ? ", and the computer" : "");
	sim.in_xfrd = false;
	sim.has_ended = false;
	failing_once(-1);
	sim.xfrd = NULL;
	xfrd_close(xfrd);
	dead = realloc(dead, (sim.lives + 1) * sizeof(*dead));
	if (dead == NULL)
		abort();
	dead[sim.lives++] = xfrd;
	disk_die(is_cut);
	model_on_death();
	loader_lose_xfrd();
	sim.deaths++;
	if (!is_cut)
		return;
	sim.cuts++;
	loader_end();
	loader_begin();
}

bool
xfrd_call(void (*call)(void))
{
	if (setjmp(sim.died) != 0) {
		xfrd_bury(sim.plan.power_fails && one_in(2));
		return false;
	}
	sim.in_xfrd = true;
	if (sim.plan.memory_fails && !sim.calm && sim.xfrd->changes != NULL
		&& one_in(30))
		failing_once((int)below(30));
	call();
	failing_once(-1);
	sim.in_xfrd = false;
	if (sim.has_ended)
		xfrd_bury(false);
	return sim.xfrd != NULL;
}

static void
xfrd_begin(void)
{
	struct xfrd *xfrd = sim.xfrd;

	xfrd->role.server = &sim.server;
	CDS_INIT_LIST_HEAD(&xfrd->jobs);
	CDS_INIT_LIST_HEAD(&xfrd->produce.zones);
	CDS_INIT_LIST_HEAD(&xfrd->sources);
	CDS_INIT_LIST_HEAD(&xfrd->catalogs);
	CDS_INIT_LIST_HEAD(&xfrd->folders.list);
	if (store_reader_open(loader_store(), 0, "xfrd", &xfrd->reader)
			!= NSD_OK
		|| xfrd_zones_init(xfrd) != NSD_OK
		|| xfrd_turn_init(xfrd) != NSD_OK
		|| xfrd_follow_init(xfrd) != NSD_OK
		|| xfrd_write_init(xfrd) != NSD_OK)
		fail("xfrd does not begin");
	xfrd_change_init(xfrd);
	if (xfrd->changes == NULL)
		fail("no zone can be changed");
}

static void
xfrd_start(void)
{
	sim.xfrd = calloc(1, sizeof(*sim.xfrd));
	if (sim.xfrd == NULL)
		abort();
	sim.xfrd->role.base = event_base_new();
	if (xfrd_call(xfrd_begin))
		(void)xfrd_call(loader_meet_xfrd);
}

static void
xfrd_loop(void)
{
	event_base_loop(sim.xfrd->role.base, EVLOOP_NONBLOCK);
}

/* ---- quiet times --------------------------------------------------------- */

static bool
xfrd_is_quiet(void)
{
	struct xfrd_changes *changes = sim.xfrd->changes;

	return changes->step == XFRD_CHANGES_NONE
		&& sim.xfrd->follow.step == XFRD_FOLLOW_NONE
		&& cds_list_empty(&changes->waiting)
		&& cds_list_empty(&changes->busy)
		&& !xfrd_change_wants_renewal(sim.xfrd) && !changes->paused
		&& sim.xfrd->requests.count == 0;
}

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

static void
turn(void)
{
	uint32_t wait = one_in(200) ? 70000 : one_in(10) ? 1000 : 15;

	fake_clock_msec += below(wait);
	if (sim.xfrd == NULL)
		xfrd_start();
	else
		(void)xfrd_call(xfrd_loop);
	loader_turn();
	if (sim.xfrd != NULL)
		disk_turn();
}

/* Lets nothing go wrong until all is quiet, and compares. */
static void
settle(void)
{
	sim.calm = true;
	disk_fail(false);
	for (unsigned i = 0; sim.xfrd == NULL || !model_is_quiet()
		|| !xfrd_is_quiet() || !disk_is_idle() || !loader_is_idle();
		i++) {
		if (i == TURNS_MAX) {
			model_print();
			fail("it hangs: xfrd's step is %d, %u requests, "
			     "disk %d, loader %d",
				(int)sim.xfrd->changes->step,
				sim.xfrd->requests.count, disk_is_idle(),
				loader_is_idle());
		}
		turn();
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
		xfrd_bury(sim.plan.power_fails && one_in(2));
	turn();
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
	xfrd_bury(false);
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
