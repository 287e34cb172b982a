/* message.c - reads the parts of DNS messages. */
#include "dns/message.h"

#define LABEL_POINTER 0xc0u

/* 0x20 in each octet of w that holds 'A'..'Z', else 0 (RFC 4343). */
static uint64_t
upper_case_bits(uint64_t w)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t low = w & 0x7f * ones;
	uint64_t from_a = low + (0x80 - 'A') * ones;
	uint64_t above_z = low + (0x80 - 'Z' - 1) * ones;

	return ((from_a & ~above_z & ~w) & 0x80 * ones) >> 2;
}

/*
 * Lower-cases a whole wire name, eight octets at a time; writes behind its end,
 * up to a multiple of 8. Lengths of labels are below 'A', so they need no care.
 */
static void
lower_wire_name(uint8_t *name, size_t len)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t w;

		memcpy(&w, name + i, sizeof(w));
		w |= upper_case_bits(w);
		memcpy(name + i, &w, sizeof(w));
	}
}

enum nsd_err
message_read_question(struct cursor *message,
	struct message_question *question)
{
	struct message_name *name = &question->name;
	const uint8_t *wire = message->at;
	size_t left = cursor_left(message);
	size_t at = 0;
	unsigned count = 0;

	if (left > NAME_MAX_LEN)
		left = NAME_MAX_LEN;
	for (;;) {
		/* No label begins behind the 255th octet. */
		if (at >= left || wire[at] > LABEL_MAX_LEN)
			goto malformed;
		ASSERT_HOT(count <= NAME_MAX_LABELS);
		name->label_at[count] = (uint8_t)at;
		if (wire[at] == 0)
			break;
		at += 1u + wire[at];
		count++;
	}
	name->count = (uint8_t)count;
	name->len = (uint8_t)(at + 1);
	memcpy(name->name, wire, at + 1);
	lower_wire_name(name->name, at + 1);
	message->at += at + 1;
	question->type = cursor_read_u16(message);
	question->rrclass = cursor_read_u16(message);
	return message->failed ? NSD_E_WIRE : NSD_OK;

malformed:
	message->failed = true;
	return NSD_E_WIRE;
}

enum nsd_err
message_expand_name(const uint8_t *message, size_t len, size_t at,
	struct message_name *name)
{
	size_t size, label = 0;
	unsigned count = 0;
	struct cursor c;

	cursor_init(&c, message, len);
	if (cursor_read_octets(&c, at) == NULL
		|| name_read(&c, name->name, &size) != NSD_OK)
		return NSD_E_WIRE;
	for (; name->name[label] != 0; label += 1u + name->name[label])
		name->label_at[count++] = (uint8_t)label;
	name->label_at[count] = (uint8_t)label;
	name->count = (uint8_t)count;
	name->len = (uint8_t)size;
	lower_wire_name(name->name, size);
	return NSD_OK;
}

/* Moves behind a name as it stands; does not follow pointers. */
static enum nsd_err
message_skip_name(struct cursor *message)
{
	size_t len = 0;

	for (;;) {
		uint8_t label = cursor_read_u8(message);

		if (message->failed || (label > LABEL_MAX_LEN
				&& label < LABEL_POINTER))
			break;
		if (label >= LABEL_POINTER) {
			cursor_read_u8(message);
			return message->failed ? NSD_E_WIRE : NSD_OK;
		}
		len += 1u + label;
		if (len > NAME_MAX_LEN
			|| cursor_read_octets(message, label) == NULL)
			break;
		if (label == 0)
			return NSD_OK;
	}
	message->failed = true;
	return NSD_E_WIRE;
}

enum nsd_err
message_read_rr(struct cursor *message, struct message_rr *rr)
{
	rr->owner_at = cursor_offset(message);
	if (message_skip_name(message) != NSD_OK)
		return NSD_E_WIRE;
	rr->type = cursor_read_u16(message);
	rr->rrclass = cursor_read_u16(message);
	rr->ttl_sec = cursor_read_u32(message);
	rr->rdlen = cursor_read_u16(message);
	rr->rdata = cursor_read_octets(message, rr->rdlen);
	return message->failed ? NSD_E_WIRE : NSD_OK;
}
