/* timers.c - a heap of timers by id. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/grow.h"
#include "xfr/timers.h"

#define BRANCHES 4u

enum nsd_err
timers_reserve(struct timers *t, uint32_t id)
{
	struct timer *heap;
	uint32_t *places;

	while (t->places_count <= id) {
		heap = grow_array(t->heap, t->places_count, &t->heap_room,
			sizeof(*heap));
		if (heap == NULL)
			return NSD_E_MEMORY;
		t->heap = heap;
		places = grow_array(t->places, t->places_count,
			&t->places_room, sizeof(*places));
		if (places == NULL)
			return NSD_E_MEMORY;
		t->places = places;
		t->places[t->places_count++] = 0;
	}
	return NSD_OK;
}

void
timers_fini(struct timers *t)
{
	free(t->heap);
	free(t->places);
}

static void
timer_put(struct timers *t, size_t at, struct timer timer)
{
	t->heap[at] = timer;
	t->places[timer.id] = (uint32_t)at + 1;
}

/* Puts a timer where it belongs, from a free place upwards. */
static void
timers_sift_up(struct timers *t, size_t at, struct timer timer)
{
	while (at > 0) {
		size_t parent = (at - 1) / BRANCHES;

		if (t->heap[parent].at <= timer.at)
			break;
		timer_put(t, at, t->heap[parent]);
		at = parent;
	}
	timer_put(t, at, timer);
}

static void
timers_sift_down(struct timers *t, size_t at, struct timer timer)
{
	for (;;) {
		size_t first = at * BRANCHES + 1, least = first;

		if (first >= t->count)
			break;
		for (size_t i = first + 1; i < t->count
			&& i < first + BRANCHES; i++)
			if (t->heap[i].at < t->heap[least].at)
				least = i;
		if (t->heap[least].at >= timer.at)
			break;
		timer_put(t, at, t->heap[least]);
		at = least;
	}
	timer_put(t, at, timer);
}

static void
timer_settle(struct timers *t, size_t at, struct timer timer)
{
	if (at > 0 && t->heap[(at - 1) / BRANCHES].at > timer.at)
		timers_sift_up(t, at, timer);
	else
		timers_sift_down(t, at, timer);
}

void
timers_set(struct timers *t, uint32_t id, int64_t at)
{
	const struct timer timer = {.at = at, .id = id};

	assert(id < t->places_count);
	if (t->places[id] == 0)
		timers_sift_up(t, t->count++, timer);
	else
		timer_settle(t, t->places[id] - 1, timer);
}

void
timers_remove(struct timers *t, uint32_t id)
{
	size_t at;

	if (id >= t->places_count || t->places[id] == 0)
		return;
	at = t->places[id] - 1;
	t->places[id] = 0;
	t->count--;
	if (at < t->count)
		timer_settle(t, at, t->heap[t->count]);
}
