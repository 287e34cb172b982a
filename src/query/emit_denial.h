/*
 * emit_denial.h - puts records that deny something into the authority section.
 * Their owners may be new to the reply; those of all other records are not.
 */
#ifndef QUERY_EMIT_DENIAL_H
#define QUERY_EMIT_DENIAL_H

#include "query/emit.h"
#include "zone/nsec3.h"

/* An owner as it is written: some labels, then a pointer to the rest, which is
 * in the reply already. If no pointer reaches the rest, the whole name. */
struct emit_owner {
	uint16_t len;
	uint8_t octets[NAME_MAX_LEN + 1];
};

/*
 * Makes the owner for a name in the zone of s, given by its labels below the
 * apex. Labels that it shares with s->name are not written again. False if the
 * name is too long.
 */
bool emit_make_owner(const struct reply *reply, const struct search *s,
	const uint8_t *labels, unsigned len, struct emit_owner *owner);

/* Writes an RRset that has no cells, and its signatures (or NULL): all or
 * nothing. False: no room. */
bool emit_denial(struct reply *reply, const struct emit_owner *owner,
	const struct rrset *rrset, const struct rrset_sigs *sigs,
	uint32_t ttl_sec);

/* Writes the NSEC3 record that was found in the zone of s, and its signatures:
 * all or nothing. False: no room. */
bool emit_nsec3(struct reply *reply, const struct search *s,
	const struct nsec3_find *found);

#endif
