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

/* Objects by size: those of kind 0 up to 128 octets, of each further kind up to
 * twice as much, of the last up to 16 KiB. */
#define KIND_COUNT 8u
#define KIND_SMALL_MAX 16u /* granules, of kind 0 */
#define KIND_LARGE_MAX (SPAN_GRANULES / 4)

/*
 * Where a span stands. A span that no heap holds is on the list of its state.
 * PARTIAL + 7 * k + n - 1: n eighths of its granules are free, n from 1 to 7,
 * and its holes are for objects of kind k, so that small ones do not break up
 * the room that large ones leave. One with less than an eighth free is on no
 * list: searching it would cost more than it gives.
 */
enum span_state {
	SPAN_ABSENT, /* no pages, no objects */
	SPAN_FREE,   /* pages, no objects */
	SPAN_PARTIAL,
	SPAN_LISTS = SPAN_PARTIAL + 7 * KIND_COUNT,
	SPAN_FULL = SPAN_LISTS,
	SPAN_OWNED, /* a heap allocates from it */
};

struct span {
	uint32_t free; /* granules; changed atomically */
	uint32_t next, prev; /* in its list */
	uint8_t state; /* enum span_state; under the lock */
	uint8_t kind;  /* see span_state */
	bool huge;     /* lies in a huge page */
	uint64_t born; /* epoch; no object in it is older */
};

struct span_list {
	uint32_t first, last;
};

/* A hole of a span, that objects are taken from one behind the other. */
struct lane {
	uint32_t bump;  /* next granule, counted from the store's start */
	uint32_t limit; /* end of the hole */
	uint32_t span;  /* that it lies in, or SPAN_NONE */
	bool whole;     /* the span had no objects when it was taken */
};

#define BIN_MAX 32u

/* Holes of one size, used as far as their spans know. */
struct bin {
	uint32_t count;
	uint32_t granules[BIN_MAX];
};

/*
 * Allocates for one thread. Everything up to 1 KiB comes out of the first
 * lane as long as that leads through a span that was empty: so what is asked
 * for in a row lies in a row. Once it leads through holes among old objects,
 * there is a lane for each kind, and small ones come out of the bins first:
 * what was freed last, and holes that were too small for what was asked for
 * when they were found. A fresh heap has no use for bins.
 */
struct store_heap {
	struct lane lanes[KIND_COUNT]; /* the first is what store_alloc sees */
	uint8_t *base;
	int64_t live; /* granules allocated less those freed here */
	bool fresh;   /* prefers spans that are mostly free */
	struct store_writer *writer;
	struct cds_list_head entry;
	struct bin bins[KIND_SMALL_MAX + 1]; /* by granules; 0 is not used */
};

/* Objects that wait for readers, all retired in one epoch. */
struct retired_block {
	struct cds_list_head entry;
	uint64_t epoch;
	uint64_t octets;
	uint32_t count;
	uint32_t max;
	struct {
		store_ref ref;
		uint32_t len;
	} objects[];
};

/* A version that some reader has pinned: see struct store_slot. */
struct pin_range {
	uint64_t low, high;
};

#define PIN_RANGES 256u

/* What is online and pinned, as far as it matters to the writer. */
struct holders {
	uint64_t oldest_seen; /* 0: nobody is online */
	unsigned count;       /* further ones are merged into the last */
	struct pin_range pins[PIN_RANGES];
};

/* Objects that wait for one pin alone, as far as is known. */
struct held {
	struct cds_list_head entry;
	struct pin_range pin;
	struct cds_list_head blocks;
	uint64_t octets;
};

/* Since when a reader holds something back: see store_find_holder. */
struct holding {
	uint64_t epoch; /* 0: it does not */
	int64_t since_msec;
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
	struct span_list lists[SPAN_LISTS];
	struct cds_list_head heaps;
	int64_t live; /* granules, of heaps that are gone */
	bool no_collapse; /* the kernel refuses huge pages */
	uint64_t punched; /* octets given back to the kernel, in all */

	/* The writer's thread alone. */
	struct cds_list_head retired; /* struct retired_block, oldest first */
	struct cds_list_head held;    /* struct held */
	struct holders holders;       /* as of the last scan */
	struct holding *holdings;     /* a reader each */
	uint64_t retired_octets;      /* that wait, here and there */
	uint64_t retired_total;
	uint64_t reclaimed_total;
};

static inline uint32_t
store_granules(size_t len)
{
	return (uint32_t)((len + STORE_GRANULE - 1) / STORE_GRANULE);
}

/* ---- span.c: all under the lock unless said otherwise */

/* Fills the table from the bitmaps of a store that exists. */
void span_table_load(struct store_writer *writer);
/* Makes sure of all pages that are in use: a file may have been copied with
 * holes for its zeros, and a write to one could find the disk full. */
bool span_make_used_pages(struct store_writer *writer);

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

/*
 * A span, now owned by the caller, or SPAN_NONE when the store is full. It has
 * no objects (*whole), or room for the kind, at least eighths of it; if eighths
 * is 8, no objects unless the store is full.
 */
uint32_t span_take(struct store_writer *writer, unsigned kind,
	unsigned eighths, bool *whole);
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
/* Gives all that is free back to the spans. */
void heap_flush(struct store_heap *heap);
/* Frees granules, of as many spans as there are; no lock is held. */
void heap_free_granules(struct store_writer *writer, uint32_t granule,
	uint32_t count);

/* ---- sweep.c */
struct store_sweep {
	struct store_writer *writer;
	uint32_t first; /* granule of span 0 */
	uint32_t count; /* granules */
	bool damaged;
	uint64_t marks[]; /* a bit a granule, as the bitmaps of the spans */
};

/* ---- retire.c */
/* The slots as the writer sees them. */
const struct store_slot *writer_slot(const struct store_writer *writer,
	unsigned slot);
void holders_scan(const struct store_writer *writer, struct holders *holders);
/* Marks all that is retired as free, as if nobody read it, and does not touch
 * it: for a file whose writer ends. */
void retired_forget(struct store_writer *writer);
void retired_fini(struct store_writer *writer);

/* ---- collapse.c: asks for a huge page for an extent whose file size covers
 * it. Slow. True if it is one now; all its pages exist then. */
bool collapse_extent(struct store_writer *writer, void *extent);

#endif
