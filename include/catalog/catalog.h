/*
 * catalog.h - reads a version of a zone as a catalog of member zones (RFC 9432,
 * schema version 2).
 *
 *   version.CATALOG              TXT "2"
 *   LABEL.zones.CATALOG          PTR the name of a member: a member node
 *   coo.LABEL.zones.CATALOG      PTR the catalog that may take it
 *   group.LABEL.zones.CATALOG    TXT a group, perhaps several
 *
 * Other names, types and properties are ignored (RFC 9432 section 4.2, RFC 9432
 * section 4.5), and so is what lies below a zone cut. Nothing here keeps state;
 * a version that is looked at in several turns is pinned by the caller.
 */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/name.h"
#include "store/store.h"
#include "zone/zone.h"

/* The groups of a member that are read; more are ignored. */
#define CATALOG_GROUPS_MAX 8u
/* Octets of a group as text, with the NUL. */
#define CATALOG_GROUP_SIZE 256u
/* Octets of a label, with its length. */
#define CATALOG_LABEL_SIZE 64u

/* The reasons for which a whole version is not to be processed. */
enum catalog_fault {
	CATALOG_FAULT_NONE,
	CATALOG_FAULT_NO_VERSION, /* section 4.3.1 */
	CATALOG_FAULT_VERSIONS,   /* several records */
	CATALOG_FAULT_VERSION,    /* not "2" */
	CATALOG_FAULT_PTRS,       /* a member node with several PTR records
				   * (section 4.1) */
	CATALOG_FAULT_COOS,       /* a coo property with several (4.4.1) */
	CATALOG_FAULT_TWICE,      /* two member nodes with one name (4.1): the
				   * caller finds them */
};

/* Returns a text about a fault, for people. */
const char *catalog_fault_text(enum catalog_fault fault);

struct catalog_member {
	uint8_t label[CATALOG_LABEL_SIZE]; /* with its length, lower case */
	enum catalog_fault fault;  /* PTRS, COOS; or none */
	bool has_coo;
	unsigned group_count;
	uint8_t name[NAME_MAX_LEN]; /* in lower case, like coo */
	uint8_t coo[NAME_MAX_LEN];
	char groups[CATALOG_GROUPS_MAX][CATALOG_GROUP_SIZE];
};

/* Looks at the version property, whatever the members. */
enum catalog_fault catalog_check(const struct store_view *view,
	const struct zone *zone, const uint8_t *apex);

/* Finds the member of a node. label: with its length, in lower case. apex: of
 * the catalog. NSD_E_NOT_FOUND: it is no member. Cost: a few look-ups in the
 * zone. */
enum nsd_err catalog_find(const struct store_view *view,
	const struct zone *zone, const uint8_t *apex, const uint8_t *label,
	struct catalog_member *member) MUST_USE;

/* A walk over all members, in canonical order of their nodes; empty at
 * first. */
struct catalog_walk {
	bool has_last;
	bool is_over;
	uint8_t len;                /* octets of: */
	uint8_t last[NAME_MAX_LEN]; /* name below the apex that was looked at */
};

/* Goes on with a walk: looks at `most` names at most, and calls on_member for
 * each member; false ends it there, behind that member. member: lent for the
 * call. Then walk->is_over says whether that was all. Cost: 0.1 us a name,
 * and a way down the trie (tests/bench/bench_catalog). */
void catalog_next(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex, struct catalog_walk *walk, unsigned most,
	bool (*on_member)(void *ctx, const struct catalog_member *member),
	void *ctx);

/* Records of changesets that are read at a time, in a few milliseconds. */
#define CATALOG_CHANGES_MAX 50000u

/* A record of a member node, or of a property of it, that a changeset removes
 * or adds. */
struct catalog_change {
	uint8_t label[CATALOG_LABEL_SIZE]; /* as of struct catalog_member */
	bool is_ptr;           /* the PTR record of the node itself, */
	bool is_removed;
	const uint8_t *target; /* and its target, in lower case */
};

/*
 * Calls on_change for each such record of the changesets that lead from one
 * serial to another, from the oldest one on. apex: the catalog's.
 * returns NSD_OK; NSD_E_NOT_FOUND: no changesets lead there, or other members
 *     may have come and gone, with a zone cut; NSD_E_LIMIT:
 *     on_change has returned false, or there are over CATALOG_CHANGES_MAX
 *     records, whatever they are; NSD_E_WIRE: the changesets make no sense;
 *     NSD_E_MEMORY.
 */
enum nsd_err catalog_changes(const struct store_view *view,
	const struct zone_entry *entry, const uint8_t *apex, uint32_t from,
	uint32_t to,
	bool (*on_change)(void *ctx, const struct catalog_change *change),
	void *ctx) MUST_USE;

#endif
