/*
 * keeps.c - secondary zones are kept: received, put into the journal, flushed,
 * published, told of, written to zone files and forgotten, among primaries that
 * fail, loaders and writers that die, disks that are full, flushes that fail,
 * files that are damaged, memory that runs out, and xfrds and computers that
 * die at any moment.
 *
 * usage: keeps [SEED [STEPS [tell]]]
 * See fate.h; STEPS: 6000.
 *
 * Real are xfrd from its questions on (xfrd_jobs.c, xfrd_keep.c, xfrd_state.c,
 * xfrd_turn.c, xfrd_write.c and what they use), the machine of secondary zones,
 * the reader of transfers, and the journal with its index. Its threads run in
 * turns.
 *
 * What is checked:
 * - A version that was published is published by each later start, or a newer
 *   one: after a stop, after the death of xfrd at any write, after a power cut;
 *   and by one at any moment that finds what was flushed and nothing else.
 * - No version is published that is older than the one before, or that no
 *   primary has had; none is told of before it is published.
 * - A zone expires no later than a primary's last word allows, whoever dies
 *   meanwhile. A stop keeps all timers.
 * - Differences of a zone in the journal, and all on the disk, are bounded;
 *   also of a zone that primaries give whole to nobody who has it.
 * - Once nothing goes wrong any more, all zones have the primaries' versions
 *   within a bounded time, all targets are told, the zone files can be
 *   written, and the journal has nothing that these have.
 */
#include "config.h"

#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dns/serial.h"
#include "journal/state.h"
#include "lib/failing.h"
#include "lib/fake_clock.h"
#include "sim/keeps.h"
#include "xfrd/xfrd_catalog.h"

#define STEPS 6000u
#define TURNS_MAX 60000u /* until all is quiet */
#define PLANS 8u
#define FD_MAX 256
#define PERIOD_SEC 3600

/* The linker puts these in front of the real ones (--wrap). */
void __wrap_role_stop(struct role *role);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags);
void __wrap_role_send(struct role *role, enum ipc_type type,
	const void *payload, size_t len);

struct sim sim;
static bool was_open[FD_MAX]; /* when xfrd was started */
static bool has_stopped;      /* xfrd has had all files written */

unsigned
zone_number(const uint8_t *apex)
{
	unsigned number = (unsigned)(apex[2] - '0') * 10
		+ (unsigned)(apex[3] - '0');

	if (apex[0] != 3 || apex[1] != 'z' || number >= ZONES)
		fail("no such zone");
	return number;
}

const uint8_t *
zone_apex(unsigned number)
{
	static uint8_t apexes[ZONES][5];

	memcpy(apexes[number], "\3z00", 5);
	apexes[number][2] = (uint8_t)('0' + number / 10);
	apexes[number][3] = (uint8_t)('0' + number % 10);
	return apexes[number];
}

void
zone_hear(unsigned number)
{
	struct zone_model *zone = &sim.zones[number];

	zone->heard_msec = fake_clock_msec;
	zone->begins = 0;
	zone->is_unheard = false;
}

/* The machine's jitter, and whatever else is random, follows from the seed. */
ssize_t
__wrap_getrandom(void *out, size_t len, unsigned flags)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)out)[i] = (uint8_t)below(256);
	return (ssize_t)len;
}

/* ---- xfrd ---------------------------------------------------------------- */

void
__wrap_role_stop(struct role *role)
{
	sim.has_ended = true;
}

/* Called for a writer. */
void
__wrap_role_send(struct role *role, enum ipc_type type, const void *payload,
	size_t len)
{
	if (type == IPC_WANT_WRITER)
		writer_want();
}

void
may_die(uint32_t times)
{
	if (sim.in_xfrd && !sim.calm && sim.plan.xfrd_dies
		&& one_in(times * 2))
		longjmp(sim.died, 1);
}

static void
note_descriptors(void)
{
	for (int fd = 0; fd < FD_MAX; fd++)
		was_open[fd] = fcntl(fd, F_GETFD) != -1;
}

/* Takes back what the system had given to an xfrd. */
static void
xfrd_close(struct xfrd *xfrd)
{
	if (xfrd->reading.depth > 0)
		store_reader_offline(xfrd->reader);
	if (xfrd->reader != NULL)
		store_reader_close(xfrd->reader);
	event_base_free(xfrd->role.base);
	for (int fd = 0; fd < FD_MAX; fd++)
		if (!was_open[fd] && fcntl(fd, F_GETFD) != -1)
			close(fd);
	/* The rest of its memory is little. */
	if (xfrd->journal != NULL)
		free(xfrd->journal->commit.append.buffer);
	free(xfrd->state.text);
	free(xfrd);
}

