/*
 * trie_model.h - difficult names, and a sorted array of them to compare the
 * trie with; for test_trie.c.
 */
#ifndef TESTS_UNIT_NAMES_TRIE_MODEL_H
#define TESTS_UNIT_NAMES_TRIE_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dns/name.h"
#include "lib/chance.h"
#include "lib/store_fixture.h"
#include "names/trie.h"
#include "names/trie_edit.h"
#include "store/writer.h"

#define NAMES_MAX 400

/* A leaf object. Its name is whole, or relative to a common part. */
struct object {
	struct trie_leaf leaf;
	uint8_t unused;
	uint32_t garbage; /* makes the name's offset its own */
	uint8_t name[NAME_MAX_LEN];
};

struct member {
	uint8_t name[NAME_MAX_LEN]; /* whole wire name */
	store_ref ref;
};

struct fixture {
	struct store_fixture s;
	uint8_t common[NAME_MAX_LEN];
	struct member members[NAMES_MAX]; /* ascending */
	size_t count;
	struct trie trie;
	struct trie_edit edit;
	uint64_t rng;
};

static uint64_t
next(struct fixture *f)
{
	return chance_next(&f->rng);
}

static void
on_garbage(void *ctx, store_ref ref, size_t len)
{
	struct fixture *f = ctx;

	store_free(f->s.heap, ref, len);
}

static void
fixture_open(struct fixture *f, uint64_t seed)
{
	memset(f, 0, sizeof(*f));
	store_fixture_init(&f->s, 1);
	f->edit.heap = f->s.heap;
	f->edit.on_garbage = on_garbage;
	f->edit.ctx = f;
	f->rng = seed;
}

static void
fixture_close(struct fixture *f)
{
	trie_clear(&f->edit, &f->trie);
	assert_int_equal(f->trie.root.word[2], STORE_NONE);
	for (size_t i = 0; i < f->count; i++)
		store_free(f->s.heap, f->members[i].ref, sizeof(struct object));
	assert_int_equal(store_fixture_live(f->s.writer), 0);
	store_fixture_fini(&f->s);
}

/* ---- names */

/* Difficult labels: prefixes, neighbours in order, octets that look like
 * lengths, the ends of the ranges of symbols. */
static const char *const nasty[] = { "a", "aa", "a-", "a_", "a0", "b", "*",
	"z", "0", "9", "-", "_", "`", "@", "[", "{", "\001", "\003com", "com",
	"ab\003com", "\377", "\377\377", "\200", "\201", "\251", "\252",
	"\330", "\331", "~", "+", ",", ".", "/", ")", "xn--", "a.b", "a\001b",
	"a b", "www", "mail" };

static size_t
label_make(struct fixture *f, uint8_t *out)
{
	uint64_t kind = next(f) % 100;
	size_t len;

	if (kind < 70) {
		const char *s = nasty[next(f)
			% (sizeof(nasty) / sizeof(nasty[0]))];

		len = strlen(s);
		memcpy(out + 1, s, len);
	} else if (kind < 75) {
		len = 1;
		out[1] = 0;
	} else if (kind < 95) {
		len = 1 + next(f) % 4;
		for (size_t i = 0; i < len; i++)
			out[1 + i] = (uint8_t)next(f);
	} else {
		uint8_t fill = next(f) % 2 != 0 ? 'x' : 0xfe;

		len = 60 + next(f) % 4;
		memset(out + 1, fill, len);
	}
	for (size_t i = 1; i <= len; i++)
		out[i] = name_lower_octet(out[i]);
	out[0] = (uint8_t)len;
	return 1 + len;
}

/* Makes a name with some labels before a parent, as many as fit. */
static void
name_below(struct fixture *f, const uint8_t *parent, unsigned labels,
	uint8_t *name)
{
	uint8_t label[64], old[NAME_MAX_LEN];
	size_t len = name_len(parent);

	memcpy(name, parent, len);
	while (labels-- > 0) {
		size_t size = label_make(f, label);

		if (len + size > NAME_MAX_LEN)
			return;
		memcpy(old, name, len);
		memcpy(name, label, size);
		memcpy(name + size, old, len);
		len += size;
	}
}

static void
name_random(struct fixture *f, uint8_t *name)
{
	uint64_t kind = next(f) % 100;
	unsigned labels = (unsigned)(next(f) % 4);

	if (kind < 2)
		labels = 127;
	if (kind < 50 && f->count > 0)
		name_below(f, f->members[next(f) % f->count].name, labels,
			name);
	else
		name_below(f, f->common, labels, name);
	if (kind >= 90 && f->count > 0) {
		/* Take an ancestor of a name that is there. */
		const uint8_t *m = f->members[next(f) % f->count].name;
		unsigned more = name_count_labels(m)
			- name_count_labels(f->common);
		const uint8_t *up = name_skip_labels(m,
			(unsigned)(next(f) % (more + 1)));

		memcpy(name, up, name_len(up));
	}
}

/* A name without the common part. */
struct split {
	struct trie_name name;
	uint8_t label_at[NAME_MAX_LABELS + 1];
};

static void
split_name(const struct fixture *f, const uint8_t *name, struct split *split)
{
	trie_name_split(&split->name, name,
		(unsigned)(name_len(name) - name_len(f->common)),
		split->label_at);
}

static store_ref
object_make(struct fixture *f, const uint8_t *name)
{
	struct split split;
	struct object *o;
	store_ref ref;

	split_name(f, name, &split);
	o = store_alloc(f->s.heap, sizeof(*o), &ref);
	assert_non_null(o);
	memset(o, 0xee, sizeof(*o));
	o->leaf.name_len = split.name.len;
	o->leaf.labels = split.name.count;
	o->leaf.name_at = offsetof(struct object, name);
	memcpy(o->name, name, split.name.len);
	return ref;
}

/* ---- the model */

/* The index of a name, or the index that it would get. */
static size_t
model_find(const struct fixture *f, const uint8_t *name, bool *found)
{
	size_t i = 0;

	while (i < f->count && name_compare(f->members[i].name, name) < 0)
		i++;
	*found = i < f->count && name_equal(f->members[i].name, name);
	return i;
}

static store_ref
model_ref(const struct fixture *f, const uint8_t *name)
{
	bool found;
	size_t i = model_find(f, name, &found);

	return found ? f->members[i].ref : STORE_NONE;
}

static void
model_put(struct fixture *f, const uint8_t *name, store_ref ref)
{
	bool found;
	size_t i = model_find(f, name, &found);

	if (!found) {
		assert_true(f->count < NAMES_MAX);
		memmove(&f->members[i + 1], &f->members[i],
			(f->count - i) * sizeof(f->members[0]));
		memcpy(f->members[i].name, name, name_len(name));
		f->count++;
	}
	f->members[i].ref = ref;
}

static void
model_remove(struct fixture *f, const uint8_t *name)
{
	bool found;
	size_t i = model_find(f, name, &found);

	assert_true(found);
	memmove(&f->members[i], &f->members[i + 1],
		(f->count - i - 1) * sizeof(f->members[0]));
	f->count--;
}

#endif
