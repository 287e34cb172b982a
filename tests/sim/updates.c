/*
 * updates.c - clients change zones by UPDATE, in batches, among loaders that
 * are slow, refuse or die, a disk that is full, memory that runs out, and xfrds
 * that die; others are passed on to a primary.
 *
 * usage: updates [SEED [STEPS [tell]]]
 * See fate.h; STEPS: 8000.
 *
 * Real are xfrd_client_update*.c, xfrd_edit*.c, xfrd_forward.c and dynupdate.
 * The journal, the loader, workers and the primary are played.
 *
 * What is checked:
 * - Each request is answered once, unless xfrd dies; a repeat of one that is
 *   under way is not carried out, and answered as the first, or not at all if
 *   there is no memory to note it.
 * - NOERROR: what it asks for is served, and a start after a power cut at this
 *   moment would serve it. Any other RCODE: none of it is there.
 * - Only a request that asks for what the loader refuses is REFUSED; others of
 *   its batch are not.
 * - Once nothing goes wrong any more, all is answered in a bounded time, and
 *   what the journal leads to is what is served.
 */
#include "config.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dns/message.h"
#include "dns/rrtype.h"
#include "lib/failing.h"
#include "lib/fake_clock.h"
#include "loader/load_list.h"
#include "sim/updates.h"
#include "xfrd/xfrd_client_updates.h"

#define STEPS 8000u
#define ASKS_MAX 256u /* requests that are not answered */
#define TURNS_MAX 40000u
#define CHANNEL 7u

/* The linker puts these in front of the real ones (--wrap). */
enum nsd_err __wrap_link_send(struct link *link,
	const struct link_message *message);
void __wrap_link_return(struct link *link, enum ipc_type type);
void __wrap_role_stop(struct role *role);
struct peer *__wrap_peers_find(struct peers *peers, uint64_t channel);
void __wrap_xfrd_zones_hear(struct xfrd *xfrd, struct xfrd_zone *zone);
bool __wrap_xfrd_shorten(struct xfrd *xfrd, struct xfrd_zone *zone,
	uint64_t least, uint64_t *octets);

struct sim sim;

/* Values that a name may have: that which was answered last, and those of
 * requests whose outcome nobody knows. */
struct name_model {
	uint32_t value;
	uint32_t unknown[64];
	unsigned unknown_count;
};

/* A request. */
struct ask {
	bool used;
	uint64_t ticket;
	uint64_t of;     /* the ticket of the request that it repeats; or 0 */
	unsigned zone, name;
	uint32_t value;  /* 0: the name goes */
	bool must_fail;  /* by its prerequisite */
	uint16_t id, port;
	enum rcode rcode; /* of its first answer, for repeats */
	size_t len;
	uint8_t message[256];
};

static struct ask asks[ASKS_MAX];
static struct name_model names[ZONES][NAMES];
static uint64_t ticket;
static uint32_t value;
static struct peer worker;
static unsigned credits; /* given back without an answer behind them */

/* ---- names and zones ----------------------------------------------------- */

unsigned
zone_number(const uint8_t *apex)
{
	unsigned number = (unsigned)(apex[2] - '0') * 10
		+ (unsigned)(apex[3] - '0');

	if (apex[0] != 3 || number > FORWARDED)
		fail("no such zone");
	return number;
}

const uint8_t *
zone_apex(unsigned number)
{
	static uint8_t apexes[FORWARDED + 1][8];

	memcpy(apexes[number], "\3z00", 5);
	apexes[number][3] = (uint8_t)('0' + number);
	return apexes[number];
}

static bool
name_may_be(const struct name_model *name, uint32_t found)
{
	bool may = found == name->value;

	for (unsigned i = 0; i < name->unknown_count; i++)
		may |= found == name->unknown[i];
	return may;
}

/* Checks that nothing that was answered is lost, and nothing that was refused
 * is there: as served, and as a start would serve it. */
