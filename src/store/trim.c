/* trim.c - decides which memory goes back to the kernel, and which becomes
 * huge pages. */
#include "config.h"

#include "base/assert.h"
#include "store/heap.h"
#include "store/holes.h"
#include "store/pages.h"
#include "store/span.h"
#include "store/trim.h"

/* An extent becomes a huge page if at most COLLAPSE_TO of its pages are unused,
 * a 64th. It is broken up if more than BREAK_FROM are, a 32th. */
#define COLLAPSE_TO (EXTENT_SPANS * SPAN_PAGES / 64)
#define BREAK_FROM (EXTENT_SPANS * SPAN_PAGES / 32)

/* Gives back all pages of spans without objects. Under the lock. */
static void
punch_spans(struct store_writer *w, uint32_t first, uint32_t count)
{
	if (!pages_give_back(w, first, 0, count * SPAN_PAGES))
		return;
	for (uint32_t i = first; i < first + count; i++) {
		if (w->spans[i].state == SPAN_FREE) {
			span_list_remove(w, i);
			span_list_add(w, i, SPAN_ABSENT);
		}
		w->spans[i].absent = 0;
	}
}

/* Gives back the pages between the objects of a span. Under the lock. */
static void
punch_pages(struct store_writer *w, uint32_t span)
{
	struct span *s = &w->spans[span];
	uint32_t unused = pages_unused(span_bitmap(w, span));

	if (!s->guessed)
		unused &= ~(uint32_t)s->absent;
	while (unused != 0) {
		uint32_t first = (uint32_t)__builtin_ctz(unused);
		uint32_t count = (uint32_t)__builtin_ctz(~(unused >> first));
		uint32_t pages = ((1u << count) - 1) << first;

		if (!pages_give_back(w, span, first, count))
			return;
		s->absent = (uint16_t)(s->absent | pages);
		unused &= ~pages;
	}
	s->guessed = false;
}

/* Makes an extent one huge page, if the kernel agrees. */
static void
collapse_used(struct store_writer *w, uint32_t first)
{
	if (!pages_collapse(w, first))
		return;
	for (uint32_t i = first; i < first + EXTENT_SPANS; i++) {
		if (w->spans[i].state == SPAN_ABSENT) {
			span_list_remove(w, i);
			span_list_add(w, i, SPAN_FREE);
		}
		w->spans[i].huge = true;
		w->spans[i].absent = 0;
		w->spans[i].guessed = false;
	}
}

/* Gives back all that is unused of spans of one extent. */
static void
punch_unused(struct store_writer *w, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		w->spans[i].huge = false;
	for (uint32_t i = first; i < end; i++) {
		uint32_t count = 0;

		while (i + count < end
			&& w->spans[i + count].state <= SPAN_FREE)
			count++;
		if (count > 0) {
			punch_spans(w, i, count);
			i += count - 1;
		} else {
			punch_pages(w, i);
		}
	}
}

/* Counts the pages of an extent that no object lies in. */
static uint32_t
extent_unused(struct store_writer *w, uint32_t first, uint32_t end)
{
	uint32_t unused = 0;

	for (uint32_t i = first; i < end; i++)
		unused += w->spans[i].state <= SPAN_FREE
			? SPAN_PAGES
			: (uint32_t)__builtin_popcount(
				pages_unused(span_bitmap(w, i)));
	return unused;
}

static void
trim_extent(struct store_writer *w, uint32_t first, uint32_t end)
{
	uint32_t unused = extent_unused(w, first, end);

	if (w->spans[first].huge && unused <= BREAK_FROM)
		return;
	if (unused <= COLLAPSE_TO && end - first == EXTENT_SPANS
		&& w->store->huge_pages && !w->no_collapse) {
		collapse_used(w, first);
		if (w->spans[first].huge)
			return;
	}
	punch_unused(w, first, end);
}

bool
store_trim_step(struct store_writer *writer, uint32_t *at)
{
	uint32_t end = writer->header->span_count, next = *at + EXTENT_SPANS;

	assert(*at % EXTENT_SPANS == 0);
	if (*at == 0)
		heap_flush(&writer->heap);
	pthread_mutex_lock(&writer->lock);
	if (*at < end)
		trim_extent(writer, *at, next < end ? next : end);
	if (next >= end)
		holes_trim(writer);
	pthread_mutex_unlock(&writer->lock);
	*at = next;
	return next < end;
}

void
store_trim(struct store_writer *writer)
{
	uint32_t at = 0;

	while (store_trim_step(writer, &at))
		;
}

/* Counts the free spans to keep for growth: those that the store grows by in
 * two steps, and a 32nd of it. */
static uint32_t
free_kept(const struct store_writer *w)
{
	uint32_t count = w->header->span_count;

	return (count < GROW_MEDIUM / SPAN_SIZE ? 2 * GROW_MEDIUM_SPANS
						: 2 * EXTENT_SPANS)
		+ count / 32;
}

void
trim_free_spans(struct store_writer *w)
{
	const struct span_list *list = &w->lists[SPAN_FREE];
	uint32_t span, first, end;

	pthread_mutex_lock(&w->lock);
	holes_choose_draining(w);
	if (list->count > free_kept(w)) {
		/* The span that has been free for longest. */
		span = list->last;
		assert(span != SPAN_NONE);
		first = span - span % EXTENT_SPANS;
		end = w->header->span_count - first < EXTENT_SPANS
			? w->header->span_count
			: first + EXTENT_SPANS;
		if (!w->spans[first].huge
			|| extent_unused(w, first, end) > BREAK_FROM)
			punch_unused(w, first, end);
		if (w->spans[span].state == SPAN_FREE) {
			/* Pages were left: to the end of the list. */
			span_list_remove(w, span);
			span_list_add(w, span, SPAN_FREE);
		}
	}
	pthread_mutex_unlock(&w->lock);
}
