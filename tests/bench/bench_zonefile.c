/*
 * bench_zonefile.c - how fast zone files are read.
 *
 *	bench_zonefile FILE APEX [THREADS [ROUNDS]]
 *	bench_zonefile -n COUNT FILE APEX     one small file, many times
 *
 * Prints the median and the best of the rounds. The file should be in the
 * page cache: the first round brings it there and is not counted.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "dns/name.h"
#include "zonefile/kernel.h"
#include "zonefile/parse.h"

#define ROUNDS_MAX 100

static double
seconds_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
print_diag(struct diag_sink *sink, const struct diag *d)
{
	fprintf(stderr, "%s:%u:%u: %s\n", d->file, d->line, d->column,
		d->text);
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Reads the file once; returns records. */
static uint64_t
read_once(const char *path, const struct zonefile_options *options,
	uint64_t *size)
{
	struct diag_sink sink = { print_diag, 0, 0 };
	struct zonefile_result result;
	uint64_t count;
	enum nsd_err e = zonefile_parse(path, options, &sink, &result);

	if (e != NSD_OK)
		errx(1, "%s: %s", path, err_text(e));
	count = result.rr_count;
	*size = result.sources[0].size;
	zonefile_result_fini(&result);
	return count;
}

static void
bench_large(const char *path, const struct zonefile_options *options,
	unsigned rounds)
{
	double wall[ROUNDS_MAX], cpu[ROUNDS_MAX];
	uint64_t size, count;
	unsigned i;

	count = read_once(path, options, &size);
	for (i = 0; i < rounds; i++) {
		double w = seconds_now(CLOCK_MONOTONIC);
		double c = seconds_now(CLOCK_PROCESS_CPUTIME_ID);

		read_once(path, options, &size);
		wall[i] = seconds_now(CLOCK_MONOTONIC) - w;
		cpu[i] = seconds_now(CLOCK_PROCESS_CPUTIME_ID) - c;
	}
	qsort(wall, rounds, sizeof(*wall), compare_doubles);
	qsort(cpu, rounds, sizeof(*cpu), compare_doubles);
	printf("%s: %.1f MB, %llu records, %u threads, scanner %s\n", path,
		(double)size / 1e6, (unsigned long long)count,
		options->threads, kernel_best()->name);
	printf("wall median %.3f s (%.0f MB/s), best %.3f s; "
		"cpu median %.3f s (%.0f MB/s a thread), best %.3f s, "
		"%.1f ns a record\n",
		wall[rounds / 2], (double)size / 1e6 / wall[rounds / 2],
		wall[0], cpu[rounds / 2],
		(double)size / 1e6 / cpu[rounds / 2], cpu[0],
		cpu[rounds / 2] * 1e9 / (double)count);
}

static void
bench_small(const char *path, const struct zonefile_options *options,
	unsigned count)
{
	uint64_t size, records = 0;
	double wall, cpu;
	unsigned i;

	read_once(path, options, &size);
	wall = seconds_now(CLOCK_MONOTONIC);
	cpu = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
	for (i = 0; i < count; i++)
		records += read_once(path, options, &size);
	wall = seconds_now(CLOCK_MONOTONIC) - wall;
	cpu = seconds_now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("%s: %llu octets, %llu records; a file takes %.2f us, "
		"%.2f us of them CPU\n", path, (unsigned long long)size,
		(unsigned long long)(records / count), wall * 1e6 / count,
		cpu * 1e6 / count);
}

int
main(int argc, char **argv)
{
	uint8_t apex[NAME_MAX_LEN];
	struct zonefile_options options = { .apex = apex, .threads = 1 };
	unsigned small = 0, rounds = 7;
	const uint8_t root[1] = { 0 };
	const char *why;
	size_t size;
	int c;

	while ((c = getopt(argc, argv, "n:")) == 'n')
		small = (unsigned)atoi(optarg);
	argv += optind;
	argc -= optind;
	if (c != -1 || argc < 2 || argc > 4)
		errx(1, "usage: bench_zonefile [-n COUNT] FILE APEX "
			"[THREADS [ROUNDS]]");
	if (name_parse_text(argv[1], strlen(argv[1]), root, apex, &size,
			&why) != NSD_OK)
		errx(1, "%s: expected %s", argv[1], why);
	if (argc > 2)
		options.threads = (unsigned)atoi(argv[2]);
	if (argc > 3)
		rounds = (unsigned)atoi(argv[3]);
	if (rounds < 1 || rounds > ROUNDS_MAX)
		errx(1, "rounds: 1 to %u", ROUNDS_MAX);
	if (small > 0)
		bench_small(argv[0], &options, small);
	else
		bench_large(argv[0], &options, rounds);
	return 0;
}
