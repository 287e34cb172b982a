/*
 * trie_edit.h - makes and changes tries (names/trie.h). The writer's.
 */
#ifndef NAMES_TRIE_EDIT_H
#define NAMES_TRIE_EDIT_H

#include "base/arena.h"
#include "names/trie.h"

struct store_heap;

/*
 * Builds a trie from count objects, which begin with struct trie_leaf and are
 * in strictly ascending canonical order of their names. Each branch is made
 * once, at its right size. Several threads may build disjoint ranges, each with
 * a heap of its own, and join them with trie_join.
 * returns NSD_OK; NSD_E_MEMORY if the store or the process has no memory: the
 * branches that were made are freed, the objects are not.
 */
enum nsd_err trie_build(struct store_heap *heap, const store_ref *objects,
	size_t count, struct trie *out) MUST_USE;

/*
 * Joins two tries that no reader has seen. All names of low are less than those
 * of high. low gets both; high becomes empty.
 * returns NSD_OK; NSD_E_MEMORY if the store has no memory: both are as before.
 * Cost: the branches along the seam, a few microseconds.
 */
enum nsd_err trie_join(struct store_heap *heap, struct trie *low,
	struct trie *high) MUST_USE;

/*
 * The context of changes to a trie. A change copies the branches on its path
 * (copy-on-write), so readers of the old root see nothing of it. on_garbage
 * gets the old branches. Retire them (store_retire) after the publish, or free
 * them (store_free) if they were never published.
 */
struct trie_edit {
	struct store_heap *heap;
	void (*on_garbage)(void *ctx, store_ref ref, size_t len);
	void *ctx;
	struct trie_owned *owned; /* or NULL: each change copies its path */
};

/*
 * The branches that one transaction has made and no reader has seen. They are
 * changed in place, so a path is copied once. When they are not needed any
 * more they are freed, not given to on_garbage. Begins zeroed but for the
 * arena. An edit works on one trie, or on several in turn.
 */
struct trie_owned {
	struct arena *arena; /* borrowed */
	struct trie_owned_slot *slots;
	size_t mask;
	size_t used;
};
/* Frees all these branches, for a transaction that is abandoned. */
void trie_owned_free(struct trie_owned *owned, struct store_heap *heap);
/* The same by a function: some reader has seen them. */
void trie_owned_release(struct trie_owned *owned,
	void (*release)(void *ctx, store_ref ref, size_t len), void *ctx);

/*
 * Adds an object, or replaces the one with the same name.
 * out: *replaced, the one with the same name, or STORE_NONE.
 * returns NSD_OK; NSD_E_MEMORY if the store or the arena has no memory: the
 * trie is as it was.
 */
enum nsd_err trie_put(struct trie_edit *edit, struct trie *trie,
	store_ref object, store_ref *replaced) MUST_USE;
/*
 * Removes the object with this name. The object itself stays.
 * out: *removed, that object.
 * returns NSD_OK; NSD_E_NOT_FOUND if there is none; NSD_E_MEMORY if the store
 * or the arena has no memory. The trie is as it was after both.
 */
enum nsd_err trie_remove(struct trie_edit *edit, struct trie *trie,
	const struct trie_name *name, store_ref *removed) MUST_USE;

/* Makes the trie empty, and gives every branch to on_garbage. The objects are
 * not touched. */
void trie_clear(struct trie_edit *edit, struct trie *trie);

#endif
