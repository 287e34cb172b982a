/*
 * bench_catalog.c - how long it takes to read a catalog zone: a walk over all
 * members, at once and in turns, look-ups, and the changes of a version.
 *
 * usage: bench_catalog [MEMBERS [ROUNDS]]
 * Every fourth member has a group. Prints the best of the rounds in CPU time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "catalog/catalog.h"
#include "lib/zone_fixture.h"

#define WIRE ((const uint8_t *)"\3cat")
#define TURN_NAMES 2000u

static struct zone_fixture f;
static const struct zone *zone;
static unsigned members, found, groups;

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void
fatal(const char *what)
{
	fprintf(stderr, "bench_catalog: %s\n", what);
	exit(1);
}

/* Labels as producers make them. */
static size_t
label_print(char out[CATALOG_LABEL_SIZE], unsigned i)
{
	return (size_t)sprintf(out, "%08x%08x", i * 2654435761u, i);
}

static void
zone_make(void)
{
	char *text = malloc(200 + (size_t)members * 120), *at = text;
	char label[CATALOG_LABEL_SIZE];
	const struct zone_entry *entry;
	store_ref ref;

	if (text == NULL)
		fatal("no memory");
	at += sprintf(at, "@ 0 SOA . . 1 2 3 4 5\n@ 0 NS invalid.\n"
			  "version 0 TXT 2\n");
	for (unsigned i = 0; i < members; i++) {
		label_print(label, i);
		at += sprintf(at, "%s.zones 0 PTR m%u.example.\n", label, i);
		if (i % 4 == 0)
			at += sprintf(at, "group.%s.zones 0 TXT g%u\n", label,
				i % 3);
	}
	if (zone_fixture_load(&f, "cat.", text, &ref) != NSD_OK)
		fatal("no zone");
	free(text);
	entry = store_get(f.view, ref);
	zone = store_get(f.view, store_load_ref(&entry->zone));
}

static bool
on_member(void *ctx, const struct catalog_member *member)
{
	found++;
	groups += member->group_count;
	return true;
}

/* Walks all members; *longest: of the turns. Returns the sum. */
static double
walk(unsigned most, double *longest)
{
	struct catalog_walk at = {.has_last = false};
	double sum = 0;

	*longest = 0;
	found = groups = 0;
	while (!at.is_over) {
		double begin = now_ns(), took;

		catalog_next(f.view, zone, WIRE, &at, most, on_member, NULL);
		took = now_ns() - begin;
		sum += took;
		if (took > *longest)
			*longest = took;
	}
	if (found != members || groups != (members + 3) / 4)
		fatal("members are missing");
	return sum;
}

static double
find_all(void)
{
	struct catalog_member member;
	char text[CATALOG_LABEL_SIZE];
	uint8_t label[CATALOG_LABEL_SIZE];
	double begin = now_ns();

	for (unsigned i = 0; i < members; i++) {
		*label = (uint8_t)label_print(text, i);
		memcpy(label + 1, text, *label);
		if (catalog_find(f.view, zone, WIRE, label, &member) != NSD_OK)
			fatal("a member is missing");
	}
	return now_ns() - begin;
}

int
main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 5;
	double whole = 0, turns = 0, turn = 0, finds = 0;

	members = argc > 1 ? (unsigned)atoi(argv[1]) : 1000000;
	if (members == 0 || rounds == 0)
		fatal("usage: bench_catalog [MEMBERS [ROUNDS]]");
	zone_fixture_init(&f);
	zone_make();
	for (unsigned i = 0; i < rounds; i++) {
		double longest, took = walk(2 * members, &longest);

		whole = i == 0 || took < whole ? took : whole;
		took = walk(TURN_NAMES, &longest);
		turns = i == 0 || took < turns ? took : turns;
		turn = i == 0 || longest < turn ? longest : turn;
		took = find_all();
		finds = i == 0 || took < finds ? took : finds;
	}
	printf("%u members: walk %.0f ns each; in turns of %u names %.0f ns"
	       " each, the longest %.2f ms; look-up %.0f ns each\n", members,
		whole / members, TURN_NAMES, turns / members, turn / 1e6,
		finds / members);
	zone_fixture_fini(&f);
	return 0;
}
