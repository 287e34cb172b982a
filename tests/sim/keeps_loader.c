/*
 * keeps_loader.c - the loader as xfrd sees it: it takes UPDATE and EXPIRY,
 * publishes in a real store, answers late, refuses, or dies before or after it
 * has published.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dns/serial.h"
#include "lib/fake_clock.h"
#include "lib/zone_fixture.h"
#include "loader/load_expiry.h"
#include "loader/load_list.h"
#include "sim/keeps_start.h"
#include "zone/table.h"

#define QUEUE_MAX 160u

/* The linker puts these in front of the real ones (--wrap). */
enum nsd_err __wrap_link_send(struct link *link,
	const struct link_message *message);
struct peer *__wrap_peers_find_role(struct peers *peers, enum ipc_role role);

struct queued {
	struct ipc_message m;
	int fd;          /* of an UPDATE; or -1 */
	unsigned zone;   /* of an answer; ZONES: its text was damaged */
	int64_t sent_msec, at_msec; /* taken not before that */
};

struct queue {
	struct queued items[QUEUE_MAX];
	unsigned count;
};

static struct loader {
	struct store_fixture store;
	int versions[ZONES]; /* served */
	struct queue asked, answers;
	enum { ALIVE, DEAD, GONE } life; /* DEAD: xfrd has not heard of it */
	int64_t at_msec;      /* the next step of that */
	unsigned in_hand;     /* UPDATEs */
} loader;

/* ---- queues -------------------------------------------------------------- */

static void
queue_add(struct queue *queue, const struct queued *added, uint32_t wait)
{
	struct queued *one = &queue->items[queue->count];

	if (queue->count++ == QUEUE_MAX)
		fail("too many messages are in hand");
	*one = *added;
	one->sent_msec = fake_clock_msec;
	one->at_msec = fake_clock_msec + below(wait);
}

static void
queue_drop(struct queue *queue)
{
	if (queue->items[0].fd != -1)
		close(queue->items[0].fd);
	memmove(queue->items, queue->items + 1,
		--queue->count * sizeof(queue->items[0]));
}

static bool
queue_is_due(const struct queue *queue)
{
	return queue->count > 0 && queue->items[0].at_msec <= fake_clock_msec;
}

static void
queue_clear(struct queue *queue)
{
	while (queue->count > 0)
		queue_drop(queue);
}

/* ---- messages ------------------------------------------------------------ */

struct peer *
__wrap_peers_find_role(struct peers *peers, enum ipc_role role)
{
	return role == ROLE_LOADER && loader.life != GONE ? &sim.peer : NULL;
}

enum nsd_err
__wrap_link_send(struct link *link, const struct link_message *message)
{
	struct queued one = {.fd = -1};
	struct ipc_message *m = &one.m;

	m->type = message->type;
	m->len = message->len;
	may_die(60);
	if (link == &sim.writer)
		return writer_take(message);
	if (link != &sim.peer.link || message->len > sizeof(m->payload)
		|| (m->type == IPC_UPDATE) != (message->fd_count == 1))
		fail("a message to nobody");
	if (!sim.calm && one_in(40))
		return NSD_E_AGAIN;
	if (m->type == IPC_UPDATE
		&& loader.in_hand == ipc_rows[m->type].credits)
		return NSD_E_AGAIN;
	if (sim.plan.memory_fails && !sim.calm && one_in(40))
		return NSD_E_MEMORY;
	memcpy(m->payload, message->payload, message->len);
	loader.in_hand += m->type == IPC_UPDATE;
	if (loader.life == ALIVE) {
		if (message->fd_count == 1)
			one.fd = fcntl(message->fds[0], F_DUPFD_CLOEXEC, 3);
		queue_add(&loader.asked, &one, one_in(20) ? 2000 : 10);
	}
	disk_note();
	return NSD_OK;
}

/* ---- publication --------------------------------------------------------- */

