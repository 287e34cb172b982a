/* trie_edit.c - changes the trie by copying the branches on a path. */
#include <assert.h>

#include "names/trie_edit.h"
#include "names/trie_key.h"
#include "store/writer.h"

/* ---- branches of a transaction ----------------------------------------- */

struct trie_owned_slot {
	store_ref ref; /* none: the slot was never used */
	uint32_t len;  /* 0: the branch is not owned any more */
};

#define OWNED_FIRST 64u /* slots, a power of two */

static struct trie_owned_slot *
owned_find(const struct trie_owned *owned, store_ref ref)
{
	if (owned->slots == NULL)
		return NULL;
	for (size_t i = ref * 0x9e3779b1u;; i++) {
		struct trie_owned_slot *slot = &owned->slots[i & owned->mask];

		if (slot->ref == STORE_NONE)
			return NULL;
		if (slot->ref == ref)
			return slot->len == 0 ? NULL : slot;
	}
}

static void
owned_add(struct trie_owned *owned, store_ref ref, uint32_t len)
{
	size_t i = ref * 0x9e3779b1u;
	struct trie_owned_slot *slot = &owned->slots[i & owned->mask];

	while (slot->ref != STORE_NONE && slot->ref != ref)
		slot = &owned->slots[++i & owned->mask];
	owned->used += slot->ref == STORE_NONE;
	slot->ref = ref;
	slot->len = len;
}

static bool
owned_remove(struct trie_owned *owned, store_ref ref)
{
	struct trie_owned_slot *slot = owned_find(owned, ref);

	if (slot == NULL)
		return false;
	slot->len = 0;
	return true;
}

/* Makes room for count more. Forgets those that are not owned any more. */
static enum nsd_err
owned_reserve(struct trie_owned *owned, size_t count)
{
	struct trie_owned_slot *old = owned->slots;
	size_t old_slots = old == NULL ? 0 : owned->mask + 1;
	size_t slots = OWNED_FIRST;

	if ((owned->used + count) * 3 < old_slots * 2)
		return NSD_OK;
	while (slots < (owned->used + count) * 2)
		slots *= 2;
	owned->slots = arena_alloc_zero(owned->arena, slots * sizeof(*old));
	if (owned->slots == NULL) {
		owned->slots = old;
		return NSD_E_MEMORY;
	}
	owned->mask = slots - 1;
	owned->used = 0;
	for (size_t i = 0; i < old_slots; i++)
		if (old[i].ref != STORE_NONE && old[i].len != 0)
			owned_add(owned, old[i].ref, old[i].len);
	return NSD_OK;
}

void
trie_owned_release(struct trie_owned *owned,
	void (*release)(void *ctx, store_ref ref, size_t len), void *ctx)
{
	if (owned->slots == NULL)
		return;
	for (size_t i = 0; i <= owned->mask; i++)
		if (owned->slots[i].len != 0)
			release(ctx, owned->slots[i].ref,
				owned->slots[i].len);
	owned->slots = NULL;
	owned->used = 0;
}

static void
owned_on_free(void *ctx, store_ref ref, size_t len)
{
	store_free(ctx, ref, len);
}

void
trie_owned_free(struct trie_owned *owned, struct store_heap *heap)
{
	trie_owned_release(owned, owned_on_free, heap);
}

/* ---- a change ---------------------------------------------------------- */

/* A change under way: its path, and the branches made for it. */
struct change {
	struct trie_edit *edit;
	const struct store_view *view;
	uint8_t key[TRIE_KEY_ROOM];
	unsigned key_len;
	unsigned copy_count;
	struct {
		store_ref ref;
		uint32_t len;
	} copies[TRIE_KEY_MAX + 1]; /* the branches made so far */
	struct trie_path path;
};

/* Allocates the entries of a new branch; NULL if the store has no memory. */
static struct trie_entry *
change_alloc(struct change *change, unsigned count, store_ref *ref)
{
	uint32_t len = (uint32_t)(count * sizeof(struct trie_entry));
	struct trie_entry *entries = store_alloc(change->edit->heap, len, ref);

	if (entries == NULL)
		return NULL;
	assert(change->copy_count <= TRIE_KEY_MAX);
	change->copies[change->copy_count].ref = *ref;
	change->copies[change->copy_count].len = len;
	change->copy_count++;
	return entries;
}

