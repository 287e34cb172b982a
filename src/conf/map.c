/* map.c - a hash table of objects by a key that they hold. */
#include <stdlib.h>
#include <string.h>

#include "conf/map.h"

#define MAP_SLOTS_MIN 16u

void
map_init(struct conf_map *map,
	const void *(*key)(const void *item, size_t *len))
{
	memset(map, 0, sizeof(*map));
	map->key = key;
}

void
map_fini(struct conf_map *map)
{
	free(map->slots);
	map->slots = NULL;
	map->count = 0;
}

/* Multiply and fold, eight octets a step: keys are names of a few dozen. */
static size_t
map_hash(const void *key, size_t len)
{
	const uint8_t *p = key;
	uint64_t h = 0x9e3779b97f4a7c15u ^ len, word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	word = 0;
	if (len > 0)
		memcpy(&word, p, len);
	h = (h ^ word) * 0xc4ceb9fe1a85ec53u;
	return (size_t)(h ^ h >> 29);
}

/* The slot that holds the key, or the free one where it belongs. */
static size_t
map_slot(const struct conf_map *map, const void *key, size_t len)
{
	size_t i = map_hash(key, len) & map->mask, item_len;
	const void *item_key;

	for (; map->slots[i] != NULL; i = (i + 1) & map->mask) {
		item_key = map->key(map->slots[i], &item_len);
		if (item_len == len && memcmp(item_key, key, len) == 0)
			break;
	}
	return i;
}

void *
map_find(const struct conf_map *map, const void *key, size_t len)
{
	if (map->count == 0)
		return NULL;
	return map->slots[map_slot(map, key, len)];
}

static enum nsd_err
map_grow(struct conf_map *map)
{
	size_t old = map->slots != NULL ? map->mask + 1 : 0;
	size_t size = old > 0 ? old * 2 : MAP_SLOTS_MIN, len, i;
	struct conf_map bigger = *map;
	const void *key;

	bigger.slots = calloc(size, sizeof(*bigger.slots));
	if (bigger.slots == NULL)
		return NSD_E_MEMORY;
	bigger.mask = size - 1;
	for (i = 0; i < old; i++) {
		if (map->slots[i] == NULL)
			continue;
		key = map->key(map->slots[i], &len);
		bigger.slots[map_slot(&bigger, key, len)] = map->slots[i];
	}
	free(map->slots);
	*map = bigger;
	return NSD_OK;
}

enum nsd_err
map_add(struct conf_map *map, void *item)
{
	enum nsd_err err;
	const void *key;
	size_t len;

	/* At most three of four slots are taken. */
	if (map->slots == NULL || (map->count + 1) * 4 > (map->mask + 1) * 3) {
		err = map_grow(map);
		if (err != NSD_OK)
			return err;
	}
	key = map->key(item, &len);
	map->slots[map_slot(map, key, len)] = item;
	map->count++;
	return NSD_OK;
}

void *
map_remove(struct conf_map *map, const void *key, size_t len)
{
	size_t hole, i, home;
	void *item;

	if (map->count == 0)
		return NULL;
	hole = map_slot(map, key, len);
	item = map->slots[hole];
	if (item == NULL)
		return NULL;
	/* Move back what a search would no longer reach across the hole. */
	for (i = (hole + 1) & map->mask; map->slots[i] != NULL;
		i = (i + 1) & map->mask) {
		key = map->key(map->slots[i], &len);
		home = map_hash(key, len) & map->mask;
		if (((i - home) & map->mask) >= ((i - hole) & map->mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole] = NULL;
	map->count--;
	return item;
}

size_t
map_memory_size(const struct conf_map *map)
{
	return map->slots != NULL ? (map->mask + 1) * sizeof(*map->slots) : 0;
}