/* Ends an xfrd that has died or was stopped; perhaps with the computer, which
 * then starts again. */
static void
xfrd_bury(enum disk_end how)
{
	note("xfrd %s", how == DISK_STOP ? "ends" : how == DISK_DEATH
		? "dies" : "dies, and the computer");
	sim.in_xfrd = sim.has_ended = has_stopped = false;
	failing_once(-1);
	loader_lose_xfrd();
	primary_lose_xfrd();
	writer_lose_xfrd();
	xfrd_close(sim.xfrd);
	sim.xfrd = NULL;
	if (how != DISK_STOP)
		for (unsigned i = 0; i < ZONES; i++)
			sim.zones[i].has_kept = false;
	disk_restart(how, !sim.calm && sim.plan.files_break && one_in(3));
	sim.deaths += how == DISK_DEATH;
	sim.cuts += how == DISK_CUT;
	sim.stops += how == DISK_STOP;
	fake_clock_msec += below(one_in(4) ? 100000 : 1000);
	if (how == DISK_DEATH)
		return;
	loader_end();
	loader_begin();
}

bool
xfrd_call(void (*call)(void))
{
	if (setjmp(sim.died) != 0) {
		xfrd_bury(sim.plan.power_fails && one_in(2) ? DISK_CUT
							    : DISK_DEATH);
		return false;
	}
	sim.in_xfrd = true;
	if (sim.plan.memory_fails && !sim.calm && sim.xfrd->journal != NULL
		&& one_in(30))
		failing_once((int)below(10));
	call();
	failing_once(-1);
	sim.in_xfrd = false;
	if (sim.has_ended)
		xfrd_bury(DISK_DEATH);
	return sim.xfrd != NULL;
}

static void
xfrd_begin(void)
{
	struct xfrd *xfrd = sim.xfrd;

	xfrd->role.server = &sim.server;
	xfrd->asks.base = xfrd->role.base;
	xfrd_asks_follow(&xfrd->asks, &sim.server.conf->server);
	xfrd_asks_init(&xfrd->asks);
	CDS_INIT_LIST_HEAD(&xfrd->jobs);
	CDS_INIT_LIST_HEAD(&xfrd->held);
	CDS_INIT_LIST_HEAD(&xfrd->ended);
	CDS_INIT_LIST_HEAD(&xfrd->waiting);
	CDS_INIT_LIST_HEAD(&xfrd->judged_waiting);
	CDS_INIT_LIST_HEAD(&xfrd->sources);
	CDS_INIT_LIST_HEAD(&xfrd->catalogs);
	if (store_reader_open(loader_store(), 0, "xfrd", &xfrd->reader)
			!= NSD_OK
		|| xfrd_zones_init(xfrd) != NSD_OK
		|| xfrd_turn_init(xfrd) != NSD_OK
		|| xfrd_follow_init(xfrd) != NSD_OK
		|| xfrd_jobs_init(xfrd) != NSD_OK
		|| xfrd_write_init(xfrd) != NSD_OK
		|| xfrd_catalog_init(xfrd) != NSD_OK
		|| xfrd_edit_init(xfrd) != NSD_OK
		|| xfrd_produce_init(xfrd) != NSD_OK)
		fail("xfrd does not begin");
	xfrd_state_init(xfrd);
	xfrd_keep_init(xfrd);
	loader_meet_xfrd();
}

static void
xfrd_start(void)
{
	note("xfrd begins");
	note_descriptors();
	sim.xfrd = calloc(1, sizeof(*sim.xfrd));
	if (sim.xfrd == NULL)
		abort();
	sim.xfrd->role.base = event_base_new();
	(void)xfrd_call(xfrd_begin);
}

static void
xfrd_loop(void)
{
	event_base_loop(sim.xfrd->role.base, EVLOOP_NONBLOCK);
}

/* ---- a turn -------------------------------------------------------------- */

static void
turn(void)
{
	uint32_t wait = one_in(sim.calm ? 15 : 100) ? 70000
		: one_in(10) ? 1000 : 15;

	fake_clock_msec += below(wait);
	if (sim.xfrd == NULL) {
		keeps_check_begin();
		xfrd_start();
	} else {
		(void)xfrd_call(xfrd_loop);
	}
	keeps_check_all();
	loader_turn();
	primary_turn();
	writer_turn();
	if (sim.xfrd != NULL)
		disk_turn();
}

