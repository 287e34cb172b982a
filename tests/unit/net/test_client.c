/*
 * test_client.c - messages to another server and back, over TCP and UDP.
 */
#include "config.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/octets.h"
#include "net/client.h"

#define PATIENCE_SEC 60

/* The callbacks of a client. */
struct heard {
	struct event_base *base;
	struct net_client *client;
	unsigned messages;
	size_t len;          /* of the last one */
	uint8_t first, last; /* octets of the last message */
	unsigned ends;
	int error;
	unsigned close_at;   /* closes within the callback of that message */
	unsigned pause_at;   /* pauses there */
};

static void
on_message(void *ctx, const uint8_t *message, size_t len)
{
	struct heard *h = ctx;

	h->messages++;
	h->len = len;
	if (len > 0) {
		h->first = message[0];
		h->last = message[len - 1];
	}
	if (h->messages == h->pause_at)
		net_client_pause(h->client, true);
	if (h->messages == h->close_at) {
		net_client_close(h->client);
		h->client = NULL;
	}
}

static void
on_end(void *ctx, int error)
{
	struct heard *h = ctx;

	h->ends++;
	h->error = error;
}

static const struct net_client_calls calls = {
	.on_message = on_message,
	.on_end = on_end,
};

/* ---- the other side ------------------------------------------------------ */

/* A socket on the loopback, listening if it is TCP. */
static int
open_server(bool tcp, struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	socklen_t len = sizeof(*v4);
	int fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);

	memset(address, 0, sizeof(*address));
	v4->sin_family = AF_INET;
	v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_not_equal(fd, -1);
	assert_int_equal(bind(fd, (struct sockaddr *)v4, len), 0);
	if (tcp)
		assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)v4, &len), 0);
	return fd;
}

static void
open_client(struct heard *h, const struct sockaddr_storage *to, bool tcp,
	unsigned timeout_sec)
{
	const struct net_client_options options = {
		.to = to,
		.tcp = tcp,
		.timeout_sec = timeout_sec,
	};

	memset(h, 0, sizeof(*h));
	h->base = event_base_new();
	assert_non_null(h->base);
	assert_int_equal(net_client_open(h->base, &options, &calls, h,
		&h->client), NSD_OK);
}

static void
close_client(struct heard *h)
{
	net_client_close(h->client);
	event_base_free(h->base);
}

/* Runs the loop until so much has been heard. */
static void
hear(struct heard *h, unsigned messages, unsigned ends)
{
	static const struct timeval patience = {.tv_sec = PATIENCE_SEC};

	event_base_loopexit(h->base, &patience);
	while ((h->messages < messages || h->ends < ends)
		&& !event_base_got_exit(h->base))
		assert_int_not_equal(event_base_loop(h->base, EVLOOP_ONCE),
			-1);
	assert_int_equal(h->messages, messages);
	assert_int_equal(h->ends, ends);
}

static void
receive_exactly(int fd, uint8_t *out, size_t len)
{
	assert_int_equal(recv(fd, out, len, MSG_WAITALL), len);
}

/* ---- TCP ----------------------------------------------------------------- */

static void
messages_go_both_ways_over_tcp(void **state)
{
	static uint8_t large[2 + 65535];
	struct sockaddr_storage address;
	int listener = open_server(true, &address), fd;
	uint8_t got[64];
	struct heard h;

	open_client(&h, &address, true, PATIENCE_SEC);
	/* Before the connection is made. */
	assert_int_equal(net_client_send(h.client, (const uint8_t *)"one", 3),
		NSD_OK);
	assert_int_equal(net_client_send(h.client, (const uint8_t *)"two!", 4),
		NSD_OK);
	event_base_loop(h.base, EVLOOP_ONCE);
	event_base_loop(h.base, EVLOOP_NONBLOCK);
	fd = accept(listener, NULL, NULL);
	receive_exactly(fd, got, 11);
	assert_memory_equal(got, "\0\3one\0\4two!", 11);
	/* Two messages and a half in one piece; then octet by octet. */
	assert_int_equal(send(fd, "\0\1a\0\2bc\0\3d", 10, 0), 10);
	hear(&h, 2, 0);
	assert_int_equal(h.first, 'b');
	assert_int_equal(h.last, 'c');
	assert_int_equal(send(fd, "e", 1, 0), 1);
	event_base_loop(h.base, EVLOOP_NONBLOCK);
	assert_int_equal(send(fd, "f", 1, 0), 1);
	hear(&h, 3, 0);
	assert_int_equal(h.len, 3);
	assert_int_equal(h.last, 'f');
	memset(large, 'x', sizeof(large));
	octets_put_u16(large, 65535);
	assert_int_equal(send(fd, large, sizeof(large), 0), sizeof(large));
	hear(&h, 4, 0);
	assert_int_equal(h.len, 65535);
	/* An empty message is one, too: who asked is to judge it. */
	assert_int_equal(send(fd, "\0\0", 2, 0), 2);
	hear(&h, 5, 0);
	assert_int_equal(h.len, 0);
	close(fd);
	hear(&h, 5, 1);
	assert_int_equal(h.error, 0);
	close_client(&h);
	close(listener);
}

