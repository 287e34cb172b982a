/*
 * nsec3_page.h - the index of a chain by hash: a B+ tree of small pages.
 *
 * A leaf refers to records, a page above to pages; each entry has a hash: the
 * record's, or the lowest one below that page. So the hash that follows any
 * entry is at hand on the way down: the next one in the page, or the next one
 * in a page above. Pages are never changed once they can be seen.
 *
 *   +0 count 2, height 1 (0: leaf), unused 1
 *   +4 odd   4   leaf: bit i is set if record i has flags
 *   +8 hashes    count x 20, ascending
 *      refs      count x 4
 *
 * Hashes are spread evenly. So the place of one is guessed from its value and
 * those of its neighbours, and then corrected. In a zone that was made to
 * mislead the guess, the correction walks over one page at most on each level.
 */
#ifndef ZONE_NSEC3_PAGE_H
#define ZONE_NSEC3_PAGE_H

#include <string.h>

#include "zone/nsec3.h"

#define NSEC3_LEAF_MAX 32u   /* entries; the bits of odd */
#define NSEC3_LEAF_FILL 24u  /* of a fresh one */
#define NSEC3_INNER_MAX 64u
#define NSEC3_INNER_FILL 48u
/*
 * The tree grows by one level when 65 pages stand below one root, which a page
 * only comes to by being split again and again: 32^12 records would have to be
 * added, in whatever order, and whatever is removed in between.
 */
#define NSEC3_HEIGHT_MAX 12u

struct nsec3_page {
	uint16_t count;
	uint8_t height;
	uint8_t unused;
	uint32_t odd;
	uint8_t hashes[];
};

static inline size_t
nsec3_page_size(unsigned count)
{
	return sizeof(struct nsec3_page)
		+ count * (NSEC3_HASH_LEN + sizeof(store_ref));
}

static inline const uint8_t *
nsec3_page_hash(const struct nsec3_page *page, unsigned i)
{
	return page->hashes + i * NSEC3_HASH_LEN;
}

static inline const store_ref *
nsec3_page_refs(const struct nsec3_page *page)
{
	return (const store_ref *)(page->hashes
		+ page->count * NSEC3_HASH_LEN);
}

/* A record of a chain, as a page knows it. */
struct nsec3_entry {
	uint8_t hash[NSEC3_HASH_LEN];
	store_ref record;
};

/* ---- a walk in order --------------------------------------------------- */

struct nsec3_iter {
	const struct store_view *view;
	store_ref root;
	unsigned depth; /* pages on the path */
	struct {
		const struct nsec3_page *page;
		unsigned at;
	} path[NSEC3_HEIGHT_MAX];
	/* the record at hand */
	store_ref ref;
	const struct nsec3_record *record;
	const uint8_t *hash;
	const uint8_t *next_hash; /* of the record; NULL for NSEC3_RRSET */
};

/* chain may be NULL: there is nothing. */
void nsec3_iter_init(struct nsec3_iter *iter, const struct store_view *view,
	const struct nsec3_chain *chain);
/* Goes on with the first hash that is greater. */
void nsec3_iter_init_after(struct nsec3_iter *iter,
	const struct store_view *view, const struct nsec3_chain *chain,
	const uint8_t *hash);
/* False at the end. */
bool nsec3_iter_next(struct nsec3_iter *iter);
/* Calls on_page with the memory of each page that ends with the record at hand.
 * The next step still looks at these pages, no later one does. Pages that end
 * with the hash given to nsec3_iter_init_after count as left behind already. */
void nsec3_iter_leave(const struct nsec3_iter *iter,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx);

/* Where a hash is in a chain, or would be. */
struct nsec3_place {
	const struct nsec3_page *page; /* the leaf */
	store_ref record;      /* with this hash, or none */
	const uint8_t *before; /* hashes of the records before and after; NULL:
				* there is none, the chain goes round */
	const uint8_t *after;
};
void nsec3_place_find(const struct store_view *view,
	const struct nsec3_chain *chain, const uint8_t *hash,
	struct nsec3_place *place);

/* Calls on_page with the memory of a page and of each one below it, those
 * below first. */
void nsec3_visit_below(const struct store_view *view, store_ref page,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx);
/* The same for all pages of a chain. */
void nsec3_visit_pages(const struct store_view *view,
	const struct nsec3_chain *chain,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx);

/* ---- records ----------------------------------------------------------- */

size_t nsec3_form_size(const struct nsec3_form *form);
size_t nsec3_record_size(const struct nsec3_record *record);
size_t nsec3_chain_size(const struct nsec3_chain *chain);

/* The next hash of a record that keeps it itself: NSEC3_OWN_NEXT. */
const uint8_t *nsec3_record_own_next(const struct nsec3_record *record);

/* Builds the RDATA of a record that is no NSEC3_RRSET; out has room for
 * 65535; returns the length. */
size_t nsec3_unpack_rdata(const struct store_view *view,
	const struct nsec3_record *record, const uint8_t *next_hash,
	uint8_t *out);

#endif
