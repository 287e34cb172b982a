/* holes.c - finds room among objects: the table of holes by size, the lowest
 * first. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/rcu.h"
#include "store/holes.h"
#include "store/pages.h"
#include "store/span.h"

/* Hardly any object is smaller than this, in granules. */
#define SLIVER 3u

/* Spans drain only if more is free than a DRAIN_LEAST-th of what is used. They
 * are chosen anew when a DRAIN_OFTEN-th of the store has been freed. */
#define DRAIN_LEAST 64u
#define DRAIN_OFTEN 64u
/* Spans are compared by how much of them is free, in steps. */
#define DRAIN_STEPS 64u
#define DRAIN_STEP (SPAN_GRANULES / DRAIN_STEPS)

/* The class of a hole of count granules: see struct hole_class. */
static unsigned
hole_class(uint32_t count)
{
	unsigned log;

	ASSERT_HOT(count > 0 && count < SPAN_GRANULES);
	if (count < HOLE_EXACT)
		return count;
	log = 31 - (unsigned)__builtin_clz(count);
	return HOLE_EXACT + (log - HOLE_EXACT_LOG) * 8
		+ (count >> (log - 3) & 7);
}

/* ---- the order in a class: a binary heap, the lowest hole on top */

static void
sift_up(uint32_t *at, uint32_t i)
{
	uint32_t hole = at[i];

	while (i > 0 && at[(i - 1) / 2] > hole) {
		at[i] = at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	at[i] = hole;
}

static void
sift_down(uint32_t *at, uint32_t count, uint32_t i)
{
	uint32_t hole = at[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= count)
			break;
		if (child + 1 < count && at[child + 1] < at[child])
			child++;
		if (at[child] >= hole)
			break;
		at[i] = at[child];
		i = child;
	}
	at[i] = hole;
}

static void
class_pop(struct store_writer *w, enum holes_of of, unsigned class)
{
	struct holes *holes = &w->holes[of];
	struct hole_class *c = &holes->classes[class];

	ASSERT_HOT(c->count > 0);
	c->at[0] = c->at[--c->count];
	if (c->count > 0)
		sift_down(c->at, c->count, 0);
	else
		rcu_store_relaxed(&holes->some[class / 64],
			holes->some[class / 64]
				& ~(UINT64_C(1) << (class % 64)));
}

/* ---- entries that still hold */

/* The size of the hole that begins at a granule, or 0 if there is none, or one
 * of another class or table. */
static uint32_t
hole_check(struct store_writer *w, enum holes_of of, unsigned class,
	uint32_t granule)
{
	uint32_t span = span_of_granule(w, granule);
	uint32_t from = granule - span_first_granule(w, span);
	const uint64_t *bitmap = span_bitmap(w, span);
	uint32_t hole, count;

	if (w->spans[span].state != SPAN_USED
		|| w->spans[span].of != of
		|| (from > 0 && span_bit(bitmap, from - 1) == 0)
		|| span_bit(bitmap, from) != 0)
		return 0;
	(void)span_find_hole(bitmap, from, &hole, &count);
	return hole_class(count) == class ? count : 0;
}

