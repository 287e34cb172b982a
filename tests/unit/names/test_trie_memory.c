/* test_trie_memory.c - the trie when the store is full. Each allocation fails
 * once; nothing changes, and nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/failing.h"
#include "lib/store_fixture.h"
#include "names/trie.h"
#include "names/trie_edit.h"
#include "store/writer.h"

#define NAMES 600

struct object {
	struct trie_leaf leaf;
	uint8_t name[5];
};

struct fixture {
	struct store_fixture s;
	store_ref refs[NAMES];
	struct trie trie;
	struct trie_edit edit;
};

static void
on_garbage(void *ctx, store_ref ref, size_t len)
{
	store_free(((struct fixture *)ctx)->s.heap, ref, len);
}

static uint64_t
live(const struct fixture *f)
{
	return store_fixture_live(f->s.writer);
}

/* Names of one label of four letters, in order. */
static void
object_fill(struct object *o, unsigned i)
{
	o->leaf.name_len = 5;
	o->leaf.labels = 1;
	o->leaf.name_at = offsetof(struct object, name);
	o->name[0] = 4;
	for (int at = 4; at >= 1; at--) {
		o->name[at] = (uint8_t)('a' + i % 5);
		i /= 5;
	}
}

static void
fixture_open(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	store_fixture_init(&f->s, 1);
	f->edit = (struct trie_edit){ .heap = f->s.heap,
		.on_garbage = on_garbage, .ctx = f };
	for (unsigned i = 0; i < NAMES; i++) {
		struct object *o = store_alloc(f->s.heap, sizeof(*o),
			&f->refs[i]);

		assert_non_null(o);
		object_fill(o, i);
	}
}

static void
fixture_close(struct fixture *f)
{
	trie_clear(&f->edit, &f->trie);
	for (unsigned i = 0; i < NAMES; i++)
		store_free(f->s.heap, f->refs[i], sizeof(struct object));
	assert_int_equal(live(f), 0);
	store_fixture_fini(&f->s);
}

static unsigned
count_names(struct fixture *f)
{
	struct trie_iter iter;
	unsigned count = 0;

	trie_iter_init(&iter, f->s.view, &f->trie.root);
	while (trie_iter_next(&iter) != STORE_NONE)
		count++;
	return count;
}

static void
trie_build_without_memory_leaves_nothing(void **state)
{
	static struct fixture f;
	enum nsd_err err = NSD_E_MEMORY;
	uint64_t before;
	int allowed = 0;

	fixture_open(&f);
	before = live(&f);
	while (err == NSD_E_MEMORY) {
		err = FAILING_FROM(allowed++,
			trie_build(f.s.heap, f.refs, NAMES, &f.trie));
		if (err == NSD_E_MEMORY)
			assert_int_equal(live(&f), before);
	}
	assert_int_equal(err, NSD_OK);
	assert_true(allowed > 100);
	assert_int_equal(count_names(&f), NAMES);
	fixture_close(&f);
}

static void
trie_join_without_memory_changes_nothing(void **state)
{
	static struct fixture f;
	struct trie high, before[2];
	enum nsd_err err = NSD_E_MEMORY;
	uint64_t live_before;
	int allowed = 0;

	fixture_open(&f);
	/* The border of the parts is amid names that share three letters. */
	assert_int_equal(trie_build(f.s.heap, f.refs, 302, &f.trie), NSD_OK);
	assert_int_equal(trie_build(f.s.heap, f.refs + 302, NAMES - 302, &high),
		NSD_OK);
	before[0] = f.trie;
	before[1] = high;
	live_before = live(&f);
	while (err == NSD_E_MEMORY) {
		err = FAILING_FROM(allowed++,
			trie_join(f.s.heap, &f.trie, &high));
		if (err != NSD_E_MEMORY)
			break;
		assert_memory_equal(&before[0], &f.trie, sizeof(f.trie));
		assert_memory_equal(&before[1], &high, sizeof(high));
		assert_int_equal(live(&f), live_before);
		assert_int_equal(count_names(&f), 302);
	}
	assert_int_equal(err, NSD_OK);
	assert_true(allowed > 2);
	assert_int_equal(count_names(&f), NAMES);
	fixture_close(&f);
}

static void
put_until_it_works(struct fixture *f, store_ref object, store_ref expected)
{
	struct trie before = f->trie;
	uint64_t live_before = live(f);
	unsigned count = count_names(f);
	enum nsd_err err = NSD_E_MEMORY;
	store_ref replaced = 77;

	for (int allowed = 0; err == NSD_E_MEMORY; allowed++) {
		err = FAILING_FROM(allowed,
			trie_put(&f->edit, &f->trie, object, &replaced));
		if (err != NSD_E_MEMORY)
			break;
		assert_memory_equal(&before, &f->trie, sizeof(before));
		assert_int_equal(live(f), live_before);
		assert_int_equal(count_names(f), count);
		assert_int_equal(replaced, 77);
	}
	assert_int_equal(err, NSD_OK);
	assert_int_equal(replaced, expected);
}

static void
remove_until_it_works(struct fixture *f, unsigned i)
{
	static const uint8_t label_at[1] = { 0 };
	const struct object *o = store_edit(f->s.heap, f->refs[i]);
	struct trie_name name = { .labels = o->name, .label_at = label_at,
		.len = 5, .count = 1 };
	struct trie before = f->trie;
	uint64_t live_before = live(f);
	enum nsd_err err = NSD_E_MEMORY;
	store_ref removed = 77;

	for (int allowed = 0; err == NSD_E_MEMORY; allowed++) {
		err = FAILING_FROM(allowed,
			trie_remove(&f->edit, &f->trie, &name, &removed));
		if (err != NSD_E_MEMORY)
			break;
		assert_memory_equal(&before, &f->trie, sizeof(before));
		assert_int_equal(live(f), live_before);
		assert_int_equal(removed, 77);
	}
	assert_int_equal(err, NSD_OK);
	assert_int_equal(removed, f->refs[i]);
}

static void
trie_edits_without_memory_change_nothing(void **state)
{
	static struct fixture f;

	fixture_open(&f);
	for (unsigned i = 0; i < NAMES; i++)
		put_until_it_works(&f, f.refs[i * 7 % NAMES], STORE_NONE);
	assert_int_equal(count_names(&f), NAMES);
	for (unsigned i = 0; i < NAMES; i += 9)
		put_until_it_works(&f, f.refs[i], f.refs[i]);
	for (unsigned i = 0; i < NAMES; i++)
		remove_until_it_works(&f, i * 11 % NAMES);
	assert_int_equal(count_names(&f), 0);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trie_build_without_memory_leaves_nothing),
		cmocka_unit_test(trie_join_without_memory_changes_nothing),
		cmocka_unit_test(trie_edits_without_memory_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
