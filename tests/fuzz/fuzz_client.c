/*
 * fuzz_client.c - a client of other servers (net/client.h), over TCP, TLS and
 * UDP: the other side takes the connection or not, says messages whole, in
 * pieces and without end, is silent, ends and breaks off; ours asks, pauses and
 * closes meanwhile.
 *
 * What holds: each message is handed on as it was said, in its order, none
 * while it pauses; the end is told once, and nothing behind it or behind a
 * close.
 *
 * The input: PREFIX octets (enum option), then steps: what is done (enum deed),
 * a number, a length of 2 octets, and so many octets.
 */
#include "config.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/octets.h"
#include "fuzz/mutate_dns.h"
#include "fuzz/mutate_frames.h"
#include "fuzz/target.h"
#include "fuzz/wire.h"
#include "fuzz/world_calls.h"
#include "lib/chance.h"
#include "lib/tls_identity.h"
#include "net/client.h"
#include "tls/client.h"

#define PREFIX 2u

/* The first octet of an input; the second is a time-out in seconds. */
enum option {
	OPTION_KIND = 3, /* TCP, UDP, TLS, TLS with a certificate */
	OPTION_REFUSED = 4,
	OPTION_SLOW = 8,
	OPTION_FROM = 16, /* an address of ours; another than there is */
	OPTION_STRANGE = 32, /* the server has a certificate of its own */
	OPTION_OTHER_NAME = 64,
	OPTION_CLOSES = 128, /* ours, when it is handed a message */
};

enum { KIND_TCP, KIND_UDP, KIND_TLS, KIND_MUTUAL };

enum deed {
	DEED_ASK,
	DEED_SAY,    /* a message */
	DEED_OCTETS, /* as they are */
	DEED_MANY,   /* the message, many times */
	DEED_PIECES,
	DEED_PAUSE,
	DEED_GO_ON,
	DEED_WAIT,
	DEED_END,    /* the other side says no more */
	DEED_LEAVE,  /* the other side closes */
	DEED_CLOSE,  /* ours does */
	DEED_ASK_MUCH,
	DEEDS,
};

#define HOW_STILL 128u /* no turn follows */
#define LENGTH_SIZE 2u
#define MANY 40u
#define TURNS 12u
#define SAID_MAX (4u << 20)

struct asking {
	struct event_base *base;
	struct net_client *client; /* NULL: closed */
	bool closes, pauses, is_open, ended, calling, is_udp, is_tls;
	int listener, datagrams;   /* sockets of the other side */
	struct wire wire;          /* the other side's end of the stream */
	struct sockaddr_storage from; /* of datagrams */
	uint8_t *said;             /* of what it has said, what is whole */
	size_t said_len, taken;
};

static struct tls_identity own, strange;
static SSL_CTX *servers[2];
static struct tls_client *clients[2][2]; /* a certificate; another name */

/* ---- our side ------------------------------------------------------------ */

static void
on_open(void *ctx)
{
	struct asking *a = ctx;

	MUST(!a->calling && !a->is_open && !a->ended && a->client != NULL
		&& !a->is_udp);
	a->is_open = true;
	MUST(net_client_is_open(a->client));
}

static void
on_message(void *ctx, const uint8_t *message, size_t len)
{
	struct asking *a = ctx;
	const uint8_t *next = a->said + a->taken;

	MUST(!a->calling && !a->ended && a->client != NULL);
	if (!a->is_udp) {
		MUST(a->is_open && !a->pauses);
		MUST(a->said_len - a->taken >= LENGTH_SIZE + len);
		MUST(octets_get_u16(next) == len);
		MUST(memcmp(next + LENGTH_SIZE, message, len) == 0);
		a->taken += LENGTH_SIZE + len;
	}
	if (!a->closes)
		return;
	net_client_close(a->client);
	a->client = NULL;
}

static void
on_end(void *ctx, int error)
{
	char reason[TLS_FAILURE_MAX];
	struct asking *a = ctx;

	MUST(!a->calling && !a->ended && a->client != NULL && error >= 0);
	a->ended = true;
	if (a->is_tls)
		(void)tls_client_print_failure(
			net_client_get_stream(a->client), reason);
	if (!a->closes)
		return;
	net_client_close(a->client);
	a->client = NULL;
}

static struct bufferevent *
open_stream(void *ctx, struct event_base *base, int fd)
{
	return tls_client_open(ctx, base, fd);
}

