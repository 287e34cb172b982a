/* test_live.c - the table of live entries: names that were chosen so that they
 * share a bucket do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "journal/live.h"

#define ZONES 256u
/* No fewer than the table has for so many zones. */
#define BUCKETS 4096u
/* By chance no bucket of as many as there are zones has so many of them. */
#define CHAIN_MAX 32u

/* FNV-1a, which anybody can compute. */
static uint64_t
hash_without_key(const uint8_t *apex)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < name_len(apex); i++)
		hash = (hash ^ apex[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 29;
}

/* Adds zones whose names have the same low bits of that hash. */
static void
add_zones(struct live *live)
{
	struct journal_entry entry = {
		.kind = JOURNAL_WHOLE,
		.text_len = 1,
		.segment = 1,
		.head_len = 64,
	};
	uint8_t apex[16];

	for (unsigned n = 0; entry.id < ZONES; n++) {
		apex[0] = (uint8_t)snprintf((char *)apex + 1, sizeof(apex) - 1,
			"n%u", n);
		if (hash_without_key(apex) % BUCKETS != 0)
			continue;
		entry.id++;
		assert_int_equal(live_add(live, apex, &entry), NSD_OK);
		assert_non_null(live_find_zone(live, apex));
		apex[1] = 'N';
		assert_non_null(live_find_zone(live, apex));
	}
}

static void
chosen_names_share_no_bucket(void **state)
{
	size_t longest = 0;
	struct live live;

	assert_int_equal(live_init(&live), NSD_OK);
	add_zones(&live);
	assert_int_equal(live.zone_count, ZONES);
	assert_true(live.bucket_count <= BUCKETS);
	for (size_t i = 0; i < live.bucket_count; i++) {
		const struct live_zone *zone = live.buckets[i];
		size_t count = 0;

		for (; zone != NULL; zone = zone->next)
			count++;
		if (count > longest)
			longest = count;
	}
	assert_true(longest < CHAIN_MAX);
	live_fini(&live);
}

static void
keys_differ(void **state)
{
	struct live one, other;

	assert_int_equal(live_init(&one), NSD_OK);
	assert_int_equal(live_init(&other), NSD_OK);
	assert_memory_not_equal(one.key, other.key, sizeof(one.key));
	live_fini(&one);
	live_fini(&other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_names_share_no_bucket),
		cmocka_unit_test(keys_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
