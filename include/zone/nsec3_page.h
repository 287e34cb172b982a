/*
 * nsec3_page.h - the index of a chain by hash: a B+ tree of small pages.
 *
 * An entry of a leaf is a record and its hash. An entry of a page above is a
 * page and the lowest hash below it. So a look-up that goes down always has the
 * hash that follows at hand: it is the next one in the page, or in a page
 * above. A page that readers can see never changes.
 *
 *   +0 count 2, height 1 (0: leaf), unused 1
 *   +4 odd   4   leaf: bit i is set if record i has flags
 *   +8 hashes    count x 20, ascending
 *      refs      count x 4
 *
 * Hashes are spread evenly. So a look-up guesses the place of a hash in a page
 * from its value, and corrects the guess. In a zone that was made to mislead
 * the guess, the correction walks over one page at most on each level.
 */
#ifndef ZONE_NSEC3_PAGE_H
#define ZONE_NSEC3_PAGE_H

#include <string.h>

#include "zone/nsec3.h"

#define NSEC3_LEAF_MAX 32u   /* entries; as many as `odd` has bits */
#define NSEC3_LEAF_FILL 24u  /* entries of a fresh leaf */
#define NSEC3_INNER_MAX 64u
#define NSEC3_INNER_FILL 48u
/*
 * The tree grows by one level when its root would have 65 entries. A root only
 * gets there by splits of the pages below it. So height 12 would take 32^12
 * records to be added, in whatever order, and whatever is removed in between.
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

/* Begins before the first record. chain NULL: a walk of nothing. */
void nsec3_iter_init(struct nsec3_iter *iter, const struct store_view *view,
	const struct nsec3_chain *chain);
/* Begins before the first record with a hash greater than this one, which need
 * not be in the chain. chain is not NULL. */
void nsec3_iter_init_after(struct nsec3_iter *iter,
	const struct store_view *view, const struct nsec3_chain *chain,
	const uint8_t *hash);
/* Goes to the next record and sets the fields of the record at hand. False at
 * the end. */
bool nsec3_iter_next(struct nsec3_iter *iter);
/* Calls on_page with the memory of each page that ends with the record at hand;
 * call it only when there is one. The next step still looks at these pages, no
 * later one does. Pages that end with the hash given to nsec3_iter_init_after
 * count as left behind already. */
void nsec3_iter_leave(const struct nsec3_iter *iter,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx);

/* The place of a hash in a chain, whether or not a record has it. */
struct nsec3_place {
	const struct nsec3_page *page; /* the leaf */
	store_ref record;      /* the record with this hash, or none */
	const uint8_t *before; /* hashes of the records before and after; NULL:
				* there is none, the chain goes round */
	const uint8_t *after;
};
void nsec3_place_find(const struct store_view *view,
	const struct nsec3_chain *chain, const uint8_t *hash,
	struct nsec3_place *place);

/* Calls on_page with the memory of each page below `page`, then with that of
 * `page` itself. */
void nsec3_visit_below(const struct store_view *view, store_ref page,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx);
/* Calls on_page with the memory of all pages of a chain. */
void nsec3_visit_pages(const struct store_view *view,
	const struct nsec3_chain *chain,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx);

/* ---- records ----------------------------------------------------------- */

/* The octets of each object in the store. */
size_t nsec3_template_size(const struct nsec3_template *template);
size_t nsec3_record_size(const struct nsec3_record *record);
size_t nsec3_chain_size(const struct nsec3_chain *chain);

/* The next hash of a record that has NSEC3_OWN_NEXT. */
const uint8_t *nsec3_record_own_next(const struct nsec3_record *record);

/* Builds the RDATA of a record that is no NSEC3_RRSET. out has room for 65535
 * octets. returns the length. Cannot fail. */
size_t nsec3_unpack_rdata(const struct store_view *view,
	const struct nsec3_record *record, const uint8_t *next_hash,
	uint8_t *out);

#endif
