/*
 * chaos_ask.c - asks a server on loopback at a steady rate, whatever becomes of
 * it, and checks each answer against the versions that were ever published.
 *
 * usage: chaos_ask PORT RATE ZONES FILE
 *
 * Zone zI.test has in version N, for N from 1 on: the serial N; N in the low 24
 * bits of two addresses of www and of one of ns, the name server; and N in two
 * strings of txt. So all that a message says must be of one version. FILE holds
 * ZONES numbers of 32 bits, the highest version of each that may have been
 * published, and one more: not 0 while no answer is expected. Somebody else
 * writes them.
 *
 * Ends on SIGTERM with a line of JSON. Exit status 1: an answer was wrong, and
 * it was said on stderr how.
 */
#include "config.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS 32u
#define ZONES_MAX 16u
#define KINDS 4u
#define QUERY_MAX 64u
#define REPLY_MAX 4096u
#define STEP_MSEC 2
/* Beside the server an echo is asked, a process that only sends back what it
 * gets. While that takes longer than this, or we do, the machine has no
 * processor for anybody, and time counts as no more. */
#define STEP_MAX_MSEC 10.0
#define MISSED_MAX 500
#define TOLD_MSEC 1000.0
#define WRONG_TOLD 20u

enum kind { WWW, TXT, SOA, NONE };
enum { TYPE_A = 1, TYPE_NS = 2, TYPE_SOA = 6, TYPE_TXT = 16 };

static const struct {
	const char *label;
	uint16_t type;
	uint8_t rcode;
	uint16_t records; /* in the answer */
} kinds[KINDS] = {
	[WWW] = {"www", TYPE_A, 0, 2},
	[TXT] = {"txt", TYPE_TXT, 0, 2},
	[SOA] = {NULL, TYPE_SOA, 0, 1},
	[NONE] = {"none", TYPE_A, 3, 0},
};

struct query {
	uint8_t wire[QUERY_MAX];
	size_t len;
	enum kind kind;
	unsigned zone;
};

struct asker {
	struct query queries[ZONES_MAX * KINDS];
	unsigned zones, count, ids; /* ids: a multiple of count */
	const volatile uint32_t *newest, *away;
	struct pollfd sockets[SOCKETS + 1]; /* the last one: to the echo */
	uint64_t sent, answered, failed, wrong;
	bool echoed;     /* the echo has come back */
	unsigned missed; /* steps since it was asked */
	double since;    /* milliseconds since then, as far as they count */
	/* Milliseconds in which there was a processor. */
	double now, last, gap;
	double began; /* of the clock */
};

static volatile sig_atomic_t stopped;

static void
on_term(int number)
{
	stopped = number;
}

static double
clock_msec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- queries ------------------------------------------------------------- */

static uint8_t *
write_label(uint8_t *at, const char *text)
{
	*at++ = (uint8_t)strlen(text);
	memcpy(at, text, strlen(text));
	return at + strlen(text);
}

static void
make_query(struct query *q, unsigned zone, enum kind kind)
{
	uint8_t *at = q->wire + 12;
	char label[16];

	memset(q->wire, 0, sizeof(q->wire));
	q->wire[5] = 1;
	if (kinds[kind].label != NULL)
		at = write_label(at, kinds[kind].label);
	snprintf(label, sizeof(label), "z%u", zone);
	at = write_label(at, label);
	at = write_label(at, "test");
	at += 2; /* the root, and the type's first octet */
	*at = (uint8_t)kinds[kind].type;
	at[2] = 1;
	q->len = (size_t)(at + 3 - q->wire);
	q->zone = zone;
	q->kind = kind;
}

static void
ask(struct asker *a)
{
	unsigned id = (unsigned)(a->sent % a->ids);
	struct query *q = &a->queries[id % a->count];
	unsigned to = (unsigned)(a->sent % SOCKETS);

	q->wire[0] = (uint8_t)(id >> 8);
	q->wire[1] = (uint8_t)id;
	/* Refused or lost: it shows as a gap. */
	(void)send(a->sockets[to].fd, q->wire, q->len, MSG_DONTWAIT);
	a->sent++;
}

/* ---- the echo ------------------------------------------------------------ */

static _Noreturn void
echo(int fd)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	char octet;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!stopped) {
		if (recvfrom(fd, &octet, 1, 0, (struct sockaddr *)&from, &len)
			== 1)
			(void)sendto(fd, &octet, 1, 0,
				(struct sockaddr *)&from, len);
	}
	_exit(0);
}