static store_ref
loader_entry(unsigned zone)
{
	store_ref entry;

	if (table_find_apex(loader.store.view, zone_apex(zone), &entry)
		!= NSD_OK)
		fail("z%u is not in the store", zone);
	return entry;
}

uint32_t
loader_expiry(unsigned zone)
{
	const struct zone_entry *entry = store_get(loader.store.view,
		loader_entry(zone));

	return entry->expires_sec;
}

int
loader_version(unsigned zone)
{
	return loader.versions[zone];
}

static void
loader_serve(unsigned zone, int version)
{
	struct zone_fixture f = {.store = loader.store.store,
		.writer = loader.store.writer, .view = loader.store.view,
		.threads = 1, .secondary = true};
	char apex[8], text[200];

	snprintf(apex, sizeof(apex), "z%02u", zone);
	/* Without pads, which take time; the name s says so. */
	snprintf(text, sizeof(text), "%s. SOA . . %u %u %u %u 60\n%s. NS .\n"
		"s.%s. TXT s\nv.%s. TXT %d\n", apex,
		sim.zones[zone].serials[version], REFRESH_SEC, RETRY_SEC,
		EXPIRE_SEC, apex, apex, apex, version);
	if (zone_fixture_load(&f, apex, text, NULL) != NSD_OK)
		fail("z%u cannot be published: %s", zone, f.findings);
	loader.versions[zone] = version;
}

/* Publishes a version that a transfer has brought: none that is older than
 * what was published. */
static void
loader_publish(unsigned zone, int version)
{
	struct zone_model *model = &sim.zones[zone];

	note("z%u is published with version %d, serial %u", zone, version,
		model->serials[version]);
	if (version < model->published)
		fail("z%u: version %d is published after %d", zone, version,
			model->published);
	model->published = version;
	sim.published++;
	loader_serve(zone, version);
}

/* ---- UPDATE and EXPIRY --------------------------------------------------- */

/* As load_update_is_past: a whole zone that comes again. */
static bool
is_past(int served, unsigned zone, int version)
{
	const uint32_t *serials = sim.zones[zone].serials;

	return served != NO_VERSION
		&& (int32_t)(serials[served] - serials[version]) > 0;
}

static enum nsd_err
loader_apply(const uint8_t *octets, const struct ipc_update *update)
{
	unsigned zone = zone_number(octets + 1);
	int version = loader.versions[zone];
	enum nsd_err err = start_apply(octets, update->len, zone, &version);

	sim.zones[zone].is_back &= err != NSD_OK
		|| version != sim.zones[zone].newest;
	/* A whole zone that comes again may have been followed by others. */
	if (err == NSD_OK && version != loader.versions[zone]
		&& !(update->request.again != 0 && update->is_back == 0
			&& is_past(loader.versions[zone], zone, version)))
		loader_publish(zone, version);
	if (err == NSD_OK)
		load_expiry_end(&(struct load_context){
			.writer = loader.store.writer}, loader_entry(zone));
	return err;
}

static void
loader_die_now(void)
{
	note("the loader dies");
	loader.life = DEAD;
	loader.at_msec = fake_clock_msec + below(100);
	queue_clear(&loader.asked);
	sim.loaders++;
}

static enum nsd_err
loader_fault(void)
{
	static const enum nsd_err faults[] = {NSD_E_AGAIN, NSD_E_AGAIN,
		NSD_E_MEMORY, NSD_E_SYSTEM, NSD_E_INEXACT, NSD_E_ZONE};

	return !sim.calm && one_in(12) ? faults[below(6)] : NSD_OK;
}

/* Reads the text of an UPDATE: to be freed. NULL: it is damaged, as its sums
 * say. */
