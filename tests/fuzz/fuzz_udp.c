/*
 * fuzz_udp.c - datagrams to the sockets of a server, over loopback: one by one
 * and many at once, through proxies, forged, while the kernel fails, while
 * sizes change. What answers is query_server.h. And sockets and addresses, as
 * nsd.conf has them.
 *
 * What holds: a reply is whole, comes from the address that was asked, and is
 * to what that client has asked.
 *
 * The input: PREFIX octets (of the server, its keys and its options), then
 * steps: what is done (enum deed, enum how), by whom, a length of 2 octets, and
 * so many octets.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "dns/message.h"
#include "fuzz/mutate_dns.h"
#include "fuzz/mutate_frames.h"
#include "fuzz/query_server.h"
#include "fuzz/target.h"
#include "fuzz/world_calls.h"
#include "lib/chance.h"
#include "net/server.h"
#include "net/socket.h"

#define PREFIX 3u
#define STEP_HEAD 4u

enum deed {
	DEED_ASK,
	DEED_MANY,    /* the same, many times */
	DEED_HEADER,  /* behind a header of a proxy */
	DEED_CAST,    /* to all hosts of the network */
	DEED_FORGED,  /* from port 0 */
	DEED_DEAF,    /* receiving fails */
	DEED_DUMB,    /* sending fails */
	DEED_WAIT,
	DEED_SIZE,    /* of replies */
	DEED_CAREFUL, /* receives one at a time, or many */
	DEED_CHANGE,  /* of the server */
	DEED_LISTEN,  /* a socket with other options */
	DEED_ADDRESS, /* a text that may be one */
	DEED_STEER,   /* sockets by processors */
	DEEDS,
};

enum how {
	HOW_DEED = 15,
	HOW_SOCKET = 0x30,
	HOW_STILL = 128, /* no turn follows */
};

/* On an address, on all of IPv4, on all of IPv6, for proxies. */
#define SOCKETS 4u
#define SOCKET_ALL 1u
#define SOCKET_IP6 2u
#define SOCKET_PROXIES 3u
#define CLIENTS 4u
#define MANY 40u
#define TURNS_MAX 16u
#define HEADER_LEN 28u
#define HEADER_ID 0x0d0au /* of a header that is read as a message */

struct socket_of_server {
	int fd; /* -1: there is none of its family */
	uint16_t port;
	struct net_udp *udp;
};

struct net {
	struct event_base *base;
	struct server *server;
	struct socket_of_server sockets[SOCKETS];
	int clients[2][CLIENTS]; /* of IPv4, of IPv6 */
	uint16_t asked[CLIENTS]; /* the identifier, as all of a client's are */
	uint64_t rx_err, tx_err, requests, turns;
	struct latency_block latency;
	struct net_udp_room room;
};

static void
ignore(struct diag_sink *sink, const struct diag *diag)
{
	MUST(strlen(diag->text) > 0);
}

/* ---- the server ---------------------------------------------------------- */

static void
on_batch(void *ctx, struct exchange *exchanges, size_t count)
{
	uint64_t now = clock_coarse_msec();
	struct net *n = ctx;

	MUST(count >= 1 && count <= EXCHANGE_BATCH_MAX);
	for (size_t i = 0; i < count; i++)
		MUST(exchanges[i].request_len <= NET_ROOM_DATAGRAM);
	query_set_time(n->server->ctx, SERVER_NOW, (uint32_t)(now / 1000));
	query_set_msec(n->server->ctx, now);
	store_reader_online(n->server->reader);
	(void)query_answer_batch(n->server->ctx,
		store_reader_view(n->server->reader), exchanges, count);
	store_reader_offline(n->server->reader);
}

