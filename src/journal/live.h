/*
 * live.h - the live entries of a journal in memory: by zone, in the
 * order of their ids, and by segment.
 */
#ifndef SRC_JOURNAL_LIVE_H
#define SRC_JOURNAL_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "base/siphash.h"
#include "journal/journal_entry.h"

struct live_segment {
	struct cds_list_head node;    /* in live.segments, by number */
	struct cds_list_head entries; /* live */
	uint32_t number;
	bool is_lost;                 /* parts of it cannot be read now */
	uint64_t octets;              /* of the file */
};

struct live_zone {
	struct live_zone *next;      /* of its bucket */
	struct cds_list_head entries; /* by id */
	struct live_entry *hint;     /* last place of an entry that was not
				      * added at the end */
	uint64_t octets;              /* on disk, of entries */
	uint64_t hash;
	uint8_t apex[];               /* lower case */
};

struct live_entry {
	struct cds_list_head in_zone;
	struct cds_list_head in_segment;
	struct live_zone *zone;
	struct live_segment *segment;
	bool moving;                  /* a copy of it is under way */
	struct journal_entry entry;
};

struct live {
	struct live_zone **buckets;
	size_t bucket_count;          /* a power of two */
	size_t zone_count;
	uint8_t key[SIPHASH_KEY_LEN]; /* of the hash of names: random */
	struct cds_list_head segments;
	uint64_t entry_count;
	uint64_t record_octets;       /* of live entries, in segments */
	uint64_t file_octets;         /* of live entries, in files */
	uint64_t segment_octets;
	uint64_t segment_count;
};

/* Prepares an empty table. NSD_E_MEMORY, or NSD_E_SYSTEM with errno: live_fini
 * is still fine. */
enum nsd_err live_init(struct live *live) MUST_USE;
void live_fini(struct live *live);

/* The zone's entries; NULL: it has none. The apex in any case. */
struct live_zone *live_find_zone(const struct live *live,
	const uint8_t *apex) MUST_USE;
/* The entry of an id; NULL: there is none. */
struct live_entry *live_find(const struct live *live, const uint8_t *apex,
	uint64_t id) MUST_USE;
/* The entry with the largest id of a zone that has entries. */
struct live_entry *live_newest(const struct live_zone *zone);

/* An entry of the zone whose id is from first to last; NULL: there is none (any
 * more). Cost: constant if the newest or the oldest is one. */
struct live_entry *live_find_between(const struct live *live,
	const uint8_t *apex, uint64_t first, uint64_t last) MUST_USE;

/* Notes that entries of a zone, whose ids are from first to last, are not
 * doubtful. Cost: the zone's entries from first on. */
void live_clear_doubt(struct live *live, const uint8_t *apex, uint64_t first,
	uint64_t last);

/*
 * Adds an entry; if there is one of this id, it gets the place of the new one.
 * Its segment is made if it is not there. Cost: constant if ids come in order,
 * or in order among those that come late.
 * returns NSD_OK, NSD_E_MEMORY.
 */
enum nsd_err live_add(struct live *live, const uint8_t *apex,
	const struct journal_entry *entry) MUST_USE;
/* Removes and frees the entry, and its zone if that was the last one. */
void live_remove(struct live *live, struct live_entry *entry);

/* The segment of a number, which is made if it is not there; NULL: without
 * memory. Cost: constant for the newest ones. */
struct live_segment *live_get_segment(struct live *live, uint32_t number)
	MUST_USE;
/* Sets the length of a segment's file. */
void live_set_octets(struct live *live, struct live_segment *segment,
	uint64_t octets);
/* Removes a segment without entries. */
void live_remove_segment(struct live *live, struct live_segment *segment);

#endif
