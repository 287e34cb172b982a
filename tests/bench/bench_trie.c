/* bench_trie.c - time and memory of a trie of many names.
 *
 * usage: bench_trie [names [rounds]]
 * Prints medians of the rounds; nothing fails on a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "dns/name.h"
#include "names/trie.h"
#include "names/trie_edit.h"
#include "store/store.h"
#include "store/writer.h"

#define QUERIES (1u << 18)
#define ROUNDS_MAX 99

/* As a zone's node is laid out: a head, the name, an entry. */
struct object {
	struct trie_leaf leaf;
	uint8_t unused[5];
	uint8_t name[];
};

struct query {
	uint8_t len;
	uint8_t count;
	uint8_t label_at[6];
	uint8_t labels[56];
};

struct bench {
	struct store *store;
	struct store_writer *writer;
	size_t count;
	char (*labels)[24]; /* sorted, unique */
	store_ref *refs;
	struct trie trie;
	struct query *queries;
	unsigned rounds;
	uint64_t rng;
};

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t
next(struct bench *b)
{
	b->rng ^= b->rng << 13;
	b->rng ^= b->rng >> 7;
	b->rng ^= b->rng << 17;
	return b->rng * UINT64_C(0x2545f4914f6cdd1d) >> 20;
}

static void
fatal(const char *what)
{
	fprintf(stderr, "bench_trie: %s\n", what);
	exit(1);
}

/* A label such as people register: syllables, now and then a hyphen, digits. */
static void
label_make(struct bench *b, char out[24])
{
	static const char consonants[] = "bcdfghjklmnprstvwzstrnlm";
	static const char vowels[] = "aeiouaeioy";
	unsigned syllables = 2 + (unsigned)(next(b) % 4);
	char *p = out;

	while (syllables-- > 0) {
		*p++ = consonants[next(b) % (sizeof(consonants) - 1)];
		*p++ = vowels[next(b) % (sizeof(vowels) - 1)];
		if (next(b) % 3 == 0)
			*p++ = consonants[next(b) % (sizeof(consonants) - 1)];
		if (next(b) % 12 == 0 && syllables > 0)
			*p++ = '-';
	}
	if (next(b) % 10 == 0)
		*p++ = (char)('0' + next(b) % 10);
	*p = '\0';
}

static int
label_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
labels_make(struct bench *b)
{
	size_t have = 0;

	b->labels = calloc(b->count, sizeof(*b->labels));
	if (b->labels == NULL)
		fatal("no memory");
	while (have < b->count) {
		size_t unique = 0;

		for (size_t i = have; i < b->count; i++)
			label_make(b, b->labels[i]);
		qsort(b->labels, b->count, sizeof(*b->labels), label_compare);
		for (size_t i = 0; i < b->count; i++)
			if (unique == 0
				|| strcmp(b->labels[i], b->labels[unique - 1])
					!= 0)
				memmove(b->labels[unique++], b->labels[i],
					sizeof(*b->labels));
		have = unique;
	}
}

/* An apex and its names, each with an RRset behind it. */
static void
objects_make(struct bench *b)
{
	struct store_heap *heap = store_writer_heap(b->writer);

	b->refs = calloc(b->count + 1, sizeof(*b->refs));
	if (b->refs == NULL)
		fatal("no memory");
	for (size_t i = 0; i <= b->count; i++) {
		size_t len = i > 0 ? strlen(b->labels[i - 1]) : 0;
		size_t name_len = i > 0 ? len + 1 : 0;
		struct object *o = store_alloc(heap,
			(sizeof(*o) + name_len + 3) / 4 * 4 + 8, &b->refs[i]);
		store_ref rrset;

		if (o == NULL || store_alloc(heap, 44, &rrset) == NULL)
			fatal("store full");
		o->leaf.name_len = (uint8_t)name_len;
		o->leaf.labels = i > 0;
		o->leaf.name_at = offsetof(struct object, name);
		if (i > 0) {
			o->name[0] = (uint8_t)len;
			memcpy(o->name + 1, b->labels[i - 1], len);
		}
	}
}

static void
query_add_label(struct query *q, const char *label)
{
	size_t len = strlen(label);

	q->label_at[q->count++] = q->len;
	q->labels[q->len] = (uint8_t)len;
	memcpy(q->labels + q->len + 1, label, len);
	q->len += (uint8_t)(1 + len);
}

enum kind { HITS, MISSES, BELOW, KINDS };
static const char *const kind_names[] = { "hits", "misses", "below" };

static void
queries_make(struct bench *b, enum kind kind)
{
	for (size_t i = 0; i < QUERIES; i++) {
		struct query *q = &b->queries[i];
		char label[24];

		memset(q, 0, sizeof(*q));
		memcpy(label, b->labels[next(b) % b->count], sizeof(label));
		if (kind == MISSES)
			label_make(b, label);
		if (kind == BELOW)
			query_add_label(q, "www");
		query_add_label(q, label);
	}
}