static bool
may_proxy(void *ctx, const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

	return (ntohl(in->sin_addr.s_addr) & 3) != 3;
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_in6 address = {.sin6_port = 0};
	socklen_t len = sizeof(address);

	MUST(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
	return address.sin6_port;
}

/* -1: there is no such family here. */
static int
open_socket(const char *text)
{
	struct net_listen options = {.reuseport = true};
	struct diag_sink sink = {ignore, 0, 0};
	int fd = -1;

	MUST(net_parse_address(text, 0, &options.address) == NSD_OK);
	if (net_listen(&options, &sink, &fd) != NSD_OK)
		MUST(options.address.ss_family == AF_INET6);
	return fd;
}

static void
begin(struct net *n)
{
	static const char *const servers[SOCKETS] = {"127.0.0.1", "0.0.0.0",
		"::", "127.0.0.1"};
	static const char *const clients[CLIENTS] = {"127.0.0.1",
		"127.0.0.2", "127.0.0.3", "127.0.0.4"};
	int yes = 1;

	for (unsigned i = 0; i < SOCKETS; i++) {
		n->sockets[i].fd = open_socket(servers[i]);
		if (n->sockets[i].fd != -1)
			n->sockets[i].port = port_of(n->sockets[i].fd);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		n->clients[0][i] = open_socket(clients[i]);
		n->clients[1][i] = open_socket("::1");
		MUST(setsockopt(n->clients[0][i], SOL_SOCKET, SO_BROADCAST,
			&yes, sizeof(yes)) == 0);
	}
}

static void
open_service(struct net *n, uint8_t how)
{
	bool counts = (how & 1) != 0;
	const struct net_handler handler = {
		.on_batch = on_batch,
		.ctx = n,
		.may_proxy = how & 2 ? may_proxy : NULL,
		.rx_err = counts ? &n->rx_err : NULL,
		.tx_err = counts ? &n->tx_err : NULL,
		.requests = counts ? &n->requests : NULL,
		.turns = &n->turns,
		.latency = counts ? &n->latency : NULL,
	};
	struct net_udp_options options = {
		.reply_size = how & 4 ? 4096 : 1232,
		.room = how & 8 ? NULL : &n->room,
	};

	memset(&n->room, 0, offsetof(struct net_udp_room, requests));
	n->base = event_base_new();
	MUST(n->base != NULL);
	for (unsigned i = 0; i < SOCKETS; i++) {
		if (n->sockets[i].fd == -1)
			continue;
		options.for_proxies = i == SOCKET_PROXIES;
		MUST(net_udp_open(n->base, n->sockets[i].fd, &options,
			&handler, &n->sockets[i].udp) == NSD_OK);
	}
}

/* ---- clients ------------------------------------------------------------- */

/* Where a client asks: on a socket for all addresses, at one of its own. */
static void
fill_address(const struct net *n, unsigned s, unsigned client, bool cast,
	struct sockaddr_storage *to)
{
	struct sockaddr_in *ip4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *ip6 = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof(*to));
	if (s == SOCKET_IP6) {
		ip6->sin6_family = AF_INET6;
		ip6->sin6_addr = in6addr_loopback;
		ip6->sin6_port = n->sockets[s].port;
		return;
	}
	ip4->sin_family = AF_INET;
	ip4->sin_addr.s_addr = htonl(s != SOCKET_ALL ? INADDR_LOOPBACK
		: cast ? 0x7fffffffu : 0x7f00000au + client);
	ip4->sin_port = n->sockets[s].port;
}

static void
ask(struct net *n, uint8_t how, uint8_t who, const uint8_t *data, size_t len)
{
	unsigned s = (how & HOW_SOCKET) >> 4, client = who % CLIENTS;
	bool cast = (how & HOW_DEED) == DEED_CAST;
	int fd = n->clients[s == SOCKET_IP6][client];
	struct sockaddr_storage to;
	uint8_t octets[HEADER_LEN + 9000] = {0x0d, 0x0a, 0x0d, 0x0a, 0x00,
		0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a,
		0x20 + (who >> 4 & 1), who & 32 ? who : 0x12, 0, 12,
		192, 0, 2, who & 7, 127, 0, 0, 1, 16, 0, 0, 53};
	size_t head = (how & HOW_DEED) == DEED_HEADER ? HEADER_LEN : 0;

	if (n->sockets[s].fd == -1 || fd == -1)
		return;
	if (len > sizeof(octets) - HEADER_LEN)
		len = sizeof(octets) - HEADER_LEN;
	memcpy(octets + head, data, len);
	/* The ID distinguishes replies to this client from others. */
	if (len >= 2)
		octets_put_u16(octets + head, n->asked[client]);
	fill_address(n, s, client, cast, &to);
	for (unsigned i = 0; i < ((how & HOW_DEED) == DEED_MANY ? MANY : 1);
		i++)
		(void)sendto(fd, octets, head + len, MSG_DONTWAIT,
			(struct sockaddr *)&to, net_address_len(&to));
}

