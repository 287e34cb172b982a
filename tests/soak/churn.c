/* churn.c - many thousands of updates, and nothing grows.
 *
 * usage: churn [--updates N] [--zones N] [--seed N]
 *
 * Zones are built, replaced, changed by transactions, removed and added; a
 * reader pins a version now and then, for a while. In the end all have the
 * contents that they were loaded with, and once more are made anew, as the
 * loader does when it is idle: the memory of the store must be within 5 % of
 * what it was then, and that of the process but for half a MiB. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/platform.h"
#include "lib/store_check.h"
#include "soak/zones.h"
#include "store/writer.h"

/* Memory that the process's allocator and the table of holes may take above the
 * level after the load, however many updates there were. */
#define PROCESS_MORE ((uint64_t)512 << 10)

/* A sanitizer keeps what is freed for a while. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

struct churn {
	uint64_t updates, seed, rng;
	unsigned zones;
	struct store *store;
	struct store_writer *writer;
	struct store_reader *reader;
	struct zones_check *check;
};

struct measure {
	struct store_stats stats;
	uint64_t process; /* octets: private memory, and its share */
};

static _Noreturn void
fail(const char *what)
{
	printf("FAILED: %s\n", what);
	exit(1);
}

/* Memory of this process, but not the store's, which is counted apart. */
static uint64_t
process_memory(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	unsigned long long kib, sum = 0;
	char line[256];

	if (f == NULL)
		fail("cannot open /proc/self/smaps_rollup");
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "Pss_Anon: %llu kB", &kib) == 1)
			sum += kib * 1024;
	fclose(f);
	return sum;
}

static struct measure
measure(struct churn *c, const char *when)
{
	size_t used, kept;
	struct measure m;

	if (store_reclaim(c->writer) != 0)
		fail("something is retired and nobody reads it");
	store_trim(c->writer);
	platform_heap_trim();
	store_get_stats(c->writer, &m.stats);
	m.process = process_memory();
	(void)platform_heap_measure(&used, &kept); /* 0 if nobody knows */
	printf("%-6s live %8" PRIu64 ", free among it %7" PRIu64
	       ", file %8" PRIu64 ", process %8" PRIu64
	       ", its heap %zu in use, %zu free\n",
		when, m.stats.live, m.stats.free, m.stats.mapped, m.process,
		used, kept);
	return m;
}

static void
check_all(struct churn *c)
{
	const char *wrong = store_check(c->writer, zones_mark);

	if (wrong == NULL)
		wrong = zones_check_all(c->check, store_writer_view(c->writer),
			c->zones, true);
	if (wrong != NULL)
		fail(wrong);
}

static void
reset_zones(struct churn *c)
{
	for (unsigned z = 0; z < c->zones; z++) {
		if (!zones_replace(c->writer, z, 1))
			fail("no memory");
		(void)store_reclaim(c->writer);
	}
}

static void
run_updates(struct churn *c, uint64_t updates, uint64_t *most)
{
	struct store_pin pin;
	struct store_stats stats;
	bool pinned = false;

	for (uint64_t i = 0; i < updates; i++) {
		if (!zones_change(c->writer, c->zones, &c->rng))
			fail("no memory");
		if (i % 1000 == 500 && !pinned) {
			store_reader_online(c->reader);
			pinned = store_reader_pin(c->reader, &pin) == NSD_OK;
			store_reader_offline(c->reader);
		} else if (i % 1000 == 900 && pinned) {
			store_reader_unpin(c->reader, &pin);
			pinned = false;
		}
		if (i % 1000 != 999)
			continue;
		store_reclaim(c->writer);
		store_trim(c->writer);
		store_get_stats(c->writer, &stats);
		if (stats.mapped > *most)
			*most = stats.mapped;
		if (i % 10000 == 9999)
			check_all(c);
	}
	if (pinned)
		store_reader_unpin(c->reader, &pin);
}

static bool
is_near(uint64_t end, uint64_t start)
{
	return end <= start + start / 20;
}

static void
options_parse(struct churn *c, int argc, char **argv)
{
	static const struct option options[] = {
		{ "updates", required_argument, NULL, 'u' },
		{ "zones", required_argument, NULL, 'z' },
		{ "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int o;

	*c = (struct churn){ .updates = 5000, .zones = 1000,
		.seed = 88172645463325252u };
	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (o) {
		case 'u':
			c->updates = strtoull(optarg, NULL, 0);
			break;
		case 'z':
			c->zones = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 's':
			c->seed = strtoull(optarg, NULL, 0);
			break;
		default:
			exit(2);
		}
	c->rng = c->seed != 0 ? c->seed : 1;
}

int
main(int argc, char **argv)
{
	const struct store_options options = { .reader_max = 1,
		.reservation = (size_t)1 << 30, .huge_pages = true };
	struct churn c;
	struct measure start, end;
	uint64_t most = 0;
	clock_t began = clock();

	options_parse(&c, argc, argv);
	if (store_create(&options, &c.store) != NSD_OK
		|| store_writer_open(c.store, &c.writer) != NSD_OK
		|| store_reader_open(c.store, 0, "walker", &c.reader)
			!= NSD_OK)
		fail("cannot make a store");
	c.check = zones_check_create();
	reset_zones(&c);
	check_all(&c);
	start = measure(&c, "loaded");
	run_updates(&c, c.updates, &most);
	measure(&c, "then");
	check_all(&c);
	reset_zones(&c);
	measure(&c, "reset");
	/* Tidies, as the idle loader does. */
	if (!zones_compact(c.writer, c.zones))
		fail("no memory");
	end = measure(&c, "end");
	check_all(&c);
	printf("%" PRIu64 " updates of %u zones, seed %" PRIu64
	       ", %.1f s of CPU: %.1f MB retired and used again, %.1f MB given "
	       "back, file %.1f MB at most\n",
		c.updates, c.zones, c.seed,
		(double)(clock() - began) / CLOCKS_PER_SEC,
		(double)end.stats.reclaimed_total / 1e6,
		(double)end.stats.given_back / 1e6, (double)most / 1e6);
	if (end.stats.live != start.stats.live)
		fail("the same zones take more or less than at first");
	if (!is_near(end.stats.mapped, start.stats.mapped))
		fail("the store has grown");
	if (!sanitized
		&& !is_near(end.process, start.process + PROCESS_MORE))
		fail("the process has grown");
	zones_check_destroy(c.check);
	store_reader_close(c.reader);
	store_writer_close(c.writer);
	store_destroy(c.store);
	return 0;
}
