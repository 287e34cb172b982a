/*
 * heap.h - the allocators, for other files of the store. store_alloc and the
 * other public functions are in store/writer.h.
 */
#ifndef STORE_HEAP_H
#define STORE_HEAP_H

#include "store/state.h"

/* Sets a heap up; fresh as in struct store_heap. */
void heap_init(struct store_heap *heap, struct store_writer *writer,
	bool fresh);

/* Gives back what is left of the heap's hole. Takes the lock. */
void heap_flush(struct store_heap *heap);

/* True if ref is that of a granule in use. For asserts. */
bool heap_has(struct store_writer *writer, store_ref ref);

/* True if there are no heaps but the writer's two. For asserts. */
bool heap_is_alone(const struct store_writer *writer);

/* Granules in objects, retired ones included. Takes the lock. */
int64_t heap_count_live(struct store_writer *writer);

/* Frees granules, of as many spans as there are. Takes the lock. */
void heap_free_granules(struct store_writer *writer, uint32_t granule,
	uint32_t count);

#endif