/* Starts it; returns a socket that is connected to it. */
static int
open_echo(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int theirs = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ours = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		0);

	if (theirs == -1 || ours == -1
		|| bind(theirs, (struct sockaddr *)&at, len) != 0
		|| getsockname(theirs, (struct sockaddr *)&at, &len) != 0
		|| connect(ours, (struct sockaddr *)&at, len) != 0)
		err(1, "the echo");
	switch (fork()) {
	case -1:
		err(1, "the echo");
	case 0:
		echo(theirs);
	}
	close(theirs);
	return ours;
}

/* A step of ours has passed: counts it once the echo has come. */
static void
count_time(struct asker *a, double step)
{
	a->since += step;
	if (a->since > STEP_MAX_MSEC)
		a->since = STEP_MAX_MSEC;
	/* A lost echo must not stop the clock. */
	if (a->since < STEP_MSEC || (!a->echoed && ++a->missed < MISSED_MAX))
		return;
	a->now += a->since;
	a->since = 0;
	a->missed = 0;
	a->echoed = send(a->sockets[SOCKETS].fd, "", 1, MSG_DONTWAIT) != 1;
}

/* ---- answers ------------------------------------------------------------- */

struct reply {
	const uint8_t *wire;
	size_t len, at;
	bool broken;
	uint32_t version; /* 0: none seen */
	bool mixed;       /* two were */
};

static uint32_t
take(struct reply *r, unsigned octets)
{
	uint32_t value = 0;

	if (r->broken || r->len - r->at < octets) {
		r->broken = true;
		return 0;
	}
	while (octets-- > 0)
		value = value << 8 | r->wire[r->at++];
	return value;
}

static void
skip(struct reply *r, size_t octets)
{
	if (r->broken || r->len - r->at < octets)
		r->broken = true;
	else
		r->at += octets;
}

static void
skip_name(struct reply *r)
{
	while (!r->broken) {
		uint32_t len = take(r, 1);

		if (len >= 0xc0)
			skip(r, 1);
		if (len == 0 || len >= 0xc0)
			return;
		skip(r, len);
	}
}

static void
note_version(struct reply *r, uint32_t version)
{
	if (r->version != 0 && r->version != version)
		r->mixed = true;
	if (version == 0)
		r->broken = true;
	r->version = version;
}

static void
take_record(struct reply *r)
{
	uint32_t type, len;
	size_t end;
	char text[16];

	skip_name(r);
	type = take(r, 2);
	skip(r, 6);
	len = take(r, 2);
	end = r->at + len;
	if (r->broken || end > r->len || len > 255) {
		r->broken = true;
		return;
	}
	if (type == TYPE_A) {
		note_version(r, take(r, 4) & 0xffffff);
	} else if (type == TYPE_SOA) {
		skip_name(r);
		skip_name(r);
		note_version(r, take(r, 4));
	} else if (type == TYPE_TXT) {
		skip(r, 2); /* length, and a letter */
		snprintf(text, sizeof(text), "%.*s",
			len > 2 ? (int)len - 2 : 0, r->wire + r->at);
		note_version(r, (uint32_t)strtoul(text, NULL, 10));
	}
	r->at = end;
}

/* Describes the fault of an answer; NULL: none. */
static const char *
find_fault(const struct asker *a, const struct query *q, struct reply *r)
{
	uint32_t count;

	if (r->len < q->len || memcmp(r->wire + 12, q->wire + 12,
		    q->len - 12) != 0)
		return "another question";
	if ((r->wire[2] & 0x84) != 0x84)
		return "no authoritative answer";
	if ((r->wire[3] & 15) != kinds[q->kind].rcode)
		return "another RCODE";
	r->at = 6;
	count = take(r, 2);
	if (count != kinds[q->kind].records)
		return "more or fewer records";
	count += take(r, 2);
	count += take(r, 2);
	r->at = q->len;
	while (count-- > 0 && !r->broken)
		take_record(r);
	if (r->broken || r->at != r->len || r->version == 0)
		return "a broken message";
	if (r->mixed)
		return "two versions in one";
	if (r->version > a->newest[q->zone])
		return "a version that was never published";
	return NULL;
}

static void
tell_wrong(const struct asker *a, const char *what, const struct reply *r)
{
	if (a->wrong > WRONG_TOLD)
		return;
	fprintf(stderr, "wrong answer: %s:", what);
	for (size_t i = 0; i < r->len; i++)
		fprintf(stderr, " %02x", r->wire[i]);
	fprintf(stderr, "\n");
}