static int
double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
walks_measure(struct bench *b, unsigned batch, size_t *found)
{
	static struct trie_walk walks[64];
	const struct store_view *view = store_writer_view(b->writer);
	struct trie_walk *pointers[64];
	double times[ROUNDS_MAX];

	for (unsigned i = 0; i < 64; i++)
		pointers[i] = &walks[i];
	for (unsigned round = 0; round < b->rounds; round++) {
		double start = now_ns();

		*found = 0;
		for (size_t i = 0; i < QUERIES; i += batch) {
			for (unsigned j = 0; j < batch; j++) {
				const struct query *q = &b->queries[i + j];

				walks[j].root = &b->trie.root;
				walks[j].name.labels = q->labels;
				walks[j].name.label_at = q->label_at;
				walks[j].name.len = q->len;
				walks[j].name.count = q->count;
			}
			trie_find_batch(view, pointers, batch);
			for (unsigned j = 0; j < batch; j++)
				*found += walks[j].exact != STORE_NONE;
		}
		times[round] = (now_ns() - start) / QUERIES;
	}
	qsort(times, b->rounds, sizeof(times[0]), double_compare);
	return times[b->rounds / 2];
}

static void
walks_print(struct bench *b)
{
	static const unsigned batches[] = { 1, 8, 32, 64 };

	printf("  %-8s %8s", "ns/walk", "found");
	for (int i = 0; i < 4; i++)
		printf("  batch %2u", batches[i]);
	printf("\n");
	for (enum kind kind = HITS; kind < KINDS; kind++) {
		size_t found = 0;
		double ns[4];

		queries_make(b, kind);
		for (int i = 0; i < 4; i++)
			ns[i] = walks_measure(b, batches[i], &found);
		printf("  %-8s %7.1f%%", kind_names[kind],
			100.0 * (double)found / QUERIES);
		for (int i = 0; i < 4; i++)
			printf("  %8.1f", ns[i]);
		printf("\n");
	}
}

static void
other_print(struct bench *b)
{
	const struct store_view *view = store_writer_view(b->writer);
	struct trie_iter iter;
	size_t count = 0, sum = 0;
	double start = now_ns();

	trie_iter_init(&iter, view, &b->trie.root);
	while (trie_iter_next(&iter) != STORE_NONE)
		count++;
	printf("  in order: %.1f ns a name\n",
		(now_ns() - start) / (double)count);
	queries_make(b, MISSES);
	start = now_ns();
	for (size_t i = 0; i < QUERIES; i++) {
		const struct query *q = &b->queries[i];
		struct trie_name name = { q->labels, q->label_at, q->len,
			q->count };
		struct trie_back back;

		trie_back_init(&back, view, &b->trie.root, &name);
		sum += trie_back_next(&back);
	}
	printf("  previous: %.1f ns a walk (check %zu)\n",
		(now_ns() - start) / QUERIES, sum % 10);
}

static void
retire(void *ctx, store_ref ref, size_t len)
{
	store_retire(ctx, ref, len);
}

static void
edits_print(struct bench *b)
{
	struct trie_edit edit = { .heap = store_writer_heap(b->writer),
		.on_garbage = retire, .ctx = b->writer };
	double start = now_ns();
	size_t edits = 20000;

	for (size_t i = 0; i < edits; i++) {
		store_ref old;
		size_t n = next(b) % b->count + 1;

		if (trie_put(&edit, &b->trie, b->refs[n], &old) != NSD_OK)
			fatal("store full");
		store_reclaim(b->writer);
	}
	printf("  put, copied and reclaimed one by one: %.0f ns\n",
		(now_ns() - start) / (double)edits);
}

static void
run(struct bench *b, bool huge)
{
	struct store_options options = { .reader_max = 1, .huge_pages = huge };
	struct store_stats before, after;
	double start;

	if (store_create(&options, &b->store) != NSD_OK
		|| store_writer_open(b->store, &b->writer) != NSD_OK)
		fatal("cannot make a store");
	start = now_ns();
	objects_make(b);
	printf("%s pages\n  objects: %.1f ns a name\n",
		huge ? "huge" : "small", (now_ns() - start) / (double)b->count);
	store_get_stats(b->writer, &before);
	start = now_ns();
	if (trie_build(store_writer_heap(b->writer), b->refs, b->count + 1,
		    &b->trie)
		!= NSD_OK)
		fatal("store full");
	printf("  build: %.1f ns a name\n",
		(now_ns() - start) / (double)b->count);
	store_get_stats(b->writer, &after);
	printf("  branches: %.1f octets a name\n",
		(double)(after.live - before.live) / (double)b->count);
	start = now_ns();
	store_trim(b->writer);
	store_get_stats(b->writer, &after);
	printf("  trim: %.1f ms; live %.1f MiB, mapped %.1f MiB\n",
		(now_ns() - start) / 1e6, (double)after.live / 1048576,
		(double)after.mapped / 1048576);
	walks_print(b);
	other_print(b);
	edits_print(b);
	store_writer_close(b->writer);
	store_destroy(b->store);
	free(b->refs);
}

int
main(int argc, char **argv)
{
	static struct bench b = { .rng = 88172645463325252u };
	struct utsname machine;

	b.count = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;
	b.rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 5;
	if (b.count == 0 || b.rounds == 0 || b.rounds > ROUNDS_MAX)
		fatal("usage: bench_trie [names [rounds]]");
	if (uname(&machine) == 0)
		printf("%s %s %s, gcc %s\n", machine.sysname, machine.release,
			machine.machine, __VERSION__);
	printf("%zu names, medians of %u rounds\n", b.count, b.rounds);
	b.queries = calloc(QUERIES, sizeof(*b.queries));
	if (b.queries == NULL)
		fatal("no memory");
	labels_make(&b);
	run(&b, false);
	run(&b, true);
	free(b.labels);
	free(b.queries);
	return 0;
}
