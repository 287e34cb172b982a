/*
 * bench_build.c - how long a zone file takes to parse and to build, and what
 * it takes in the store, by kind of object.
 *
 * usage: bench_build ZONE FILE [THREADS [ROUNDS]]
 *        bench_build -t COUNT     builds COUNT tiny zones
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "compile/build.h"
#include "dns/name.h"
#include "store/writer.h"
#include "zone/nsec3_page.h"
#include "zone/objects.h"
#include "zonedb/release.h"
#include "zonedb/table_edit.h"
#include "zonefile/zonefile.h"

static double
now_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* CPU time of all threads so far: on a busy machine the better measure. */
static double
cpu_sec(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec)
		+ (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Private memory that is in use now, without the store. */
static void
print_private(const char *when)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "RssAnon:", 8) == 0)
			printf("private memory %s: %.1f MB\n", when,
				atof(line + 8) / 1e3);
	if (f != NULL)
		fclose(f);
}

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	if (d->severity == DIAG_ERROR || sink->warnings < 5)
		fprintf(stderr, "%s:%u: %s\n", d->file != NULL ? d->file : "-",
			(unsigned)d->line, d->text);
}

static void
fail(const char *what, enum nsd_err err)
{
	fprintf(stderr, "bench_build: %s: %s\n", what, err_text(err));
	exit(1);
}

static struct store_writer *
open_store(struct store **store)
{
	const struct store_options options = {.reader_max = 1,
		.huge_pages = getenv("BENCH_HUGE") != NULL};
	struct store_writer *writer = NULL;
	enum nsd_err err = store_create(&options, store);

	if (err == NSD_OK)
		err = store_writer_open(*store, &writer);
	if (err != NSD_OK)
		fail("store", err);
	return writer;
}

static uint64_t
live_octets(const struct store_writer *writer)
{
	struct store_stats stats;

	store_get_stats(writer, &stats);
	return stats.live;
}

static void
parse_name(const char *text, uint8_t name[NAME_MAX_LEN])
{
	static const uint8_t root[1];
	const char *why;
	size_t len;

	if (name_parse_text(text, strlen(text), root, name, &len, &why)
		!= NSD_OK) {
		fprintf(stderr, "bench_build: %s: %s\n", text, why);
		exit(1);
	}
}

/* ---- octets by kind ---------------------------------------------------- */

struct tally {
	uint64_t nodes, rrsets, sigs, targets, records, pages;
	uint64_t node_octets, rrset_octets, sig_octets, target_octets;
	uint64_t record_octets, page_octets;
};

static void
tally_node(const struct store_view *view, const struct node *node,
	struct tally *t)
{
	const struct node_rrset *e = node_entries(node);

	t->nodes++;
	t->node_octets += (node_size(node) + 7) & ~7u;
	for (unsigned i = 0; i < node->entry_count; i++) {
		const struct rrset *r = store_get(view, e[i].ref);

		if ((e[i].flags & NODE_RRSET_SIGS) != 0) {
			t->sigs++;
			t->sig_octets += (rrset_sigs_size(
				store_get(view, e[i].ref)) + 7) & ~7u;
			continue;
		}
		/* A shared RRset is counted at each holder in part. */
		t->rrset_octets += ((rrset_size(r) + 7) & ~7u) / r->refs;
		t->rrsets++;
	}
}

static void
tally_page(void *ctx, store_ref ref, size_t len)
{
	struct tally *t = ctx;

	(void)ref;
	t->pages++;
	t->page_octets += (len + 7) & ~(size_t)7;
}

static void
tally_chain(const struct store_view *view, const struct zone *zone,
	struct tally *t)
{
	struct nsec3_iter iter;

	if (zone->chain == STORE_NONE)
		return;
	nsec3_visit_pages(view, store_get(view, zone->chain), tally_page, t);
	nsec3_iter_init(&iter, view, store_get(view, zone->chain));
	while (nsec3_iter_next(&iter)) {
		t->records++;
		t->record_octets += (nsec3_record_size(iter.record) + 7)
			& ~(size_t)7;
	}
}