/* ---- a stop -------------------------------------------------------------- */

static void
on_all_written(evutil_socket_t fd, short what, void *arg)
{
	has_stopped = true;
}

static void
xfrd_stop(void)
{
	struct event *then = event_new(sim.xfrd->role.base, -1, 0,
		on_all_written, NULL);

	if (then == NULL || !xfrd_write_end(sim.xfrd, then))
		has_stopped = true;
}

static void
xfrd_finish(void)
{
	xfrd_state_save(sim.xfrd);
	xfrd_keep_fini(sim.xfrd);
}

/* Stops and starts all. */
static void
stop(void)
{
	note("a stop");
	if (!xfrd_call(xfrd_stop))
		return;
	while (!has_stopped) {
		turn();
		if (sim.xfrd == NULL)
			return;
	}
	disk_fail(false);
	if (!xfrd_call(xfrd_finish))
		return;
	keeps_check_stop();
	xfrd_bury(DISK_STOP);
	if (sim.has_broken)
		for (unsigned i = 0; i < ZONES; i++)
			sim.zones[i].has_kept = false;
}

/* ---- quiet times --------------------------------------------------------- */

static bool
zone_is_quiet(unsigned number)
{
	const struct zone_model *zone = &sim.zones[number];
	struct xfr_status status;

	return keeps_get_status(number, &status) && !status.is_checking
		&& status.notifying == 0
		/* A start announces no zones that have expired. */
		&& (status.is_told || status.unheard > 0 || zone->has_expired)
		&& loader_version(number) == zone->newest && !zone->is_back;
}

static bool
is_quiet(void)
{
	if (sim.xfrd == NULL || !sim.xfrd->zones.told
		|| sim.xfrd->journal == NULL || !loader_is_idle()
		|| !primary_is_idle() || sim.xfrd->kept > 0)
		return false;
	for (unsigned i = 0; i < ZONES; i++)
		if (!zone_is_quiet(i))
			return false;
	return true;
}

/* True if the primaries' serial does not count as newer: it went back, or too
 * far forward. */
static bool
is_stuck(unsigned number)
{
	const struct zone_model *zone = &sim.zones[number];
	int version = loader_version(number);

	return zone->is_back || (version != NO_VERSION
		&& version != zone->newest && !serial_is_newer(
			zone->serials[zone->newest], zone->serials[version]));
}

/* Operators have zones transferred that are stuck. */
static void
operator_turn(void)
{
	for (unsigned i = 0; i < ZONES; i++) {
		struct xfrd_zone *zone = keeps_find_zone(i);
		struct xfr_status status;

		if (!is_stuck(i) || !keeps_get_status(i, &status)
			|| status.is_checking)
			continue;
		note("z%u is to be transferred, whatever its serial", i);
		xfr_on_command(sim.xfrd->zones.machine, zone->handle,
			fake_clock_msec, true);
		xfrd_zones_go_on(sim.xfrd);
	}
}

static void
print_zones(void)
{
	struct xfr_status status;

	for (unsigned i = 0; i < ZONES; i++) {
		const struct zone_model *zone = &sim.zones[i];

		memset(&status, 0, sizeof(status));
		if (sim.xfrd != NULL)
			(void)keeps_get_status(i, &status);
		printf("z%u: newest %d, served %d, file %d%s; checking %d, "
		       "notifying %u, told %d, unheard %u, error %d\n", i,
			zone->newest,
			loader_version(i), zone->file,
			zone->is_back ? ", back" : "", status.is_checking,
			status.notifying, status.is_told, status.unheard,
			(int)status.error);
	}
}

static bool is_written;

static void
on_written(void *ctx, const struct xfrd_write_result *result)
{
	if (result->failed > 0)
		fail("%u files were not written", result->failed);
	is_written = true;
}

static void
xfrd_write_all(void)
{
	if (xfrd_write(sim.xfrd, NULL, on_written, NULL) != NSD_OK)
		fail("no files can be written");
}

static bool
wait_until(bool (*is_so)(void))
{
	for (unsigned i = 0; !is_so(); i++) {
		if (i == TURNS_MAX)
			return false;
		if (sim.xfrd != NULL)
			(void)xfrd_call(operator_turn);
		turn();
	}
	return true;
}

static bool
get_is_written(void)
{
	return is_written;
}

