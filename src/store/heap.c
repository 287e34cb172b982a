/* heap.c - gives and takes back objects. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "store/writer.h"

/* Larger objects get spans of their own. */
#define HEAP_SMALL_MAX (SPAN_GRANULES / 4)
/* Spans with objects that are searched for one request before a free one is
 * taken. */
#define HEAP_TRIES 3

#define POISON 0xdb

void
heap_init(struct store_heap *heap, struct store_writer *writer, bool fresh)
{
	*heap = (struct store_heap){
		.base = writer->base,
		.span = SPAN_NONE,
		.fresh = fresh,
		.writer = writer,
	};
}

/* Gives back what is left of the hole. */
static void
heap_close_hole(struct store_heap *heap)
{
	struct store_writer *w = heap->writer;
	uint32_t count = heap->limit - heap->bump;

	if (count > 0) {
		span_clear_bits(span_bitmap(w, heap->span),
			heap->bump - span_first_granule(w, heap->span), count);
		rcu_fetch_add(&w->spans[heap->span].free, count);
	}
	heap->bump = heap->limit = 0;
}

/* Takes the next hole of the span with room for count granules. */
static bool
heap_open_hole(struct store_heap *heap, uint32_t from, uint32_t count)
{
	struct store_writer *w = heap->writer;
	uint64_t *bitmap = span_bitmap(w, heap->span);
	uint32_t hole, hole_count;

	if (!span_find_hole(bitmap, from, count, &hole, &hole_count))
		return false;
	span_set_bits(bitmap, hole, hole_count);
	rcu_fetch_sub(&w->spans[heap->span].free, hole_count);
	heap->bump = span_first_granule(w, heap->span) + hole;
	heap->limit = heap->bump + hole_count;
	return true;
}

/* Gives the span back; the lock is held. */
static void
heap_close_span(struct store_heap *heap)
{
	if (heap->span == SPAN_NONE)
		return;
	heap_close_hole(heap);
	span_release(heap->writer, heap->span);
	heap->span = SPAN_NONE;
}

void
heap_fini(struct store_heap *heap)
{
	struct store_writer *w = heap->writer;

	pthread_mutex_lock(&w->lock);
	heap_close_span(heap);
	pthread_mutex_unlock(&w->lock);
}

struct store_heap *
store_writer_heap(struct store_writer *writer)
{
	return &writer->heap;
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
	heap_fini(heap);
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

/* Moves on to a hole with room: in this span, in others, in a new one. */
static bool
heap_refill(struct store_heap *heap, uint32_t count)
{
	struct store_writer *w = heap->writer;

	if (heap->span != SPAN_NONE) {
		uint32_t from = heap->limit
			- span_first_granule(w, heap->span);

		if (heap->limit == 0)
			from = 0;
		heap_close_hole(heap);
		if (heap_open_hole(heap, from, count))
			return true;
	}
	for (int tries = 0; tries <= HEAP_TRIES; tries++) {
		pthread_mutex_lock(&w->lock);
		heap_close_span(heap);
		heap->span = span_take(w, heap->fresh, tries < HEAP_TRIES);
		pthread_mutex_unlock(&w->lock);
		if (heap->span == SPAN_NONE)
			return false;
		if (heap_open_hole(heap, 0, count))
			return true;
	}
	return false;
}

/* An object in spans of its own; what it leaves of the last is free. */
static bool
heap_alloc_run(struct store_heap *heap, uint32_t count, uint32_t *granule)
{
	struct store_writer *w = heap->writer;
	uint32_t spans = (count + SPAN_GRANULES - 1) / SPAN_GRANULES;
	uint32_t first;

	pthread_mutex_lock(&w->lock);
	first = span_take_run(w, spans);
	if (first != SPAN_NONE) {
		uint32_t left = count;

		*granule = span_first_granule(w, first);
		for (uint32_t i = first; i < first + spans; i++) {
			uint32_t n = left < SPAN_GRANULES ? left
							  : SPAN_GRANULES;

			span_set_bits(span_bitmap(w, i), 0, n);
			rcu_fetch_sub(&w->spans[i].free, n);
			left -= n;
			span_release(w, i);
		}
	}
	pthread_mutex_unlock(&w->lock);
	return first != SPAN_NONE;
}

void *
store_alloc(struct store_heap *heap, size_t len, store_ref *ref)
{
	uint32_t count = store_granules(len);
	uint32_t granule;

	if (count > heap->limit - heap->bump) {
		if (len > STORE_OBJECT_MAX)
			return NULL;
		if (count > HEAP_SMALL_MAX) {
			if (!heap_alloc_run(heap, count, &granule))
				return NULL;
			goto found;
		}
		if (!heap_refill(heap, count))
			return NULL;
	}
	granule = heap->bump;
	heap->bump += count;
found:
	rcu_store_relaxed(&heap->live, heap->live + count);
	*ref = granule;
	return heap->base + (size_t)granule * STORE_GRANULE;
}

void *
store_edit(struct store_heap *heap, store_ref ref)
{
	return heap->base + (size_t)ref * STORE_GRANULE;
}

void
store_free(struct store_heap *heap, store_ref ref, size_t len)
{
	struct store_writer *w = heap->writer;
	uint32_t left = store_granules(len);

	if (ref == STORE_NONE)
		return;
	rcu_store_relaxed(&heap->live, heap->live - left);
	if (w->store->poison)
		memset(store_edit(heap, ref), POISON,
			(size_t)left * STORE_GRANULE);
	/* The newest object of this heap: the hole grows again. */
	if (ref + left == heap->bump && heap->span != SPAN_NONE
		&& ref >= span_first_granule(w, heap->span)) {
		heap->bump = ref;
		return;
	}
	while (left > 0) {
		uint32_t span = span_of_granule(w, ref);
		uint32_t room = span_first_granule(w, span) + SPAN_GRANULES
			- ref;
		uint32_t n = left < room ? left : room;

		span_free_granules(w, ref, n);
		ref += n;
		left -= n;
	}
}
