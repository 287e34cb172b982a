/* parts_plan.c - chooses the ranges of names that a zone is built in, from
 * samples of its records. */
#include <stdlib.h>
#include <string.h>

#include "build/parts_pass.h"

#define SAMPLES_MAX 8192u

/*
 * A zone in the store takes at least half of the octets of its records. Until
 * it is complete, the part that is missing is room for the records of a range
 * and for their owners, which are sorted and merged. At the end a twelfth of
 * the zone has to be enough.
 */
#define ZONE_PART 2u
#define SPARE_PART 12u
#define PART_MIN ((uint64_t)1 << 20)
/* What each run of records takes in a build: its owner, a second one while
 * lists are merged or empty non-terminals added, its place in the trie. */
#define OWNER_OCTETS 72u

bool
parts_is_of_chain(const struct rrbatch_rr *rr)
{
	if (rr->type == TYPE_NSEC3)
		return true;
	return rr->type == TYPE_RRSIG && rr->rdlen >= 2
		&& octets_get_u16(rrbatch_rr_rdata(rr)) == TYPE_NSEC3;
}

/* ---- sampling ------------------------------------------------------------ */

enum nsd_err
parts_plan_create(const uint8_t *apex, struct zone_plan **out)
{
	struct zone_plan *plan = calloc(1, sizeof(*plan));

	if (plan == NULL)
		return NSD_E_MEMORY;
	plan->apex = apex;
	plan->apex_len = name_len(apex);
	memcpy(plan->apex_lower, apex, plan->apex_len);
	name_lower(plan->apex_lower);
	plan->names.interval = plan->chain.interval = 1;
	plan->names.samples = malloc(SAMPLES_MAX
		* sizeof(*plan->names.samples));
	plan->chain.samples = malloc(SAMPLES_MAX
		* sizeof(*plan->chain.samples));
	if (plan->names.samples == NULL || plan->chain.samples == NULL) {
		parts_plan_destroy(plan);
		return NSD_E_MEMORY;
	}
	*out = plan;
	return NSD_OK;
}

void
parts_plan_destroy(struct zone_plan *plan)
{
	if (plan == NULL)
		return;
	free(plan->names.samples);
	free(plan->chain.samples);
	free(plan->params);
	free(plan);
}

static void
list_reset(struct plan_list *list)
{
	list->count = 0;
	list->interval = 1;
	list->since = 0;
	list->octets = 0;
}

void
parts_plan_reset(struct zone_plan *plan)
{
	list_reset(&plan->names);
	list_reset(&plan->chain);
	free(plan->params);
	plan->params = NULL;
	plan->rr_count = plan->nsec3_count = plan->params_count = 0;
	plan->octets = 0;
	plan->odd = plan->no_memory = false;
	plan->end_line = 0;
	plan->end_file = 0;
}

/* Drops every other sample: of two neighbours the first stays, of the next two
 * the second, and so on. */
static void
list_thin(struct plan_list *list)
{
	for (size_t i = 0; i < list->count / 2; i++) {
		struct plan_sample *a = &list->samples[2 * i], *b = a + 1;
		struct plan_sample kept = i % 2 == 0 ? *a : *b;

		kept.octets = a->octets + b->octets;
		list->samples[i] = kept;
	}
	list->count /= 2;
	list->interval *= 2;
}

static void
list_sample(struct plan_list *list, const struct owner *owner)
{
	struct plan_sample *s;

	if (list->count == SAMPLES_MAX)
		list_thin(list);
	s = &list->samples[list->count++];
	s->key[0] = owner->key[0];
	s->key[1] = owner->key[1];
	s->octets = list->since;
	list->since = 0;
}

static void
plan_take_params(struct zone_plan *plan, const struct owner *owner,
	const struct rrbatch_rr *rr)
{
	if (owner->labels > 0)
		return;
	if (plan->params_count++ > 0)
		return;
	plan->params = malloc(sizeof(*rr) + rr->rdlen);
	if (plan->params == NULL) {
		plan->no_memory = true;
		return;
	}
	*plan->params = *rr;
	plan->params->owner_len = 0;
	memcpy(plan->params->data, rrbatch_rr_rdata(rr), rr->rdlen);
}

/* first: the record that has the name of the owner. The name is only measured
 * if it has to be. */
