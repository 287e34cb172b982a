/* rrbatch.c - blocks of memory full of resource records. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
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
	batch->pool = NULL;
	batch->count = 0;
	batch->len = 0;
	batch->capacity = capacity;
	return batch;
}

static void
block_free(struct rrbatch *batch)
{
	if (block_size(batch->capacity) < MAP_FROM)
		free(batch);
	else
		munmap(batch, block_size(batch->capacity));
}

/* ---- pools --------------------------------------------------------------- */

#define POOL_MAX 8u              /* batches that are kept */
#define POOL_STEP ((size_t)1 << 16) /* room is a multiple of this */

struct rrbatch_pool {
	pthread_mutex_t lock;
	struct rrbatch *free[POOL_MAX];
	unsigned free_count;
	unsigned taken;
};

struct rrbatch_pool *
rrbatch_pool_create(void)
{
	struct rrbatch_pool *pool = calloc(1, sizeof(*pool));

	if (pool != NULL)
		pthread_mutex_init(&pool->lock, NULL);
	return pool;
}

void
rrbatch_pool_trim(struct rrbatch_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->free_count > 0)
		block_free(pool->free[--pool->free_count]);
	pthread_mutex_unlock(&pool->lock);
}

void
rrbatch_pool_destroy(struct rrbatch_pool *pool)
{
	if (pool == NULL)
		return;
	assert(pool->taken == 0);
	rrbatch_pool_trim(pool);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

/* Counts a batch as taken. Returns one that is free and has the room, or NULL:
 * it is still to be made. */
static struct rrbatch *
pool_take(struct rrbatch_pool *pool, size_t capacity)
{
	struct rrbatch *found = NULL;

	pthread_mutex_lock(&pool->lock);
	for (unsigned i = pool->free_count; i-- > 0 && found == NULL;) {
		if (pool->free[i]->capacity < capacity)
			continue;
		found = pool->free[i];
		pool->free[i] = pool->free[--pool->free_count];
	}
	pool->taken++;
	pthread_mutex_unlock(&pool->lock);
	return found;
}

static void
pool_give(struct rrbatch_pool *pool, struct rrbatch *batch)
{
	bool kept;

	pthread_mutex_lock(&pool->lock);
	assert(pool->taken > 0);
	pool->taken--;
	kept = batch != NULL && pool->free_count < POOL_MAX;
	if (kept)
		pool->free[pool->free_count++] = batch;
	pthread_mutex_unlock(&pool->lock);
	if (!kept && batch != NULL)
		block_free(batch);
}

struct rrbatch *
rrbatch_pool_take(struct rrbatch_pool *pool, size_t capacity)
{
	struct rrbatch *batch;

	if (pool == NULL || capacity > SIZE_MAX / 2)
		return rrbatch_create(capacity);
	capacity = (capacity + POOL_STEP - 1) & ~(POOL_STEP - 1);
	batch = pool_take(pool, capacity);
	if (batch == NULL)
		batch = rrbatch_create(capacity);
	if (batch == NULL) {
		pool_give(pool, NULL);
		return NULL;
	}
	batch->pool = pool;
	batch->next = NULL;
	batch->count = 0;
	batch->len = 0;
	return batch;
}

void
rrbatch_destroy(struct rrbatch *batch)
{
	if (batch != NULL && batch->pool != NULL)
		pool_give(batch->pool, batch);
	else if (batch != NULL)
		block_free(batch);
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
