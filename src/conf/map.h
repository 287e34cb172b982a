/*
 * map.h - a hash table of objects by a key that they hold.
 */
#ifndef CONF_MAP_H
#define CONF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct conf_map {
	/* The key of an object: its octets, lent. */
	const void *(*key)(const void *item, size_t *len);
	void **slots;   /* NULL: empty */
	size_t mask;    /* slots - 1 */
	size_t count;
};

void map_init(struct conf_map *map,
	const void *(*key)(const void *item, size_t *len));
void map_fini(struct conf_map *map);

/* NULL if absent. */
void *map_find(const struct conf_map *map, const void *key, size_t len);
/* The key must be absent. NSD_E_MEMORY leaves the table as it was. */
enum nsd_err map_add(struct conf_map *map, void *item) MUST_USE;
/* The item that was taken out, or NULL. */
void *map_remove(struct conf_map *map, const void *key, size_t len);
size_t map_memory_size(const struct conf_map *map);

#endif
