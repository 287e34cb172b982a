/*
 * fuzz_net.c - clients of a TCP service, as many as there are places and more:
 * what they say comes in pieces, through proxies and by TLS, they read nothing
 * of their replies, or half of them, they end, break off and wait. The service
 * is that of src/net, what answers is query_server.h, the clock and the sockets
 * are world.h.
 *
 * What holds: a request is handed over as it was said, in its order, once. A
 * reply is whole, and to what was asked. There are never more connections than
 * places. After long silence nobody is left, and a newcomer is answered.
 *
 * The input: PREFIX octets (enum option), then steps: what is done (enum deed
 * and enum how), by whom, a length of 2 octets, and so many octets.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "dns/message.h"
#include "fuzz/clients.h"
#include "fuzz/mutate_dns.h"
#include "fuzz/mutate_frames.h"
#include "fuzz/query_server.h"
#include "fuzz/target.h"
#include "fuzz/world_calls.h"
#include "lib/chance.h"
#include "lib/tls_identity.h"
#include "net/server.h"
#include "tls/server.h"
#include "worker/cpu_limit.h"

#define PREFIX 4u
#define STEP_HEAD 4u

/* The first octet of an input, then its second. */
enum option {
	OPTION_PLACES = 15,
	OPTION_REJECT = 16,
	OPTION_CPU = 32,      /* time of the processor is limited */
	OPTION_RATE = 64,     /* streams have to be taken */
	OPTION_QUERIES = 128, /* a few for a connection */
	OPTION_TIMEOUT = 31,
	OPTION_NO_PROXY = 32, /* but for those of even addresses */
	OPTION_NO_COUNT = 64, /* without counters */
	OPTION_ONE_ZONE = 128,
};
/* The third has keys of the server, 3 bits, and its options; the fourth how
 * long the processor works between two looks at its time. */
#define WORK_BITS 15u

enum deed {
	DEED_SAY,     /* a message; whoever is not there comes for that */
	DEED_OCTETS,  /* the octets as they are */
	DEED_PIECES,  /* the message, with turns between its pieces */
	DEED_MANY,    /* the message, many times at once */
	DEED_HEADER,  /* a header of a proxy for it, then the message */
	DEED_COME,    /* the client reconnects, and sends the message, if any */
	DEED_CROWD,   /* many connect */
	DEED_HEAR,    /* the client reads */
	DEED_HEAR_ALL,/* all clients read */
	DEED_END,     /* the client shuts down its side */
	DEED_LEAVE,   /* the client closes, whatever is unread */
	DEED_WAIT,    /* time passes */
	DEED_SET,     /* the service has other options */
	DEED_CHANGE,  /* the server changes, and lets go of old versions */
	DEED_FAIL,    /* accepting is to fail */
	DEED_FREE,    /* all hear, and time passes */
	DEEDS,
};

enum how {
	HOW_DEED = 15,
	HOW_WAY = 0x30,  /* plain, TLS, with a certificate, through a proxy */
	HOW_LITTLE = 64, /* little room, a short read, or streams end */
	HOW_STILL = 128, /* no turn follows */
};

/* The second octet of a step. */
enum who { WHO_CLIENT = 31, WHO_NET = 0x60, WHO_IP6 = 128 };

#define LISTENERS 4u
#define TURNS_MAX 24u
#define LITTLE_ROOM 2304
#define LITTLE_OCTETS 100u
#define MANY 70u
#define ENDLESS 400u /* waits until all are gone */
#define FEW 8u

struct net {
	struct event_base *base;
	struct server *server;
	struct net_tcp *tcp;
	struct net_tcp_options options;
	unsigned places_max; /* the most so far */
	int listeners[LISTENERS];
	const struct filter *filters[2];
	SSL_CTX *tls[2];
	struct clients clients;
	struct cpu_limit cpu;
	bool refuses_proxies;
	size_t streams;
	uint64_t let_go; /* of versions pinned up to this epoch */
	uint64_t rx_err, tx_err, requests, turns;
	struct latency_block latency;
};

/* ---- the handler, as a worker has it ------------------------------------- */

static void
set_time(const struct net *n)
{
	uint64_t now = clock_coarse_msec();

	query_set_time(n->server->ctx, SERVER_NOW, (uint32_t)(now / 1000));
	query_set_msec(n->server->ctx, now);
}

