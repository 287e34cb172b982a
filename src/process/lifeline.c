/* lifeline.c - how a new server takes over from workers whose main is dead. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/lifeline.h"

#define LIFELINE_WAIT_MSEC 5000
/* Time to wait for a place in the queue. A worker without a main empties it at
 * once. */
#define LIFELINE_QUEUE_USEC 500000

/* The name is a hash (FNV-1a): a path may be longer than a socket's name. */
static socklen_t
lifeline_address(const char *key, struct sockaddr_un *address)
{
	uint64_t hash = 14695981039346656037u;
	int len;

	for (; *key != '\0'; key++)
		hash = (hash ^ (uint8_t)*key) * 1099511628211u;
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	len = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
		"nsd-lifeline-%016llx", (unsigned long long)hash);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1
		+ (size_t)len);
}

/* True if the process is there, has not ended, and is one of ours. */
static bool
lifeline_main_lives(pid_t pid)
{
	char path[32], text[128], *name, *end;
	ssize_t n;
	int fd;

	if (pid <= 0)
		return true; /* in another pid name space: left alone */
	if (kill(pid, 0) == -1 && errno == ESRCH)
		return false;
	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return errno != ENOENT;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return true;
	text[n] = '\0';
	/* "PID (NAME) STATE ...", see proc(5). */
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (name == NULL || end == NULL || end[1] != ' ')
		return true;
	/* Another program may have the number now. A process that has ended
	 * keeps its number until its parent has waited for it. */
	return strncmp(name + 1, "nsd", 3) == 0 && end[2] != 'Z'
		&& end[2] != 'X';
}

/* Asks one worker; true if there may be more to ask. */
static bool
lifeline_ask(const char *key, int wait_msec)
{
	struct sockaddr_un address;
	socklen_t len = lifeline_address(key, &address);
	struct ucred peer;
	socklen_t peer_len = sizeof(peer);
	bool again = false;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct timeval limit = {.tv_usec = LIFELINE_QUEUE_USEC};

	if (fd == -1)
		return false;
	/* A time-out: a stranger may have taken the name, and left the queue
	 * full. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0
		&& connect(fd, (struct sockaddr *)&address, len) == 0
		&& getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_len)
			== 0
		&& !lifeline_main_lives(peer.pid)) {
		if (peer.uid == 0 || peer.uid == geteuid())
			/* The connection ends with the worker. A worker that
			 * takes longer was there all the same. */
			again = poll(&p, 1, wait_msec) != -1;
		else
			log_warning("workers of another user's server are"
				    " left from process %ld",
				(long)peer.pid);
	}
	close(fd);
	return again;
}

bool
lifeline_take_over(const char *key)
{
	int64_t end = clock_now_msec() + LIFELINE_WAIT_MSEC;
	int64_t left = LIFELINE_WAIT_MSEC;
	bool asked = false;

	while (left > 0 && lifeline_ask(key, (int)left)) {
		asked = true;
		left = end - clock_now_msec();
	}
	if (asked && left > 0)
		log_notice("took over from servers whose main process was"
			   " gone");
	else if (asked)
		log_warning("servers whose main process is gone were asked to"
			    " end, and have not all done so in %d seconds",
			LIFELINE_WAIT_MSEC / 1000);
	return asked;
}

int
lifeline_open(const char *key)
{
	struct sockaddr_un address;
	socklen_t len = lifeline_address(key, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		0);

	if (fd != -1 && bind(fd, (struct sockaddr *)&address, len) == 0
		&& listen(fd, 16) == 0)
		return fd;
	log_warning("cannot make the lifeline: %s", strerror(errno));
	if (fd != -1)
		close(fd);
	return -1;
}

bool
lifeline_accept(int lifeline)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fd = accept4(lifeline, NULL, NULL, SOCK_CLOEXEC);

	if (fd == -1)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0
		&& (peer.uid == 0 || peer.uid == geteuid()))
		return true;
	close(fd);
	return false;
}
