/* store_check.c - looks at a whole store, from within. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/store_check.h"
#include "store/pages.h"
#include "store/span.h"
#include "store/sweep.h"
#include "store/writer.h"

static char fault[256];

__attribute__((format(printf, 1, 2))) static const char *
fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(fault, sizeof(fault), format, ap);
	va_end(ap);
	return fault;
}

static uint32_t
bits_used(const uint64_t *bitmap)
{
	uint32_t used = 0;

	for (unsigned i = 0; i < SPAN_WORDS; i++)
		used += (uint32_t)__builtin_popcountll(bitmap[i]);
	return used;
}

/* The table of spans says what the bitmaps say. */
static const char *
check_spans(struct store_writer *w)
{
	uint64_t used = 0;
	uint32_t count = w->header->span_count;
	struct store_heap *heap;
	int64_t live = w->live;

	if (count > w->span_max)
		return fail("%u spans, of %u", count, w->span_max);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = bits_used(span_bitmap(w, i));
		const struct span *s = &w->spans[i];

		used += n;
		if (s->free != SPAN_GRANULES - n)
			return fail("span %u: %u free, not %u", i,
				SPAN_GRANULES - n, s->free);
		if ((n == 0) != (s->state <= SPAN_FREE))
			return fail("span %u: state %u with %u in use", i,
				s->state, n);
	}
	cds_list_for_each_entry(heap, &w->heaps, entry)
		live += heap->live;
	if ((uint64_t)live != used)
		return fail("%llu granules in use, not %lld",
			(unsigned long long)used, (long long)live);
	return NULL;
}

/* The pages of all objects are allocated, whether or not they were written
 * to. */
static const char *
check_pages(struct store_writer *w)
{
	size_t bitmaps = (size_t)w->header->span_count * SPAN_BITMAP;
	uint64_t used = 1 + (bitmaps + STORE_PAGE - 1) / STORE_PAGE;
	struct stat st;

	for (uint32_t i = 0; i < w->header->span_count; i++)
		used += SPAN_PAGES
			- (unsigned)__builtin_popcount(
				pages_unused(span_bitmap(w, i)));
	if (fstat(w->store->fd, &st) != 0)
		abort();
	return (uint64_t)st.st_blocks * 512 / STORE_PAGE >= used
		? NULL
		: fail("%llu pages in use, %llu are there",
			(unsigned long long)used,
			(unsigned long long)st.st_blocks * 512 / STORE_PAGE);
}

static const char *
check_lists(struct store_writer *w)
{
	uint32_t listed = 0, expected = 0;

	for (uint32_t i = 0; i < w->header->span_count; i++)
		expected += w->spans[i].state < SPAN_LISTS;
	for (unsigned l = 0; l < SPAN_LISTS; l++) {
		uint32_t before = SPAN_NONE;

		for (uint32_t i = w->lists[l].first; i != SPAN_NONE;
			i = w->spans[i].next) {
			if (w->spans[i].state != l
				|| w->spans[i].prev != before
				|| ++listed > expected)
				return fail("list %u: span %u", l, i);
			before = i;
		}
		if (w->lists[l].last != before)
			return fail("list %u: its end", l);
	}
	return listed == expected ? NULL
				  : fail("%u spans listed of %u", listed,
					  expected);
}

