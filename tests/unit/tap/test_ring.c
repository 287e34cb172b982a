/*
 * test_ring.c - records of queries and answers in shared memory: what was
 * written is read, and a ring with any octets gives no record that is out of
 * its bounds.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "tap/ring.h"

struct pair {
	struct tap_ring ring;
	struct tap_cursor cursor;
	struct tap_writer writer;
	struct tap_reader reader;
	uint8_t copy[TAP_RECORD_MAX];
};

static struct pair *
pair_make(void)
{
	struct pair *p = aligned_alloc(64, (sizeof(*p) + 63) / 64 * 64);

	assert_non_null(p);
	memset(p, 0, sizeof(*p));
	tap_writer_init(&p->writer, &p->ring, &p->cursor, 1);
	p->reader = (struct tap_reader){&p->ring, &p->cursor, p->copy};
	return p;
}

static uint8_t noise[TAP_MESSAGE_MAX];

static struct tap_record
example(uint32_t query_len, uint32_t response_len)
{
	struct tap_record r = {
		.kind = TAP_NOTIFY,
		.parts = TAP_QUERY | TAP_RESPONSE,
		.protocol = TAP_DOT,
		.query_nsec = 1700000000123456789,
		.response_nsec = 1700000000123456799,
		.peer = {{192, 0, 2, 1}, 5353, 4},
		.local = {{0x20, 1, 0xd, 0xb8}, 853, 16},
		.zone_len = 9,
		.query = noise,
		.query_len = query_len,
		.response = response_len > 0 ? noise + 1 : NULL,
		.response_len = response_len,
	};

	return r;
}

static void
expect_record(struct pair *p, const struct tap_record *want)
{
	struct tap_record got;

	assert_int_equal(tap_read(&p->reader, &got), TAP_READ);
	assert_int_equal(got.kind, want->kind);
	assert_int_equal(got.parts, want->parts);
	assert_int_equal(got.protocol, want->protocol);
	assert_int_equal(got.query_nsec, want->query_nsec);
	assert_int_equal(got.response_nsec, want->response_nsec);
	assert_int_equal(got.zone_len, want->zone_len);
	assert_memory_equal(&got.peer, &want->peer, 19);
	assert_memory_equal(&got.local, &want->local, 19);
	assert_int_equal(got.query_len, want->query_len);
	assert_memory_equal(got.query, want->query, want->query_len);
	assert_int_equal(got.response_len, want->response_len);
	if (want->response_len > 0)
		assert_memory_equal(got.response, want->response,
			want->response_len);
	else
		assert_null(got.response);
}

static void
expect_nothing(struct pair *p)
{
	struct tap_record got;

	assert_int_equal(tap_read(&p->reader, &got), TAP_NOTHING);
}

/* Lengths of all sizes, so that records go on at the begin of the ring, too:
 * twenty rings full. */
static void
records_are_read_as_they_were_written(void **state)
{
	struct pair *p = pair_make();
	uint64_t chance = 7;
	struct tap_record records[8];

	expect_nothing(p);
	while (p->ring.written < 20 * (uint64_t)TAP_RING_SIZE) {
		uint32_t count = 1 + chance_below(&chance, 8);

		for (uint32_t i = 0; i < count; i++) {
			records[i] = example(
				chance_below(&chance, TAP_MESSAGE_MAX),
				chance_below(&chance, TAP_MESSAGE_MAX - 1));
			assert_true(tap_write(&p->writer, &records[i]));
		}
		for (uint32_t i = 0; i < count; i++)
			expect_record(p, &records[i]);
		expect_nothing(p);
	}
	free(p);
}

static void
longest_and_shortest_messages_fit(void **state)
{
	struct pair *p = pair_make();
	struct tap_record all = example(TAP_MESSAGE_MAX, TAP_MESSAGE_MAX - 1);
	struct tap_record none = example(0, 0);

	assert_true(tap_write(&p->writer, &all));
	assert_true(tap_write(&p->writer, &none));
	expect_record(p, &all);
	expect_record(p, &none);
	free(p);
}