static void
check_zone(unsigned zone)
{
	struct version start;

	journal_play_start(zone, &start);
	for (unsigned i = 0; i < NAMES; i++) {
		const struct name_model *name = &names[zone][i];

		if (!name_may_be(name, sim.served[zone].values[i]))
			fail("z%u: n%02u is %u, not %u", zone, i,
				(unsigned)sim.served[zone].values[i],
				(unsigned)name->value);
	}
	if (start.serial < sim.served[zone].serial)
		fail("z%u: a start has serial %u, and %u is served", zone,
			(unsigned)start.serial,
			(unsigned)sim.served[zone].serial);
}

/* ---- xfrd ---------------------------------------------------------------- */

void
may_die(uint32_t times)
{
	if (sim.in_xfrd && !sim.calm && sim.plan.xfrd_dies
		&& one_in(times * 20))
		longjmp(sim.died, 1);
}

void
__wrap_role_stop(struct role *role)
{
	fail("xfrd ends by itself");
}

struct peer *
__wrap_peers_find(struct peers *peers, uint64_t channel)
{
	return channel == CHANNEL ? &worker : NULL;
}

void
__wrap_link_return(struct link *link, enum ipc_type type)
{
	if (link != &worker.link || type != IPC_CLIENT_UPDATE)
		fail("a credit of nobody");
	credits++;
}

void
__wrap_xfrd_zones_hear(struct xfrd *xfrd, struct xfrd_zone *zone)
{
}

/* The zone is written to the journal whole, now and then. */
bool
__wrap_xfrd_shorten(struct xfrd *xfrd, struct xfrd_zone *zone, uint64_t least,
	uint64_t *octets)
{
	*octets = 1;
	return one_in(50);
}

/* Ends an xfrd that has died: nobody knows what becomes of its requests. */
static void
xfrd_bury(void)
{
	sim.in_xfrd = false;
	credits = 0;
	failing_once(-1);
	if (sim.xfrd->reading.depth > 0)
		store_reader_offline(sim.xfrd->reader);
	store_reader_close(sim.xfrd->reader);
	event_base_free(sim.xfrd->role.base);
	sim.xfrd = NULL;
	sim.deaths++;
	for (unsigned i = 0; i < ASKS_MAX; i++) {
		struct ask *ask = &asks[i];
		struct name_model *name;

		if (ask->used && ask->zone < ZONES && !ask->must_fail
			&& ask->of == 0 && ask->value < BAD) {
			name = &names[ask->zone][ask->name];
			if (name->unknown_count == 64)
				fail("too much is not known");
			name->unknown[name->unknown_count++] = ask->value;
		}
		ask->used = false;
	}
	journal_play_lose();
	loader_lose();
	primary_lose();
}

bool
xfrd_call(void (*call)(void))
{
	if (setjmp(sim.died) != 0) {
		xfrd_bury();
		return false;
	}
	sim.in_xfrd = true;
	if (sim.plan.memory_fails && !sim.calm && one_in(20))
		failing_once((int)below(6));
	call();
	failing_once(-1);
	sim.in_xfrd = false;
	return true;
}

static void
xfrd_loop(void)
{
	/* As if the journal had room again. */
	xfrd_edit_go_on(sim.xfrd);
	event_base_loop(sim.xfrd->role.base, EVLOOP_NONBLOCK);
}

static void
xfrd_look(void)
{
	for (unsigned i = 0; i < ZONES; i++)
		xfrd_client_update_look(sim.xfrd, xfrd_zone_find(
			&sim.xfrd->zones.table, zone_apex(i)));
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
	CDS_INIT_LIST_HEAD(&xfrd->freezer.list);
	CDS_INIT_LIST_HEAD(&xfrd->updates.forwards.all);
	if (store_reader_open(sim.store.store, 0, "xfrd", &xfrd->reader)
			!= NSD_OK
		|| xfrd_zones_init(xfrd) != NSD_OK
		|| xfrd_edit_init(xfrd) != NSD_OK
		|| xfrd_client_update_init(xfrd) != NSD_OK
		|| xfrd_forward_init(xfrd) != NSD_OK)
		fail("xfrd does not begin");
	(void)xfrd_call(xfrd_look);
}

