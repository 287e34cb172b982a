/* trie_join.c - makes one trie of two that follow each other. */
#include <assert.h>

#include "names/trie_edit.h"
#include "names/trie_key.h"
#include "store/writer.h"

#define NO_BRANCH TRIE_KEY_MAX /* the offset of a leaf: behind all others */

struct seam {
	struct store_heap *heap;
	const struct store_view *view;
	uint8_t low_key[TRIE_KEY_ROOM];  /* of the last name of the low one */
	uint8_t high_key[TRIE_KEY_ROOM]; /* of the first name of the high one */
	unsigned diff;                   /* where they differ */
	unsigned made_count, old_count;
	struct {
		store_ref ref;
		uint32_t len;
	} made[TRIE_KEY_MAX], old[2 * TRIE_KEY_MAX];
};

/* The entries that a side brings to a branch: its children if it is a branch at
 * the same offset, else itself. */
struct side {
	struct trie_entry self;
	const struct trie_entry *entries;
	unsigned count;
	uint64_t bits;
};

static unsigned
entry_offset(struct trie_entry entry)
{
	uint64_t word = entry_word(&entry);

	return word_is_branch(word) ? word_offset(word) : NO_BRANCH;
}

static void
side_init(struct seam *seam, struct side *side, struct trie_entry entry,
	unsigned offset, unsigned key)
{
	uint64_t word = entry_word(&entry);

	side->self = entry;
	side->entries = &side->self;
	side->count = 1;
	side->bits = symbol_bit(key);
	if (entry_offset(entry) != offset)
		return;
	side->entries = entry_children(seam->view, &entry);
	side->count = word_count(word);
	side->bits = word & TRIE_BITMAP;
	assert(seam->old_count < 2 * TRIE_KEY_MAX);
	seam->old[seam->old_count].ref = entry.word[2];
	seam->old[seam->old_count].len =
		(uint32_t)(side->count * sizeof(struct trie_entry));
	seam->old_count++;
}

static struct trie_entry *
seam_alloc(struct seam *seam, unsigned count, store_ref *ref)
{
	uint32_t len = (uint32_t)(count * sizeof(struct trie_entry));
	struct trie_entry *entries = store_alloc(seam->heap, len, ref);

	if (entries == NULL)
		return NULL;
	assert(seam->made_count < TRIE_KEY_MAX);
	seam->made[seam->made_count].ref = *ref;
	seam->made[seam->made_count].len = len;
	seam->made_count++;
	return entries;
}

/* Joins the two entries at the seam into a new branch. Its offset is the lowest
 * of the entries' offsets and the place where the keys differ. It takes what
 * both sides bring. */
static bool
join_entries(struct seam *seam, struct trie_entry low, struct trie_entry high,
	struct trie_entry *out)
{
	unsigned offset = seam->diff;
	struct side a, b;
	struct trie_entry joint = { { 0 } };
	struct trie_entry *entries;
	unsigned shared;
	store_ref ref;

	if (entry_offset(low) < offset)
		offset = entry_offset(low);
	if (entry_offset(high) < offset)
		offset = entry_offset(high);
	side_init(seam, &a, low, offset, seam->low_key[offset]);
	side_init(seam, &b, high, offset, seam->high_key[offset]);
	/* Before the place where the keys differ, the last child of low and
	 * the first of high have the same symbol, so they are joined. */
	shared = offset < seam->diff;
	if (shared != 0
		&& !join_entries(seam, a.entries[a.count - 1], b.entries[0],
			&joint))
		return false;
	entries = seam_alloc(seam, a.count + b.count - shared, &ref);
	if (entries == NULL)
		return false;
	memcpy(entries, a.entries, a.count * sizeof(*entries));
	memcpy(entries + a.count - shared, b.entries,
		b.count * sizeof(*entries));
	if (shared != 0)
		entries[a.count - 1] = joint;
	*out = entry_make(TRIE_BRANCH | a.bits | b.bits
			| (uint64_t)offset << TRIE_OFFSET_SHIFT,
		ref);
	return true;
}

static struct trie_entry
entry_outermost(const struct store_view *view, struct trie_entry entry,
	bool last)
{
	uint64_t word;

	while (word = entry_word(&entry), word_is_branch(word))
		entry = entry_children(view,
			&entry)[last ? word_count(word) - 1 : 0];
	return entry;
}

enum nsd_err
trie_join(struct store_heap *heap, struct trie *low, struct trie *high)
{
	struct seam seam = { .heap = heap, .view = store_heap_view(heap) };
	struct trie_entry last, first;
	unsigned low_len, high_len;

	if (!trie_is_empty(low) && !trie_is_empty(high)) {
		last = entry_outermost(seam.view, low->root, true);
		first = entry_outermost(seam.view, high->root, false);
		low_len = trie_key_of_leaf(entry_leaf(seam.view, &last),
			seam.low_key);
		high_len = trie_key_of_leaf(entry_leaf(seam.view, &first),
			seam.high_key);
		seam.diff = trie_key_diff(seam.low_key, low_len,
			seam.high_key, high_len);
		if (!join_entries(&seam, low->root, high->root, &low->root)) {
			while (seam.made_count-- > 0)
				store_free(heap, seam.made[seam.made_count].ref,
					seam.made[seam.made_count].len);
			return NSD_E_MEMORY;
		}
		while (seam.old_count-- > 0)
			store_free(heap, seam.old[seam.old_count].ref,
				seam.old[seam.old_count].len);
	} else if (trie_is_empty(low)) {
		low->root = high->root;
	}
	high->root = entry_make(0, STORE_NONE);
	return NSD_OK;
}
