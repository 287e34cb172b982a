/*
 * vet_world.h - a store with one of everything that a zone can hold. Tests
 * alter it and have it looked through. Link with -Wl,--wrap=store_claim, which
 * lists the objects.
 */
#ifndef TESTS_LIB_VET_WORLD_H
#define TESTS_LIB_VET_WORLD_H

#include "lib/zone_fixture.h"
#include "query/query.h"
#include "vet/vet_part.h"

struct vet_object {
	store_ref ref;
	size_t len;
	enum vet_kind kind;
};

struct vet_world {
	struct zone_fixture f;
	struct store_reader *reader; /* holds pending changes of cells */
	struct counters counters;
	struct query_ctx *ctx;
	struct vet_object *objects; /* all in the store */
	size_t object_count, room;
	uint8_t *base;              /* of the store, writable */
	size_t size;                /* octets of the store that are used */
	uint8_t *copy;              /* of these, before any change */
	/* Of the last vet_world_look. */
	enum nsd_err err;
	size_t faults;
	char said[512];             /* the first fault: kind, ref, text */
};

void vet_world_init(struct vet_world *w);
void vet_world_fini(struct vet_world *w);
/* Runs vet_store. */
void vet_world_look(struct vet_world *w);
/* Asks for names of all kinds. Aborts unless each reply is a whole message. */
void vet_world_ask(struct vet_world *w);
/* Undoes all changes. */
void vet_world_restore(struct vet_world *w);

/* Where a reference leads; writable. */
static inline uint8_t *
vet_world_at(const struct vet_world *w, store_ref ref)
{
	return w->base + (size_t)ref * STORE_GRANULE;
}

#endif