static uint8_t *
loader_read(const struct queued *one, const struct ipc_update *update)
{
	const struct load_text text = {
		.fd = one->fd,
		.offset = update->offset,
		.len = update->len,
		.has_sums = update->has_sums != 0,
	};
	uint8_t *octets = malloc(update->len);
	enum nsd_err err = octets == NULL ? NSD_E_MEMORY
		: load_text_copy(&text, octets, update->len);

	if (err != NSD_OK && (err != NSD_E_WIRE || !text.has_sums))
		fail("a text cannot be read");
	if (err == NSD_OK)
		return octets;
	free(octets);
	return NULL;
}

static void
loader_on_update(const struct queued *one)
{
	struct queued out = {.fd = -1};
	struct ipc_updated updated = {.err = loader_fault()};
	bool dies = !sim.calm && sim.plan.loader_dies && one_in(30);
	struct ipc_update update;
	uint8_t *octets;

	memcpy(&update, one->m.payload, sizeof(update));
	updated.ticket = update.request.ticket;
	if (dies && one_in(2)) {
		loader_die_now();
		return;
	}
	octets = loader_read(one, &update);
	out.zone = octets != NULL ? zone_number(octets + 1) : ZONES;
	if (octets == NULL)
		updated.err = NSD_E_WIRE;
	else if (updated.err == NSD_OK)
		updated.err = loader_apply(octets, &update);
	note("an UPDATE of z%u%s: %d", out.zone, update.request.again != 0
		? " again" : "", (int)updated.err);
	free(octets);
	if (dies) {
		loader_die_now();
		return;
	}
	out.m.type = IPC_UPDATED;
	out.m.from = ROLE_LOADER;
	out.m.len = sizeof(updated);
	memcpy(out.m.payload, &updated, sizeof(updated));
	queue_add(&loader.answers, &out, 10);
}

static void
loader_on_expiry(const struct queued *one)
{
	const struct load_context context = {.writer = loader.store.writer};
	struct load_set set = {.count = 0};
	uint64_t late = (uint64_t)(fake_clock_msec - one->sent_msec);
	struct ipc_expiry expiry;

	memcpy(&expiry, one->m.payload, one->m.len);
	if (sim.zones[zone_number(expiry.apex)].is_unheard)
		zone_hear(zone_number(expiry.apex));
	/* Time passes in leaps here. */
	if (expiry.left_msec != IPC_EXPIRY_NEVER)
		expiry.left_msec -= expiry.left_msec > late ? late
			: expiry.left_msec;
	if (load_expiry_set(&context, &set, expiry.apex, one->m.len
			- offsetof(struct ipc_expiry, apex), expiry.left_msec)
		!= NSD_OK)
		fail("an EXPIRY cannot be read");
}

/* ---- turns --------------------------------------------------------------- */

static void
loader_take(void)
{
	struct queued one = loader.asked.items[0];

	loader.asked.items[0].fd = -1;
	queue_drop(&loader.asked);
	if (one.m.type == IPC_UPDATE)
		loader_on_update(&one);
	else
		loader_on_expiry(&one);
	if (one.fd != -1)
		close(one.fd);
}

static void
loader_answer(void)
{
	requests_take_answer(&sim.xfrd->requests, &loader.answers.items[0].m);
}

static void
loader_tell(void)
{
	if (loader.in_hand == 0)
		fail("more answers than requests");
	loader.in_hand--;
	if (loader.answers.items[0].zone < ZONES)
		zone_hear(loader.answers.items[0].zone);
	(void)xfrd_call(loader_answer);
	if (loader.answers.count > 0)
		queue_drop(&loader.answers);
}

static void
loader_on_gone(void)
{
	unsigned count = sim.xfrd->requests.count;

	requests_stop(&sim.xfrd->requests);
	/* An UPDATE that several loaders have died with is refused, even if
	 * they have published it. */
	sim.may_lose |= sim.xfrd->requests.count < count;
}

