/* arena.c - memory of one configuration, released all at once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/arena.h"

#define ARENA_CHUNK_MAX (256u * 1024)

struct conf_arena_chunk {
	struct conf_arena_chunk *next;
	size_t size; /* octets of data */
	max_align_t data[];
};

void
conf_arena_init(struct conf_arena *a, size_t first_size)
{
	memset(a, 0, sizeof(*a));
	a->chunk_size = first_size;
}

void
conf_arena_fini(struct conf_arena *a)
{
	struct conf_arena_chunk *chunk;

	while ((chunk = a->chunks) != NULL) {
		a->chunks = chunk->next;
		free(chunk);
	}
	a->at = a->end = NULL;
	a->total = 0;
}

static void
arena_use_chunk(struct conf_arena *a, struct conf_arena_chunk *chunk)
{
	a->at = (char *)chunk->data;
	a->end = a->at + chunk->size;
}

void
conf_arena_reset(struct conf_arena *a)
{
	struct conf_arena_chunk *kept = a->chunks, *chunk;

	if (kept == NULL)
		return;
	while ((chunk = kept->next) != NULL) {
		kept->next = chunk->next;
		free(chunk);
	}
	if (kept->size > ARENA_CHUNK_MAX) {
		/* One very long word must not stay for good. */
		free(kept);
		a->chunks = NULL;
		a->at = a->end = NULL;
		a->total = 0;
		return;
	}
	a->total = sizeof(*kept) + kept->size;
	arena_use_chunk(a, kept);
}

static void *
conf_arena_take(struct conf_arena *a, size_t size, size_t align)
{
	size_t pad = (size_t)(-(uintptr_t)a->at & (align - 1));
	struct conf_arena_chunk *chunk;
	size_t want;
	void *p;

	if (a->at == NULL || (size_t)(a->end - a->at) < pad ||
		(size_t)(a->end - a->at) - pad < size) {
		want = size > a->chunk_size ? size : a->chunk_size;
		if (want > SIZE_MAX / 2)
			return NULL;
		chunk = malloc(sizeof(*chunk) + want);
		if (chunk == NULL)
			return NULL;
		chunk->size = want;
		chunk->next = a->chunks;
		a->chunks = chunk;
		a->total += sizeof(*chunk) + want;
		if (a->chunk_size < ARENA_CHUNK_MAX)
			a->chunk_size *= 2;
		arena_use_chunk(a, chunk);
		pad = 0;
	}
	p = a->at + pad;
	a->at += pad + size;
	return p;
}

void *
conf_arena_alloc(struct conf_arena *a, size_t size)
{
	return conf_arena_take(a, size, _Alignof(void *));
}

void *
conf_arena_zalloc(struct conf_arena *a, size_t size)
{
	void *p = conf_arena_alloc(a, size);

	if (p != NULL)
		memset(p, 0, size);
	return p;
}

void *
conf_arena_copy(struct conf_arena *a, const void *data, size_t len)
{
	void *p = conf_arena_take(a, len > 0 ? len : 1, 1);

	if (p != NULL && len > 0)
		memcpy(p, data, len);
	return p;
}

char *
conf_arena_text(struct conf_arena *a, const char *text, size_t len)
{
	char *p = conf_arena_take(a, len + 1, 1);

	if (p != NULL) {
		memcpy(p, text, len);
		p[len] = '\0';
	}
	return p;
}
