/*
 * test_rrl.c - the table of rate limits.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guard/rrl.h"
#include "lib/chance.h"

#define LIMIT 50u

static const uint8_t key[RRL_KEY_LEN] = "two and thirty octets of a key:";

static struct rrl
make(uint32_t buckets)
{
	void *memory = aligned_alloc(64, rrl_octets(buckets));
	struct rrl rrl;

	assert_non_null(memory);
	memset(memory, 0, rrl_octets(buckets));
	rrl_init(&rrl, memory, buckets, key);
	return rrl;
}

static uint64_t
hash(const struct rrl *rrl, uint32_t kind, const char *client,
	const char *name)
{
	struct sockaddr_storage address;
	struct rrl_subject subject = {
		.kind = kind,
		.name = (const uint8_t *)name,
		.name_len = strlen(name),
	};
	unsigned bits;

	memset(&address, 0, sizeof(address));
	address.ss_family = strchr(client, ':') != NULL ? AF_INET6 : AF_INET;
	assert_int_equal(inet_pton(address.ss_family, client,
		address.ss_family == AF_INET6
			? (void *)&((struct sockaddr_in6 *)&address)->sin6_addr
			: (void *)&((struct sockaddr_in *)&address)->sin_addr),
		1);
	bits = address.ss_family == AF_INET6 ? 64 : 24;
	return rrl_hash_netblock(rrl, rrl_hash(rrl, &subject),
		rrl_netblock(rrl_address(&address), bits), bits);
}

/* Asks so often a second for so many seconds, evenly; how often it was
 * limited. *now goes on. */
static unsigned
ask(const struct rrl *rrl, uint64_t subject, unsigned rate, unsigned seconds,
	uint64_t *now)
{
	unsigned limited = 0;

	for (unsigned s = 0; s < seconds; s++, *now += RRL_TICKS_PER_SEC)
		for (unsigned i = 0; i < rate; i++)
			limited += rrl_count(rrl, subject, LIMIT, *now
				+ (uint64_t)i * RRL_TICKS_PER_SEC / rate)
				.limited;
	return limited;
}

static void
up_to_the_limit_all_is_answered(void **state)
{
	struct rrl rrl = make(1000);
	uint64_t now = 12345;

	(void)state;
	for (unsigned rate = 1; rate < LIMIT; rate++)
		assert_int_equal(ask(&rrl, hash(&rrl, 0, "192.0.2.1", "a"),
			rate, 20, &now), 0);
	free(rrl.lines);
}

static void
beyond_it_nothing_is_answered(void **state)
{
	struct rrl rrl = make(1000);
	uint64_t now = 7, subject = hash(&rrl, 0, "192.0.2.1", "a");

	(void)state;
	for (unsigned rate = LIMIT + 5; rate < 20000; rate = rate * 3 / 2) {
		(void)ask(&rrl, subject, rate, 10, &now);
		assert_int_equal(ask(&rrl, subject, rate, 2, &now), 2 * rate);
		/* Answers come again once the flood ends. */
		now += 4 * RRL_TICKS_PER_SEC;
		assert_false(rrl_count(&rrl, subject, LIMIT, now).limited);
		now += 10 * RRL_TICKS_PER_SEC;
	}
	free(rrl.lines);
}

/* Counts a subject at a moment until it is limited; how often it was not. */
static unsigned
count_until_limited(const struct rrl *rrl, uint64_t subject, uint64_t now)
{
	unsigned count = 0;

	while (count < 100 * LIMIT
		&& !rrl_count(rrl, subject, LIMIT, now).limited)
		count++;
	return count;
}

