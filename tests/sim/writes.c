/*
 * writes.c - zone files of secondary zones are written, among transfers that
 * come all the while, writers that are slow, fail or die, files that somebody
 * removes, memory that runs out, and xfrds that die.
 *
 * usage: writes [SEED [STEPS [tell]]]
 * See fate.h; STEPS: 8000.
 *
 * Real are xfrd_write.c and the files that it uses, requests.c among them. The
 * journal, the versions that are served, and the writer are played.
 *
 * What is checked:
 * - What is served of a zone can be made of its file and the journal at any
 *   moment, unless somebody has removed the file.
 * - Who has asked for files to be written is answered once. If none failed, the
 *   files have what was served when it was asked for, or something newer.
 * - The writer has one thing in hand.
 * - Once nothing goes wrong any more, all is answered in a bounded time, and
 *   after a round each file has what is served, and the journal is empty.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "journal/journal.h"
#include "lib/failing.h"
#include "lib/fake_clock.h"
#include "lib/store_fixture.h"
#include "loader/load_list.h"
#include "sim/fate.h"
#include "xfrd/xfrd.h"

#define STEPS 8000u
#define ZONES 12u
#define ASKED_MAX 8u      /* requests to write */
#define ENTRIES_MAX 4096u /* of the journal, of a zone */
#define PERIOD_SEC 3600
#define TURNS_MAX 20000u

/* The linker puts these in front of the real ones (--wrap). */
enum nsd_err __wrap_link_send(struct link *link,
	const struct link_message *message);
void __wrap_role_stop(struct role *role);
void __wrap_role_send(struct role *role, enum ipc_type type,
	const void *payload, size_t len);
bool __wrap_xfrd_zones_get_soa(struct xfrd *xfrd, const struct xfrd_zone *zone,
	struct xfrd_soa *soa);
bool __wrap_journal_find_serial(const struct journal *journal,
	const uint8_t *apex, uint32_t serial, struct journal_entry *entry);
bool __wrap_journal_find_oldest(const struct journal *journal,
	const uint8_t *apex, struct journal_entry *entry);
bool __wrap_journal_forget(struct journal *journal, const uint8_t *apex,
	uint32_t serial);
enum nsd_err __wrap_journal_read_source(struct journal *journal,
	const uint8_t *apex, uint64_t id, char source[JOURNAL_SOURCE_MAX + 1]);

/* A zone: versions have serials that grow by one. */
struct secondary {
	uint32_t served;
	uint32_t file;   /* serial; 0: there is no file */
	uint32_t kept;   /* entries of the journal lead from the serial before
			  * this one to what is served; 0: there are none */
	bool is_whole;   /* the oldest of them is a whole zone */
	bool was_removed; /* file removed by somebody */
};

/* A request to write, of one zone or all. */
struct ask {
	bool used;
	bool waits;
	int zone; /* -1: all */
	uint32_t served[ZONES];
};

static struct sim {
	struct store_fixture store;
	struct server server;
	struct xfrd *xfrd;
	struct secondary zones[ZONES];
	struct ask asks[ASKED_MAX];
	struct link link;           /* to the writer */
	enum { NO_WRITER, CALLED, LIVES, DEAD } writer;
	int64_t writer_msec;        /* the next step of it */
	struct ipc_message in_hand; /* of it; len 0: nothing */
	struct ipc_message answer;  /* the same, not arrived yet */
	bool calm;
	bool in_xfrd;
	bool fails;                 /* files cannot be written */
	jmp_buf died;
	unsigned long long asked, written, failed, deaths, writers;
} sim;

/* ---- helpers ------------------------------------------------------------- */

/* The number of the zone zNN. */
static unsigned
zone_number(const uint8_t *apex)
{
	unsigned number = (unsigned)(apex[2] - '0') * 10
		+ (unsigned)(apex[3] - '0');

	if (apex[0] != 3 || number >= ZONES)
		fail("no such zone");
	return number;
}

static struct secondary *
zone_of(const uint8_t *apex)
{
	return &sim.zones[zone_number(apex)];
}

