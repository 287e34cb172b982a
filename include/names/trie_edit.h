/*
 * trie_edit.h - makes and changes tries (names/trie.h). The writer's.
 */
#ifndef NAMES_TRIE_EDIT_H
#define NAMES_TRIE_EDIT_H

#include "base/arena.h"
#include "names/trie.h"

struct store_heap;

/*
 * Builds a trie from objects in strictly ascending canonical order of their
 * names, each branch made once at its right size. Objects are heap objects
 * that begin with struct trie_leaf. Several threads may build disjoint ranges
 * with trie_build, each with its own heap, and join them with trie_join.
 * returns NSD_OK; NSD_E_MEMORY if the store or the process has no memory: the
 * branches that were made are freed, the objects are not.
 */
enum nsd_err trie_build(struct store_heap *heap, const store_ref *objects,
	size_t count, struct trie *out) MUST_USE;

/*
 * Joins two tries that no reader has seen, all names of low less than those of
 * high: low gets both, high becomes empty.
 * returns NSD_OK; NSD_E_MEMORY if the store has no memory: both are as before.
 * Cost: the branches along the seam, a few microseconds.
 */
enum nsd_err trie_join(struct store_heap *heap, struct trie *low,
	struct trie *high) MUST_USE;

/*
 * How a trie is changed. A change copies the branches on its path
 * (copy-on-write), so readers of the old root see nothing of it. Old branches
 * are given to on_garbage: for store_retire after the publish, or store_free if
 * they were never published.
 */
struct trie_edit {
	struct store_heap *heap;
	void (*on_garbage)(void *ctx, store_ref ref, size_t len);
	void *ctx;
	struct trie_owned *owned; /* or NULL: each change copies its path */
};

/*
 * The branches that one transaction has made, which no reader has seen: they
 * are changed in place, so that a path is copied once, and freed rather than
 * given to on_garbage. An edit works on one trie, or on several in turn.
 */
struct trie_owned {
	struct arena *arena; /* borrowed */
	struct trie_owned_slot *slots;
	size_t mask;
	size_t used;
};
/* Frees all of them: the transaction is abandoned. */
void trie_owned_free(struct trie_owned *owned, struct store_heap *heap);

/*
 * Adds an object, or puts it in the place of the one with the same name.
 * out: *replaced, that one, or STORE_NONE.
 * returns NSD_OK; NSD_E_MEMORY if the store or the arena has no memory: the
 * trie is as it was.
 */
enum nsd_err trie_put(struct trie_edit *edit, struct trie *trie,
	store_ref object, store_ref *replaced) MUST_USE;
/*
 * Removes the object with this name.
 * out: *removed.
 * returns NSD_OK; NSD_E_NOT_FOUND if there is none; NSD_E_MEMORY as above.
 */
enum nsd_err trie_remove(struct trie_edit *edit, struct trie *trie,
	const struct trie_name *name, store_ref *removed) MUST_USE;

/* Gives every branch of the trie to on_garbage; objects are not touched. */
void trie_clear(struct trie_edit *edit, struct trie *trie);

#endif
