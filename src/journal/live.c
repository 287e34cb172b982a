/* live.c - the live entries of a journal in memory. */
#include "journal/live.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "journal/format.h"

#define BUCKETS_FIRST 64u

enum nsd_err
live_init(struct live *live)
{
	memset(live, 0, sizeof(*live));
	CDS_INIT_LIST_HEAD(&live->segments);
	if (getrandom(live->key, sizeof(live->key), 0)
		!= (ssize_t)sizeof(live->key))
		return NSD_E_SYSTEM;
	live->buckets = calloc(BUCKETS_FIRST, sizeof(*live->buckets));
	if (live->buckets == NULL)
		return NSD_E_MEMORY;
	live->bucket_count = BUCKETS_FIRST;
	return NSD_OK;
}

void
live_fini(struct live *live)
{
	struct live_segment *segment, *next;

	for (size_t i = 0; i < live->bucket_count; i++)
		while (live->buckets[i] != NULL)
			live_remove(live, live_newest(live->buckets[i]));
	cds_list_for_each_entry_safe(segment, next, &live->segments, node)
		live_remove_segment(live, segment);
	free(live->buckets);
	live->buckets = NULL;
	live->bucket_count = 0;
}

/* ---- zones */

/* Names of zones may be chosen by others, as those of members of a catalog are:
 * without the key nobody can make them collide. */
static uint64_t
hash_apex(const struct live *live, const uint8_t *apex)
{
	uint8_t lower[NAME_MAX_LEN];
	size_t len = name_len(apex);

	memcpy(lower, apex, len);
	name_lower(lower);
	return siphash(live->key, lower, len, 1, 3);
}

static struct live_zone **
live_bucket(const struct live *live, uint64_t hash)
{
	return &live->buckets[hash & (live->bucket_count - 1)];
}

static struct live_zone *
find_hashed(const struct live *live, const uint8_t *apex, uint64_t hash)
{
	struct live_zone *zone = *live_bucket(live, hash);

	while (zone != NULL && (zone->hash != hash
		|| !name_equal(zone->apex, apex)))
		zone = zone->next;
	return zone;
}

struct live_zone *
live_find_zone(const struct live *live, const uint8_t *apex)
{
	return find_hashed(live, apex, hash_apex(live, apex));
}

/* Makes more buckets; without memory the chains get longer. */
static void
live_spread(struct live *live)
{
	size_t count = live->bucket_count * 2;
	struct live_zone **old = live->buckets, *zone;
	struct live_zone **buckets = calloc(count, sizeof(*buckets));

	if (buckets == NULL)
		return;
	live->buckets = buckets;
	live->bucket_count = count;
	for (size_t i = 0; i < count / 2; i++)
		while ((zone = old[i]) != NULL) {
			struct live_zone **to = live_bucket(live, zone->hash);

			old[i] = zone->next;
			zone->next = *to;
			*to = zone;
		}
	free(old);
}

static struct live_zone *
get_zone(struct live *live, const uint8_t *apex)
{
	size_t len = name_len(apex);
	uint64_t hash = hash_apex(live, apex);
	struct live_zone *zone = find_hashed(live, apex, hash), **bucket;

	if (zone != NULL)
		return zone;
	zone = malloc(sizeof(*zone) + len);
	if (zone == NULL)
		return NULL;
	if (live->zone_count >= live->bucket_count)
		live_spread(live);
	memset(zone, 0, sizeof(*zone));
	CDS_INIT_LIST_HEAD(&zone->entries);
	zone->hash = hash;
	memcpy(zone->apex, apex, len);
	name_lower(zone->apex);
	bucket = live_bucket(live, hash);
	zone->next = *bucket;
	*bucket = zone;
	live->zone_count++;
	return zone;
}

static void
remove_zone_if_empty(struct live *live, struct live_zone *zone)
{
	struct live_zone **at = live_bucket(live, zone->hash);

	if (!cds_list_empty(&zone->entries))
		return;
	while (*at != zone)
		at = &(*at)->next;
	*at = zone->next;
	free(zone);
	live->zone_count--;
}

/* ---- segments */

struct live_segment *
live_get_segment(struct live *live, uint32_t number)
{
	struct live_segment *segment;
	struct cds_list_head *at = live->segments.prev;

	for (; at != &live->segments; at = at->prev) {
		segment = cds_list_entry(at, struct live_segment, node);
		if (segment->number == number)
			return segment;
		if (segment->number < number)
			break;
	}
	segment = calloc(1, sizeof(*segment));
	if (segment == NULL)
		return NULL;
	segment->number = number;
	CDS_INIT_LIST_HEAD(&segment->entries);
	cds_list_add(&segment->node, at);
	live->segment_count++;
	return segment;
}

void
live_set_octets(struct live *live, struct live_segment *segment,
	uint64_t octets)
{
	live->segment_octets += octets - segment->octets;
	segment->octets = octets;
}

