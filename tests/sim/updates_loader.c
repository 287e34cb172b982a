/*
 * updates_loader.c - the loader as xfrd sees it: it publishes in a real store,
 * answers late, refuses a version for what is in it, or dies before or after it
 * has published; and the primary of a zone whose UPDATEs are passed on.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/failing.h"
#include "lib/fake_clock.h"
#include "lib/zone_fixture.h"
#include "net/client.h"
#include "sim/updates.h"
#include "store/writer.h"

#define ASKED_MAX 16u
#define CLIENTS_MAX 512u
#define TEXT_MAX (4u << 20)

/* The linker puts these in front of the real ones (--wrap). */
enum nsd_err __wrap_xfrd_loader_update(struct xfrd *xfrd,
	const struct load_text *text, request_on_end *on_end, void *ctx);
enum nsd_err __wrap_net_client_open(struct event_base *base,
	const struct net_client_options *options,
	const struct net_client_calls *calls, void *ctx,
	struct net_client **client);
enum nsd_err __wrap_net_client_send(struct net_client *client,
	const uint8_t *message, size_t len);
void __wrap_net_client_close(struct net_client *client);

/* ---- the loader ---------------------------------------------------------- */

/* A request of xfrd that is not answered. */
struct asked {
	size_t len;
	uint8_t *octets;
	request_on_end *on_end;
	void *ctx;
	int64_t at_msec;
};

static struct asked asked[ASKED_MAX];
static unsigned asked_count;

/* The answer under way. */
static struct {
	struct asked *of;
	bool is_dead; /* loaders have died of it */
	struct ipc_message m;
} answer;

enum nsd_err
__wrap_xfrd_loader_update(struct xfrd *xfrd, const struct load_text *text,
	request_on_end *on_end, void *ctx)
{
	struct asked *one = &asked[asked_count];

	may_die(40);
	if (!sim.calm && one_in(30))
		return NSD_E_AGAIN;
	failing_once(-1); /* played parts have memory */
	if (asked_count++ == ASKED_MAX)
		fail("too many requests are in hand");
	*one = (struct asked){.len = text->len, .on_end = on_end, .ctx = ctx,
		.octets = malloc(text->len),
		.at_msec = fake_clock_msec + below(one_in(20) ? 2000 : 10)};
	if (one->octets == NULL || pread(text->fd, one->octets, one->len,
			(off_t)text->offset) != (ssize_t)one->len)
		fail("a text cannot be read");
	return NSD_OK;
}

void
loader_serve(unsigned zone, const struct version *version)
{
	struct zone_fixture f = {.store = sim.store.store,
		.writer = sim.store.writer, .view = sim.store.view,
		.threads = 1};
	char apex[8], text[4096];
	size_t len;

	snprintf(apex, sizeof(apex), "z%02u", zone);
	len = (size_t)snprintf(text, sizeof(text),
		"%s. 60 SOA . . %u 60 60 60 60\n%s. 60 NS .\n", apex,
		(unsigned)version->serial, apex);
	for (unsigned i = 0; i < NAMES; i++)
		if (version->values[i] != 0)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
				"n%02u.%s. 60 TXT %u\n", i, apex,
				(unsigned)version->values[i]);
	if (zone_fixture_load(&f, apex, text, NULL) != NSD_OK)
		fail("z%u cannot be published: %s", zone, f.findings);
	store_reclaim(sim.store.writer);
	sim.served[zone] = *version;
}

/* Does what is asked, as load_update.c. Returns the error. */
static enum nsd_err
loader_do(const struct asked *one)
{
	unsigned zone = zone_number(one->octets + 1);
	struct version version = sim.served[zone];

	if (!journal_play_apply(&version, one->octets, one->len))
		return NSD_E_INEXACT;
	if (version.bad > 0)
		return one_in(2) ? NSD_E_DIGEST : NSD_E_SIGNED;
	if (sim.plan.memory_fails && !sim.calm && one_in(100))
		return NSD_E_MEMORY;
	loader_serve(zone, &version);
	return NSD_OK;
}

