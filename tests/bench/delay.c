/*
 * delay.c - a long path between two network namespaces, where the kernel has no
 * netem: two TUN interfaces, and each packet that is sent into one of them
 * comes out of the other after a time. As root.
 *
 *	delay USEC NAME1 NAME2
 *
 * Makes the interfaces, prints "ready" and forwards until SIGTERM or SIGINT;
 * then it prints how many packets passed, and were dropped because too many
 * were under way, as a line of JSON. Whoever starts it moves the interfaces to
 * where they belong: they stay connected.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/if_tun.h>

#define PACKET_MAX 2048
#define UNDER_WAY (1u << 16)
#define BURST 64

struct packet {
	uint64_t due_ns;
	uint16_t len;
	uint8_t octets[PACKET_MAX];
};

/* One direction: a ring of packets in the order in which they are due. */
struct direction {
	int from, to;
	struct packet *ring;
	uint64_t begin, end; /* modulo UNDER_WAY */
};

static uint64_t passed, dropped;
static volatile sig_atomic_t is_over;

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
on_signal(int number)
{
	(void)number;
	is_over = 1;
}

static int
tun_open(const char *name)
{
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct ifreq request;

	if (fd == -1)
		err(1, "/dev/net/tun");
	memset(&request, 0, sizeof(request));
	request.ifr_flags = IFF_TUN | IFF_NO_PI;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &request) != 0)
		err(1, "%s", name);
	return fd;
}

/* Takes what has been sent into an interface. */
static void
take_packets(struct direction *w, uint64_t delay_ns)
{
	uint64_t due = now_ns() + delay_ns;

	for (int i = 0; i < BURST; i++) {
		struct packet *p = &w->ring[w->end % UNDER_WAY];
		uint8_t lost[PACKET_MAX];
		bool full = w->end - w->begin == UNDER_WAY;
		ssize_t got = read(w->from, full ? lost : p->octets,
			PACKET_MAX);

		if (got <= 0)
			return;
		dropped += full;
		if (full)
			continue;
		p->len = (uint16_t)got;
		p->due_ns = due;
		w->end++;
	}
}

/* Hands over what is due. Returns when the next is; UINT64_MAX: never. */
static uint64_t
give_packets(struct direction *w)
{
	uint64_t now = now_ns();

	while (w->begin < w->end) {
		const struct packet *p = &w->ring[w->begin % UNDER_WAY];

		if (p->due_ns > now)
			return p->due_ns;
		if (write(w->to, p->octets, p->len) == p->len)
			passed++;
		else
			dropped++;
		w->begin++;
	}
	return UINT64_MAX;
}

static void
wait_until(const struct direction *ways, uint64_t due)
{
	struct pollfd wait[2] = { { .fd = ways[0].from, .events = POLLIN },
		{ .fd = ways[1].from, .events = POLLIN } };
	uint64_t now = now_ns();
	struct timespec rest = { .tv_sec = 1 };

	if (due <= now)
		rest.tv_sec = 0;
	else if (due - now < 1000000000)
		rest = (struct timespec){ .tv_nsec = (long)(due - now) };
	ppoll(wait, 2, &rest, NULL);
}

static uint64_t
parse_usec(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (end == text || *end != '\0' || number > 10000000)
		errx(1, "%s: not microseconds, ten seconds at most", text);
	return number;
}

int
main(int argc, char **argv)
{
	struct direction ways[2];
	uint64_t delay_ns, due[2];

	if (argc != 4)
		errx(2, "usage: delay USEC NAME1 NAME2");
	delay_ns = parse_usec(argv[1]) * 1000;
	memset(ways, 0, sizeof(ways));
	ways[0].from = ways[1].to = tun_open(argv[2]);
	ways[1].from = ways[0].to = tun_open(argv[3]);
	for (int i = 0; i < 2; i++) {
		ways[i].ring = malloc(UNDER_WAY * sizeof(struct packet));
		if (ways[i].ring == NULL)
			err(1, NULL);
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	puts("ready");
	fflush(stdout);
	while (!is_over) {
		for (int i = 0; i < 2; i++)
			take_packets(&ways[i], delay_ns);
		for (int i = 0; i < 2; i++)
			due[i] = give_packets(&ways[i]);
		wait_until(ways, due[0] < due[1] ? due[0] : due[1]);
	}
	printf("{\"passed\":%llu,\"dropped\":%llu}\n",
		(unsigned long long)passed, (unsigned long long)dropped);
	return 0;
}
