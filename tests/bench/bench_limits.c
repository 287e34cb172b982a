/*
 * bench_limits.c - the cost of rate limits, cookies and access lists.
 *
 * usage: bench_limits [NAMES [ROUNDS [CASE]]]
 *
 * A block of 4096 queries with each of them, and without, in every round; all
 * for other names, so none finds in the processor's cache what another has
 * fetched. CPU time of the process, in query_answer_batch alone: medians of
 * what an answer of a block takes, and of what that is above the block without
 * in the same round. JSON. With CASE, a number, that one alone, for what counts
 * instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns/rrbatch.h"
#include "guard/cookie.h"
#include "guard/rrl.h"
#include "lib/settings_fixture.h"
#include "queries.h"
#include "store/writer.h"
#include "zone/table.h"

#define BLOCK 4096u
#define WARM 4096u
#define BATCH 64u
#define BUCKETS 1000000u
#define ELEMENTS_MAX 100000u

/* The options that cost time, and the queries: with a cookie or without, and
 * from how many networks. */
static const struct limits_case {
	const char *title;
	uint32_t ratelimit;
	uint32_t netblocks;
	bool answer_cookie;
	bool asked;
	bool ip6;
	unsigned networks;
	uint32_t elements; /* of allow-query, a network each; 0: none */
	unsigned base;     /* the case to compare with */
} cases[] = {
	{ "without", 0, 1, false, false, false, 1, 0, 0 },
	{ "limits", 1000000, 1, false, false, false, 1, 0, 0 },
	{ "limits, three wider ones", 1000000, 4, false, false, false, 1, 0, 0 },
	{ "without, a cookie asked for", 0, 1, false, true, false, 1, 0, 3 },
	{ "cookies", 0, 1, true, true, false, 1, 0, 3 },
	{ "cookies and limits", 1000000, 1, true, true, false, 1, 0, 3 },
	{ "without, IPv4", 0, 1, false, false, false, 1000, 0, 6 },
	{ "allow-query, 10 elements of IPv4", 0, 1, false, false, false,
		10, 10, 6 },
	{ "allow-query, 100 elements of IPv4", 0, 1, false, false, false,
		100, 100, 6 },
	{ "allow-query, 1,000 elements of IPv4", 0, 1, false, false, false,
		1000, 1000, 6 },
	{ "allow-query, 100,000 elements of IPv4", 0, 1, false, false, false,
		100000, 100000, 6 },
	{ "without, IPv6", 0, 1, false, false, true, 1000, 0, 11 },
	{ "allow-query, 10 elements of IPv6", 0, 1, false, false, true,
		10, 10, 11 },
	{ "allow-query, 100 elements of IPv6", 0, 1, false, false, true,
		100, 100, 11 },
	{ "allow-query, 1,000 elements of IPv6", 0, 1, false, false, true,
		1000, 1000, 11 },
	{ "allow-query, 100,000 elements of IPv6", 0, 1, false, false, true,
		100000, 100000, 11 },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static void
publish(struct store_writer *writer, const struct limits_case *c)
{
	struct settings_setup setup = { .identity = "", .version = "",
		.udp4_size = 1232, .udp6_size = 1232,
		.rrl_ratelimit = c->ratelimit, .rrl_slip = 2,
		.rrl_ip4 = {c->netblocks,
			{{24, 1}, {22, 4}, {20, 8}, {18, 16}}},
		.rrl_ip6 = {1, {{64, 1}}},
		.answer_cookie = c->answer_cookie };

	settings_fixture_publish(writer, &setup);
}

/* No two networks are beside each other, or a list would be shorter. Returns
 * the octets of the network. */
static unsigned
put_network(uint8_t address[16], unsigned network, bool ip6)
{
	uint8_t *end = address;

	memset(address, 0, 16);
	if (ip6) {
		memcpy(address, "\x20\1\xd\xb8", 4);
		end += 4;
	} else {
		*end++ = (uint8_t)(10 + (network >> 15));
	}
	*end++ = (uint8_t)(network >> 7);
	*end++ = (uint8_t)(network << 1);
	if (ip6)
		*end++ = (uint8_t)(network >> 15);
	return (unsigned)(end - address);
}

/* Lets in whoever is in the first networks. */
static void
allow(struct store_writer *writer, uint32_t networks, bool ip6)
{
	static struct acl_element elements[ELEMENTS_MAX];
	const struct store_view *view = store_writer_view(writer);

	memset(elements, 0, networks * sizeof(elements[0]));
	for (unsigned i = 0; i < networks; i++) {
		elements[i].family = ip6 ? 6 : 4;
		elements[i].kind = ACL_MASK;
		memset(elements[i].other, 0xff,
			put_network(elements[i].address, i, ip6));
	}
	settings_fixture_set_acl(writer, table_get(view)->only, elements,
		networks, NULL, 0);
}

static void
ask_for_cookie(struct queries_request *r)
{
	octets_put_u16(r->octets + r->len - 2, 12);
	memcpy(r->octets + r->len, "\0\12\0\10clients!", 12);
	r->len += 12;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

static void
print(double (*ns)[CASES], size_t rounds)
{
	double *column = calloc(rounds, sizeof(*column));

	if (column == NULL)
		queries_fail("calloc", NSD_E_MEMORY);
	printf("[");
	for (size_t c = 0; c < CASES; c++) {
		for (size_t i = 0; i < rounds; i++)
			column[i] = ns[i][c];
		printf("%s{\"case\": \"%s\", \"ns\": %.1f", c > 0 ? ",\n " : "",
			cases[c].title, median(column, rounds));
		for (size_t i = 0; i < rounds; i++)
			column[i] = ns[i][c] - ns[i][cases[c].base];
		printf(", \"above\": %.1f}", median(column, rounds));
	}
	printf("]\n");
	free(column);
}

struct bench {
	struct store_writer *writer;
	struct query_ctx *ctx;
	const struct queries_names *names;
};

/* Nanoseconds of an answer. */
static double
measure_block(const struct bench *bench, const struct limits_case *c)
{
	static struct queries_request requests[WARM + BLOCK];
	const struct store_view *view = store_writer_view(bench->writer);
	const struct queries_names *names = bench->names;
	double start;

	for (size_t i = 0; i < WARM + BLOCK; i++) {
		queries_make(&requests[i], names->names[queries_random_below(
			(uint32_t)names->count)], QUERIES_EXISTING, true);
		if (c->asked)
			ask_for_cookie(&requests[i]);
		requests[i].ip6 = c->ip6;
		put_network(requests[i].from,
			queries_random_below(c->networks), c->ip6);
		requests[i].from[c->ip6 ? 15 : 3] = (uint8_t)
			queries_random_below(256);
	}
	publish(bench->writer, c);
	allow(bench->writer, c->elements, c->ip6);
	queries_answer(bench->ctx, view, requests, WARM, BATCH);
	start = queries_cpu_sec();
	queries_answer(bench->ctx, view, requests + WARM, BLOCK, BATCH);
	return (queries_cpu_sec() - start) * 1e9 / BLOCK;
}

static void
measure_one(struct bench *bench, size_t rounds, const struct limits_case *c)
{
	double ns = 0;

	query_set_time(bench->ctx, 1700000000, 0);
	for (size_t i = 0; i < rounds; i++) {
		query_set_msec(bench->ctx, 1000 + i * 10);
		ns += measure_block(bench, c);
	}
	printf("{\"case\": \"%s\", \"answers\": %zu, \"ns\": %.1f}\n", c->title,
		rounds * (WARM + BLOCK), ns / (double)rounds);
}

static void
measure(struct bench *bench, size_t rounds)
{
	double (*ns)[CASES] = calloc(rounds, sizeof(*ns));

	if (ns == NULL)
		queries_fail("calloc", NSD_E_MEMORY);
	query_set_time(bench->ctx, 1700000000, 0);
	for (size_t i = 0; i < rounds; i++) {
		unsigned first = queries_random_below(CASES);

		query_set_msec(bench->ctx, 1000 + i * 10);
		for (size_t c = 0; c < CASES; c++) {
			size_t at = (first + c) % CASES;

			ns[i][at] = measure_block(bench, &cases[at]);
		}
	}
	print(ns, rounds);
	free(ns);
}

static void
open_zone(struct bench *bench, struct queries_names *names, unsigned count)
{
	const struct store_view *view = store_writer_view(bench->writer);
	struct rrbatch *batches = queries_generate_zone(count);
	uint8_t apex[NAME_MAX_LEN];

	queries_parse_name("example.", apex);
	queries_serve(bench->writer, apex, queries_build_zone(bench->writer,
		apex, batches, NULL));
	rrbatch_destroy_all(batches);
	queries_collect(view, store_get(view, table_get(view)->only), names,
		1);
	bench->names = names;
}

int
main(int argc, char **argv)
{
	const struct store_options store_options = { .reader_max = 1 };
	static struct cookie_share share;
	static struct counters counters;
	struct query_options options = { .cname_max = 18, .cookies = &share };
	void *memory = aligned_alloc(64, rrl_octets(BUCKETS));
	struct queries_names names = {0};
	struct store *store;
	struct bench bench;
	size_t rounds;
	struct rrl rrl;

	if (memory == NULL)
		queries_fail("memory", NSD_E_MEMORY);
	if (store_create(&store_options, &store) != NSD_OK
		|| store_writer_open(store, &bench.writer) != NSD_OK)
		queries_fail("store", NSD_E_SYSTEM);
	open_zone(&bench, &names, argc > 1 ? (unsigned)atoi(argv[1]) : 200000);
	memset(memory, 0, rrl_octets(BUCKETS));
	rrl_init(&rrl, memory, BUCKETS, (const uint8_t[RRL_KEY_LEN]){1, 2});
	options.limits = &rrl;
	cookie_share_write(&share, &(struct cookie_secrets){1, {{1, 2, 3}}});
	if (query_ctx_create(&options, &counters, &bench.ctx) != NSD_OK)
		queries_fail("memory", NSD_E_MEMORY);
	rounds = argc > 2 ? (size_t)atol(argv[2]) : 500;
	if (argc > 3 && (size_t)atol(argv[3]) < CASES)
		measure_one(&bench, rounds, &cases[atol(argv[3])]);
	else
		measure(&bench, rounds);
	query_ctx_destroy(bench.ctx);
	free(names.names);
	free(memory);
	store_writer_close(bench.writer);
	store_destroy(store);
	return 0;
}
