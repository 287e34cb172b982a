/* test_trie.c - compares the trie with a sorted array of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "names/trie_edit.h"
#include "store/writer.h"
#include "unit/names/trie_model.h"

/* ---- checks */

/* The outcome that a walk to a name must have. */
struct walk_end {
	store_ref exact, encloser;
	store_ref ancestors[128];
	unsigned count; /* of ancestors */
};

static void
walk_end_find(const struct fixture *f, const uint8_t *name,
	struct walk_end *end)
{
	unsigned labels = name_count_labels(name)
		- name_count_labels(f->common);

	end->exact = model_ref(f, name);
	end->encloser = STORE_NONE;
	end->count = 0;
	for (unsigned skip = labels; skip > 0; skip--) {
		store_ref ref = model_ref(f, name_skip_labels(name, skip));

		if (ref == STORE_NONE)
			continue;
		end->ancestors[end->count++] = ref;
		end->encloser = ref;
	}
}

static void
check_walk(const struct trie_walk *walk, const struct walk_end *end)
{
	assert_int_equal(walk->exact, end->exact);
	assert_int_equal(walk->ancestor_count, end->count);
	for (unsigned i = 0; i < end->count; i++)
		assert_int_equal(walk->ancestors[i], end->ancestors[i]);
	assert_int_equal(walk->encloser, end->encloser);
}

static void
check_back(const struct fixture *f, const uint8_t *name)
{
	struct trie_back back;
	struct split split;
	bool found;
	size_t i = model_find(f, name, &found);

	split_name(f, name, &split);
	trie_back_init(&back, f->s.view, &f->trie.root, &split.name);
	while (i-- > 0)
		assert_int_equal(trie_back_next(&back), f->members[i].ref);
	assert_int_equal(trie_back_next(&back), STORE_NONE);
	assert_int_equal(trie_back_next(&back), STORE_NONE);
}

static void
check_after(const struct fixture *f, const uint8_t *name)
{
	struct trie_iter iter;
	struct split split;
	bool found;
	size_t i = model_find(f, name, &found);

	split_name(f, name, &split);
	trie_iter_init_after(&iter, f->s.view, &f->trie.root, &split.name);
	for (i += found; i < f->count; i++)
		assert_int_equal(trie_iter_next(&iter), f->members[i].ref);
	assert_int_equal(trie_iter_next(&iter), STORE_NONE);
}

static void
check_order(const struct fixture *f)
{
	struct trie_iter iter;

	trie_iter_init(&iter, f->s.view, &f->trie.root);
	for (size_t i = 0; i < f->count; i++)
		assert_int_equal(trie_iter_next(&iter), f->members[i].ref);
	assert_int_equal(trie_iter_next(&iter), STORE_NONE);
	assert_int_equal(trie_iter_next(&iter), STORE_NONE);
}

#define BATCH 70

static void
check_batch(struct fixture *f)
{
	static struct trie_walk walks[BATCH];
	static struct split splits[BATCH];
	static uint8_t names[BATCH][NAME_MAX_LEN];
	struct trie_walk *pointers[BATCH] = { NULL };
	size_t count = next(f) % (BATCH + 1);

	for (size_t i = 0; i < count; i++) {
		if (f->count > 0 && next(f) % 2 == 0) {
			const uint8_t *m =
				f->members[next(f) % f->count].name;

			memcpy(names[i], m, name_len(m));
		} else {
			name_random(f, names[i]);
		}
		split_name(f, names[i], &splits[i]);
		memset(&walks[i], 0xa5, sizeof(walks[i]));
		walks[i].root = &f->trie.root;
		walks[i].name = splits[i].name;
		pointers[i] = &walks[i];
	}
	trie_find_batch(f->s.view, pointers, count);
	for (size_t i = 0; i < count; i++) {
		struct walk_end end;

		walk_end_find(f, names[i], &end);
		check_walk(&walks[i], &end);
		memset(&walks[i], 0x5a, sizeof(walks[i]));
		walks[i].root = &f->trie.root;
		walks[i].name = splits[i].name;
		trie_find(f->s.view, &walks[i]);
		check_walk(&walks[i], &end);
		check_back(f, names[i]);
		check_after(f, names[i]);
	}
}

/* ---- tests */

static void
edit_once(struct fixture *f)
{
	uint8_t name[NAME_MAX_LEN];
	struct split split;
	store_ref ref, old = 99;
	bool remove = next(f) % 100 < (f->count > 200 ? 60 : 30);

	if (remove && f->count > 0 && next(f) % 8 != 0) {
		const uint8_t *m = f->members[next(f) % f->count].name;

		memcpy(name, m, name_len(m));
	} else {
		name_random(f, name);
	}
	ref = model_ref(f, name);
	if (remove) {
		split_name(f, name, &split);
		if (ref == STORE_NONE) {
			assert_int_equal(trie_remove(&f->edit, &f->trie,
						 &split.name, &old),
				NSD_E_NOT_FOUND);
			return;
		}
		assert_int_equal(
			trie_remove(&f->edit, &f->trie, &split.name, &old),
			NSD_OK);
		model_remove(f, name);
	} else {
		store_ref new = object_make(f, name);

		assert_int_equal(trie_put(&f->edit, &f->trie, new, &old),
			NSD_OK);
		model_put(f, name, new);
	}
	assert_int_equal(old, ref);
	if (old != STORE_NONE)
		store_free(f->s.heap, old, sizeof(struct object));
}

