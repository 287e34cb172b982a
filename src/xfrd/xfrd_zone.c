/*
 * xfrd_zone.c - the table of zones: by apex, by number.
 *
 * Zones are found by linear hashing (Litwin, 1980): for each zone that comes,
 * one bucket is split. So no addition takes long, however many there are.
 */
#include "config.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "conf/conf.h"
#include "dns/name.h"
#include "xfrd/xfrd_member_id.h"
#include "xfrd/xfrd_refused.h"
#include "xfrd/xfrd_zone.h"

#define ZONES_A_CHUNK 1024u

/* ---- by number ----------------------------------------------------------- */

static struct xfrd_zone *
zone_place(const struct xfrd_zone_table *table, uint32_t number)
{
	assert(number < table->end);
	return &table->chunks[number / ZONES_A_CHUNK][number % ZONES_A_CHUNK];
}

struct xfrd_zone *
xfrd_zone_at(const struct xfrd_zone_table *table, uint32_t number)
{
	struct xfrd_zone *zone = number < table->end
		? zone_place(table, number) : NULL;

	return zone != NULL && zone->apex != NULL ? zone : NULL;
}

/* Takes a free place. NULL: no memory. */
static struct xfrd_zone *
zone_take_place(struct xfrd_zone_table *table)
{
	size_t chunk = table->end / ZONES_A_CHUNK;
	struct xfrd_zone *zone, **chunks;

	if (table->unused != XFR_NONE) {
		zone = zone_place(table, table->unused);
		assert(zone->apex == NULL);
		table->unused = zone->next;
		return zone;
	}
	if (table->end == XFR_NONE - 1)
		return NULL;
	if (chunk == table->chunk_count) {
		chunks = grow_array(table->chunks, chunk, &table->chunk_room,
			sizeof(*chunks));
		if (chunks == NULL)
			return NULL;
		table->chunks = chunks;
		chunks[chunk] = calloc(ZONES_A_CHUNK, sizeof(**chunks));
		if (chunks[chunk] == NULL)
			return NULL;
		table->chunk_count++;
	}
	zone = &table->chunks[chunk][table->end % ZONES_A_CHUNK];
	zone->number = table->end++;
	return zone;
}

/* Without zones the table takes no memory, however many there were. */
static void
zone_leave_place(struct xfrd_zone_table *table, struct xfrd_zone *zone)
{
	assert(zone->apex == NULL);
	zone->next = table->unused;
	table->unused = zone->number;
	if (table->count > 0)
		return;
	while (table->chunk_count > 0)
		free(table->chunks[--table->chunk_count]);
	table->end = 0;
	table->unused = XFR_NONE;
}

/* ---- by apex ------------------------------------------------------------- */

/* Returns the hash of an apex, in lower case. */
static uint32_t
zone_hash(const struct xfrd_zone_table *table, const uint8_t *apex)
{
	return (uint32_t)siphash(table->key, apex, name_len(apex), 1, 3);
}

/* Returns the largest power of two that is not above a count of buckets. */
static size_t
buckets_level(size_t count)
{
	size_t level = 1;

	while (level <= count / 2)
		level *= 2;
	return level;
}

/* Buckets from `level` on have one bit more of the hash. */
static uint32_t *
zone_bucket(const struct xfrd_zone_table *table, const uint8_t *apex)
{
	size_t level = buckets_level(table->bucket_count);
	uint32_t hash = zone_hash(table, apex);
	size_t n = hash & (2 * level - 1);

	if (n >= table->bucket_count)
		n -= level;
	return &table->buckets[n];
}

/* Appends a bucket, and moves its zones there from another one. */
static void
buckets_split(struct xfrd_zone_table *table)
{
	size_t n = table->bucket_count;
	uint32_t *from, *to = &table->buckets[n], *at;

	assert(n < table->bucket_room);
	*to = XFR_NONE;
	from = n > 0 ? &table->buckets[n - buckets_level(n)] : to;
	table->bucket_count++;
	for (at = from; *at != XFR_NONE;) {
		struct xfrd_zone *zone = zone_place(table, *at);

		if (zone_bucket(table, zone->apex) != to) {
			at = &zone->next;
			continue;
		}
		*at = zone->next;
		zone->next = *to;
		*to = zone->number;
	}
}

