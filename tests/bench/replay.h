/* replay.h - common to the parts of replay: options, counts, the run. */
#ifndef BENCH_REPLAY_H
#define BENCH_REPLAY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "histogram.h"
#include "replay_input.h"
#include "usage.h"

#define REPLAY_PIDS_MAX 256
#define REPLAY_SOCKETS_MAX 1024
#define REPLAY_KEPT_MAX 1024
/* Octets of a message: below. */
#define REPLAY_LENGTHS 65536

struct replay_options {
	const char *file;
	double rate;          /* queries a second in the mean; 0: as captured */
	double factor;        /* how much faster than captured */
	double seconds;       /* at most; 0: to the end of the input */
	uint64_t count;       /* at most; 0: all */
	double share;         /* of UDP's queries, over TCP again: 0 to 1 */
	bool cut_again;       /* truncated answers of UDP, over TCP again */
	bool only_tcp;
	bool loops;           /* begins anew at the end of the input */
	bool dnssec;          /* lists: EDNS and DO */
	unsigned kept;        /* connections that stay; 0: one each */
	unsigned sockets;     /* UDP sockets for each server address */
	unsigned open_max;    /* connections at a time */
	uint64_t timeout_ns;
	uint64_t interval_ns; /* of the course */
	uint16_t port;
	uint16_t captured_port;
	struct in_addr from;  /* the first local address */
	unsigned from_count;  /* each 256 above the one before; 0: none */
	struct sockaddr_storage server[2]; /* IPv4, IPv6 */
	int pids[REPLAY_PIDS_MAX];
	size_t pid_count;
};

/* Counts since the start. sent = answered + timeouts + pending, asked =
 * answered + timeouts + refused + cut + unsent + pending. */
struct replay_counts {
	struct {
		uint64_t sent;
		uint64_t answered;
		uint64_t timeouts; /* no answer in time */
		uint64_t unsent;   /* the socket took no more; not in sent */
		uint64_t bad;      /* replies to nothing that was asked */
		uint64_t late;     /* replies after the time-out; also in bad */
		uint64_t octets;
	} udp;
	struct {
		uint64_t asked;
		uint64_t connections;
		uint64_t answered;
		uint64_t timeouts;
		uint64_t refused; /* no connection */
		uint64_t cut;     /* the connection ended before the answer */
		uint64_t unsent;  /* too many connections, or queries on one */
		uint64_t bad;
		uint64_t octets;
	} tcp;
	uint64_t rcodes[16];
	uint64_t truncated;
};

/* A file descriptor that the loop waits for. */
struct replay_source {
	void (*on_ready)(struct replay_source *source, uint32_t events);
};

struct replay {
	struct replay_options options;
	struct replay_input in;
	struct replay_counts counts;
	struct histogram udp;  /* from sending to the answer */
	struct histogram tcp;  /* from connecting to the answer */
	/* Of queries asked again: from the first sending to the answer over
	 * TCP. */
	struct histogram both;
	struct histogram late; /* queries: sent so much later than planned */
	/* Answers of each length. */
	uint32_t udp_lengths[REPLAY_LENGTHS], tcp_lengths[REPLAY_LENGTHS];
	int epoll;
	uint64_t pending; /* queries under way */
};

/* Nanoseconds of a clock that never goes back. */
uint64_t replay_now_ns(void);

/* Waits for a descriptor, for good. Ends the program on failure. */
void replay_watch(struct replay *r, int fd, struct replay_source *source,
	uint32_t events);

/* The server's address for a query. */
const struct sockaddr_storage *replay_server(const struct replay *r,
	const struct replay_query *q);

/* Gives a socket the local address of a number; none for IPv6. */
void replay_bind(const struct replay *r, int fd, int family, uint32_t number);

/* True if a reply fits the query, whatever its id; then it is counted. */
bool replay_check(struct replay *r, uint32_t query, const uint8_t *reply,
	size_t len);

/* ---- replay_udp.c */

void udp_begin(struct replay *r);

/* Sends a query; again: to be asked over TCP once it is answered. */
void udp_send(struct replay *r, uint32_t query, bool again);

/* Gives up queries that were sent before a time (replay_now_ns). */
void udp_expire(struct replay *r, uint64_t before_ns);

/* ---- replay_tcp.c */

void tcp_begin(struct replay *r);

/* Asks over TCP. first_ns: when it was sent over UDP; 0: it was not. */
void tcp_ask(struct replay *r, uint32_t query, uint64_t first_ns);
void tcp_expire(struct replay *r, uint64_t before_ns);

/* Uses connections that have ended again: when no event of them is left. */
void tcp_recycle(void);

/* ---- replay_report.c */

/* Notes how far it is at the end of an interval, or at the start. */
void report_note(const struct replay *r, double sec);

/* Prints one line of JSON. */
void report_print(const struct replay *r);

#endif
