/*
 * trie.h - an ordered trie of domain names in the store: a qp-trie over
 * symbols in canonical DNS order (RFC 4034 section 6.1).
 *
 * There is one for the names of each zone (keys relative to the apex), and one
 * for the apexes of all zones (whole names). A walk in order gives canonical
 * order. The walk down to a name passes all its ancestors that are in the trie.
 *
 * A branch is an array of entries of 12 octets. An entry is either
 *
 *   leaf    word 0: tag 0, free      word 1: free    word 2: reference
 *   branch  words 0-1: tag 1, bitmap of symbols present, offset of the symbol
 *           in the key to look at    word 2: reference of the entries
 *
 * A leaf refers to an object that begins with struct trie_leaf. The trie reads
 * the name there, so it stores no keys of its own.
 */
#ifndef NAMES_TRIE_H
#define NAMES_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/name.h"
#include "store/store.h"

struct trie_entry {
	uint32_t word[3];
};

/* The root entry; it lies in some object. All zero: an empty trie. */
struct trie {
	struct trie_entry root;
};

/* The beginning of each object that a leaf refers to. */
struct trie_leaf {
	uint8_t name_len; /* octets of the name: lower case, no root label,
			   * not the part common to all names (the apex) */
	uint8_t labels;   /* labels in it */
	uint8_t name_at;  /* octets from the object's start to the name */
};

static inline const uint8_t *
trie_leaf_name(const struct trie_leaf *leaf)
{
	return (const uint8_t *)leaf + leaf->name_at;
}

/* A name split for look-ups: lower case, with the place of each label. */
struct trie_name {
	const uint8_t *labels;   /* first octet of the first label */
	const uint8_t *label_at; /* offset of each label in `labels` */
	uint8_t len;             /* octets, no root label, no common part */
	uint8_t count;           /* labels */
};

/* Splits a name of len octets of labels, lower case, without the root label.
 * name keeps the labels and label_at. */
static inline void
trie_name_split(struct trie_name *name, const uint8_t *labels, unsigned len,
	uint8_t label_at[NAME_MAX_LABELS + 1])
{
	unsigned count = 0;

	for (unsigned at = 0; at < len; at += 1u + labels[at])
		label_at[count++] = (uint8_t)at;
	name->labels = labels;
	name->label_at = label_at;
	name->len = (uint8_t)len;
	name->count = (uint8_t)count;
}

/* Splits the name of a leaf. name keeps label_at and the leaf. */
static inline void
trie_name_of_leaf(struct trie_name *name, const struct trie_leaf *leaf,
	uint8_t label_at[NAME_MAX_LABELS + 1])
{
	trie_name_split(name, trie_leaf_name(leaf), leaf->name_len, label_at);
}

#define TRIE_KEY_MAX 512

/* A look-up. trie_find_batch advances several in turn. */
struct trie_walk {
	/* in */
	const struct trie_entry *root; /* borrowed */
	struct trie_name name;
	/* out */
	store_ref exact;     /* the object with this name, or none */
	store_ref encloser;  /* the object of the longest proper ancestor in
			      * the trie (perhaps the common part), or none */
	uint8_t ancestor_count;
	/* The proper ancestors in the trie, the shortest first; the last is the
	 * encloser. A zone's trie holds its apex (0 labels) and its empty
	 * non-terminals, so in a zone it is the closest encloser. */
	store_ref ancestors[NAME_MAX_LABELS + 1];
	/* private to the walk */
	uint16_t key_len;
	uint8_t key[TRIE_KEY_MAX];
	const struct trie_entry *at;
	uint16_t ancestor_at[NAME_MAX_LABELS + 1];
};

/*
 * Finds each name: exact match and ancestors. root and name of each walk have
 * to be set. The walks take turns, one step at a time, so that their cache
 * misses overlap. The objects found are prefetched.
 * Cost: a few cache misses a walk. Cannot fail, allocates nothing. Readers and
 * writer.
 */
void trie_find_batch(const struct store_view *view,
	struct trie_walk *const *walks, size_t count);
/* Finds one name, as trie_find_batch. */
void trie_find(const struct store_view *view, struct trie_walk *walk);

/* The way from the root down to a leaf: the branches, and the index of the
 * entry that was taken in each. */
struct trie_path {
	unsigned depth;
	struct {
		struct trie_entry branch;
		uint32_t index;
	} step[TRIE_KEY_MAX];
	struct trie_entry leaf;
};

/*
 * A walk against canonical order, from the name before a given one, which need
 * not be in the trie. It goes down to there once; each further step goes on
 * from the last. So a walk back over the ancestors of a name costs as much as
 * the way down to it. The trie must not change during it.
 */
struct trie_back {
	const struct store_view *view;
	const struct trie_entry *root;
	bool whole;            /* all names are to be walked */
	struct trie_path path; /* index: entries not yet walked */
};
/* Begins a walk back. root: kept until the last step. */
void trie_back_init(struct trie_back *back, const struct store_view *view,
	const struct trie_entry *root, const struct trie_name *name);
/* Returns the next object, or none at the end. */
store_ref trie_back_next(struct trie_back *back);

/* A walk in canonical order. The trie must not change during it. */
struct trie_iter {
	const struct store_view *view;
	unsigned depth;
	store_ref single; /* the only object of a trie without branches */
	struct {
		struct trie_entry branch;
		unsigned next;
	} stack[TRIE_KEY_MAX];
};
/* Begins a walk of all names. An empty trie is fine. */
void trie_iter_init(struct trie_iter *iter, const struct store_view *view,
	const struct trie_entry *root);
/* Begins a walk of the name, if it is there, and all names below it. */
void trie_iter_init_below(struct trie_iter *iter,
	const struct store_view *view, const struct trie_entry *root,
	const struct trie_name *name);
/* Begins a walk of the names that are greater than this one, which need not be
 * there. */
void trie_iter_init_after(struct trie_iter *iter,
	const struct store_view *view, const struct trie_entry *root,
	const struct trie_name *name);
/* Returns the next object, or none at the end. */
store_ref trie_iter_next(struct trie_iter *iter);
/* Calls on_branch with the memory of each branch that the next step leaves: all
 * names below it have been walked, and no step looks at it again. Branches that
 * end with the name given to trie_iter_init_after count, too. */
void trie_iter_leave(const struct trie_iter *iter,
	void (*on_branch)(void *ctx, store_ref ref, size_t len), void *ctx);

/* Calls on_branch with the memory of each branch, after those below it. The
 * objects are not touched. */
void trie_visit(const struct store_view *view, const struct trie *trie,
	void (*on_branch)(void *ctx, store_ref ref, size_t len), void *ctx);

#endif
