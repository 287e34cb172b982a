/*
 * layout.h - the layout of the two files of the store: the store itself, and
 * the slots of the readers. Octet pictures are in doc/store.md.
 */
#ifndef STORE_LAYOUT_H
#define STORE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/sum.h"
#include "store/store.h"

#define STORE_MAGIC "NSDstore"
#define STORE_LAYOUT_VERSION 2u

/* A number that reads differently on a machine with another order of octets. */
#define STORE_MACHINE UINT64_C(0x0807060504030201)
/* "clean", as the value of the mark in a file. */
#define STORE_CLEAN UINT64_C(0x6e61656c63)

#define STORE_PAGE 4096u
#define STORE_EXTENT (2u << 20)    /* a huge page */
#define SPAN_SIZE (64u << 10)      /* the unit of growth and of lists */
#define SPAN_GRANULES (SPAN_SIZE / STORE_GRANULE)
#define SPAN_BITMAP (SPAN_GRANULES / 8) /* octets; a bit a granule */
#define SPAN_WORDS (SPAN_GRANULES / 64)
#define EXTENT_SPANS (STORE_EXTENT / SPAN_SIZE)

/* Octets that references can name. */
#define STORE_ROOM_MAX ((uint64_t)STORE_GRANULE << 32)

/* The first page of the store. The bitmaps follow it; the spans begin at
 * data_at. Only the writer writes here. */
struct store_header {
	uint8_t magic[8];
	uint32_t layout;
	uint32_t span_count;  /* spans that have existed so far */
	uint64_t reservation; /* octets of address space */
	uint64_t data_at;     /* offset of span 0 */
	uint64_t machine;     /* STORE_MACHINE */
	uint64_t contents;    /* the caller's version; 0 in memory */
	uint64_t clean;       /* STORE_CLEAN: the sum counts. In a file */
	uint8_t unused[8];
	/* A cache line that readers look at between batches. */
	uint64_t epoch;
	uint8_t unused2[56];
	uint32_t roots[STORE_ROOT_COUNT];
	struct sum sum; /* of a clean file, taken with zeros in this place */
};

_Static_assert(offsetof(struct store_header, epoch) == 64
		&& offsetof(struct store_header, roots) == 128
		&& offsetof(struct store_header, sum) == 192,
	"epoch and roots have a cache line each");

#define SLOT_PINS 252u

/* The page of a reader in the file of slots. The reader alone writes to it;
 * main clears it after the reader died. */
struct store_slot {
	uint64_t seen;    /* epoch; 0: offline */
	uint32_t pin_max; /* no pin at or behind this index was ever used */
	int32_t pid;      /* 0: free slot */
	char name[16];
	uint8_t unused[32];
	/*
	 * Versions that the reader holds on to, by epochs. Objects that were
	 * retired before low, or allocated after high, cannot be reached from
	 * the version. The last place may stand for several pins.
	 */
	struct store_slot_pin {
		uint64_t low;  /* 0: not pinned */
		uint64_t high; /* UINT64_MAX: not known yet */
	} pins[SLOT_PINS];
};

_Static_assert(sizeof(struct store_slot) == STORE_PAGE,
	"a reader has a page of its own");

static inline uint64_t
layout_data_at(uint64_t reservation)
{
	uint64_t bitmaps = reservation / SPAN_SIZE * SPAN_BITMAP;

	return (STORE_PAGE + bitmaps + STORE_EXTENT - 1)
		& ~(uint64_t)(STORE_EXTENT - 1);
}

static inline uint32_t
layout_span_max(uint64_t reservation)
{
	/* The end of the last span has a number, too: that of a granule. */
	uint64_t end = reservation < STORE_ROOM_MAX
		? reservation
		: STORE_ROOM_MAX - SPAN_SIZE;

	return (uint32_t)((end - layout_data_at(reservation)) / SPAN_SIZE);
}

#endif
