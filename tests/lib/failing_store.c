/* failing_store.c - memory of the store, of arenas and of batches of records
 * that runs out. */
#include <stddef.h>

#include "base/arena.h"
#include "dns/rrbatch.h"
#include "lib/failing.h"
#include "lib/failing_store.h"

/* The linker puts these before the real ones (--wrap). */
void *__real_store_alloc(struct store_heap *heap, size_t len, store_ref *ref);
void *__wrap_store_alloc(struct store_heap *heap, size_t len, store_ref *ref);
void *__real_arena_alloc(struct arena *arena, size_t len);
void *__wrap_arena_alloc(struct arena *arena, size_t len);
void *__real_arena_grow(struct arena *arena, void *piece, size_t len,
	size_t more);
void *__wrap_arena_grow(struct arena *arena, void *piece, size_t len,
	size_t more);
void *__real_arena_alloc_zero(struct arena *arena, size_t len);
void *__wrap_arena_alloc_zero(struct arena *arena, size_t len);
void *__real_arena_copy(struct arena *arena, const void *data, size_t len);
void *__wrap_arena_copy(struct arena *arena, const void *data, size_t len);
struct rrbatch *__real_rrbatch_create(size_t capacity);
struct rrbatch *__wrap_rrbatch_create(size_t capacity);

void *
__wrap_store_alloc(struct store_heap *heap, size_t len, store_ref *ref)
{
	return failing_now() ? NULL : __real_store_alloc(heap, len, ref);
}

void *
__wrap_arena_alloc(struct arena *arena, size_t len)
{
	return failing_now() ? NULL : __real_arena_alloc(arena, len);
}

void *
__wrap_arena_grow(struct arena *arena, void *piece, size_t len, size_t more)
{
	return failing_now() ? NULL
		: __real_arena_grow(arena, piece, len, more);
}

void *
__wrap_arena_alloc_zero(struct arena *arena, size_t len)
{
	return failing_now() ? NULL : __real_arena_alloc_zero(arena, len);
}

void *
__wrap_arena_copy(struct arena *arena, const void *data, size_t len)
{
	return failing_now() ? NULL : __real_arena_copy(arena, data, len);
}

struct rrbatch *
__wrap_rrbatch_create(size_t capacity)
{
	return failing_now() ? NULL : __real_rrbatch_create(capacity);
}

void *
failing_spare_store_alloc(struct store_heap *heap, size_t len, store_ref *ref)
{
	return __real_store_alloc(heap, len, ref);
}
