/*
 * rrbatch.h - resource records in bulk: what a zone-file parser or a transfer
 * makes and the zone builder eats.
 *
 * A batch is one block of memory of records back to back, so that millions of
 * them cost no allocation each. Records start at a multiple of 4:
 *
 *   +0  line     4   1-based line in its file, 0: not from a file
 *   +4  ttl_sec  4
 *   +8  type     2
 *  +10  rdlen    2
 *  +12  file     2   index into the list of files of the parse
 *  +14  owner_len 1  octets of owner; 0: owner of the record before it
 *  +15  unused   1
 *  +16  owner        lower-cased uncompressed wire name, then
 *       rdata        uncompressed, checked for its type
 *
 * The first record of a batch always has its owner.
 */
#ifndef DNS_RRBATCH_H
#define DNS_RRBATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/name.h"

struct rrbatch_rr {
	uint32_t line;
	uint32_t ttl_sec;
	uint16_t type;
	uint16_t rdlen;
	uint16_t file;
	uint8_t owner_len;
	uint8_t unused;
	uint8_t data[];
};

struct rrbatch {
	struct rrbatch *next; /* later in the input; NULL: last */
	size_t count;         /* records */
	size_t len;           /* octets used in data */
	size_t capacity;      /* octets of room in data */
	uint8_t data[] __attribute__((aligned(8)));
};

static inline const uint8_t *
rrbatch_rr_rdata(const struct rrbatch_rr *rr)
{
	return rr->data + rr->owner_len;
}

static inline size_t
rrbatch_rr_size(const struct rrbatch_rr *rr)
{
	return (sizeof(*rr) + rr->owner_len + rr->rdlen + 3) & ~(size_t)3;
}

static inline const struct rrbatch_rr *
rrbatch_first(const struct rrbatch *batch)
{
	return (const struct rrbatch_rr *)batch->data;
}

static inline const struct rrbatch_rr *
rrbatch_next(const struct rrbatch_rr *rr)
{
	return (const struct rrbatch_rr *)((const uint8_t *)rr
		+ rrbatch_rr_size(rr));
}

/* Makes an empty batch with that much room (mmap for large ones, so that its
 * memory goes back to the system); NULL without memory. Release with
 * rrbatch_destroy. */
struct rrbatch *rrbatch_create(size_t capacity);
void rrbatch_destroy(struct rrbatch *batch);
/* Destroys a whole chain. */
void rrbatch_destroy_all(struct rrbatch *first);

/*
 * Lends the last batch of a chain (first and last NULL: there is none yet)
 * with room for a record with so much RDATA, whatever its owner. Where there
 * is too little, one more is made, of that capacity or of what the record
 * takes; NULL without memory.
 */
static inline struct rrbatch *
rrbatch_make_room(struct rrbatch **first, struct rrbatch **last, size_t rdlen,
	size_t capacity)
{
	size_t need = sizeof(struct rrbatch_rr) + NAME_MAX_LEN + rdlen + 3;
	struct rrbatch *batch = *last;

	if (batch != NULL && batch->capacity - batch->len >= need)
		return batch;
	batch = rrbatch_create(need > capacity ? need : capacity);
	if (batch == NULL)
		return NULL;
	if (*last != NULL)
		(*last)->next = batch;
	else
		*first = batch;
	*last = batch;
	return batch;
}

/*
 * Appends a record. owner NULL: same owner as the record before it.
 * returns NSD_OK; NSD_E_LIMIT if it does not fit (nothing changed).
 */
enum nsd_err rrbatch_append(struct rrbatch *batch,
	const struct rrbatch_rr *head, const uint8_t *owner,
	const uint8_t *rdata) MUST_USE;

#endif
