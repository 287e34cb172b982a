/* arena.c - bump allocation from mappings. */
#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/assert.h"

#define ARENA_SIZE_FIRST (64u << 10)
#define ARENA_SIZE_MAX (4u << 20)
#define ARENA_HUGE (2u << 20) /* from this size on ask for huge pages */
#define ARENA_ALIGN 8u

struct arena_block {
	struct arena_block *next;
	size_t size; /* octets mapped */
};

void
arena_init(struct arena *arena, void *memory, size_t len)
{
	assert(memory != NULL || len == 0);
	assert((uintptr_t)memory % ARENA_ALIGN == 0);
	arena->blocks = NULL;
	arena->at = memory;
	arena->end = len > 0 ? arena->at + len : arena->at;
	arena->next_size = ARENA_SIZE_FIRST;
	arena->mapped = 0;
}

/* Unmaps all blocks but kept, which may be NULL. */
static void
arena_unmap(struct arena *arena, struct arena_block *kept)
{
	struct arena_block *block = arena->blocks;

	arena->blocks = kept;
	arena->mapped = kept == NULL ? 0 : kept->size;
	while (block != NULL) {
		struct arena_block *next = block->next;

		if (block == kept)
			block->next = NULL;
		else
			munmap(block, block->size);
		block = next;
	}
}

void
arena_fini(struct arena *arena)
{
	arena_unmap(arena, NULL);
	arena->at = NULL;
	arena->end = NULL;
}

void
arena_reset(struct arena *arena)
{
	struct arena_block *block = arena->blocks;

	/* Keeps the current block. The others are full, or hold one large
	 * piece each. */
	while (block != NULL && (uint8_t *)block + block->size != arena->end)
		block = block->next;
	assert(block != NULL || arena->at == NULL);
	arena_unmap(arena, block);
	arena->at = block == NULL ? NULL : (uint8_t *)(block + 1);
	arena->end = block == NULL ? NULL : (uint8_t *)block + block->size;
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
	arena->mapped += size;
	return block;
}

static void *
arena_take(struct arena *arena, size_t len, size_t align)
{
	size_t pad = (size_t)(-(uintptr_t)arena->at & (align - 1));
	struct arena_block *block;
	uint8_t *p;

	ASSERT_HOT(arena->at <= arena->end);
	if (len > SIZE_MAX / 2)
		return NULL;
	if ((size_t)(arena->end - arena->at) >= len + pad) {
		p = arena->at + pad;
		arena->at = p + len;
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
arena_alloc(struct arena *arena, size_t len)
{
	return arena_take(arena, len, ARENA_ALIGN);
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

void *
arena_copy(struct arena *arena, const void *data, size_t len)
{
	void *p = arena_take(arena, len > 0 ? len : 1, 1);

	if (p != NULL && len > 0)
		memcpy(p, data, len);
	return p;
}

char *
arena_copy_text(struct arena *arena, const char *text, size_t len)
{
	char *p = arena_take(arena, len + 1, 1);

	if (p != NULL) {
		memcpy(p, text, len);
		p[len] = '\0';
	}
	return p;
}