static void
on_batch(void *ctx, struct exchange *exchanges, size_t count)
{
	struct net *n = ctx;

	MUST(count >= 1 && count <= EXCHANGE_BATCH_MAX);
	for (size_t i = 0; i < count; i++)
		clients_check(&n->clients, &exchanges[i]);
	set_time(n);
	store_reader_online(n->server->reader);
	(void)query_answer_batch(n->server->ctx,
		store_reader_view(n->server->reader), exchanges, count);
	store_reader_offline(n->server->reader);
	for (size_t i = 0; i < count; i++)
		n->streams += exchanges[i].stream != NULL;
}

static size_t
on_stream(void *ctx, void *stream, uint8_t *reply, size_t capacity)
{
	struct net *n = ctx;

	set_time(n);
	return query_stream_next(n->server->ctx, stream, reply, capacity);
}

static void
on_stream_end(void *ctx, void *stream)
{
	struct net *n = ctx;

	MUST(n->streams > 0);
	n->streams--;
	query_stream_end(n->server->ctx, stream);
}

static void
on_bad_length(void *ctx, const struct sockaddr_storage *peer, size_t len)
{
	MUST(len < MESSAGE_HEADER_LEN && (peer->ss_family == AF_INET
		|| peer->ss_family == AF_INET6));
}

static bool
may_proxy(void *ctx, const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
	const struct net *n = ctx;

	return !n->refuses_proxies || (ntohl(in->sin_addr.s_addr) & 1) == 0;
}

static void
on_spent(void *ctx, const struct sockaddr_storage *peer, int64_t nsec,
	uint64_t now_msec)
{
	struct cpu_limit_block blocks[SETTINGS_NETBLOCKS_MAX];
	const struct net *n = ctx;

	MUST(nsec > 0);
	MUST(cpu_limit_spend(&n->cpu, peer, nsec, now_msec, blocks)
		<= SETTINGS_NETBLOCKS_MAX);
}

static bool
is_throttled(void *ctx, const struct sockaddr_storage *peer, uint64_t now_msec)
{
	const struct net *n = ctx;

	return cpu_limit_bars(&n->cpu, peer, now_msec);
}

/* ---- the service --------------------------------------------------------- */

/* Has turns of the loop, until one brings nothing. */
static void
turn(void *ctx)
{
	struct net *n = ctx;

	for (unsigned i = 0; i < TURNS_MAX; i++) {
		uint64_t before = n->turns;

		event_base_loop(n->base, EVLOOP_NONBLOCK);
		MUST(net_tcp_count(n->tcp) <= n->places_max);
		if (n->turns == before)
			break;
	}
}

static void
begin(struct net *n, struct server servers[2])
{
	static struct tls_identity own, clients;
	struct tls_server *tls;

	tls_identity_make(&own, "server.example");
	tls_identity_make(&clients, "client.example");
	tls = tls_identity_make_server(&own, &clients, 1);
	for (unsigned i = 0; i < 2; i++) {
		server_init(&servers[i], i == 1);
		n->tls[i] = SSL_CTX_new(TLS_client_method());
		MUST(n->tls[i] != NULL);
	}
	tls_identity_use(n->tls[1], &clients);
	signal(SIGPIPE, SIG_IGN);
	n->filters[0] = tls_server_get_filter(tls, false);
	n->filters[1] = tls_server_get_filter(tls, true);
}

static void
set_cpu_limit(struct net *n, bool limited)
{
	static const struct rrl_subject subject = {.kind = UINT32_MAX};

	cpu_limit_init(&n->cpu, &n->server->limits);
	n->cpu.usec = limited ? 1000 : 0;
	n->cpu.subject = rrl_hash(n->cpu.table, &subject);
	n->cpu.ip4 = (struct settings_netblocks){2, {{32, 1}, {24, 4}}};
	n->cpu.ip6 = (struct settings_netblocks){1, {{64, 1}}};
}

