/* rrbatch.c - blocks of memory full of resource records. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "dns/name.h"
#include "dns/rrbatch.h"

/* Blocks from this size on are mappings, so they go back to the system. */
#define MAP_FROM ((size_t)256 * 1024)

static size_t
block_size(size_t capacity)
{
	return sizeof(struct rrbatch) + capacity;
}

struct rrbatch *
rrbatch_create(size_t capacity)
{
	struct rrbatch *batch;

	if (capacity > SIZE_MAX / 2)
		return NULL;
	if (block_size(capacity) < MAP_FROM) {
		batch = malloc(block_size(capacity));
		if (batch == NULL)
			return NULL;
	} else {
		batch = mmap(NULL, block_size(capacity),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
		if (batch == MAP_FAILED)
			return NULL;
	}
	batch->next = NULL;
	batch->count = 0;
	batch->len = 0;
	batch->capacity = capacity;
	return batch;
}

void
rrbatch_destroy(struct rrbatch *batch)
{
	if (batch == NULL)
		return;
	if (block_size(batch->capacity) < MAP_FROM)
		free(batch);
	else
		munmap(batch, block_size(batch->capacity));
}

void
rrbatch_destroy_all(struct rrbatch *first)
{
	while (first != NULL) {
		struct rrbatch *next = first->next;

		rrbatch_destroy(first);
		first = next;
	}
}

enum nsd_err
rrbatch_append(struct rrbatch *batch, const struct rrbatch_rr *head,
	const uint8_t *owner, const uint8_t *rdata)
{
	struct rrbatch_rr *rr;
	size_t owner_len = owner != NULL ? name_len(owner) : 0;
	size_t len = sizeof(*rr) + owner_len + head->rdlen;
	size_t size = (len + 3) & ~(size_t)3;

	if (owner == NULL && batch->count == 0)
		return NSD_E_BUG;
	ASSERT_HOT(batch->len <= batch->capacity);
	if (batch->capacity - batch->len < size)
		return NSD_E_LIMIT;
	rr = (struct rrbatch_rr *)(batch->data + batch->len);
	*rr = *head;
	rr->owner_len = (uint8_t)owner_len;
	rr->unused = 0;
	if (owner_len > 0) {
		memcpy(rr->data, owner, owner_len);
		name_lower(rr->data);
	}
	if (head->rdlen > 0)
		memcpy(rr->data + owner_len, rdata, head->rdlen);
	/* The gap is zeroed, so that equal records are equal octets. */
	memset((uint8_t *)rr + len, 0, size - len);
	batch->len += size;
	batch->count++;
	return NSD_OK;
}
