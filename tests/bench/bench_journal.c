/*
 * bench_journal.c - how fast a journal is: small transfers that come at a rate,
 * as many as go, a whole zone, and a folder of many entries that is read.
 *
 * usage: bench_journal FOLDER [RATE [SECONDS [ZONE-MIB [ENTRIES]]]]
 * The folder is made, and left; it should be on the disk that is asked about.
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "journal/journal.h"
#include "journal/journal_index.h"

#define TEXT 400u /* octets of a difference of some records */
#define ZONES 1000u

static struct journal *journal;
static int64_t *sent_usec; /* by id */
static uint32_t *waits;    /* microseconds */
static size_t wait_count;

static void
must(bool condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	exit(1);
}

static const uint8_t *
apex_of(uint64_t zone)
{
	static char name[16];

	name[0] = (char)snprintf(name + 1, 14, "z%u", (unsigned)zone);
	return (const uint8_t *)name;
}

static void
send(uint64_t zone, uint32_t to, const uint8_t *text, size_t len)
{
	const struct journal_end end = {.kind = JOURNAL_DIFFS, .from = to - 1,
		.to = to, .source = "192.0.2.1 TSIG verified with key k."};
	struct journal_transfer *t = journal_begin(journal, apex_of(zone));
	uint64_t id;

	must(t != NULL && journal_put(t, text, len) == NSD_OK, "put");
	id = journal_end(t, &end);
	sent_usec[id] = clock_now_usec();
}

/* Hears what is durable; waits for something so long. */
static size_t
hear(int64_t usec)
{
	struct pollfd pollfd = {.fd = journal_fd(journal), .events = POLLIN};
	struct timespec left = {usec / 1000000, usec % 1000000 * 1000};
	struct journal_done done;
	size_t count = 0;

	if (usec > 0)
		(void)ppoll(&pollfd, 1, &left, NULL);
	while (journal_next(journal, &done)) {
		must(done.err == NSD_OK, "commit");
		waits[wait_count++] = (uint32_t)(clock_now_usec()
			- sent_usec[done.id]);
		journal_forget(journal, done.apex, done.entry.to);
		count++;
	}
	return count;
}

