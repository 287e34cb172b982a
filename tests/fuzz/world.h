/*
 * world.h - the kernel as the targets have it that serve connections: a clock
 * that goes on when the input says so, and streams over UNIX sockets whose
 * clients have the addresses that the input gives them. So an input does the
 * same each time, takes no port, and a minute costs nothing.
 *
 * One file of such a target includes world_calls.h.
 */
#ifndef TESTS_FUZZ_WORLD_H
#define TESTS_FUZZ_WORLD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

/* The clock is at its begin, and nothing is to fail. Before each input. */
void world_begin(void);

/* Time passes on the clocks that never go back. */
void world_pass(uint64_t msec);

/* Each reading of the thread's CPU clock advances it by nsec. */
void world_set_work(int64_t nsec);

/* ---- streams ------------------------------------------------------------- */

/* A socket that listens, and does not block; or ends the program. */
int world_listen(void);

/* The client of a connection, as accept4 reports it. */
struct world_peer {
	union {
		struct sockaddr sa;
		struct sockaddr_in ip4;
		struct sockaddr_in6 ip6;
	} address;
	int room; /* octets, for what is sent to the client; 0: the system's */
};

/* Connects a client, which does not block. -1: too many wait already. */
int world_connect(int listener, const struct world_peer *peer);

/* Lets accept4 fail with error after so many connections; 0: never. */
void world_fail_accept(int error, unsigned after);

/* Sets where connections to any address lead; -1: they are refused. slowly:
 * connect does not report it at once. */
void world_set_route(int listener, bool slowly);

/* ---- datagrams, which go over loopback ----------------------------------- */

/* Makes the next calls that receive, or send, fail with error. */
void world_fail_receiving(int error, unsigned times);
void world_fail_sending(int error, unsigned times);

/* Makes datagrams appear to come from port 0, as if forged. */
void world_forge_port(bool forge);

/* ---- the calls: world_calls.h -------------------------------------------- */

int world_gettime(clockid_t clock, struct timespec *now);
int world_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
int world_socket(int domain, int type, int protocol);
int world_reach(int fd, const struct sockaddr *address, socklen_t len);
int world_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
	struct timespec *wait);
int world_sendmmsg(int fd, struct mmsghdr *messages, unsigned count,
	int flags);

#endif