static void
closed_within_a_message_it_says_no_more(void **state)
{
	struct sockaddr_storage address;
	int listener = open_server(true, &address), fd;
	struct heard h;

	open_client(&h, &address, true, PATIENCE_SEC);
	h.close_at = 2;
	fd = accept(listener, NULL, NULL);
	assert_int_equal(send(fd, "\0\1a\0\1b\0\1c", 9, 0), 9);
	hear(&h, 2, 0);
	close(fd);
	event_base_loop(h.base, EVLOOP_NONBLOCK);
	assert_int_equal(h.messages, 2);
	assert_int_equal(h.ends, 0);
	close_client(&h);
	close(listener);
}

static void
nothing_is_read_while_it_pauses(void **state)
{
	static const struct timeval while_ = {.tv_usec = 200000};
	struct sockaddr_storage address;
	int listener = open_server(true, &address), fd;
	struct heard h;

	/* Silence does not count meanwhile: it would end within a second. */
	open_client(&h, &address, true, 1);
	fd = accept(listener, NULL, NULL);
	event_base_loop(h.base, EVLOOP_ONCE);
	net_client_pause(h.client, true);
	assert_int_equal(send(fd, "\0\1a", 3, 0), 3);
	for (int i = 0; i < 8; i++) {
		event_base_loopexit(h.base, &while_);
		event_base_dispatch(h.base);
	}
	assert_int_equal(h.messages, 0);
	assert_int_equal(h.ends, 0);
	net_client_pause(h.client, false);
	event_base_loop(h.base, EVLOOP_NONBLOCK); /* the exit is behind us */
	hear(&h, 1, 0);
	assert_int_equal(h.first, 'a');
	close_client(&h);
	close(fd);
	close(listener);
}

/* A pause stops octets that were read before, and the end behind them. */
static void
pause_stops_within_what_has_come(void **state)
{
	static const struct timeval while_ = {.tv_usec = 50000};
	struct sockaddr_storage address;
	int listener = open_server(true, &address), fd;
	struct heard h;

	open_client(&h, &address, true, PATIENCE_SEC);
	h.pause_at = 2;
	fd = accept(listener, NULL, NULL);
	assert_int_equal(send(fd, "\0\1a\0\1b\0\1c\0\1d", 12, 0), 12);
	close(fd);
	hear(&h, 2, 0);
	event_base_loopexit(h.base, &while_);
	event_base_dispatch(h.base);
	assert_int_equal(h.messages, 2);
	assert_int_equal(h.first, 'b');
	assert_int_equal(h.ends, 0);
	net_client_pause(h.client, false);
	/* Not within the call. */
	assert_int_equal(h.messages, 2);
	event_base_loop(h.base, EVLOOP_NONBLOCK); /* the exit is behind us */
	hear(&h, 4, 1);
	assert_int_equal(h.messages, 4);
	assert_int_equal(h.first, 'd');
	assert_int_equal(h.ends, 1);
	assert_int_equal(h.error, 0);
	close_client(&h);
	close(listener);
}

static void
nobody_there_is_told(void **state)
{
	struct sockaddr_storage address;
	int listener = open_server(true, &address);
	struct heard h;

	close(listener);
	open_client(&h, &address, true, PATIENCE_SEC);
	assert_int_equal(h.ends, 0);
	hear(&h, 0, 1);
	assert_int_equal(h.error, ECONNREFUSED);
	close_client(&h);
}

