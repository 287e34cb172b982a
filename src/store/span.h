/*
 * span.h - which granules are in use, span by span. All is called under the
 * writer's lock.
 */
#ifndef STORE_SPAN_H
#define STORE_SPAN_H

#include "store/state.h"

/* Fills the table of spans from the bitmaps of a store that exists. */
void span_load(struct store_writer *writer);

/* Takes a span without objects and claims all of it. Returns its first granule,
 * or 0: the store is full. */
uint32_t span_take(struct store_writer *writer);

/* Takes count spans in a row, as span_take. */
uint32_t span_take_run(struct store_writer *writer, uint32_t count);

/* Finds the first hole of a span at or behind `from`. False: there is none. */
bool span_find_hole(const uint64_t *bitmap, uint32_t from, uint32_t *hole,
	uint32_t *hole_count);

/* The begin of the hole that the free granule `at` lies in. */
uint32_t span_hole_begin(const uint64_t *bitmap, uint32_t at);

/* Marks granules of one span as used. */
void span_claim(struct store_writer *writer, uint32_t granule,
	uint32_t count);

/* Marks granules of one span as free. A span without objects goes to the list
 * of free spans. */
void span_unclaim(struct store_writer *writer, uint32_t granule,
	uint32_t count);

/* Sets the state of a span that is on no list, and puts it at the head of that
 * state's list, if there is one. */
void span_list_add(struct store_writer *writer, uint32_t span,
	enum span_state state);

/* Takes a span off the list of its state, if there is one. */
void span_list_remove(struct store_writer *writer, uint32_t span);

#endif