/* ---- answers ------------------------------------------------------------- */

static struct ask *
ask_find(uint64_t wanted)
{
	for (unsigned i = 0; i < ASKS_MAX; i++)
		if (asks[i].used && asks[i].ticket == wanted)
			return &asks[i];
	return NULL;
}

/* A request is served: the name is that, and no more than that is known. */
static void
ask_is_done(const struct ask *ask)
{
	struct name_model *name = &names[ask->zone][ask->name];

	if (ask->must_fail || ask->value >= BAD)
		fail("a request is answered with NOERROR");
	name->value = ask->value;
	name->unknown_count = 0;
	sim.done++;
}

static void
ask_take(struct ask *ask, enum rcode rcode)
{
	switch (rcode) {
	case RCODE_NOERROR:
		if (ask->of == 0)
			ask_is_done(ask);
		break;
	case RCODE_NXDOMAIN:
		if (!ask->must_fail)
			fail("a prerequisite fails that is true");
		break;
	case RCODE_REFUSED:
		if (ask->value < BAD)
			fail("z%u: %u is refused", ask->zone,
				(unsigned)ask->value);
		sim.refused++;
		break;
	case RCODE_SERVFAIL:
		if (sim.calm && ask->value < BAD && !ask->must_fail)
			note("a failure that was on its way");
		sim.failed++;
		break;
	default:
		fail("a request is answered with %d", (int)rcode);
	}
}

static void
ask_answer(const struct ipc_client_updated *updated)
{
	struct ask *ask = ask_find(updated->ticket);

	if (ask == NULL)
		fail("a request is answered twice");
	if (ask->zone == FORWARDED)
		sim.forwarded += updated->is_reply != 0;
	else
		ask_take(ask, (enum rcode)updated->rcode);
	ask->used = false;
}

enum nsd_err
__wrap_link_send(struct link *link, const struct link_message *message)
{
	struct ipc_client_updated updated;

	if (link != &worker.link || message->type != IPC_CLIENT_UPDATED)
		fail("a message to nobody");
	if (credits-- == 0)
		fail("a request is answered that has its credit");
	memcpy(&updated, message->payload, message->len);
	ask_answer(&updated);
	may_die(40);
	return NSD_OK;
}

/* ---- requests ------------------------------------------------------------ */

static void
put_rr(struct ask *ask, unsigned section, const uint8_t *owner,
	const uint8_t tail[8], const char *text)
{
	uint8_t *at = ask->message + ask->len;
	size_t len = name_len(owner), text_len = strlen(text);
	size_t rdlen = text_len > 0 ? text_len + 1 : 0;

	memcpy(at, owner, len);
	memcpy(at + len, tail, 8);
	octets_put_u16(at + len + 8, (uint16_t)rdlen);
	at += len + 10;
	if (rdlen > 0) {
		*at = (uint8_t)text_len;
		memcpy(at + 1, text, text_len);
	}
	ask->len += len + 10 + rdlen;
	octets_put_u16(ask->message + section, (uint16_t)(1
		+ octets_get_u16(ask->message + section)));
}