struct xfrd_zone *
xfrd_zone_find(const struct xfrd_zone_table *table, const uint8_t *apex)
{
	uint8_t lower[NAME_MAX_LEN];
	uint32_t at;

	if (table->bucket_count == 0)
		return NULL;
	memcpy(lower, apex, name_len(apex));
	name_lower(lower);
	for (at = *zone_bucket(table, lower); at != XFR_NONE;) {
		struct xfrd_zone *zone = zone_place(table, at);

		if (name_equal(zone->apex, lower))
			return zone;
		at = zone->next;
	}
	return NULL;
}

struct xfrd_zone *
xfrd_zone_find_text(const struct xfrd_zone_table *table, const char *name)
{
	uint8_t wire[NAME_MAX_LEN];

	return conf_parse_zone_name(name, wire) ? xfrd_zone_find(table, wire)
						: NULL;
}

/* ---- the zone list ------------------------------------------------------- */

void
xfrd_zone_set_listed(struct xfrd_zone_table *table, struct xfrd_zone *zone,
	bool is_listed, uint64_t at)
{
	assert(is_listed || at == 0);
	assert(at >> 48 == 0); /* a file that long cannot be read again */
	assert(!zone->is_listed || table->listed_count > 0);
	table->listed_count += is_listed;
	table->listed_count -= zone->is_listed;
	assert(table->listed_count <= table->count);
	zone->is_listed = is_listed;
	zone->listed_at = at;
}

struct xfrd_member {
	uint32_t number; /* of its zone; must be first: it is looked for */
	char id[];
};

