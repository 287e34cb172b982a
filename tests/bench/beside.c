/* beside.c - see beside.h. */
#include "config.h"

#include "beside.h"

#include <arpa/inet.h>
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "latency.h"

/* The time from one question to the next. */
#define EACH_NS 250000u
/* An answer that takes longer says that something stood still. */
#define SLOW_NS 500000u
/* Questions without an answer that are remembered. */
#define OPEN_MAX 4096u

struct span {
	uint64_t from_ns;
	uint64_t to_ns;
};

static int echo_fd = -1;
static uint64_t asked_ns, longest_ns;
static uint32_t number;
static uint64_t open_ns[OPEN_MAX]; /* when it was asked; 0: answered */
static struct span *spans;         /* in order and apart, once it is closed */
static size_t count, room;

void
beside_open(uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};

	echo_fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (echo_fd == -1
		|| connect(echo_fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		err(1, "echo");
	latency_enable(echo_fd);
}

static void
add(uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns < from_ns)
		return;
	if (to_ns - from_ns > longest_ns)
		longest_ns = to_ns - from_ns;
	if (to_ns - from_ns < SLOW_NS)
		return;
	if (count == room) {
		room = room * 2 + 1024;
		spans = realloc(spans, room * sizeof(*spans));
		if (spans == NULL)
			err(1, NULL);
	}
	spans[count++] = (struct span){from_ns, to_ns};
}

/* Takes an answer. False: there is none. */
static bool
hear(void)
{
	_Alignas(struct cmsghdr) uint8_t control[64];
	uint32_t at;
	struct iovec iov = {&at, sizeof(at)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control)};

	if (recvmsg(echo_fd, &msg, 0) != (ssize_t)sizeof(at))
		return false;
	at %= OPEN_MAX;
	if (open_ns[at] != 0)
		add(open_ns[at], latency_heard_ns(&msg));
	open_ns[at] = 0;
	return true;
}

void
beside_turn(void)
{
	uint64_t now = latency_now_ns();

	if (echo_fd == -1)
		return;
	while (hear())
		;
	if (now - asked_ns < EACH_NS)
		return;
	asked_ns = now;
	number++;
	open_ns[number % OPEN_MAX] = now;
	if (send(echo_fd, &number, sizeof(number), 0) == -1)
		open_ns[number % OPEN_MAX] = 0;
}

static int
compare(const void *a, const void *b)
{
	const struct span *s = a, *t = b;

	return (s->from_ns > t->from_ns) - (s->from_ns < t->from_ns);
}

/* Joins what overlaps. */
static void
join(void)
{
	size_t kept = 0;

	if (count == 0)
		return;
	qsort(spans, count, sizeof(*spans), compare);
	for (size_t i = 1; i < count; i++) {
		if (spans[i].from_ns > spans[kept].to_ns)
			spans[++kept] = spans[i];
		else if (spans[i].to_ns > spans[kept].to_ns)
			spans[kept].to_ns = spans[i].to_ns;
	}
	count = kept + 1;
}

void
beside_close(void)
{
	if (echo_fd == -1)
		return;
	while (hear())
		;
	close(echo_fd);
	join();
}

bool
beside_is_asked(void)
{
	return echo_fd != -1;
}

uint64_t
beside_stood_ns(uint64_t from_ns, uint64_t to_ns)
{
	size_t low = 0, high = count;
	uint64_t sum = 0;

	/* The first that ends later. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spans[middle].to_ns <= from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && spans[low].from_ns < to_ns; low++) {
		uint64_t from = spans[low].from_ns > from_ns
			? spans[low].from_ns : from_ns;
		uint64_t to = spans[low].to_ns < to_ns ? spans[low].to_ns
						       : to_ns;

		sum += to - from;
	}
	return sum;
}

void
beside_print(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += spans[i].to_ns - spans[i].from_ns;
	printf(",\"stood_max\":%.1f,\"stood\":%.1f", (double)longest_ns / 1e3,
		(double)sum / 1e3);
}