/* Lets nothing go wrong until all is quiet, and written. */
static void
settle(void)
{
	note("nothing goes wrong any more");
	sim.calm = true;
	disk_fail(false);
	primary_trouble();
	is_written = false;
	if (!wait_until(is_quiet)) {
		print_zones();
		fail("it hangs: %u transfers are kept, journal %d",
			sim.xfrd != NULL ? sim.xfrd->kept : 0,
			sim.xfrd != NULL && sim.xfrd->journal != NULL);
	}
	/* Versions that were lost stay so until the next transfer. */
	for (unsigned i = 0; i < ZONES; i++)
		sim.zones[i].is_back |= sim.has_broken || sim.may_lose;
	if (!wait_until(is_quiet))
		fail("it hangs");
	if (!xfrd_call(xfrd_write_all) || !wait_until(get_is_written))
		fail("files are not written");
	sim.has_broken = sim.may_lose = false;
	keeps_check_written();
	sim.calm = false;
	note("all is quiet");
}

/* ---- a run --------------------------------------------------------------- */

static unsigned poked;

static void
poke(void)
{
	static struct ipc_notify notify;
	size_t len;

	sim.zones[poked].was_poked = true;
	primary_fill_notify(poked, &notify, &len);
	xfrd_notify_take(sim.xfrd, &notify, len);
}

static void
act(void)
{
	unsigned number = below(ZONES);

	if (one_in(20))
		primary_change(one_in(4) ? ZONE_IN_PARTS : number);
	poked = number;
	if (sim.xfrd != NULL && one_in(20))
		(void)xfrd_call(poke);
	if (sim.xfrd != NULL && one_in(30))
		(void)xfrd_call(operator_turn);
	if (one_in(200))
		primary_trouble();
	if (sim.plan.disk_fails && one_in(60))
		disk_fail(!one_in(3));
	if (sim.plan.loader_dies && one_in(200))
		loader_die();
	if (sim.plan.xfrd_dies && sim.xfrd != NULL && one_in(200))
		xfrd_bury(sim.plan.power_fails && one_in(2) ? DISK_CUT
							    : DISK_DEATH);
	if (sim.xfrd != NULL && sim.xfrd->journal != NULL && one_in(300))
		stop();
	turn();
	if (one_in(600))
		settle();
}

/* Each fault by itself, none, and all together. */
static void
make_plan(void)
{
	unsigned kind = (unsigned)(fate.seed % PLANS);

	sim.plan = (struct plan){
		.loader_dies = kind == 1 || kind >= 6,
		.xfrd_dies = kind == 2 || kind == 3 || kind >= 5,
		.power_fails = kind == 3 || kind >= 5,
		.disk_fails = kind == 4 || kind >= 6,
		.files_break = kind == 5,
		.memory_fails = kind == 7,
	};
}

static void
load_conf(void)
{
	static char text[4096];
	size_t len = (size_t)snprintf(text, sizeof(text), "server: "
		"zonefiles-write: %d\n", fate.seed % 4 == 3 ? 0 : PERIOD_SEC);

	for (unsigned i = 0; i < ZONES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"zone: name: z%02u %s request-xfr: 192.0.2.1 NOKEY "
			"request-xfr: 192.0.2.2 NOKEY notify: 192.0.2.3 "
			"NOKEY\n", i, sim.zones[i].has_file ? "zonefile: f"
							    : "");
	if (conf_load_text("t", text, len, false, NULL, &sim.server.conf)
		!= NSD_OK)
		fail("nsd.conf cannot be read");
	sim.server.conf->server.xfrdfile = disk_state();
}

static void
run(unsigned steps)
{
	memset(&sim, 0, sizeof(sim));
	has_stopped = false;
	make_plan();
	fate_allow_leaks(true);
	sim.server.list = -1;
	sim.server.boot = time(NULL);
	sim.peer.link.channel.peer = ROLE_LOADER;
	sim.writer.channel.peer = ROLE_WRITER;
	primary_begin();
	load_conf();
	disk_begin();
	writer_begin();
	loader_begin();
	for (; fate.step < steps; fate.step++)
		act();
	settle();
	sim.calm = true;
	xfrd_bury(DISK_STOP);
	loader_end();
	conf_destroy(sim.server.conf);
	disk_end();
	fate_allow_leaks(false);
	printf("%llu versions published, %llu files written, %llu stops, %llu "
	       "deaths of xfrd, %llu of the computer, %llu of loaders\n",
		sim.published, sim.written, sim.stops, sim.deaths, sim.cuts,
		sim.loaders);
}

int
main(int argc, char **argv)
{
	return fate_main(argc, argv, "keeps", STEPS, run);
}