static void
set_options(struct net *n, const uint8_t *octets)
{
	bool limited = (octets[0] & OPTION_CPU) != 0;

	n->options = (struct net_tcp_options){
		.connections_max = 1 + (octets[0] & OPTION_PLACES),
		.queries_max = octets[0] & OPTION_QUERIES ? 3 : 0,
		.timeout_sec = 1 + (octets[1] & OPTION_TIMEOUT) * 4u,
		.reject_overflow = (octets[0] & OPTION_REJECT) != 0,
		.limits_cpu = limited,
		.stream_rate = octets[0] & OPTION_RATE ? 1000 : 0,
	};
	n->refuses_proxies = (octets[1] & OPTION_NO_PROXY) != 0;
	set_cpu_limit(n, limited);
	if (n->options.connections_max > n->places_max)
		n->places_max = n->options.connections_max;
}

static void
open_service(struct net *n, bool counts)
{
	static struct net_tcp_room room;
	struct net_listener listeners[LISTENERS] = {
		{.filter = NULL},
		{.filter = n->filters[0]},
		{.filter = n->filters[1]},
		{.for_proxies = true},
	};
	struct net_handler handler = {
		.on_batch = on_batch,
		.ctx = n,
		.on_stream = on_stream,
		.on_stream_end = on_stream_end,
		.on_bad_length = on_bad_length,
		.may_proxy = may_proxy,
		.on_spent = on_spent,
		.is_throttled = is_throttled,
		.rx_err = counts ? &n->rx_err : NULL,
		.tx_err = counts ? &n->tx_err : NULL,
		.requests = counts ? &n->requests : NULL,
		.turns = &n->turns,
		.latency = counts ? &n->latency : NULL,
	};

	n->base = event_base_new();
	MUST(n->base != NULL);
	for (unsigned i = 0; i < LISTENERS; i++)
		listeners[i].fd = n->listeners[i] = world_listen();
	n->options.room = &room;
	MUST(net_tcp_open(n->base, listeners, LISTENERS, &n->options,
		&handler, &n->tcp) == NSD_OK);
}

/* ---- deeds --------------------------------------------------------------- */

static struct client_way
make_way(const struct net *n, uint8_t how, uint8_t who)
{
	unsigned kind = (how & HOW_WAY) >> 4, net = (who & WHO_NET) >> 5;
	struct client_way way = {.listener = n->listeners[kind],
		.proxied = kind == 3};

	if (kind == 1 || kind == 2)
		way.tls = n->tls[kind - 1];
	way.peer.room = how & HOW_LITTLE ? LITTLE_ROOM : 0;
	way.silent = (who & WHO_CLIENT) % 8 == 7;
	if ((who & WHO_IP6) != 0) {
		way.peer.address.ip6.sin6_family = AF_INET6;
		memcpy(&way.peer.address.ip6.sin6_addr, "\x20\1\x0d\xb8", 4);
		way.peer.address.ip6.sin6_addr.s6_addr[5] = (uint8_t)net;
		way.peer.address.ip6.sin6_addr.s6_addr[15] = who & WHO_CLIENT;
	} else {
		way.peer.address.ip4.sin_family = AF_INET;
		way.peer.address.ip4.sin_addr.s_addr = htonl(0xc0000200u
			+ 256 * net + (who & WHO_CLIENT) % 8);
	}
	return way;
}

static struct client *
come(struct net *n, uint8_t how, uint8_t who)
{
	struct client_way way = make_way(n, how, who);

	return clients_open(&n->clients, who & WHO_CLIENT, &way, turn, n);
}

static void
say_message(struct net *n, struct client *client, const uint8_t *data,
	size_t len)
{
	uint8_t *octets = malloc(2 + len);

	MUST(octets != NULL);
	octets_put_u16(octets, (uint16_t)len);
	memcpy(octets + 2, data, len);
	clients_say(&n->clients, client, octets, 2 + len);
	free(octets);
}

static void
say_pieces(struct net *n, struct client *client, const uint8_t *data,
	size_t len)
{
	uint8_t length[2];

	octets_put_u16(length, (uint16_t)len);
	clients_say(&n->clients, client, length, 1);
	turn(n);
	clients_say(&n->clients, client, length + 1, 1);
	turn(n);
	clients_say(&n->clients, client, data, len / 2);
	turn(n);
	clients_say(&n->clients, client, data + len / 2, len - len / 2);
}

static void
say_header(struct net *n, struct client *client, uint8_t who)
{
	uint8_t header[28] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51,
		0x55, 0x49, 0x54, 0x0a, 0x21, 0x11, 0, 12,
		192, 0, 2, who & 7, 127, 0, 0, 1, 16, 0, 0, 53};

	/* One header in sixteen has another family, and may be cut. */
	if (who % 16 == 15)
		header[13] = who;
	header[17] = (who & WHO_NET) >> 5;
	clients_say(&n->clients, client, header, sizeof(header));
}

