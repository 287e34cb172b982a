/*
 * map.h - a hash table of objects by a key that they hold.
 *
 * While it grows, each addition moves a few objects to the new slots. So one
 * addition costs no more with a million objects than with a hundred.
 */
#ifndef CONF_MAP_H
#define CONF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Two arrays, because most searches look at hashes only. */
struct conf_slots {
	void **items;     /* NULL: no slots */
	uint32_t *hashes; /* of the items */
	size_t mask;      /* slots - 1 */
};

struct conf_map {
	/* The key of an object: its octets, lent. */
	const void *(*key)(const void *item, size_t *len);
	struct conf_slots slots;
	size_t count;
	/* The former slots, while the map grows. Slots from `moved` on are
	 * still to be moved; the items of the others are in slots. */
	struct conf_slots old;
	size_t moved;
};

void map_init(struct conf_map *map,
	const void *(*key)(const void *item, size_t *len));
void map_fini(struct conf_map *map);

/* Finds an item; NULL if absent. Constant time, as all functions below. */
void *map_find(const struct conf_map *map, const void *key, size_t len);
/* The key must be absent. NSD_E_MEMORY leaves the table as it was. */
enum nsd_err map_add(struct conf_map *map, void *item) MUST_USE;
/* The item that was taken out, or NULL. */
void *map_remove(struct conf_map *map, const void *key, size_t len);
size_t map_memory_size(const struct conf_map *map);

#endif
