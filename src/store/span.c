/* span.c - which granules of the store are used, span by span. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/writer.h"

/* Up to here the store grows by single spans, then by more at a time. */
#define GROW_SMALL (1u << 20)
#define GROW_MEDIUM (16u << 20)
#define GROW_MEDIUM_SPANS 4u

#define SPAN_EIGHTH (SPAN_GRANULES / 8)

/* ---- bitmaps */

static inline uint64_t
word_mask(uint32_t from, uint32_t count)
{
	return (count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1)
		<< from;
}

void
span_set_bits(uint64_t *bitmap, uint32_t from, uint32_t count)
{
	while (count > 0) {
		uint32_t bit = from % 64;
		uint32_t n = 64 - bit < count ? 64 - bit : count;

		rcu_fetch_or(&bitmap[from / 64], word_mask(bit, n));
		from += n;
		count -= n;
	}
}

void
span_clear_bits(uint64_t *bitmap, uint32_t from, uint32_t count)
{
	while (count > 0) {
		uint32_t bit = from % 64;
		uint32_t n = 64 - bit < count ? 64 - bit : count;

		rcu_fetch_and(&bitmap[from / 64], ~word_mask(bit, n));
		from += n;
		count -= n;
	}
}

/* The first granule at or behind `from` whose bit is `used`; the end of the
 * span if none. */
static uint32_t
bitmap_find(const uint64_t *bitmap, uint32_t from, bool used)
{
	uint64_t flip = used ? 0 : ~UINT64_C(0);
	uint32_t i = from / 64;
	uint64_t word;

	if (from >= SPAN_GRANULES)
		return SPAN_GRANULES;
	word = (rcu_load_acquire(&bitmap[i]) ^ flip) & ~UINT64_C(0)
			<< (from % 64);
	while (word == 0) {
		if (++i == SPAN_WORDS)
			return SPAN_GRANULES;
		word = rcu_load_acquire(&bitmap[i]) ^ flip;
	}
	return i * 64 + (uint32_t)__builtin_ctzll(word);
}

bool
span_find_hole(const uint64_t *bitmap, uint32_t from, uint32_t count,
	uint32_t *hole, uint32_t *hole_count)
{
	for (;;) {
		uint32_t start = bitmap_find(bitmap, from, false);
		uint32_t end;

		if (start + count > SPAN_GRANULES)
			return false;
		end = bitmap_find(bitmap, start, true);
		if (end - start >= count) {
			*hole = start;
			*hole_count = end - start;
			return true;
		}
		from = end;
	}
}

/* ---- lists */

void
span_list_add(struct store_writer *writer, uint32_t span,
	enum span_state state)
{
	struct span *s = &writer->spans[span];
	struct span_list *list;

	s->state = (uint8_t)state;
	if (state >= SPAN_LISTS)
		return;
	list = &writer->lists[state];
	if (state >= SPAN_PARTIAL) {
		/* Behind those that have not been searched for longer. */
		s->next = SPAN_NONE;
		s->prev = list->last;
	} else {
		s->next = list->first;
		s->prev = SPAN_NONE;
	}
	if (s->next != SPAN_NONE)
		writer->spans[s->next].prev = span;
	else
		list->last = span;
	if (s->prev != SPAN_NONE)
		writer->spans[s->prev].next = span;
	else
		list->first = span;
}

void
span_list_remove(struct store_writer *writer, uint32_t span)
{
	struct span *s = &writer->spans[span];
	struct span_list *list;

	if (s->state >= SPAN_LISTS)
		return;
	list = &writer->lists[s->state];
	if (s->next != SPAN_NONE)
		writer->spans[s->next].prev = s->prev;
	else
		list->last = s->prev;
	if (s->prev != SPAN_NONE)
		writer->spans[s->prev].next = s->next;
	else
		list->first = s->next;
}

static enum span_state
state_for(const struct span *span, uint32_t granules_free)
{
	uint32_t eighths = granules_free / SPAN_EIGHTH;

	if (eighths == 8)
		return SPAN_FREE;
	if (eighths == 0)
		return SPAN_FULL;
	return SPAN_PARTIAL + 7 * span->kind + eighths - 1;
}