static void
silent_server_times_out(void **state)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		struct sockaddr_storage address;
		int listener = open_server(tcp, &address);
		struct heard h;

		open_client(&h, &address, tcp, 1);
		hear(&h, 0, 1);
		assert_int_equal(h.error, ETIMEDOUT);
		close_client(&h);
		close(listener);
	}
}

static void
what_a_server_does_not_take_has_a_limit(void **state)
{
	static uint8_t message[65535];
	struct sockaddr_storage address;
	int listener = open_server(true, &address);
	enum nsd_err err = NSD_OK;
	unsigned sent = 0;
	struct heard h;

	open_client(&h, &address, true, PATIENCE_SEC);
	while (err == NSD_OK && sent++ < 100)
		err = net_client_send(h.client, message, sizeof(message));
	assert_int_equal(err, NSD_E_LIMIT);
	assert_true((sent - 1) * sizeof(message)
		<= NET_CLIENT_WAITING_MAX + sizeof(message));
	close_client(&h);
	close(listener);
}

static void
source_address_is_taken_or_refused(void **state)
{
	struct sockaddr_storage address, from, seen;
	int listener = open_server(true, &address), fd;
	struct sockaddr_in *v4 = (struct sockaddr_in *)&from;
	struct net_client_options options = {
		.to = &address,
		.from = &from,
		.tcp = true,
		.timeout_sec = PATIENCE_SEC,
	};
	socklen_t len = sizeof(seen);
	struct heard h = {.base = event_base_new()};

	memset(&from, 0, sizeof(from));
	v4->sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, "127.0.0.9", &v4->sin_addr), 1);
	assert_int_equal(net_client_open(h.base, &options, &calls, &h,
		&h.client), NSD_OK);
	fd = accept(listener, (struct sockaddr *)&seen, &len);
	assert_memory_equal(&((struct sockaddr_in *)&seen)->sin_addr,
		&v4->sin_addr, 4);
	close(fd);
	net_client_close(h.client);
	assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &v4->sin_addr), 1);
	assert_int_equal(net_client_open(h.base, &options, &calls, &h,
		&h.client), NSD_E_SYSTEM);
	assert_int_equal(errno, EADDRNOTAVAIL);
	event_base_free(h.base);
	close(listener);
}

/* ---- UDP ----------------------------------------------------------------- */

static void
datagrams_come_from_who_was_asked_alone(void **state)
{
	struct sockaddr_storage address, other_address, asker;
	int fd = open_server(false, &address);
	int other = open_server(false, &other_address);
	socklen_t len = sizeof(asker);
	struct heard h;
	uint8_t got[8];

	open_client(&h, &address, false, PATIENCE_SEC);
	assert_int_equal(net_client_send(h.client, (const uint8_t *)"ask", 3),
		NSD_OK);
	assert_int_equal(recvfrom(fd, got, sizeof(got), 0,
		(struct sockaddr *)&asker, &len), 3);
	assert_int_equal(sendto(other, "forged", 6, 0,
		(struct sockaddr *)&asker, len), 6);
	assert_int_equal(sendto(fd, "answer", 6, 0,
		(struct sockaddr *)&asker, len), 6);
	hear(&h, 1, 0);
	assert_int_equal(h.first, 'a');
	assert_int_equal(h.last, 'r');
	close(fd);
	/* The system says that nobody listens there any more. */
	assert_int_equal(net_client_send(h.client, (const uint8_t *)"ask", 3),
		NSD_OK);
	hear(&h, 1, 1);
	assert_int_equal(h.error, ECONNREFUSED);
	close_client(&h);
	close(other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_go_both_ways_over_tcp),
		cmocka_unit_test(closed_within_a_message_it_says_no_more),
		cmocka_unit_test(nothing_is_read_while_it_pauses),
		cmocka_unit_test(pause_stops_within_what_has_come),
		cmocka_unit_test(nobody_there_is_told),
		cmocka_unit_test(silent_server_times_out),
		cmocka_unit_test(what_a_server_does_not_take_has_a_limit),
		cmocka_unit_test(source_address_is_taken_or_refused),
		cmocka_unit_test(datagrams_come_from_who_was_asked_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
