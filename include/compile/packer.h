/*
 * packer.h - packs the records of a name into the store.
 *
 * A packer checks the records of a name and makes its node, with the RRsets and
 * signatures that the node refers to, or its record in the NSEC3 chain. A build
 * has a packer for each thread; an update has one. A packer belongs to one
 * thread; struct packer_zone is shared by all packers of a zone.
 *
 *	packer_init
 *	packer_prepare
 *	hasher_run, hasher_get          hashes of names, if there is a chain
 *	node_pack_items, nsec3_pack_items ...
 *	pack_sigs_flush                 before anybody reads counts of holders
 *	arena_fini(&p->arena)
 *
 * Packed objects are not visible to readers until they are published. Findings
 * about the zone go to p->findings.
 */
#ifndef COMPILE_PACKER_H
#define COMPILE_PACKER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "compile/findings.h"
#include "compile/items.h"
#include "compile/limits.h"
#include "dns/name.h"
#include "names/owner.h"
#include "zone/nsec3_page.h"
#include "zonedb/share.h"

struct store_heap;
struct name_hasher;
struct node;

/* State that all packers of a zone share. Only `share` changes while they run;
 * it has locks of its own. */
struct packer_zone {
	uint8_t apex[NAME_MAX_LEN]; /* lower case */
	uint8_t apex_len;           /* root label counted */
	bool secondary;             /* broken data is served, not refused */
	struct zone_limits limits;
	const struct store_view *view;
	struct share share;
	store_ref chain;            /* struct nsec3_chain that names are hashed
				     * for, or none */
	struct nsec3_params params; /* of the chain */
	bool hash_later;            /* nodes get room for hashes, and the hashes
				     * when the chain is there */
	bool hash_apex_alone;       /* of hash_later: hashing is too costly */
};

/* A name in a new RRset whose addresses are wanted for the additional
 * section. */
struct target_use {
	struct target_use *next;
	struct owner name;
	const struct rrbatch_rr *rr;
	const struct owner *owner; /* of the RRset */
	store_ref rrset;
	uint16_t index;            /* into its targets */
};

/* A suffix of a name in the RRset at hand that pointers may lead to. */
struct suffix {
	uint32_t hash;
	uint16_t sent; /* offset in sent coordinates */
	uint16_t len;
	const uint8_t *name;
};

/* Scratch of pack_rrset.c; arrays grow as needed. */
struct rrset_scratch {
	uint8_t *out;
	size_t out_room;
	uint16_t *fixups;
	struct rrset_target *targets;
	const struct rrbatch_rr **target_rrs; /* NULL: outside of the zone */
	size_t names_room; /* of fixups, targets, target_rrs */
	struct suffix *suffixes;
	size_t suffixes_room;
	uint16_t *suffix_index; /* NULL: not needed so far */
	size_t index_room;
};

/* The sig_templates that a packer has met: a hash table. */
struct template_table {
	struct template_slot {
		const struct sig_template *template; /* NULL: free */
		store_ref ref;
		uint32_t hash;
		uint32_t count; /* holders not yet counted in refs */
	} *slots;
	size_t room; /* power of two, or 0 */
	size_t used;
};

/* The templates of NSEC3 records that a packer has met: a hash table. */
struct nsec3_template_table {
	struct nsec3_template_slot {
		const struct nsec3_template *template; /* NULL: free */
		store_ref ref;
		uint32_t hash;
		uint32_t count; /* holders not yet counted in refs */
	} *slots;
	size_t room; /* power of two, or 0 */
	size_t used;
};

struct packer {
	struct packer_zone *zone;
	struct store_heap *heap;  /* of the objects that are made */
	struct arena arena;       /* scratch and findings */
	struct arena *uses_arena; /* of uses: lasts until these are resolved */
	struct findings findings;
	enum nsd_err err;         /* sticky: a use could not be noted */

	/* the records of the name at hand */
	struct item *items;
	size_t items_room;
	struct item_group *groups;
	size_t groups_room;

	/* the node at hand */
	struct node_rrset *entries;
	size_t entries_room;
	size_t packed; /* entries that no node has yet: after a failure the
			* caller lets go of them */
	const struct node_rrset *kept; /* in an update: entries of the old node
					* that stay as they are; ascending */
	size_t kept_count;
	const struct node *former; /* in an update: the old node, whose records
				    * are within the limits. NULL: none */
	struct name_hasher *hasher; /* NULL: no chain */
	const uint8_t *hashes[2];   /* of the name, and of the wildcard below
				     * it; NULL: not to be kept */

	struct rrset_scratch rrset;
	struct template_table templates;
	struct nsec3_template_table nsec3_templates;

	/* the results */
	struct target_use *uses; /* names whose addresses are wanted */
	size_t use_count;
	uint64_t rr_count;
};