void
span_release(struct store_writer *writer, uint32_t span)
{
	const struct span *s = &writer->spans[span];

	span_list_add(writer, span, state_for(s, rcu_load_acquire(&s->free)));
}

void
span_free_granules(struct store_writer *writer, uint32_t granule,
	uint32_t count)
{
	uint32_t span = span_of_granule(writer, granule);
	struct span *s = &writer->spans[span];
	uint32_t before;

	span_clear_bits(span_bitmap(writer, span),
		granule - span_first_granule(writer, span), count);
	before = rcu_fetch_add(&s->free, count);
	if (before / SPAN_EIGHTH == (before + count) / SPAN_EIGHTH)
		return;
	pthread_mutex_lock(&writer->lock);
	if (s->state != SPAN_OWNED) {
		span_list_remove(writer, span);
		span_release(writer, span);
	}
	pthread_mutex_unlock(&writer->lock);
}

/* ---- growing */

bool
span_make_pages(struct store_writer *writer, uint32_t span, uint32_t count)
{
	struct store_header *h = writer->header;
	off_t at = (off_t)(h->data_at + (uint64_t)span * SPAN_SIZE);

	return fallocate(writer->store->fd, 0, at, (off_t)count * SPAN_SIZE)
		== 0;
}

/* Pages for the bitmaps of new spans. */
static bool
make_bitmap_pages(struct store_writer *writer, uint32_t span, uint32_t count)
{
	size_t len = (size_t)count * SPAN_BITMAP;

	if (fallocate(writer->store->fd, 0,
		    STORE_PAGE + (off_t)span * SPAN_BITMAP, (off_t)len)
		!= 0)
		return false;
	/* In a file anything may stand behind what was in use. */
	if (writer->store->named)
		memset(span_bitmap(writer, span), 0, len);
	return true;
}

/* Pages for a whole new extent, as one huge page. */
static bool
make_huge_extent(struct store_writer *writer, uint32_t span)
{
	uint64_t at = writer->header->data_at + (uint64_t)span * SPAN_SIZE;

	if (!writer->store->huge_pages || writer->no_collapse)
		return false;
	if (ftruncate(writer->store->fd, (off_t)(at + STORE_EXTENT)) != 0)
		return false;
	return collapse_extent(writer, writer->base + at);
}

/* Adds count spans behind the last one, with their pages, on no list. */
static bool
grow_by(struct store_writer *writer, uint32_t count)
{
	uint32_t first = writer->header->span_count;
	bool huge = false;

	if (count > writer->span_max - first)
		return false;
	if (!make_bitmap_pages(writer, first, count))
		return false;
	if (count == EXTENT_SPANS && first % EXTENT_SPANS == 0)
		huge = make_huge_extent(writer, first);
	if (!huge && !span_make_pages(writer, first, count))
		return false;
	for (uint32_t i = first; i < first + count; i++) {
		writer->spans[i].free = SPAN_GRANULES;
		writer->spans[i].state = SPAN_FULL;
		writer->spans[i].huge = huge;
	}
	rcu_store_release(&writer->header->span_count, first + count);
	return true;
}

/* Adds spans to the list of free ones. */
static bool
grow(struct store_writer *writer)
{
	uint32_t first = writer->header->span_count;
	uint64_t size = (uint64_t)first * SPAN_SIZE;
	uint32_t count = 1;

	if (size >= GROW_MEDIUM)
		count = EXTENT_SPANS - first % EXTENT_SPANS;
	else if (size >= GROW_SMALL)
		count = GROW_MEDIUM_SPANS - first % GROW_MEDIUM_SPANS;
	if (!grow_by(writer, count)) {
		count = 1;
		if (!grow_by(writer, count))
			return false;
	}
	/* The lowest comes off the list first. */
	for (uint32_t i = first + count; i-- > first;)
		span_list_add(writer, i, SPAN_FREE);
	return true;
}

/* ---- taking */

static uint32_t
take_from(struct store_writer *writer, enum span_state state)
{
	uint32_t span = writer->lists[state].first;

	if (span == SPAN_NONE)
		return SPAN_NONE;
	span_list_remove(writer, span);
	writer->spans[span].state = SPAN_OWNED;
	return span;
}

/*
 * For small objects the fullest, where a hole that fits is likely enough, so
 * that the others may become free as a whole. For larger ones the emptiest.
 */
