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

/* A place to go back to. */
struct arena_mark {
	struct arena_block *blocks;
	uint8_t *at;
	uint8_t *end;
	size_t next_size;
};

/* Starts with memory of the caller, so that a small piece of work needs no
 * system call. The memory is aligned to 8; NULL with len 0: none. */
void arena_init(struct arena *arena, void *memory, size_t len);
/* Gives back every mapping. The caller's memory stays the caller's. */
void arena_fini(struct arena *arena);
/* Takes back all that was handed out, but keeps one mapping for later. Only for
 * an arena that began without memory of the caller. */
void arena_reset(struct arena *arena);

/* Takes back what was handed out since a mark. A piece that was handed out
 * before it must not have grown since. Marks that were taken since are void. */
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, const struct arena_mark *mark);

/* Gives len octets aligned to 8, valid until arena_fini, arena_reset or
 * arena_rewind to a mark before them; NULL if the system has no memory. Pages
 * that are never touched cost nothing. */
void *arena_alloc(struct arena *arena, size_t len);
/*
 * Gives a piece of arena_alloc room for `more` octets; its len octets stay. It
 * may have moved, and the old one must not be read then. A large piece has a
 * mapping of its own, whose pages go along: nothing is copied or left behind.
 * The room of a small one stays in use. NULL if the system has no memory: the
 * piece is as it was. A piece of NULL with len 0: a new one.
 */
void *arena_grow(struct arena *arena, void *piece, size_t len, size_t more);
/* As arena_alloc, all zero. */
void *arena_alloc_zero(struct arena *arena, size_t len);
/* Gives a copy of len octets, not aligned; NULL if the system has no memory.
 * arena_copy_text puts a NUL behind it. */
void *arena_copy(struct arena *arena, const void *data, size_t len);
char *arena_copy_text(struct arena *arena, const char *text, size_t len);

#endif
