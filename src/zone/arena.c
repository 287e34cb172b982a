/* arena.c - bump allocation from mappings. */
#include <string.h>
#include <sys/mman.h>

#include "zone/arena.h"

#define ARENA_SIZE_FIRST (64u << 10)
#define ARENA_SIZE_MAX (4u << 20)
#define ARENA_HUGE (2u << 20) /* from this size on ask for huge pages */

struct arena_block {
	struct arena_block *next;
	size_t size; /* octets mapped */
};

void
arena_init(struct arena *arena, void *memory, size_t len)
{
	arena->blocks = NULL;
	arena->at = memory;
	arena->end = len > 0 ? arena->at + len : arena->at;
	arena->next_size = ARENA_SIZE_FIRST;
}

void
arena_fini(struct arena *arena)
{
	struct arena_block *block = arena->blocks;

	while (block != NULL) {
		struct arena_block *next = block->next;

		munmap(block, block->size);
		block = next;
	}
	arena->blocks = NULL;
	arena->at = NULL;
	arena->end = NULL;
}

static struct arena_block *
arena_map(struct arena *arena, size_t size)
{
	struct arena_block *block;

	size = (size + 4095) & ~(size_t)4095;
	block = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block == MAP_FAILED)
		return NULL;
	if (size >= ARENA_HUGE)
		madvise(block, size, MADV_HUGEPAGE);
	block->next = arena->blocks;
	block->size = size;
	arena->blocks = block;
	return block;
}

void *
arena_alloc(struct arena *arena, size_t len)
{
	struct arena_block *block;
	uint8_t *p;

	if (len > SIZE_MAX / 2)
		return NULL;
	len = (len + 7) & ~(size_t)7;
	if ((size_t)(arena->end - arena->at) >= len) {
		p = arena->at;
		arena->at += len;
		return p;
	}
	/* A large piece gets a mapping of its own: the rest of the current
	 * block stays in use. */
	if (len >= arena->next_size / 4) {
		block = arena_map(arena, sizeof(*block) + len);
		return block == NULL ? NULL : block + 1;
	}
	block = arena_map(arena, arena->next_size);
	if (block == NULL)
		return NULL;
	arena->end = (uint8_t *)block + block->size;
	p = (uint8_t *)(block + 1);
	arena->at = p + len;
	if (arena->next_size < ARENA_SIZE_MAX)
		arena->next_size *= 2;
	return p;
}

void *
arena_alloc_zero(struct arena *arena, size_t len)
{
	struct arena_block *before = arena->blocks;
	void *p = arena_alloc(arena, len);

	/* A fresh mapping is zero already. */
	if (p != NULL && arena->blocks == before)
		memset(p, 0, len);
	return p;
}
