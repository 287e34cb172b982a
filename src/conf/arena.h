/*
 * arena.h - memory of one configuration, released all at once.
 */
#ifndef CONF_ARENA_H
#define CONF_ARENA_H

#include <stddef.h>

struct conf_arena_chunk;

struct conf_arena {
	struct conf_arena_chunk *chunks; /* newest first */
	char *at;                   /* free room of the newest one */
	char *end;
	size_t total;               /* octets taken from the system */
	size_t chunk_size;          /* octets of the next chunk */
};

/* first_size: octets of the first chunk; later ones grow to 256 KiB. */
void conf_arena_init(struct conf_arena *a, size_t first_size);
void conf_arena_fini(struct conf_arena *a);

/* Forgets all that was handed out but keeps one chunk for what comes. */
void conf_arena_reset(struct conf_arena *a);

/* Octets that are not cleared, aligned for pointers; NULL: out of memory. */
void *conf_arena_alloc(struct conf_arena *a, size_t size);
/* The same, cleared. */
void *conf_arena_zalloc(struct conf_arena *a, size_t size);
/* A copy of len octets, not aligned; text gets a NUL behind it. */
void *conf_arena_copy(struct conf_arena *a, const void *data, size_t len);
char *conf_arena_text(struct conf_arena *a, const char *text, size_t len);

#endif
