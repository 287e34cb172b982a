/*
 * xfrd_members.h - sources of member zones, which are catalogs and folders:
 * what a source wants is compared with the zones that there are, and the
 * differences are asked for as changes (xfrd_change.h).
 *
 * The zone list says which zone is a member of which source, by the ID in its
 * line, and a source keeps no other list. It compares in rounds, one after the
 * other:
 *
 *   begin, then want, drop or refuse for each member, in any number of turns of
 *   the loop, then end; on_end is called when all changes have ended
 *
 * A whole round deletes the members that it was not told of; a part only those
 * that it drops. Zones of nsd.conf, zones that were added by hand and
 * members of other sources are never touched, unless may_take allows it.
 *
 * Members that cannot be taken are refused, which is logged and kept. If a zone
 * with the name of one goes, or its source offers it, the source that wants it
 * hears of that (on_free), and so does a source whose zone another one has
 * taken.
 */
#ifndef XFRD_XFRD_MEMBERS_H
#define XFRD_XFRD_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "dns/name.h"

struct xfrd;
struct xfrd_zone;

/* Changes of a source that are under way. */
#define XFRD_MEMBERS_OPEN_MAX 4096u
/* Refused members that a source keeps; others are counted. */
#define XFRD_REFUSED_MAX 1000u

enum xfrd_refusal {
	XFRD_REFUSAL_NAME,    /* not the name of a zone */
	XFRD_REFUSAL_ALLOW,   /* not below a name of catalog-allow */
	XFRD_REFUSAL_PATTERN, /* no known pattern */
	XFRD_REFUSAL_MOVED,   /* the zone has moved to another catalog, as this
			       * one says: not logged */
	XFRD_REFUSAL_FIXED,   /* nsd.conf has the zone */
	XFRD_REFUSAL_BY_HAND, /* the zone was added by hand */
	XFRD_REFUSAL_MEMBER,  /* the zone is a member of another source */
	XFRD_REFUSAL_FAILED,  /* the change has failed: it is tried again */
};

/* A member that was refused. */
struct xfrd_refused_member {
	uint8_t apex[NAME_MAX_LEN]; /* must be first: it is looked for */
	struct cds_list_head node; /* of members.refused */
	enum xfrd_refusal why;
	char *text;                /* the pattern, the ID of the other member,
				    * why it failed; or NULL */
	char *id;
};

/* A member that a source wants. */
struct xfrd_member_ask {
	const uint8_t *apex; /* in lower case */
	const char *pattern;
	const char *id;
};

/* A round, by what it does with members that the source does not tell of. */
enum xfrd_round {
	XFRD_ROUND_PART,  /* nothing */
	XFRD_ROUND_WHOLE, /* deletes them */
	XFRD_ROUND_COUNT, /* counts them: members.unwanted */
};

enum xfrd_take {
	XFRD_TAKE_NOT,   /* the zone stays with the other source */
	XFRD_TAKE_KEEP,  /* the zone moves with its data */
	XFRD_TAKE_RESET, /* the zone goes, and comes anew */
};

/* Calls to a source, with its ctx; never from within begin, want, drop or
 * refuse. Those that are NULL are not called. */
struct xfrd_source_hooks {
	/* True if a zone whose line has this ID is a member of the source. */
	bool (*owns)(void *ctx, const struct xfrd_zone *zone, const char *id);
	/* Says whether a member of another source may be taken. ask: what this
	 * one wants. Called from within want. NULL: never. */
	enum xfrd_take (*may_take)(void *ctx, const struct xfrd_zone *zone,
		const char *id, const struct xfrd_member_ask *ask);
	/* The name of a refused member has become free, or the source that has
	 * the zone offers it, or so it is with some that were only counted
	 * (NULL); or another source has taken a zone. The source is to look
	 * again, with another round. May be called during a round. refused:
	 * lent for the call. */
	void (*on_free)(void *ctx, const struct xfrd_refused_member *refused);
	/* A change has ended, and xfrd_members_is_full is not true. */
	void (*on_room)(void *ctx);
	/* A round has ended. failed: some changes have failed for a reason that
	 * may go by itself, as a full disk: look again later. */
	void (*on_end)(void *ctx, bool failed);
};

struct xfrd_members {
	struct cds_list_head node;    /* of xfrd.sources */
	struct xfrd *xfrd;
	const struct xfrd_source_hooks *hooks;
	void *ctx;
	const char *name;             /* for the log: "catalog NAME" */
	struct cds_list_head refused; /* in the order in which they came */
	void *refused_tree;           /* the same, of xfrd_apexes.h */
	unsigned refused_count;
	uint64_t refused_more;        /* not kept */
	/* Of the round: */
	enum {
		XFRD_MEMBERS_REST,
		XFRD_MEMBERS_WANT,
		XFRD_MEMBERS_WAIT, /* for changes that were asked for */
		XFRD_MEMBERS_GONE, /* members that were not wanted go */
	} step;
	enum xfrd_round kind;
	bool failed;                  /* as told to on_end */
	uint8_t *marks;               /* a bit a zone, by number: it stays */
	size_t mark_room;             /* octets */
	uint32_t next;                /* number of the zone to look at */
	struct cds_list_head changes; /* struct members_change, under way */
	unsigned open;                /* of these */
	uint64_t added, deleted, changed, refusals;
	uint64_t unwanted;            /* members that were not wanted */
	struct event *event;          /* to go on */
};