static void
full_ring_drops_and_counts(void **state)
{
	struct pair *p = pair_make();
	struct tap_record r = example(100, 400);
	uint64_t count = 0;

	while (tap_write(&p->writer, &r))
		count++;
	assert_int_equal(count, TAP_RING_SIZE / 576);
	assert_false(tap_write(&p->writer, &r));
	assert_int_equal(tap_take_dropped(&p->reader), 2);
	assert_int_equal(tap_take_dropped(&p->reader), 0);
	/* A record that is read makes room for another. */
	expect_record(p, &r);
	assert_true(tap_write(&p->writer, &r));
	assert_false(tap_write(&p->writer, &r));
	assert_int_equal(tap_take_dropped(&p->reader), 1);
	while (count-- > 0)
		expect_record(p, &r);
	expect_nothing(p);
	free(p);
}

static void
ring_is_of_the_last_worker_that_took_it(void **state)
{
	struct pair *p = pair_make();
	struct tap_record r = example(40, 80);
	struct tap_writer next;

	assert_true(tap_write(&p->writer, &r));
	tap_writer_init(&next, &p->ring, &p->cursor, 2);
	assert_false(tap_write(&p->writer, &r));
	assert_true(tap_write(&next, &r));
	expect_record(p, &r);
	expect_record(p, &r);
	expect_nothing(p);
	free(p);
}

/* ---- hostile memory ------------------------------------------------------ */

static void
check_bounds(const struct pair *p, const struct tap_record *r)
{
	uint8_t zone[255];

	assert_true(r->kind < TAP_KIND_COUNT);
	assert_true((r->parts & (TAP_QUERY | TAP_RESPONSE)) != 0);
	assert_true(r->protocol >= TAP_UDP && r->protocol <= TAP_DOT);
	assert_true(r->peer.len == 0 || r->peer.len == 4 || r->peer.len == 16);
	assert_true(r->local.len == 0 || r->local.len == 4
		|| r->local.len == 16);
	assert_ptr_equal(r->query, p->copy);
	assert_true(r->query_len + r->response_len <= 2 * TAP_MESSAGE_MAX);
	assert_true(tap_find_zone(r, zone) <= 255);
}

/* Reads until the ring is empty; returns the count of records. */
static uint64_t
read_all(struct pair *p)
{
	struct tap_record r;
	enum tap_outcome outcome;
	uint64_t count = 0;

	while ((outcome = tap_read(&p->reader, &r)) != TAP_NOTHING) {
		count += outcome == TAP_READ;
		if (outcome == TAP_READ)
			check_bounds(p, &r);
		assert_true(count <= TAP_RING_SIZE / TAP_HEAD_LEN);
	}
	return count;
}

static void
garbage_is_given_up_and_the_next_record_is_read(void **state)
{
	struct pair *p = pair_make();
	struct tap_record good = example(50, 200);
	uint64_t chance = 1;

	for (unsigned turn = 0; turn < 20000; turn++) {
		uint64_t from = p->ring.written & (TAP_RING_SIZE - 1);

		for (unsigned i = 0; i < 4; i++)
			(void)tap_write(&p->writer, &good);
		for (unsigned i = 1 + chance_below(&chance, 6); i > 0; i--)
			p->ring.octets[(from + chance_below(&chance, 1400))
				& (TAP_RING_SIZE - 1)]
				= (uint8_t)chance_next(&chance);
		assert_true(read_all(p) <= 4);
		assert_true(tap_write(&p->writer, &good));
		assert_int_equal(read_all(p), 1);
	}
	free(p);
}

