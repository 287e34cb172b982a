/* arena.c - bump allocation from mappings. */
#include "config.h"

#include <assert.h>
#include <stdbool.h>
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
	size_t size;  /* octets mapped */
	bool is_own;  /* of one piece */
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

struct arena_mark
arena_mark(const struct arena *arena)
{
	return (struct arena_mark){
		.blocks = arena->blocks,
		.at = arena->at,
		.end = arena->end,
		.next_size = arena->next_size,
	};
}

void
arena_rewind(struct arena *arena, const struct arena_mark *mark)
{
	while (arena->blocks != mark->blocks) {
		struct arena_block *block = arena->blocks;

		assert(block != NULL);
		arena->blocks = block->next;
		arena->mapped -= block->size;
		munmap(block, block->size);
	}
	arena->at = mark->at;
	arena->end = mark->end;
	arena->next_size = mark->next_size;
	if (arena->at != NULL)
		POISON_HOT(arena->at, (size_t)(arena->end - arena->at));
}

/* Octets of whole pages. */
static size_t
arena_round(size_t size)
{
	return (size + 4095) & ~(size_t)4095;
}

static struct arena_block *
arena_map(struct arena *arena, size_t size)
{
	struct arena_block *block;

	size = arena_round(size);
	block = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block == MAP_FAILED)
		return NULL;
	if (size >= ARENA_HUGE)
		madvise(block, size, MADV_HUGEPAGE);
	block->next = arena->blocks;
	block->size = size;
	block->is_own = false;
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
		if (block == NULL)
			return NULL;
		block->is_own = true;
		return block + 1;
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

/* The link to the block that a piece has for itself; NULL if it has none. */
static struct arena_block **
arena_find_own(struct arena *arena, const void *piece, size_t len)
{
	struct arena_block **link = &arena->blocks;

	if (len < ARENA_SIZE_FIRST / 4)
		return NULL;
	while (*link != NULL && (const void *)(*link + 1) != piece)
		link = &(*link)->next;
	return *link != NULL && (*link)->is_own ? link : NULL;
}

static void *
arena_remap(struct arena *arena, struct arena_block **link, size_t len)
{
	size_t size = arena_round(sizeof(**link) + len), old = (*link)->size;
	struct arena_block *block = mremap(*link, old, size, MREMAP_MAYMOVE);

	if (block == MAP_FAILED)
		return NULL;
	if (size >= ARENA_HUGE)
		madvise(block, size, MADV_HUGEPAGE);
	block->size = size;
	*link = block;
	arena->mapped += size - old;
	return block + 1;
}

void *
arena_grow(struct arena *arena, void *piece, size_t len, size_t more)
{
	struct arena_block **link = arena_find_own(arena, piece, len);
	void *p;

	assert(more >= len);
	if (link != NULL && more <= SIZE_MAX / 2)
		return arena_remap(arena, link, more);
	p = arena_alloc(arena, more);
	if (p == NULL || len == 0)
		return p;
	memcpy(p, piece, len);
	POISON_HOT(piece, len);
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
