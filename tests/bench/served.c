/*
 * served.c - waits until a server on loopback serves all of some zones, and
 * keeps it busy as little as that allows. Prints one line of JSON.
 *
 *	served [-t SEC] PORT NAMES
 *	  -t SEC   gives up after (600)
 *
 * NAMES has a name a line. Each is asked for its SOA until that comes: a few of
 * them at a time, in their order, and again after some milliseconds. "at" is
 * the time when the last one came, by the clock that counts from the start of
 * the system.
 */
#include "config.h"

#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_NS UINT64_C(5000000)
#define SEC_NS UINT64_C(1000000000)
#define SLOTS 16u
#define PACKET_MAX 512u
#define TYPE_SOA 6

/* A name that is asked for; its slot's number is in the id. */
struct slot {
	uint64_t due_ns;  /* when it is asked for again */
	uint16_t id;
	uint16_t len;     /* 0: there is no name for it any more */
	uint8_t query[PACKET_MAX];
};

static double limit_sec = 600;
static FILE *names;
static int fd = -1;
static struct slot slots[SLOTS];
static unsigned waiting; /* slots with a name */
static uint64_t asked, served, last_ns;
static uint16_t round_id;

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SEC_NS + (uint64_t)now.tv_nsec;
}

/* ---- the names ----------------------------------------------------------- */

static uint16_t
write_query(uint8_t *query, const char *name)
{
	static const uint8_t head[12] = {[5] = 1};
	static const uint8_t tail[5] = {[2] = TYPE_SOA, [4] = 1};
	uint8_t *at = query;

	memcpy(at, head, sizeof(head));
	at += sizeof(head);
	while (*name != '\0') {
		size_t len = strcspn(name, ".");

		*at++ = (uint8_t)len;
		memcpy(at, name, len);
		at += len;
		name += len + (name[len] == '.');
	}
	memcpy(at, tail, sizeof(tail));
	return (uint16_t)(at + sizeof(tail) - query);
}

/* The next name is asked for in a slot, at once. */
static void
take_name(struct slot *slot)
{
	char line[300];

	slot->len = 0;
	if (fgets(line, sizeof(line), names) == NULL) {
		waiting--;
		return;
	}
	line[strcspn(line, "\n")] = '\0';
	slot->len = write_query(slot->query, line);
	slot->due_ns = 0;
}

/* ---- questions and answers ----------------------------------------------- */

static void
open_socket(uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (fd == -1 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		err(1, "socket");
}

/* Returns when the next one is due. */
static uint64_t
ask_due(uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (unsigned i = 0; i < SLOTS; i++) {
		struct slot *slot = &slots[i];

		if (slot->len == 0)
			continue;
		if (slot->due_ns <= now) {
			slot->id = (uint16_t)(round_id++ * SLOTS + i);
			slot->query[0] = (uint8_t)(slot->id >> 8);
			slot->query[1] = (uint8_t)slot->id;
			slot->due_ns = now + AGAIN_NS;
			/* A send fails while the server does not listen yet. */
			asked += send(fd, slot->query, slot->len, 0) > 0;
		}
		if (slot->due_ns < next)
			next = slot->due_ns;
	}
	return next;
}

static bool
is_answer(const struct slot *slot, const uint8_t *reply, ssize_t len)
{
	return slot->len != 0 && len > (ssize_t)slot->len
		&& memcmp(reply, slot->query, 2) == 0
		&& (reply[2] & 0x80) != 0 && (reply[3] & 15) == 0
		&& reply[7] != 0
		&& memcmp(reply + 12, slot->query + 12, slot->len - 12u) == 0;
}

/* False: no packet has come. */
static bool
hear(void)
{
	uint8_t reply[4096];
	ssize_t len = recv(fd, reply, sizeof(reply), 0);
	struct slot *slot;

	if (len < 2)
		return false;
	slot = &slots[reply[1] % SLOTS];
	if (is_answer(slot, reply, len)) {
		served++;
		last_ns = now_ns();
		take_name(slot);
	}
	return true;
}

static void
run(void)
{
	uint64_t begin = now_ns(), now = begin;

	while (waiting > 0 && (double)(now - begin) < limit_sec * 1e9) {
		uint64_t next = ask_due(now), left = next - now;
		struct pollfd one = {.fd = fd, .events = POLLIN};
		struct timespec wait = {.tv_sec = (time_t)(left / SEC_NS),
			.tv_nsec = (long)(left % SEC_NS)};

		ppoll(&one, 1, &wait, NULL);
		while (hear())
			;
		now = now_ns();
	}
}

int
main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:")) != -1) {
		if (c != 't')
			exit(2);
		limit_sec = atof(optarg);
	}
	if (argc - optind != 2)
		errx(2, "usage: served [-t SEC] PORT NAMES");
	names = fopen(argv[optind + 1], "r");
	if (names == NULL)
		err(1, "%s", argv[optind + 1]);
	open_socket((uint16_t)atoi(argv[optind]));
	waiting = SLOTS;
	for (unsigned i = 0; i < SLOTS; i++)
		take_name(&slots[i]);
	run();
	printf("{\"all\":%s,\"served\":%llu,\"asked\":%llu,\"at\":%.6f}\n",
		waiting == 0 ? "true" : "false", (unsigned long long)served,
		(unsigned long long)asked, (double)last_ns / 1e9);
	return 0;
}