static void
twice_the_limit_may_come_at_once(void **state)
{
	struct rrl rrl = make(8);
	uint64_t subject = hash(&rrl, 0, "192.0.2.1", "a");

	(void)state;
	for (uint64_t now = 0; now < 200000; now += 77777) {
		assert_int_equal(count_until_limited(&rrl, subject, now),
			2 * LIMIT);
		/* A subject in the same line, and one with a tag of 0. */
		assert_int_equal(count_until_limited(&rrl, subject ^ 1, now),
			2 * LIMIT);
		assert_int_equal(count_until_limited(&rrl,
			UINT64_C(0x1234567800070000), now), 2 * LIMIT);
		memset(rrl.lines, 0, rrl_octets(8));
	}
	/* The highest limit is one. */
	for (unsigned i = 0; i < 2 * RRL_LIMIT_MAX; i++)
		assert_false(rrl_count(&rrl, ~subject, UINT32_MAX, 0).limited);
	assert_true(rrl_count(&rrl, ~subject, UINT32_MAX, 0).limited);
	free(rrl.lines);
}

static void
its_begin_and_end_are_told_once(void **state)
{
	struct rrl rrl = make(8);
	uint64_t subject = hash(&rrl, 0, "192.0.2.1", "a");
	unsigned begins = 0, ends = 0;
	struct rrl_verdict v;

	(void)state;
	for (unsigned i = 0; i < 20 * LIMIT; i++) {
		v = rrl_count(&rrl, subject, LIMIT, 0);
		begins += v.begins;
		ends += v.ends;
		assert_true(!v.begins || v.limited);
	}
	assert_int_equal(begins, 1);
	assert_int_equal(ends, 0);
	for (unsigned i = 0; i < 100; i++) {
		v = rrl_count(&rrl, subject, LIMIT, i * RRL_TICKS_PER_SEC);
		begins += v.begins;
		ends += v.ends;
	}
	assert_int_equal(begins, 1);
	assert_int_equal(ends, 1);
	free(rrl.lines);
}

static void
subjects_are_told_apart(void **state)
{
	static const struct {
		uint32_t kind;
		const char *client, *name;
		bool same; /* as the first */
	} rows[] = {
		{ 1, "192.0.2.1", "12345678", true },
		{ 1, "192.0.2.255", "12345678", true },
		{ 1, "192.0.3.1", "12345678", false },
		{ 2, "192.0.2.1", "12345678", false },
		{ 1, "192.0.2.1", "12345679", false },
		{ 1, "192.0.2.1", "123456781", false },
		{ 1, "192.0.2.1", "1234567", false },
		{ 1, "192.0.2.1", "", false },
		{ 1, "c000:200::", "12345678", false },
	};
	struct rrl rrl = make(8), other = rrl;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_true((hash(&rrl, rows[i].kind, rows[i].client,
			rows[i].name) == hash(&rrl, 1, "192.0.2.1", "12345678"))
			== rows[i].same);
	assert_true(hash(&rrl, 1, "2001:db8::1", "")
		== hash(&rrl, 1, "2001:db8::ffff:0:0:2", ""));
	assert_true(hash(&rrl, 1, "2001:db8::1", "")
		!= hash(&rrl, 1, "2001:db8:0:1::1", ""));
	/* Every word of the key changes the hash. */
	for (unsigned i = 0; i < RRL_KEY_LEN / 8; i++) {
		other = rrl;
		other.key[i] ^= UINT64_C(1) << 63;
		assert_true(hash(&rrl, 1, "192.0.2.1", "a")
			!= hash(&other, 1, "192.0.2.1", "a"));
	}
	free(rrl.lines);
}

static uint64_t
hash_octets(const struct rrl *rrl, uint32_t kind, const uint8_t *octets,
	size_t len)
{
	struct rrl_subject subject = {.kind = kind, .name = octets,
		.name_len = len};

	return rrl_hash(rrl, &subject);
}

/* A name of any length: each bit of it makes another hash, and what is behind
 * it none. */
