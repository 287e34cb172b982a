/*
 * update_policy.h - finds whether a key may change a record (update-policy of
 * nsd.conf, doc/surface.md 1.7).
 *
 * The lines of a zone lie in its options, with an index: a search costs the
 * same among ten lines and ten thousand. Lines of the same key and name are one
 * entry, with the types of them all.
 */
#ifndef SETTINGS_UPDATE_POLICY_H
#define SETTINGS_UPDATE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "settings/settings.h"

/* The owners that a line is about. */
enum update_policy_kind {
	UPDATE_POLICY_NAME,   /* this name */
	UPDATE_POLICY_BELOW,  /* names below this name */
	UPDATE_POLICY_LABELS, /* names that begin with these labels */
	UPDATE_POLICY_ANY,    /* all names of the zone */
};

/* A line of update-policy. */
struct update_policy_line {
	store_ref key;          /* struct settings_key; none: an unknown key,
				 * so the line allows nothing */
	const uint8_t *name;    /* wire form, lower case; of LABELS with a root
				 * label behind them, of ANY the root */
	const uint16_t *types;  /* type_count types; ANY stands for any */
	uint32_t type_count;    /* 0: any type but SOA, NS, DNSKEY, DS, RRSIG,
				 * NSEC, NSEC3 and NSEC3PARAM */
	enum update_policy_kind kind;
};

/* Lines of the same key, kind and name. */
struct update_policy_entry {
	uint64_t hash;       /* of the key, the kind and the name */
	store_ref key;
	uint32_t number;     /* of the first such line, from 1 */
	uint32_t name_at;    /* octets from the beginning of the policy */
	uint32_t types_at;   /* the same: uint16_t, ascending */
	uint32_t type_count;
	uint16_t name_len;
	uint8_t kind;        /* enum update_policy_kind */
	uint8_t flags;       /* UPDATE_POLICY_* */
};

#define UPDATE_POLICY_DEFAULTS 0x1u /* a line has no types */
#define UPDATE_POLICY_ALL 0x2u      /* a line has the type ANY */

/* A set of label counts: bit N of the 128, a name with N labels. */
struct update_policy_counts {
	uint64_t bits[2];
};

struct update_policy {
	uint32_t len;        /* octets of this object */
	uint32_t count;      /* entries; the writer holds the key of each */
	uint32_t room;       /* slots of the index: a power of two */
	uint32_t index_at;   /* uint32_t, the number of an entry from 1; 0: a
			      * free slot */
	struct update_policy_counts below;  /* of names of BELOW */
	struct update_policy_counts labels; /* of names of LABELS */
	struct update_policy_entry entries[];
};

/* The alignment of a policy in the object that holds it. */
#define UPDATE_POLICY_ALIGN 8u

/* The policy of a zone; NULL: it has none, or options is NULL. Lent until the
 * reader is quiescent. */
static inline const struct update_policy *
update_policy_get(const struct settings_options *options)
{
	return options == NULL || options->policy_at == 0 ? NULL
		: (const struct update_policy *)((const uint8_t *)options
			+ options->policy_at);
}

/* The most octets of the policy of these lines. */
uint64_t update_policy_size_max(const struct update_policy_line *lines,
	uint32_t count);

/* Makes the policy of lines in memory that is all zero and has
 * update_policy_size_max octets. NSD_E_MEMORY. */
enum nsd_err update_policy_make(const struct update_policy_line *lines,
	uint32_t count, struct update_policy *policy) MUST_USE;

/*
 * Finds a line that allows a change of a record: whoever has signed a request
 * with the key may add such a record, and remove it, its RRset or (type ANY)
 * all that the owner has, of whatever types.
 * policy: NULL allows nothing. key: of the request, verified; none: unsigned.
 * apex: the zone's, at or above owner; both are in wire form, in any case.
 * returns the number of the line, from 1; 0: no line allows it.
 * cost: a look at each label of the owner, and a few searches in the index, at
 * most two for each label. Any role; does not block.
 */
uint32_t update_policy_find(const struct update_policy *policy, store_ref key,
	const uint8_t *apex, const uint8_t *owner, uint16_t type);

#endif