/* A client that asks at one address is answered from there. */
static void
check_source(unsigned client, const struct sockaddr_storage *from)
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)from;

	if (from->ss_family == AF_INET6)
		MUST(IN6_IS_ADDR_LOOPBACK(&ip6->sin6_addr));
	else
		MUST(ntohl(ip4->sin_addr.s_addr) == INADDR_LOOPBACK
			|| ntohl(ip4->sin_addr.s_addr)
				== 0x7f00000au + client);
}

static void
hear_one(struct net *n, unsigned client, int fd, bool check)
{
	static uint8_t octets[MESSAGE_MAX_LEN];
	struct sockaddr_storage from;
	ssize_t got;

	for (;;) {
		socklen_t len = sizeof(from);

		got = recvfrom(fd, octets, sizeof(octets), MSG_DONTWAIT,
			(struct sockaddr *)&from, &len);
		if (got == -1)
			return;
		if (!check)
			continue;
		server_check_message(octets, (size_t)got);
		MUST(message_get_id(octets) == n->asked[client]
			|| message_get_id(octets) == HEADER_ID);
		check_source(client, &from);
	}
}

static void
hear_all(struct net *n, bool check)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		for (unsigned family = 0; family < 2; family++)
			if (n->clients[family][i] != -1)
				hear_one(n, i, n->clients[family][i], check);
}

static void
turn(struct net *n)
{
	for (unsigned i = 0; i < TURNS_MAX; i++) {
		uint64_t before = n->turns;

		event_base_loop(n->base, EVLOOP_NONBLOCK);
		hear_all(n, true);
		if (n->turns == before)
			break;
	}
}

/* ---- sockets and addresses ----------------------------------------------- */

static void
do_listen(uint8_t who, const uint8_t *data, size_t len)
{
	/* Loopback and documentation addresses: no other host can reach the
	 * sockets. */
	static const char *const texts[] = {"127.0.0.1", "::1", "127.9.9.9",
		"192.0.2.1", "2001:db8::1"};
	struct net_listen o = {
		.tcp = (who & 1) != 0,
		.reuseport = (who & 2) != 0,
		.transparent = (who & 4) != 0,
		.freebind = (who & 8) != 0,
		.device = who & 16 ? who & 32 ? "lo" : "none" : NULL,
		.send_buffer = len > 0 ? data[0] << 8 : 0,
		.receive_buffer = len > 1 ? data[1] << 8 : 0,
		.tcp_mss = len > 2 ? data[2] * 8 : 0,
		.tcp_backlog = len > 3 ? data[3] - 1 : 0,
		.tcp_fastopen = len > 4 ? data[4] : 0,
	};
	struct diag_sink sink = {ignore, 0, 0};
	int fd;

	MUST(net_parse_address(texts[len > 5 ? data[5] % 5 : 0], 0, &o.address)
		== NSD_OK);
	(void)net_buffers_fit(o.send_buffer, o.receive_buffer);
	(void)net_may_force_buffers();
	if (net_listen(&o, &sink, &fd) != NSD_OK) {
		MUST(sink.errors > 0);
		return;
	}
	MUST(sink.errors == 0);
	o.send_buffer = o.receive_buffer;
	net_listen_again(fd, &o, &sink);
	close(fd);
}

/* A parsed address prints as text that parses to the same address. */
static void
do_address(const uint8_t *data, size_t len)
{
	struct sockaddr_storage address, again;
	char text[NET_ADDRESS_TEXT_MAX], *copy = malloc(len + 1);

	MUST(copy != NULL);
	memcpy(copy, data, len);
	copy[len] = '\0';
	if (net_parse_address(copy, 53, &address) == NSD_OK) {
		MUST(net_print_address(&address, true, text) == strlen(text));
		MUST(net_parse_address(text, 0, &again) == NSD_OK);
		/* A scope is not printed. */
		if (address.ss_family == AF_INET6)
			((struct sockaddr_in6 *)&address)->sin6_scope_id = 0;
		MUST(memcmp(&address, &again, net_address_len(&address)) == 0);
	}
	memset(&address, 0, sizeof(address));
	MUST(net_print_address(&address, len % 2 == 0, text) > 0);
	MUST(net_address_len(&address) == sizeof(address));
	free(copy);
}

