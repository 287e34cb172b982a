/*
 * changes_loader.c - the loader as xfrd sees it: it takes CHANGE_ZONE and READ,
 * publishes in a real store, answers late or dies.
 *
 * It refuses what it has no room for, does the first ones of a message, finds a
 * zone busy, or its file large or broken, by chance.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/zonelist.h"
#include "lib/fake_clock.h"
#include "loader/load_list.h"
#include "process/zone_message.h"
#include "sim/changes.h"
#include "xfrd/xfrd_changes.h"

#define QUEUE_MAX 160u

/* The linker puts it in front of the real one (--wrap). */
enum nsd_err __wrap_link_send(struct link *link,
	const struct link_message *message);

struct queued {
	struct ipc_message m;
	int64_t at_msec; /* not before */
};

struct queue {
	struct queued items[QUEUE_MAX];
	unsigned count;
};

static struct loader {
	struct store_fixture store;
	struct conf *conf;
	struct queue asked, reads, answers;
	enum { ALIVE, DEAD, GONE } life; /* DEAD: xfrd has not heard of it */
	int64_t at_msec;      /* the next step of that */
	unsigned in_hand[IPC_TYPE_COUNT];
	bool changing;        /* changes are made, and not published yet */
} loader;

static char text[4096];

/* ---- queues -------------------------------------------------------------- */

static void
queue_add(struct queue *queue, const struct ipc_message *m, uint32_t wait)
{
	struct queued *one = &queue->items[queue->count];

	if (queue->count++ == QUEUE_MAX)
		fail("too many messages are in hand");
	one->m = *m;
	one->at_msec = fake_clock_msec + below(wait);
}

static void
queue_drop(struct queue *queue)
{
	memmove(queue->items, queue->items + 1,
		--queue->count * sizeof(queue->items[0]));
}

static bool
queue_is_due(const struct queue *queue)
{
	return queue->count > 0 && queue->items[0].at_msec <= fake_clock_msec;
}

enum nsd_err
__wrap_link_send(struct link *link, const struct link_message *message)
{
	struct ipc_message m = {.type = message->type, .len = message->len};

	if (link != &sim.peer.link || message->len > sizeof(m.payload))
		fail("a message to nobody");
	may_die(60);
	if (loader.in_hand[m.type] == ipc_rows[m.type].credits
		|| (!sim.calm && one_in(40)))
		return NSD_E_AGAIN;
	if (sim.plan.memory_fails && !sim.calm && one_in(40))
		return NSD_E_MEMORY;
	loader.in_hand[m.type]++;
	memcpy(m.payload, message->payload, message->len);
	if (loader.life == ALIVE)
		queue_add(&loader.asked, &m, one_in(20) ? 2000 : 10);
	disk_note();
	return NSD_OK;
}

/* ---- publication --------------------------------------------------------- */

static void
loader_publish(void)
{
	struct load_zone *zones = calloc(loader.conf->zone_count + 1,
		sizeof(*zones));
	struct load_list_result result;

	if (zones == NULL || load_list_publish(loader.store.writer,
		loader.conf, zones, &result) != NSD_OK)
		fail("cannot publish");
	free(zones);
	loader.changing = false;
	(void)store_fixture_reclaimed(loader.store.writer);
}

static void
loader_load_conf(void)
{
	conf_destroy(loader.conf);
	loader.conf = NULL;
	if (conf_load_text("t", text, strlen(text), false, NULL, &loader.conf)
		!= NSD_OK)
		fail("cannot load nsd.conf");
}

unsigned
loader_state(unsigned zone)
{
	const struct conf_zone *found = conf_find_zone_text(loader.conf,
		model_name(zone));

	if (found == NULL || found->pattern_name == NULL)
		return found == NULL ? STATE_NONE : STATE_FIXED;
	for (unsigned i = 1; i <= 3; i++)
		if (strcmp(found->pattern_name, patterns[i]) == 0)
			return 1u << i;
	fail("%s has the pattern %s", model_name(zone), found->pattern_name);
}

/* ---- CHANGE_ZONE --------------------------------------------------------- */

/* As that of loader_zones.c: one before it has done it. */
static bool
loader_was_done(const struct zone_change *change)
{
	const struct conf_zone *zone = conf_find_zone_text(loader.conf,
		change->name);

	if ((zone != NULL) != (*change->pattern != '\0'))
		return false;
	return !change->anew || (zone->pattern_name != NULL
		&& strcmp(zone->pattern_name, change->pattern) == 0);
}

static enum nsd_err
loader_apply(const struct zone_change *change)
{
	const struct conf_zone *zone = conf_find_zone_text(loader.conf,
		change->name);

	if (*change->pattern == '\0') {
		if (zone == NULL)
			return NSD_E_NOT_FOUND;
		return zone->pattern_name == NULL ? NSD_E_DENIED
			: conf_remove_zone(loader.conf, zone->wire);
	}
	if (change->anew && zone != NULL)
		return conf_change_zone(loader.conf, zone->wire,
			change->pattern);
	return conf_add_zone(loader.conf, change->name, change->pattern, &zone);
}