/* Begins a source, without a round. Keeps hooks, ctx and name
 * until the end. NSD_E_MEMORY. */
enum nsd_err xfrd_members_init(struct xfrd_members *members, struct xfrd *xfrd,
	const struct xfrd_source_hooks *hooks, void *ctx, const char *name)
	MUST_USE;
/* Ends a source, without any change of its zones; those that are under way end
 * without it. */
void xfrd_members_fini(struct xfrd_members *members);

/* True while a round is under way. */
bool xfrd_members_is_busy(const struct xfrd_members *members);
/* Begins a round; none is under way. Unless it is a part, all refusals are
 * forgotten. */
void xfrd_members_begin(struct xfrd_members *members, enum xfrd_round kind);
/* True if a source is in the middle of its members, and not full: it is about
 * to have more changes. */
bool xfrd_members_want_more(const struct xfrd *xfrd);
/* True if no more should be wanted or dropped until on_room. */
bool xfrd_members_is_full(const struct xfrd_members *members);
/* True if a zone is a member that was wanted in this round, or has come. */
bool xfrd_members_has(const struct xfrd_members *members,
	const struct xfrd_zone *zone);
/* Wants a member. Borrows *ask. Constant time. */
void xfrd_members_want(struct xfrd_members *members,
	const struct xfrd_member_ask *ask);
/* The same for a member that the source itself does not take, for one of the
 * first reasons. stays: the zone stays if it is a member now. text: copied; or
 * NULL. */
void xfrd_members_refuse(struct xfrd_members *members,
	const struct xfrd_member_ask *ask, enum xfrd_refusal why,
	const char *text, bool stays);
/* The member with this name and ID is not there any more: if there is such a
 * zone, it is deleted; if it was refused, that is forgotten. */
void xfrd_members_drop(struct xfrd_members *members, const uint8_t *apex,
	const char *id);
/* The source has told of all members. */
void xfrd_members_end(struct xfrd_members *members);
/* Ends a round without deleting anything: it cannot go on. on_end is called
 * when the changes that are under way have ended. */
void xfrd_members_stop(struct xfrd_members *members);

/* A zone has gone, and does not come anew: sources that wanted its name hear of
 * it. */
void xfrd_members_on_gone(struct xfrd *xfrd, const uint8_t *apex);
/* A member zone is one of another source now, or has gone, and has come anew
 * with another ID: sources that have refused it for being a member of another
 * one hear of it, as it may be offered to them now. One whose zone has moved
 * does not: catalogs that offer each other a zone in a ring would take it in
 * turn for ever. For the same reason one that was only counted waits for
 * another version. */
void xfrd_members_on_came_anew(struct xfrd *xfrd, const uint8_t *apex);

/* The source that has a zone allows another one to take it, as may_take will
 * say: if that one has refused it for being a member of another source, or one
 * that was not there, it hears of this. */
void xfrd_members_on_offered(const struct xfrd_members *to,
	const uint8_t *apex);
/* The members of a source are known to be valid from now on: other sources that
 * have refused some of them for being its hear of it. was_unknown: they were
 * not before, so sources that only counted some hear of it, too. Cost: the
 * number of refused members. */
void xfrd_members_on_checked(const struct xfrd_members *by, bool was_unknown);

/* A zone that was a member with this ID has moved to a source: the one that had
 * it hears of that. */
void xfrd_members_on_moved(const struct xfrd_members *to,
	const struct xfrd_zone *zone, const char *id);

/* Finds a refused member by its name, in lower case. NULL: it was not refused,
 * or is not kept. */
const struct xfrd_refused_member *xfrd_members_find_refused(
	const struct xfrd_members *members, const uint8_t *apex);
/* Copies a text, of which other people's catalogs or file names have a part:
 * octets that are no printable ASCII become \DDD (RFC 1035 section 5.1), or
 * they would be a line or a command of the terminal that shows them. Cut to
 * size. Returns out. */
const char *xfrd_members_print_text(const char *text, char *out, size_t size);
/* Prints why a member was refused, for people; cut to size. Returns out. */
const char *xfrd_members_print_refusal(
	const struct xfrd_refused_member *refused, char *out, size_t size);

/* Keeps a refused member, in place of an earlier refusal of its name. NULL:
 * it is only counted. */
const struct xfrd_refused_member *xfrd_members_keep_refused(
	struct xfrd_members *members, const struct xfrd_member_ask *ask,
	enum xfrd_refusal why, const char *text);

/* ---- xfrd_members_refused.c: for xfrd_members.c -------------------------- */

/* Forgets the refusal of a name, if there is one; or if it has this ID, too; or
 * all. */
void xfrd_members_forget_refused(struct xfrd_members *members,
	const uint8_t *apex);
void xfrd_members_forget_refused_id(struct xfrd_members *members,
	const uint8_t *apex, const char *id);
void xfrd_members_forget_all_refused(struct xfrd_members *members);

#endif
