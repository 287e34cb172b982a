/*
 * xfrd_produce.h - catalog zones that this server produces (RFC 9432): their
 * members are the zones whose pattern names the catalog
 * (catalog-producer-zone).
 *
 * Nothing is kept of members but the served version of the catalog. It is
 * compared with the zones that there are: whole after a start and a reconfig, a
 * little at a time; and of a zone that comes, goes or gets another pattern, its
 * member node alone. Differences are one version, however many zones have
 * changed while the version before was under way (xfrd_edit.h); those of very
 * many, or of a zone that has served large records until now, are several.
 *
 *   xfrd_produce.c       which catalogs and members there are, and when they
 *                        are compared
 *   xfrd_produce_text.c  what a version has, and how it differs from the served
 *                        one
 */
#ifndef XFRD_XFRD_PRODUCE_H
#define XFRD_XFRD_PRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "dns/name.h"
#include "store/store.h"
#include "xfrd/xfrd_member_id.h"

struct event;
struct xfrd;
struct xfrd_edit_ask;
struct xfrd_options;
struct xfrd_zone;
struct zone_cursor;

/* A name of a catalog that may differ from what it is to have. */
struct produce_name {
	/* Of the catalog: a member node; or another name, such as the apex. */
	uint8_t owner[NAME_MAX_LEN];
	/* The zone that is, or was, the member. If there is none, the root: it
	 * is no member with this node then. */
	uint8_t member[NAME_MAX_LEN];
};

/* A catalog. */
struct produce_zone {
	struct cds_list_head node; /* of produce.zones */
	struct xfrd *xfrd;
	bool is_there;             /* nsd.conf has it, as of the last look */
	enum {
		PRODUCE_BEGIN,  /* the journal is not looked at yet */
		PRODUCE_RESUME, /* a version of the last xfrd is published */
		PRODUCE_SERVED, /* names of the served version are compared */
		PRODUCE_ZONES,  /* zones are compared, by number */
		PRODUCE_READY,  /* `names` alone may differ */
	} step;
	void *names;               /* struct produce_name, of <search.h> */
	unsigned name_count;
	bool busy;                 /* a version is under way */
	bool again;                /* a whole comparison is to begin */
	unsigned pause_sec;        /* after a failure; 0: the last was well */
	struct zone_cursor *cursor; /* over the served version, which is pinned
				     * until it is NULL again */
	struct store_pin pin;
	struct produce_name at;    /* of the cursor: the name of its records, or
				    * the member node that they are below */
	uint32_t next;             /* number of the zone to look at */
	uint32_t serial;           /* of the served version, when a comparison
				    * began; or of the latest that was made */
	bool is_counted;           /* the members of the served version are: */
	uint64_t count;
	int64_t more;              /* of the version under way: what it adds to
				    * that, */
	uint32_t to;               /* and its serial */
	uint64_t walked;           /* PTR records that the cursor has seen */
	struct event *event;
	uint8_t apex[NAME_MAX_LEN];
};

struct xfrd_produce {
	struct cds_list_head zones; /* struct produce_zone */
	struct event *event;        /* next step of the look for catalogs */
	bool looking;
	uint32_t next;              /* number of the zone to look at */
};

/* NSD_E_MEMORY. */
enum nsd_err xfrd_produce_init(struct xfrd *xfrd) MUST_USE;

/* Looks for catalogs, and compares all: after a start, when the loader has
 * looked at all files, and when xfrd has followed a reconfig. */
void xfrd_produce_look(struct xfrd *xfrd);

/* Finds a catalog that is produced. NULL: there is none, or it was not looked
 * at yet. Cost: the number of these catalogs. */
struct produce_zone *xfrd_produce_find(const struct xfrd *xfrd,
	const uint8_t *apex);

/* Compares catalogs whose served version is none that was made here: a file was
 * read over it. To be called when the loader has looked at files. */
void xfrd_produce_look_at_served(struct xfrd *xfrd);

/* A zone is about to go, or to get another pattern; or it has come, or has got
 * it: a member, or a catalog itself. To be called both before and after a
 * change. */
void xfrd_produce_note(struct xfrd *xfrd, const struct xfrd_zone *zone);

