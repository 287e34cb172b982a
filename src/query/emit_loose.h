/* emit_loose.h - RRsets that do not go into a reply as they are stored: some of
 * their pointers would not reach, or they would not fit. For emit.c. */
#ifndef QUERY_EMIT_LOOSE_H
#define QUERY_EMIT_LOOSE_H

#include "query/state.h"

struct emit_rrset;

/*
 * As emit_rrset, record by record: names are written in full where no pointer
 * reaches.
 */
__attribute__((cold)) bool emit_loose(struct reply *reply,
	const struct emit_rrset *what, struct placed *placed);

/*
 * Writes an RRset with its names compressed anew, as if they were in lower
 * case: a name then loses the case of the letters that it has in common with
 * one before it. False at once for types without names to compress.
 */
__attribute__((cold)) bool emit_folded(struct reply *reply,
	const struct emit_rrset *what, struct placed *placed);

/* The progress of emit_find_sent. */
struct emit_place {
	const uint8_t *rr; /* RDLENGTH of a record in the store; NULL at
			    * first */
	uint32_t sent;     /* the sent offset of rr */
	uint32_t at;       /* the place of rr in the reply, as if its owner had
			    * as many octets as in sent coordinates */
};

/* The slow path of emit_find_sent, for an RRset that is written record by
 * record. Not called directly. */
__attribute__((cold)) uint32_t emit_find_loose(const struct reply *reply,
	const struct placed *placed, struct emit_place *place,
	uint32_t offset);

#endif
