/*
 * items.h - the records of one name, sorted and cut into RRsets.
 */
#ifndef COMPILE_ITEMS_H
#define COMPILE_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/octets.h"
#include "dns/rrbatch.h"
#include "dns/rrtype.h"

struct owner;
struct packer;

/* A record of the name at hand. */
struct item {
	uint32_t key;   /* items_key */
	uint32_t order; /* place in the input among the name's records */
	const struct rrbatch_rr *rr;
};

/* Items of one type, or RRSIGs of one covered type. */
struct item_group {
	uint16_t type; /* of signatures: the covered type */
	bool sigs;
	uint32_t count; /* duplicates not counted */
	uint32_t ttl_sec;
	struct item *items;
};

/* The order of RRsets: type << 1; of an RRSIG covered type << 1 | 1. So
 * signatures stand right behind the RRset that they cover. */
static inline uint32_t
items_key(const struct rrbatch_rr *rr)
{
	if (rr->type == TYPE_RRSIG && rr->rdlen >= 2)
		return (uint32_t)octets_get_u16(rrbatch_rr_rdata(rr)) << 1 | 1;
	return (uint32_t)rr->type << 1;
}

/* Sorts by key, canonical RDATA and order. tmp: room for as many. */
void items_sort(struct item *items, struct item *tmp, size_t count);

/* Canonical order of the RDATA of two records of a type
 * (RFC 4034 section 6.3). */
int items_compare_rr(uint16_t type, const struct rrbatch_rr *a,
	const struct rrbatch_rr *b);

/*
 * Cuts sorted items into the groups p->groups, *group_count of them. Leaves out
 * duplicates; the TTL of a group is its lowest. Both are told as warnings.
 * The groups refer to the items. NSD_E_MEMORY: there is no room for the groups.
 */
enum nsd_err items_group(struct packer *p, const struct owner *owner,
	struct item *items, size_t count, size_t *group_count) MUST_USE;

#endif
