/* world_calls.h - takes the place of calls of libc in a program, those of
 * libevent and of ours: world.h. In no library, or all tests had them. */
#ifndef TESTS_FUZZ_WORLD_CALLS_H
#define TESTS_FUZZ_WORLD_CALLS_H

#include "fuzz/world.h"

/* Of recvmmsg and sendmmsg; musl's are unsigned. */
#ifdef __GLIBC__
typedef int message_flags;
#else
typedef unsigned message_flags;
#endif

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	return world_gettime(clock, now);
}

int
accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	return world_accept4(fd, address, len, flags);
}

int
socket(int domain, int type, int protocol)
{
	return world_socket(domain, type, protocol);
}

int
connect(int fd, const struct sockaddr *address, socklen_t len)
{
	return world_reach(fd, address, len);
}

int
recvmmsg(int fd, struct mmsghdr *messages, unsigned count,
	message_flags flags, struct timespec *wait)
{
	return world_recvmmsg(fd, messages, count, (int)flags, wait);
}

int
sendmmsg(int fd, struct mmsghdr *messages, unsigned count,
	message_flags flags)
{
	return world_sendmmsg(fd, messages, count, (int)flags);
}

#endif