static void
positions_may_be_anything(void **state)
{
	static const uint64_t odd[] = {0, 1, 7, 8, TAP_HEAD_LEN,
		TAP_RING_SIZE - 1, TAP_RING_SIZE, TAP_RING_SIZE + 1,
		UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63};
	struct pair *p = pair_make();
	struct tap_record good = example(50, 200);
	uint64_t chance = 3;

	for (size_t i = 0; i < TAP_RING_SIZE; i++)
		p->ring.octets[i] = (uint8_t)chance_next(&chance);
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		for (size_t k = 0; k < sizeof(odd) / sizeof(*odd); k++) {
			p->ring.written = odd[i];
			p->cursor.read = odd[k];
			(void)read_all(p);
			/* The next worker of the ring goes on. */
			tap_writer_init(&p->writer, &p->ring, &p->cursor, 1);
			(void)tap_write(&p->writer, &good);
			(void)read_all(p);
			assert_true(tap_write(&p->writer, &good));
			assert_int_equal(read_all(p), 1);
			/* A collector may say anything, too. */
			p->cursor.read = odd[k];
			(void)tap_write(&p->writer, &good);
		}
	free(p);
}

/* A worker that somebody else has written to goes on: with the first record it
 * says where it is, and with the second it is there. */
static void
reader_comes_back_after_garbage(void **state)
{
	static const uint64_t odd[] = {1, TAP_RING_SIZE + 8, UINT64_MAX,
		UINT64_C(1) << 63};
	struct pair *p = pair_make();
	struct tap_record good = example(50, 200);

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		p->ring.written += odd[i];
		(void)read_all(p);
		(void)tap_write(&p->writer, &good);
		(void)read_all(p);
		assert_true(tap_write(&p->writer, &good));
		assert_int_equal(read_all(p), 1);
		/* The next worker's first record is read. */
		p->ring.written += odd[i];
		(void)read_all(p);
		tap_writer_init(&p->writer, &p->ring, &p->cursor, 1);
		assert_true(tap_write(&p->writer, &good));
		assert_int_equal(read_all(p), 1);
	}
	free(p);
}

/* Each field of a head with each value: a record is read whose fields are all
 * within bounds, or none. */
static void
each_octet_of_a_head_may_be_anything(void **state)
{
	struct pair *p = pair_make();
	struct tap_record good = example(30, 60), r;

	for (unsigned at = 0; at < TAP_HEAD_LEN; at++)
		for (unsigned value = 0; value < 256; value++) {
			uint64_t from = p->ring.written;

			assert_true(tap_write(&p->writer, &good));
			p->ring.octets[(from + at) & (TAP_RING_SIZE - 1)]
				= (uint8_t)value;
			if (tap_read(&p->reader, &r) == TAP_READ)
				check_bounds(p, &r);
			expect_nothing(p);
		}
	free(p);
}

/* ---- two processes ------------------------------------------------------- */

#define RECORDS 200000u

static void *
write_records(void *arg)
{
	struct pair *p = arg;
	struct tap_record r = example(40, 100);

	for (uint64_t i = 0; i < RECORDS; i++) {
		r.query_nsec = (int64_t)i;
		while (!tap_write(&p->writer, &r))
			;
	}
	return NULL;
}

static void
reader_sees_whole_records_while_others_are_written(void **state)
{
	struct pair *p = pair_make();
	struct tap_record r;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, write_records, p), 0);
	for (int64_t i = 0; i < RECORDS;) {
		enum tap_outcome outcome = tap_read(&p->reader, &r);

		assert_int_not_equal(outcome, TAP_GARBAGE);
		if (outcome == TAP_NOTHING)
			continue;
		assert_int_equal(r.query_nsec, i++);
		assert_memory_equal(r.response, noise + 1, 100);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	free(p);
}

/* ---- addresses and zones ------------------------------------------------- */

static void
addresses_are_those_of_sockets(void **state)
{
	struct sockaddr_in ip4 = {.sin_family = AF_INET,
		.sin_port = htons(53)};
	struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6,
		.sin6_port = htons(65535)};
	struct sockaddr other = {.sa_family = AF_UNIX};
	struct tap_address a;

	inet_pton(AF_INET, "192.0.2.7", &ip4.sin_addr);
	inet_pton(AF_INET6, "2001:db8::1", &ip6.sin6_addr);
	tap_address_set(&a, (struct sockaddr *)&ip4);
	assert_int_equal(a.len, 4);
	assert_int_equal(a.port, 53);
	assert_memory_equal(a.octets, &ip4.sin_addr, 4);
	tap_address_set(&a, (struct sockaddr *)&ip6);
	assert_int_equal(a.len, 16);
	assert_int_equal(a.port, 65535);
	assert_memory_equal(a.octets, &ip6.sin6_addr, 16);
	tap_address_set(&a, &other);
	assert_int_equal(a.len, 0);
	tap_address_set(&a, NULL);
	assert_int_equal(a.len, 0);
}