static void
answer_tell(void)
{
	answer.of->on_end(answer.of->ctx, answer.is_dead ? NULL : &answer.m);
}

void
loader_turn(void)
{
	struct ipc_updated updated = {.err = NSD_E_AGAIN};
	struct asked one = asked[0];

	if (asked_count == 0 || fake_clock_msec < one.at_msec)
		return;
	memmove(asked, asked + 1, --asked_count * sizeof(asked[0]));
	answer.of = &one;
	answer.is_dead = sim.plan.loader_dies && !sim.calm && one_in(20);
	if (answer.is_dead ? one_in(2) : sim.calm || !one_in(20))
		updated.err = loader_do(&one);
	updated.lacks_file = one_in(200);
	answer.m.type = IPC_UPDATED;
	answer.m.len = sizeof(updated);
	memcpy(answer.m.payload, &updated, sizeof(updated));
	(void)xfrd_call(answer_tell);
	free(one.octets);
}

bool
loader_is_idle(void)
{
	return asked_count == 0;
}

void
loader_lose(void)
{
	for (unsigned i = 0; i < asked_count; i++) {
		if (one_in(2))
			(void)loader_do(&asked[i]);
		free(asked[i].octets);
	}
	asked_count = 0;
}

/* ---- the primary --------------------------------------------------------- */

struct played_client {
	const struct net_client_calls *calls;
	void *ctx;
	size_t len;
	uint8_t message[512];
	int64_t at_msec;
};

static struct played_client *clients[CLIENTS_MAX];
static unsigned client_count;
static struct played_client *told; /* the client whose call is made */
static bool answers;

static unsigned
client_find(const struct played_client *client)
{
	unsigned at = 0;

	while (at < client_count && clients[at] != client)
		at++;
	if (at == client_count)
		fail("a connection of nobody");
	return at;
}

enum nsd_err
__wrap_net_client_open(struct event_base *base,
	const struct net_client_options *options,
	const struct net_client_calls *calls, void *ctx,
	struct net_client **client)
{
	struct played_client *one;

	if (!sim.calm && one_in(30)) {
		errno = EMFILE;
		return NSD_E_SYSTEM;
	}
	failing_once(-1);
	one = calloc(1, sizeof(*one));
	if (one == NULL || client_count == CLIENTS_MAX)
		fail("too many connections");
	one->calls = calls;
	one->ctx = ctx;
	clients[client_count++] = one;
	*client = (struct net_client *)one;
	return NSD_OK;
}

enum nsd_err
__wrap_net_client_send(struct net_client *client, const uint8_t *message,
	size_t len)
{
	struct played_client *one = (struct played_client *)client;

	if (len > sizeof(one->message))
		fail("a message is too long");
	memcpy(one->message, message, len);
	one->len = len;
	one->at_msec = fake_clock_msec + below(one_in(10) ? 15000 : 50);
	return NSD_OK;
}

void
__wrap_net_client_close(struct net_client *client)
{
	unsigned at = client_find((struct played_client *)client);

	free(clients[at]);
	clients[at] = clients[--client_count];
}

unsigned
primary_count(uint16_t id)
{
	unsigned count = 0;

	for (unsigned i = 0; i < client_count; i++)
		count += message_get_id(clients[i]->message) == id;
	return count;
}

static void
primary_tell(void)
{
	uint8_t reply[MESSAGE_HEADER_LEN];

	if (!answers) {
		told->calls->on_end(told->ctx, one_in(2) ? 0 : ECONNRESET);
		return;
	}
	memcpy(reply, told->message, sizeof(reply));
	reply[2] |= 0x80; /* QR */
	memset(reply + 4, 0, 8);
	told->calls->on_message(told->ctx, reply, sizeof(reply));
}

void
primary_turn(void)
{
	if (client_count == 0)
		return;
	told = clients[below(client_count)];
	if (fake_clock_msec < told->at_msec)
		return;
	answers = sim.calm || !one_in(4);
	(void)xfrd_call(primary_tell);
}

void
primary_lose(void)
{
	while (client_count > 0)
		free(clients[--client_count]);
}
