/* heap.c - gives and takes back objects. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "store/writer.h"

/* Spans that are searched in vain before one without objects is taken. */
#define TRIES_MAX 12u
#define TRIES_OWN_KIND 8u

/* What may come out of the first lane while that leads through a new span,
 * and leave what remains of it unused. */
#define FIRST_LANE_MAX 128u

#define POISON 0xdb

void
heap_init(struct store_heap *heap, struct store_writer *writer, bool fresh)
{
	memset(heap, 0, sizeof(*heap));
	for (unsigned i = 0; i < KIND_COUNT; i++)
		heap->lanes[i].span = SPAN_NONE;
	heap->base = writer->base;
	heap->fresh = fresh;
	heap->writer = writer;
}

/* ---- bins */

static bool
bin_add(struct store_heap *heap, uint32_t granule, uint32_t count)
{
	struct bin *bin = &heap->bins[count];

	if (bin->count == BIN_MAX)
		return false;
	bin->granules[bin->count++] = granule;
	return true;
}

static void
bins_flush(struct store_heap *heap)
{
	for (uint32_t count = 1; count <= KIND_SMALL_MAX; count++) {
		struct bin *bin = &heap->bins[count];

		while (bin->count > 0)
			span_free_granules(heap->writer,
				bin->granules[--bin->count], count);
	}
}

/* ---- lanes */

/* Gives back what is left of the hole. */
static void
lane_close_hole(struct store_heap *heap, struct lane *lane)
{
	struct store_writer *w = heap->writer;
	uint32_t count = lane->limit - lane->bump;

	if (count == 0)
		return;
	if (heap->fresh || count > KIND_SMALL_MAX
		|| !bin_add(heap, lane->bump, count)) {
		span_clear_bits(span_bitmap(w, lane->span),
			lane->bump - span_first_granule(w, lane->span), count);
		rcu_fetch_add(&w->spans[lane->span].free, count);
	}
	lane->bump = lane->limit;
}

/* Marks a hole of a lane's span as used. */
static void
lane_claim(struct store_writer *w, struct lane *lane, uint32_t hole,
	uint32_t count)
{
	span_set_bits(span_bitmap(w, lane->span), hole, count);
	rcu_fetch_sub(&w->spans[lane->span].free, count);
}

/* Takes the next hole of the span with room for count granules. Small ones on
 * the way there go to the bins. */
static bool
lane_open_hole(struct store_heap *heap, struct lane *lane, uint32_t count)
{
	struct store_writer *w = heap->writer;
	const uint64_t *bitmap = span_bitmap(w, lane->span);
	uint32_t first = span_first_granule(w, lane->span);
	uint32_t from = lane->limit - first;
	uint32_t hole, hole_count;
	bool bins = !heap->fresh && count <= KIND_SMALL_MAX;

	while (span_find_hole(bitmap, from, bins ? 1 : count, &hole,
		&hole_count)) {
		if (hole_count >= count) {
			lane_claim(w, lane, hole, hole_count);
			lane->bump = first + hole;
			lane->limit = lane->bump + hole_count;
			return true;
		}
		if (bin_add(heap, first + hole, hole_count))
			lane_claim(w, lane, hole, hole_count);
		from = hole + hole_count;
	}
	return false;
}

/* Gives the span back; the lock is held. */
static void
lane_close(struct store_heap *heap, struct lane *lane)
{
	if (lane->span == SPAN_NONE)
		return;
	lane_close_hole(heap, lane);
	span_release(heap->writer, lane->span);
	lane->span = SPAN_NONE;
	lane->bump = lane->limit = 0;
}

/* The span to look into after some were searched in vain; the lock is held. */
static uint32_t
heap_take_span(struct store_heap *heap, unsigned kind, unsigned tries,
	bool *whole)
{
	struct store_writer *w = heap->writer;
	uint32_t span;

	if (tries == TRIES_MAX)
		span = span_take(w, kind, 8, whole);
	else if (heap->fresh)
		/* A build wants neighbours together. */
		span = span_take(w, kind, 4, whole);
	else if (tries < TRIES_OWN_KIND)
		span = span_take(w, kind, 1, whole);
	else
		/* Large objects that a build put among small ones leave
		 * large holes there. */
		span = span_take(w, 0, 3, whole);
	if (*whole)
		w->spans[span].kind = (uint8_t)kind;
	return span;
}