void
loader_meet_xfrd(void)
{
	if (loader.life != ALIVE)
		return;
	requests_go_on(&sim.xfrd->requests, &sim.peer.link);
	xfrd_turn_on_loader(sim.xfrd, one_in(2));
	xfrd_turn_look(sim.xfrd);
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
		loader.life = ALIVE;
		if (sim.xfrd != NULL)
			(void)xfrd_call(loader_meet_xfrd);
		return;
	}
	loader.life = GONE;
	loader.at_msec = fake_clock_msec + below(one_in(4) ? 5000 : 20);
	loader.in_hand = 0;
	queue_clear(&loader.answers);
	if (sim.xfrd != NULL)
		(void)xfrd_call(loader_on_gone);
}

void
loader_turn(void)
{
	if (loader.life != ALIVE) {
		loader_turn_dead();
		return;
	}
	if (queue_is_due(&loader.answers) && sim.xfrd != NULL) {
		loader_tell();
		return;
	}
	if (queue_is_due(&loader.asked))
		loader_take();
	if (sim.xfrd != NULL && one_in(10) && loader.life == ALIVE)
		(void)xfrd_call(loader_meet_xfrd);
}

bool
loader_is_idle(void)
{
	return loader.life == ALIVE && loader.asked.count == 0
		&& loader.answers.count == 0;
}

void
loader_lose_xfrd(void)
{
	unsigned count = below(loader.asked.count + 1);

	while (loader.life == ALIVE && count-- > 0 && loader.asked.count > 0)
		loader_take();
	queue_clear(&loader.asked);
	queue_clear(&loader.answers);
	loader.in_hand = 0;
}

void
loader_die(void)
{
	if (loader.life == ALIVE)
		loader_die_now();
}

/* ---- start --------------------------------------------------------------- */

static void
check_version(unsigned zone, int version)
{
	const struct zone_model *model = &sim.zones[zone];

	if (version < model->published && !sim.has_broken
		&& !sim.may_lose)
		fail("z%u: a start has version %d, and %d was published",
			zone, version, model->published);
}

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	note("%s: %s", d->file, d->text);
}

/* Finds the versions of all zones by a journal. */
static void
find_versions(int dirfd, int versions[ZONES])
{
	struct diag_sink sink = {.on_diag = on_diag};
	struct journal_index *index;

	if (dirfd == -1 || journal_index_open(dirfd, &sink, &index) != NSD_OK)
		fail("the journal cannot be read");
	for (unsigned i = 0; i < ZONES; i++) {
		versions[i] = start_find(dirfd, index, i);
		check_version(i, versions[i]);
	}
	journal_index_close(index);
}

void
loader_check_folder(int dirfd)
{
	int versions[ZONES];

	find_versions(dirfd, versions);
}

void
loader_begin(void)
{
	struct load_zone zones[ZONES + 1];
	struct load_list_result result;
	int versions[ZONES], dirfd;

	memset(&loader, 0, sizeof(loader));
	memset(zones, 0, sizeof(zones));
	store_fixture_init(&loader.store, 2);
	if (load_list_publish(loader.store.writer, sim.server.conf, zones,
		&result) != NSD_OK)
		fail("cannot publish");
	dirfd = open(disk_folder(), O_RDONLY | O_DIRECTORY);
	find_versions(dirfd, versions);
	close(dirfd);
	for (unsigned i = 0; i < ZONES; i++) {
		loader.versions[i] = NO_VERSION;
		if (versions[i] != NO_VERSION)
			loader_serve(i, versions[i]);
		/* Versions that were lost with files may come again. */
		sim.zones[i].published = versions[i];
		if (versions[i] < sim.zones[i].newest
			&& versions[i] != NO_VERSION
			&& !serial_is_newer(
			    sim.zones[i].serials[sim.zones[i].newest],
			    sim.zones[i].serials[versions[i]]))
			sim.zones[i].is_back = true;
	}
}

struct store *
loader_store(void)
{
	return loader.store.store;
}

void
loader_end(void)
{
	queue_clear(&loader.asked);
	queue_clear(&loader.answers);
	store_fixture_fini(&loader.store);
}
