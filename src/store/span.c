/* span.c - which granules are in use, and which spans are free. */
#include "config.h"

#include "base/assert.h"
#include "store/pages.h"
#include "store/span.h"

/* ---- bitmaps */

static inline uint64_t
word_mask(uint32_t from, uint32_t count)
{
	return (count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1)
		<< from;
}

/* Sets or clears bits. The lock keeps other threads out. If the writer dies in
 * between, its successor finds some of it done. */
static void
bits_change(uint64_t *bitmap, uint32_t from, uint32_t count, bool used)
{
	ASSERT_HOT(from + count <= SPAN_GRANULES);
	while (count > 0) {
		uint64_t *word = &bitmap[from / 64];
		uint32_t bit = from % 64;
		uint32_t n = 64 - bit < count ? 64 - bit : count;
		uint64_t mask = word_mask(bit, n);

		ASSERT_HOT((*word & mask) == (used ? 0 : mask));
		rcu_store_release(word, used ? *word | mask : *word & ~mask);
		from += n;
		count -= n;
	}
}

/* The first granule at or behind `from` that is used, or free if not `used`;
 * SPAN_GRANULES if there is none. */
static uint32_t
bitmap_find(const uint64_t *bitmap, uint32_t from, bool used)
{
	uint64_t flip = used ? 0 : ~UINT64_C(0);
	uint32_t i = from / 64;
	uint64_t word;

	if (from >= SPAN_GRANULES)
		return SPAN_GRANULES;
	word = (bitmap[i] ^ flip) & ~UINT64_C(0) << (from % 64);
	while (word == 0) {
		if (++i == SPAN_WORDS)
			return SPAN_GRANULES;
		word = bitmap[i] ^ flip;
	}
	return i * 64 + (uint32_t)__builtin_ctzll(word);
}

bool
span_find_hole(const uint64_t *bitmap, uint32_t from, uint32_t *hole,
	uint32_t *hole_count)
{
	uint32_t start = bitmap_find(bitmap, from, false);

	if (start == SPAN_GRANULES)
		return false;
	*hole = start;
	*hole_count = bitmap_find(bitmap, start, true) - start;
	return true;
}

uint32_t
span_hole_begin(const uint64_t *bitmap, uint32_t at)
{
	uint32_t i = at / 64;
	uint64_t word = bitmap[i] & word_mask(0, at % 64);

	ASSERT_HOT(span_bit(bitmap, at) == 0);
	while (word == 0) {
		if (i == 0)
			return 0;
		word = bitmap[--i];
	}
	return i * 64 + 64 - (uint32_t)__builtin_clzll(word);
}

/* ---- lists */

void
span_list_add(struct store_writer *writer, uint32_t span,
	enum span_state state)
{
	struct span *s = &writer->spans[span];
	struct span_list *list;

	assert(span < writer->header->span_count && state <= SPAN_USED);
	s->state = (uint8_t)state;
	if (state >= SPAN_LISTS)
		return;
	list = &writer->lists[state];
	s->next = list->first;
	s->prev = SPAN_NONE;
	if (s->next != SPAN_NONE)
		writer->spans[s->next].prev = span;
	else
		list->last = span;
	list->first = span;
	list->count++;
}

void
span_list_remove(struct store_writer *writer, uint32_t span)
{
	struct span *s = &writer->spans[span];
	struct span_list *list;

	if (s->state >= SPAN_LISTS)
		return;
	list = &writer->lists[s->state];
	assert(list->count > 0);
	list->count--;
	if (s->next != SPAN_NONE)
		writer->spans[s->next].prev = s->prev;
	else
		list->last = s->prev;
	if (s->prev != SPAN_NONE)
		writer->spans[s->prev].next = s->next;
	else
		list->first = s->next;
}

void
span_claim(struct store_writer *writer, uint32_t granule, uint32_t count)
{
	uint32_t span = span_of_granule(writer, granule);

	bits_change(span_bitmap(writer, span),
		granule - span_first_granule(writer, span), count, true);
	ASSERT_HOT(writer->spans[span].free >= count);
	writer->spans[span].free -= count;
}

void
span_unclaim(struct store_writer *writer, uint32_t granule, uint32_t count)
{
	uint32_t span = span_of_granule(writer, granule);

	bits_change(span_bitmap(writer, span),
		granule - span_first_granule(writer, span), count, false);
	writer->spans[span].free += count;
	ASSERT_HOT(writer->spans[span].free <= SPAN_GRANULES);
	if (writer->spans[span].free == SPAN_GRANULES)
		span_list_add(writer, span, SPAN_FREE);
}