static void
tally_print(const struct store_view *view, const struct zone *zone,
	uint64_t live)
{
	struct tally t = {0};
	struct trie_iter iter;
	store_ref ref;

	trie_iter_init(&iter, view, &zone->names.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE)
		tally_node(view, store_get(view, ref), &t);
	trie_iter_init(&iter, view, &zone->nsec3.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE)
		tally_node(view, store_get(view, ref), &t);
	trie_iter_init(&iter, view, &zone->targets.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		t.targets++;
		t.target_octets += (glue_target_size(store_get(view, ref))
			+ 7) & ~7u;
	}
	tally_chain(view, zone, &t);
	printf("records %llu, names %llu\n"
	       "nodes   %9llu %10.1f MB\n"
	       "rrsets  %9llu %10.1f MB\n"
	       "rrsigs  %9llu %10.1f MB\n"
	       "targets %9llu %10.1f MB\n"
	       "NSEC3s  %9llu %10.1f MB\n"
	       "pages   %9llu %10.1f MB\n"
	       "rest (tries, rounding)%6.1f MB\n"
	       "all               %10.1f MB\n",
		(unsigned long long)zone->rr_count,
		(unsigned long long)zone->node_count,
		(unsigned long long)t.nodes, (double)t.node_octets / 1e6,
		(unsigned long long)t.rrsets, (double)t.rrset_octets / 1e6,
		(unsigned long long)t.sigs, (double)t.sig_octets / 1e6,
		(unsigned long long)t.targets, (double)t.target_octets / 1e6,
		(unsigned long long)t.records, (double)t.record_octets / 1e6,
		(unsigned long long)t.pages, (double)t.page_octets / 1e6,
		(double)(live - t.node_octets - t.rrset_octets - t.sig_octets
			- t.target_octets - t.record_octets - t.page_octets)
			/ 1e6, (double)live / 1e6);
}

/* ---- look-ups in the chain --------------------------------------------- */

#define FINDS 1000000u
#define FIND_BATCH_MAX 64u

static void
bench_find(const struct store_view *view, const struct nsec3_chain *chain,
	size_t batch)
{
	static struct nsec3_find finds[FIND_BATCH_MAX];
	struct nsec3_find *list[FIND_BATCH_MAX];
	uint64_t random = 1, sum = 0;
	double start = cpu_sec();

	for (size_t done = 0; done < FINDS; done += batch) {
		for (size_t i = 0; i < batch; i++) {
			finds[i].chain = chain;
			for (unsigned k = 0; k < NSEC3_HASH_LEN; k += 4) {
				random = random * 6364136223846793005u
					+ 1442695040888963407u;
				octets_put_u32(finds[i].hash + k,
					(uint32_t)(random >> 32));
			}
			list[i] = &finds[i];
		}
		nsec3_find_batch(view, list, batch);
		for (size_t i = 0; i < batch; i++)
			sum += finds[i].record->template;
	}
	printf("find, %zu at a time: %.0f ns each (%llu)\n", batch,
		(cpu_sec() - start) * 1e9 / FINDS, (unsigned long long)sum);
}

static void
bench_finds(const struct store_view *view, const struct zone *zone)
{
	if (zone->chain == STORE_NONE)
		return;
	for (size_t batch = 1; batch <= FIND_BATCH_MAX; batch *= 4)
		bench_find(view, store_get(view, zone->chain), batch);
}

/* ---- one zone file ----------------------------------------------------- */

static double stage_started, stage_cpu;
static const char *stage_name;

static void
on_progress(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
	double now = now_sec();

	if (stage_name != NULL && strcmp(stage, stage_name) == 0)
		return;
	if (stage_name != NULL)
		printf("  %-6s %7.1f ms, CPU %7.1f ms\n", stage_name,
			(now - stage_started) * 1e3,
			(cpu_sec() - stage_cpu) * 1e3);
	stage_cpu = cpu_sec();
	stage_name = stage;
	stage_started = now;
}

static void
bench_file(const char *zone_name, const char *path, unsigned threads,
	unsigned rounds)
{
	struct store *store;
	struct store_writer *writer = open_store(&store);
	struct store_heap *heap = store_writer_heap(writer);
	uint8_t apex[NAME_MAX_LEN];
	struct zonefile_options options = {.apex = apex,
		.default_ttl_sec = 3600, .threads = threads};
	struct zone_build_input input = {.apex = apex, .threads = threads,
		.files = &path, .file_count = 1, .on_progress = on_progress};
	struct diag_sink sink = {.on_diag = on_diag};
	struct zonefile_result parsed;
	double start = now_sec();
	enum nsd_err err;

	parse_name(zone_name, apex);
	err = zonefile_parse(path, &options, &sink, &parsed);
	if (err != NSD_OK)
		fail("parse", err);
	printf("parse %.1f ms, %llu records\n", (now_sec() - start) * 1e3,
		(unsigned long long)parsed.rr_count);
	input.batches = parsed.batches;
	print_private("with the records");
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t before = live_octets(writer);
		double cpu = cpu_sec();
		store_ref zone;

		stage_name = NULL;
		start = now_sec();
		err = build_zone(&input, writer, heap, &sink, &zone);
		if (err != NSD_OK)
			fail("build", err);
		on_progress(NULL, "end", 0, 0);
		printf("build %.1f ms with %u threads, CPU %.1f ms, "
		       "%u warnings\n",
			(now_sec() - start) * 1e3, threads,
			(cpu_sec() - cpu) * 1e3, sink.warnings);
		if (i == 0)
			tally_print(store_writer_view(writer),
				store_get(store_writer_view(writer), zone),
				live_octets(writer) - before);
		if (i == 0)
			bench_finds(store_writer_view(writer),
				store_get(store_writer_view(writer), zone));
		print_private("after the build");
		start = now_sec();
		release_zone(heap, zone);
		printf("free %.1f ms, %lld octets left\n",
			(now_sec() - start) * 1e3,
			(long long)(live_octets(writer) - before));
	}
	zonefile_result_fini(&parsed);
	print_private("at the end");
	store_writer_close(writer);
	store_destroy(store);
}