/* Judges a file, by chance. A broken one ends the answer. */
static void
loader_read_file(struct zone_change *change)
{
	static const enum ipc_zone_file files[] = {IPC_ZONE_NO_FILE,
		IPC_ZONE_SERVED, IPC_ZONE_SERVED, IPC_ZONE_BROKEN,
		IPC_ZONE_LATER};

	change->file = files[below(5)];
	if (change->file == IPC_ZONE_BROKEN)
		change->reasons = "f:1: why\n";
}

static void
loader_change(struct zone_change *change, bool again)
{
	change->file = IPC_ZONE_NO_FILE;
	change->reasons = NULL;
	change->err = NSD_OK;
	if (again && loader_was_done(change))
		return;
	if (!sim.calm && one_in(12))
		change->err = NSD_E_AGAIN;
	else if (!sim.calm && one_in(12))
		change->err = one_in(2) ? NSD_E_LIMIT : NSD_E_MEMORY;
	else
		change->err = loader_apply(change);
	note("the loader has %s with %s%s: %d", change->name, change->pattern,
		again ? " again" : "", change->err);
	if (change->err == NSD_OK && *change->pattern != '\0')
		loader_read_file(change);
}

/* True if the loader dies of this message, before or after it has done it. */
static bool
loader_dies_of(const struct zone_message *asked)
{
	return !sim.calm && sim.plan.loader_dies
		&& one_in(asked->payload.request.again != 0 ? 3 : 30);
}

/* Has the zones of the store alone. */
static void
loader_restore(void)
{
	loader_load_conf();
	if (load_list_restore(loader.store.view, loader.conf) != NSD_OK)
		fail("cannot restore zones");
}

static void
loader_die_now(void)
{
	note("the loader dies");
	/* Changes that were not published are lost. */
	loader_restore();
	loader.changing = false;
	loader.life = DEAD;
	loader.at_msec = fake_clock_msec + below(100);
	loader.asked.count = loader.reads.count = 0;
	sim.loaders++;
}

static void
loader_on_change_zone(const struct ipc_message *m)
{
	struct ipc_message out = {.type = IPC_ZONE_CHANGED,
		.from = ROLE_LOADER};
	struct zone_message asked, answer;
	struct zone_change change = {.reasons = NULL};
	bool dies, broke = false;

	if (zone_message_read(&asked, m) != NSD_OK)
		fail("a CHANGE_ZONE cannot be read");
	dies = loader_dies_of(&asked);
	if (dies && one_in(2)) {
		loader_die_now();
		return;
	}
	zone_message_init(&answer);
	answer.payload.request.ticket = asked.payload.request.ticket;
	while (change.reasons == NULL && zone_message_next(&asked, &change)) {
		loader_change(&change, asked.payload.request.again != 0);
		if (zone_message_add(&answer, &change) != NSD_OK)
			fail("an answer has no room");
		broke = one_in(20);
		if (broke)
			break;
	}
	loader.changing = change.reasons == NULL && one_in(20) == 0
		&& (broke || asked.payload.more != 0);
	answer.payload.more = loader.changing;
	if (!loader.changing)
		loader_publish();
	if (dies) {
		loader_die_now();
		return;
	}
	memcpy(out.payload, &answer.payload, answer.len);
	out.len = answer.len;
	queue_add(&loader.answers, &out, 10);
}

/* ---- READ ---------------------------------------------------------------- */

static void
loader_on_read_done(const struct ipc_message *m)
{
	struct ipc_message out = {.type = IPC_READ_DONE, .from = ROLE_LOADER};
	const char *reasons = one_in(3) ? "f:2: why\n" : "";
	struct ipc_read_done done = {.err = *reasons != '\0' ? NSD_E_ZONE
							     : NSD_OK};
	struct ipc_read read = {.request = {.ticket = 0}};

	memcpy(&read, m->payload, m->len);
	done.ticket = read.request.ticket;
	if (conf_find_zone(loader.conf, read.apex) == NULL) {
		done.err = NSD_E_NOT_FOUND;
		reasons = "";
	}
	memcpy(done.reasons, reasons, strlen(reasons));
	out.len = IPC_READ_DONE_MIN + strlen(reasons);
	memcpy(out.payload, &done, out.len);
	queue_add(&loader.answers, &out, 10);
}

/* ---- turns --------------------------------------------------------------- */

static void
loader_answer(void)
{
	requests_take_answer(&sim.xfrd->requests, &loader.answers.items[0].m);
}

