/* clients.c - clients that check what becomes of their octets. */
#include "config.h"

#include "fuzz/clients.h"

#include <stdlib.h>
#include <string.h>

#include "base/octets.h"
#include "dns/message.h"
#include "fuzz/query_server.h"
#include "fuzz/target.h"
#include "net/proxy.h"

#define PORT_FIRST 1024u
#define LENGTH_SIZE 2u
/* Octets that all clients say in an input, at most. */
#define SAID_MAX (1u << 20)
#define HEARD_MAX (2 * (LENGTH_SIZE + MESSAGE_MAX_LEN))
#define FLIGHTS 6u

void
clients_init(struct clients *clients)
{
	memset(clients, 0, sizeof(*clients));
	clients->said_left = SAID_MAX;
	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		clients->all[i].wire.fd = -1;
}

void
clients_close(struct client *client)
{
	wire_close(&client->wire);
	free(client->said);
	free(client->heard);
	*client = (struct client){.wire.fd = -1};
}

void
clients_fini(struct clients *clients)
{
	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		clients_close(&clients->all[i]);
}

/* ---- the beginning ------------------------------------------------------- */

static void
greet(struct client *client, const struct client_way *way,
	clients_turn *turn, void *ctx)
{
	wire_set_tls(&client->wire, way->tls, false);
	for (unsigned i = 0; i < FLIGHTS && !way->silent; i++) {
		if (wire_greet(&client->wire))
			break;
		turn(ctx);
	}
	client->broken = !wire_is_open(&client->wire);
}

struct client *
clients_open(struct clients *clients, unsigned i,
	const struct client_way *way, clients_turn *turn, void *ctx)
{
	static uint16_t next_port = PORT_FIRST;
	struct client *client = &clients->all[i % CLIENTS_MAX];
	struct world_peer peer = way->peer;

	clients_close(client);
	if (++next_port < PORT_FIRST)
		next_port = PORT_FIRST;
	/* The port has the same offset in both address families. */
	peer.address.ip4.sin_port = htons(next_port);
	client->wire.fd = world_connect(way->listener, &peer);
	if (client->wire.fd == -1)
		return NULL;
	client->port = next_port;
	client->proxied = way->proxied;
	if (way->tls != NULL)
		greet(client, way, turn, ctx);
	return client;
}

/* ---- sending ------------------------------------------------------------- */

static void
keep_said(struct client *client, const uint8_t *octets, size_t len)
{
	if (client->said_size - client->said_len < len) {
		client->said_size = 2 * client->said_size + len;
		client->said = realloc(client->said, client->said_size);
		MUST(client->said != NULL);
	}
	memcpy(client->said + client->said_len, octets, len);
	client->said_len += len;
}

void
clients_say(struct clients *clients, struct client *client,
	const uint8_t *octets, size_t len)
{
	ssize_t sent;

	if (len > clients->said_left)
		len = clients->said_left;
	if (client->wire.fd == -1 || client->broken || len == 0)
		return;
	sent = wire_send(&client->wire, octets, len);
	/* The rest of what is cut is not said later. */
	client->broken = sent < (ssize_t)len;
	if (sent <= 0)
		return;
	keep_said(client, octets, (size_t)sent);
	clients->said_left -= (size_t)sent;
}

/* The octets of a message that was said, with its length; 0: it is cut. */
static size_t
said_size(const struct client *client, size_t at)
{
	size_t left = client->said_len - at, size;

	if (left < LENGTH_SIZE)
		return 0;
	size = LENGTH_SIZE + octets_get_u16(client->said + at);
	return size <= left ? size : 0;
}

/* A proxied connection begins with a PROXY header. */
static void
skip_header(struct client *client)
{
	struct proxy_header header;

	if (!client->proxied || client->handed > 0)
		return;
	MUST(proxy_read_header(client->said, client->said_len, &header)
		== PROXY_WHOLE);
	client->handed = client->replied = header.len;
}

static uint16_t
port_of(const struct exchange *x)
{
	const struct sockaddr *own = x->proxy != NULL ? x->proxy
		: (const struct sockaddr *)x->peer;

	return ntohs(((const struct sockaddr_in *)own)->sin_port);
}

void
clients_check(struct clients *clients, const struct exchange *x)
{
	uint16_t port = port_of(x);
	struct client *client = clients->all;
	size_t size;

	while (client < clients->all + CLIENTS_MAX && client->port != port)
		client++;
	if (client == clients->all + CLIENTS_MAX)
		return; /* the client has gone */
	skip_header(client);
	if (x->seen != EXCHANGE_NEW)
		return;
	size = said_size(client, client->handed);
	MUST(size == LENGTH_SIZE + x->request_len);
	MUST(memcmp(client->said + client->handed + LENGTH_SIZE, x->request,
		x->request_len) == 0);
	client->handed += size;
}

/* ---- receiving ----------------------------------------------------------- */

/* Replies are in the order of their requests: this one's request is not before
 * the last one that was replied to. */
static void
check_reply(struct client *client, const uint8_t *reply, size_t len)
{
	size_t at = client->replied, size;

	server_check_message(reply, len);
	while ((size = said_size(client, at)) != 0 && at < client->handed) {
		if (message_get_id(client->said + at + LENGTH_SIZE)
			== message_get_id(reply))
			break;
		at += size;
	}
	MUST(at < client->handed);
	client->replied = at;
}

static size_t
take_messages(struct client *client)
{
	size_t at = 0, count = 0;

	for (;;) {
		size_t left = client->heard_len - at, len;

		if (left < LENGTH_SIZE)
			break;
		len = octets_get_u16(client->heard + at);
		if (left < LENGTH_SIZE + len)
			break;
		check_reply(client, client->heard + at + LENGTH_SIZE, len);
		at += LENGTH_SIZE + len;
		count++;
	}
	client->heard_len -= at;
	memmove(client->heard, client->heard + at, client->heard_len);
	return count;
}

size_t
clients_hear(struct client *client, size_t max)
{
	size_t count = 0;

	if (!wire_is_open(&client->wire))
		return 0;
	if (client->heard == NULL)
		client->heard = malloc(HEARD_MAX);
	MUST(client->heard != NULL);
	while (max > 0) {
		size_t room = HEARD_MAX - client->heard_len;
		ssize_t got = wire_receive(&client->wire,
			client->heard + client->heard_len,
			room < max ? room : max);

		if (got <= 0)
			break;
		client->heard_len += (size_t)got;
		max -= (size_t)got;
		count += take_messages(client);
	}
	return count;
}
