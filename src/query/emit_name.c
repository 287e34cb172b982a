/* emit_name.c - names in a reply. */
#include <string.h>

#include "query/emit_name.h"

uint32_t
emit_suffix_at(const uint8_t *out, uint32_t at, unsigned labels)
{
	for (;;) {
		while (out[at] >= EMIT_POINTER >> 8)
			at = octets_get_u16(out + at) & MESSAGE_POINTER_MAX;
		if (labels-- == 0)
			return at;
		at += 1u + out[at];
	}
}

void
emit_set_apex(struct reply *reply, const uint8_t *apex, uint32_t at)
{
	reply->apex = apex;
	reply->apex_at = at;
	while (reply->out[at] != 0 && reply->out[at] < EMIT_POINTER >> 8)
		at += 1u + reply->out[at];
	reply->apex_is_whole = reply->out[at] == 0;
}

bool
emit_names_equal(const uint8_t *out, uint32_t a, uint32_t b)
{
	for (;;) {
		a = emit_suffix_at(out, a, 0);
		b = emit_suffix_at(out, b, 0);
		if (a == b)
			return true;
		if (out[a] != out[b])
			return false;
		if (out[a] == 0)
			return true;
		for (unsigned i = 1; i <= out[a]; i++)
			if (name_lower_octet(out[a + i])
				!= name_lower_octet(out[b + i]))
				return false;
		a += 1u + out[a];
		b += 1u + out[b];
	}
}

void
emit_copy_octets(const struct reply *reply, uint32_t at,
	struct emit_octets *owner)
{
	const uint8_t *name = reply->out + at;

	while (*name != 0 && *name < EMIT_POINTER >> 8)
		name += 1u + *name;
	owner->len = (uint32_t)(name - (reply->out + at))
		+ (*name == 0 ? 1 : 2);
	memcpy(owner->octets, reply->out + at, owner->len);
}