/* ---- many tiny zones --------------------------------------------------- */

static const char tiny_text[] =
	"$TTL 3600\n"
	"@ IN SOA ns1.hoster.example. hostmaster.hoster.example. "
	"2024010100 7200 3600 1209600 3600\n"
	"@ IN NS ns1.hoster.example.\n"
	"@ IN NS ns2.hoster.example.\n"
	"@ IN A 192.0.2.1\n"
	"@ IN MX 10 mail\n"
	"www IN A 192.0.2.1\n"
	"mail IN A 192.0.2.2\n";

static void
bench_tiny(size_t count)
{
	struct store *store;
	struct store_writer *writer = open_store(&store);
	struct store_heap *heap = store_writer_heap(writer);
	struct diag_sink sink = {.on_diag = on_diag};
	struct zone_setup *setups = calloc(count, sizeof(*setups));
	store_ref *entries = calloc(count, sizeof(*entries));
	uint8_t(*names)[32] = calloc(count, sizeof(*names));
	double start, parse = 0, build = 0;
	enum nsd_err err;

	if (setups == NULL || entries == NULL || names == NULL)
		fail("calloc", NSD_E_MEMORY);
	for (size_t i = 0; i < count; i++) {
		uint8_t name[NAME_MAX_LEN];
		char text[64];

		snprintf(text, sizeof(text), "zone%08zu.example.",
			i * 7919 % count);
		parse_name(text, name);
		memcpy(names[i], name, name_len(name));
		setups[i].apex = names[i];
		setups[i].id = (uint32_t)i;
	}
	start = now_sec();
	err = table_add(writer, setups, count, entries);
	if (err != NSD_OK)
		fail("table_add", err);
	printf("table_add of %zu zones: %.1f ms, %llu octets each\n", count,
		(now_sec() - start) * 1e3,
		(unsigned long long)(live_octets(writer) / count));
	for (size_t i = 0; i < count; i++) {
		struct zonefile_options options = {.apex = names[i],
			.default_ttl_sec = 3600};
		struct zone_build_input input = {.apex = names[i]};
		struct zonefile_result parsed;
		store_ref zone;

		start = now_sec();
		err = zonefile_parse_text("tiny", tiny_text,
			sizeof(tiny_text) - 1, &options, &sink, &parsed);
		if (err != NSD_OK)
			fail("parse", err);
		parse += now_sec() - start;
		start = now_sec();
		input.batches = parsed.batches;
		err = build_zone(&input, writer, heap, &sink, &zone);
		if (err != NSD_OK)
			fail("build", err);
		table_set_zone(writer, entries[i], zone);
		build += now_sec() - start;
		zonefile_result_fini(&parsed);
	}
	printf("each: parse %.2f us, build and publish %.2f us, "
	       "%llu octets in the store with its entry\n",
		parse * 1e6 / (double)count, build * 1e6 / (double)count,
		(unsigned long long)(live_octets(writer) / count));
	free(names);
	free(entries);
	free(setups);
	store_writer_close(writer);
	store_destroy(store);
}

int
main(int argc, char **argv)
{
	struct rusage usage;

	if (argc == 3 && strcmp(argv[1], "-t") == 0) {
		bench_tiny((size_t)atol(argv[2]));
	} else if (argc >= 3 && argc <= 5) {
		bench_file(argv[1], argv[2],
			argc > 3 ? (unsigned)atoi(argv[3]) : 2,
			argc > 4 ? (unsigned)atoi(argv[4]) : 3);
	} else {
		fprintf(stderr, "usage: bench_build ZONE FILE [THREADS "
				"[ROUNDS]]\n       bench_build -t COUNT\n");
		return 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("peak resident %.1f MB\n", (double)usage.ru_maxrss / 1e3);
	return 0;
}
