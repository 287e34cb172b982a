/*
 * xfrd_catalogs.h - the comparison of a catalog with its members: for the files
 * that make it.
 *
 *   xfrd_catalog_hear.c   hears of catalogs, and of their versions
 *   xfrd_catalog.c        when they are looked at
 *   xfrd_catalog_round.c  looks at a version: whole, or what has changed
 *   xfrd_catalog_member.c  which pattern a member gets, and whether it may come
 */
#ifndef XFRD_XFRD_CATALOGS_H
#define XFRD_XFRD_CATALOGS_H

#include "base/arena.h"
#include "catalog/catalog.h"
#include "store/store.h"
#include "xfrd/xfrd_catalog.h"
#include "zone/zone.h"

/* A member node that is to be looked at. */
struct catalog_node {
	uint8_t label[CATALOG_LABEL_SIZE]; /* as of struct catalog_member */
	int64_t more;     /* PTR records that came, less those that went */
	size_t order;
	struct catalog_gone *gone; /* names that it had, and has perhaps */
};

/* The name of a member that a node had once. */
struct catalog_gone {
	struct catalog_gone *next;
	uint8_t name[];      /* in lower case */
};

/* A version that is looked at. */
struct catalog_round {
	struct store_pin pin;
	bool is_pinned;
	const struct store_view *view;
	store_ref ref;
	const struct zone *zone;
	enum {
		CATALOG_CHECK, /* is the version valid? */
		CATALOG_APPLY, /* members are wanted, and dropped */
		CATALOG_WAIT,  /* for the end of changes */
	} step;
	bool is_broken;              /* the version is not compared: the round
				      * was broken off, or counts alone */
	bool is_part;                /* of the nodes alone; else all members */
	/* With is_part: by label. */
	struct catalog_node *nodes;
	size_t node_count, node_room, next;
	struct arena arena;          /* memory of gone */
	/* Without: */
	struct catalog_walk walk;
	/* Names of members, to find those that come twice: hashes, 0 is
	 * free. */
	uint64_t *names;
	size_t name_room;            /* a power of two */
	enum catalog_fault fault;    /* of the version, */
	uint8_t fault_label[CATALOG_LABEL_SIZE]; /* in this member node, */
	uint8_t fault_name[NAME_MAX_LEN];        /* which has this name */
	uint64_t count;              /* members of it */
	bool is_kept;                /* no members, so zones stay */
	uint32_t serial;
	/* The pattern that was looked for last. */
	char pattern[256];
	bool has_pattern;
	unsigned lines;              /* of the log, about groups */
};

/* True if a version of the catalog is the one that was compared last. */
static inline bool
xfrd_catalog_is_compared(const struct xfrd_catalog *catalog,
	const struct zone *zone, store_ref ref)
{
	return catalog->is_compared && catalog->serial == zone->serial
		&& catalog->zone == ref;
}

/* True if the version of the round was compared before. */
static inline bool
xfrd_catalog_has_compared(const struct xfrd_catalog *catalog)
{
	return xfrd_catalog_is_compared(catalog, catalog->round->zone,
		catalog->round->ref);
}

/* True if a served version of the catalog is known to be valid: it was
 * compared, or its members are looked at now. */
static inline bool
xfrd_catalog_has_checked(const struct xfrd_catalog *catalog,
	const struct zone *zone, store_ref ref)
{
	const struct catalog_round *round = catalog->round;

	return *catalog->invalid == '\0'
		&& (xfrd_catalog_is_compared(catalog, zone, ref)
			|| (round != NULL && round->step != CATALOG_CHECK
				&& !round->is_broken && round->ref == ref));
}

/* ---- xfrd_catalog_hear.c ------------------------------------------------- */

/* Has one of the catalogs that were woken have a turn, once others have had
 * theirs. */
void xfrd_catalog_turn_soon(struct xfrd *xfrd);

/* ---- xfrd_catalog_round.c ------------------------------------------------ */

/* Begins to look at the served version, if that is needed. NSD_OK;
 * NSD_E_NOT_FOUND: there is nothing to be done; NSD_E_MEMORY. */
enum nsd_err xfrd_catalog_begin(struct xfrd_catalog *catalog) MUST_USE;
/* Does a turn. True: there is more to be done at once. */
bool xfrd_catalog_turn(struct xfrd_catalog *catalog);
/* Breaks the round off, whose version is not pinned then. The caller has the
 * served one looked at. */
void xfrd_catalog_break(struct xfrd_catalog *catalog);
/* Ends the round. done: the version was compared. */
void xfrd_catalog_end(struct xfrd_catalog *catalog, bool done);

/* ---- xfrd_catalog_member.c ----------------------------------------------- */

/* Wants a member of the round's version, or refuses it. */
void xfrd_catalog_apply(struct xfrd_catalog *catalog,
	const struct catalog_member *member);
/* The version of the round is valid, and what it offers counts from now on:
 * tells other sources, if it was not compared before. The reason for which the
 * version before was refused is still there then. */
void xfrd_catalog_tell_valid(const struct xfrd_catalog *catalog);
/* Notes that another catalog has taken a zone, if the served version still
 * offers it. False: the member is to be looked at. If that were done here, too,
 * the zone might have gone on by then to one that offers it to this catalog. */
bool xfrd_catalog_note_moved(struct xfrd_catalog *catalog,
	const struct xfrd_refused_member *moved);
/* Says whether a member of another source may be taken: may_take of the
 * hooks. */
enum xfrd_take xfrd_catalog_may_take(void *ctx, const struct xfrd_zone *zone,
	const char *id, const struct xfrd_member_ask *ask);

#endif