/* The store needs what was pinned in an epoch, or before: comparisons with such
 * versions begin anew. */
void xfrd_produce_let_go(struct xfrd *xfrd, uint64_t epoch);

/* Finds how many members the served version of a catalog has. False: it is not
 * known yet, or there is no such catalog. */
bool xfrd_produce_find_count(const struct xfrd *xfrd, const uint8_t *apex,
	uint64_t *count) MUST_USE;

/*
 * Makes the ID of a zone that is to be added with a pattern, or to get it: the
 * label of its member node, as NSD 4 has it in the zone list. Each call makes
 * another one, so that a zone that has gone and comes again is a new
 * one to consumers (RFC 9432 section 5.4). apex: in lower case. old: the ID
 * that the zone has, or NULL.
 * False: the old one, if any, is to stay: the pattern names no catalog, or the
 * zone has such an ID, or one of a source.
 */
bool xfrd_produce_make_id(struct xfrd *xfrd, const char *pattern,
	const uint8_t *apex, const char *old, char id[XFRD_MEMBER_ID_MAX])
	MUST_USE;

/* True if the zones of a pattern are members of a catalog. */
bool xfrd_produce_has_pattern(struct xfrd *xfrd, const char *pattern);

/* ---- xfrd_produce_text.c ------------------------------------------------- */

/* Finds the member node that a zone has in a catalog, if it is a member of it:
 * by the label in its line of the zone list; or, without one, by its name, and
 * so always the same. False: the name is too long. */
bool xfrd_produce_find_owner(const struct xfrd *xfrd,
	const struct xfrd_zone *zone, const uint8_t *catalog,
	uint8_t owner[NAME_MAX_LEN]) MUST_USE;
/* Finds the member node of a zone that is to be a member of a catalog. options:
 * of the zone. False: it is not. */
bool xfrd_produce_find_member(const struct xfrd *xfrd,
	const struct xfrd_zone *zone, const struct xfrd_options *options,
	const uint8_t *catalog, uint8_t owner[NAME_MAX_LEN]) MUST_USE;
/* True if a zone is to be a member of a catalog, with this member node. */
bool xfrd_produce_is_member(struct xfrd *xfrd, const uint8_t *member,
	const uint8_t *catalog, const uint8_t *owner) MUST_USE;
/* Finds the member node that a name of a catalog is at or below; without one,
 * the name itself. Lent from owner. */
const uint8_t *xfrd_produce_find_node(const uint8_t *owner,
	const uint8_t *catalog);
/* True if a name is the group property of a member node, which is lent from
 * it. */
bool xfrd_produce_is_group(const uint8_t *owner, const uint8_t *node);
/* Finds the owner of the version property. False: the name is too long. */
bool xfrd_produce_find_version(const uint8_t *catalog,
	uint8_t owner[NAME_MAX_LEN]) MUST_USE;
/* True if the served version is other than it is to be at a name. */
bool xfrd_produce_differs(struct xfrd *xfrd, const uint8_t *catalog,
	const struct produce_name *name) MUST_USE;

/* The differences of a version. */
struct produce_text {
	uint8_t *removed, *added; /* records of xfr/changes.h */
	size_t removed_len, removed_room, added_len, added_room;
	unsigned records;         /* the SOAs not counted */
	int64_t more;             /* members that are added, less those that
				   * are removed */
	bool failed;              /* without memory */
	bool is_full;             /* records of the last name are left for
				   * another version */
};

/* Begins a version with the two SOAs; `to` is the serial that it gets. False:
 * no version is served, so this one is whole. */
bool xfrd_produce_begin(struct xfrd *xfrd, const uint8_t *catalog,
	struct produce_text *text, uint32_t *from, uint32_t *to);
/* Adds the differences at a name. If that has made the text full, the name is
 * to be added to the next version, too, and no other to this one. */
void xfrd_produce_add(struct xfrd *xfrd, const uint8_t *catalog,
	const struct produce_name *name, struct produce_text *text);
/* Joins the differences in text->removed. NSD_E_MEMORY. */
enum nsd_err xfrd_produce_end(struct produce_text *text) MUST_USE;
void xfrd_produce_free(struct produce_text *text);

#endif