static int
compare_holes(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Drops entries that are not true any more, or there twice. */
static void
class_purge(struct store_writer *w, enum holes_of of, unsigned class)
{
	struct hole_class *c = &w->holes[of].classes[class];
	uint32_t kept = 0;

	if (c->count > 0) /* sorted, it is a heap, too */
		qsort(c->at, c->count, sizeof(*c->at), compare_holes);
	for (uint32_t i = 0; i < c->count; i++)
		if ((kept == 0 || c->at[i] != c->at[kept - 1])
			&& hole_check(w, of, class, c->at[i]) != 0)
			c->at[kept++] = c->at[i];
	c->count = kept;
}

/* Gives the class room for max entries, no fewer than it has. False: there is
 * no memory. */
static bool
class_resize(struct hole_class *c, uint32_t max)
{
	bool was_few = c->at == c->few, few = max <= HOLES_FEW;
	uint32_t *at = few ? c->few
		: realloc(was_few ? NULL : c->at, max * sizeof(*at));

	assert(max >= c->count);
	if (at == NULL)
		return false;
	if (few != was_few && c->count > 0)
		memcpy(at, c->at, c->count * sizeof(*at));
	if (few && !was_few)
		free(c->at);
	c->at = at;
	c->max = max;
	return true;
}

static bool
class_make_room(struct store_writer *w, enum holes_of of, unsigned class)
{
	struct hole_class *c = &w->holes[of].classes[class];

	class_purge(w, of, class);
	if (c->count <= c->max / 2 && c->max > 0)
		return true;
	return class_resize(c, c->max == 0 ? HOLES_FEW : 2 * c->max)
		|| c->count < c->max;
}

static void
holes_add(struct store_writer *w, uint32_t granule, uint32_t count)
{
	enum holes_of of = w->spans[span_of_granule(w, granule)].of;
	struct holes *holes = &w->holes[of];
	unsigned class = hole_class(count);
	struct hole_class *c = &holes->classes[class];

	if (c->count == c->max && !class_make_room(w, of, class)) {
		/* A full class loses the hole until the table is next made
		 * anew. */
		w->holes_lost = true;
		return;
	}
	ASSERT_HOT(c->count < c->max);
	c->at[c->count] = granule;
	sift_up(c->at, c->count++);
	rcu_store_relaxed(&holes->some[class / 64],
		holes->some[class / 64] | UINT64_C(1) << (class % 64));
}

/* ---- the whole table */

static void
holes_add_span(struct store_writer *w, uint32_t span)
{
	uint32_t first = span_first_granule(w, span), at = 0, count;

	while (span_find_hole(span_bitmap(w, span), at, &at, &count)) {
		holes_add(w, first + at, count);
		at += count;
	}
}

void
holes_load(struct store_writer *w)
{
	for (unsigned of = 0; of < HOLES_TABLES; of++) {
		for (unsigned i = 0; i < HOLE_CLASSES; i++)
			w->holes[of].classes[i].count = 0;
		memset(w->holes[of].some, 0, sizeof(w->holes[of].some));
	}
	w->holes_lost = false;
	for (uint32_t i = 0; i < w->header->span_count; i++)
		if (w->spans[i].state == SPAN_USED)
			holes_add_span(w, i);
}

void
holes_trim(struct store_writer *w)
{
	if (w->holes_lost)
		holes_load(w);
	for (unsigned of = 0; of < HOLES_TABLES; of++)
		for (unsigned i = 0; i < HOLE_CLASSES; i++) {
			struct hole_class *c = &w->holes[of].classes[i];

			uint32_t max = HOLES_FEW;

			class_purge(w, of, i);
			while (max < c->count)
				max *= 2;
			if (max < c->max)
				(void)class_resize(c, max);
		}
}

void
holes_fini(struct store_writer *w)
{
	for (unsigned of = 0; of < HOLES_TABLES; of++)
		for (unsigned i = 0; i < HOLE_CLASSES; i++) {
			struct hole_class *c = &w->holes[of].classes[i];

			if (c->at != c->few)
				free(c->at);
		}
}

/* ---- draining */

/* The spans that drain: all with more than `step` steps free, and `some` of
 * those with just that much. */
struct drain {
	unsigned step;
	uint64_t some;
};

static void
drain_choose(const struct store_writer *w, struct drain *drain)
{
	uint64_t spans[DRAIN_STEPS + 1] = { 0 }, free[DRAIN_STEPS + 1] = { 0 };
	uint64_t room = 0, used = 0;

	for (uint32_t i = 0; i < w->header->span_count; i++) {
		const struct span *s = &w->spans[i];

		if (s->state != SPAN_USED || s->of == HOLES_LONG_LIVED)
			continue;
		assert(s->free <= SPAN_GRANULES);
		spans[s->free / DRAIN_STEP]++;
		free[s->free / DRAIN_STEP] += s->free;
		room += s->free;
		used += SPAN_GRANULES - s->free;
	}
	drain->step = DRAIN_STEPS;
	drain->some = 0;
	if (room < used / DRAIN_LEAST)
		return;
	used = 0;
	for (unsigned step = DRAIN_STEPS; step > 0; step--) {
		drain->step = step;
		for (drain->some = 0; drain->some < spans[step];
			drain->some++) {
			uint64_t one = free[step] / spans[step];

			/* The objects of all chosen spans must fit into
			 * the holes of the others. */
			if (used + SPAN_GRANULES > room)
				return;
			used += SPAN_GRANULES - one;
			room -= one;
		}
	}
}

void
holes_choose_draining(struct store_writer *w)
{
	struct drain drain;

	if (w->freed < (uint64_t)w->header->span_count * SPAN_GRANULES
			/ DRAIN_OFTEN
		|| w->freed < SPAN_GRANULES)
		return;
	w->freed = 0;
	drain_choose(w, &drain);
	/* From the end of the store, so that this becomes free. */
	for (uint32_t i = w->header->span_count; i-- > 0;) {
		struct span *s = &w->spans[i];
		enum holes_of of = s->free / DRAIN_STEP > drain.step
			? HOLES_DRAINING
			: HOLES_OPEN;

		if (s->state != SPAN_USED || s->of == HOLES_LONG_LIVED)
			continue;
		if (s->free / DRAIN_STEP == drain.step && drain.some > 0) {
			drain.some--;
			of = HOLES_DRAINING;
		}
		if (s->of == of)
			continue;
		s->of = (uint8_t)of;
		holes_add_span(w, i);
	}
}

/* ---- taking and giving back */

/* The first class from `class` on that has entries, or HOLE_CLASSES. */
static unsigned
class_next(const struct holes *holes, unsigned class)
{
	uint64_t word;
	unsigned i = class / 64;

	if (class >= HOLE_CLASSES)
		return HOLE_CLASSES;
	word = holes->some[i] & ~UINT64_C(0) << (class % 64);
	while (word == 0) {
		if (++i == HOLE_WORDS)
			return HOLE_CLASSES;
		word = holes->some[i];
	}
	return i * 64 + (unsigned)__builtin_ctzll(word);
}

/* Finds the lowest hole of a class. Returns its size if it has room for count
 * granules, else 0. */
static uint32_t
class_look(struct store_writer *w, enum holes_of of, unsigned class,
	uint32_t count, uint32_t *granule)
{
	struct hole_class *c = &w->holes[of].classes[class];

	while (c->count > 0) {
		uint32_t found = hole_check(w, of, class, c->at[0]);

		if (found >= count) {
			*granule = c->at[0];
			return found;
		}
		if (found != 0)
			return 0;
		class_pop(w, of, class);
	}
	return 0;
}

/* Claims a hole of which `wanted` granules are needed, or only a part of it if
 * the rest would need absent pages. Returns the granules claimed, or 0. */
static uint32_t
hole_claim(struct store_writer *w, uint32_t granule, uint32_t count,
	uint32_t wanted)
{
	uint32_t room = pages_room(w, granule, count, wanted);

	if (!pages_make_absent(w, granule, room)) {
		holes_add(w, granule, count);
		return 0;
	}
	span_claim(w, granule, room);
	if (room < count)
		holes_add(w, granule + room, count - room);
	return room;
}

/* Claims a hole of the first class from `class` on, below `end`, that has one.
 * Returns its granules, or 0. */
static uint32_t
classes_take(struct store_writer *w, enum holes_of of, unsigned class,
	unsigned end, uint32_t count, uint32_t *granule)
{
	const struct holes *holes = &w->holes[of];

	for (class = class_next(holes, class); class < end;
		class = class_next(holes, class + 1)) {
		uint32_t found = class_look(w, of, class, count, granule);

		if (found == 0)
			continue;
		class_pop(w, of, class);
		return hole_claim(w, *granule, found, count);
	}
	return 0;
}

uint32_t
holes_take(struct store_writer *w, enum holes_of of, uint32_t count,
	uint32_t *granule)
{
	unsigned class = hole_class(count);
	uint32_t found;

	if (class + SLIVER > HOLE_EXACT)
		return classes_take(w, of, class, HOLE_CLASSES, count,
			granule);
	/* Holes that are a little larger come last: hardly any object would
	 * fit into what they leave. */
	found = classes_take(w, of, class, class + 1, count, granule);
	if (found == 0)
		found = classes_take(w, of, class + SLIVER, HOLE_CLASSES,
			count, granule);
	if (found == 0)
		found = classes_take(w, of, class + 1, class + SLIVER, count,
			granule);
	return found;
}

uint32_t
holes_take_exact(struct store_writer *w, uint32_t count)
{
	uint32_t granule;

	ASSERT_HOT(count < HOLE_EXACT);
	if (class_look(w, HOLES_OPEN, count, count, &granule) == 0)
		return 0;
	class_pop(w, HOLES_OPEN, count);
	return hole_claim(w, granule, count, count) != 0 ? granule : 0;
}

void
holes_give(struct store_writer *w, uint32_t granule, uint32_t count)
{
	uint32_t span = span_of_granule(w, granule);
	uint32_t first = span_first_granule(w, span);
	uint32_t at = granule - first;
	const uint64_t *bitmap = span_bitmap(w, span);
	uint32_t hole;

	w->freed += count;
	span_unclaim(w, granule, count);
	if (w->spans[span].state != SPAN_USED)
		return;
	at = span_hole_begin(bitmap, at);
	if (span_find_hole(bitmap, at, &hole, &count))
		holes_add(w, first + hole, count);
}
