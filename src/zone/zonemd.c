/* zonemd.c - digests of a zone (RFC 8976). */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/grow.h"
#include "base/octets.h"
#include "dns/name.h"
#include "dns/rdata.h"
#include "zone/zonemd.h"

#define ZONEMD_HEAD 6u /* serial 4, scheme 1, hash 1 (section 2.2) */
#define SOA_NUMBERS_LEN 20u
/* Octets of an RR that stand between its owner and RDATA. */
#define RR_HEAD 10u
/* Octets that are given to a hash at once. */
#define BLOCK_SIZE ((size_t)64 << 10)

/* A record of the owner at hand, in canonical form. */
struct digest_item {
	uint32_t ttl_sec;
	uint16_t type;
	uint16_t rdlen;
	size_t at;            /* of its RDATA, in octets */
	const uint8_t *rdata; /* once all are there */
};

/* A hash that the zone is said to have, or that was asked for. */
struct digest_expected {
	struct digest *digest; /* NULL: not computed */
	unsigned count;        /* ZONEMD records of it */
	bool usable;           /* one record, with the zone's serial */
	bool asked;            /* zonemd_compute */
	uint8_t wanted[DIGEST_LEN_MAX];
	uint8_t found[DIGEST_LEN_MAX];
};

struct zonemd {
	const uint8_t *apex;
	bool apex_done;  /* the records of the apex were looked at */
	bool decided;    /* and they decide the verdict */
	enum zonemd_verdict verdict; /* unless a hash is right */
	bool has_serial; /* the two fields below are set */
	uint32_t serial;
	uint32_t ttl_sec; /* of the SOA */
	struct digest_expected expected[DIGEST_KIND_COUNT];
	/* the owner at hand; in lower case */
	uint8_t owner[NAME_MAX_LEN];
	size_t owner_len; /* 0: none */
	struct digest_item *items;
	size_t count, room;
	uint8_t *octets; /* RDATA of the items */
	size_t len, size;
	size_t block_len;
	uint8_t block[BLOCK_SIZE];
};

const char *
zonemd_text(enum zonemd_verdict verdict)
{
#define ZONEMD_TEXT(name, text) [ZONEMD_##name] = text,
	static const char *const texts[] = {ZONEMD_VERDICT_LIST(ZONEMD_TEXT)};
#undef ZONEMD_TEXT

	return (unsigned)verdict < sizeof(texts) / sizeof(*texts)
		? texts[verdict] : "its ZONEMD record is odd";
}

/* ---- records of the apex ------------------------------------------------- */

/* RFC 8976 section 3.3.1: the records that hold a digest, and their signatures,
 * are not part of it. */
static bool
item_is_digest(const struct digest_item *item)
{
	return item->type == TYPE_ZONEMD
		|| (item->type == TYPE_RRSIG && item->rdlen >= 2
			&& octets_get_u16(item->rdata) == TYPE_ZONEMD);
}

static void
apex_note_soa(struct zonemd *z)
{
	for (size_t i = 0; i < z->count && !z->has_serial; i++) {
		const struct digest_item *item = &z->items[i];

		if (item->type != TYPE_SOA || item->rdlen < SOA_NUMBERS_LEN)
			continue;
		z->serial = octets_get_u32(item->rdata + item->rdlen
			- SOA_NUMBERS_LEN);
		z->ttl_sec = item->ttl_sec;
		z->has_serial = true;
	}
}

/* The hash of a ZONEMD record, by the IANA registry (RFC 8976 section 5);
 * DIGEST_KIND_COUNT: the scheme or the hash is not known. */
static enum digest_kind
expected_find_kind(const struct digest_item *item)
{
	if (item->rdlen < ZONEMD_HEAD || item->rdata[4] != ZONEMD_SIMPLE
		|| item->rdata[5] == 0 || item->rdata[5] > DIGEST_KIND_COUNT)
		return DIGEST_KIND_COUNT;
	return (enum digest_kind)(item->rdata[5] - 1);
}

/* Notes a ZONEMD record of the apex. RFC 8976 section 4: each one is good by
 * itself, if it can be used; several of one scheme and hash cannot (step 4),
 * whatever else they are. */
