/* diff.c - finds what is different between a zone and the records of a file. */
#include "update/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "compile/items.h"
#include "dns/name.h"

#define BUCKETS_MIN 256u
/* Of 2 GiB. More records share them. */
#define BUCKETS_MAX (1u << 28)
#define BUCKET_RECORDS 4u
/* Octets of a collected record, roughly. */
#define RECORD_OCTETS 128u
#define BLOCK_SIZE ((size_t)64 << 10)

/* A record with its place in the input, and where it is from. */
struct diff_item {
	const struct rrbatch_rr *rr;
	uint32_t order;
	bool served;
};

struct diff {
	const struct store_view *view;
	const struct zone *zone;
	const uint8_t *apex;
	uint64_t key[2];
	uint64_t *sums;
	uint32_t mask;        /* buckets less one */
	size_t memory_left;
	uint64_t differing;   /* records of the zone in differing buckets */
	struct rrbatch *blocks;
	struct diff_item *items;
	size_t count, room;
	struct diff_change *changes;
	size_t change_count;
};

/* ---- sums --------------------------------------------------------------- */

static inline uint64_t
mix_words(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t
load_octets(const uint8_t *p, size_t len)
{
	uint64_t v = 0;

	memcpy(&v, p, len);
	return v;
}

/* A keyed hash of octets and their number. */
static uint64_t
hash_octets(const struct diff *diff, uint64_t seed, const uint8_t *p,
	size_t len)
{
	uint64_t h = seed ^ mix_words(len + diff->key[0], diff->key[1]);

	for (; len > 16; p += 16, len -= 16)
		h = mix_words(load_octets(p, 8) ^ h,
			load_octets(p + 8, 8) ^ diff->key[1]);
	if (len > 8)
		return mix_words(load_octets(p, 8) ^ h,
			load_octets(p + 8, len - 8) ^ diff->key[1]);
	return mix_words(load_octets(p, len) ^ h, diff->key[1]);
}

static inline uint64_t
hash_owner(const struct diff *diff, const uint8_t *owner)
{
	return hash_octets(diff, diff->key[0], owner, name_len(owner));
}

static inline uint64_t
hash_record(const struct diff *diff, uint64_t owner_hash, uint16_t type,
	uint32_t ttl_sec, const uint8_t *rdata, uint16_t rdlen)
{
	uint64_t head = (uint64_t)ttl_sec << 32 | type;
	uint64_t h = mix_words(owner_hash ^ head, diff->key[0] ^ diff->key[1]);

	return mix_words(hash_octets(diff, h, rdata, rdlen), diff->key[0]);
}

static inline uint32_t
diff_bucket(const struct diff *diff, uint64_t owner_hash)
{
	return (uint32_t)(owner_hash >> 32) & diff->mask;
}

enum nsd_err
diff_create(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, const uint64_t key[2], size_t memory_max,
	struct diff **diff)
{
	struct diff *d = calloc(1, sizeof(*d));
	uint32_t buckets = BUCKETS_MIN;

	if (d == NULL)
		return NSD_E_MEMORY;
	while (buckets < BUCKETS_MAX
		&& buckets < zone->rr_count / BUCKET_RECORDS)
		buckets *= 2;
	d->sums = calloc(buckets, sizeof(*d->sums));
	if (d->sums == NULL) {
		free(d);
		return NSD_E_MEMORY;
	}
	d->view = view;
	d->zone = zone;
	d->apex = apex;
	/* An even factor would lose information. */
	d->key[0] = key[0] | 1;
	d->key[1] = key[1] | 1;
	d->mask = buckets - 1;
	d->memory_left = memory_max;
	*diff = d;
	return NSD_OK;
}

void
diff_destroy(struct diff *diff)
{
	if (diff == NULL)
		return;
	rrbatch_destroy_all(diff->blocks);
	free(diff->sums);
	free(diff->items);
	free(diff->changes);
	free(diff);
}

enum nsd_err
diff_sum(struct diff *diff, const struct rrbatch *batch)
{
	const struct rrbatch_rr *rr = rrbatch_first(batch);
	uint64_t *sum = NULL, owner_hash = 0;

	for (size_t i = 0; i < batch->count; i++, rr = rrbatch_next(rr)) {
		if (rr->owner_len > 0) {
			if (!name_is_within(rr->data, diff->apex))
				return NSD_E_ZONE;
			owner_hash = hash_owner(diff, rr->data);
			sum = &diff->sums[diff_bucket(diff, owner_hash)];
		}
		*sum += hash_record(diff, owner_hash, rr->type, rr->ttl_sec,
			rrbatch_rr_rdata(rr), rr->rdlen);
	}
	return NSD_OK;
}

static enum nsd_err
diff_subtract(void *ctx, const struct zone_rr *rr)
{
	struct diff *diff = ctx;
	uint64_t owner_hash = hash_owner(diff, rr->owner);

	diff->sums[diff_bucket(diff, owner_hash)] -= hash_record(diff,
		owner_hash, rr->type, rr->ttl_sec, rr->rdata, rr->rdlen);
	return NSD_OK;
}

enum nsd_err
diff_compare(struct diff *diff, bool *equal)
{
	uint64_t differing = 0, records;
	enum nsd_err err = zone_walk(diff->view, diff->zone, diff->apex,
		diff_subtract, diff);

	if (err != NSD_OK)
		return err;
	for (uint32_t i = 0; i <= diff->mask; i++)
		differing += diff->sums[i] != 0;
	*equal = differing == 0;
	/* Records to collect: of the zone, and about as many of the file. */
	records = differing * (diff->zone->rr_count / (diff->mask + 1u) + 1);
	return 2 * records * RECORD_OCTETS > diff->memory_left ? NSD_E_LIMIT
							       : NSD_OK;
}

/* ---- collecting --------------------------------------------------------- */

static enum nsd_err
diff_keep(struct diff *diff, const struct rrbatch_rr *head,
	const uint8_t *owner, const uint8_t *rdata, bool served)
{
	size_t owner_len = name_len(owner);
	size_t size = (sizeof(*head) + owner_len + head->rdlen + 3)
		& ~(size_t)3;
	size_t cost = size + sizeof(struct diff_item)
		+ sizeof(struct diff_change);
	const struct rrbatch_rr *kept;
	struct diff_item *items;

	if (diff->memory_left < cost)
		return NSD_E_LIMIT;
	if (diff->blocks == NULL
		|| diff->blocks->capacity - diff->blocks->len < size) {
		struct rrbatch *block = rrbatch_create(
			size > BLOCK_SIZE ? size : BLOCK_SIZE);

		if (block == NULL)
			return NSD_E_MEMORY;
		block->next = diff->blocks;
		diff->blocks = block;
	}
	kept = (const struct rrbatch_rr *)(diff->blocks->data
		+ diff->blocks->len);
	items = grow_array(diff->items, diff->count, &diff->room,
		sizeof(*items));
	if (items == NULL)
		return NSD_E_MEMORY;
	diff->items = items;
	if (rrbatch_append(diff->blocks, head, owner, rdata) != NSD_OK)
		return NSD_E_MEMORY;
	diff->memory_left -= cost;
	diff->items[diff->count] = (struct diff_item){kept,
		(uint32_t)diff->count, served};
	diff->count++;
	return NSD_OK;
}

enum nsd_err
diff_collect(struct diff *diff, const struct rrbatch *batch)
{
	const struct rrbatch_rr *rr = rrbatch_first(batch);
	const uint8_t *owner = NULL;
	bool wanted = false;

	for (size_t i = 0; i < batch->count; i++, rr = rrbatch_next(rr)) {
		enum nsd_err err;

		if (rr->owner_len > 0) {
			uint64_t hash = hash_owner(diff, rr->data);

			owner = rr->data;
			wanted = diff->sums[diff_bucket(diff, hash)] != 0;
		}
		if (!wanted)
			continue;
		err = diff_keep(diff, rr, owner, rrbatch_rr_rdata(rr), false);
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

static enum nsd_err
diff_collect_served(void *ctx, const struct zone_rr *rr)
{
	struct diff *diff = ctx;
	const struct rrbatch_rr head = {
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
	};
	uint64_t hash = hash_owner(diff, rr->owner);

	if (diff->sums[diff_bucket(diff, hash)] == 0)
		return NSD_OK;
	return diff_keep(diff, &head, rr->owner, rr->rdata, true);
}

/* ---- comparing ---------------------------------------------------------- */

/* RRsets are in the order of items_key. */
static int
compare_rrset(const struct diff_item *a, const struct diff_item *b)
{
	uint32_t x = items_key(a->rr), y = items_key(b->rr);
	int c = name_compare(a->rr->data, b->rr->data);

	return c != 0 ? c : (x > y) - (x < y);
}

/* Records that are equal in canonical form stand together, the served one
 * first, then the others as they came. */
static int
compare_items(const void *x, const void *y)
{
	const struct diff_item *a = x, *b = y;
	int c = compare_rrset(a, b);

	if (c == 0)
		c = items_compare_rr(a->rr->type, a->rr, b->rr);
	if (c == 0)
		c = (int)b->served - (int)a->served;
	return c != 0 ? c : (a->order > b->order) - (a->order < b->order);
}

static void
diff_change(struct diff *diff, const struct rrbatch_rr *rr, uint32_t ttl_sec,
	bool add)
{
	diff->changes[diff->change_count++] = (struct diff_change){
		.rr = {
			.owner = rr->data,
			.ttl_sec = ttl_sec,
			.type = rr->type,
			.rdlen = rr->rdlen,
			.rdata = rrbatch_rr_rdata(rr),
		},
		.add = add,
	};
}

/* Records that are equal in canonical form: of those of the file the first
 * one counts. */
static void
diff_records(struct diff *diff, const struct diff_item *items, size_t count,
	uint32_t ttl_sec)
{
	const struct rrbatch_rr *served = items[0].served ? items[0].rr : NULL;
	const struct rrbatch_rr *wanted = !items[0].served ? items[0].rr
		: count > 1				   ? items[1].rr
							   : NULL;

	if (served != NULL && wanted != NULL && served->ttl_sec == ttl_sec
		&& served->rdlen == wanted->rdlen
		&& memcmp(rrbatch_rr_rdata(served), rrbatch_rr_rdata(wanted),
			   served->rdlen)
			== 0)
		return;
	if (served != NULL)
		diff_change(diff, served, served->ttl_sec, false);
	if (wanted != NULL)
		diff_change(diff, wanted, ttl_sec, true);
}

/* True if two records of the file differ. */
static bool
diff_wants_several(const struct diff_item *items, size_t count)
{
	const struct rrbatch_rr *wanted = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct rrbatch_rr *rr = items[i].rr;

		if (items[i].served)
			continue;
		if (wanted != NULL
			&& items_compare_rr(rr->type, wanted, rr) != 0)
			return true;
		wanted = rr;
	}
	return false;
}

static enum nsd_err
diff_rrset(struct diff *diff, const struct diff_item *items, size_t count)
{
	uint32_t ttl_sec = UINT32_MAX;
	size_t end;

	/* RFC 2181 section 5.2: see items.c. */
	for (size_t i = 0; i < count; i++) {
		if (items[i].served)
			continue;
		if (items[i].rr->ttl_sec < ttl_sec)
			ttl_sec = items[i].rr->ttl_sec;
	}
	/* Several SOA records are the build's to report. */
	if (items[0].rr->type == TYPE_SOA && diff_wants_several(items, count))
		return NSD_E_ZONE;
	for (size_t i = 0; i < count; i = end) {
		end = i + 1;
		while (end < count
			&& items_compare_rr(items[i].rr->type, items[i].rr,
				   items[end].rr)
				== 0)
			end++;
		diff_records(diff, &items[i], end - i, ttl_sec);
	}
	return NSD_OK;
}

enum nsd_err
diff_finish(struct diff *diff, const struct diff_change **changes,
	size_t *count)
{
	enum nsd_err err = zone_walk(diff->view, diff->zone, diff->apex,
		diff_collect_served, diff);
	size_t end;

	if (err != NSD_OK)
		return err;
	/* The sums are of no more use: the sort and the update need memory. */
	free(diff->sums);
	diff->sums = NULL;
	diff->changes = malloc((diff->count + 1) * sizeof(*diff->changes));
	if (diff->changes == NULL)
		return NSD_E_MEMORY;
	if (diff->count > 0)
		qsort(diff->items, diff->count, sizeof(*diff->items),
			compare_items);
	for (size_t i = 0; i < diff->count && err == NSD_OK; i = end) {
		end = i + 1;
		while (end < diff->count
			&& compare_rrset(&diff->items[i], &diff->items[end])
				== 0)
			end++;
		err = diff_rrset(diff, &diff->items[i], end - i);
	}
	*changes = diff->changes;
	*count = diff->change_count;
	return err;
}
