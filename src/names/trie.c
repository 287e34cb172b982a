/* trie.c - finds names in the trie, their ancestors and the names before and
 * behind them. */
#include "base/assert.h"
#include "names/trie_key.h"

/* The walks that take turns: enough to hide a cache miss. */
#define WALKS_MAX 64

/*
 * The instruction that counts bits is not in the base instruction set of
 * x86-64. There is a second copy of these functions that uses it. Which one
 * runs is chosen when the program starts.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__POPCNT__) \
	&& !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) \
	&& !defined(__clang__)
#define WITH_POPCNT __attribute__((target_clones("popcnt", "default")))
#else
#define WITH_POPCNT
#endif

static inline void
walk_start(struct trie_walk *walk)
{
	walk->key_len = (uint16_t)trie_key_make(&walk->name, walk->key);
	walk->at = walk->root;
	walk->exact = STORE_NONE;
	walk->encloser = STORE_NONE;
	walk->ancestor_count = 0;
}

/* Notes a branch whose first child is a leaf that may be an ancestor.
 * walk_finish looks up the leaf's object. */
static inline void
walk_note_ancestor(struct trie_walk *walk, unsigned offset, store_ref children)
{
	ASSERT_HOT(walk->ancestor_count <= NAME_MAX_LABELS);
	walk->ancestors[walk->ancestor_count] = children;
	walk->ancestor_at[walk->ancestor_count] = (uint16_t)offset;
	walk->ancestor_count++;
}

/*
 * Goes one step down. returns false at the end: walk->at is a leaf then, or
 * NULL if no name in the trie goes on as this one.
 */
static inline __attribute__((always_inline)) bool
walk_step(const struct store_view *view, struct trie_walk *walk)
{
	const struct trie_entry *entry = walk->at;
	const struct trie_entry *children;
	uint64_t word = entry_word(entry);
	unsigned offset = word_offset(word);
	unsigned key;
	uint64_t bit;

	if (!word_is_branch(word)) {
		/* The object's name and what the caller reads behind it may
		 * lie in two cache lines. */
		store_prefetch(view, entry->word[2]);
		store_prefetch(view, entry->word[2] + 32 / STORE_GRANULE);
		return false;
	}
	if (offset >= walk->key_len) {
		walk->at = NULL;
		return false;
	}
	key = walk->key[offset];
	bit = symbol_bit(key);
	children = entry_children(view, entry);
	/* Here a label of our name begins, and some name ends: a possible
	 * ancestor (trie_key.h). */
	if (key > TRIE_KEY_START && (word & symbol_bit(0)) != 0)
		walk_note_ancestor(walk, offset, entry->word[2]);
	if ((word & bit) == 0) {
		walk->at = NULL;
		return false;
	}
	walk->at = children + word_index(word, bit);
	__builtin_prefetch(walk->at);
	/* An entry may lie in two cache lines. */
	__builtin_prefetch(&walk->at->word[2]);
	return true;
}

