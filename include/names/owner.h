/*
 * owner.h - names in canonical order: a sort key for each, sorting, finding.
 *
 * In a build an owner is a run of consecutive records with one owner name, or
 * (rr_count 0) an empty non-terminal. The key is the first 16 octets of the
 * name, in a form that keeps the order: the labels from the right, an octet 0
 * behind each. An octet 0 or 1 in a label becomes 1 and ends the key. If two
 * keys differ, the names have the order of the keys. If they are equal, the
 * names have to be compared, unless both owners are OWNER_KEY_WHOLE.
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
	/* types of its records */
	OWNER_NS = 1,
	OWNER_DNAME = 2,
	OWNER_CNAME = 4,
	OWNER_ADDRESS = 8,
	OWNER_OTHER = 16,   /* types other than NSEC3 and its RRSIG */
	/* form of the key, and repetition */
	OWNER_KEY_WHOLE = 32, /* the key holds the whole name */
	OWNER_AGAIN = 64,   /* has the same name as the owner before it */
	/* place in the zone */
	OWNER_CUT = 128,
	OWNER_OCCLUDED = 256,
	OWNER_WILDCARD = 512,
	OWNER_WILDCARD_CHILD = 1024,
	OWNER_DNAME_TOP = 2048, /* a DNAME that is not occluded itself */
	OWNER_NSEC3 = 4096,   /* has NSEC3 records */
	OWNER_CHAINED = 8192, /* the NSEC3 records are in the chain in use */
};

/* Sorted by the million, so it has to stay small. */
struct owner {
	uint64_t key[2];
	const uint8_t *name; /* borrowed: name_len octets, then the apex (or
			      * the root label), lower case. If the owner has
			      * records, the name lies in the first one */
	union {
		uint32_t rr_count; /* in a build: records of the run */
		uint32_t index;    /* in a list of names: an index into the
				    * list's own array of what has the name */
	};
	uint16_t flags;      /* enum owner_flags */
	uint8_t name_len;    /* octets below the apex, no root label */
	uint8_t labels;      /* labels in name_len */
};

_Static_assert(sizeof(struct owner) == 32, "struct owner has grown");

/* The first record of an owner that has records: it is found by owner->name,
 * which lies in it. */
static inline const struct rrbatch_rr *
owner_get_rr(const struct owner *owner)
{
	return (const struct rrbatch_rr *)(owner->name
		- offsetof(struct rrbatch_rr, data));
}

/* The flags that a record gives its owner: OWNER_NS and the like. */
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
 * Fills key, name, name_len and labels from a whole wire name that should end
 * in the apex (both lower case), and sets or clears OWNER_KEY_WHOLE. Other
 * flags stay, so they have to be set before. owner keeps name.
 * returns false if the name is neither the apex nor below it; owner is as it
 * was.
 */
bool owner_measure(struct owner *owner, const uint8_t *name, size_t len,
	const uint8_t *apex, size_t apex_len);

#define OWNER_PREFETCH_AHEAD 8u

/* Prefetches the name of an owner a few places on. If the file was in no order,
 * each name is a cache miss. */
static inline void
owner_prefetch_name(const struct owner *owners, size_t i, size_t count)
{
	if (i + OWNER_PREFETCH_AHEAD < count)
		__builtin_prefetch(owners[i + OWNER_PREFETCH_AHEAD].name);
}

/* Prefetches the name of an owner a few places on, with the record that holds
 * it. */
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

/* Copies an owner with its name, which goes to a buffer of NAME_MAX_LEN octets.
 * apex_len: with the root label. */
void owner_copy(const struct owner *from, size_t apex_len, struct owner *to,
	uint8_t *name);

/* Less than 0, 0 or more than 0 as a's name is before b's in canonical order,
 * equal to it, or behind it. Both are below the same apex. */
int owner_compare(const struct owner *a, const struct owner *b);

/* The count of labels that both names have in common, from the right. */
unsigned owner_count_common(const struct owner *a, const struct owner *b);

/* Makes the ancestor of a name that has `labels` labels below the apex, fewer
 * than the name. It has no records and no flags but OWNER_KEY_WHOLE, and
 * borrows the owner's name. */
void owner_get_ancestor(const struct owner *owner, unsigned labels,
	struct owner *ancestor);

/* Sorts in place. Equal owners keep their order. tmp has room for count. Cost:
 * one pass if they are in order already. */
void owner_sort(struct owner *items, struct owner *tmp, size_t count);

/* Merges two sorted arrays into out. Of equal owners, those of a come first. b
 * may be the end of out; else nothing overlaps. */
void owner_merge(const struct owner *a, size_t a_count, const struct owner *b,
	size_t b_count, struct owner *out);

/* The count of a's owners among the first `count` of the merge of a and b. */
size_t owner_merge_split(const struct owner *a, size_t a_count,
	const struct owner *b, size_t b_count, size_t count);

/* Index of the first of sorted items that is not less than the name; count if
 * all are less. */
size_t owner_find(const struct owner *items, size_t count,
	const struct owner *name);

#endif
