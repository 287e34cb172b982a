/* heap.c - allocates objects and frees them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "store/heap.h"
#include "store/holes.h"
#include "store/span.h"

/* A fresh heap takes no hole smaller than this, in granules. */
#define FRESH_MIN 1024u

/* From this many spans on, long-lived objects get spans of their own. */
#define LASTING_FROM 8u

#define POISON 0xdb

void
heap_init(struct store_heap *heap, struct store_writer *writer, bool fresh)
{
	memset(heap, 0, sizeof(*heap));
	heap->base = writer->base;
	heap->fresh = fresh;
	heap->writer = writer;
}

/* Gives back what is left of a hole. Under the lock. */
static void
heap_give(struct store_heap *heap, uint32_t bump, uint32_t limit)
{
	assert(bump <= limit);
	if (bump < limit)
		holes_give(heap->writer, bump, limit - bump);
}

/* As heap_find_room, in the spans for long-lived objects. */
static uint32_t
find_long_lived(struct store_writer *w, uint32_t count, uint32_t *granule)
{
	uint32_t found = holes_take(w, HOLES_LONG_LIVED, count, granule);

	if (found != 0)
		return found;
	*granule = span_take(w);
	if (*granule == 0)
		return 0;
	w->spans[span_of_granule(w, *granule)].of = HOLES_LONG_LIVED;
	return SPAN_GRANULES;
}

/* Claims a hole, or else a span without objects, that has room for count
 * granules. Returns its size in granules, or 0. Under the lock. */
static uint32_t
heap_find_room(struct store_heap *heap, uint32_t count, uint32_t *granule)
{
	struct store_writer *w = heap->writer;
	uint32_t found;

	if (heap == &w->long_lived)
		return find_long_lived(w, count, granule);
	found = holes_take(w, HOLES_OPEN,
		heap->fresh && count < FRESH_MIN ? FRESH_MIN : count, granule);
	if (found == 0 && !heap->fresh)
		found = holes_take(w, HOLES_DRAINING, count, granule);
	if (found != 0)
		return found;
	*granule = span_take(w);
	if (*granule != 0)
		return SPAN_GRANULES;
	/* The store is full but for holes. */
	found = holes_take(w, HOLES_OPEN, count, granule);
	return found != 0 ? found
			  : holes_take(w, HOLES_DRAINING, count, granule);
}

/* Takes count granules from a new hole, as the heap's own has no room. Of the
 * two rests the heap keeps the larger one. Returns the first granule, or 0. */
static uint32_t
heap_alloc_hole(struct store_heap *heap, uint32_t count)
{
	struct store_writer *w = heap->writer;
	uint32_t granule = 0, found;

	writer_heartbeat(w);
	pthread_mutex_lock(&w->lock);
	found = heap_find_room(heap, count, &granule);
	assert(found == 0 || found >= count);
	if (found != 0 && heap != &w->long_lived
		&& found - count > heap->limit - heap->bump) {
		heap_give(heap, heap->bump, heap->limit);
		heap->bump = granule + count;
		heap->limit = granule + found;
	} else if (found != 0) {
		heap_give(heap, granule + count, granule + found);
	}
	pthread_mutex_unlock(&w->lock);
	return found != 0 ? granule : 0;
}

bool
heap_has(struct store_writer *w, store_ref ref)
{
	uint32_t first = span_first_granule(w, 0);
	uint32_t at = ref - first;

	/* Relaxed loads: other threads may be allocating. */
	return ref >= first
		&& at / SPAN_GRANULES
			< rcu_load_relaxed(&w->header->span_count)
		&& (rcu_load_relaxed(&span_bitmap(w, 0)[at / 64]) >> (at % 64)
			   & 1)
		!= 0;
}

bool
heap_is_alone(const struct store_writer *w)
{
	return w->heaps.next == &w->long_lived.entry
		&& w->long_lived.entry.next == &w->heap.entry
		&& w->heap.entry.next == &w->heaps;
}

void
heap_flush(struct store_heap *heap)
{
	struct store_writer *w = heap->writer;

	pthread_mutex_lock(&w->lock);
	heap_give(heap, heap->bump, heap->limit);
	heap->bump = heap->limit = 0;
	pthread_mutex_unlock(&w->lock);
}

struct store_heap *
store_writer_heap(struct store_writer *writer)
{
	return &writer->heap;
}

struct store_heap *
store_writer_long_lived(struct store_writer *writer)
{
	/* A small store has no spans to spare. */
	return writer->header->span_count < LASTING_FROM ? &writer->heap
							 : &writer->long_lived;
}

enum nsd_err
store_heap_create(struct store_writer *writer, struct store_heap **heap)
{
	struct store_heap *h = malloc(sizeof(*h));

	if (h == NULL)
		return NSD_E_MEMORY;
	heap_init(h, writer, true);
	pthread_mutex_lock(&writer->lock);
	cds_list_add(&h->entry, &writer->heaps);
	pthread_mutex_unlock(&writer->lock);
	*heap = h;
	return NSD_OK;
}

