/*
 * arena.h - memory that lives as long as one piece of work (a zone build, a
 * configuration): bump allocation from mappings of its own, so that all of it
 * goes back to the kernel.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
	struct arena_block *blocks; /* mappings, newest first */
	uint8_t *at;                /* free room of the current block */
	uint8_t *end;
	size_t next_size;           /* octets of the next mapping */
	size_t mapped;              /* octets of all mappings */
};

/* Starts with the caller's memory (aligned to 8, may be NULL with len 0), so
 * that a small piece of work needs no system call. */
void arena_init(struct arena *arena, void *memory, size_t len);
/* Gives back every mapping; the caller's memory stays his. */
void arena_fini(struct arena *arena);
/* Takes back all that was handed out, but keeps one mapping for what comes.
 * Only for an arena that was started without memory of the caller. */
void arena_reset(struct arena *arena);

/* Gives len octets aligned to 8, valid until arena_fini or arena_reset; NULL
 * without memory. Pages that are never touched cost nothing. */
void *arena_alloc(struct arena *arena, size_t len);
/* As arena_alloc, all zero. */
void *arena_alloc_zero(struct arena *arena, size_t len);
/* Gives a copy of len octets, not aligned; a text's has a NUL behind it. */
void *arena_copy(struct arena *arena, const void *data, size_t len);
char *arena_copy_text(struct arena *arena, const char *text, size_t len);

#endif
