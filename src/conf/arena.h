/*
 * arena.h - memory of one configuration, released all at once.
 */
#ifndef CONF_ARENA_H
#define CONF_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* newest first */
	char *at;                   /* free room of the newest one */
	char *end;
	size_t total;               /* octets taken from the system */
	size_t chunk_size;          /* octets of the next chunk */
};

/* first_size: octets of the first chunk; later ones grow to 256 KiB. */
void arena_init(struct arena *a, size_t first_size);
void arena_fini(struct arena *a);

/* Forgets all that was handed out but keeps one chunk for what comes. */
void arena_reset(struct arena *a);

/* Octets that are not cleared, aligned for pointers; NULL: out of memory. */
void *arena_alloc(struct arena *a, size_t size);
/* The same, cleared. */
void *arena_zalloc(struct arena *a, size_t size);
/* A copy of len octets, not aligned; text gets a NUL behind it. */
void *arena_copy(struct arena *a, const void *data, size_t len);
char *arena_text(struct arena *a, const char *text, size_t len);

#endif