/* Makes the message: the name gets a value, or goes. */
static void
ask_make(struct ask *ask)
{
	static const uint8_t soa[] = {0, 6, 0, 1};
	static const uint8_t any[8] = {0, 16, 0, 255};
	static const uint8_t in[8] = {0, 16, 0, 1, 0, 0, 0, 60};
	static const uint8_t used[8] = {0, 255, 0, 255};
	uint8_t *message = ask->message, owner[16] = "\3n00\3zxx",
		nobody[16] = "\6nobody\3zxx";
	char text[16];

	memset(message, 0, MESSAGE_HEADER_LEN);
	octets_put_u16(message, ask->id);
	message[2] = OPCODE_UPDATE << 3;
	message[MESSAGE_QDCOUNT + 1] = 1;
	memcpy(message + MESSAGE_HEADER_LEN, zone_apex(ask->zone), 5);
	memcpy(message + MESSAGE_HEADER_LEN + 5, soa, 4);
	ask->len = MESSAGE_HEADER_LEN + 9;
	owner[2] = (uint8_t)('0' + ask->name / 10);
	owner[3] = (uint8_t)('0' + ask->name % 10);
	memcpy(owner + 4, zone_apex(ask->zone), 5);
	memcpy(nobody + 7, zone_apex(ask->zone), 5);
	if (ask->must_fail)
		put_rr(ask, MESSAGE_ANCOUNT, nobody, used, "");
	put_rr(ask, MESSAGE_NSCOUNT, owner, any, "");
	snprintf(text, sizeof(text), "%u", (unsigned)ask->value);
	if (ask->value != 0)
		put_rr(ask, MESSAGE_NSCOUNT, owner, in, text);
}

static const struct ask *sent;

static void
ask_send(void)
{
	struct ipc_message m = {.type = IPC_CLIENT_UPDATE, .channel = CHANNEL,
		.from = ROLE_WORKER};
	struct ipc_client_update payload;
	struct sockaddr_in from = {.sin_family = AF_INET,
		.sin_port = sent->port};

	memset(&payload, 0, sizeof(payload));
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	payload.request.ticket = sent->ticket;
	memcpy(payload.address, &from, sizeof(from));
	memcpy(payload.message, sent->message, sent->len);
	m.len = (uint32_t)(IPC_CLIENT_UPDATE_MIN + sent->len);
	memcpy(m.payload, &payload, m.len);
	xfrd_client_update_take(sim.xfrd, &m);
}

static struct ask *
ask_get(void)
{
	for (unsigned i = 0; i < ASKS_MAX; i++)
		if (!asks[i].used)
			return &asks[i];
	return NULL;
}

static void
ask_new(void)
{
	struct ask *ask = ask_get();

	if (ask == NULL)
		return;
	*ask = (struct ask){
		.used = true,
		.ticket = ++ticket,
		.zone = one_in(10) ? FORWARDED : below(ZONES),
		.name = below(NAMES),
		.must_fail = one_in(10),
		.id = (uint16_t)below(500),
		.port = (uint16_t)ticket,
	};
	if (!one_in(5))
		ask->value = (one_in(20) ? BAD : 0) + ++value;
	ask_make(ask);
	sim.asked++;
	sent = ask;
	(void)xfrd_call(ask_send);
}

/* A repeat that xfrd has not noted gets its credit, and no answer: its worker
 * forgets it. */
static void
ask_forget(struct ask *ask)
{
	if (credits == 0)
		return;
	if (!ask->used || credits > 1 || !sim.plan.memory_fails || sim.calm)
		fail("a repeat is not answered");
	ask->used = false;
	credits = 0;
}

/* Repeats a request that is under way. */
static void
ask_again(void)
{
	struct ask *ask = ask_get(), *first = &asks[below(ASKS_MAX)];

	if (ask == NULL || !first->used || first->of != 0
		|| first->zone == FORWARDED)
		return;
	*ask = *first;
	ask->of = first->ticket;
	ask->ticket = ++ticket;
	sim.repeats++;
	sent = ask;
	if (xfrd_call(ask_send))
		ask_forget(ask);
}

/* ---- a run --------------------------------------------------------------- */

static void
turn(void)
{
	fake_clock_msec += below(one_in(300) ? 2000 : 10);
	if (sim.xfrd == NULL)
		xfrd_start();
	else
		(void)xfrd_call(xfrd_loop);
	journal_play_turn();
	loader_turn();
	primary_turn();
}

static bool
is_quiet(void)
{
	for (unsigned i = 0; i < ASKS_MAX; i++)
		if (asks[i].used)
			return false;
	return sim.xfrd != NULL && sim.xfrd->updates.busy == 0
		&& sim.xfrd->edits.zones == NULL && loader_is_idle();
}

