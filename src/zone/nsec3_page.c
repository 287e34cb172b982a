/* nsec3_page.c - the pages and records of a chain: made in order, walked in
 * order. */
#include <stdlib.h>

#include "store/writer.h"
#include "zone/nsec3_page.h"
#include "zone/objects.h"

/* ---- records ----------------------------------------------------------- */

size_t
nsec3_form_size(const struct nsec3_form *form)
{
	return sizeof(*form) + form->head_len + form->bitmap_len;
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
	const struct nsec3_form *form = store_get(view, record->form);
	uint8_t *at = out;

	memcpy(at, form->data, form->head_len);
	at += form->head_len;
	memcpy(at, next_hash, NSEC3_HASH_LEN);
	at += NSEC3_HASH_LEN;
	memcpy(at, form->data + form->head_len, form->bitmap_len);
	return (size_t)(at - out) + form->bitmap_len;
}

/* ---- walking ----------------------------------------------------------- */

/* Goes down to the first record below a page. */
static void
iter_descend(struct nsec3_iter *iter, store_ref ref)
{
	for (;;) {
		const struct nsec3_page *page = store_get(iter->view, ref);

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

/* The hash behind the entry at hand, the first one behind the last. */
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

/* Index of the last entry that is not behind the hash, or -1. */
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
	store_ref before = STORE_NONE; /* page that ends with the one before */
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
			at = 0; /* before all others */
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

/* Depth goes with the height of the tree: NSEC3_HEIGHT_MAX at most. */
static void
visit_below(const struct store_view *view, store_ref ref,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx)
{
	const struct nsec3_page *page = store_get(view, ref);

	for (unsigned i = 0; page->height > 0 && i < page->count; i++)
		visit_below(view, nsec3_page_refs(page)[i], on_page, ctx);
	on_page(ctx, ref, nsec3_page_size(page->count));
}

void
nsec3_visit_pages(const struct store_view *view,
	const struct nsec3_chain *chain,
	void (*on_page)(void *ctx, store_ref ref, size_t len), void *ctx)
{
	visit_below(view, chain->index, on_page, ctx);
}

/* ---- building ---------------------------------------------------------- */

static void
free_page(void *ctx, store_ref ref, size_t len)
{
	store_free(ctx, ref, len);
}

enum nsd_err
nsec3_page_make(struct store_heap *heap, const struct nsec3_entry *entries,
	unsigned count, unsigned height, store_ref *ref)
{
	const struct store_view *view = store_heap_view(heap);
	struct nsec3_page *page = store_alloc(heap, nsec3_page_size(count),
		ref);
	store_ref *refs;

	if (page == NULL)
		return NSD_E_MEMORY;
	page->count = (uint16_t)count;
	page->height = (uint8_t)height;
	page->unused = 0;
	page->odd = 0;
	refs = (store_ref *)(page->hashes + count * NSEC3_HASH_LEN);
	for (unsigned i = 0; height == 0 && i < count; i++)
		store_prefetch(view, entries[i].record);
	for (unsigned i = 0; i < count; i++) {
		const struct nsec3_record *record;

		memcpy(page->hashes + i * NSEC3_HASH_LEN, entries[i].hash,
			NSEC3_HASH_LEN);
		refs[i] = entries[i].record;
		if (height > 0)
			continue;
		record = store_get(view, entries[i].record);
		if (record->flags != 0)
			page->odd |= 1u << i;
	}
	return NSD_OK;
}

/* One level of pages over entries; their entries go to out, how many there
 * are to *made, also on failure. */
static enum nsd_err
level_build(struct store_heap *heap, const struct nsec3_entry *entries,
	size_t count, unsigned height, struct nsec3_entry *out, size_t *made)
{
	size_t fill = height == 0 ? NSEC3_LEAF_FILL : NSEC3_INNER_FILL;
	size_t pages = (count + fill - 1) / fill;

	for (*made = 0; *made < pages; ++*made) {
		size_t start = count * *made / pages;
		size_t end = count * (*made + 1) / pages;
		struct nsec3_entry *e = &out[*made];

		/* out may be the room of entries that are done. */
		uint8_t hash[NSEC3_HASH_LEN];
		store_ref ref;

		memcpy(hash, entries[start].hash, sizeof(hash));
		if (nsec3_page_make(heap, entries + start, (unsigned)(end - start),
			    height, &ref) != NSD_OK)
			return NSD_E_MEMORY;
		memcpy(e->hash, hash, sizeof(hash));
		e->record = ref;
	}
	return NSD_OK;
}

/* Frees what stands below and at count entries of a level. */
static void
level_free(struct store_heap *heap, const struct nsec3_entry *entries,
	size_t count)
{
	for (size_t i = 0; i < count; i++)
		visit_below(store_heap_view(heap), entries[i].record, free_page,
			heap);
}

enum nsd_err
nsec3_pages_build(struct store_heap *heap, const struct nsec3_entry *entries,
	size_t count, store_ref *root)
{
	size_t room = (count + NSEC3_LEAF_FILL - 1) / NSEC3_LEAF_FILL;
	struct nsec3_entry *level = malloc(room * sizeof(*level));
	size_t made, below;

	if (level == NULL)
		return NSD_E_MEMORY;
	if (level_build(heap, entries, count, 0, level, &made) != NSD_OK)
		goto failed;
	for (unsigned height = 1; made > 1; height++) {
		size_t pages = (made + NSEC3_INNER_FILL - 1)
			/ NSEC3_INNER_FILL;

		below = made;
		if (level_build(heap, level, below, height, level, &made)
			== NSD_OK)
			continue;
		/* What has no page above it yet. */
		level_free(heap, level + below * made / pages,
			below - below * made / pages);
		goto failed;
	}
	*root = level[0].record;
	free(level);
	return NSD_OK;
failed:
	level_free(heap, level, made);
	free(level);
	return NSD_E_MEMORY;
}