/* Checks that nothing is lost. */
static void
check_zone(unsigned number)
{
	const struct secondary *zone = &sim.zones[number];

	if (zone->served == 0 || zone->file == zone->served
		|| zone->was_removed)
		return;
	if (zone->kept == 0)
		fail("z%02u: %u is served, its file has %u, and the journal "
		     "nothing", number, zone->served, zone->file);
	if (!zone->is_whole && zone->file < zone->kept - 1)
		fail("z%02u: its file has %u, and the journal what comes after "
		     "%u", number, zone->file, zone->kept - 1);
}

/* ---- the journal, and versions that are served --------------------------- */

bool
__wrap_xfrd_zones_get_soa(struct xfrd *xfrd, const struct xfrd_zone *zone,
	struct xfrd_soa *soa)
{
	const struct secondary *known = zone_of(xfrd_zone_apex(zone));

	if (known->served == 0)
		return false;
	memset(soa, 0, sizeof(*soa));
	soa->numbers.serial = known->served;
	return true;
}

bool
__wrap_journal_find_serial(const struct journal *journal, const uint8_t *apex,
	uint32_t serial, struct journal_entry *entry)
{
	const struct secondary *zone = zone_of(apex);

	if (zone->kept == 0 || serial < zone->kept || serial > zone->served)
		return false;
	*entry = (struct journal_entry){
		.id = serial,
		.to = serial,
		.from = serial - 1,
		.kind = zone->is_whole && serial == zone->kept ? JOURNAL_WHOLE
							       : JOURNAL_DIFFS,
	};
	return true;
}

bool
__wrap_journal_find_oldest(const struct journal *journal, const uint8_t *apex,
	struct journal_entry *entry)
{
	const struct secondary *zone = zone_of(apex);

	return zone->kept != 0
		&& __wrap_journal_find_serial(journal, apex, zone->kept, entry);
}

bool
__wrap_journal_forget(struct journal *journal, const uint8_t *apex,
	uint32_t serial)
{
	struct secondary *zone = zone_of(apex);

	if (zone->kept == 0 || serial < zone->kept || serial > zone->served)
		return false;
	zone->is_whole = false;
	zone->kept = serial == zone->served ? 0 : serial + 1;
	check_zone(zone_number(apex));
	return true;
}

enum nsd_err
__wrap_journal_read_source(struct journal *journal, const uint8_t *apex,
	uint64_t id, char source[JOURNAL_SOURCE_MAX + 1])
{
	strcpy(source, "192.0.2.1");
	return NSD_OK;
}

/* Has a transfer published. A whole zone takes the place of what was kept. */
static void
transfer(void)
{
	struct secondary *zone = &sim.zones[below(ZONES)];

	if (zone->served == 0 || one_in(8)) {
		zone->served++;
		zone->kept = zone->served;
		zone->is_whole = true;
		return;
	}
	zone->served++;
	if (zone->kept == 0)
		zone->kept = zone->served;
}

/* ---- xfrd ---------------------------------------------------------------- */

static void
may_die(uint32_t times)
{
	if (sim.in_xfrd && !sim.calm && fate.seed % 4 >= 2 && one_in(times))
		longjmp(sim.died, 1);
}

void
__wrap_role_stop(struct role *role)
{
	fail("xfrd ends by itself");
}

/* Called for a writer. */
void
__wrap_role_send(struct role *role, enum ipc_type type, const void *payload,
	size_t len)
{
	if (type != IPC_WANT_WRITER)
		fail("main is asked for something else");
	may_die(40);
	if (sim.writer != NO_WRITER)
		return;
	sim.writer = CALLED;
	sim.writer_msec = fake_clock_msec + below(one_in(5) ? 3000 : 20);
}

static void
xfrd_free(struct xfrd *xfrd)
{
	if (xfrd->reading.depth > 0)
		store_reader_offline(xfrd->reader);
	store_reader_close(xfrd->reader);
	event_base_free(xfrd->role.base);
}

/* Ends an xfrd that has died. The writer has its end of the channel closed, and
 * ends. */
