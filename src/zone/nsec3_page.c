/* nsec3_page.c - walks the pages and records of a chain in order. */
#include "base/assert.h"
#include "zone/nsec3_page.h"
#include "zone/objects.h"

/* ---- records ----------------------------------------------------------- */

size_t
nsec3_template_size(const struct nsec3_template *template)
{
	return sizeof(*template) + template->head_len + template->bitmap_len;
}

const uint8_t *
nsec3_record_own_next(const struct nsec3_record *record)
{
	return (const uint8_t *)&record->sigs + rrset_sigs_size(&record->sigs);
}

size_t
nsec3_record_size(const struct nsec3_record *record)
{
	return offsetof(struct nsec3_record, sigs)
		+ rrset_sigs_size(&record->sigs)
		+ ((record->flags & NSEC3_OWN_NEXT) != 0 ? NSEC3_HASH_LEN : 0);
}

size_t
nsec3_chain_size(const struct nsec3_chain *chain)
{
	return sizeof(*chain) + chain->salt_len;
}

size_t
nsec3_unpack_rdata(const struct store_view *view,
	const struct nsec3_record *record, const uint8_t *next_hash,
	uint8_t *out)
{
	const struct nsec3_template *template = store_get(view,
		record->template);
	uint8_t *at = out;

	memcpy(at, template->data, template->head_len);
	at += template->head_len;
	memcpy(at, next_hash, NSEC3_HASH_LEN);
	at += NSEC3_HASH_LEN;
	memcpy(at, template->data + template->head_len, template->bitmap_len);
	return (size_t)(at - out) + template->bitmap_len;
}

/* ---- walking ----------------------------------------------------------- */

/* Goes down to the first record below a page. */
static void
iter_descend(struct nsec3_iter *iter, store_ref ref)
{
	for (;;) {
		const struct nsec3_page *page = store_get(iter->view, ref);

		ASSERT_HOT(iter->depth < NSEC3_HEIGHT_MAX);
		iter->path[iter->depth].page = page;
		iter->path[iter->depth].at = 0;
		iter->depth++;
		if (page->height == 0)
			return;
		ref = nsec3_page_refs(page)[0];
	}
}

void
nsec3_iter_init(struct nsec3_iter *iter, const struct store_view *view,
	const struct nsec3_chain *chain)
{
	iter->view = view;
	iter->depth = 0;
	iter->root = chain != NULL ? chain->index : STORE_NONE;
	iter->record = NULL;
	if (chain != NULL)
		iter_descend(iter, chain->index);
}

/* The hash that follows the entry at hand. After the last comes the first. */
static const uint8_t *
iter_find_next_hash(const struct nsec3_iter *iter)
{
	for (unsigned d = iter->depth; d-- > 0;) {
		const struct nsec3_page *page = iter->path[d].page;

		if (iter->path[d].at + 1 < page->count)
			return nsec3_page_hash(page, iter->path[d].at + 1);
	}
	return iter->path[0].page->hashes;
}

static void
iter_advance(struct nsec3_iter *iter)
{
	while (iter->depth > 0) {
		const struct nsec3_page *page =
			iter->path[iter->depth - 1].page;
		unsigned at = ++iter->path[iter->depth - 1].at;

		if (at < page->count) {
			if (page->height > 0)
				iter_descend(iter, nsec3_page_refs(page)[at]);
			return;
		}
		iter->depth--;
	}
}

void
nsec3_iter_leave(const struct nsec3_iter *iter,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx)
{
	for (unsigned d = iter->depth; d-- > 0;) {
		const struct nsec3_page *page = iter->path[d].page;

		if (iter->path[d].at + 1 < page->count)
			return;
		on_page(ctx, d > 0 ? nsec3_page_refs(iter->path[d - 1].page)
					     [iter->path[d - 1].at]
				   : iter->root,
			nsec3_page_size(page->count));
	}
}

