/*
 * rdata_walk.h - a walk along RDATA on the wire that checks field by field.
 *
 * Two things can be wrong with RDATA. If its layout is broken (a length points
 * behind the end, a name ends half-way), it is no RDATA of its type. If only a
 * value breaks a rule (an empty digest, keys out of order), a primary refuses
 * the record, but a secondary serves what it was sent.
 */
#ifndef DNS_RDATA_WALK_H
#define DNS_RDATA_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/octets.h"

/* RDATA of a message with its names in full, as far as a walk along it has
 * found names that end in a compression pointer. */
struct rdata_expand {
	struct cursor message; /* the whole message: pointers lead anywhere in
				* it */
	const uint8_t *from;   /* octets from here on are not in out yet */
	uint8_t *out;          /* RDATA_MAX_LEN of room */
	size_t len;
};

struct rdata_walk {
	const uint8_t *at, *end;
	struct rdata_expand *expand; /* NULL: no name may be compressed */
	const char *why;       /* broken layout: what was expected */
	const char *value_why; /* the first rule that is broken; if none is more
			* than a doubt, the first doubt; NULL: none */
	bool is_bad;           /* a broken rule is more than a doubt */
	bool is_unsayable;     /* the type's own text has no words for it */
};

static inline size_t
walk_left(const struct rdata_walk *w)
{
	ASSERT_HOT(w->at <= w->end);
	return (size_t)(w->end - w->at);
}

/* The layout is broken; false, for `return walk_broken(...)`. */
static inline bool
walk_broken(struct rdata_walk *w, const char *why)
{
	w->why = why;
	return false;
}

/* A value breaks a rule that most other servers do not enforce; the walk goes
 * on. The type's own text can say the value. */
static inline void
walk_doubt(struct rdata_walk *w, const char *why)
{
	if (w->value_why == NULL)
		w->value_why = why;
}

/* Notes a doubt about a value that only the form of RFC 3597 can say. */
static inline void
walk_doubt_octets(struct rdata_walk *w, const char *why)
{
	walk_doubt(w, why);
	w->is_unsayable = true;
}

/* Notes a value that breaks a rule; the walk goes on. Doubts before are no
 * reasons any more. */
static inline void
walk_note(struct rdata_walk *w, const char *why)
{
	if (!w->is_bad)
		w->value_why = why;
	w->is_unsayable = true;
	w->is_bad = true;
}

/* Moves behind len octets; if there are fewer, the layout is broken. */
static inline bool
walk_skip(struct rdata_walk *w, size_t len, const char *why)
{
	if (walk_left(w) < len)
		return walk_broken(w, why);
	w->at += len;
	return true;
}

#endif