static void
xfrd_bury(void)
{
	static struct xfrd **dead;
	static unsigned count;

	sim.in_xfrd = false;
	failing_once(-1);
	dead = realloc(dead, (count + 1) * sizeof(*dead));
	if (dead == NULL)
		abort();
	dead[count++] = sim.xfrd;
	xfrd_free(sim.xfrd);
	sim.xfrd = NULL;
	sim.deaths++;
	sim.writer = NO_WRITER;
	sim.in_hand.len = sim.answer.len = 0;
	memset(sim.asks, 0, sizeof(sim.asks));
}

static bool
xfrd_call(void (*call)(void))
{
	if (setjmp(sim.died) != 0) {
		xfrd_bury();
		return false;
	}
	sim.in_xfrd = true;
	if (fate.seed % 2 == 1 && !sim.calm && one_in(10))
		failing_once((int)below(4));
	call();
	failing_once(-1);
	sim.in_xfrd = false;
	for (unsigned i = 0; i < ZONES; i++)
		check_zone(i);
	return true;
}

static void
xfrd_start(void)
{
	struct xfrd *xfrd = calloc(1, sizeof(*xfrd));

	if (xfrd == NULL)
		abort();
	sim.xfrd = xfrd;
	xfrd->role.server = &sim.server;
	xfrd->role.base = event_base_new();
	xfrd->journal = (struct journal *)&sim;
	CDS_INIT_LIST_HEAD(&xfrd->jobs);
	CDS_INIT_LIST_HEAD(&xfrd->produce.zones);
	CDS_INIT_LIST_HEAD(&xfrd->sources);
	CDS_INIT_LIST_HEAD(&xfrd->catalogs);
	CDS_INIT_LIST_HEAD(&xfrd->folders.list);
	if (store_reader_open(sim.store.store, 0, "xfrd", &xfrd->reader)
			!= NSD_OK
		|| xfrd_zones_init(xfrd) != NSD_OK
		|| xfrd_turn_init(xfrd) != NSD_OK
		|| xfrd_write_init(xfrd) != NSD_OK)
		fail("xfrd does not begin");
}

static void
xfrd_loop(void)
{
	event_base_loop(sim.xfrd->role.base, EVLOOP_NONBLOCK);
}

/* ---- the writer ---------------------------------------------------------- */

enum nsd_err
__wrap_link_send(struct link *link, const struct link_message *message)
{
	if (link != &sim.link || (sim.writer != LIVES && sim.writer != DEAD))
		fail("a message to nobody");
	may_die(40);
	if (!sim.calm && one_in(20))
		return one_in(2) ? NSD_E_MEMORY : NSD_E_AGAIN;
	if (sim.writer == DEAD)
		return NSD_OK;
	if (sim.in_hand.len > 0 || sim.answer.len > 0)
		fail("the writer has two things in hand");
	sim.in_hand.type = message->type;
	sim.in_hand.len = message->len;
	memcpy(sim.in_hand.payload, message->payload, message->len);
	sim.writer_msec = fake_clock_msec + below(one_in(20) ? 5000 : 30);
	return NSD_OK;
}

/* Writes a file, or fails at it. */
static void
writer_write(void)
{
	struct ipc_write what = {.serial = 0};
	struct ipc_written done = {.err = NSD_OK, .to = IPC_WRITTEN_FILE};
	struct secondary *zone;

	memcpy(&what, sim.in_hand.payload, sim.in_hand.len);
	zone = zone_of(what.apex);
	done.ticket = what.request.ticket;
	done.serial = zone->served;
	if (*what.received != '\0' && what.serial != zone->served) {
		done.err = NSD_E_AGAIN;
	} else if (sim.fails || (!sim.calm && one_in(10))) {
		done.err = NSD_E_SYSTEM;
		done.error = ENOSPC;
		done.to = (what.flags & IPC_WRITE_COPY) != 0 && one_in(2)
			? IPC_WRITTEN_COPY : IPC_WRITTEN_NOWHERE;
	} else {
		zone->file = zone->served;
		zone->was_removed = false;
	}
	sim.answer.type = IPC_ZONE_WRITTEN;
	sim.answer.len = sizeof(done);
	memcpy(sim.answer.payload, &done, sizeof(done));
}

/* Looks for files: counts those that are there before the first missing
 * one. */