/* Processor time of all threads, so that others on the machine count less. */
static double
cpu_sec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
compare_waits(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
report(const char *what, int64_t usec, uint64_t syncs)
{
	struct journal_usage usage;

	journal_get_usage(journal, &usage);
	qsort(waits, wait_count, sizeof(*waits), compare_waits);
	printf("%s: %.0f entries/s, %.0f flushes/s; durable after ms: "
	       "median %.2f, p99 %.2f, most %.2f; %.1f MiB on disk\n", what,
		(double)wait_count * 1e6 / (double)usec,
		(double)(usage.syncs - syncs) * 1e6 / (double)usec,
		waits[wait_count / 2] / 1e3, waits[wait_count * 99 / 100] / 1e3,
		waits[wait_count - 1] / 1e3,
		(double)usage.disk_octets / 1048576);
	wait_count = 0;
}

static void
at_a_rate(unsigned rate, unsigned seconds, const uint8_t *text)
{
	struct journal_usage usage;
	int64_t start = clock_now_usec();
	uint32_t count = rate * seconds, i = 0;
	size_t heard = 0;

	journal_get_usage(journal, &usage);
	while (heard < count) {
		int64_t now = clock_now_usec(), due;

		while (i < count && (due = start
			+ (int64_t)i * 1000000 / rate) <= now) {
			send(i % ZONES, i / ZONES + 1, text, TEXT);
			i++;
		}
		due = start + (int64_t)i * 1000000 / rate;
		heard += hear(i == count ? 1000000 : due > now ? due - now : 0);
	}
	report("at a rate", clock_now_usec() - start, usage.syncs);
}

static void
as_many_as_go(uint32_t count, const uint8_t *text)
{
	struct journal_usage usage;
	int64_t start = clock_now_usec();
	size_t heard = 0;

	journal_get_usage(journal, &usage);
	for (uint32_t i = 0; i < count || heard < count;) {
		while (i < count && i - heard < 500) {
			send(i % ZONES, i / ZONES + 1, text, TEXT);
			i++;
		}
		heard += hear(1000000);
	}
	report("500 at a time", clock_now_usec() - start, usage.syncs);
}

static void
whole_zone(unsigned mib)
{
	static uint8_t piece[65536];
	const struct journal_end end = {.kind = JOURNAL_WHOLE, .to = 1};
	int64_t start = clock_now_usec(), put;
	struct journal_transfer *t = journal_begin(journal, apex_of(0));
	struct journal_done done;

	memset(piece, 'x', sizeof(piece));
	for (uint64_t i = 0; i < (uint64_t)mib * 16; i++) {
		while (journal_is_full(journal))
			(void)hear(100000);
		must(journal_put(t, piece, sizeof(piece)) == NSD_OK, "put");
	}
	(void)!journal_end(t, &end);
	put = clock_now_usec();
	while (!journal_next(journal, &done))
		(void)poll(&(struct pollfd){.fd = journal_fd(journal),
			.events = POLLIN}, 1, 1000);
	must(done.err == NSD_OK, "whole zone");
	printf("whole zone of %u MiB: %.0f MiB/s until it is put, %.0f MiB/s "
	       "until it is durable\n", mib,
		mib * 1e6 / (double)(put - start),
		mib * 1e6 / (double)(clock_now_usec() - start));
	journal_drop(journal, apex_of(0));
}

static void
read_many(const char *path, uint32_t count, const uint8_t *text)
{
	struct journal_options options = {.path = path};
	struct journal_index *index;
	struct journal_done done;
	int64_t start;
	double cpu;
	size_t heard = 0;
	int dirfd;

	for (uint32_t i = 0; i < count || heard < count;) {
		while (i < count && i - heard < 20000)
			send(i++, 1, text, TEXT);
		(void)poll(&(struct pollfd){.fd = journal_fd(journal),
			.events = POLLIN}, 1, 1000);
		while (journal_next(journal, &done))
			heard++;
	}
	journal_close(journal);
	dirfd = open(path, O_RDONLY | O_DIRECTORY);
	start = clock_now_usec();
	cpu = cpu_sec();
	must(journal_index_open(dirfd, NULL, &index) == NSD_OK, "index");
	printf("%llu entries of %u zones: read in %.2f s (processor %.2f)",
		(unsigned long long)journal_index_count(index), count,
		(double)(clock_now_usec() - start) / 1e6, cpu_sec() - cpu);
	journal_index_close(index);
	start = clock_now_usec();
	cpu = cpu_sec();
	must(journal_open(&options, NULL, &journal) == NSD_OK, "open");
	printf(", by the writer in %.2f s (%.2f)\n",
		(double)(clock_now_usec() - start) / 1e6, cpu_sec() - cpu);
	close(dirfd);
}

static unsigned
argument(int argc, char *argv[], int i, unsigned otherwise)
{
	return argc > i ? (unsigned)strtoul(argv[i], NULL, 10) : otherwise;
}

int
main(int argc, char *argv[])
{
	struct journal_options options = {.path = argv[1]};
	unsigned rate = argument(argc, argv, 2, 1000);
	unsigned seconds = argument(argc, argv, 3, 10);
	unsigned mib = argument(argc, argv, 4, 512);
	unsigned entries = argument(argc, argv, 5, 1000000);
	static uint8_t text[TEXT];
	size_t most = (size_t)rate * seconds + entries + 100100;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_journal FOLDER [RATE [SECONDS "
			"[ZONE-MIB [ENTRIES]]]]\n");
		return 2;
	}
	sent_usec = calloc(most, sizeof(*sent_usec));
	waits = calloc(most, sizeof(*waits));
	must(sent_usec != NULL && waits != NULL, "memory");
	must(journal_open(&options, NULL, &journal) == NSD_OK, argv[1]);
	memset(text, 'r', sizeof(text));
	at_a_rate(rate, seconds, text);
	as_many_as_go(100000, text);
	whole_zone(mib);
	read_many(argv[1], entries, text);
	journal_close(journal);
	free(sent_usec);
	free(waits);
	return 0;
}
