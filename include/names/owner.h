/*
 * owner.h - names in canonical order: a sort key for each, sorting, finding.
 *
 * In a build an owner is a run of consecutive records with one owner name, or
 * (rr_count 0) an empty non-terminal. The key is the first 16 octets of the
 * name in a form that keeps the order: labels from the right, each ended by an
 * octet 0. Octets 0 and 1 of a label become 1 and end the key. So if keys are
 * in order, names are too. If keys are equal, the names have to be compared,
 * unless both owners are OWNER_KEY_WHOLE.
 */
#ifndef NAMES_OWNER_H
#define NAMES_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/octets.h"
#include "dns/rrbatch.h"
#include "dns/rrtype.h"

enum owner_flags {
	/* what its records are */
	OWNER_NS = 1,
	OWNER_DNAME = 2,
	OWNER_CNAME = 4,
	OWNER_ADDRESS = 8,
	OWNER_OTHER = 16,   /* something beside NSEC3 and its RRSIG */
	/* how it is kept */
	OWNER_KEY_WHOLE = 32, /* the key holds the whole name */
	OWNER_AGAIN = 64,   /* same name as the owner before */
	/* what it is in the zone */
	OWNER_CUT = 128,
	OWNER_OCCLUDED = 256,
	OWNER_WILDCARD = 512,
	OWNER_WILDCARD_CHILD = 1024,
	OWNER_DNAME_TOP = 2048, /* a DNAME that is not occluded itself */
	OWNER_NSEC3 = 4096,   /* has NSEC3 records */
	OWNER_CHAINED = 8192, /* and they are in the chain in use */
};

/* Sorted by the million, so it has to stay small. */
struct owner {
	uint64_t key[2];
	const uint8_t *name; /* borrowed: name_len octets, then the apex (or
			      * the root label), lower case. With records: the
			      * owner of the first of them */
	union {
		uint32_t rr_count; /* in a build: records of the run */
		uint32_t index;    /* in a list of names: what the name is
				    * that of, an index into the list's own
				    * array */
	};
	uint16_t flags;      /* enum owner_flags */
	uint8_t name_len;    /* octets below the apex, no root label */
	uint8_t labels;      /* labels in those */
};

_Static_assert(sizeof(struct owner) == 32, "struct owner has grown");

/* The first record of an owner that has records: its name is that record's. */
static inline const struct rrbatch_rr *
owner_get_rr(const struct owner *owner)
{
	return (const struct rrbatch_rr *)(owner->name
		- offsetof(struct rrbatch_rr, data));
}

/* What a record makes of its owner: OWNER_NS and the like. */
static inline uint16_t
owner_flags_of_rr(const struct rrbatch_rr *rr)
{
	switch (rr->type) {
	case TYPE_NS:
		return OWNER_NS | OWNER_OTHER;
	case TYPE_DNAME:
		return OWNER_DNAME | OWNER_OTHER;
	case TYPE_CNAME:
		return OWNER_CNAME | OWNER_OTHER;
	case TYPE_A:
	case TYPE_AAAA:
		return OWNER_ADDRESS | OWNER_OTHER;
	case TYPE_NSEC3:
		return OWNER_NSEC3;
	case TYPE_RRSIG:
		return rr->rdlen >= 2 && octets_get_u16(rrbatch_rr_rdata(rr))
			== TYPE_NSEC3 ? 0 : OWNER_OTHER;
	default:
		return OWNER_OTHER;
	}
}

/*
 * Measures a whole name that should end in the apex (both lower case) and
 * fills key, name, name_len, labels, and sets OWNER_KEY_WHOLE.
 * returns false if the name is not in the apex's domain.
 */
bool owner_measure(struct owner *owner, const uint8_t *name, size_t len,
	const uint8_t *apex, size_t apex_len);

#define OWNER_PREFETCH_AHEAD 8u

/* Fetches the name of an owner a few places on: of a file in no order each is
 * a miss. */
static inline void
owner_prefetch_name(const struct owner *owners, size_t i, size_t count)
{
	if (i + OWNER_PREFETCH_AHEAD < count)
		__builtin_prefetch(owners[i + OWNER_PREFETCH_AHEAD].name);
}

/* The same, with the record that begins before the name. */
static inline void
owner_prefetch_records(const struct owner *owners, size_t i, size_t count)
{
	const uint8_t *ahead;

	if (i + OWNER_PREFETCH_AHEAD >= count)
		return;
	ahead = owners[i + OWNER_PREFETCH_AHEAD].name;
	__builtin_prefetch(ahead - 16);
	__builtin_prefetch(ahead + 48);
	__builtin_prefetch(ahead + 112);
}

/* Canonical order. */
int owner_compare(const struct owner *a, const struct owner *b);

/* Labels that both names have in common, from the right. */
unsigned owner_count_common(const struct owner *a, const struct owner *b);

/* The ancestor of a name with so many labels (fewer than it has). */
void owner_get_ancestor(const struct owner *owner, unsigned labels,
	struct owner *ancestor);

/* Sorts in place; equal owners keep their order. tmp: room for as many. One
 * pass if they are in order already. */
void owner_sort(struct owner *items, struct owner *tmp, size_t count);

/* Merges two sorted arrays into out; of equal ones those of a come first. */
void owner_merge(const struct owner *a, size_t a_count, const struct owner *b,
	size_t b_count, struct owner *out);

/* How many of a's come among the first `count` of the merge of a and b. */
size_t owner_merge_split(const struct owner *a, size_t a_count,
	const struct owner *b, size_t b_count, size_t count);

/* Index of the first of sorted items that is not less than the name. */
size_t owner_find(const struct owner *items, size_t count,
	const struct owner *name);

#endif