static void
open_client(struct asking *a, uint8_t options, unsigned timeout_sec)
{
	static const struct net_client_calls calls = {.on_open = on_open,
		.on_message = on_message, .on_end = on_end};
	unsigned kind = options & OPTION_KIND;
	struct net_client_stream stream = {.open = open_stream};
	struct sockaddr_storage to = {.ss_family = AF_INET};
	struct sockaddr_storage from = {.ss_family = AF_INET};
	socklen_t len = sizeof(to);
	struct net_client_options o = {.to = &to, .timeout_sec = timeout_sec,
		.tcp = kind != KIND_UDP, .tcp_mss = timeout_sec > 9 ? 536 : 0};

	stream.ctx = clients[kind == KIND_MUTUAL]
		[(options & OPTION_OTHER_NAME) != 0];
	if (kind == KIND_UDP)
		MUST(getsockname(a->datagrams, (struct sockaddr *)&to, &len)
			== 0);
	if (kind == KIND_UDP && (options & OPTION_REFUSED) != 0)
		((struct sockaddr_in *)&to)->sin_port = htons(1);
	if ((options & OPTION_FROM) != 0)
		o.from = &from;
	if ((options & OPTION_SLOW) != 0)
		((struct sockaddr_in *)&from)->sin_addr.s_addr
			= htonl(0xc0000201u);
	a->is_udp = kind == KIND_UDP;
	a->is_tls = kind >= KIND_TLS;
	if (a->is_tls)
		o.stream = &stream;
	a->calling = true;
	if (net_client_open(a->base, &o, &calls, a, &a->client) != NSD_OK)
		a->client = NULL;
	a->calling = false;
}

static void
ask(struct asking *a, const uint8_t *data, size_t len)
{
	static const uint8_t any[12];
	enum nsd_err err;

	if (a->client == NULL)
		return;
	if (len == 0) {
		data = any;
		len = sizeof(any);
	}
	a->calling = true;
	err = net_client_send(a->client, data, len);
	a->calling = false;
	MUST(err != NSD_E_SYSTEM || a->is_udp);
	MUST(err != NSD_E_LIMIT || !a->is_udp);
	(void)net_client_is_open(a->client);
	MUST((net_client_get_stream(a->client) == NULL) == a->is_udp);
}

static void
pause_client(struct asking *a, bool pauses)
{
	if (a->client == NULL)
		return;
	net_client_pause(a->client, pauses);
	a->pauses = pauses;
}

/* ---- the other side ------------------------------------------------------ */

static void
accept_stream(struct asking *a, bool is_strange)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	a->wire.fd = accept4(a->listener, (struct sockaddr *)&peer, &len,
		SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (a->wire.fd != -1 && a->is_tls)
		wire_set_tls(&a->wire, servers[is_strange], true);
}

/* Reads what it is asked, and forgets it. */
static void
hear(struct asking *a)
{
	uint8_t octets[4096];
	socklen_t len = sizeof(a->from);

	if (a->is_udp)
		while (recvfrom(a->datagrams, octets, sizeof(octets),
			MSG_DONTWAIT, (struct sockaddr *)&a->from, &len) != -1)
			len = sizeof(a->from);
	else if (a->wire.fd != -1)
		while (wire_receive(&a->wire, octets, sizeof(octets)) > 0)
			;
}

static void
turn(struct asking *a)
{
	for (unsigned i = 0; i < TURNS; i++) {
		event_base_loop(a->base, EVLOOP_NONBLOCK);
		hear(a);
	}
}

static void
say(struct asking *a, const uint8_t *octets, size_t len)
{
	ssize_t sent;

	if (a->is_udp) {
		(void)sendto(a->datagrams, octets, len, MSG_DONTWAIT,
			(struct sockaddr *)&a->from, sizeof(a->from));
		return;
	}
	if (a->wire.fd == -1 || len == 0 || len > SAID_MAX - a->said_len)
		return;
	sent = wire_send(&a->wire, octets, len);
	if (sent > 0) {
		memcpy(a->said + a->said_len, octets, (size_t)sent);
		a->said_len += (size_t)sent;
	}
	/* The rest of a partial send would be lost, so the stream ends here. */
	if (sent < (ssize_t)len)
		wire_close(&a->wire);
}

static void
say_message(struct asking *a, const uint8_t *data, size_t len)
{
	uint8_t *octets = malloc(LENGTH_SIZE + len);

	MUST(octets != NULL);
	octets_put_u16(octets, (uint16_t)len);
	memcpy(octets + LENGTH_SIZE, data, len);
	if (a->is_udp)
		say(a, data, len);
	else
		say(a, octets, LENGTH_SIZE + len);
	free(octets);
}

/* ---- inputs -------------------------------------------------------------- */

