/* map.c - a hash table of objects by a key that they hold. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf/map.h"

#define SLOTS_MIN 16u
/* Old slots that each addition looks at. The new slots are full after three
 * additions for four old slots. All old ones were looked at long before. */
#define MOVE_STEPS 8u
/* Fewer slots are not worth it. */
#define SHRINK_MIN 4096u

/* Stands in an old slot whose item was moved or removed. */
static char gone;

void
map_init(struct conf_map *map,
	const void *(*key)(const void *item, size_t *len))
{
	memset(map, 0, sizeof(*map));
	map->key = key;
}

static void
slots_free(struct conf_slots *slots)
{
	free(slots->items);
	free(slots->hashes);
	memset(slots, 0, sizeof(*slots));
}

void
map_fini(struct conf_map *map)
{
	slots_free(&map->slots);
	slots_free(&map->old);
	map->count = 0;
}

/* Multiplies and folds eight octets a step: keys are names of a few dozen
 * octets. */
static uint32_t
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
	return (uint32_t)(h ^ h >> 29);
}

/* The slot that holds the key, or the free one at which its search ends. */
static size_t
map_slot(const struct conf_map *map, const struct conf_slots *s,
	uint32_t hash, const void *key, size_t len)
{
	size_t i = hash & s->mask, item_len;
	const void *item_key;

	for (; s->items[i] != NULL; i = (i + 1) & s->mask) {
		if (s->hashes[i] != hash || s->items[i] == &gone)
			continue;
		item_key = map->key(s->items[i], &item_len);
		if (item_len == len && memcmp(item_key, key, len) == 0)
			break;
	}
	return i;
}

void *
map_find(const struct conf_map *map, const void *key, size_t len)
{
	uint32_t hash = map_hash(key, len);
	void *item;

	if (map->count == 0)
		return NULL;
	item = map->slots.items[map_slot(map, &map->slots, hash, key, len)];
	if (item == NULL && map->old.items != NULL)
		item = map->old.items[map_slot(map, &map->old, hash, key,
			len)];
	return item;
}

/* ---- growing ------------------------------------------------------------ */

/* Puts an item, whose key is not there yet, into a free slot. */
static void
map_slots_put(struct conf_slots *s, void *item, uint32_t hash)
{
	size_t i = hash & s->mask;

	while (s->items[i] != NULL)
		i = (i + 1) & s->mask;
	s->items[i] = item;
	s->hashes[i] = hash;
}

static void
map_move(struct conf_map *map, size_t steps)
{
	struct conf_slots *old = &map->old;

	for (; steps > 0 && map->moved <= old->mask; steps--, map->moved++) {
		void **item = &old->items[map->moved];

		if (*item == NULL || *item == &gone)
			continue;
		map_slots_put(&map->slots, *item, old->hashes[map->moved]);
		/* Searches in the old slots must still go past it. */
		*item = &gone;
	}
	if (map->moved > old->mask)
		slots_free(old);
}

/* Gives the map other slots, to which items of the old ones move with the next
 * calls. */
static enum nsd_err
map_resize(struct conf_map *map, size_t count)
{
	/* Zeroed by the kernel as it is touched, if it is large. */
	struct conf_slots bigger = {
		.items = calloc(count, sizeof(*bigger.items)),
		.hashes = malloc(count * sizeof(*bigger.hashes)),
		.mask = count - 1,
	};

	if (bigger.items == NULL || bigger.hashes == NULL) {
		slots_free(&bigger);
		return NSD_E_MEMORY;
	}
	assert(map->old.items == NULL);
	map->old = map->slots;
	map->moved = 0;
	map->slots = bigger;
	return NSD_OK;
}

/* Gives memory back once few of many slots are in use. The new ones are not
 * full before all old ones were looked at: additions for an eighth of those
 * fit. */
static void
map_shrink(struct conf_map *map)
{
	size_t count = map->slots.mask + 1;

	if (map->old.items == NULL && count >= SHRINK_MIN
		&& map->count < count / 16)
		(void)map_resize(map, count / 4);
}

enum nsd_err
map_add(struct conf_map *map, void *item)
{
	enum nsd_err err;
	const void *key;
	size_t len;

	if (map->old.items != NULL)
		map_move(map, MOVE_STEPS);
	/* At most three of four slots are taken. */
	if (map->slots.items == NULL
		|| (map->count + 1) * 4 > (map->slots.mask + 1) * 3) {
		err = map_resize(map, map->slots.items != NULL
				? (map->slots.mask + 1) * 2
				: SLOTS_MIN);
		if (err != NSD_OK)
			return err;
	}
	key = map->key(item, &len);
	map_slots_put(&map->slots, item, map_hash(key, len));
	map->count++;
	return NSD_OK;
}

/* ---- removing ----------------------------------------------------------- */

/* Empties a slot. Items behind it that a search would no longer reach move
 * back. */
static void
slots_close(struct conf_slots *s, size_t hole)
{
	for (size_t i = (hole + 1) & s->mask; s->items[i] != NULL;
		i = (i + 1) & s->mask) {
		size_t home = s->hashes[i] & s->mask;

		if (((i - home) & s->mask) < ((i - hole) & s->mask))
			continue;
		s->items[hole] = s->items[i];
		s->hashes[hole] = s->hashes[i];
		hole = i;
	}
	s->items[hole] = NULL;
}

void *
map_remove(struct conf_map *map, const void *key, size_t len)
{
	uint32_t hash = map_hash(key, len);
	void *item;
	size_t i;

	if (map->count == 0)
		return NULL;
	/* Few items are left: the old slots are to go before these do. */
	if (map->old.items != NULL)
		map_move(map, 4 * MOVE_STEPS);
	i = map_slot(map, &map->slots, hash, key, len);
	item = map->slots.items[i];
	if (item != NULL) {
		slots_close(&map->slots, i);
	} else if (map->old.items != NULL) {
		i = map_slot(map, &map->old, hash, key, len);
		item = map->old.items[i];
		/* The slot is not emptied: an item that moves back could get
		 * in front of `moved`, where nothing is moved any more. */
		if (item != NULL)
			map->old.items[i] = &gone;
	}
	assert(item == NULL || map->count > 0);
	map->count -= item != NULL;
	map_shrink(map);
	return item;
}

size_t
map_memory_size(const struct conf_map *map)
{
	size_t count = map->slots.items != NULL ? map->slots.mask + 1 : 0;

	if (map->old.items != NULL)
		count += map->old.mask + 1;
	return count * (sizeof(*map->slots.items)
			+ sizeof(*map->slots.hashes));
}
