/* test_nsec3_find.c - compares look-ups in a chain with a search of all its
 * records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/chance.h"
#include "lib/one_store.h"
#include "store/writer.h"
#include "zone/nsec3_page.h"
#include "zonedb/nsec3_pages.h"

#define RECORDS_MAX 3000u

static uint64_t random_state;

static struct nsec3_entry entries[RECORDS_MAX];
static size_t entry_count;
static store_ref chain_ref;

static uint64_t
rnd(void)
{
	return chance_next(&random_state);
}

/* Makes hashes of a kind. 0: spread evenly; 1: the first 18 octets are equal;
 * 2: the first 8 are equal for many; 3: crowded at both ends. */
static void
make_hash(uint8_t hash[NSEC3_HASH_LEN], unsigned kind)
{
	for (unsigned i = 0; i < NSEC3_HASH_LEN; i++)
		hash[i] = (uint8_t)rnd();
	if (kind == 1)
		memset(hash, 0x55, 18);
	else if (kind == 2 && rnd() % 4 > 0)
		memset(hash, (int)(rnd() % 8), 8);
	else if (kind == 3)
		memset(hash, rnd() % 2 == 0 ? 0 : 0xff, rnd() % 20);
}

static int
entry_compare(const void *a, const void *b)
{
	return memcmp(a, b, NSEC3_HASH_LEN);
}

static void
make_chain(size_t count, unsigned kind)
{
	struct store_heap *heap = s.heap;
	struct nsec3_chain *chain;
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		make_hash(entries[i].hash, kind);
	qsort(entries, count, sizeof(entries[0]), entry_compare);
	for (size_t i = 0; i < count; i++)
		if (n == 0 || entry_compare(&entries[n - 1], &entries[i]) != 0)
			entries[n++] = entries[i];
	for (size_t i = 0; i < n; i++) {
		struct nsec3_record *r = store_alloc(heap, sizeof(*r)
			+ NSEC3_HASH_LEN, &entries[i].record);

		assert_non_null(r);
		memset(r, 0, sizeof(*r));
		if (rnd() % 16 == 0)
			r->flags = NSEC3_OWN_NEXT;
		else if (rnd() % 16 == 0)
			r->flags = NSEC3_RRSET;
		make_hash(r->sigs.data, kind);
	}
	entry_count = n;
	chain = store_alloc(heap, sizeof(*chain), &chain_ref);
	assert_non_null(chain);
	memset(chain, 0, sizeof(*chain));
	chain->count = (uint32_t)n;
	assert_int_equal(nsec3_pages_build(heap, entries, n, &chain->index),
		NSD_OK);
}

static void
free_page(void *ctx, store_ref ref, size_t len)
{
	store_free(ctx, ref, len);
}

static void
drop_chain(void)
{
	struct store_heap *heap = s.heap;
	const struct nsec3_chain *chain = store_get(s.view, chain_ref);

	for (size_t i = 0; i < entry_count; i++)
		store_free(heap, entries[i].record,
			sizeof(struct nsec3_record) + NSEC3_HASH_LEN);
	nsec3_visit_pages(s.view, chain, free_page, heap);
	store_free(heap, chain_ref, sizeof(*chain));
	assert_int_equal(store_fixture_live(s.writer), 0);
}

/* ---- the model --------------------------------------------------------- */

static void
check_find(const struct nsec3_find *f)
{
	size_t len = f->is_prefix ? NSEC3_PREFIX_LEN : NSEC3_HASH_LEN;
	size_t n = entry_count, at = n - 1, same = 0;
	const struct nsec3_record *record;

	for (size_t i = 0; i < n; i++) {
		if (memcmp(entries[i].hash, f->hash, len) <= 0)
			at = i;
		same += memcmp(entries[i].hash, f->hash, len) == 0;
	}
	record = store_get(s.view, entries[at].record);
	assert_ptr_equal(f->record, record);
	assert_memory_equal(f->owner_hash, entries[at].hash, NSEC3_HASH_LEN);
	assert_int_equal(f->matches, same > 0);
	assert_int_equal(f->ambiguous, same > 1);
	if ((record->flags & NSEC3_RRSET) != 0)
		assert_null(f->next_hash);
	else
		assert_memory_equal(f->next_hash,
			(record->flags & NSEC3_OWN_NEXT) != 0
				? record->sigs.data
				: entries[(at + 1) % n].hash,
			NSEC3_HASH_LEN);
}

static void
check_finds(unsigned kind)
{
	static struct nsec3_find finds[100], *list[100];
	size_t count;

	for (unsigned i = 0; i < 100; i++) {
		struct nsec3_find *f = &finds[i];

		memset(f, 0xaa, sizeof(*f));
		f->chain = store_get(s.view, chain_ref);
		make_hash(f->hash, kind);
		f->is_prefix = rnd() % 2 == 0;
		if (rnd() % 2 == 0)
			memcpy(f->hash, entries[rnd() % entry_count].hash,
				NSEC3_HASH_LEN);
		if (rnd() % 8 == 0)
			f->hash[rnd() % NSEC3_HASH_LEN] ^= 1;
		if (rnd() % 16 == 0)
			memset(f->hash, rnd() % 2 == 0 ? 0 : 0xff,
				NSEC3_HASH_LEN);
		/* The octets behind the prefix are not looked at. */
		if (f->is_prefix)
			memset(f->hash + NSEC3_PREFIX_LEN, (int)rnd(),
				NSEC3_HASH_LEN - NSEC3_PREFIX_LEN);
		list[i] = f;
	}
	count = rnd() % 101;
	nsec3_find_batch(s.view, list, count);
	for (size_t i = 0; i < count; i++)
		check_find(&finds[i]);
}

static void
find_equals_a_search_of_all_records(void **state)
{
	for (unsigned seed = 1; seed <= 160; seed++) {
		unsigned kind = seed % 4;
		size_t count;

		random_state = seed;
		count = 1 + rnd() % (seed % 10 == 0 ? RECORDS_MAX : 90);
		make_chain(count, kind);
		for (unsigned i = 0; i < 10; i++)
			check_finds(kind);
		drop_chain();
	}
}

static void
walk_has_all_records_in_order(void **state)
{
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct nsec3_iter iter;
		size_t n = 0;

		random_state = seed;
		make_chain(1 + rnd() % RECORDS_MAX, seed % 4);
		nsec3_iter_init(&iter, s.view, store_get(s.view, chain_ref));
		while (nsec3_iter_next(&iter)) {
			assert_true(n < entry_count);
			assert_int_equal(iter.ref, entries[n].record);
			assert_memory_equal(iter.hash, entries[n].hash,
				NSEC3_HASH_LEN);
			n++;
			if (iter.record->flags == 0)
				assert_memory_equal(iter.next_hash,
					entries[n % entry_count].hash,
					NSEC3_HASH_LEN);
		}
		assert_int_equal(n, entry_count);
		assert_false(nsec3_iter_next(&iter));
		drop_chain();
	}
	{
		struct nsec3_iter iter;

		nsec3_iter_init(&iter, s.view, NULL);
		assert_false(nsec3_iter_next(&iter));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find_equals_a_search_of_all_records),
		cmocka_unit_test(walk_has_all_records_in_order),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}