static void
writer_look(void)
{
	struct ipc_find_files what;
	struct ipc_files_found found = {.err = NSD_OK};
	size_t len = sim.in_hand.len - sizeof(what.request), at = 0;

	memcpy(&what, sim.in_hand.payload, sim.in_hand.len);
	found.ticket = what.request.ticket;
	while (at < len && zone_of(what.apexes + at)->file != 0) {
		at += name_len(what.apexes + at);
		found.count++;
	}
	if (!sim.calm && one_in(10))
		found = (struct ipc_files_found){.ticket = found.ticket,
			.err = NSD_E_MEMORY};
	sim.answer.type = IPC_FILES_FOUND;
	sim.answer.len = sizeof(found);
	memcpy(sim.answer.payload, &found, sizeof(found));
}

static void
writer_tell(void)
{
	struct ipc_message m = sim.answer;

	sim.answer.len = 0;
	requests_take_answer(&sim.xfrd->writes.requests, &m);
}

static void
writer_come(void)
{
	xfrd_write_on_writer(sim.xfrd, &sim.link);
}

static void
writer_go(void)
{
	xfrd_write_on_writer_gone(sim.xfrd);
}

static void
writer_die(void)
{
	sim.writer = DEAD;
	sim.in_hand.len = 0;
	sim.writer_msec = fake_clock_msec + below(50);
}

/* The next step of a writer that lives. It ends when it has had nothing to do
 * for a while. */
static void
writer_live(void)
{
	if (sim.answer.len > 0) {
		(void)xfrd_call(writer_tell);
	} else if (sim.in_hand.len > 0) {
		bool dies = !sim.calm && one_in(15);

		if (!dies || one_in(2)) {
			if (sim.in_hand.type == IPC_FIND_FILES)
				writer_look();
			else
				writer_write();
		}
		sim.answer.from = ROLE_WRITER;
		sim.in_hand.len = 0;
		if (!dies)
			return;
		sim.answer.len = 0;
		writer_die();
	} else if (fake_clock_msec > sim.writer_msec + 5000) {
		writer_die();
	} else if (one_in(4)) {
		(void)xfrd_call(writer_come);
	}
}

static void
writer_turn(void)
{
	if (sim.xfrd == NULL || sim.writer == NO_WRITER
		|| fake_clock_msec < sim.writer_msec)
		return;
	switch (sim.writer) {
	case CALLED:
		sim.writer = LIVES;
		sim.writers++;
		(void)xfrd_call(writer_come);
		break;
	case LIVES:
		writer_live();
		break;
	default:
		/* The last answer of a dead one is taken first. */
		if (sim.answer.len > 0 && !xfrd_call(writer_tell))
			break;
		sim.writer = NO_WRITER;
		(void)xfrd_call(writer_go);
		break;
	}
}

/* ---- requests ------------------------------------------------------------ */

static void
on_written(void *ctx, const struct xfrd_write_result *result)
{
	struct ask *ask = ctx;

	if (!ask->waits)
		fail("a request is answered twice");
	ask->waits = ask->used = false;
	sim.written += result->written;
	sim.failed += result->failed;
	for (unsigned i = 0; i < ZONES && result->failed == 0; i++)
		if ((ask->zone == -1 || ask->zone == (int)i)
			&& sim.zones[i].file < ask->served[i]
			&& !sim.zones[i].was_removed)
			fail("z%02u was asked for with %u, and its file has "
			     "%u", i, ask->served[i], sim.zones[i].file);
	may_die(16);
}

static void
ask_for(void)
{
	struct ask *ask = sim.asks;
	uint8_t apex[] = "\3z00";

	while (ask < sim.asks + ASKED_MAX && ask->used)
		ask++;
	if (ask == sim.asks + ASKED_MAX)
		return;
	*ask = (struct ask){.used = true, .waits = true,
		.zone = one_in(3) ? -1 : (int)below(ZONES)};
	for (unsigned i = 0; i < ZONES; i++)
		ask->served[i] = sim.zones[i].served;
	apex[2] = (uint8_t)('0' + ask->zone / 10);
	apex[3] = (uint8_t)('0' + ask->zone % 10);
	sim.asked++;
	if (xfrd_write(sim.xfrd, ask->zone == -1 ? NULL : apex, on_written, ask)
		!= NSD_OK)
		ask->used = false;
}

