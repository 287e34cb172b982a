/* emit_name.h - names in a reply: where they are, and owners as they are
 * written. */
#ifndef QUERY_EMIT_NAME_H
#define QUERY_EMIT_NAME_H

#include <string.h>

#include "query/state.h"

#define EMIT_POINTER 0xc000u /* the bits of a compression pointer */

/* Skips `labels` labels of a name in the reply. returns the offset of the rest,
 * where no pointer is. */
uint32_t emit_suffix_at(const uint8_t *out, uint32_t at, unsigned labels);

/* Follows pointers from a place, and skips no label. */
static inline uint32_t
emit_name_at(const uint8_t *out, uint32_t at)
{
	return out[at] < EMIT_POINTER >> 8 ? at : emit_suffix_at(out, at, 0);
}

/* Sets the zone that the next RRsets are from: its whole apex (kept until the
 * next call), and where the apex is in the reply. */
void emit_set_apex(struct reply *reply, const uint8_t *apex, uint32_t at);

/* True if two names in the reply are equal; case does not count. */
bool emit_names_equal(const uint8_t *out, uint32_t a, uint32_t b);

/* The place in the reply of octet `offset` of the apex, which begins a label.
 * If the apex is part of a CNAME's target, there may be pointers before it. */
static inline uint32_t
emit_apex_at(const struct reply *reply, uint32_t offset)
{
	unsigned labels = 0;

	if (reply->apex_is_whole)
		return reply->apex_at + offset;
	for (uint32_t at = 0; at < offset; at += 1u + reply->apex[at])
		labels++;
	return emit_suffix_at(reply->out, reply->apex_at, labels);
}

/* The owner of a record, as it is written. */
struct emit_octets {
	uint32_t len;
	uint8_t octets[NAME_MAX_LEN];
};

/* The slow path of emit_make_octets, for a name that no pointer reaches: takes
 * the labels of a name up to its own pointer or to its end. */
__attribute__((cold)) void emit_copy_octets(const struct reply *reply,
	uint32_t at, struct emit_octets *owner);

/* Makes the owner of a record: a pointer; or its octets, if no pointer reaches
 * the name, or if it is the root, which is shorter than a pointer. */
static inline void
emit_make_octets(const struct reply *reply, uint32_t at,
	struct emit_octets *owner)
{
	if (at > MESSAGE_POINTER_MAX || reply->out[at] == 0) {
		emit_copy_octets(reply, at, owner);
		return;
	}
	owner->len = 2;
	octets_put_u16(owner->octets, (uint16_t)(EMIT_POINTER | at));
}

/* Writes an owner; a pointer without a call of memcpy. */
static inline uint8_t *
emit_put_octets(uint8_t *out, const struct emit_octets *owner)
{
	if (owner->len == 2)
		memcpy(out, owner->octets, 2);
	else
		memcpy(out, owner->octets, owner->len);
	return out + owner->len;
}

#endif
