/*
 * harness.h - a server of net on an event loop, and its clients, in one
 * thread: the loop is turned until what the test waits for has happened or
 * thirty seconds have passed.
 */
#ifndef TESTS_UNIT_NET_HARNESS_H
#define TESTS_UNIT_NET_HARNESS_H

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "net/server.h"
#include "net/socket.h"

/*
 * The handler answers a request by its first octet:
 *   'E' echo    'N' nothing    'B' the next four octets are the reply's
 *   length, filled with the fifth    'S' echo, then a stream of as many
 *   messages as the next two octets say, of as many octets as the two after
 *   'L' a reply that comes later: harness.laters    'P' nothing, as it cannot
 *   be passed on
 */
#define HARNESS_LATERS_MAX 512
struct harness {
	struct event_base *base;
	struct net_handler handler;
	struct net_udp *udp;
	struct net_tcp *tcp;
	int fd;
	struct sockaddr_storage address;
	size_t batches;       /* handed over */
	size_t requests;      /* also those that came again */
	size_t new_requests;  /* without those that came again */
	size_t new_replies;   /* the same of replies */
	size_t last_requests; /* replies that say the connection closes */
	size_t replies_max;   /* octets, then a batch is put off; 0: never */
	size_t reply_octets;  /* of all replies */
	uint32_t request_cost; /* cost of struct exchange */
	size_t stream_octets;
	size_t largest_batch;
	size_t longest;       /* request */
	size_t bad_lengths;
	size_t last_bad_length;
	size_t later_count;   /* replies that were to come, so far */
	struct net_later *laters[HARNESS_LATERS_MAX]; /* the test's */
	uint8_t later_of[HARNESS_LATERS_MAX][4]; /* octets 1 to 4 of each of
						  * these requests */
	size_t not_passed_on; /* of 'P', as often as it is to be passed on */
	size_t streams;       /* begun and not ended */
	size_t streams_ended;
	struct sockaddr_storage last_peer; /* of a request */
	struct sockaddr_in last_proxy;     /* the same; AF_UNSPEC: none */
	struct sockaddr_in6 last_local;    /* the same, or sockaddr_in */
	uint32_t wants_local;              /* of net_handler */
	bool refuse_proxies;  /* of harness_proxied: none may */
	bool reset;           /* a stream ended with one */
	int64_t request_nsec; /* time of the processor that each takes */
	int64_t message_nsec; /* the same, each message of a stream */
	/* By the last 3 bits of clients' addresses: time that they had, in
	 * parts of so many; and bits of those that had too much. */
	int64_t spent_nsec[8];
	size_t spent_count;
	uint8_t throttled;
	uint64_t rx_err;
	uint64_t tx_err;
	uint64_t handed; /* net_handler.requests */
};

/* address such as "127.0.0.1", the port is any free one. */
void harness_udp(struct harness *h, const char *address, size_t reply_size);
void harness_tcp(struct harness *h, const char *address,
	const struct net_tcp_options *options);
/* A UDP or TCP socket for proxies. */
void harness_proxied(struct harness *h, const char *address, bool tcp,
	const struct net_tcp_options *options);
void harness_fini(struct harness *h);

/* A non-blocking client socket, connected. receive_buffer 0: the system's */
int harness_connect(struct harness *h, int receive_buffer);

/* The same from another address of IPv4. */
int harness_connect_from(struct harness *h, const char *source);

/* Turns the loop without waiting, until nothing is ready. */
void harness_turn(struct harness *h);
/* Turns it once, whatever is ready then. */
void harness_turn_once(struct harness *h);

/* Sends all, turning the loop while the socket is full. */
void harness_send(struct harness *h, int fd, const void *data, size_t len);

/* Receives until want octets are there, the end of the stream (true in *eof)
 * or a reset; returns how many. Fails the test at the deadline. */
size_t harness_receive(struct harness *h, int fd, uint8_t *data, size_t want,
	bool *eof);

/* Turns the loop until the count reaches at least want. */
void harness_wait(struct harness *h, const size_t *count, size_t want);

/* Turns the loop for a time in which something should not happen. */
void harness_idle(struct harness *h, unsigned ms);

/* Uses the processor for so long. */
void harness_work(int64_t nsec);

/* Asks once over TCP, and expects the answer. */
void harness_ask(struct harness *h, int fd);

/* Expects the end of the stream, and nothing before it. */
void harness_expect_close(struct harness *h, int fd);

/* A request with its length in front; returns the octets. */
size_t make_request(uint8_t *out, char kind, size_t len);

#endif