void
live_remove_segment(struct live *live, struct live_segment *segment)
{
	assert(cds_list_empty(&segment->entries));
	live_set_octets(live, segment, 0);
	cds_list_del(&segment->node);
	live->segment_count--;
	free(segment);
}

/* ---- entries */

struct live_entry *
live_newest(const struct live_zone *zone)
{
	return cds_list_entry(zone->entries.prev, struct live_entry, in_zone);
}

/* Finds the last entry whose id is not larger; NULL: all are larger. */
static struct live_entry *
find_place(const struct live_zone *zone, uint64_t id)
{
	const struct cds_list_head *head = &zone->entries, *at = head->prev;
	struct live_entry *entry;

	if (at == head)
		return NULL;
	entry = cds_list_entry(at, struct live_entry, in_zone);
	if (entry->entry.id <= id)
		return entry;
	if (zone->hint != NULL)
		at = &zone->hint->in_zone;
	while (at != head && (entry = cds_list_entry(at, struct live_entry,
		in_zone))->entry.id > id)
		at = at->prev;
	if (at == head)
		return NULL;
	for (at = at->next; at != head && cds_list_entry(at, struct live_entry,
		in_zone)->entry.id <= id; at = at->next)
		entry = cds_list_entry(at, struct live_entry, in_zone);
	return entry;
}

struct live_entry *
live_find(const struct live *live, const uint8_t *apex, uint64_t id)
{
	const struct live_zone *zone = live_find_zone(live, apex);
	struct live_entry *entry = zone != NULL ? find_place(zone, id) : NULL;

	return entry != NULL && entry->entry.id == id ? entry : NULL;
}

static bool
is_between(const struct live_entry *entry, uint64_t first, uint64_t last)
{
	return entry->entry.id >= first && entry->entry.id <= last;
}

struct live_entry *
live_find_between(const struct live *live, const uint8_t *apex,
	uint64_t first, uint64_t last)
{
	const struct live_zone *zone = live_find_zone(live, apex);
	struct live_entry *entry;

	if (zone == NULL)
		return NULL;
	entry = live_newest(zone);
	if (is_between(entry, first, last))
		return entry;
	if (entry->entry.id < first)
		return NULL;
	cds_list_for_each_entry(entry, &zone->entries, in_zone)
		if (entry->entry.id >= first)
			return entry->entry.id <= last ? entry : NULL;
	return NULL;
}

void
live_clear_doubt(struct live *live, const uint8_t *apex, uint64_t first,
	uint64_t last)
{
	const struct live_zone *zone = live_find_zone(live, apex);
	struct live_entry *entry;

	if (zone == NULL)
		return;
	cds_list_for_each_entry_reverse(entry, &zone->entries, in_zone) {
		if (entry->entry.id < first)
			return;
		if (entry->entry.id <= last)
			entry->entry.is_doubtful = false;
	}
}

/* Adds (sign 1) or takes away (-1) the octets of an entry on disk. */
static void
live_account(struct live *live, struct live_entry *entry, int sign)
{
	uint64_t record = format_record_size(&entry->entry);
	uint64_t file = entry->entry.in_file
		? format_text_size(entry->entry.text_len) : 0;

	if (sign < 0) {
		record = -record;
		file = -file;
	}
	live->record_octets += record;
	live->file_octets += file;
	live->entry_count += (uint64_t)(int64_t)sign;
	entry->zone->octets += record + file;
}

enum nsd_err
live_add(struct live *live, const uint8_t *apex,
	const struct journal_entry *new)
{
	struct live_segment *segment = live_get_segment(live, new->segment);
	struct live_zone *zone = get_zone(live, apex);
	struct live_entry *place, *entry;

	if (segment == NULL || zone == NULL)
		goto no_memory;
	place = find_place(zone, new->id);
	if (place != NULL && place->entry.id == new->id) {
		entry = place;
		live_account(live, entry, -1);
		cds_list_del(&entry->in_segment);
	} else {
		entry = calloc(1, sizeof(*entry));
		if (entry == NULL)
			goto no_memory;
		cds_list_add(&entry->in_zone, place != NULL ? &place->in_zone
							    : &zone->entries);
		if (entry->in_zone.next != &zone->entries)
			zone->hint = entry;
	}
	entry->entry = *new;
	entry->zone = zone;
	entry->segment = segment;
	cds_list_add_tail(&entry->in_segment, &segment->entries);
	live_account(live, entry, 1);
	return NSD_OK;
no_memory:
	if (zone != NULL)
		remove_zone_if_empty(live, zone);
	return NSD_E_MEMORY;
}

void
live_remove(struct live *live, struct live_entry *entry)
{
	struct live_zone *zone = entry->zone;

	if (zone->hint == entry)
		zone->hint = NULL;
	live_account(live, entry, -1);
	cds_list_del(&entry->in_zone);
	cds_list_del(&entry->in_segment);
	free(entry);
	remove_zone_if_empty(live, zone);
}
