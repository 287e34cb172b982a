/* load_change.c - counts the records that a version would remove. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/fold.h"
#include "base/grow.h"
#include "dns/name.h"
#include "dns/rdata.h"
#include "loader/load_change.h"
#include "loader/load_refusal.h"
#include "zone/walk.h"

/* Odd numbers without a pattern, for hashes. */
#define HASH_BEGIN UINT64_C(0x9e3779b97f4a7c15)
#define HASH_STEP UINT64_C(0xd6e8feb86659fd93)

/* A record of an owner. Records with the same hash count as equal: a mistake
 * makes the count lower by one. */
struct change_record {
	uint64_t hash;
	uint16_t type;
};

/* A version that is walked, and its records at the owner at hand. */
struct change_side {
	struct zone_cursor *cursor;
	struct zone_rr rr; /* the next one, if has_rr */
	bool has_rr;
	struct change_record *records;
	size_t count, room;
};

struct change_counter {
	struct change_side served, made;
	uint8_t *rdata;     /* room for the longest */
	uint64_t kept;      /* records of the served version that are looked at,
			     * and stay */
	uint64_t removed;
	uint64_t added;
	uint16_t first_type; /* of the first that goes */
	uint8_t first[NAME_MAX_LEN];
	enum nsd_err err;
};

/* ---- records ------------------------------------------------------------- */

static bool
record_counts(uint16_t type)
{
	return type != TYPE_SOA && type != TYPE_RRSIG && type != TYPE_NSEC
		&& type != TYPE_NSEC3 && type != TYPE_NSEC3PARAM
		&& type != TYPE_ZONEMD;
}

static uint64_t
record_hash(struct change_counter *c, const struct zone_rr *rr)
{
	uint64_t hash = HASH_BEGIN ^ rr->type;

	if (rr->rdlen > 0)
		memcpy(c->rdata, rr->rdata, rr->rdlen);
	rdata_make_canonical(rr->type, c->rdata, rr->rdlen);
	for (size_t i = 0; i < rr->rdlen; i++)
		hash = fold_words(hash ^ c->rdata[i], HASH_STEP) + HASH_BEGIN;
	return hash;
}

/* ---- a version ----------------------------------------------------------- */

/* Goes to the next record that counts. */
static void
side_step(struct change_side *side)
{
	do
		side->has_rr = zone_cursor_next(side->cursor, &side->rr);
	while (side->has_rr && !record_counts(side->rr.type));
}

/* Takes the records of an owner, if they are next. */
static void
side_take(struct change_counter *c, struct change_side *side,
	const uint8_t *owner)
{
	side->count = 0;
	while (side->has_rr && c->err == NSD_OK
		&& name_equal(side->rr.owner, owner)) {
		struct change_record *records = grow_array(side->records,
			side->count, &side->room, sizeof(*records));

		if (records == NULL) {
			c->err = NSD_E_MEMORY;
			return;
		}
		side->records = records;
		records[side->count++] = (struct change_record){
			record_hash(c, &side->rr), side->rr.type};
		side_step(side);
	}
}

