/* trie_build.c - makes a trie from names that are in order already. */
#include <stdlib.h>

#include "base/assert.h"
#include "names/trie_edit.h"
#include "names/trie_key.h"
#include "store/writer.h"

/*
 * The branches on the way from the root to the newest leaf are open: they may
 * get more entries. They share one stack of entries, those of the highest
 * branch first. Only the last branch can grow. Since names come in order, it is
 * the only one that has to.
 */
struct builder {
	struct store_heap *heap;
	unsigned open_count;
	unsigned entry_count;
	struct {
		uint64_t word;
		unsigned first; /* index of its first entry */
	} open[TRIE_KEY_MAX];
	struct trie_entry entries[];
};

/* The most entries that wait at a time. Each holds one leaf at least, and each
 * open branch has at most one for each symbol. So small tries, of which there
 * may be millions, get by with a small block. */
static size_t
builder_room(size_t count)
{
	const size_t most = TRIE_KEY_MAX * TRIE_SYMBOLS;

	return count < most ? count : most;
}

static void
free_branch(void *ctx, store_ref ref, size_t len)
{
	store_free(ctx, ref, len);
}

static void
builder_abandon(struct builder *b)
{
	struct trie_edit edit = {
		.heap = b->heap,
		.on_garbage = free_branch,
		.ctx = b->heap,
	};

	while (b->entry_count-- > 0) {
		struct trie part = { .root = b->entries[b->entry_count] };

		trie_clear(&edit, &part);
	}
}

static void
builder_push(struct builder *b, struct trie_entry entry, unsigned key)
{
	b->open[b->open_count - 1].word |= symbol_bit(key);
	b->entries[b->entry_count++] = entry;
}

static void
builder_open(struct builder *b, unsigned offset)
{
	ASSERT_HOT(b->open_count < TRIE_KEY_MAX);
	b->open[b->open_count].word = TRIE_BRANCH
		| (uint64_t)offset << TRIE_OFFSET_SHIFT;
	b->open[b->open_count].first = b->entry_count;
	b->open_count++;
}

/* Writes the last open branch to the store and returns its entry. False: the
 * store has no memory. */
static bool
builder_close(struct builder *b, struct trie_entry *entry)
{
	unsigned first = b->open[b->open_count - 1].first;
	size_t len = (b->entry_count - first) * sizeof(*entry);
	store_ref ref;
	void *children = store_alloc(b->heap, len, &ref);

	if (children == NULL)
		return false;
	memcpy(children, &b->entries[first], len);
	*entry = entry_make(b->open[b->open_count - 1].word, ref);
	b->entry_count = first;
	b->open_count--;
	return true;
}

static unsigned
builder_offset(const struct builder *b)
{
	return word_offset(b->open[b->open_count - 1].word);
}

/*
 * Adds an object whose key differs from the next one's at diff. Closes all
 * branches that look at places behind diff: they get no more entries.
 */
static bool
builder_add(struct builder *b, store_ref object, const uint8_t *key,
	unsigned diff)
{
	struct trie_entry entry = entry_make(0, object);

	while (b->open_count > 0 && builder_offset(b) > diff) {
		builder_push(b, entry, key[builder_offset(b)]);
		if (!builder_close(b, &entry))
			return false;
	}
	if (b->open_count == 0 || builder_offset(b) < diff)
		builder_open(b, diff);
	builder_push(b, entry, key[diff]);
	return true;
}

static bool
builder_add_last(struct builder *b, store_ref object, const uint8_t *key,
	struct trie *out)
{
	struct trie_entry entry = entry_make(0, object);

	while (b->open_count > 0) {
		builder_push(b, entry, key[builder_offset(b)]);
		if (!builder_close(b, &entry))
			return false;
	}
	out->root = entry;
	return true;
}

static bool
builder_run(struct builder *b, const store_ref *objects, size_t count,
	struct trie *out)
{
	const struct store_view *view = store_heap_view(b->heap);
	uint8_t keys[2][TRIE_KEY_ROOM];
	unsigned lens[2];

	lens[0] = trie_key_of_leaf(store_get(view, objects[0]), keys[0]);
	for (size_t i = 0; i + 1 < count; i++) {
		unsigned this = i % 2, next = 1 - this;
		unsigned diff;

		lens[next] = trie_key_of_leaf(
			store_get(view, objects[i + 1]), keys[next]);
		diff = trie_key_diff(keys[this], lens[this], keys[next],
			lens[next]);
		/* Names ascend, and no two are the same. */
		ASSERT_HOT(diff < lens[this] && diff < lens[next]
			&& keys[this][diff] < keys[next][diff]);
		if (!builder_add(b, objects[i], keys[this], diff))
			return false;
	}
	return builder_add_last(b, objects[count - 1], keys[(count - 1) % 2],
		out);
}

enum nsd_err
trie_build(struct store_heap *heap, const store_ref *objects, size_t count,
	struct trie *out)
{
	struct builder *b;
	enum nsd_err err = NSD_OK;

	if (count == 0) {
		out->root = entry_make(0, STORE_NONE);
		return NSD_OK;
	}
	b = malloc(sizeof(*b) + builder_room(count) * sizeof(b->entries[0]));
	if (b == NULL)
		return NSD_E_MEMORY;
	b->heap = heap;
	b->open_count = 0;
	b->entry_count = 0;
	if (!builder_run(b, objects, count, out)) {
		builder_abandon(b);
		err = NSD_E_MEMORY;
	}
	free(b);
	return err;
}