static void
trie_change_abandon(struct change *change)
{
	while (change->copy_count-- > 0)
		store_free(change->edit->heap,
			change->copies[change->copy_count].ref,
			change->copies[change->copy_count].len);
}

/* Remembers the branches that were made. owned_reserve has made room. */
static void
change_own(struct change *change, struct trie_owned *owned)
{
	for (unsigned i = 0; i < change->copy_count; i++)
		owned_add(owned, change->copies[i].ref, change->copies[i].len);
}

/* Frees a branch that is not needed any more, or gives it to on_garbage. */
static void
change_drop(struct trie_edit *edit, const struct trie_entry *branch)
{
	uint32_t len = branch_size(entry_word(branch));

	if (edit->owned != NULL && owned_remove(edit->owned, branch->word[2]))
		store_free(edit->heap, branch->word[2], len);
	else
		edit->on_garbage(edit->ctx, branch->word[2], len);
}

/*
 * Puts entry in the place of what the path has at `depth`. Copies the branches
 * above, up to the first that may be changed in place, or else up to the root.
 * Drops the branches that were copied, and the one at depth if with_last.
 */
static enum nsd_err
change_apply(struct change *change, struct trie *trie, unsigned depth,
	struct trie_entry entry, bool with_last)
{
	struct trie_edit *edit = change->edit;
	unsigned top = depth; /* the highest branch that was copied */

	for (; top > 0; top--) {
		const struct trie_entry *branch =
			&change->path.step[top - 1].branch;
		uint64_t word = entry_word(branch);
		struct trie_entry *copy;
		store_ref ref;

		if (edit->owned != NULL
			&& owned_find(edit->owned, branch->word[2]) != NULL) {
			copy = store_edit(edit->heap, branch->word[2]);
			copy[change->path.step[top - 1].index] = entry;
			break;
		}
		copy = change_alloc(change, word_count(word), &ref);
		if (copy == NULL) {
			trie_change_abandon(change);
			return NSD_E_MEMORY;
		}
		memcpy(copy, entry_children(change->view, branch),
			branch_size(word));
		copy[change->path.step[top - 1].index] = entry;
		entry = entry_make(word, ref);
	}
	if (top == 0)
		trie->root = entry;
	for (unsigned i = top; i < depth + with_last; i++)
		change_drop(edit, &change->path.step[i].branch);
	if (edit->owned != NULL)
		change_own(change, edit->owned);
	return NSD_OK;
}

static void
change_init(struct change *change, struct trie_edit *edit)
{
	change->edit = edit;
	change->view = store_heap_view(edit->heap);
	change->copy_count = 0;
}

static enum nsd_err
trie_change_reserve(struct change *change)
{
	return change->edit->owned == NULL ? NSD_OK
		: owned_reserve(change->edit->owned, change->path.depth + 1u);
}

/* Finds the place where the key differs from that of the leaf at the end of the
 * path. */
static unsigned
change_diff(const struct change *change, uint8_t leaf_key[TRIE_KEY_ROOM])
{
	unsigned leaf_len = trie_key_of_leaf(
		entry_leaf(change->view, &change->path.leaf), leaf_key);

	return trie_key_diff(change->key, change->key_len, leaf_key, leaf_len);
}

/* Adds the leaf to the branch at depth. */
static enum nsd_err
put_into_branch(struct change *change, struct trie *trie, unsigned depth,
	struct trie_entry leaf)
{
	const struct trie_entry *branch = &change->path.step[depth].branch;
	const struct trie_entry *old = entry_children(change->view, branch);
	uint64_t word = entry_word(branch);
	uint64_t bit = symbol_bit(change->key[word_offset(word)]);
	unsigned count = word_count(word);
	unsigned index = word_index(word, bit);
	struct trie_entry *entries;
	store_ref ref;

	entries = change_alloc(change, count + 1, &ref);
	if (entries == NULL)
		return NSD_E_MEMORY;
	memcpy(entries, old, index * sizeof(*entries));
	entries[index] = leaf;
	memcpy(entries + index + 1, old + index,
		(count - index) * sizeof(*entries));
	return change_apply(change, trie, depth, entry_make(word | bit, ref),
		true);
}

/* Puts the leaf and what the path has at depth under a new branch. */
static enum nsd_err
put_beside(struct change *change, struct trie *trie, unsigned depth,
	struct trie_entry leaf, unsigned offset, unsigned symbol)
{
	struct trie_entry old = depth < change->path.depth
		? change->path.step[depth].branch
		: change->path.leaf;
	unsigned ours = change->key[offset];
	struct trie_entry *entries;
	uint64_t word;
	store_ref ref;