static void
sequence(uint64_t seed, const uint8_t *common, unsigned edits)
{
	static struct fixture f;

	fixture_open(&f, seed);
	memcpy(f.common, common, name_len(common));
	for (unsigned i = 0; i < edits; i++) {
		edit_once(&f);
		if (i % 16 == 0) {
			check_order(&f);
			check_batch(&f);
		}
	}
	check_order(&f);
	check_batch(&f);
	fixture_close(&f);
}

static const uint8_t root[] = { 0 };
static const uint8_t example[] = { 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0 };

static uint64_t
seed_first(void)
{
	const char *text = getenv("TRIE_SEED");
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 1;

	print_message("first seed %llu\n", (unsigned long long)seed);
	return seed;
}

static unsigned
sequences(void)
{
	const char *text = getenv("TRIE_SEQUENCES");

	return text != NULL ? (unsigned)strtoul(text, NULL, 0) : 150;
}

static void
trie_edits_agree_with_sorted_array(void **state)
{
	uint64_t seed = seed_first();

	for (unsigned i = 0; i < sequences(); i++)
		sequence((seed + i) * 7919, i % 2 == 0 ? root : example,
			20 + i % 7 * 100);
}

/* Makes up to count names; refs get their references in order. */
static void
names_add(struct fixture *f, size_t count, store_ref refs[NAMES_MAX])
{
	uint8_t name[NAME_MAX_LEN];

	for (; count > 0; count--) {
		name_random(f, name);
		if (model_ref(f, name) == STORE_NONE)
			model_put(f, name, object_make(f, name));
	}
	for (size_t i = 0; i < f->count; i++)
		refs[i] = f->members[i].ref;
}

static void
size_add(void *ctx, store_ref ref, size_t len)
{
	*(size_t *)ctx += len;
}

static size_t
branches_size(const struct fixture *f, const struct trie *trie)
{
	size_t size = 0;

	trie_visit(f->s.view, trie, size_add, &size);
	return size;
}

static void
build_once(uint64_t seed, const uint8_t *common, size_t count)
{
	static struct fixture f;
	store_ref refs[NAMES_MAX];

	fixture_open(&f, seed);
	memcpy(f.common, common, name_len(common));
	names_add(&f, count, refs);
	assert_int_equal(trie_build(f.s.heap, refs, f.count, &f.trie), NSD_OK);
	check_order(&f);
	check_batch(&f);
	for (int i = 0; i < 50; i++)
		edit_once(&f);
	check_order(&f);
	fixture_close(&f);
}

static void
trie_build_agrees_with_sorted_array(void **state)
{
	uint64_t seed = seed_first();

	for (unsigned i = 0; i < sequences(); i++)
		build_once((seed + i) * 104729, i % 2 == 0 ? root : example,
			i % 300);
}

/* Parts that are built alone and joined make the same trie as one build. */
static void
join_once(uint64_t seed, const uint8_t *common, size_t count)
{
	static struct fixture f;
	store_ref refs[NAMES_MAX];
	struct trie whole = { 0 }, part;
	size_t from = 0;

	fixture_open(&f, seed);
	memcpy(f.common, common, name_len(common));
	names_add(&f, count, refs);
	assert_int_equal(trie_build(f.s.heap, refs, f.count, &whole), NSD_OK);
	while (from < f.count) {
		size_t n = 1 + next(&f) % 40;

		n = n < f.count - from ? n : f.count - from;
		assert_int_equal(trie_build(f.s.heap, refs + from, n, &part),
			NSD_OK);
		assert_int_equal(trie_join(f.s.heap, &f.trie, &part), NSD_OK);
		assert_int_equal(part.root.word[2], STORE_NONE);
		from += n;
	}
	check_order(&f);
	check_batch(&f);
	/* A set of names has one shape of trie. */
	assert_int_equal(branches_size(&f, &whole),
		branches_size(&f, &f.trie));
	trie_clear(&f.edit, &whole);
	fixture_close(&f);
}

static void
trie_join_gives_the_same_trie(void **state)
{
	uint64_t seed = seed_first();

	for (unsigned i = 0; i < sequences(); i++)
		join_once((seed + i) * 15485863, i % 2 == 0 ? root : example,
			i % 300);
}