bool
nsec3_iter_next(struct nsec3_iter *iter)
{
	const struct nsec3_page *page;
	unsigned at;

	if (iter->record != NULL)
		iter_advance(iter);
	if (iter->depth == 0)
		return false;
	page = iter->path[iter->depth - 1].page;
	at = iter->path[iter->depth - 1].at;
	iter->ref = nsec3_page_refs(page)[at];
	iter->record = store_get(iter->view, iter->ref);
	iter->hash = nsec3_page_hash(page, at);
	if ((iter->record->flags & NSEC3_RRSET) != 0)
		iter->next_hash = NULL;
	else if ((iter->record->flags & NSEC3_OWN_NEXT) != 0)
		iter->next_hash = nsec3_record_own_next(iter->record);
	else
		iter->next_hash = iter_find_next_hash(iter);
	return true;
}

/* Index of the last entry that is not greater than the hash, or -1. */
static int
page_search(const struct nsec3_page *page, const uint8_t *hash)
{
	int low = 0, high = page->count;

	while (low < high) {
		int half = (low + high) / 2;

		if (memcmp(nsec3_page_hash(page, (unsigned)half), hash,
			    NSEC3_HASH_LEN) <= 0)
			low = half + 1;
		else
			high = half;
	}
	return low - 1;
}

/* The last hash below a page. */
static const uint8_t *
page_find_last(const struct store_view *view, store_ref ref)
{
	const struct nsec3_page *page = store_get(view, ref);

	while (page->height > 0)
		page = store_get(view, nsec3_page_refs(page)[page->count - 1]);
	return nsec3_page_hash(page, page->count - 1u);
}

void
nsec3_iter_init_after(struct nsec3_iter *iter, const struct store_view *view,
	const struct nsec3_chain *chain, const uint8_t *hash)
{
	store_ref ref = chain->index;
	const struct nsec3_page *page;
	int at;

	iter->view = view;
	iter->depth = 0;
	iter->root = ref;
	iter->record = NULL;
	do {
		page = store_get(view, ref);
		at = page_search(page, hash);
		ASSERT_HOT(iter->depth < NSEC3_HEIGHT_MAX);
		iter->path[iter->depth].page = page;
		iter->path[iter->depth].at = at < 0 ? 0 : (unsigned)at;
		ref = nsec3_page_refs(page)[at < 0 ? 0 : at];
		iter->depth++;
	} while (page->height > 0);
	if (at >= 0)
		iter_advance(iter);
}

void
nsec3_place_find(const struct store_view *view,
	const struct nsec3_chain *chain, const uint8_t *hash,
	struct nsec3_place *place)
{
	const struct nsec3_page *page = store_get(view, chain->index);
	store_ref before = STORE_NONE; /* page whose last hash comes before */
	int at;

	place->before = place->after = NULL;
	place->record = STORE_NONE;
	for (;; page = store_get(view, nsec3_page_refs(page)[at])) {
		at = page_search(page, hash);
		if (at + 1 < page->count)
			place->after = nsec3_page_hash(page,
				(unsigned)at + 1);
		if (page->height == 0)
			break;
		if (at > 0)
			before = nsec3_page_refs(page)[at - 1];
		if (at < 0)
			at = 0; /* the hash is before all others */
	}
	place->page = page;
	if (at >= 0 && memcmp(nsec3_page_hash(page, (unsigned)at), hash,
			       NSEC3_HASH_LEN) == 0)
		place->record = nsec3_page_refs(page)[at--];
	if (at >= 0)
		place->before = nsec3_page_hash(page, (unsigned)at);
	else if (before != STORE_NONE)
		place->before = page_find_last(view, before);
}

/* The recursion is as deep as the tree is high: NSEC3_HEIGHT_MAX at most. */
void
nsec3_visit_below(const struct store_view *view, store_ref ref,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx)
{
	const struct nsec3_page *page = store_get(view, ref);

	for (unsigned i = 0; page->height > 0 && i < page->count; i++)
		nsec3_visit_below(view, nsec3_page_refs(page)[i], on_page, ctx);
	on_page(ctx, ref, nsec3_page_size(page->count));
}

void
nsec3_visit_pages(const struct store_view *view,
	const struct nsec3_chain *chain,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx)
{
	nsec3_visit_below(view, chain->index, on_page, ctx);
}