static void
plan_add_record(struct zone_plan *plan, const struct rrbatch_rr *first,
	const struct rrbatch_rr *rr)
{
	bool chain = parts_is_of_chain(rr);
	struct plan_list *list = chain ? &plan->chain : &plan->names;
	uint64_t octets = sizeof(*rr) + rr->owner_len + rr->rdlen;
	uint8_t hash[NSEC3_HASH_LEN];
	struct owner owner = {.flags = 0};

	plan->octets += octets;
	if (rr->owner_len > 0)
		octets += OWNER_OCTETS;
	list->octets += octets;
	list->since += octets;
	plan->nsec3_count += rr->type == TYPE_NSEC3;
	if (list->since < list->interval && !chain
		&& rr->type != TYPE_NSEC3PARAM)
		return;
	if (!owner_measure(&owner, first->data, first->owner_len,
		    plan->apex_lower, plan->apex_len))
		return;
	if (list->since >= list->interval)
		list_sample(list, &owner);
	if (chain && (owner.labels != 1
			|| !nsec3_parse_label(owner.name, hash)))
		plan->odd = true;
	if (rr->type == TYPE_NSEC3PARAM)
		plan_take_params(plan, &owner, rr);
}

void
parts_plan_add(struct zone_plan *plan, const struct rrbatch *batch)
{
	const struct rrbatch_rr *rr = rrbatch_first(batch), *first = rr;

	for (size_t i = 0; i < batch->count; i++, rr = rrbatch_next(rr)) {
		if (rr->owner_len > 0)
			first = rr;
		plan_add_record(plan, first, rr);
		plan->end_line = rr->line;
		plan->end_file = rr->file;
	}
	plan->rr_count += batch->count;
}

/* ---- ranges -------------------------------------------------------------- */

static int
key_compare(const uint64_t *a, const uint64_t *b)
{
	if (a[0] != b[0])
		return a[0] < b[0] ? -1 : 1;
	return (a[1] > b[1]) - (a[1] < b[1]);
}

static int
sample_compare(const void *a, const void *b)
{
	return key_compare(((const struct plan_sample *)a)->key,
		((const struct plan_sample *)b)->key);
}

struct planning {
	struct part_range *ranges;
	size_t count;
	uint64_t zone;  /* octets that it will take in the store */
	uint64_t total; /* octets of all records and owners */
	uint64_t done;  /* of those in ranges that are complete */
	uint64_t fixed; /* octets of a range, or 0 */
};

static uint64_t
planning_room(const struct planning *p)
{
	double left = (double)(p->total - p->done) / (double)p->total;
	double room = (double)p->zone * (left + 1.0 / SPARE_PART);

	if (p->fixed > 0)
		return p->fixed;
	/* The range's own part of the zone comes to it. */
	room *= (double)p->total / (double)(p->total + p->zone);
	return room > PART_MIN ? (uint64_t)room : PART_MIN;
}

/* Cuts where the room ends, between two keys. */
static void
planning_cut(struct planning *p, const struct plan_list *list, bool chain)
{
	struct part_range *range = &p->ranges[p->count++];
	const struct plan_sample *s = list->samples;
	uint64_t octets = 0;

	memset(range, 0, sizeof(*range));
	range->chain = chain;
	for (size_t i = 0; i < list->count; i++) {
		if (octets > 0 && octets + s[i].octets > planning_room(p)
			&& key_compare(s[i - 1].key, s[i].key) != 0) {
			memcpy(range->high, s[i].key, sizeof(range->high));
			p->done += octets;
			octets = 0;
			range = &p->ranges[p->count++];
			memset(range, 0, sizeof(*range));
			memcpy(range->low, s[i].key, sizeof(range->low));
			range->chain = chain;
		}
		octets += s[i].octets;
	}
	p->done += octets;
	range->last = true;
}

struct part_range *
parts_plan_make_ranges(const struct zone_plan *plan, size_t part_octets,
	size_t *count)
{
	struct planning p = {
		.ranges = malloc((plan->names.count + plan->chain.count + 2)
			* sizeof(*p.ranges)),
		.zone = plan->octets / ZONE_PART,
		.total = plan->names.octets + plan->chain.octets,
		.fixed = part_octets,
	};

	if (p.ranges == NULL)
		return NULL;
	qsort(plan->chain.samples, plan->chain.count,
		sizeof(struct plan_sample), sample_compare);
	qsort(plan->names.samples, plan->names.count,
		sizeof(struct plan_sample), sample_compare);
	if (plan->nsec3_count > 0 || plan->chain.octets > 0)
		planning_cut(&p, &plan->chain, true);
	planning_cut(&p, &plan->names, false);
	*count = p.count;
	return p.ranges;
}
