/*
 * test_stream.c - batches of a stream: the replies to one are bounded, and what
 * comes again is counted once.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns/counters.h"
#include "expect.h"
#include "store/writer.h"

#define COUNT EXCHANGE_BATCH_MAX

struct batch {
	struct exchange exchanges[COUNT];
	struct sockaddr_storage peer;
	uint8_t request[1024];
	uint8_t *replies;
};

/* A TXT RRset of some 25,000 octets. */
static void
start(struct world *w)
{
	struct world_zone *zone;
	char line[300];

	world_init(w);
	zone = world_add_zone(w, "z.", "z. 60 SOA ns.z. r. 1 2 3 4 5\n"
		"z. 60 NS ns.z.\nns.z. 60 A 192.0.2.1\n");
	for (unsigned i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), "big.z. 60 TXT \"%0200u\"", i);
		world_add_record(zone, line);
	}
	world_start(w);
}

static void
batch_ask(struct batch *b, const struct ask *ask,
	enum exchange_transport transport)
{
	size_t len = ask_write(ask, b->request);
	struct sockaddr_in *in = (struct sockaddr_in *)&b->peer;

	memset(b->exchanges, 0, sizeof(b->exchanges));
	memset(&b->peer, 0, sizeof(b->peer));
	in->sin_family = AF_INET;
	in->sin_port = htons(4000);
	b->replies = malloc(COUNT * (size_t)WORLD_REPLY_MAX);
	assert_non_null(b->replies);
	for (size_t i = 0; i < COUNT; i++)
		b->exchanges[i] = (struct exchange){
			.request = b->request,
			.request_len = (uint32_t)len,
			.reply = b->replies + i * WORLD_REPLY_MAX,
			.reply_capacity = WORLD_REPLY_MAX,
			.transport = transport,
			.peer = &b->peer,
		};
}

static void
batch_init(struct batch *b, enum exchange_transport transport)
{
	const struct ask ask = { .qname = "big.z.", .type = TYPE_TXT };

	batch_ask(b, &ask, transport);
}

static size_t
answer(struct world *w, struct batch *b, size_t *octets)
{
	size_t count = 0;

	query_answer_batch(w->ctx, store_writer_view(w->writer), b->exchanges,
		COUNT);
	*octets = 0;
	for (size_t i = 0; i < COUNT; i++) {
		/* Requests behind the first one that is put off are put off
		 * too. */
		if (i > 0 && b->exchanges[i - 1].put_off)
			assert_true(b->exchanges[i].put_off);
		assert_int_equal(b->exchanges[i].put_off,
			b->exchanges[i].reply_len == 0);
		count += !b->exchanges[i].put_off;
		*octets += b->exchanges[i].reply_len;
	}
	return count;
}

static void
large_replies_of_a_stream_are_put_off(void **state)
{
	struct world w;
	struct batch b;
	size_t octets, count;

	start(&w);
	batch_init(&b, TRANSPORT_TCP);
	count = answer(&w, &b, &octets);
	assert_true(b.exchanges[0].reply_len > 20000);
	assert_in_range(count, 2, COUNT - 1);
	assert_in_range(octets, EXCHANGE_REPLIES_MAX,
		EXCHANGE_REPLIES_MAX + b.exchanges[0].reply_len);
	free(b.replies);
	world_fini(&w);
}

/* A reply is short for which an RRset was written that does not fit: one whose
 * names are compressed anew, one with signatures, and one that an answer would
 * have beside it; or what comes before it was written, and is taken back. */
static void
what_does_not_fit_a_reply_of_a_stream_counts(void **state)
{
	static const struct ask asks[] = {
		{ .qname = "names.z.", .type = TYPE_PTR },
		{ .qname = "sigs.z.", .type = TYPE_AAAA, .dnssec = true },
		{ .qname = "y.", .type = TYPE_SOA },
		{ .qname = "link.z.", .type = TYPE_TXT, .dnssec = true },
	};
	struct world_zone *zone;
	struct world w;
	struct batch b;
	size_t octets;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_many(zone, "names.z. 60 PTR %08u.z.", 3000);
	world_add_many(zone, "sigs.z. 60 AAAA 2001:db8::%u", 2330);
	world_add_many(zone, "sigs.z. 60 RRSIG AAAA s%u.z.", 20);
	world_add_record(zone, "link.z. 60 CNAME big.z.");
	world_add_many(zone, "link.z. 60 RRSIG CNAME s%u.z.", 500);
	world_add_many(zone, "big.z. 60 TXT \"%0200u\"", 300);
	zone = world_add_zone(&w, "y.", "y. 60 SOA ns.z. r. 1 2 3 4 5\n");
	world_add_many(zone, "y. 60 NS %08u.z.", 3000);
	world_start(&w);
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
		batch_ask(&b, &asks[i], TRANSPORT_TCP);
		assert_in_range(answer(&w, &b, &octets), 1, COUNT / 2);
		assert_in_range(b.exchanges[0].reply_len, 12, 200);
		free(b.replies);
	}
	world_fini(&w);
}

/* A datagram cannot be asked for again. */
static void
nothing_of_udp_is_put_off(void **state)
{
	struct world w;
	struct batch b;
	size_t octets;

	start(&w);
	batch_init(&b, TRANSPORT_UDP);
	assert_int_equal(answer(&w, &b, &octets), COUNT);
	free(b.replies);
	world_fini(&w);
}

/* The counters after a batch that came three times are those of one. */
static void
what_comes_again_is_counted_once(void **state)
{
	struct world w;
	struct batch b;
	struct counters after;
	size_t octets, count;

	start(&w);
	batch_init(&b, TRANSPORT_TCP);
	count = answer(&w, &b, &octets);
	assert_int_equal(w.counters.queries, COUNT);
	assert_int_equal(w.counters.rcode[RCODE_NOERROR], count);
	/* The replies went nowhere: these come again, with the rest. */
	for (size_t i = 0; i < COUNT; i++) {
		b.exchanges[i].seen = b.exchanges[i].put_off
			? EXCHANGE_PUT_OFF : EXCHANGE_ANSWERED;
		b.exchanges[i].put_off = false;
	}
	after = w.counters;
	assert_int_equal(answer(&w, &b, &octets), count);
	assert_memory_equal(&w.counters, &after, sizeof(after));
	/* Requests that never had a reply now come first. */
	for (size_t i = 0; i < COUNT; i++) {
		b.exchanges[i].seen = EXCHANGE_PUT_OFF;
		b.exchanges[i].put_off = false;
	}
	assert_int_equal(answer(&w, &b, &octets), count);
	after.rcode[RCODE_NOERROR] += count;
	assert_memory_equal(&w.counters, &after, sizeof(after));
	free(b.replies);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_replies_of_a_stream_are_put_off),
		cmocka_unit_test(what_does_not_fit_a_reply_of_a_stream_counts),
		cmocka_unit_test(nothing_of_udp_is_put_off),
		cmocka_unit_test(what_comes_again_is_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
