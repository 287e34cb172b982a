/* nsec3_pages.c - makes the pages of a chain from records in order. */
#include <assert.h>
#include <stdlib.h>

#include "store/writer.h"
#include "zonedb/nsec3_pages.h"

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

	assert(count >= 1 && height < NSEC3_HEIGHT_MAX
		&& count <= (height == 0 ? NSEC3_LEAF_MAX
				: NSEC3_INNER_MAX));
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

/* Makes one level of pages over entries. out gets an entry for each page, *made
 * their count, also on failure. */
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

		/* out may overwrite entries that are done, so copy the hash
		 * first. */
		uint8_t hash[NSEC3_HASH_LEN];
		store_ref ref;

		memcpy(hash, entries[start].hash, sizeof(hash));
		if (nsec3_page_make(heap, entries + start,
			    (unsigned)(end - start), height, &ref) != NSD_OK)
			return NSD_E_MEMORY;
		memcpy(e->hash, hash, sizeof(hash));
		e->record = ref;
	}
	return NSD_OK;
}

/* Frees the pages of count entries of a level, and all pages below them. */
static void
level_free(struct store_heap *heap, const struct nsec3_entry *entries,
	size_t count)
{
	for (size_t i = 0; i < count; i++)
		nsec3_visit_below(store_heap_view(heap), entries[i].record,
			free_page, heap);
}

enum nsd_err
nsec3_pages_build(struct store_heap *heap, const struct nsec3_entry *entries,
	size_t count, store_ref *root)
{
	size_t room = (count + NSEC3_LEAF_FILL - 1) / NSEC3_LEAF_FILL;
	struct nsec3_entry *level = malloc(room * sizeof(*level));
	size_t made, below;

	assert(count >= 1);
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
		/* Free the pages below that have no page above them yet. */
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
