/* test_rssac.c - lengths of messages, and estimates of how many clients ask. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "expect.h"
#include "query/rssac.h"

static struct rssac *
make(void)
{
	struct rssac *r = aligned_alloc(64, sizeof(*r));

	assert_non_null(r);
	memset(r, 0, sizeof(*r));
	r->key[0] = UINT64_C(0x0123456789abcdef);
	r->key[1] = UINT64_C(0xfedcba9876543210);
	return r;
}

static void
ask_from(struct rssac *r, const struct sockaddr_storage *peer)
{
	const struct exchange x = { .request_len = 12, .reply_len = 12,
		.peer = peer };

	rssac_count(r, &x, 1);
}

static void
lengths_are_counted_by_16_octets(void **state)
{
	static const struct {
		uint32_t len;
		unsigned bin;
	} rows[] = {
		{ 15, 0 }, { 16, 1 }, { 31, 1 }, { 32, 2 }, { 4095, 255 },
		{ 4096, 256 }, { 4111, 256 }, { 4112, 256 }, { 65535, 256 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rssac *r = make();
		struct exchange x[] = {
			{ .request_len = rows[i].len, .reply_len = 20 },
			{ .request_len = 20, .reply_len = rows[i].len,
				.transport = TRANSPORT_TCP },
		};

		rssac_count(r, x, 2);
		assert_int_equal(r->requests[RSSAC_UDP][rows[i].bin], 1);
		assert_int_equal(r->replies[RSSAC_UDP][1], 1);
		assert_int_equal(r->requests[RSSAC_TCP][1], 1);
		assert_int_equal(r->replies[RSSAC_TCP][rows[i].bin], 1);
		assert_int_equal(r->sent[RSSAC_UDP][0], 1);
		assert_int_equal(r->sent[RSSAC_TCP][0], 1);
		free(r);
	}
}

/* See enum exchange_seen. */
static void
what_comes_again_counts_once(void **state)
{
	static const struct {
		struct exchange x;
		unsigned requests, replies;
	} rows[] = {
		{ { .reply_len = 20 }, 1, 1 },
		{ { .reply_len = 0 }, 1, 0 },
		{ { .put_off = true }, 1, 0 },
		{ { .reply_len = 20, .seen = EXCHANGE_PUT_OFF }, 0, 1 },
		{ { .put_off = true, .seen = EXCHANGE_PUT_OFF }, 0, 0 },
		{ { .reply_len = 20, .seen = EXCHANGE_ANSWERED }, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rssac *r = make();
		struct exchange x = rows[i].x;

		x.request_len = 20;
		x.transport = TRANSPORT_TCP;
		rssac_count(r, &x, 1);
		assert_int_equal(r->requests[RSSAC_TCP][1], rows[i].requests);
		assert_int_equal(r->replies[RSSAC_TCP][1], rows[i].replies);
		free(r);
	}
}

/* Checks that an estimate is within 5 %, three times its standard error. */
static void
expect_about(uint64_t got, uint64_t want)
{
	assert_in_range(got * 100, want * 95, want * 105);
}

/* Clients with several ports count once. */
static void
sources_are_estimated(void **state)
{
	static const unsigned counts[] = { 0, 1, 2, 10, 100, 1000, 5000, 12000,
		20000, 100000, 1000000 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct sockaddr_storage peer = { .ss_family = AF_INET };
		struct sockaddr_in *in = (struct sockaddr_in *)&peer;
		struct rssac *r = make();

		for (unsigned j = 0; j < counts[i]; j++)
			for (unsigned port = 1; port < 3; port++) {
				in->sin_addr.s_addr = htonl(0x0a000000 + j);
				in->sin_port = htons((uint16_t)port);
				ask_from(r, &peer);
			}
		expect_about(rssac_estimate(r->sources[RSSAC_IP4]), counts[i]);
		assert_int_equal(rssac_estimate(r->sources[RSSAC_IP6]), 0);
		free(r);
	}
}

/* A thousand networks with ten clients in each, found by two workers. */
static void
sources_of_ipv6_and_of_several_workers(void **state)
{
	struct sockaddr_storage peer = { .ss_family = AF_INET6 };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer;
	struct rssac *worker[] = { make(), make() }, *sum = make();

	for (unsigned i = 0; i < 10000; i++) {
		octets_put_u16(in6->sin6_addr.s6_addr + 6,
			(uint16_t)(i % 1000));
		octets_put_u16(in6->sin6_addr.s6_addr + 14,
			(uint16_t)(i / 1000));
		ask_from(worker[i % 2], &peer);
		if (i % 3 == 0)
			ask_from(worker[1 - i % 2], &peer);
	}
	rssac_add(sum, worker[0]);
	rssac_add(sum, worker[1]);
	expect_about(rssac_estimate(sum->sources[RSSAC_IP6]), 10000);
	expect_about(rssac_estimate(sum->sources[RSSAC_IP6_NETS]), 1000);
	assert_int_equal(rssac_estimate(sum->sources[RSSAC_IP4]), 0);
	assert_int_equal(sum->sent[RSSAC_UDP][1], 10000 + 3334);
	for (unsigned i = 0; i < 2; i++)
		free(worker[i]);
	free(sum);
}

/* A worker that was taken over may write anything into its counters, which main
 * sums up. */
static void
registers_of_a_taken_over_worker_are_no_harm(void **state)
{
	struct rssac *worker = make(), *sum = make();

	memset(worker->sources, 255, sizeof(worker->sources));
	rssac_add(sum, worker);
	for (unsigned s = 0; s < RSSAC_SOURCES; s++) {
		for (unsigned i = 0; i < RSSAC_REGISTERS; i++)
			assert_in_range(sum->sources[s][i], 1, 63);
		assert_true(rssac_estimate(sum->sources[s])
			== UINT64_C(1) << 63);
	}
	free(worker);
	free(sum);
}

static void
answers_count_where_it_is_asked_for(void **state)
{
	struct rssac *r = make();
	struct world w;

	world_init(&w);
	w.query_options.rssac = r;
	world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\nz. 60 NS ns.z.");
	world_start(&w);
	done(ask_for(&w, "z.", TYPE_SOA));
	assert_int_equal(r->requests[RSSAC_TCP][1], 1);
	assert_int_equal(r->sent[RSSAC_TCP][0], 1);
	assert_int_equal(rssac_estimate(r->sources[RSSAC_IP4]), 1);
	world_fini(&w);
	free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_are_counted_by_16_octets),
		cmocka_unit_test(what_comes_again_counts_once),
		cmocka_unit_test(sources_are_estimated),
		cmocka_unit_test(sources_of_ipv6_and_of_several_workers),
		cmocka_unit_test(registers_of_a_taken_over_worker_are_no_harm),
		cmocka_unit_test(answers_count_where_it_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
