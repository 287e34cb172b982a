/*
 * state.h - the writer's own state. It is private to the process of the
 * writer: nothing here is shared with other processes.
 */
#ifndef STORE_STATE_H
#define STORE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/rcu.h"
#include "store/file.h"
#include "store/layout.h"
#include "store/writer.h"

#define SPAN_NONE UINT32_MAX

/* The state of a span. There is a list of each of the first two states. */
enum span_state {
	SPAN_ABSENT, /* no pages, no objects */
	SPAN_FREE,   /* pages, no objects */
	SPAN_LISTS,
	SPAN_USED = SPAN_LISTS,
};

/* Octets up to which the store grows by single spans, then by a few. */
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
	bool guessed;    /* pages of absent may be there, too */
	uint16_t absent; /* a bit a page: given back, while other pages of the
			  * span are in use */
	uint64_t born;   /* epoch; no object in it is older */
};

struct span_list {
	uint32_t first, last, count;
};

/*
 * The holes among objects, by size. There is a class for each number of
 * granules below HOLE_EXACT, then eight for each power of two. An entry says
 * where a hole begins. It stays when the hole is used or joins another, so it
 * is compared with the bitmap before it is believed. Each hole of a span in
 * use has an entry, unless holes_lost.
 */
#define HOLE_EXACT_LOG 7u
#define HOLE_EXACT (1u << HOLE_EXACT_LOG)
#define HOLE_CLASSES (HOLE_EXACT + 8 * 6) /* holes are less than a span */
#define HOLE_WORDS ((HOLE_CLASSES + 63) / 64)

#define HOLES_FEW 8u

struct hole_class {
	/* Granules, as a binary heap, the lowest first. NULL, or few, or an
	 * allocated block, which is freed when few has room for all. */
	uint32_t *at;
	uint32_t count, max;
	/* The first entries of each class are here: hundreds of small blocks,
	 * allocated at different times, would keep a page of malloc each. */
	uint32_t few[HOLES_FEW];
};

struct holes {
	uint64_t some[HOLE_WORDS]; /* a bit a class: it has entries */
	struct hole_class classes[HOLE_CLASSES];
};

/* The use of a span's holes. Each kind has a table of its own. */
enum holes_of {
	HOLES_OPEN,
	HOLES_DRAINING, /* used last: see holes_choose_draining */
	HOLES_LONG_LIVED, /* objects of store_writer_long_lived */
	HOLES_TABLES
};

/*
 * An allocator for one thread. It claims a hole as a whole, and cuts objects
 * off it one behind the other.
 */
struct store_heap {
	uint32_t bump;  /* next granule, counted from the store's start */
	uint32_t limit; /* end of the hole */
	uint8_t *base;
	int64_t live; /* granules allocated less granules freed, here */
	bool fresh;   /* takes no small holes, so that neighbours stay
		       * together; so does the long-lived one */
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

/* The epochs of a pin: see struct store_slot. */
struct pin_range {
	uint64_t low, high;
};

#define PIN_RANGES 256u

/* The readers online and the pins, as the writer found them. */
struct holders {
	uint64_t oldest_seen; /* 0: no reader is online */
	unsigned count;       /* of pins; the last one stands for all further */
	uint32_t merged_at;   /* the pins from this place in a slot on;
			       * SLOT_PINS: there are none */
	struct pin_range pins[PIN_RANGES];
};

/*
 * Pins by what they hold, from the oldest low on: high grows, too, for a pin
 * that reaches no further than an older one holds nothing beyond it. An object
 * is looked up in them, however many pins there are.
 */
struct pin_steps {
	unsigned count;
	struct pin_range pins[PIN_RANGES];
	struct held *held[PIN_RANGES]; /* the objects that wait for a pin; NULL:
					* not known */
};

/* Objects that wait for one pin. When it is gone, others may still hold some of
 * them. */
struct held {
	struct cds_list_head entry;
	struct pin_range pin;
	struct cds_list_head blocks;
	uint64_t octets;
};

/* A time, of the caller's clock, by which the writer had come to an epoch. */
struct epoch_mark {
	uint64_t epoch;
	int64_t at_msec;
	uint64_t served; /* octets: the most since the mark before */
};

/* The marks of the last seconds are denser than those of the hours before: ages
 * by them are a seventh too small at most, for days. */
#define EPOCH_MARKS 128u

struct store_writer {
	struct store *store;
	struct store_view view;
	uint8_t *base; /* as view.base, writable */
	struct store_header *header;
	uint8_t *slots;
	struct store_heap heap; /* the writer's own */
	struct store_heap long_lived; /* never keeps a hole */

	pthread_mutex_t lock; /* of all up to `punched` */
	struct span *spans;
	uint32_t span_max;
	struct span_list lists[SPAN_LISTS];
	struct holes holes[HOLES_TABLES];
	bool holes_lost; /* holes without an entry: there was no memory */
	uint64_t freed;  /* granules, since holes_choose_draining */
	struct cds_list_head heaps;
	int64_t live; /* granules, of heaps that are gone */
	bool no_collapse; /* the kernel refuses huge pages */
	int lack; /* errno of the last call that made no pages; 0: no span was
		   * left */
	uint64_t lack_len; /* octets of these pages */
	uint64_t punched; /* octets given back to the kernel, in all */

	uint64_t *heartbeat; /* NULL: not wanted; atomic */
	uint32_t lacks; /* atomic: objects that there was no room for */

	pthread_mutex_t retire_lock; /* of all below and of a new
				      * epoch; taken before lock */
	struct cds_list_head retired; /* struct retired_block, oldest first */
	struct cds_list_head held;    /* struct held, one a pin at most */
	/* Objects that waited for pins which are gone, to be looked at
	 * again. */
	struct cds_list_head unheld;  /* struct retired_block */
	uint64_t unheld_octets;
	struct holders holders;       /* as of the last scan */
	struct pin_steps steps;       /* of the pins of holders */
	struct epoch_mark marks[EPOCH_MARKS]; /* the oldest first */
	unsigned mark_count;
	uint64_t served;              /* octets: the most since the last mark */
	uint64_t retired_octets;      /* in the three lists together */
	uint64_t retired_total;
	uint64_t reclaimed_total;
};

static inline void
writer_heartbeat(const struct store_writer *writer)
{
	if (writer->heartbeat != NULL)
		rcu_store_relaxed(writer->heartbeat,
			rcu_load_relaxed(writer->heartbeat) + 1);
}

static inline uint32_t
store_granules(size_t len)
{
	return (uint32_t)((len + STORE_GRANULE - 1) / STORE_GRANULE);
}

static inline uint64_t *
span_bitmap(struct store_writer *writer, uint32_t span)
{
	ASSERT_HOT(span < writer->span_max);
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
	uint32_t first = (uint32_t)(writer->header->data_at / STORE_GRANULE);

	ASSERT_HOT(granule >= first
		&& (granule - first) / SPAN_GRANULES
			< rcu_load_relaxed(&writer->header->span_count));
	return (granule - first) / SPAN_GRANULES;
}

static inline unsigned
span_bit(const uint64_t *bitmap, uint32_t at)
{
	ASSERT_HOT(at < SPAN_GRANULES);
	return (unsigned)(bitmap[at / 64] >> (at % 64) & 1);
}

#endif