/* Severity of broken data: a primary zone is refused, a secondary zone is
 * served. */
static inline enum diag_severity
packer_severity(const struct packer *p)
{
	return p->zone->secondary ? DIAG_WARNING : DIAG_ERROR;
}

/* Fills a packer that is all zero; its arena has been initialised. Keeps zone
 * and heap until the end. uses_arena: NULL: the packer's own. */
void packer_init(struct packer *p, struct packer_zone *zone,
	struct store_heap *heap, struct arena *uses_arena);

/* Makes room for the first records; more calls do nothing. NSD_E_MEMORY. */
enum nsd_err packer_prepare(struct packer *p) MUST_USE;

/* The slow path of packer_reserve, for an array without room. Not called
 * directly. */
void *packer_reserve_more(struct packer *p, size_t *room, size_t count,
	size_t size) MUST_USE;

/*
 * Makes room for count things of size in an array of scratch; if it moves, its
 * contents are lost. Returns the array; NULL without memory, with *room 0.
 */
static inline void *
packer_reserve(struct packer *p, void *array, size_t *room, size_t count,
	size_t size)
{
	return count <= *room ? array
			      : packer_reserve_more(p, room, count, size);
}

/* ---- hashes of names (hasher.c) */

#define HASHER_OWNERS 128u

/*
 * Hashes the names of up to HASHER_OWNERS owners; does nothing without a chain.
 * With zone.hash_later, hasher_get then gives zeros in place of hashes. Borrows
 * owners. NSD_E_MEMORY: there is no room for the hasher.
 */
enum nsd_err hasher_run(struct packer *p, const struct owner *owners,
	size_t count) MUST_USE;
/* Sets p->hashes to the hashes that owner i of the last hasher_run keeps. */
void hasher_get(struct packer *p, size_t i);

/* ---- nodes (node.c) */

/*
 * Checks items (sorted, of one name) and packs them into a node with p->hashes.
 * Entries in p->kept stay as they are: one item of each is enough. *ref is the
 * node; it stays as it was if there is an error in the zone (the finding is
 * told, and the result is NSD_OK). NSD_E_MEMORY: p->packed entries are left.
 */
enum nsd_err node_pack_items(struct packer *p, const struct owner *owner,
	struct item *items, size_t item_count, store_ref *ref) MUST_USE;
/* As node_pack_items, for the first `count` groups of p->groups. */
enum nsd_err node_pack_groups(struct packer *p, const struct owner *owner,
	size_t count, store_ref *ref) MUST_USE;

/* Makes a node with the first `entries` of p->entries, and p->hashes.
 * NSD_E_MEMORY: the store is full. */
enum nsd_err node_create(struct packer *p, const struct owner *owner,
	size_t entries, uint16_t flags, store_ref *ref) MUST_USE;

/* Puts p->hashes where node_create, with hash_later, has left room for them.
 * False: other hashes are to be kept than there is room for. */
bool node_fill_hashes(struct packer *p, store_ref node);

/* ---- RRsets and signatures (pack_rrset.c, pack_sigs.c) */

/* Counts one holder more of an RRset. */
void pack_hold_rrset(struct packer *p, store_ref ref);

/* Adds the holders counted by a packer to its templates. Templates that nobody
 * holds are freed. */
void pack_sigs_flush(struct packer *p);

/* ---- records of an NSEC3 chain, for updates (nsec3_*.c) */

/*
 * True if NSEC3 records at an owner belong into the chain, with their hash:
 * one of them has its parameters, a next hash of 20 octets, and the owner is a
 * hash right below the apex. Other NSEC3 records go into zone.nsec3.
 */
bool nsec3_items_are_chained(const struct nsec3_chain *chain,
	const struct owner *owner, const struct item *items, size_t count,
	uint8_t hash[NSEC3_HASH_LEN]);

/*
 * Packs the NSEC3 records of an owner and the RRSIGs that cover them (items of
 * those types alone, sorted) into a record for nsec3_edit_put. It shares the
 * template of records near it in the chain, if that is the same.
 * NSD_E_MEMORY; NSD_E_ZONE: there is an error in the zone, told; NSD_E_BUG: the
 * items are not those of an owner in the chain.
 */
enum nsd_err nsec3_pack_items(struct packer *p, const struct owner *owner,
	const struct nsec3_chain *chain, struct item *items, size_t count,
	store_ref *record) MUST_USE;

/*
 * True if a record that is added to or removed from a zone may change which
 * chain is used: NSEC3PARAM at the apex; NSEC3 while there is no chain, or
 * more than one NSEC3PARAM that can be used.
 */
bool nsec3_change_needs_build(const struct store_view *view,
	const struct zone *zone, const struct owner *owner, uint16_t type);

#endif