static int
member_compare(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

/* Finds the member of a zone in the table. NULL: the zone has none. */
static struct xfrd_member **
member_find(const struct xfrd_zone_table *table, const struct xfrd_zone *zone)
{
	struct xfrd_member **place = tfind(&zone->number, &table->members,
		member_compare);

	assert((place != NULL) == (zone->is_member && !zone->is_of_folder));
	return place;
}

static void
member_drop(struct xfrd_zone_table *table, struct xfrd_zone *zone)
{
	struct xfrd_member *member;

	if (zone->is_member && !zone->is_of_folder) {
		member = *member_find(table, zone);
		tdelete(member, &table->members, member_compare);
		free(member);
	}
	zone->is_member = zone->is_of_folder = false;
}

enum nsd_err
xfrd_zone_set_member(struct xfrd_zone_table *table, struct xfrd_zone *zone,
	const char *id)
{
	size_t size = id != NULL ? strlen(id) + 1 : 0;
	struct xfrd_member *member, **place;

	if (id == NULL) {
		member_drop(table, zone);
		return NSD_OK;
	}
	if (strcmp(id, XFRD_MEMBER_OF_FOLDER) == 0) {
		member_drop(table, zone);
		zone->is_member = zone->is_of_folder = true;
		return NSD_OK;
	}
	member = malloc(sizeof(*member) + size);
	if (member == NULL)
		return NSD_E_MEMORY;
	member->number = zone->number;
	memcpy(member->id, id, size);
	place = tsearch(member, &table->members, member_compare);
	if (place == NULL) {
		free(member);
		return NSD_E_MEMORY;
	}
	if (*place != member) {
		free(*place);
		*place = member;
	}
	zone->is_member = true;
	zone->is_of_folder = false;
	return NSD_OK;
}

const char *
xfrd_zone_member(const struct xfrd_zone_table *table,
	const struct xfrd_zone *zone)
{
	if (zone->is_of_folder)
		return XFRD_MEMBER_OF_FOLDER;
	return zone->is_member ? (*member_find(table, zone))->id : NULL;
}

/* ---- zones come and go --------------------------------------------------- */

/* Copies an apex. NULL: no memory. */
static uint8_t *
zone_copy_apex(const uint8_t *apex)
{
	size_t len = name_len(apex);
	uint8_t *copy = malloc(len);

	if (copy == NULL)
		return NULL;
	memcpy(copy, apex, len);
	name_lower(copy);
	return copy;
}

enum nsd_err
xfrd_zone_add(struct xfrd_zone_table *table, const uint8_t *apex,
	struct xfrd_zone **zone)
{
	uint32_t *buckets = grow_array(table->buckets, table->bucket_count,
		&table->bucket_room, sizeof(*buckets)), *bucket, number;
	struct xfrd_zone *added;
	uint8_t *copy;

	if (buckets == NULL)
		return NSD_E_MEMORY;
	table->buckets = buckets;
	assert(xfrd_zone_find(table, apex) == NULL);
	copy = zone_copy_apex(apex);
	added = copy != NULL ? zone_take_place(table) : NULL;
	if (added == NULL) {
		free(copy);
		return NSD_E_MEMORY;
	}
	if (table->bucket_count <= table->count)
		buckets_split(table);
	bucket = zone_bucket(table, copy);
	number = added->number;
	*added = (struct xfrd_zone){
		.apex = copy,
		.number = number,
		.next = *bucket,
		.handle = XFR_NONE,
	};
	*bucket = number;
	table->count++;
	assert(table->count <= table->end);
	*zone = added;
	return NSD_OK;
}

void
xfrd_zone_remove(struct xfrd_zone_table *table, struct xfrd_zone *zone)
{
	uint32_t *at = zone_bucket(table, zone->apex);

	assert(zone->handle == XFR_NONE && zone->past == NULL
		&& zone->said == NULL && table->count > 0);
	assert(!zone->changesets_due); /* due_count would keep it */
	xfrd_zone_set_listed(table, zone, false, 0);
	member_drop(table, zone);
	xfrd_refused_drop(table, zone);
	while (*at != zone->number) {
		assert(*at != XFR_NONE); /* the zone is in its bucket */
		at = &zone_place(table, *at)->next;
	}
	*at = zone->next;
	table->count--;
	free((uint8_t *)(uintptr_t)zone->apex);
	zone->apex = NULL;
	zone_leave_place(table, zone);
}

/* ---- pasts --------------------------------------------------------------- */

struct xfrd_past *
xfrd_zone_get_past(struct xfrd_zone_table *table, struct xfrd_zone *zone)
{
	struct xfrd_past *past = table->past_unused;

	assert(zone->handle == XFR_NONE && zone->apex != NULL);
	if (zone->past != NULL)
		return zone->past;
	if (past != NULL)
		table->past_unused = past->next;
	else
		past = arena_alloc(&table->pasts, sizeof(*past));
	if (past == NULL)
		return NULL;
	*past = (struct xfrd_past){.handover.expire_at = XFR_NEVER};
	table->past_count++;
	return zone->past = past;
}

void
xfrd_zone_drop_past(struct xfrd_zone_table *table, struct xfrd_zone *zone)
{
	if (zone->past == NULL)
		return;
	assert(table->past_count > 0);
	zone->past->next = table->past_unused;
	table->past_unused = zone->past;
	zone->past = NULL;
	if (--table->past_count > 0)
		return;
	table->past_unused = NULL;
	arena_fini(&table->pasts);
	arena_init(&table->pasts, NULL, 0);
}

/* ---- the table ----------------------------------------------------------- */

void
xfrd_zone_table_init(struct xfrd_zone_table *table,
	const uint8_t key[SIPHASH_KEY_LEN])
{
	memset(table, 0, sizeof(*table));
	memcpy(table->key, key, sizeof(table->key));
	table->unused = XFR_NONE;
	arena_init(&table->pasts, NULL, 0);
}

void
xfrd_zone_table_fini(struct xfrd_zone_table *table)
{
	for (uint32_t i = 0; i < table->end; i++)
		free((uint8_t *)(uintptr_t)zone_place(table, i)->apex);
	while (table->chunk_count > 0)
		free(table->chunks[--table->chunk_count]);
	tdestroy(table->members, free);
	tdestroy(table->refused, free);
	free(table->chunks);
	free(table->buckets);
	arena_fini(&table->pasts);
	memset(table, 0, sizeof(*table));
}