/* Many from one network come, and say the same. */
static void
do_crowd(struct net *n, uint8_t how, uint8_t who, const uint8_t *data,
	size_t len)
{
	unsigned count = 1 + (len > 0 ? data[0] % CLIENTS_MAX : 8u);

	for (unsigned i = 0; i < count; i++) {
		uint8_t next = (uint8_t)((who & ~WHO_CLIENT)
			| ((who + i) & WHO_CLIENT));
		/* Hands are shaken with few. */
		struct client *client = come(n, i > 1 && (how & 0x30) != 0x30
				? how & (uint8_t)~HOW_WAY : how, next);

		if (client != NULL && len > 1)
			say_message(n, client, data + 1, len - 1);
	}
}

static void
do_say(struct net *n, struct client *client, unsigned deed, uint8_t who,
	const uint8_t *data, size_t len)
{
	if (client == NULL)
		return;
	switch (deed) {
	case DEED_OCTETS:
		clients_say(&n->clients, client, data, len);
		break;
	case DEED_PIECES:
		say_pieces(n, client, data, len);
		break;
	case DEED_MANY:
		for (unsigned i = 0; i < MANY; i++)
			say_message(n, client, data, len);
		break;
	case DEED_HEADER:
		say_header(n, client, who);
		say_message(n, client, data, len);
		break;
	default:
		say_message(n, client, data, len);
	}
}

static void
hear_all(struct net *n)
{
	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		(void)clients_hear(&n->clients.all[i], SIZE_MAX);
}

static void
do_fail(uint8_t who, const uint8_t *data, size_t len)
{
	static const int errors[] = {EMFILE, ECONNABORTED, ENFILE, EINTR,
		ENOBUFS, EPROTO, EINVAL, ENETDOWN, ENOPROTOOPT, EHOSTDOWN,
		ENONET, EHOSTUNREACH, ENETUNREACH, EOPNOTSUPP, EPERM, ENOMEM};

	world_fail_accept(errors[who % (sizeof(errors) / sizeof(*errors))],
		len > 0 ? data[0] % 4 : 0);
}

/* As if main had asked to let go of the versions up to an epoch. */
static bool
ends(void *ctx, void *stream, const struct sockaddr_storage *peer)
{
	const struct net *n = ctx;

	MUST(peer->ss_family == AF_INET || peer->ss_family == AF_INET6);
	return query_stream_find_pinned(n->server->ctx, stream, n->let_go)
		!= NULL;
}

/* Does what needs no client. */
static void
do_other(struct net *n, uint8_t how, uint8_t who, const uint8_t *data,
	size_t len)
{
	switch (how & HOW_DEED) {
	case DEED_CROWD:
		do_crowd(n, how, who, data, len);
		break;
	case DEED_FREE:
	case DEED_HEAR_ALL:
		hear_all(n);
		if ((how & HOW_DEED) == DEED_FREE)
			world_pass(who);
		break;
	case DEED_WAIT:
		world_pass((uint64_t)who * who * (how & HOW_LITTLE ? 1 : 4));
		break;
	case DEED_SET:
		if (len < 2)
			break;
		set_options(n, data);
		net_tcp_set_options(n->tcp, &n->options);
		break;
	case DEED_CHANGE:
		server_change(n->server, who, data, len);
		if (how & HOW_LITTLE) {
			n->let_go = len > 0 ? data[0] : UINT64_MAX;
			net_tcp_end_streams(n->tcp, ends, n);
		}
		break;
	default:
		do_fail(who, data, len);
	}
}

static void
take_step(void *ctx, const uint8_t *head, const uint8_t *data, size_t len)
{
	struct net *n = ctx;
	unsigned deed = head[0] & HOW_DEED;
	struct client *client = &n->clients.all[head[1] & WHO_CLIENT];

	switch (deed) {
	case DEED_COME:
		client = come(n, head[0], head[1]);
		if (len > 0)
			do_say(n, client, DEED_SAY, head[1], data, len);
		break;
	case DEED_HEAR:
		(void)clients_hear(client, head[0] & HOW_LITTLE
			? LITTLE_OCTETS : SIZE_MAX);
		break;
	case DEED_END:
		if (client->wire.fd != -1)
			shutdown(client->wire.fd, SHUT_WR);
		client->broken = true;
		break;
	case DEED_LEAVE:
		clients_close(client);
		break;
	default:
		if (deed > DEED_HEADER) {
			do_other(n, head[0], head[1], data, len);
			break;
		}
		if (client->wire.fd == -1)
			client = come(n, head[0], head[1]);
		do_say(n, client, deed, head[1], data, len);
	}
	if ((head[0] & HOW_STILL) == 0)
		turn(n);
}