void
store_heap_destroy(struct store_heap *heap)
{
	struct store_writer *w;

	if (heap == NULL)
		return;
	w = heap->writer;
	assert(heap != &w->heap && heap != &w->long_lived);
	heap_flush(heap);
	pthread_mutex_lock(&w->lock);
	w->live += heap->live;
	cds_list_del(&heap->entry);
	pthread_mutex_unlock(&w->lock);
	free(heap);
}

const struct store_view *
store_heap_view(const struct store_heap *heap)
{
	return &heap->writer->view;
}

int64_t
heap_count_live(struct store_writer *writer)
{
	const struct store_heap *heap;
	int64_t live;

	pthread_mutex_lock(&writer->lock);
	live = writer->live;
	cds_list_for_each_entry(heap, &writer->heaps, entry)
		live += rcu_load_relaxed(&heap->live);
	pthread_mutex_unlock(&writer->lock);
	return live;
}

/* Takes spans in a row for a large object; the rest of the last span becomes a
 * hole. Returns the first granule, or 0. */
static uint32_t
heap_alloc_spans(struct store_writer *w, uint32_t count)
{
	uint32_t spans = (count + SPAN_GRANULES - 1) / SPAN_GRANULES;
	uint32_t rest = spans * SPAN_GRANULES - count;
	uint32_t granule;

	pthread_mutex_lock(&w->lock);
	granule = span_take_run(w, spans);
	if (granule != 0 && rest > 0)
		holes_give(w, granule + count, rest);
	pthread_mutex_unlock(&w->lock);
	return granule;
}

/* The slow path of store_alloc: the heap's own hole is too small, or there may
 * be a hole that fits exactly. Returns the first granule, or 0. */
static uint32_t
heap_alloc_slow(struct store_heap *heap, uint32_t count)
{
	struct store_writer *w = heap->writer;
	uint32_t granule = 0;

	if (count < SPAN_GRANULES) {
		if (!heap->fresh && holes_have(w, count)) {
			pthread_mutex_lock(&w->lock);
			granule = holes_take_exact(w, count);
			pthread_mutex_unlock(&w->lock);
		}
		if (granule == 0 && count <= heap->limit - heap->bump) {
			granule = heap->bump;
			heap->bump += count;
		}
		return granule != 0 ? granule : heap_alloc_hole(heap, count);
	}
	return heap_alloc_spans(w, count);
}

void *
store_alloc(struct store_heap *heap, size_t len, store_ref *ref)
{
	size_t count = (len + STORE_GRANULE - 1) / STORE_GRANULE;
	uint32_t granule;

	ASSERT_HOT(len > 0 && heap->bump <= heap->limit);
	if (count <= heap->limit - heap->bump
		&& (heap->fresh || !holes_have(heap->writer, count))) {
		granule = heap->bump;
		heap->bump += (uint32_t)count;
	} else if (len <= STORE_OBJECT_MAX) {
		granule = heap_alloc_slow(heap, (uint32_t)count);
		if (granule == 0) {
			__atomic_fetch_add(&heap->writer->lacks, 1,
				__ATOMIC_RELAXED);
			return NULL;
		}
	} else {
		return NULL;
	}
	rcu_store_relaxed(&heap->live, heap->live + (int64_t)count);
	*ref = granule;
	return heap->base + (size_t)granule * STORE_GRANULE;
}

void *
store_edit(struct store_heap *heap, store_ref ref)
{
	ASSERT_HOT(heap_has(heap->writer, ref));
	return heap->base + (size_t)ref * STORE_GRANULE;
}

/* Frees the heap's newest object: its hole becomes larger again. False: it is
 * not the newest, or in another span than the hole. */
static bool
heap_take_back(struct store_heap *heap, uint32_t granule, uint32_t count)
{
	struct store_writer *w = heap->writer;

	if (granule + count != heap->bump
		|| granule < span_first_granule(w,
			   span_of_granule(w, heap->limit - 1)))
		return false;
	heap->bump = granule;
	return true;
}

void
heap_free_granules(struct store_writer *w, uint32_t granule, uint32_t count)
{
	while (count > 0) {
		uint32_t span = span_of_granule(w, granule);
		uint32_t room = span_first_granule(w, span) + SPAN_GRANULES
			- granule;
		uint32_t n = count < room ? count : room;

		pthread_mutex_lock(&w->lock);
		holes_give(w, granule, n);
		pthread_mutex_unlock(&w->lock);
		granule += n;
		count -= n;
	}
}

void
store_free(struct store_heap *heap, store_ref ref, size_t len)
{
	struct store_writer *w = heap->writer;
	uint32_t left = store_granules(len);

	if (ref == STORE_NONE)
		return;
	ASSERT_HOT(len > 0 && len <= STORE_OBJECT_MAX);
	rcu_store_relaxed(&heap->live, heap->live - left);
	if (w->store->poison)
		memset(store_edit(heap, ref), POISON,
			(size_t)left * STORE_GRANULE);
	if (!heap_take_back(heap, ref, left))
		heap_free_granules(w, ref, left);
}