static void
do_steer(struct net *n, uint8_t how, uint8_t who, size_t len)
{
	uint32_t cpus[256];
	int fd = n->sockets[(how & HOW_SOCKET) >> 4].fd;
	enum nsd_err err;

	for (unsigned i = 0; i < 256; i++)
		cpus[i] = (i + who) % 8;
	err = net_steer_by_cpu(len > 200 ? -1 : fd, cpus,
		len > 100 ? 4000 : who);
	MUST((err == NSD_E_LIMIT) == (who == 0 || len > 100));
}

/* ---- an input ------------------------------------------------------------ */

static void
do_fail(bool deaf, uint8_t who, const uint8_t *data, size_t len)
{
	static const int errors[] = {EINTR, ECONNREFUSED, EAGAIN, ENOBUFS,
		EMSGSIZE, EPERM, EHOSTUNREACH};
	int error = errors[who % (sizeof(errors) / sizeof(*errors))];
	unsigned times = len > 0 ? data[0] % 100 : 1;

	if (deaf)
		world_fail_receiving(error, times);
	else
		world_fail_sending(error, times);
}

static void
take_step(void *ctx, const uint8_t *head, const uint8_t *data, size_t len)
{
	struct net *n = ctx;
	uint8_t how = head[0], who = head[1];
	struct net_udp *udp = n->sockets[(how & HOW_SOCKET) >> 4].udp;
	unsigned deed = (how & HOW_DEED) % DEEDS;

	switch (deed) {
	case DEED_FORGED:
		world_forge_port(true);
		ask(n, how, who, data, len);
		break;
	case DEED_DEAF:
	case DEED_DUMB:
		do_fail(deed == DEED_DEAF, who, data, len);
		break;
	case DEED_WAIT:
		world_pass((uint64_t)who * who);
		break;
	case DEED_SIZE:
		if (udp != NULL)
			MUST(net_udp_set_reply_size(udp, 512u + who * 300u)
				== NSD_OK);
		break;
	case DEED_CAREFUL:
		if (udp == NULL)
			break;
		net_udp_set_careful(udp, (who & 1) != 0);
		(void)net_udp_take_lost(udp);
		break;
	case DEED_CHANGE:
		server_change(n->server, who, data, len);
		break;
	case DEED_LISTEN:
		do_listen(who, data, len);
		break;
	case DEED_ADDRESS:
		do_address(data, len);
		break;
	case DEED_STEER:
		do_steer(n, how, who, len);
		break;
	default:
		ask(n, how, who, data, len);
	}
	if ((how & HOW_STILL) != 0)
		return;
	turn(n);
	world_forge_port(false);
}

static void
end(struct net *n)
{
	world_fail_receiving(0, 0);
	world_fail_sending(0, 0);
	turn(n);
	for (unsigned i = 0; i < SOCKETS; i++) {
		net_udp_close(n->sockets[i].udp);
		n->sockets[i].udp = NULL;
	}
	event_base_free(n->base);
	hear_all(n, false);
	server_end(n->server);
}

/* ---- inputs -------------------------------------------------------------- */

static void
make_head(uint8_t *head, uint64_t *chance)
{
	unsigned deed = chance_below(chance, 3) == 0 ? DEED_ASK
		: chance_below(chance, DEEDS);

	head[0] = (uint8_t)(deed | chance_below(chance, SOCKETS) << 4);
	if (deed == DEED_HEADER)
		head[0] |= SOCKET_PROXIES << 4;
	if (chance_below(chance, 4) == 0)
		head[0] |= HOW_STILL;
	head[1] = (uint8_t)chance_next(chance);
}

static const struct mutate_frames frames = {
	.prefix = PREFIX,
	.head = STEP_HEAD,
	.make_head = make_head,
	.dns = &server_dns,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint16_t asked;
	static struct server server;
	static struct net n;
	struct server_settings settings = {0};

	if (n.server == NULL) {
		server_init(&server, false);
		n.server = &server;
		begin(&n);
	}
	if (size < PREFIX)
		return 0;
	world_begin();
	settings.keys = data[1] & 7;
	settings.how = data[1] & 0x78;
	settings.more = data[2];
	server_begin(n.server, &settings, 18);
	open_service(&n, data[0]);
	for (unsigned i = 0; i < CLIENTS; i++)
		n.asked[i] = asked++;
	frames_walk(&frames, data, size, take_step, &n);
	end(&n);
	return 0;
}

FRAMES_FOR_FUZZER(&frames)
