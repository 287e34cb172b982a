/*
 * rrbatch.h - resource records in bulk: a zone-file parser or a transfer makes
 * them, the zone builder reads them.
 *
 * A batch is one block of memory with records back to back, so that millions of
 * records need few allocations. Each record starts at a multiple of 4:
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

struct rrbatch_pool;

struct rrbatch {
	struct rrbatch *next; /* later in the input; NULL: last */
	struct rrbatch_pool *pool; /* gets the batch's memory when it is
				    * released; or NULL */
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

/* Makes an empty batch with capacity octets of room; NULL if there is no
 * memory. A large one is a mapping, so that its memory goes back to the
 * system. */
struct rrbatch *rrbatch_create(size_t capacity);
/* Releases one batch; NULL is fine. Any thread. */
void rrbatch_destroy(struct rrbatch *batch);
/* Releases a whole chain. */
void rrbatch_destroy_all(struct rrbatch *first);

/*
 * A pool keeps the memory of some released batches for new ones. A caller that
 * makes and releases batches in turns gets the same pages again, which takes
 * less time than fresh ones. Batches may be taken and released in several
 * threads.
 */
struct rrbatch_pool *rrbatch_pool_create(void); /* NULL without memory */
/* Gives the memory of released batches back to the system. */
void rrbatch_pool_trim(struct rrbatch_pool *pool);
/* Destroys a pool whose batches are all released. NULL is fine. */
void rrbatch_pool_destroy(struct rrbatch_pool *pool);
/* As rrbatch_create, from a pool; NULL: as rrbatch_create. There may be more
 * room than was asked for. */
struct rrbatch *rrbatch_pool_take(struct rrbatch_pool *pool, size_t capacity);

/*
 * Makes room in a chain for a record with rdlen octets of RDATA, whatever its
 * owner. Lends the last batch; if it has too little room, appends a new one
 * with `capacity` octets, or more if the record needs more. An empty chain has
 * first and last NULL. Returns NULL if there is no memory; the chain is then as
 * before.
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
 * Appends a record. owner is a wire name in any case; NULL: the owner of the
 * record before it, which must be in this batch.
 * returns NSD_OK; NSD_E_LIMIT if it does not fit; NSD_E_BUG if owner is NULL
 *     and the batch is empty. An error changes nothing.
 */
enum nsd_err rrbatch_append(struct rrbatch *batch,
	const struct rrbatch_rr *head, const uint8_t *owner,
	const uint8_t *rdata) MUST_USE;

#endif
