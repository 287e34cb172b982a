/*
 * arena.h - memory that lives as long as one piece of work (a zone build, a
 * configuration). It is handed out by moving a pointer through mappings that
 * nobody else uses, so at the end all of it goes back to the kernel.
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

/* Starts with memory of the caller, so that a small piece of work needs no
 * system call. The memory is aligned to 8; NULL with len 0: none. */
void arena_init(struct arena *arena, void *memory, size_t len);
/* Gives back every mapping. The caller's memory stays the caller's. */
void arena_fini(struct arena *arena);
/* Takes back all that was handed out, but keeps one mapping for later. Only for
 * an arena that began without memory of the caller. */
void arena_reset(struct arena *arena);

/* Gives len octets aligned to 8, valid until arena_fini or arena_reset; NULL
 * if the system has no memory. Pages that are never touched cost nothing. */
void *arena_alloc(struct arena *arena, size_t len);
/* As arena_alloc, all zero. */
void *arena_alloc_zero(struct arena *arena, size_t len);
/* Gives a copy of len octets, not aligned; NULL if the system has no memory.
 * arena_copy_text puts a NUL behind it. */
void *arena_copy(struct arena *arena, const void *data, size_t len);
char *arena_copy_text(struct arena *arena, const char *text, size_t len);

#endif