/* An answer may come twice: the second one is to nothing. */
static void
loader_tell(void)
{
	struct queue *answers = &loader.answers;
	const struct ipc_message *m = &answers->items[0].m;
	unsigned of = m->type == IPC_READ_DONE ? IPC_READ : IPC_CHANGE_ZONE;

	if (loader.in_hand[of] == 0)
		fail("more answers than requests");
	loader.in_hand[of]--;
	if (xfrd_call(loader_answer) && one_in(50))
		(void)xfrd_call(loader_answer);
	if (answers->count > 0)
		queue_drop(answers);
}

static void
loader_on_gone(void)
{
	requests_stop(&sim.xfrd->requests);
	xfrd_changes_on_loader_gone(sim.xfrd);
}

void
loader_meet_xfrd(void)
{
	if (loader.life != ALIVE)
		return;
	requests_go_on(&sim.xfrd->requests, &sim.peer.link);
	xfrd_turn_on_loader(sim.xfrd, one_in(2));
}

/* The next one has its zones from the store. */
static void
loader_come(void)
{
	loader_restore();
	loader_publish();
	loader.life = ALIVE;
	if (sim.xfrd != NULL)
		(void)xfrd_call(loader_meet_xfrd);
}

/* Goes on after a death: answers that were sent arrive, then xfrd is told. */
static void
loader_turn_dead(void)
{
	if (loader.life == DEAD && loader.answers.count > 0
		&& sim.xfrd != NULL) {
		loader_tell();
		return;
	}
	if (fake_clock_msec < loader.at_msec)
		return;
	if (loader.life == GONE) {
		loader_come();
		return;
	}
	loader.life = GONE;
	loader.at_msec = fake_clock_msec + below(one_in(4) ? 5000 : 20);
	memset(loader.in_hand, 0, sizeof(loader.in_hand));
	if (sim.xfrd != NULL)
		(void)xfrd_call(loader_on_gone);
}

void
loader_turn(void)
{
	struct ipc_message m;

	if (loader.life != ALIVE) {
		loader_turn_dead();
		return;
	}
	if (queue_is_due(&loader.answers) && sim.xfrd != NULL) {
		loader_tell();
		return;
	}
	if (queue_is_due(&loader.reads)) {
		m = loader.reads.items[0].m;
		queue_drop(&loader.reads);
		loader_on_read_done(&m);
	}
	if (queue_is_due(&loader.asked)) {
		m = loader.asked.items[0].m;
		queue_drop(&loader.asked);
		if (m.type == IPC_READ)
			queue_add(&loader.reads, &m, 3000);
		else
			loader_on_change_zone(&m);
	}
	/* No more have come for a while. */
	if (loader.changing && loader.life == ALIVE && one_in(50))
		loader_publish();
	if (sim.xfrd != NULL && one_in(4) && loader.life == ALIVE)
		(void)xfrd_call(loader_meet_xfrd);
}

bool
loader_is_idle(void)
{
	return loader.life == ALIVE && !loader.changing
		&& loader.asked.count == 0
		&& loader.reads.count == 0 && loader.answers.count == 0;
}

void
loader_lose_xfrd(void)
{
	if (loader.changing && loader.life == ALIVE)
		loader_publish();
	loader.asked.count = loader.reads.count = loader.answers.count = 0;
	memset(loader.in_hand, 0, sizeof(loader.in_hand));
}

void
loader_die(void)
{
	if (loader.life == ALIVE)
		loader_die_now();
}

/* ---- start --------------------------------------------------------------- */

/* Writes nsd.conf. */
static void
loader_write_conf(void)
{
	size_t len = (size_t)snprintf(text, sizeof(text), "pattern: name: p "
		"zonefile: a\npattern: name: q zonefile: b\n"
		"pattern: name: a-long-pattern zonefile: c\n"
		"server: zonelistfile: \"%s\"\n%s", disk_list(),
		sim.conf != NULL ? sim.conf : "");

	for (unsigned i = 0; i < NAMES; i++)
		if (sim.fixed[i])
			len += (size_t)snprintf(text + len,
				sizeof(text) - len,
				"zone: name: %s zonefile: d\n", model_name(i));
}

/* A reconfig is followed by the loader. */
void
loader_reconfig(void)
{
	if (loader.changing)
		loader_publish();
	loader_write_conf();
	loader_restore();
	loader_publish();
}

void
loader_begin(void)
{
	struct diag_sink sink = {.on_diag = NULL};

	loader_write_conf();
	loader_lose_xfrd();
	store_fixture_init(&loader.store, 2);
	loader_load_conf();
	if (zonelist_load(loader.conf, disk_list(), &sink,
		&sim.server.list_was_cut) != NSD_OK)
		fail("cannot load the zone list");
	loader_publish();
	loader.life = ALIVE;
}

struct store *
loader_store(void)
{
	return loader.store.store;
}

void
loader_end(void)
{
	store_fixture_fini(&loader.store);
	conf_destroy(loader.conf);
	loader.conf = NULL;
}
