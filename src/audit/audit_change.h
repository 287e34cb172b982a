/* audit_change.h - an audit of what a change has touched: common parts of
 * audit_change.c, audit_hashes.c and audit_touched.c. */
#ifndef AUDIT_AUDIT_CHANGE_H
#define AUDIT_AUDIT_CHANGE_H

#include "audit/audit_part.h"
#include "zone/walk.h"

/* A name whose hash has to be, or must not be, in the NSEC3 chain in use. */
struct audit_hash {
	enum {
		AUDIT_HASH_NEEDED,
		AUDIT_HASH_OPTIONAL, /* opt-out may cover it */
		AUDIT_HASH_EMPTY,    /* an empty name: as what is below it */
		AUDIT_HASH_NOT,      /* no name that the zone has */
	} kind;
	uint16_t bitmap_len;
	uint64_t order;
	const uint8_t *name;   /* whole; in the arena, as the bitmap is */
	const uint8_t *bitmap; /* the types that it should have */
	uint8_t hash[NSEC3_HASH_LEN];
};

struct audit_touched {
	struct audit *audit;
	const struct store_view *view;
	const struct zone *served;
	const struct zone *zone;
	struct zone_cursor *cursor; /* of zone */
	const uint8_t **names;      /* ascending, each once */
	size_t count;
	size_t room;
	uint64_t steps;             /* over names that need no NSEC */
	struct arena arena;         /* names and bitmaps */
	struct arena scratch;       /* of one check */
	struct audit_hash *hashes;
	size_t hash_count;
	size_t hash_room;
};

/* Splits a whole name. False: it is not in the zone. */
bool audit_touched_split(const struct audit_touched *t, const uint8_t *name,
	struct trie_name *split, uint8_t label_at[NAME_MAX_LABELS + 1]);

/* Finds the node of a whole name in a version; NULL: there is none. */
const struct node *audit_touched_find(const struct audit_touched *t,
	const struct zone *zone, const uint8_t *name);

/* True if a name is there, is the zone's, and has data: it should have an
 * NSEC. */
bool audit_node_is_visible(const struct node *node);

/* Adds the name at hand, whose records are in audit->owner if it has any, to
 * those whose hashes are looked for, and the empty names above it. */
enum nsd_err audit_hashes_add(struct audit_touched *t, const uint8_t *name)
	MUST_USE;

/* Checks the chain: records for the hashes that were added, and those at the
 * names that are owners of NSEC3. Returns as audit_change. */
enum nsd_err audit_hashes_check(struct audit_touched *t) MUST_USE;

#endif
