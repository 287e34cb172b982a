/* changes_xfrd.c - the real xfrd: how it begins, goes on and dies. */
#include "config.h"

#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf/zonelist.h"
#include "lib/failing.h"
#include "lib/fake_clock.h"
#include "sim/changes.h"
#include "xfrd/xfrd_changes.h"

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

void
sim_bury(bool is_cut)
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
		sim_bury(sim.plan.power_fails && one_in(2));
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
		sim_bury(false);
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
	if (sim.on_start != NULL)
		sim.on_start();
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

bool
sim_is_quiet(void)
{
	struct xfrd_changes *changes = sim.xfrd->changes;

	return disk_is_idle() && loader_is_idle()
		&& changes->step == XFRD_CHANGES_NONE
		&& sim.xfrd->follow.step == XFRD_FOLLOW_NONE
		&& cds_list_empty(&changes->waiting)
		&& cds_list_empty(&changes->busy)
		&& !xfrd_change_wants_renewal(sim.xfrd) && !changes->paused
		&& sim.xfrd->requests.count == 0;
}

void
sim_turn(void)
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