static uint32_t
take_partial(struct store_writer *writer, unsigned kind, unsigned eighths)
{
	for (unsigned i = eighths; i <= 7; i++) {
		unsigned e = kind == 0 ? i : 7 + eighths - i;
		uint32_t span = take_from(writer,
			SPAN_PARTIAL + 7 * kind + e - 1);

		if (span != SPAN_NONE)
			return span;
	}
	return SPAN_NONE;
}

/* A span without objects, for objects that are yet to be published. */
static uint32_t
take_free(struct store_writer *writer)
{
	uint32_t span = take_from(writer, SPAN_FREE);

	if (span == SPAN_NONE) {
		span = writer->lists[SPAN_ABSENT].first;
		if (span != SPAN_NONE && span_make_pages(writer, span, 1))
			span = take_from(writer, SPAN_ABSENT);
		else if (grow(writer))
			span = take_from(writer, SPAN_FREE);
		else
			return SPAN_NONE;
	}
	writer->spans[span].born = rcu_load_relaxed(&writer->header->epoch);
	return span;
}

uint32_t
span_take(struct store_writer *writer, unsigned kind, unsigned eighths,
	bool *whole)
{
	uint32_t span = take_partial(writer, kind, eighths);

	*whole = false;
	if (span != SPAN_NONE)
		return span;
	span = take_free(writer);
	if (span != SPAN_NONE) {
		*whole = true;
		return span;
	}
	for (unsigned k = 0; k < KIND_COUNT && span == SPAN_NONE; k++)
		span = take_partial(writer, k, 1);
	return span;
}

static uint32_t
find_run(struct store_writer *writer, uint32_t count)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < writer->header->span_count; i++) {
		found = writer->spans[i].state <= SPAN_FREE ? found + 1 : 0;
		if (found == count)
			return i + 1 - count;
	}
	return SPAN_NONE;
}

uint32_t
span_take_run(struct store_writer *writer, uint32_t count)
{
	uint32_t first = find_run(writer, count);

	if (first == SPAN_NONE) {
		first = writer->header->span_count;
		/* Free spans at the end serve as the beginning. */
		while (first > 0 && writer->spans[first - 1].state <= SPAN_FREE)
			first--;
		if (!grow_by(writer,
			    first + count - writer->header->span_count))
			return SPAN_NONE;
	}
	if (!span_make_pages(writer, first, count)) {
		for (uint32_t i = first; i < first + count; i++)
			if (writer->spans[i].state == SPAN_FULL)
				span_list_add(writer, i, SPAN_ABSENT);
		return SPAN_NONE;
	}
	for (uint32_t i = first; i < first + count; i++) {
		span_list_remove(writer, i);
		writer->spans[i].state = SPAN_OWNED;
		writer->spans[i].born =
			rcu_load_relaxed(&writer->header->epoch);
	}
	return first;
}

/* ---- loading */

void
span_table_load(struct store_writer *writer)
{
	for (int i = 0; i < SPAN_LISTS; i++)
		writer->lists[i] = (struct span_list){ SPAN_NONE, SPAN_NONE };
	for (uint32_t i = writer->header->span_count; i-- > 0;) {
		const uint64_t *bitmap = span_bitmap(writer, i);
		uint32_t used = 0;

		for (unsigned w = 0; w < SPAN_WORDS; w++)
			used += (uint32_t)__builtin_popcountll(bitmap[w]);
		writer->spans[i].free = SPAN_GRANULES - used;
		writer->live += used;
		/* A free span may have its pages or not: not, so that they
		 * are made sure of before it is used. */
		if (used == 0)
			span_list_add(writer, i, SPAN_ABSENT);
		else
			span_release(writer, i);
	}
}

bool
span_make_used_pages(struct store_writer *writer)
{
	uint32_t end = writer->header->span_count, run = 0;

	if (fallocate(writer->store->fd, 0, 0,
		    STORE_PAGE + (off_t)end * SPAN_BITMAP)
		!= 0)
		return false;
	for (uint32_t i = 0; i <= end; i++) {
		if (i < end && writer->spans[i].state != SPAN_ABSENT)
			run++;
		else if (run > 0 && !span_make_pages(writer, i - run, run))
			return false;
		else
			run = 0;
	}
	return true;
}
