/*
 * xfrd_catalog.h - catalog zones whose members are served here (RFC 9432, role
 * consumer).
 *
 * Each consumer zone has a catalog here from the moment that xfrd hears of a
 * version of it, and until the zone or its role goes. A version is compared
 * with the members that there are:
 *   1. if the history of the zone leads to it from the version that was
 *      compared last, and nothing else makes it necessary to look at all, only
 *      the member nodes that have changed are looked at;
 *   2. all of these are checked before any member is touched. A version that is
 *      not valid changes nothing: the members stay as they are;
 *   3. then members are wanted and dropped (xfrd_members.h).
 * The version is pinned meanwhile; versions that come are compared next.
 */
#ifndef XFRD_XFRD_CATALOG_H
#define XFRD_XFRD_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store.h"
#include "xfrd/xfrd_members.h"

/* Octets of the reason for which a version is not valid, with the NUL. */
#define XFRD_INVALID_MAX (2 * NAME_TEXT_MAX + 100)

struct catalog_round;
struct event;

struct xfrd_catalog {
	struct cds_list_head node;   /* of xfrd.catalogs */
	struct xfrd *xfrd;
	struct xfrd_members members; /* with those that were refused */
	char *name;                  /* "catalog NAME" */
	uint8_t apex[NAME_MAX_LEN];  /* in lower case */
	uint64_t woken;              /* xfrd.catalogs_event goes on with it: the
				      * lowest number first; 0: it rests */
	bool is_gone;                /* the zone is, or has another role */
	struct event *retry_event;   /* another try, of what has failed; NULL:
				      * the members are not begun with yet */
	unsigned retry_sec;
	/* The version that was compared last, and was valid: */
	bool is_compared;
	uint32_t serial;
	store_ref zone;              /* struct zone, not to be read */
	uint64_t count;              /* of its members */
	/* The version that was looked at last, if it was not valid: */
	/* Why; empty: it was valid, or none is served. */
	char invalid[XFRD_INVALID_MAX];
	uint32_t invalid_serial;
	store_ref invalid_zone;
	bool is_kept;                /* the version has no members, and
				      * those of the one before stay */
	bool is_counted;             /* members were counted, as no version was
				      * compared */
	uint64_t kept;               /* members, with is_kept or is_counted */
	bool heard;                  /* there may be another version */
	bool is_back;                /* serials may have come twice since the
				      * last round: that of a version heard of
				      * was not newer than the one before */
	uint32_t heard_serial;       /* of heard_zone, heard of last */
	store_ref heard_zone;        /* as zone */
	bool whole;                  /* all members are to be looked at, also
				      * of a version that was */
	bool all;                    /* the same of the next valid version */
	/* Labels, with their octet of length, of members to be looked at: they
	 * were refused, and that may be over. */
	uint8_t (*again)[64];
	size_t again_count, again_room;
	struct catalog_round *round; /* of a version; NULL: no round is
				      * under way */
	uint64_t steps;              /* member nodes that were looked at */
};

/* Has catalogs looked at from now on. NSD_E_MEMORY. */
enum nsd_err xfrd_catalog_init(struct xfrd *xfrd) MUST_USE;
/* Hears that another version of a zone may be served, or that it has other
 * options. Constant time. */
void xfrd_catalog_hear(struct xfrd *xfrd, struct xfrd_zone *zone);
/* Forgets the catalog of a zone that is none any more, or goes. Its members
 * stay. */
void xfrd_catalog_forget(struct xfrd *xfrd, struct xfrd_zone *zone);
/* A reconfig was followed: all members of all catalogs are looked at. */
void xfrd_catalog_follow(struct xfrd *xfrd);
/* A catalog has expired, which is logged. */
void xfrd_catalog_on_expired(struct xfrd *xfrd, const struct xfrd_zone *zone);
/* Has a catalog looked at, in a turn of the loop. */
void xfrd_catalog_wake(struct xfrd_catalog *catalog);
/* The store needs what was pinned in an epoch, or before. */
void xfrd_catalog_let_go(struct xfrd *xfrd, uint64_t epoch);

/* ---- for people ---------------------------------------------------------- */

/* Finds the catalog of a zone. NULL: it is no consumer, or was not heard of
 * yet. Cost: the number of catalogs. */
const struct xfrd_catalog *xfrd_catalog_find(const struct xfrd *xfrd,
	const uint8_t *apex);
/* Prints why the members do not follow the catalog; *out is empty if they do.
 * Returns out, cut to size. */
const char *xfrd_catalog_print_invalid(const struct xfrd_catalog *catalog,
	char *out, size_t size);
/* Returns the number of members that are zones here. */
uint64_t xfrd_catalog_count(const struct xfrd_catalog *catalog);

#endif
