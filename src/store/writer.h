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

/* Where a span stands; the first two have lists. */
enum span_state {
	SPAN_ABSENT, /* no pages, no objects */
	SPAN_FREE,   /* pages, no objects */
	SPAN_LISTS,
	SPAN_USED = SPAN_LISTS,
};

/* Up to here the store grows by single spans, then by more at a time. */
#define GROW_SMALL (1u << 20)
#define GROW_MEDIUM (16u << 20)
#define GROW_MEDIUM_SPANS 4u

#define SPAN_PAGES (SPAN_SIZE / STORE_PAGE)
#define PAGE_GRANULES (STORE_PAGE / STORE_GRANULE)

struct span {
	uint32_t free; /* granules */
	uint32_t next, prev; /* in its list */
	uint8_t state;   /* enum span_state */
	bool huge;       /* lies in a huge page */
	uint8_t of;      /* enum holes_of */
	uint16_t absent; /* a bit a page: given back, though others are in
			  * use */
	uint64_t born;   /* epoch; no object in it is older */
};

struct span_list {
	uint32_t first, last, count;
};

/*
 * The holes among objects, by size: a class for each number of granules below
 * HOLE_EXACT, then eight for each power of two. An entry is where a hole
 * begins; it stays when the hole is used or joins another, and is looked at
 * again before it is believed. Each hole of a span in use has an entry (unless holes_lost).
 */
#define HOLE_EXACT_LOG 7u
#define HOLE_EXACT (1u << HOLE_EXACT_LOG)
#define HOLE_CLASSES (HOLE_EXACT + 8 * 6) /* up to a span */
#define HOLE_WORDS ((HOLE_CLASSES + 63) / 64)

#define HOLES_FEW 8u

struct hole_class {
	uint32_t *at; /* granules, as a binary heap: the lowest first; NULL,
		       * few, or a block that is freed when few are enough */
	uint32_t count, max;
	/* Hundreds of small blocks, each allocated whenever the first hole of
	 * its size came, would each keep a page of the allocator's. */
	uint32_t few[HOLES_FEW];
};

struct holes {
	uint64_t some[HOLE_WORDS]; /* a bit a class: it has entries */
	struct hole_class classes[HOLE_CLASSES];
};

/* What the holes of a span are for; each has a table. */
enum holes_of {
	HOLES_OPEN,
	HOLES_DRAINING, /* used last: see holes_settle */
	HOLES_LASTING,  /* objects of store_writer_lasting */
	HOLES_TABLES
};

/*
 * Allocates for one thread: takes a hole as a whole, which then counts as used,
 * and objects from it one behind the other.
 */
struct store_heap {
	uint32_t bump;  /* next granule, counted from the store's start */
	uint32_t limit; /* end of the hole */
	uint8_t *base;
	int64_t live; /* granules allocated less those freed here */
	bool fresh;   /* wants neighbours together, or lasts: no small holes */
	struct store_writer *writer;
	struct cds_list_head entry;
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
	struct store_heap lasting; /* takes one object at a time */

	pthread_mutex_t lock; /* for the rest */
	struct span *spans;
	uint32_t span_max;
	struct span_list lists[SPAN_LISTS];
	struct holes holes[HOLES_TABLES];
	bool holes_lost; /* there was no memory for some */
	uint64_t freed;  /* granules, since holes_settle */
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

/* The first granule of a span that had no objects and is now claimed as a
 * whole, or 0: the store is full. */
uint32_t span_take(struct store_writer *writer);
/* The first of as many adjacent ones as count granules take up, which alone are
 * claimed, or 0. */
uint32_t span_take_run(struct store_writer *writer, uint32_t count);

static inline unsigned
span_bit(const uint64_t *bitmap, uint32_t at)
{
	return (unsigned)(bitmap[at / 64] >> (at % 64) & 1);
}

/* The first hole in a span at or behind `from`; false if there is none. */
bool span_find_hole(const uint64_t *bitmap, uint32_t from, uint32_t *hole,
	uint32_t *hole_count);
/* Where the hole begins that a free granule lies in. */
uint32_t span_hole_begin(const uint64_t *bitmap, uint32_t at);

/* Granules of one span become used, or free: a span without objects then is
 * on the list of such. */
void span_claim(struct store_writer *writer, uint32_t granule,
	uint32_t count);
void span_unclaim(struct store_writer *writer, uint32_t granule,
	uint32_t count);
/* Of count free granules in a row as many, at least `wanted`, as to leave most
 * pages that are absent so. */
uint32_t span_room_present(struct store_writer *writer, uint32_t granule,
	uint32_t count, uint32_t wanted);
/* Makes sure that granules of one span have their pages. False: no memory. */
bool span_make_absent(struct store_writer *writer, uint32_t granule,
	uint32_t count);

/* Makes the pages of absent spans, `count` from `span`. False: no memory. */
bool span_make_pages(struct store_writer *writer, uint32_t span,
	uint32_t count);
void span_list_add(struct store_writer *writer, uint32_t span,
	enum span_state state);
void span_list_remove(struct store_writer *writer, uint32_t span);

/* ---- holes.c: all under the lock */
/* Makes the table from the bitmaps. */
void holes_load(struct store_writer *writer);
void holes_fini(struct store_writer *writer);
/* Forgets what is not true any more, and gives memory back. */
void holes_trim(struct store_writer *writer);
/*
 * Chooses which spans are draining, once in a while: the emptiest, as many as
 * the holes of the others have room for the objects of. So these spans become
 * free, little by little, as objects are replaced.
 */
void holes_settle(struct store_writer *writer);
/* Claims the smallest hole of a table with room for count granules (fewer than
 * a span has). Returns its granules, or 0. */
uint32_t holes_take(struct store_writer *writer, enum holes_of of,
	uint32_t count, uint32_t *granule);
/* The first granule of a hole of just that size (below HOLE_EXACT) in a span
 * that is not draining, now claimed, or 0. */
uint32_t holes_take_exact(struct store_writer *writer, uint32_t count);
/* Frees granules of one span. */
void holes_give(struct store_writer *writer, uint32_t granule,
	uint32_t count);

/* True if there may be one for holes_take_exact. Any thread, no lock. */
static inline bool
holes_have(const struct store_writer *w, size_t count)
{
	return count < HOLE_EXACT
		&& (rcu_load_relaxed(&w->holes[HOLES_OPEN].some[count / 64])
				>> (count % 64)
			   & 1)
		!= 0;
}

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

/* ---- collapse.c */
/* Gives back some of the pages of free spans, if these are many: at most an
 * extent's. For each call of store_reclaim. */
void trim_some(struct store_writer *writer);
/* Asks for a huge page for an extent whose file size covers it.
 * Slow. True if it is one now; all its pages exist then. */
bool collapse_extent(struct store_writer *writer, void *extent);

#endif