/* Tells which requests are not answered, and ends. */
static void
settle_tell(void)
{
	for (unsigned i = 0; i < ASKS_MAX; i++)
		if (asks[i].used)
			printf("request %llu of z%u waits\n",
				(unsigned long long)asks[i].ticket,
				asks[i].zone);
	fail("it hangs: %u busy, %s", sim.xfrd != NULL
		? (unsigned)sim.xfrd->updates.busy : 99,
		loader_is_idle() ? "idle" : "the loader works");
}

/* Lets nothing go wrong until all is answered. */
static void
settle(void)
{
	struct version start;

	sim.calm = true;
	for (unsigned i = 0; !is_quiet(); i++) {
		if (i == TURNS_MAX)
			settle_tell();
		turn();
	}
	for (unsigned i = 0; i < ZONES; i++) {
		check_zone(i);
		journal_play_start(i, &start);
		if (memcmp(&start, &sim.served[i], sizeof(start)) != 0)
			fail("z%u: a start serves another version", i);
	}
	sim.calm = false;
}

static void
act(void)
{
	for (unsigned i = below(one_in(20) ? 60 : 4); i > 0 && sim.xfrd != NULL;
		i--)
		ask_new();
	if (sim.xfrd != NULL && one_in(4))
		ask_again();
	if (sim.xfrd != NULL && sim.plan.xfrd_dies && one_in(400))
		xfrd_bury();
	turn();
	if (one_in(50))
		check_zone(below(ZONES));
	if (one_in(400))
		settle();
}

static void
publish_zones(struct conf **conf)
{
	static char text[4096];
	struct load_zone zones[FORWARDED + 1];
	struct load_list_result result;
	const struct version first = {.serial = 1};
	size_t len = 0;

	for (unsigned i = 0; i < ZONES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"zone: name: z%02u zonefile: f allow-update: 127.0.0.1"
			" NOKEY\n", i);
	snprintf(text + len, sizeof(text) - len, "zone: name: z%02u zonefile: f"
		" request-xfr: 192.0.2.1 NOKEY request-xfr: 192.0.2.2 NOKEY"
		" update-forward: 127.0.0.1 NOKEY\n", FORWARDED);
	memset(zones, 0, sizeof(zones));
	store_fixture_init(&sim.store, 2);
	if (conf_load_text("t", text, strlen(text), false, NULL, conf)
			!= NSD_OK
		|| load_list_publish(sim.store.writer, *conf, zones, &result)
			!= NSD_OK)
		fail("cannot publish");
	for (unsigned i = 0; i < ZONES; i++)
		loader_serve(i, &first);
}

static void
run(unsigned steps)
{
	memset(&sim, 0, sizeof(sim));
	memset(asks, 0, sizeof(asks));
	memset(names, 0, sizeof(names));
	sim.plan = (struct plan){
		.loader_dies = fate.seed % 2 == 1,
		.disk_fails = fate.seed % 3 == 1,
		.memory_fails = fate.seed % 5 == 2,
		.xfrd_dies = fate.seed % 4 >= 2,
	};
	fate_allow_leaks(true); /* an xfrd that ends frees nothing */
	journal_play_begin();
	sim.server.boot = time(NULL);
	publish_zones(&sim.server.conf);
	for (; fate.step < steps; fate.step++)
		act();
	settle();
	xfrd_bury();
	journal_play_end();
	store_fixture_fini(&sim.store);
	conf_destroy(sim.server.conf);
	printf("%llu requests, %llu done, %llu refused, %llu failed, %llu"
	       " repeats, %llu passed on; %llu batches, %llu whole zones, %llu"
	       " deaths of xfrd\n", sim.asked, sim.done, sim.refused,
		sim.failed, sim.repeats, sim.forwarded, sim.batches,
		sim.renewals, sim.deaths);
}

int
main(int argc, char **argv)
{
	return fate_main(argc, argv, "updates", STEPS, run);
}
