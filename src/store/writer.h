/*
 * writer.h - the writer's own state, private to it: nothing here is shared
 * with other processes.
 */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/rcu.h"
#include "store/file.h"
#include "store/layout.h"

#define SPAN_NONE UINT32_MAX

/*
 * Where a span stands. A span that no heap holds is on the list of its state,
 * PARTIAL + n having at least (n + 1) / 8 of its granules free. One with fewer
 * is on none: searching it would cost more than it gives.
 */
enum span_state {
	SPAN_ABSENT,  /* no pages, no objects */
	SPAN_FREE,    /* pages, no objects */
	SPAN_PARTIAL, /* and six more */
	SPAN_PARTIAL_LAST = SPAN_PARTIAL + 6,
	SPAN_LISTS,
	SPAN_FULL = SPAN_LISTS,
	SPAN_OWNED, /* a heap allocates from it */
};

struct span {
	uint32_t free; /* granules; changed atomically */
	uint32_t next, prev; /* in its list */
	uint8_t state; /* enum span_state; under the lock */
	bool huge;     /* lies in a huge page */
};

/* Allocates for one thread, by advancing through a hole of a span. */
struct store_heap {
	uint8_t *base;
	uint32_t bump;  /* next granule of the hole, from the store's start */
	uint32_t limit; /* end of the hole */
	uint32_t span;  /* that it lies in, or SPAN_NONE */
	bool fresh;     /* prefers spans that are mostly free */
	int64_t live;   /* granules allocated less those freed here */
	struct store_writer *writer;
	struct cds_list_head entry;
};

/* Objects that wait for a grace period, all retired in one epoch. */
struct retired_block {
	struct cds_list_head entry;
	uint64_t epoch;
	uint32_t count;
	uint32_t max;
	struct {
		store_ref ref;
		uint32_t len;
	} objects[];
};

struct store_writer {
	struct store *store;
	pid_t pid;
	struct store_view view;
	uint8_t *base; /* as view.base, writable */
	struct store_header *header;
	uint8_t *slots;
	struct store_heap heap; /* the writer's own */

	pthread_mutex_t lock; /* for the rest */
	struct span *spans;
	uint32_t span_max;
	uint32_t lists[SPAN_LISTS];
	struct cds_list_head heaps;
	int64_t live; /* granules, of heaps that are gone */
	bool no_collapse; /* the kernel refuses huge pages */

	/* The writer's thread alone. */
	struct cds_list_head retired;
	uint64_t retired_octets;
};

static inline uint32_t
store_granules(size_t len)
{
	return (uint32_t)((len + STORE_GRANULE - 1) / STORE_GRANULE);
}

/* ---- span.c: all under the lock unless said otherwise */

/* Fills the table from the bitmaps of a store that exists. */
void span_table_load(struct store_writer *writer);

static inline uint64_t *
span_bitmap(struct store_writer *writer, uint32_t span)
{
	return (uint64_t *)(writer->base + STORE_PAGE
		+ (size_t)span * SPAN_BITMAP);
}

static inline uint32_t
span_first_granule(struct store_writer *writer, uint32_t span)
{
	return (uint32_t)(writer->header->data_at / STORE_GRANULE)
		+ span * SPAN_GRANULES;
}

static inline uint32_t
span_of_granule(struct store_writer *writer, uint32_t granule)
{
	return (granule
		       - (uint32_t)(writer->header->data_at / STORE_GRANULE))
		/ SPAN_GRANULES;
}

/* A span with room, now owned by the caller, or SPAN_NONE when the store is
 * full. partial: one that holds objects is welcome. */
uint32_t span_take(struct store_writer *writer, bool fresh, bool partial);
/* Puts a span that was owned onto the list that it belongs to. */
void span_release(struct store_writer *writer, uint32_t span);
/* The first of count adjacent free spans, all with their pages there and off
 * the lists, or SPAN_NONE. */
uint32_t span_take_run(struct store_writer *writer, uint32_t count);

/*
 * Finds count free granules in a row at or behind `from` in a span. Returns
 * false if there are none; else the whole hole. The owner alone, no lock.
 */
bool span_find_hole(const uint64_t *bitmap, uint32_t from, uint32_t count,
	uint32_t *hole, uint32_t *hole_count);

/* Mark granules as used or free; any thread, no lock. The range lies within
 * the bitmap of one span. */
void span_set_bits(uint64_t *bitmap, uint32_t from, uint32_t count);
void span_clear_bits(uint64_t *bitmap, uint32_t from, uint32_t count);

/* Frees granules of one span; any thread, without the lock held. */
void span_free_granules(struct store_writer *writer, uint32_t granule,
	uint32_t count);

/* Makes the pages of absent spans, `count` from `span`. False: no memory. */
bool span_make_pages(struct store_writer *writer, uint32_t span,
	uint32_t count);
void span_list_add(struct store_writer *writer, uint32_t span,
	enum span_state state);
void span_list_remove(struct store_writer *writer, uint32_t span);

/* ---- heap.c */
void heap_init(struct store_heap *heap, struct store_writer *writer,
	bool fresh);
void heap_fini(struct store_heap *heap);

/* ---- collapse.c: asks for a huge page for an extent whose file size covers
 * it. Slow. True if it is one now; all its pages exist then. */
bool collapse_extent(struct store_writer *writer, void *extent);

#endif
