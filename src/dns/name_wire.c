/* name_wire.c - domain names out of messages (RFC 1035 section 4.1.4). */
#include <string.h>

#include "dns/name.h"

/* The most pointers of a name: two before each label and before the root. One
 * would do; but a pointer may lead to another one, as an owner does in our own
 * replies where it is the target of a CNAME that is a pointer. */
#define JUMPS_MAX (2u * (NAME_MAX_LABELS + 1))

static enum nsd_err
wire_fail(struct cursor *message)
{
	message->failed = true;
	return NSD_E_WIRE;
}

/*
 * A pointer must lead to before the run of labels that it ends. So the runs go
 * strictly backwards, and no loop is possible.
 */
static enum nsd_err
wire_read(struct cursor *message, uint8_t *name, size_t *name_size,
	bool may_jump)
{
	const uint8_t *at = message->at, *run = at, *behind = NULL;
	size_t len = 0;
	unsigned jumps = 0;

	if (message->failed)
		return NSD_E_WIRE;
	for (;;) {
		size_t left = (size_t)(message->end - at), offset;

		if (left == 0)
			return wire_fail(message);
		if (*at <= LABEL_MAX_LEN) {
			size_t label = 1u + *at;

			if (left < label || len + label > NAME_MAX_LEN)
				return wire_fail(message);
			memcpy(name + len, at, label);
			len += label;
			at += label;
			if (label == 1)
				break;
			continue;
		}
		if (*at < 0xc0 || left < 2 || !may_jump
			|| ++jumps > JUMPS_MAX)
			return wire_fail(message);
		offset = (size_t)(*at & 0x3f) << 8 | at[1];
		if (offset >= (size_t)(run - message->start))
			return wire_fail(message);
		if (behind == NULL)
			behind = at + 2;
		run = at = message->start + offset;
	}
	message->at = behind != NULL ? behind : at;
	*name_size = len;
	return NSD_OK;
}

enum nsd_err
name_read(struct cursor *message, uint8_t name[NAME_MAX_LEN],
	size_t *name_size)
{
	return wire_read(message, name, name_size, true);
}

enum nsd_err
name_read_uncompressed(struct cursor *message, uint8_t name[NAME_MAX_LEN],
	size_t *name_size)
{
	return wire_read(message, name, name_size, false);
}