/* Compares a few octets without the call that memcmp would be. */
static inline bool
octets_equal(const uint8_t *a, const uint8_t *b, unsigned len)
{
	uint64_t differ = 0;
	unsigned i = 0;

	for (; i + 8 <= len; i += 8) {
		uint64_t x, y;

		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		differ |= x ^ y;
	}
	for (; i < len; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

/* Counts the labels that two names share, from the last. */
static unsigned
labels_shared(const struct trie_name *name, const struct trie_leaf *leaf)
{
	const uint8_t *a = name->labels;
	const uint8_t *b = trie_leaf_name(leaf);
	unsigned count = leaf->labels;
	unsigned run = 0;

	if (leaf->name_len == name->len && octets_equal(a, b, name->len))
		return name->count;
	for (; count > name->count; count--)
		b += 1 + *b;
	if (count > 0)
		a += name->label_at[name->count - count];
	for (; count > 0; count--) {
		size_t size = 1u + *a;

		run = *a == *b && memcmp(a, b, size) == 0 ? run + 1 : 0;
		b += 1 + *b;
		a += size;
	}
	return run;
}

/* Counts the labels of the key that begin before an offset. */
static unsigned
labels_before(const struct trie_walk *walk, unsigned offset)
{
	unsigned count = 0;

	for (unsigned i = 0; i < offset; i++)
		count += (walk->key[i] & TRIE_KEY_START) != 0;
	return count;
}

/* Counts the noted branches before which at most `shared` labels of the key
 * begin. The others differ from our name. */
static __attribute__((noinline)) unsigned
walk_drop_ancestors(const struct trie_walk *walk, unsigned shared)
{
	unsigned count = walk->ancestor_count, at = 0;

	/* Find where the label after these begins. */
	for (unsigned left = shared + 1; left > 0; at++)
		left -= (walk->key[at] & TRIE_KEY_START) != 0;
	while (count > 0 && walk->ancestor_at[count - 1] >= at)
		count--;
	return count;
}

/*
 * The leaf whose name decides what the walk has found; NULL if there is none,
 * or nothing left to decide. Drops ancestors that cannot be ours.
 */
static const struct trie_leaf *
walk_witness(const struct store_view *view, struct trie_walk *walk)
{
	if (walk->at != NULL)
		return walk->at->word[2] == STORE_NONE
			? NULL
			: entry_leaf(view, walk->at);
	while (walk->ancestor_count > 0) {
		unsigned last = walk->ancestor_count - 1u;
		const struct trie_entry *first;

		/* The common part encloses every name: nothing to decide. */
		if (walk->ancestor_at[last] == 0)
			return NULL;
		first = store_get(view, walk->ancestors[last]);
		if (!word_is_branch(entry_word(first)))
			return entry_leaf(view, first);
		/* The branch's first child is no leaf. So a label of those
		 * names ends where one of ours begins: they differ from ours
		 * before that, and the branch holds no ancestor. */
		walk->ancestor_count--;
	}
	return NULL;
}

/*
 * Decides which of the leaves noted are ancestors. All names below a branch
 * share the symbols before its offset. So one of them tells for all: the labels
 * that this witness shares with our name show which branches lie on our way.
 */
static inline void
walk_finish(const struct store_view *view, struct trie_walk *walk)
{
	const struct trie_leaf *witness = walk_witness(view, walk);
	unsigned count = walk->ancestor_count;
	unsigned shared = 0;

	if (witness != NULL) {
		shared = labels_shared(&walk->name, witness);
		if (count > 0 && walk->ancestor_at[count - 1] != 0
			&& labels_before(walk, walk->ancestor_at[count - 1])
				> shared)
			count = walk_drop_ancestors(walk, shared);
	}
	for (unsigned i = 0; i < count; i++) {
		const struct trie_entry *children =
			store_get(view, walk->ancestors[i]);

		walk->ancestors[i] = children[0].word[2];
	}
	if (walk->at != NULL && witness != NULL
		&& shared == witness->labels) {
		if (shared == walk->name.count)
			walk->exact = walk->at->word[2];
		else
			walk->ancestors[count++] = walk->at->word[2];
	}
	walk->ancestor_count = (uint8_t)count;
	if (count > 0)
		walk->encloser = walk->ancestors[count - 1];
}

static WITH_POPCNT void
find_interleaved(const struct store_view *view, struct trie_walk *const *walks,
	unsigned count)
{
	uint8_t live[WALKS_MAX];
	unsigned live_count = count;

	for (unsigned i = 0; i < count; i++) {
		walk_start(walks[i]);
		live[i] = (uint8_t)i;
	}
	while (live_count > 0) {
		unsigned left = 0;

		for (unsigned i = 0; i < live_count; i++) {
			unsigned w = live[i];

			live[left] = (uint8_t)w;
			left += walk_step(view, walks[w]);
		}
		live_count = left;
	}
	for (unsigned i = 0; i < count; i++)
		walk_finish(view, walks[i]);
}

void
trie_find_batch(const struct store_view *view, struct trie_walk *const *walks,
	size_t count)
{
	while (count > 0) {
		size_t n = count < WALKS_MAX ? count : WALKS_MAX;

		find_interleaved(view, walks, (unsigned)n);
		walks += n;
		count -= n;
	}
}

WITH_POPCNT void
trie_find(const struct store_view *view, struct trie_walk *walk)
{
	walk_start(walk);
	while (walk_step(view, walk))
		;
	walk_finish(view, walk);
}

/* ---- order */

WITH_POPCNT void
trie_path_find(struct trie_path *path, const struct store_view *view,
	const struct trie_entry *root, const uint8_t *key, unsigned key_len)
{
	struct trie_entry entry = *root;
	uint64_t word;

	path->depth = 0;
	while (word = entry_word(&entry), word_is_branch(word)) {
		unsigned offset = word_offset(word);
		unsigned index = 0;

		if (offset < key_len && (word & symbol_bit(key[offset])) != 0)
			index = word_index(word, symbol_bit(key[offset]));
		ASSERT_HOT(path->depth < TRIE_KEY_MAX);
		path->step[path->depth].branch = entry;
		path->step[path->depth].index = index;
		path->depth++;
		entry = entry_children(view, &entry)[index];
	}
	path->leaf = entry;
}

WITH_POPCNT void
trie_back_init(struct trie_back *back, const struct store_view *view,
	const struct trie_entry *root, const struct trie_name *name)
{
	uint8_t key[TRIE_KEY_ROOM], leaf_key[TRIE_KEY_ROOM];
	struct trie_path *path = &back->path;
	struct trie_entry entry;
	unsigned len, leaf_len, diff, depth = 0;
	uint64_t word;

	back->view = view;
	back->root = root;
	back->whole = false;
	path->depth = 0;
	if (!word_is_branch(entry_word(root)) && root->word[2] == STORE_NONE)
		return;
	len = trie_key_make(name, key);
	trie_path_find(path, view, root, key, len);
	leaf_len = trie_key_of_leaf(entry_leaf(view, &path->leaf), leaf_key);
	diff = trie_key_diff(key, len, leaf_key, leaf_len);
	if (diff == len)
		return;
	/* Find the highest entry below which all names agree with ours up to
	 * diff. */
	while (depth < path->depth
		&& word_offset(entry_word(&path->step[depth].branch)) < diff)
		depth++;
	entry = depth < path->depth ? path->step[depth].branch : path->leaf;
	word = entry_word(&entry);
	path->depth = depth;
	if (word_is_branch(word) && word_offset(word) == diff) {
		path->step[depth].index = word_index(word,
			symbol_bit(key[diff]));
		path->depth++;
	} else if (leaf_key[diff] < key[diff]) {
		/* The leaves of the entry are all less. */
		if (depth > 0)
			path->step[depth - 1].index++;
		else
			back->whole = true;
	}
}

/* The last leaf of an entry, its branches put onto the path. */
static inline __attribute__((always_inline)) store_ref
back_descend(struct trie_back *back, struct trie_entry entry)
{
	struct trie_path *path = &back->path;
	uint64_t word;

	while (word = entry_word(&entry), word_is_branch(word)) {
		unsigned last = word_count(word) - 1;

		ASSERT_HOT(path->depth < TRIE_KEY_MAX);
		path->step[path->depth].branch = entry;
		path->step[path->depth].index = last;
		path->depth++;
		entry = entry_children(back->view, &entry)[last];
	}
	return entry.word[2];
}

WITH_POPCNT store_ref
trie_back_next(struct trie_back *back)
{
	struct trie_path *path = &back->path;

	if (back->whole) {
		back->whole = false;
		return back_descend(back, *back->root);
	}
	for (; path->depth > 0; path->depth--) {
		uint32_t *index = &path->step[path->depth - 1].index;

		if (*index == 0)
			continue;
		--*index;
		return back_descend(back, entry_children(back->view,
			&path->step[path->depth - 1].branch)[*index]);
	}
	return STORE_NONE;
}

void
trie_iter_init(struct trie_iter *iter, const struct store_view *view,
	const struct trie_entry *root)
{
	iter->view = view;
	iter->depth = 0;
	iter->single = STORE_NONE;
	if (word_is_branch(entry_word(root))) {
		iter->stack[0].branch = *root;
		iter->stack[0].next = 0;
		iter->depth = 1;
	} else {
		iter->single = root->word[2];
	}
}

void
trie_iter_init_below(struct trie_iter *iter, const struct store_view *view,
	const struct trie_entry *root, const struct trie_name *name)
{
	uint8_t key[TRIE_KEY_ROOM], leaf_key[TRIE_KEY_ROOM];
	/* Without its last symbol the key is what all names below begin
	 * with. */
	unsigned len = trie_key_make(name, key) - 1, leaf_len;
	struct trie_entry entry = *root, leaf;
	uint64_t word;

	while (word = entry_word(&entry),
		word_is_branch(word) && word_offset(word) < len) {
		uint64_t bit = symbol_bit(key[word_offset(word)]);

		entry = (word & bit) == 0 ? entry_make(0, STORE_NONE)
			: entry_children(view, &entry)[word_index(word, bit)];
	}
	/* A leaf below tells for all: they share the symbols up to here. */
	leaf = entry;
	while (word_is_branch(entry_word(&leaf)))
		leaf = entry_children(view, &leaf)[0];
	if (leaf.word[2] != STORE_NONE) {
		leaf_len = trie_key_of_leaf(entry_leaf(view, &leaf), leaf_key);
		/* memcmp compares the marks TRIE_KEY_START, too. It may: they
		 * are equal wherever all symbols before them are. */
		if (leaf_len <= len || memcmp(key, leaf_key, len) != 0)
			entry = entry_make(0, STORE_NONE);
	}
	trie_iter_init(iter, view, &entry);
}

void
trie_iter_init_after(struct trie_iter *iter, const struct store_view *view,
	const struct trie_entry *root, const struct trie_name *name)
{
	uint8_t key[TRIE_KEY_ROOM], leaf_key[TRIE_KEY_ROOM];
	struct trie_path path;
	struct trie_entry entry;
	unsigned len, leaf_len, diff, depth = 0;
	bool greater;
	uint64_t word;

	trie_iter_init(iter, view, root);
	if (iter->depth == 0 && iter->single == STORE_NONE)
		return;
	len = trie_key_make(name, key);
	trie_path_find(&path, view, root, key, len);
	leaf_len = trie_key_of_leaf(entry_leaf(view, &path.leaf), leaf_key);
	diff = trie_key_diff(key, len, leaf_key, leaf_len);
	/* As far as the names agree, go on behind the entries on the name's own
	 * way. */
	while (depth < path.depth
		&& word_offset(entry_word(&path.step[depth].branch)) < diff) {
		iter->stack[depth].branch = path.step[depth].branch;
		iter->stack[depth].next = path.step[depth].index + 1;
		depth++;
	}
	greater = diff < len && leaf_key[diff] > key[diff];
	entry = depth < path.depth ? path.step[depth].branch : path.leaf;
	word = entry_word(&entry);
	if (word_is_branch(word) && word_offset(word) == diff) {
		iter->stack[depth].branch = entry;
		iter->stack[depth].next = word_index(word,
			symbol_bit(key[diff]));
		depth++;
	} else if (greater && depth == 0) {
		return; /* all names are greater: walk the whole trie */
	} else if (greater) {
		iter->stack[depth - 1].next--;
	}
	iter->single = STORE_NONE;
	iter->depth = depth;
}

WITH_POPCNT store_ref
trie_iter_next(struct trie_iter *iter)
{
	store_ref single = iter->single;

	iter->single = STORE_NONE;
	while (iter->depth > 0) {
		const struct trie_entry *branch =
			&iter->stack[iter->depth - 1].branch;
		unsigned next = iter->stack[iter->depth - 1].next;
		const struct trie_entry *entry;

		if (next == word_count(entry_word(branch))) {
			iter->depth--;
			continue;
		}
		iter->stack[iter->depth - 1].next++;
		entry = &entry_children(iter->view, branch)[next];
		if (!word_is_branch(entry_word(entry)))
			return entry->word[2];
		ASSERT_HOT(iter->depth < TRIE_KEY_MAX);
		iter->stack[iter->depth].branch = *entry;
		iter->stack[iter->depth].next = 0;
		iter->depth++;
	}
	return single;
}

void
trie_iter_leave(const struct trie_iter *iter,
	void (*on_branch)(void *ctx, store_ref ref, size_t len), void *ctx)
{
	for (unsigned d = iter->depth; d-- > 0;) {
		const struct trie_entry *branch = &iter->stack[d].branch;
		unsigned count = word_count(entry_word(branch));

		if (iter->stack[d].next < count)
			return;
		on_branch(ctx, branch->word[2],
			count * sizeof(struct trie_entry));
	}
}

struct visit {
	const struct store_view *view;
	void (*on_branch)(void *ctx, store_ref ref, size_t len);
	void *ctx;
};

static void
visit_entry(const struct visit *visit, const struct trie_entry *entry)
{
	uint64_t word = entry_word(entry);
	const struct trie_entry *children;
	unsigned count = word_count(word);

	if (!word_is_branch(word))
		return;
	children = entry_children(visit->view, entry);
	for (unsigned i = 0; i < count; i++)
		visit_entry(visit, &children[i]);
	visit->on_branch(visit->ctx, entry->word[2], branch_size(word));
}

void
trie_visit(const struct store_view *view, const struct trie *trie,
	void (*on_branch)(void *ctx, store_ref ref, size_t len), void *ctx)
{
	struct visit visit = { view, on_branch, ctx };

	visit_entry(&visit, &trie->root);
}