/* ---- growing */

/* Adds count spans behind the last one. They have their pages and are on no
 * list yet. */
static bool
grow_by(struct store_writer *writer, uint32_t count)
{
	uint32_t first = writer->header->span_count;
	bool huge = false;

	if (count > writer->span_max - first) {
		writer->lack = 0;
		return false;
	}
	if (!pages_make_bitmap(writer, first, count))
		return false;
	if (count == EXTENT_SPANS && first % EXTENT_SPANS == 0)
		huge = pages_make_extent(writer, first);
	if (!huge && !pages_make_spans(writer, first, count))
		return false;
	for (uint32_t i = first; i < first + count; i++) {
		writer->spans[i].free = SPAN_GRANULES;
		writer->spans[i].state = SPAN_USED;
		writer->spans[i].huge = huge;
	}
	rcu_store_release(&writer->header->span_count, first + count);
	return true;
}

/* Adds spans to the list of free ones. */
static bool
spans_grow(struct store_writer *writer)
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
	/* Backwards: the lowest comes off the list first. */
	for (uint32_t i = first + count; i-- > first;)
		span_list_add(writer, i, SPAN_FREE);
	return true;
}

/* ---- taking */

/* Takes a span off its list. All its pages exist. Objects come into it from now
 * on, so none is older than the present epoch. */
static void
span_unlink(struct store_writer *writer, uint32_t span)
{
	assert(writer->spans[span].state < SPAN_LISTS);
	span_list_remove(writer, span);
	writer->spans[span].state = SPAN_USED;
	writer->spans[span].absent = 0;
	writer->spans[span].guessed = false;
	writer->spans[span].of = HOLES_OPEN;
	writer->spans[span].born = rcu_load_relaxed(&writer->header->epoch);
}

uint32_t
span_take(struct store_writer *writer)
{
	uint32_t span = writer->lists[SPAN_FREE].first;
	uint32_t granule;

	if (span == SPAN_NONE) {
		span = writer->lists[SPAN_ABSENT].first;
		if (span == SPAN_NONE || !pages_make_spans(writer, span, 1)) {
			if (!spans_grow(writer))
				return 0;
			span = writer->lists[SPAN_FREE].first;
			assert(span != SPAN_NONE);
		}
	}
	granule = span_first_granule(writer, span);
	if (!pages_make_absent(writer, granule, SPAN_GRANULES))
		return 0;
	span_unlink(writer, span);
	span_claim(writer, granule, SPAN_GRANULES);
	return granule;
}

/* The first of count spans in a row without objects, or SPAN_NONE. */
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

	assert(count > 0);
	if (first == SPAN_NONE) {
		uint32_t end = writer->header->span_count;

		/* The run begins with the free spans at the end, if any. */
		first = end;
		while (first > 0 && writer->spans[first - 1].state <= SPAN_FREE)
			first--;
		if (!grow_by(writer, first + count - end))
			return 0;
		for (uint32_t i = first + count; i-- > end;)
			span_list_add(writer, i, SPAN_FREE);
	}
	if (!pages_make_spans(writer, first, count))
		return 0;
	for (uint32_t i = first; i < first + count; i++) {
		span_unlink(writer, i);
		span_claim(writer, span_first_granule(writer, i),
			SPAN_GRANULES);
	}
	return span_first_granule(writer, first);
}

/* ---- loading */

void
span_load(struct store_writer *writer)
{
	const struct span_list none = { SPAN_NONE, SPAN_NONE, 0 };

	for (int i = 0; i < SPAN_LISTS; i++)
		writer->lists[i] = none;
	for (uint32_t i = writer->header->span_count; i-- > 0;) {
		const uint64_t *bitmap = span_bitmap(writer, i);
		uint32_t used = 0;

		for (unsigned w = 0; w < SPAN_WORDS; w++)
			used += (uint32_t)__builtin_popcountll(bitmap[w]);
		writer->spans[i].free = SPAN_GRANULES - used;
		writer->live += used;
		/* Pages without objects may be there or not. Taken as absent,
		 * so that they are made before they are used. */
		if (used == 0) {
			span_list_add(writer, i, SPAN_ABSENT);
		} else {
			writer->spans[i].state = SPAN_USED;
			writer->spans[i].absent = (uint16_t)pages_unused(
				bitmap);
			writer->spans[i].guessed = true;
		}
	}
}