	entries = change_alloc(change, 2, &ref);
	if (entries == NULL)
		return NSD_E_MEMORY;
	entries[ours > symbol] = leaf;
	entries[ours < symbol] = old;
	word = TRIE_BRANCH | symbol_bit(ours) | symbol_bit(symbol)
		| (uint64_t)offset << TRIE_OFFSET_SHIFT;
	return change_apply(change, trie, depth, entry_make(word, ref), false);
}

enum nsd_err
trie_put(struct trie_edit *edit, struct trie *trie, store_ref object,
	store_ref *replaced)
{
	struct trie_entry leaf = entry_make(0, object);
	uint8_t leaf_key[TRIE_KEY_ROOM];
	struct change change;
	enum nsd_err err;
	unsigned diff, depth = 0;

	change_init(&change, edit);
	if (trie_is_empty(trie)) {
		trie->root = leaf;
		*replaced = STORE_NONE;
		return NSD_OK;
	}
	change.key_len = trie_key_of_leaf(store_get(change.view, object),
		change.key);
	trie_path_find(&change.path, change.view, &trie->root, change.key,
		change.key_len);
	err = trie_change_reserve(&change);
	if (err != NSD_OK)
		return err;
	diff = change_diff(&change, leaf_key);
	if (diff == change.key_len) {
		err = change_apply(&change, trie, change.path.depth, leaf,
			false);
		if (err == NSD_OK)
			*replaced = change.path.leaf.word[2];
		return err;
	}
	while (depth < change.path.depth
		&& word_offset(entry_word(&change.path.step[depth].branch))
			< diff)
		depth++;
	if (depth < change.path.depth
		&& word_offset(entry_word(&change.path.step[depth].branch))
			== diff)
		err = put_into_branch(&change, trie, depth, leaf);
	else
		err = put_beside(&change, trie, depth, leaf, diff,
			leaf_key[diff]);
	if (err == NSD_OK)
		*replaced = STORE_NONE;
	return err;
}

/* Removes the entry that the path goes through from its last branch. */
static enum nsd_err
remove_from_branch(struct change *change, struct trie *trie)
{
	unsigned depth = change->path.depth - 1;
	const struct trie_entry *branch = &change->path.step[depth].branch;
	const struct trie_entry *old = entry_children(change->view, branch);
	uint64_t word = entry_word(branch);
	uint64_t bit = symbol_bit(change->key[word_offset(word)]);
	unsigned index = change->path.step[depth].index;
	unsigned count = word_count(word);
	struct trie_entry *entries;
	store_ref ref;

	if (count == 2)
		return change_apply(change, trie, depth, old[1 - index], true);
	entries = change_alloc(change, count - 1, &ref);
	if (entries == NULL)
		return NSD_E_MEMORY;
	memcpy(entries, old, index * sizeof(*entries));
	memcpy(entries + index, old + index + 1,
		(count - 1 - index) * sizeof(*entries));
	return change_apply(change, trie, depth, entry_make(word & ~bit, ref),
		true);
}

enum nsd_err
trie_remove(struct trie_edit *edit, struct trie *trie,
	const struct trie_name *name, store_ref *removed)
{
	uint8_t leaf_key[TRIE_KEY_ROOM];
	struct change change;
	enum nsd_err err = NSD_OK;

	change_init(&change, edit);
	if (trie_is_empty(trie))
		return NSD_E_NOT_FOUND;
	change.key_len = trie_key_make(name, change.key);
	trie_path_find(&change.path, change.view, &trie->root, change.key,
		change.key_len);
	if (change_diff(&change, leaf_key) != change.key_len)
		return NSD_E_NOT_FOUND;
	err = trie_change_reserve(&change);
	if (err == NSD_OK && change.path.depth == 0)
		trie->root = entry_make(0, STORE_NONE);
	else if (err == NSD_OK)
		err = remove_from_branch(&change, trie);
	if (err == NSD_OK)
		*removed = change.path.leaf.word[2];
	return err;
}

void
trie_clear(struct trie_edit *edit, struct trie *trie)
{
	trie_visit(store_heap_view(edit->heap), trie, edit->on_garbage,
		edit->ctx);
	trie->root = entry_make(0, STORE_NONE);
}