static int
compare_granules(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The entries of the table of holes, sorted; some may be out of date. */
static uint32_t *
holes_list(const struct store_writer *w, size_t *count)
{
	uint32_t *list;

	*count = 0;
	for (unsigned i = 0; i < HOLE_CLASSES; i++)
		for (unsigned of = 0; of < HOLES_TABLES; of++)
			*count += w->holes[of].classes[i].count;
	list = malloc(*count * sizeof(*list) + 1);
	if (list == NULL)
		abort();
	*count = 0;
	for (unsigned i = 0; i < HOLES_TABLES * HOLE_CLASSES; i++) {
		const struct holes *holes = &w->holes[i % HOLES_TABLES];
		const struct hole_class *c = &holes->classes[i / HOLES_TABLES];

		for (uint32_t k = 0; k < c->count; k++)
			list[(*count)++] = c->at[k];
	}
	qsort(list, *count, sizeof(*list), compare_granules);
	return list;
}

/* The table has every hole, and no absent page is in use. */
static const char *
check_holes(struct store_writer *w)
{
	const char *wrong = NULL;
	size_t count;
	uint32_t *list = holes_list(w, &count);

	for (uint32_t i = 0; i < w->header->span_count && wrong == NULL; i++) {
		const uint64_t *bitmap = span_bitmap(w, i);
		uint32_t at = 0, n;

		for (; w->spans[i].state == SPAN_USED
			&& span_find_hole(bitmap, at, &at, &n);
			at += n) {
			uint32_t hole = span_first_granule(w, i) + at;

			if (!w->holes_lost
				&& bsearch(&hole, list, count, sizeof(*list),
					   compare_granules)
					== NULL)
				wrong = fail("hole %u of %u: lost", hole, n);
		}
		for (uint32_t page = 0; page < SPAN_GRANULES; page++)
			if ((w->spans[i].absent >> page / PAGE_GRANULES & 1)
					!= 0
				&& span_bit(bitmap, page) != 0)
				wrong = fail("span %u: %u is absent and in use",
					i, page);
	}
	free(list);
	return wrong;
}

/* Marks what waits; that, too, is used once. */
static const char *
mark_blocks(struct store_sweep *sweep, struct cds_list_head *blocks)
{
	struct retired_block *block;

	cds_list_for_each_entry(block, blocks, entry)
		for (uint32_t i = 0; i < block->count; i++)
			if (!store_sweep_mark(sweep, block->objects[i].ref,
				    block->objects[i].len))
				return fail("%u is retired and in use",
					block->objects[i].ref);
	return NULL;
}

static const char *
mark_retired(struct store_writer *w, struct store_sweep *sweep)
{
	const char *wrong = mark_blocks(sweep, &w->retired);
	struct held *held;

	if (wrong == NULL)
		wrong = mark_blocks(sweep, &w->unheld);
	cds_list_for_each_entry(held, &w->held, entry)
		if (wrong == NULL)
			wrong = mark_blocks(sweep, &held->blocks);
	return wrong;
}

static const char *
check_marks(struct store_writer *w, struct store_sweep *sweep)
{
	if (sweep->damaged)
		return fail("an object that is reached is not in use, or two "
			    "overlap");
	for (uint32_t i = 0; i < w->header->span_count; i++) {
		const uint64_t *used = span_bitmap(w, i);
		const uint64_t *marks = &sweep->marks[(size_t)i * SPAN_WORDS];

		for (unsigned k = 0; k < SPAN_WORDS; k++)
			if ((used[k] & ~marks[k]) != 0)
				return fail("granule %u is in use and cannot "
					    "be reached",
					span_first_granule(w, i) + k * 64
						+ (uint32_t)__builtin_ctzll(
							used[k] & ~marks[k]));
	}
	return NULL;
}

/* A copy of all spans with objects, to see whether marking changes any. */
static uint8_t *
spans_copy(const struct store_writer *w)
{
	size_t count = w->header->span_count;
	uint8_t *copy = malloc(count * SPAN_SIZE + 1);

	if (copy == NULL)
		abort();
	for (size_t i = 0; i < count; i++)
		if (w->spans[i].state > SPAN_FREE)
			memcpy(copy + i * SPAN_SIZE,
				w->base + w->header->data_at + i * SPAN_SIZE,
				SPAN_SIZE);
	return copy;
}

static const char *
check_copy(struct store_writer *w, const uint8_t *copy)
{
	for (uint32_t i = 0; i < w->header->span_count; i++) {
		const uint64_t *now = (const uint64_t *)(const void *)(w->base
			+ w->header->data_at + (size_t)i * SPAN_SIZE);
		const uint64_t *then = (const uint64_t *)(const void *)(copy
			+ (size_t)i * SPAN_SIZE);

		if (w->spans[i].state <= SPAN_FREE
			|| memcmp(now, then, SPAN_SIZE) == 0)
			continue;
		while (*now == *then) {
			now++;
			then++;
		}
		return fail("marking made %016llx at %u of what was %016llx",
			(unsigned long long)*now,
			(uint32_t)((const uint8_t *)now - w->base)
				/ STORE_GRANULE,
			(unsigned long long)*then);
	}
	return NULL;
}

const char *
store_check(struct store_writer *writer, store_check_mark *mark)
{
	struct store_sweep *sweep;
	const char *wrong;
	uint8_t *copy;

	if (store_sweep_begin(writer, &sweep) != NSD_OK)
		abort();
	wrong = check_pages(writer);
	copy = spans_copy(writer); /* makes pages by looking at them */
	if (wrong == NULL)
		wrong = check_spans(writer);
	if (wrong == NULL)
		wrong = check_lists(writer);
	if (wrong == NULL)
		wrong = check_holes(writer);
	if (wrong == NULL) {
		mark(writer, sweep);
		wrong = check_copy(writer, copy);
	}
	if (wrong == NULL)
		wrong = mark_retired(writer, sweep);
	if (wrong == NULL)
		wrong = check_marks(writer, sweep);
	free(copy);
	free(sweep);
	return wrong;
}

const char *
store_check_take_over(struct store_writer *writer, store_check_mark *mark)
{
	struct store_sweep *sweep;
	uint64_t octets;

	if (store_sweep_begin(writer, &sweep) != NSD_OK)
		abort();
	mark(writer, sweep);
	if (store_sweep_end(sweep, &octets) != NSD_OK)
		return fail("the sweep found the store damaged");
	return NULL;
}
