/* world.c - a clock and streams that an input decides about. */
#include "config.h"

#include "fuzz/world.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz/target.h"

/* The begin of the clock: it has been going on for a while. */
#define BEGIN_MSEC UINT64_C(1000000)
#define NSEC 1000000000

/* The address of a client's socket, in which the world has what it is for
 * whoever accepts it. Two are never the same. */
struct name {
	sa_family_t family;
	char zero; /* in no file system */
	char kind;
	pid_t pid;
	unsigned number;
	struct world_peer peer;
};

static bool is_begun;
static uint64_t now_msec;
static int64_t work_nsec, thread_nsec;
static int accept_error;
static unsigned accepts_left;
static bool is_routed, is_slow;
static int route; /* -1: no listener */
/* Of datagrams. */
static struct failure {
	int error;
	unsigned times;
} receiving, sending;
static bool forges_port;

/* ---- time ---------------------------------------------------------------- */

void
world_begin(void)
{
	is_begun = true;
	now_msec = BEGIN_MSEC;
	work_nsec = 1000;
	thread_nsec = 0;
	accept_error = 0;
	is_routed = false;
	receiving.times = sending.times = 0;
	forges_port = false;
}

void
world_pass(uint64_t msec)
{
	now_msec += msec;
}

void
world_set_work(int64_t nsec)
{
	work_nsec = nsec;
}

int
world_gettime(clockid_t clock, struct timespec *now)
{
	switch (is_begun ? clock : CLOCK_REALTIME) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
		now->tv_sec = (time_t)(now_msec / 1000);
		now->tv_nsec = (long)(now_msec % 1000 * 1000000);
		return 0;
	case CLOCK_THREAD_CPUTIME_ID:
		thread_nsec += work_nsec;
		now->tv_sec = thread_nsec / NSEC;
		now->tv_nsec = thread_nsec % NSEC;
		return 0;
	default:
		/* Of the date alone; it does not come here again. */
		return timespec_get(now, TIME_UTC) == TIME_UTC ? 0 : -1;
	}
}

/* ---- streams ------------------------------------------------------------- */

static int
open_stream(void)
{
	int fd = (int)syscall(SYS_socket, AF_UNIX,
		SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	MUST(fd != -1);
	return fd;
}

/* Is it the address of a client? */
static bool
is_name(const struct name *name, socklen_t len)
{
	return len == sizeof(*name) && name->kind == 'c';
}

/* Binds a client's socket, and connects it. */
static int
join(int fd, int listener, const struct world_peer *peer)
{
	static unsigned number;
	struct name name;
	struct sockaddr_un there;
	socklen_t len = sizeof(there);

	memset(&name, 0, sizeof(name));
	name.family = AF_UNIX;
	name.kind = 'c';
	name.pid = getpid();
	name.number = number++;
	name.peer = *peer;
	MUST(bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0);
	MUST(getsockname(listener, (struct sockaddr *)&there, &len) == 0);
	return (int)syscall(SYS_connect, fd, &there, len);
}

int
world_listen(void)
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};
	int fd = open_stream();

	/* Binding without a name lets the system choose one. */
	MUST(bind(fd, (const struct sockaddr *)&any, sizeof(sa_family_t)) == 0
		&& listen(fd, 1024) == 0);
	return fd;
}

int
world_connect(int listener, const struct world_peer *peer)
{
	int fd = open_stream();

	if (join(fd, listener, peer) == 0)
		return fd;
	close(fd);
	return -1;
}

void
world_fail_accept(int error, unsigned after)
{
	accept_error = error;
	accepts_left = after;
}

void
world_set_route(int listener, bool slowly)
{
	is_slow = slowly;
	is_routed = true;
	route = listener;
}

int
world_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	const struct world_peer *peer;
	struct name name;
	socklen_t room = *len, have = sizeof(name);
	int client;

	if (accept_error != 0 && accepts_left-- == 0) {
		errno = accept_error;
		accept_error = 0;
		return -1;
	}
	client = (int)syscall(SYS_accept4, fd, &name, &have, flags);
	if (client == -1 || !is_name(&name, have))
		return client;
	peer = &name.peer;
	if (peer->room != 0)
		(void)setsockopt(client, SOL_SOCKET, SO_SNDBUF, &peer->room,
			sizeof(peer->room));
	*len = peer->address.sa.sa_family == AF_INET6
		? sizeof(peer->address.ip6) : sizeof(peer->address.ip4);
	memcpy(address, &peer->address, *len < room ? *len : room);
	return client;
}

/* Streams to any address are ours, where there is a route. */
int
world_socket(int domain, int type, int protocol)
{
	if (is_routed && (domain == AF_INET || domain == AF_INET6)
		&& (type & 0xf) == SOCK_STREAM)
		domain = AF_UNIX;
	return (int)syscall(SYS_socket, domain, type, protocol);
}

int
world_reach(int fd, const struct sockaddr *address, socklen_t len)
{
	struct world_peer peer = {.room = 0};
	int domain = 0;
	socklen_t domain_len = sizeof(domain);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_len) != 0
		|| domain != AF_UNIX || address->sa_family == AF_UNIX)
		return (int)syscall(SYS_connect, fd, address, len);
	if (route == -1) {
		errno = ECONNREFUSED;
		return -1;
	}
	peer.address.ip4.sin_family = AF_INET;
	if (join(fd, route, &peer) != 0)
		return -1;
	errno = EINPROGRESS;
	return is_slow ? -1 : 0;
}

/* ---- datagrams ----------------------------------------------------------- */

void
world_fail_receiving(int error, unsigned times)
{
	receiving = (struct failure){error, times};
}

void
world_fail_sending(int error, unsigned times)
{
	sending = (struct failure){error, times};
}

void
world_forge_port(bool forge)
{
	forges_port = forge;
}

static bool
must_fail(struct failure *failure)
{
	if (failure->times == 0)
		return false;
	failure->times--;
	errno = failure->error;
	return true;
}

int
world_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
	struct timespec *wait)
{
	int got;

	if (must_fail(&receiving))
		return -1;
	got = (int)syscall(SYS_recvmmsg, fd, messages, count, flags, wait);
	for (int i = 0; i < got && forges_port; i++)
		/* The port has the same offset in both address families. */
		((struct sockaddr_in *)messages[i].msg_hdr.msg_name)->sin_port
			= 0;
	return got;
}

int
world_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	if (must_fail(&sending))
		return -1;
	return (int)syscall(SYS_sendmmsg, fd, messages, count, flags);
}