static void
zonemd_record_note(struct zonemd *z, const struct digest_item *item)
{
	enum digest_kind kind = expected_find_kind(item);
	struct digest_expected *expected;

	if (kind == DIGEST_KIND_COUNT) { /* steps 5b and 5c */
		if (z->verdict == ZONEMD_ABSENT)
			z->verdict = ZONEMD_UNKNOWN;
		return;
	}
	expected = &z->expected[kind];
	if (expected->count++ > 0) {
		expected->usable = false;
		z->verdict = ZONEMD_TWICE;
	} else if (octets_get_u32(item->rdata) != z->serial) { /* step 5a */
		z->verdict = ZONEMD_SERIAL;
	} else if (item->rdlen != ZONEMD_HEAD + digest_len(kind)) { /* 5d */
		z->verdict = ZONEMD_LENGTH;
	} else {
		expected->usable = true;
		memcpy(expected->wanted, item->rdata + ZONEMD_HEAD,
			digest_len(kind));
	}
}

/* Decides which hashes are to be computed. */
static enum nsd_err
apex_look(struct zonemd *z)
{
	apex_note_soa(z);
	z->apex_done = true;
	z->decided = true;
	for (size_t i = 0; z->has_serial && i < z->count; i++)
		if (z->items[i].type == TYPE_ZONEMD)
			zonemd_record_note(z, &z->items[i]);
	for (unsigned k = 0; k < DIGEST_KIND_COUNT; k++) {
		if (!z->expected[k].usable && !z->expected[k].asked)
			continue;
		if (digest_create((enum digest_kind)k, &z->expected[k].digest)
			!= NSD_OK)
			return NSD_E_MEMORY;
		z->decided = false;
	}
	return NSD_OK;
}

/* ---- octets to hash ------------------------------------------------------ */

static void
block_flush(struct zonemd *z)
{
	for (unsigned k = 0; k < DIGEST_KIND_COUNT; k++)
		if (z->expected[k].digest != NULL)
			digest_add(z->expected[k].digest, z->block,
				z->block_len);
	z->block_len = 0;
}

/* An RR as it is hashed (section 3.3.2): its whole wire form. */
static void
block_add(struct zonemd *z, const struct digest_item *item)
{
	uint8_t *at;

	_Static_assert(BLOCK_SIZE >= NAME_MAX_LEN + RR_HEAD, "a head fits");
	if (BLOCK_SIZE - z->block_len
		< z->owner_len + RR_HEAD + (size_t)item->rdlen)
		block_flush(z);
	at = z->block + z->block_len;
	memcpy(at, z->owner, z->owner_len);
	at += z->owner_len;
	octets_put_u16(at, item->type);
	octets_put_u16(at + 2, CLASS_IN);
	octets_put_u32(at + 4, item->ttl_sec);
	octets_put_u16(at + 8, item->rdlen);
	z->block_len += z->owner_len + RR_HEAD;
	if (BLOCK_SIZE - z->block_len < item->rdlen) {
		/* A record that ends in the next block. */
		size_t first = BLOCK_SIZE - z->block_len;

		memcpy(z->block + z->block_len, item->rdata, first);
		z->block_len = BLOCK_SIZE;
		block_flush(z);
		memcpy(z->block, item->rdata + first, item->rdlen - first);
		z->block_len = item->rdlen - first;
		return;
	}
	memcpy(z->block + z->block_len, item->rdata, item->rdlen);
	z->block_len += item->rdlen;
}

/* ---- an owner ------------------------------------------------------------ */

/* Sections 3.3.2 to 3.3.4: by type, then by RDATA in canonical form. */
static int
item_compare(const void *a, const void *b)
{
	const struct digest_item *x = a, *y = b;
	size_t len = x->rdlen < y->rdlen ? x->rdlen : y->rdlen;
	int order;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	order = memcmp(x->rdata, y->rdata, len);
	return order != 0 ? order : (int)x->rdlen - (int)y->rdlen;
}

/* Hashes the records of the owner at hand. */
static enum nsd_err
owner_flush(struct zonemd *z)
{
	bool sorted = true;

	for (size_t i = 0; i < z->count; i++) {
		z->items[i].rdata = z->octets + z->items[i].at;
		if (i > 0 && sorted)
			sorted = item_compare(&z->items[i - 1], &z->items[i])
				<= 0;
	}
	if (!sorted)
		qsort(z->items, z->count, sizeof(*z->items), item_compare);
	if (!z->apex_done) {
		enum nsd_err err = apex_look(z);

		if (err != NSD_OK)
			return err;
	}
	for (size_t i = 0; !z->decided && i < z->count; i++)
		if (!name_equal(z->owner, z->apex)
			|| !item_is_digest(&z->items[i]))
			block_add(z, &z->items[i]);
	z->count = 0;
	z->len = 0;
	return NSD_OK;
}