/* RFC 4034 section 6.1. */
static void
trie_order_is_canonical(void **state)
{
	static const char *const text[] = { "example", "a.example",
		"yljkjljk.a.example", "z.a.example", "zabc.a.example",
		"z.example", "\\001.z.example", "*.z.example",
		"\\200.z.example" };
	static struct fixture f;
	uint8_t name[NAME_MAX_LEN];
	size_t size, count = sizeof(text) / sizeof(text[0]);
	const char *why;
	struct trie_iter iter;
	store_ref refs[16], old;

	fixture_open(&f, 1);
	for (size_t i = count; i-- > 0;) {
		assert_int_equal(name_parse_text(text[i], strlen(text[i]),
					 root, name, &size, &why),
			NSD_OK);
		refs[i] = object_make(&f, name);
		assert_int_equal(trie_put(&f.edit, &f.trie, refs[i], &old),
			NSD_OK);
		model_put(&f, name, refs[i]);
	}
	trie_iter_init(&iter, f.s.view, &f.trie.root);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(trie_iter_next(&iter), refs[i]);
	fixture_close(&f);
}

/* Labels of one octet, for every octet, are found and are in order. */
static void
trie_holds_every_octet(void **state)
{
	static struct fixture f;
	store_ref old;

	fixture_open(&f, 1);
	for (unsigned c = 256; c-- > 0;) {
		uint8_t name[] = { 1, (uint8_t)c, 0 };
		store_ref ref;

		if (c >= 'A' && c <= 'Z')
			continue;
		ref = object_make(&f, name);
		assert_int_equal(trie_put(&f.edit, &f.trie, ref, &old),
			NSD_OK);
		model_put(&f, name, ref);
	}
	assert_int_equal(f.count, 230);
	check_order(&f);
	check_batch(&f);
	fixture_close(&f);
}

/* The longest keys: 250 octets of two symbols, and 127 labels. */
static void
trie_holds_longest_names(void **state)
{
	static struct fixture f;
	uint8_t name[NAME_MAX_LEN] = { 0 };
	store_ref old, ref;

	fixture_open(&f, 1);
	for (unsigned last = 0xf0; last <= 0xff; last++) {
		memset(name, 0xff, sizeof(name));
		name[0] = 61;
		name[62] = name[62 + 64] = name[62 + 128] = 63;
		name[254] = 0;
		name[1] = (uint8_t)last;
		ref = object_make(&f, name);
		assert_int_equal(trie_put(&f.edit, &f.trie, ref, &old),
			NSD_OK);
		model_put(&f, name, ref);
	}
	for (unsigned i = 0; i < 127; i++) {
		name[2 * i] = 1;
		name[2 * i + 1] = 'a';
	}
	for (unsigned i = 0; i <= 127; i++) {
		ref = object_make(&f, name + 2 * i);
		assert_int_equal(trie_put(&f.edit, &f.trie, ref, &old),
			NSD_OK);
		model_put(&f, name + 2 * i, ref);
	}
	check_order(&f);
	for (int i = 0; i < 20; i++)
		check_batch(&f);
	fixture_close(&f);
}

static void
trie_empty_finds_nothing(void **state)
{
	static struct fixture f;

	fixture_open(&f, 1);
	check_order(&f);
	check_batch(&f);
	assert_int_equal(trie_build(f.s.heap, NULL, 0, &f.trie), NSD_OK);
	check_order(&f);
	check_batch(&f);
	fixture_close(&f);
}

static void
keep_garbage(void *ctx, store_ref ref, size_t len)
{
	store_retire(((struct fixture *)ctx)->s.writer, ref, len);
}

/* Readers of the old root see the old names, until they move on. */
static void
trie_edit_leaves_old_version(void **state)
{
	static struct fixture f;
	static struct member before[NAMES_MAX];
	struct store_reader *reader;
	struct trie_iter iter;
	struct trie old;
	size_t count;
	store_ref new, replaced;

	fixture_open(&f, 5);
	f.edit.on_garbage = keep_garbage;
	assert_int_equal(store_reader_open(f.s.store, 0, "r", &reader), NSD_OK);
	for (int i = 0; i < 200; i++)
		edit_once(&f);
	store_reclaim(f.s.writer);
	store_reader_online(reader);
	old = f.trie;
	count = f.count;
	memcpy(before, f.members, sizeof(before));
	for (size_t i = 0; i < count; i++) {
		new = object_make(&f, before[i].name);
		assert_int_equal(trie_put(&f.edit, &f.trie, new, &replaced),
			NSD_OK);
		assert_int_equal(replaced, before[i].ref);
		store_retire(f.s.writer, replaced, sizeof(struct object));
		model_put(&f, before[i].name, new);
		store_reclaim(f.s.writer);
	}
	trie_iter_init(&iter, f.s.view, &old.root);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(trie_iter_next(&iter), before[i].ref);
	assert_int_equal(trie_iter_next(&iter), STORE_NONE);
	check_order(&f);
	store_reader_close(reader);
	assert_int_equal(store_reclaim(f.s.writer), 0);
	f.edit.on_garbage = on_garbage;
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trie_empty_finds_nothing),
		cmocka_unit_test(trie_order_is_canonical),
		cmocka_unit_test(trie_holds_every_octet),
		cmocka_unit_test(trie_holds_longest_names),
		cmocka_unit_test(trie_edits_agree_with_sorted_array),
		cmocka_unit_test(trie_build_agrees_with_sorted_array),
		cmocka_unit_test(trie_join_gives_the_same_trie),
		cmocka_unit_test(trie_edit_leaves_old_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