static void
do_much(struct asking *a, unsigned deed, const uint8_t *data, size_t len)
{
	uint8_t length[LENGTH_SIZE];

	if (deed == DEED_PIECES) {
		octets_put_u16(length, (uint16_t)len);
		say(a, length, 1);
		turn(a);
		say(a, length + 1, 1);
		say(a, data, len / 2);
		turn(a);
		say(a, data + len / 2, len - len / 2);
		return;
	}
	for (unsigned i = 0; i < MANY; i++) {
		if (deed == DEED_MANY)
			say_message(a, data, len);
		else
			ask(a, a->said, 60000);
	}
}

static void
take_step(void *ctx, const uint8_t *head, const uint8_t *data, size_t len)
{
	struct asking *a = ctx;
	unsigned deed = head[0] % 16u;

	switch (deed) {
	case DEED_ASK:
		ask(a, data, len);
		break;
	case DEED_SAY:
		say_message(a, data, len);
		break;
	case DEED_OCTETS:
		say(a, data, len);
		break;
	case DEED_PAUSE:
	case DEED_GO_ON:
		pause_client(a, deed == DEED_PAUSE);
		break;
	case DEED_WAIT:
		world_pass((uint64_t)head[1] * head[1] * 2);
		break;
	case DEED_END:
		if (a->wire.fd != -1)
			shutdown(a->wire.fd, SHUT_WR);
		break;
	case DEED_LEAVE:
		wire_close(&a->wire);
		break;
	case DEED_CLOSE:
		net_client_close(a->client);
		a->client = NULL;
		break;
	default:
		do_much(a, deed, data, len);
	}
	if ((head[0] & HOW_STILL) == 0)
		turn(a);
}

static void
make_head(uint8_t *head, uint64_t *chance)
{
	head[0] = (uint8_t)chance_below(chance, DEEDS);
	if (chance_below(chance, 3) == 0)
		head[0] |= HOW_STILL;
	head[1] = (uint8_t)chance_next(chance);
}

static const struct mutate_frames frames = {
	.prefix = PREFIX,
	.head = 4,
	.make_head = make_head,
	.dns = &mutate_dns_plain,
};

static void
make_tls(void)
{
	struct tls_client_options o = {.name = "fuzz"};

	tls_identity_make(&own, "server.example");
	tls_identity_make(&strange, "server.example");
	for (unsigned i = 0; i < 2; i++) {
		servers[i] = SSL_CTX_new(TLS_server_method());
		MUST(servers[i] != NULL);
		tls_identity_use(servers[i], i == 0 ? &own : &strange);
	}
	o.bundle = (struct tls_text){own.cert, own.cert_len};
	for (unsigned i = 0; i < 4; i++) {
		o.domain = i % 2 == 0 ? "server.example" : "other.example";
		if (i == 2) {
			o.chain = (struct tls_text){strange.cert,
				strange.cert_len};
			o.key = (struct tls_text){strange.key,
				strange.key_len};
		}
		MUST(tls_client_create(&o, NULL, &clients[i / 2][i % 2])
			== NSD_OK);
	}
}

static int
open_datagrams(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	MUST(fd != -1 && bind(fd, (struct sockaddr *)&address, sizeof(address))
		== 0);
	return fd;
}

static void
begin(struct asking *a)
{
	static uint8_t said[SAID_MAX];
	static int datagrams = -1;

	if (datagrams == -1) {
		make_tls();
		datagrams = open_datagrams();
		signal(SIGPIPE, SIG_IGN);
	}
	a->said = said;
	a->datagrams = datagrams;
	a->listener = world_listen();
	a->base = event_base_new();
	MUST(a->base != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct asking a = {.wire.fd = -1};

	if (size < PREFIX)
		return 0;
	world_begin();
	begin(&a);
	world_set_route((data[0] & OPTION_REFUSED) != 0 ? -1 : a.listener,
		(data[0] & OPTION_SLOW) != 0);
	a.closes = (data[0] & OPTION_CLOSES) != 0;
	open_client(&a, data[0], 1 + data[1] % 32);
	if (!a.is_udp)
		accept_stream(&a, (data[0] & OPTION_STRANGE) != 0);
	frames_walk(&frames, data, size, take_step, &a);
	/* A client that is not paused ends after a long silence of the
	 * server. */
	pause_client(&a, false);
	turn(&a);
	for (unsigned i = 0; i < 4; i++) {
		world_pass(32000);
		turn(&a);
	}
	MUST(a.client == NULL || a.ended);
	net_client_close(a.client);
	wire_close(&a.wire);
	close(a.listener);
	event_base_free(a.base);
	return 0;
}

FRAMES_FOR_FUZZER(&frames)