static void
take_answer(struct asker *a, const uint8_t *wire, size_t len)
{
	struct reply r = {.wire = wire, .len = len};
	const struct query *q;
	const char *fault;

	if (len < 12)
		return;
	q = &a->queries[((unsigned)wire[0] << 8 | wire[1]) % a->count];
	if ((wire[3] & 15) == 2) {
		/* The zone could not be read: no answer, and not wrong. */
		a->failed++;
		return;
	}
	fault = find_fault(a, q, &r);
	if (fault != NULL) {
		a->wrong++;
		tell_wrong(a, fault, &r);
		return;
	}
	a->answered++;
	if (a->now - a->last > TOLD_MSEC) {
		struct timespec t;

		clock_gettime(CLOCK_REALTIME, &t);
		fprintf(stderr, "%lld.%03ld no answer for %.0f ms\n",
			(long long)t.tv_sec, t.tv_nsec / 1000000,
			a->now - a->last);
	}
	if (a->now - a->last > a->gap)
		a->gap = a->now - a->last;
	a->last = a->now;
}

static void
receive(struct asker *a)
{
	static uint8_t wire[REPLY_MAX];
	ssize_t got;

	if (poll(a->sockets, SOCKETS + 1, STEP_MSEC) <= 0)
		return;
	if (a->sockets[SOCKETS].revents != 0
		&& recv(a->sockets[SOCKETS].fd, wire, sizeof(wire),
			   MSG_DONTWAIT)
			== 1)
		a->echoed = true;
	for (unsigned i = 0; i < SOCKETS; i++)
		while (a->sockets[i].revents != 0
			&& (got = recv(a->sockets[i].fd, wire, sizeof(wire),
				    MSG_DONTWAIT)) >= 0)
			take_answer(a, wire, (size_t)got);
}

/* ---- the whole ----------------------------------------------------------- */

static void
run(struct asker *a, double rate)
{
	double before = clock_msec(), due = 0, step;

	a->began = before;
	while (!stopped) {
		step = clock_msec() - before;
		before += step;
		if (step > STEP_MAX_MSEC)
			step = STEP_MAX_MSEC;
		count_time(a, step);
		if (*a->away != 0)
			a->last = a->now;
		for (due += step * rate / 1e3; due >= 1; due--)
			ask(a);
		receive(a);
	}
	if (a->now - a->last > a->gap)
		a->gap = a->now - a->last;
}

static void
open_all(struct asker *a, uint16_t port, const char *path)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	a->newest = mmap(NULL, (a->zones + 1) * sizeof(*a->newest), PROT_READ,
		MAP_SHARED, fd, 0);
	if (fd == -1 || a->newest == MAP_FAILED)
		err(1, "%s", path);
	close(fd);
	a->away = a->newest + a->zones;
	for (unsigned i = 0; i < SOCKETS; i++) {
		a->sockets[i].events = POLLIN;
		a->sockets[i].fd = socket(AF_INET,
			SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (a->sockets[i].fd == -1
			|| connect(a->sockets[i].fd, (struct sockaddr *)&to,
				   sizeof(to)) != 0)
			err(1, "socket");
	}
	a->sockets[SOCKETS] = (struct pollfd){.fd = open_echo(),
		.events = POLLIN};
	a->echoed = true;
	for (unsigned z = 0; z < a->zones; z++)
		for (unsigned k = 0; k < KINDS; k++)
			make_query(&a->queries[a->count++], z, (enum kind)k);
	a->ids = 65536 / a->count * a->count;
}

int
main(int argc, char **argv)
{
	static struct asker a;
	struct sigaction action = {.sa_handler = on_term};

	if (argc != 5)
		errx(2, "usage: chaos_ask PORT RATE ZONES FILE");
	a.zones = (unsigned)strtoul(argv[3], NULL, 10);
	if (a.zones == 0 || a.zones > ZONES_MAX)
		errx(2, "1 to %u zones", ZONES_MAX);
	sigaction(SIGTERM, &action, NULL);
	open_all(&a, (uint16_t)strtoul(argv[1], NULL, 10), argv[4]);
	run(&a, strtod(argv[2], NULL));
	printf("{\"sent\": %llu, \"answered\": %llu, \"failed\": %llu,"
	       " \"wrong\": %llu, \"seconds\": %.1f, \"counted\": %.1f,"
	       " \"gap_ms\": %.0f}\n",
		(unsigned long long)a.sent, (unsigned long long)a.answered,
		(unsigned long long)a.failed, (unsigned long long)a.wrong,
		(clock_msec() - a.began) / 1e3, a.now / 1e3, a.gap);
	return a.wrong > 0;
}