static const uint8_t asked[] = "\0\1\0\0\0\1\0\0\0\0\0\0"
	"\3wWw\7EXample\3com\0\0\1\0\1";

static size_t
zone_of(const uint8_t *query, size_t len, uint8_t zone_len, uint8_t zone[255])
{
	struct tap_record r = {.query = query, .query_len = (uint32_t)len,
		.zone_len = zone_len};

	return tap_find_zone(&r, zone);
}

static void
zone_is_a_suffix_of_the_question(void **state)
{
	uint8_t zone[255];

	assert_int_equal(zone_of(asked, sizeof(asked) - 1, 13, zone), 13);
	assert_memory_equal(zone, "\7example\3com", 13);
	assert_int_equal(zone_of(asked, sizeof(asked) - 1, 17, zone), 17);
	assert_memory_equal(zone, "\3www\7example\3com", 17);
	assert_int_equal(zone_of(asked, sizeof(asked) - 1, 1, zone), 1);
	assert_int_equal(zone[0], 0);
	/* No zone, in the midst of a label, longer than the name. */
	assert_int_equal(zone_of(asked, sizeof(asked) - 1, 0, zone), 0);
	assert_int_equal(zone_of(asked, sizeof(asked) - 1, 12, zone), 0);
	assert_int_equal(zone_of(asked, sizeof(asked) - 1, 18, zone), 0);
	for (size_t len = 0; len < 12 + 17; len++)
		assert_int_equal(zone_of(asked, len, 5, zone), 0);
}

static void
zone_may_be_in_the_response_alone(void **state)
{
	struct tap_record r = {.response = asked,
		.response_len = sizeof(asked) - 1, .zone_len = 5};
	uint8_t zone[255];

	r.query = asked;
	assert_int_equal(tap_find_zone(&r, zone), 5);
	assert_memory_equal(zone, "\3com", 5);
}

/* A set has its zones, and few others. */
static void
set_of_zones_has_its_zones(void **state)
{
	static struct tap_zones zones;
	unsigned others = 0;
	uint8_t name[4] = {2, 0, 0, 0};

	assert_false(tap_zones_may_have(&zones, name, sizeof(name)));
	for (unsigned i = 0; i < 1000; i++) {
		name[1] = (uint8_t)i;
		name[2] = (uint8_t)(i >> 8);
		if (i < 100)
			tap_zones_add(&zones, name, sizeof(name));
		else
			others += tap_zones_may_have(&zones, name,
				sizeof(name));
		if (i < 100)
			assert_true(tap_zones_may_have(&zones, name,
				sizeof(name)));
	}
	assert_in_range(others, 0, 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_read_as_they_were_written),
		cmocka_unit_test(longest_and_shortest_messages_fit),
		cmocka_unit_test(full_ring_drops_and_counts),
		cmocka_unit_test(ring_is_of_the_last_worker_that_took_it),
		cmocka_unit_test(
			garbage_is_given_up_and_the_next_record_is_read),
		cmocka_unit_test(positions_may_be_anything),
		cmocka_unit_test(reader_comes_back_after_garbage),
		cmocka_unit_test(each_octet_of_a_head_may_be_anything),
		cmocka_unit_test(
			reader_sees_whole_records_while_others_are_written),
		cmocka_unit_test(addresses_are_those_of_sockets),
		cmocka_unit_test(zone_is_a_suffix_of_the_question),
		cmocka_unit_test(zone_may_be_in_the_response_alone),
		cmocka_unit_test(set_of_zones_has_its_zones),
	};

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * 7 + i / 251);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