static void
each_octet_of_a_name_counts(void **state)
{
	struct rrl rrl = make(8);
	uint8_t name[256];
	uint64_t chance = 3, before = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (uint8_t)chance_next(&chance);
	for (size_t len = 0; len < sizeof(name); len++) {
		uint64_t is = hash_octets(&rrl, 1, name, len);

		assert_true(is != before);
		before = is;
		name[len] ^= 1;
		assert_true(hash_octets(&rrl, 1, name, len) == is);
		assert_true(hash_octets(&rrl, 2, name, len) != is);
		for (size_t bit = 0; bit < 8 * len; bit++) {
			name[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_true(hash_octets(&rrl, 1, name, len) != is);
			name[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	free(rrl.lines);
}

static void
the_length_of_a_name_counts(void **state)
{
	struct rrl rrl = make(8);
	uint64_t hashes[200];
	uint8_t name[200];

	(void)state;
	for (unsigned fill = 0; fill < 2; fill++) {
		memset(name, (int)fill, sizeof(name));
		for (size_t len = 0; len < sizeof(name); len++) {
			hashes[len] = hash_octets(&rrl, 1, name, len);
			for (size_t i = 0; i < len; i++)
				assert_true(hashes[i] != hashes[len]);
		}
	}
	free(rrl.lines);
}

/* Octets of a name do not make up for another kind. */
static void
a_name_is_no_kind(void **state)
{
	struct rrl rrl = make(8);
	uint64_t kinds[2] = {UINT64_C(1) << 32, UINT64_C(2) << 32};
	uint8_t name[2][8];

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		for (unsigned k = 0; k < 2; k++) {
			uint64_t word = i ^ kinds[k];

			memcpy(name[k], &word, sizeof(word));
			assert_true(k == 0 || hash_octets(&rrl, 1, name[0], 8)
				!= hash_octets(&rrl, 2, name[1], 8));
		}
	free(rrl.lines);
}

/* How many of 65536 places, some bits of the hash, are left empty by as many
 * neighbours of a length. */
static unsigned
count_empty(const struct rrl *rrl, unsigned bits, unsigned shift)
{
	uint64_t subject = hash_octets(rrl, 1, (const uint8_t *)"name", 4);
	static uint8_t seen[65536];
	unsigned empty = sizeof(seen);

	memset(seen, 0, sizeof(seen));
	for (uint64_t i = 0; i < sizeof(seen); i++) {
		uint64_t at = rrl_hash_netblock(rrl, subject,
			i << (64 - bits), bits) >> shift & 0xffff;

		empty -= !seen[at];
		seen[at] = 1;
	}
	return empty;
}

/* Neighbours are spread over lines, buckets of a line and tags as if by dice,
 * which leave 24109 +- 80, whatever the key. */
static void
netblocks_are_spread_evenly(void **state)
{
	struct rrl rrl = make(8);
	uint64_t chance = 11;

	(void)state;
	for (unsigned i = 0; i < 30; i++) {
		for (unsigned k = 0; k < RRL_KEY_LEN / 8; k++)
			rrl.key[k] = chance_next(&chance);
		for (unsigned bits = 24; bits <= 64; bits += 8)
			for (unsigned shift = 0; shift <= 48; shift += 16)
				assert_true(count_empty(&rrl, bits, shift)
					< 24700);
	}
	free(rrl.lines);
}

static void
any_prefix_length_will_do(void **state)
{
	struct sockaddr_storage a = {.ss_family = AF_INET};
	struct sockaddr_in *ip4 = (struct sockaddr_in *)&a;
	struct sockaddr_in6 *ip6 = (struct sockaddr_in6 *)&a;

	(void)state;
	memset(&ip4->sin_addr, 0xff, 4);
	assert_true(rrl_address(&a) == UINT64_C(0xffffffff00000000));
	for (unsigned bits = 0; bits <= 64; bits++) {
		uint64_t block = rrl_netblock(UINT64_MAX, bits);

		assert_int_equal(__builtin_popcountll(block), bits);
		assert_true(bits == 0 || block >> (64 - bits) << (64 - bits)
			== block);
	}
	assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &ip4->sin_addr), 1);
	assert_true(rrl_address(&a) == UINT64_C(0xc000020100000000));
	a.ss_family = AF_INET6;
	assert_int_equal(inet_pton(AF_INET6, "2001:db8:1:2:3::4",
		&ip6->sin6_addr), 1);
	assert_true(rrl_address(&a) == UINT64_C(0x20010db800010002));
}

/* Fault 76: sources that ask once are many; who asks often stays known. */
static void
floods_do_not_push_out_offenders(void **state)
{
	struct rrl rrl = make(10000);
	uint64_t now = 0, offenders[50], chance = 1;

	(void)state;
	for (unsigned i = 0; i < 50; i++)
		offenders[i] = chance_next(&chance);
	for (unsigned turn = 0; turn < 4 * RRL_TICKS_PER_SEC; turn++, now++) {
		for (unsigned i = 0; i < 2000; i++)
			(void)rrl_count(&rrl, chance_next(&chance), LIMIT, now);
		for (unsigned i = 0; i < 50 * 16; i++) {
			bool limited = rrl_count(&rrl, offenders[i % 50],
				LIMIT, now).limited;

			assert_true(limited || turn < RRL_TICKS_PER_SEC);
		}
	}
	free(rrl.lines);
}

/* Fills a line with subjects of its first tags, counted so often each. */
static void
fill_line(const struct rrl *rrl, unsigned times, uint64_t now)
{
	for (uint64_t i = 0; i < 8; i++)
		for (unsigned n = 0; n < times; n++)
			(void)rrl_count(rrl, i << 15 | (i + 1), 100000, now);
}

/* Two that come in turn stay known beside each other, though all are as low. */
static void
newcomers_do_not_push_out_each_other(void **state)
{
	struct rrl rrl = make(8);
	uint64_t a = UINT64_C(3) << 15 | 100, b = UINT64_C(5) << 15 | 200;
	unsigned answered[2] = {0, 0};

	(void)state;
	fill_line(&rrl, 1, 16);
	for (unsigned i = 0; i < 2 * LIMIT + 10; i++) {
		answered[0] += !rrl_count(&rrl, a, LIMIT, 16).limited;
		answered[1] += !rrl_count(&rrl, b, LIMIT, 16).limited;
	}
	assert_int_equal(answered[0], 2 * LIMIT);
	assert_int_equal(answered[1], 2 * LIMIT);
	free(rrl.lines);
}

/* Old counts are evicted before recent ones. */
static void
the_past_makes_room(void **state)
{
	struct rrl rrl = make(8);
	uint64_t now = 20 * RRL_TICKS_PER_SEC, a = 100;

	(void)state;
	fill_line(&rrl, 4 * LIMIT, 0);
	(void)count_until_limited(&rrl, a, now);
	for (uint64_t i = 0; i < 3; i++)
		(void)rrl_count(&rrl, i << 15 | (i + 300), LIMIT, now);
	assert_true(rrl_count(&rrl, a, LIMIT, now).limited);
	free(rrl.lines);
}

/* An offender is not taken for one of long ago by a clock that is late. */
static void
a_late_clock_pushes_out_nobody(void **state)
{
	struct rrl rrl = make(8);
	uint64_t now = 1000;

	(void)state;
	fill_line(&rrl, 3 * LIMIT, now);
	memset(rrl.lines, 0, 8);
	(void)rrl_count(&rrl, 400, LIMIT, now - 20);
	for (uint64_t i = 0; i < 20; i++)
		(void)rrl_count(&rrl, i << 15 | (i + 300), LIMIT, now - 3);
	for (uint64_t i = 1; i < 8; i++)
		assert_true(rrl_count(&rrl, i << 15 | (i + 1), LIMIT, now)
			.limited);
	free(rrl.lines);
}

static void
a_table_has_whole_lines_and_the_whole_key(void **state)
{
	uint8_t other[RRL_KEY_LEN];
	struct rrl rrl = make(9), rekeyed;

	(void)state;
	assert_int_equal(rrl_octets(1), 64);
	assert_int_equal(rrl_octets(8), 64);
	assert_int_equal(rrl_octets(9), 128);
	assert_int_equal(rrl_octets(1000000), 8000000);
	assert_int_equal(rrl.line_count, 2);
	for (unsigned i = 0; i < RRL_KEY_LEN; i++) {
		memcpy(other, key, sizeof(other));
		memset(&rekeyed, (int)i, sizeof(rekeyed));
		rrl_init(&rekeyed, rrl.lines, 9, other);
		assert_true(hash(&rrl, 1, "192.0.2.1", "a")
			== hash(&rekeyed, 1, "192.0.2.1", "a"));
		other[i] ^= 1;
		rrl_init(&rekeyed, rrl.lines, 9, other);
		assert_true(hash(&rrl, 1, "192.0.2.1", "a")
			!= hash(&rekeyed, 1, "192.0.2.1", "a"));
	}
	free(rrl.lines);
}

/* The time in a bucket has 18 bits: a limit holds across its wrap, and ends as
 * usual after it. */
static void
a_clock_may_wrap_and_be_late(void **state)
{
	struct rrl rrl = make(8);
	uint64_t subject = 99, now = (UINT64_C(1) << 18) - 10;

	(void)state;
	for (unsigned i = 0; i < 3 * LIMIT; i++)
		(void)rrl_count(&rrl, subject, LIMIT, now);
	/* Another worker's clock is behind: nothing is forgotten. */
	assert_true(rrl_count(&rrl, subject, LIMIT, now - 3).limited);
	assert_true(rrl_count(&rrl, subject, LIMIT, now + 10).limited);
	now += 10 * RRL_TICKS_PER_SEC;
	assert_false(rrl_count(&rrl, subject, LIMIT, now).limited);
	free(rrl.lines);
}

/* A bucket's time wraps after hours: a pause that is shorter ends a limit. */
static void
who_rests_is_answered(void **state)
{
	struct rrl rrl = make(8);
	uint64_t subject = 99;

	(void)state;
	for (uint64_t rest = 4; rest <= 8192; rest *= 2) {
		uint64_t now = 0;

		for (unsigned i = 0; i < 9 * LIMIT; i++)
			(void)rrl_count(&rrl, subject, LIMIT, now);
		assert_true(rrl_count(&rrl, subject, LIMIT, now).limited);
		now += rest * RRL_TICKS_PER_SEC;
		assert_false(rrl_count(&rrl, subject, LIMIT, now).limited);
		memset(rrl.lines, 0, rrl_octets(8));
	}
	free(rrl.lines);
}

/* A subject that spends at the limit's rate is never limited; above it, always,
 * until it pauses. The clock wraps in between. */
static void
amounts_are_limited(void **state)
{
	const uint32_t limit = 100000;
	struct rrl rrl = make(8);
	uint64_t subject = 99;
	uint64_t now = (UINT64_C(1) << 18) - 5 * RRL_TICKS_PER_SEC;

	(void)state;
	for (unsigned i = 0; i < 20 * RRL_TICKS_PER_SEC; i++) {
		assert_false(rrl_spend(&rrl, subject,
			limit / RRL_TICKS_PER_SEC - limit / 100, limit, ++now)
			.limited);
		assert_false(rrl_is_spent(&rrl, subject, limit, now));
	}
	assert_false(rrl_is_spent(&rrl, subject + 1, limit, now));
	(void)rrl_spend(&rrl, subject, limit * 2, limit, now);
	assert_true(rrl_is_spent(&rrl, subject, limit, now));
	assert_false(rrl_is_spent(&rrl, subject + 1, limit, now));
	/* To look is not to spend. */
	for (unsigned i = 0; i < 1000; i++)
		(void)rrl_is_spent(&rrl, subject, limit, now);
	now += 1 * RRL_TICKS_PER_SEC;
	assert_false(rrl_is_spent(&rrl, subject, limit, now));
	/* A single amount may be above the limit. */
	(void)rrl_spend(&rrl, subject, UINT32_MAX, limit, now);
	assert_true(rrl_is_spent(&rrl, subject, limit, now
		+ 2 * RRL_TICKS_PER_SEC));
	assert_false(rrl_is_spent(&rrl, subject, limit, now
		+ 4 * RRL_TICKS_PER_SEC));
	/* The highest limit is one. */
	(void)rrl_spend(&rrl, subject, UINT32_MAX, UINT32_MAX, now);
	assert_true(rrl_is_spent(&rrl, subject, UINT32_MAX, now));
	/* A bucket in which nothing was put is no free one. */
	(void)rrl_spend(&rrl, 7, 0, limit, now);
	assert_true((rrl.lines[1] & ((1u << 30) - 1)) != 0);
	free(rrl.lines);
}

/* The end is told once half of what is allowed at once is left. */
static void
the_end_of_amounts_is_told_once(void **state)
{
	struct rrl rrl = make(8);
	struct rrl_verdict v = rrl_spend(&rrl, 5, 201, 100, 0);

	(void)state;
	assert_true(v.begins && v.limited && !v.ends);
	v = rrl_spend(&rrl, 5, 1, 100, RRL_TICKS_PER_SEC / 2);
	assert_true(!v.begins && !v.limited && !v.ends);
	v = rrl_spend(&rrl, 5, 1, 100, RRL_TICKS_PER_SEC * 3 / 2);
	assert_true(!v.begins && !v.limited && v.ends);
	v = rrl_spend(&rrl, 5, 1, 100, RRL_TICKS_PER_SEC * 3 / 2);
	assert_true(!v.begins && !v.limited && !v.ends);
	free(rrl.lines);
}

/* A worker that was taken over may have written anything. */
static void
any_words_are_survived(void **state)
{
	struct rrl rrl = make(64);
	uint64_t chance = 7;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		if (i % 100 == 0)
			for (unsigned k = 0; k < 64; k++)
				rrl.lines[k] = chance_next(&chance)
					| (uint64_t)(i % 200 == 0) * UINT64_MAX;
		(void)rrl_spend(&rrl, chance_next(&chance),
			(uint32_t)chance_next(&chance),
			(uint32_t)chance_next(&chance), chance_next(&chance));
		(void)rrl_is_spent(&rrl, chance_next(&chance), LIMIT,
			chance_next(&chance));
		(void)rrl_count(&rrl, chance_next(&chance),
			(uint32_t)chance_next(&chance) | 1,
			chance_next(&chance));
	}
	free(rrl.lines);
}

struct racer {
	struct rrl *rrl;
	unsigned answered;
};

static void *
racer_main(void *arg)
{
	struct racer *racer = arg;

	for (unsigned i = 0; i < 200000; i++)
		racer->answered += !rrl_count(racer->rrl, 5, 10000, 0).limited;
	return NULL;
}

/* Two workers together answer as often as one may. */
static void
workers_share_the_limit(void **state)
{
	struct rrl rrl = make(8);
	struct racer racers[2] = {{&rrl, 0}, {&rrl, 0}};
	pthread_t threads[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, racer_main,
			&racers[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	/* Races may lose counts, but do not invent any. */
	assert_true(racers[0].answered + racers[1].answered >= 20000);
	assert_true(racers[0].answered + racers[1].answered < 21000);
	free(rrl.lines);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_to_the_limit_all_is_answered),
		cmocka_unit_test(beyond_it_nothing_is_answered),
		cmocka_unit_test(twice_the_limit_may_come_at_once),
		cmocka_unit_test(its_begin_and_end_are_told_once),
		cmocka_unit_test(subjects_are_told_apart),
		cmocka_unit_test(each_octet_of_a_name_counts),
		cmocka_unit_test(the_length_of_a_name_counts),
		cmocka_unit_test(a_name_is_no_kind),
		cmocka_unit_test(newcomers_do_not_push_out_each_other),
		cmocka_unit_test(the_past_makes_room),
		cmocka_unit_test(a_late_clock_pushes_out_nobody),
		cmocka_unit_test(a_table_has_whole_lines_and_the_whole_key),
		cmocka_unit_test(netblocks_are_spread_evenly),
		cmocka_unit_test(any_prefix_length_will_do),
		cmocka_unit_test(floods_do_not_push_out_offenders),
		cmocka_unit_test(a_clock_may_wrap_and_be_late),
		cmocka_unit_test(who_rests_is_answered),
		cmocka_unit_test(amounts_are_limited),
		cmocka_unit_test(the_end_of_amounts_is_told_once),
		cmocka_unit_test(any_words_are_survived),
		cmocka_unit_test(workers_share_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