/* Asks as xfrd itself does, which waits for no answer. */
static void
ask_for_nobody(void)
{
	uint8_t apex[] = "\3z00";

	apex[3] = (uint8_t)('0' + below(10));
	(void)!xfrd_write(sim.xfrd, apex, NULL, NULL);
}

static void
look(void)
{
	xfrd_write_look(sim.xfrd);
}

/* ---- a run --------------------------------------------------------------- */

static void
turn(void)
{
	fake_clock_msec += below(one_in(300) ? 600000 : one_in(10) ? 500 : 10);
	if (sim.xfrd == NULL)
		xfrd_start();
	else
		(void)xfrd_call(xfrd_loop);
	writer_turn();
}

static bool
is_quiet(void)
{
	for (unsigned i = 0; i < ASKED_MAX; i++)
		if (sim.asks[i].used)
			return false;
	for (unsigned i = 0; i < ZONES; i++)
		if (sim.zones[i].served != sim.zones[i].file
			|| sim.zones[i].kept != 0)
			return false;
	return sim.xfrd != NULL && !sim.xfrd->writes.busy;
}

/* Lets nothing go wrong until all is written, which takes a round at most. */
static void
settle(void)
{
	int64_t began = fake_clock_msec;

	sim.calm = true;
	sim.fails = false;
	for (unsigned i = 0; !is_quiet(); i++) {
		if (i == TURNS_MAX
			|| fake_clock_msec > began + 2000 * (PERIOD_SEC + 900))
			fail("it hangs: state %d, busy %d, writer %d",
				(int)sim.xfrd->writes.state,
				sim.xfrd->writes.busy, (int)sim.writer);
		turn();
	}
	sim.calm = false;
}

static void
act(void)
{
	unsigned zone = below(ZONES);

	if (one_in(4))
		transfer();
	if (sim.xfrd != NULL && one_in(6))
		(void)xfrd_call(ask_for);
	if (sim.xfrd != NULL && one_in(30))
		(void)xfrd_call(ask_for_nobody);
	if (sim.xfrd != NULL && one_in(50))
		(void)xfrd_call(look);
	if (one_in(60) && sim.zones[zone].file != 0) {
		sim.zones[zone].file = 0;
		sim.zones[zone].was_removed = true;
	}
	if (one_in(100))
		sim.fails = one_in(2);
	if (one_in(100) && sim.writer == LIVES)
		writer_die();
	if (one_in(300) && sim.xfrd != NULL && fate.seed % 4 >= 2)
		xfrd_bury();
	turn();
	if (one_in(400))
		settle();
}

static void
publish_zones(struct conf **conf)
{
	static char text[4096];
	struct load_zone zones[ZONES + 1];
	struct load_list_result result;
	size_t len = (size_t)snprintf(text, sizeof(text),
		"server: zonefiles-write: %d\n", PERIOD_SEC);

	for (unsigned i = 0; i < ZONES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"zone: name: z%02u zonefile: f request-xfr: 192.0.2.1 "
			"NOKEY\n", i);
	memset(zones, 0, sizeof(zones));
	store_fixture_init(&sim.store, 2);
	if (conf_load_text("t", text, len, false, NULL, conf) != NSD_OK
		|| load_list_publish(sim.store.writer, *conf, zones, &result)
			!= NSD_OK)
		fail("cannot publish");
}

static void
run(unsigned steps)
{
	fate_allow_leaks(fate.seed % 4 >= 2);
	memset(&sim, 0, sizeof(sim));
	sim.link.channel.peer = ROLE_WRITER;
	sim.server.boot = time(NULL);
	publish_zones(&sim.server.conf);
	for (; fate.step < steps; fate.step++)
		act();
	settle();
	xfrd_bury();
	store_fixture_fini(&sim.store);
	conf_destroy(sim.server.conf);
	fate_allow_leaks(false);
	printf("%llu requests, %llu files written, %llu not, %llu deaths of "
	       "xfrd, %llu writers\n", sim.asked, sim.written, sim.failed,
		sim.deaths, sim.writers);
}

int
main(int argc, char **argv)
{
	return fate_main(argc, argv, "writes", STEPS, run);
}