static int
change_compare_records(const void *a, const void *b)
{
	const struct change_record *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

static void
side_sort(struct change_side *side)
{
	if (side->count > 1)
		qsort(side->records, side->count, sizeof(*side->records),
			change_compare_records);
}

/* ---- an owner ------------------------------------------------------------ */

static void
owner_remove(struct change_counter *c, const uint8_t *owner, uint16_t type)
{
	if (c->removed++ > 0)
		return;
	memcpy(c->first, owner, name_len(owner));
	c->first_type = type;
}

/* Compares the records that both versions have at a name. */
static void
owner_count(struct change_counter *c, const uint8_t *owner)
{
	const struct change_record *a, *b;
	size_t i = 0, j = 0;

	side_take(c, &c->served, owner);
	side_take(c, &c->made, owner);
	side_sort(&c->served);
	side_sort(&c->made);
	a = c->served.records;
	b = c->made.records;
	while (i < c->served.count || j < c->made.count) {
		bool gone = j == c->made.count || (i < c->served.count
			&& a[i].hash < b[j].hash);
		bool come = i == c->served.count || (j < c->made.count
			&& b[j].hash < a[i].hash);

		if (gone)
			owner_remove(c, owner, a[i].type);
		c->added += come;
		c->kept += !gone && !come;
		i += !come;
		j += !gone;
	}
}

/* ---- versions ------------------------------------------------------------ */

/* Walks both versions side by side: their owners are in the same order. */
static void
change_count_all(struct change_counter *c)
{
	uint8_t owner[NAME_MAX_LEN];

	side_step(&c->served);
	side_step(&c->made);
	while ((c->served.has_rr || c->made.has_rr) && c->err == NSD_OK) {
		const uint8_t *next = c->served.rr.owner;

		if (!c->served.has_rr || (c->made.has_rr
				&& name_compare(c->made.rr.owner, next) < 0))
			next = c->made.rr.owner;
		memcpy(owner, next, name_len(next));
		owner_count(c, owner);
	}
}

static int
change_compare_owners(const void *a, const void *b)
{
	return name_compare(*(const uint8_t *const *)a,
		*(const uint8_t *const *)b);
}

/* Looks at the owners that a change has touched, each once. */
static void
change_count_touched(struct change_counter *c,
	const struct update_candidate *candidate)
{
	const uint8_t **owners = candidate->owners;

	if (candidate->owner_count > 1)
		qsort(owners, candidate->owner_count, sizeof(*owners),
			change_compare_owners);
	for (size_t i = 0; i < candidate->owner_count && c->err == NSD_OK;
		i++) {
		if (i > 0 && name_equal(owners[i], owners[i - 1]))
			continue;
		zone_cursor_seek(c->served.cursor, owners[i]);
		zone_cursor_seek(c->made.cursor, owners[i]);
		side_step(&c->served);
		side_step(&c->made);
		owner_count(c, owners[i]);
	}
}

static enum nsd_err
change_on_rr(void *ctx, const struct zone_rr *rr)
{
	*(uint64_t *)ctx += record_counts(rr->type);
	return NSD_OK;
}

static void
change_fini(struct change_counter *c)
{
	zone_cursor_destroy(c->served.cursor);
	zone_cursor_destroy(c->made.cursor);
	free(c->served.records);
	free(c->made.records);
	free(c->rdata);
}

/* Counts what goes and comes. *data: records of the served version that
 * count. */
static enum nsd_err
change_count(const struct store_view *view, const uint8_t *apex,
	const struct update_candidate *candidate, struct change_counter *c,
	uint64_t *data)
{
	enum nsd_err err = zone_cursor_create(view, candidate->served, apex,
		&c->served.cursor);

	if (err == NSD_OK)
		err = zone_cursor_create(view, candidate->zone, apex,
			&c->made.cursor);
	c->rdata = malloc(UINT16_MAX);
	if (err != NSD_OK || c->rdata == NULL)
		return NSD_E_MEMORY;
	*data = candidate->served->data_count;
	if (candidate->owners == NULL) {
		change_count_all(c);
		*data = c->kept + c->removed;
		return c->err;
	}
	change_count_touched(c, candidate);
	if (c->err != NSD_OK || *data != 0)
		return c->err;
	return zone_walk(view, candidate->served, apex, change_on_rr, data);
}

/* ---- interface ----------------------------------------------------------- */

bool
load_change_is_wanted(const struct load_zone *zone)
{
	const struct conf_pattern *options = zone->conf->options;

	return options->xfr_max_change < 100 && options->request_xfr.count > 0;
}

bool
load_change_takes_long(const struct load_zone *zone, const struct zone *served,
	uint64_t records_max)
{
	return load_change_is_wanted(zone) && served->data_count == 0
		&& served->rr_count > records_max;
}

enum nsd_err
load_change_check(const struct store_view *view, const struct load_zone *zone,
	struct update_candidate *candidate, struct load_refusal *refusal)
{
	struct change_counter c = {.err = NSD_OK};
	char name[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];
	unsigned most = zone->conf->options->xfr_max_change;
	uint64_t data = 0;
	enum nsd_err err;

	if (!load_change_is_wanted(zone) || candidate->served == NULL
		|| candidate->served == candidate->zone)
		return NSD_OK;
	err = change_count(view, zone->conf->wire, candidate, &c, &data);
	change_fini(&c);
	if (err != NSD_OK)
		return err;
	candidate->data_count = data - c.removed + c.added;
	if (c.removed * 100 <= data * most)
		return NSD_OK;
	name_print_text(c.first, name);
	rrtype_print(c.first_type, type);
	load_refusal_set(refusal, IPC_CHECK_CHANGE, candidate->zone->serial,
		"%llu of %llu records would go, over %u %%; the first of them"
		" is %s %s", (unsigned long long)c.removed,
		(unsigned long long)data, most, name, type);
	return NSD_E_CHANGE;
}