/* ---- inputs -------------------------------------------------------------- */

/* Few shake hands: that takes long. */
static void
make_head(uint8_t *head, uint64_t *chance)
{
	unsigned deed = chance_below(chance, 3) == 0 ? DEED_SAY
		: chance_below(chance, DEEDS);
	unsigned way = chance_below(chance, 6);

	head[0] = (uint8_t)deed;
	if (way > 3)
		way = 0;
	head[0] |= (uint8_t)(way << 4);
	if (chance_below(chance, 3) == 0)
		head[0] |= HOW_LITTLE;
	if (chance_below(chance, 4) == 0)
		head[0] |= HOW_STILL;
	head[1] = (uint8_t)chance_next(chance);
	if (chance_below(chance, 2) == 0)
		head[1] = (uint8_t)chance_below(chance, 8);
}

static const struct mutate_frames frames = {
	.prefix = PREFIX,
	.head = STEP_HEAD,
	.make_head = make_head,
	.dns = &server_dns,
};

/* ---- an input ------------------------------------------------------------ */

/* With silent clients all connections end, also those that are not accepted
 * yet. */
static void
wait_until_empty(struct net *n)
{
	for (unsigned i = 0; i < ENDLESS
		&& (i < FEW || net_tcp_count(n->tcp) > 0); i++) {
		world_pass(1000);
		turn(n);
	}
	MUST(net_tcp_count(n->tcp) == 0);
	MUST(n->streams == 0);
}

/* A new client is answered, whatever happened before. */
static void
ask_anew(struct net *n)
{
	static const uint8_t request[] = {0, 17, 7, 7, 0, 0, 0, 1, 0, 0, 0, 0,
		0, 0, 0, 0, 2, 0, 1};
	struct client_way way = {.listener = n->listeners[0]};
	struct client *client;
	size_t heard = 0;

	way.peer.address.ip4.sin_family = AF_INET;
	way.peer.address.ip4.sin_addr.s_addr = htonl(0xcb007101u);
	client = clients_open(&n->clients, 0, &way, turn, n);
	MUST(client != NULL);
	clients_say(&n->clients, client, request, sizeof(request));
	for (unsigned i = 0; i < ENDLESS && heard == 0; i++) {
		turn(n);
		world_pass(50);
		heard = clients_hear(client, SIZE_MAX);
	}
	MUST(heard == 1);
}

static void
end(struct net *n)
{
	n->clients.said_left = MESSAGE_MAX_LEN;
	world_set_work(1000);
	world_fail_accept(0, 0);
	wait_until_empty(n);
	clients_fini(&n->clients);
	wait_until_empty(n);
	ask_anew(n);
	net_tcp_close(n->tcp);
	MUST(n->streams == 0);
	clients_fini(&n->clients);
	for (unsigned i = 0; i < LISTENERS; i++)
		close(n->listeners[i]);
	event_base_free(n->base);
	server_end(n->server);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct server servers[2];
	static struct net n;
	struct server_settings settings = {0};

	if (n.tls[0] == NULL)
		begin(&n, servers);
	if (size < PREFIX)
		return 0;
	world_begin();
	world_set_work(INT64_C(500) << (data[3] & WORK_BITS));
	settings.keys = data[2] & 7;
	settings.how = data[2] & 0x78;
	n.server = &servers[data[1] & OPTION_ONE_ZONE ? 1 : 0];
	server_begin(n.server, &settings, 18);
	n.places_max = 0;
	n.streams = 0;
	clients_init(&n.clients);
	set_options(&n, data);
	open_service(&n, (data[1] & OPTION_NO_COUNT) == 0);
	frames_walk(&frames, data, size, take_step, &n);
	end(&n);
	return 0;
}

FRAMES_FOR_FUZZER(&frames)