/* Moves on to a hole with room: in this span, in others, in a new one. */
static bool
lane_refill(struct store_heap *heap, unsigned kind, uint32_t count)
{
	struct store_writer *w = heap->writer;
	struct lane *lane = &heap->lanes[kind];

	if (lane->span != SPAN_NONE) {
		lane_close_hole(heap, lane);
		if (lane_open_hole(heap, lane, count))
			return true;
	}
	for (unsigned tries = 0; tries <= TRIES_MAX; tries++) {
		pthread_mutex_lock(&w->lock);
		lane_close(heap, lane);
		lane->span = heap_take_span(heap, kind, tries, &lane->whole);
		pthread_mutex_unlock(&w->lock);
		if (lane->span == SPAN_NONE)
			return false;
		lane->bump = lane->limit = span_first_granule(w, lane->span);
		if (lane_open_hole(heap, lane, count))
			return true;
	}
	return false;
}

/* ---- heaps */

/* The lane that now has room for count granules, or NULL. */
static struct lane *
heap_refill(struct store_heap *heap, uint32_t count)
{
	unsigned kind = 0;
	struct lane *lane;

	if (!heap->lanes[0].whole || count > FIRST_LANE_MAX)
		while (count > KIND_SMALL_MAX << kind)
			kind++;
	lane = &heap->lanes[kind];
	if (count <= lane->limit - lane->bump)
		return lane;
	return lane_refill(heap, kind, count) ? lane : NULL;
}

void
heap_flush(struct store_heap *heap)
{
	struct store_writer *w = heap->writer;

	pthread_mutex_lock(&w->lock);
	for (unsigned i = 0; i < KIND_COUNT; i++)
		lane_close(heap, &heap->lanes[i]);
	pthread_mutex_unlock(&w->lock);
	bins_flush(heap);
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

			w->spans[i].kind = KIND_COUNT - 1;
			span_set_bits(span_bitmap(w, i), 0, n);
			rcu_fetch_sub(&w->spans[i].free, n);
			left -= n;
			span_release(w, i);
		}
	}
	pthread_mutex_unlock(&w->lock);
	return first != SPAN_NONE;
}

/* The first granule of a new object that the main lane has no room for, or
 * 0. */
static uint32_t
heap_alloc_slow(struct store_heap *heap, uint32_t count)
{
	struct lane *lane;
	uint32_t granule;

	if (count > KIND_LARGE_MAX)
		return heap_alloc_run(heap, count, &granule) ? granule : 0;
	if (count <= KIND_SMALL_MAX && heap->bins[count].count > 0)
		return heap->bins[count].granules[--heap->bins[count].count];
	lane = heap_refill(heap, count);
	if (lane == NULL)
		return 0;
	granule = lane->bump;
	lane->bump += count;
	return granule;
}

/* False if there is a hole of just the size, or a lane for such. */
static inline bool
heap_prefers_first(const struct store_heap *heap, size_t count)
{
	return heap->lanes[0].whole
		|| (count <= KIND_SMALL_MAX && heap->bins[count].count == 0);
}

void *
store_alloc(struct store_heap *heap, size_t len, store_ref *ref)
{
	size_t count = (len + STORE_GRANULE - 1) / STORE_GRANULE;
	uint32_t granule;

	if (count <= heap->lanes[0].limit - heap->lanes[0].bump
		&& heap_prefers_first(heap, count)) {
		granule = heap->lanes[0].bump;
		heap->lanes[0].bump += (uint32_t)count;
	} else if (len <= STORE_OBJECT_MAX) {
		granule = heap_alloc_slow(heap, (uint32_t)count);
		if (granule == 0)
			return NULL;
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
	return heap->base + (size_t)ref * STORE_GRANULE;
}

/* The newest object of a lane makes its hole larger again. */
static bool
lane_take_back(struct store_writer *w, struct lane *lane, uint32_t granule,
	uint32_t count)
{
	if (granule + count != lane->bump || lane->span == SPAN_NONE
		|| granule < span_first_granule(w, lane->span))
		return false;
	lane->bump = granule;
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

		span_free_granules(w, granule, n);
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
	rcu_store_relaxed(&heap->live, heap->live - left);
	if (w->store->poison)
		memset(store_edit(heap, ref), POISON,
			(size_t)left * STORE_GRANULE);
	for (unsigned i = 0; i < KIND_COUNT; i++)
		if (lane_take_back(w, &heap->lanes[i], ref, left))
			return;
	if (left <= KIND_SMALL_MAX && !heap->fresh && bin_add(heap, ref, left))
		return;
	heap_free_granules(w, ref, left);
}