enum nsd_err
zonemd_take(struct zonemd *z, const struct zone_rr *rr)
{
	struct digest_item *items;
	uint8_t *octets;

	if (z->owner_len == 0 || !name_equal(rr->owner, z->owner)) {
		enum nsd_err err = z->owner_len > 0 ? owner_flush(z) : NSD_OK;

		if (err != NSD_OK)
			return err;
		z->owner_len = name_len(rr->owner);
		memcpy(z->owner, rr->owner, z->owner_len);
		name_lower(z->owner);
	}
	if (z->decided)
		return NSD_E_NOT_FOUND;
	items = grow_array(z->items, z->count, &z->room, sizeof(*items));
	if (items == NULL)
		return NSD_E_MEMORY;
	z->items = items;
	octets = grow_octets(z->octets, z->len + rr->rdlen + 1, &z->size);
	if (octets == NULL)
		return NSD_E_MEMORY;
	z->octets = octets;
	items[z->count++] = (struct digest_item){
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
		.at = z->len,
	};
	memcpy(octets + z->len, rr->rdata, rr->rdlen);
	rdata_make_canonical(rr->type, octets + z->len, rr->rdlen);
	z->len += rr->rdlen;
	return NSD_OK;
}

/* ---- the whole zone ------------------------------------------------------ */

enum nsd_err
zonemd_create(const uint8_t *apex, struct zonemd **zonemd)
{
	struct zonemd *z = malloc(sizeof(*z));

	if (z == NULL)
		return NSD_E_MEMORY;
	memset(z, 0, offsetof(struct zonemd, block));
	z->apex = apex;
	z->verdict = ZONEMD_ABSENT;
	*zonemd = z;
	return NSD_OK;
}

void
zonemd_destroy(struct zonemd *zonemd)
{
	if (zonemd == NULL)
		return;
	for (unsigned k = 0; k < DIGEST_KIND_COUNT; k++)
		digest_destroy(zonemd->expected[k].digest);
	free(zonemd->items);
	free(zonemd->octets);
	free(zonemd);
}

void
zonemd_compute(struct zonemd *zonemd, enum digest_kind kind)
{
	assert((size_t)kind < DIGEST_KIND_COUNT && zonemd->owner_len == 0);
	zonemd->expected[kind].asked = true;
}

enum nsd_err
zonemd_finish(struct zonemd *z, enum zonemd_verdict *verdict)
{
	bool good = false;
	enum nsd_err err = z->owner_len > 0 && !z->decided ? owner_flush(z)
							   : NSD_OK;

	if (err != NSD_OK)
		return err;
	block_flush(z);
	for (unsigned k = 0; k < DIGEST_KIND_COUNT; k++) {
		struct digest_expected *expected = &z->expected[k];

		if (expected->digest == NULL)
			continue;
		err = digest_end(expected->digest, expected->found);
		if (err != NSD_OK)
			return err;
		if (!expected->usable)
			continue;
		if (memcmp(expected->found, expected->wanted,
			    digest_len((enum digest_kind)k)) == 0)
			good = true;
		else
			z->verdict = ZONEMD_DIFFERS;
	}
	*verdict = good ? ZONEMD_GOOD : z->verdict;
	return NSD_OK;
}

bool
zonemd_get_record(const struct zonemd *zonemd, enum digest_kind kind,
	struct zonemd_record *record)
{
	assert((size_t)kind < DIGEST_KIND_COUNT
		&& zonemd->expected[kind].asked);
	if (!zonemd->has_serial)
		return false;
	record->ttl_sec = zonemd->ttl_sec;
	record->serial = zonemd->serial;
	record->kind = kind;
	memcpy(record->digest, zonemd->expected[kind].found, DIGEST_LEN_MAX);
	return true;
}

static enum nsd_err
zonemd_on_rr(void *ctx, const struct zone_rr *rr)
{
	return zonemd_take(ctx, rr);
}

enum nsd_err
zonemd_check(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, enum zonemd_verdict *verdict)
{
	struct zonemd *z;
	enum nsd_err err = zonemd_create(apex, &z);

	if (err != NSD_OK)
		return err;
	err = zone_walk(view, zone, apex, zonemd_on_rr, z);
	if (err == NSD_OK || err == NSD_E_NOT_FOUND)
		err = zonemd_finish(z, verdict);
	zonemd_destroy(z);
	return err;
}
