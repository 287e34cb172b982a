/* audit_types.c - sets of types, and the bitmaps of NSEC and NSEC3 that they
 * are written as (RFC 4034 section 4.1.2). */
#include <stdio.h>
#include <string.h>

#include "audit/audit_part.h"

static void
types_add(struct audit_types *types, uint16_t type)
{
	if (type >> 8 >= types->end)
		types->end = (type >> 8) + 1u;
	types->bits[type >> 8][type % 256 / 8] |= (uint8_t)(0x80u >> type % 8);
}

void
audit_types_clear(struct audit_types *types)
{
	memset(types->bits, 0, types->end * sizeof(types->bits[0]));
	types->end = 0;
}

size_t
audit_types_write(const struct audit_types *types, uint8_t out[BITMAP_MAX])
{
	uint8_t *at = out;

	for (unsigned w = 0; w < types->end; w++) {
		uint8_t len = 32;

		while (len > 0 && types->bits[w][len - 1] == 0)
			len--;
		if (len == 0)
			continue;
		*at++ = (uint8_t)w;
		*at++ = len;
		memcpy(at, types->bits[w], len);
		at += len;
	}
	return (size_t)(at - out);
}

/* At a zone cut, only NS, DS and NSEC are the zone's (RFC 4035 section 2.3,
 * RFC 5155 section 7.1). RRSIG is in the set wherever there should be
 * signatures: if they are missing, audit_sigs.c tells of it. */
void
audit_types_of(struct audit_types *types, const struct audit_owner *owner)
{
	bool is_signed = false;

	for (size_t i = 0; i < owner->group_count; i++) {
		const struct audit_group *g = &owner->groups[i];

		if (g->sigs || g->type == TYPE_NSEC3 || (owner->cut
			&& g->type != TYPE_NS && g->type != TYPE_DS
			&& g->type != TYPE_NSEC))
			continue;
		types_add(types, g->type);
		is_signed |= !owner->cut || g->type != TYPE_NS;
	}
	if (is_signed)
		types_add(types, TYPE_RRSIG);
}

/* Adds the types of a bitmap; false if the bitmap is malformed. */
static bool
bitmap_read(const uint8_t *bitmap, size_t len, struct audit_types *types)
{
	struct cursor c;

	cursor_init(&c, bitmap, len);
	while (!c.failed && cursor_left(&c) > 0) {
		uint8_t window = cursor_read_u8(&c);
		uint8_t size = cursor_read_u8(&c);
		const uint8_t *bits = cursor_read_octets(&c, size);

		if (bits == NULL || size > 32)
			return false;
		for (unsigned i = 0; i < size; i++)
			types->bits[window][i] |= bits[i];
	}
	return !c.failed;
}

/* Appends a word and the first two types that one set has and the other lacks.
 * Appends nothing if there are none. */
static void
types_list(const char *word, const struct audit_types *of,
	const struct audit_types *without, char *out, size_t size)
{
	size_t at = strlen(out);
	unsigned count = 0;

	for (unsigned type = 0; type < 65536; type++) {
		unsigned w = type >> 8, octet = type % 256 / 8;
		uint8_t bit = (uint8_t)(0x80u >> type % 8);
		char text[RRTYPE_TEXT_MAX];

		if ((of->bits[w][octet] & bit) == 0
			|| (without->bits[w][octet] & bit) != 0)
			continue;
		if (++count > 2) {
			snprintf(out + at, size - at, ", ...");
			return;
		}
		rrtype_print((uint16_t)type, text);
		snprintf(out + at, size - at, "%s%s %s", count == 1
			? at > 0 ? ", " : "" : ",", count == 1 ? word : "",
			text);
		at = strlen(out);
	}
}

/* As audit_types_differ, for bitmaps that are not the same octets. Not inlined:
 * the sets are large, and to clear them is in vain for equal bitmaps. */
static bool __attribute__((noinline))
sets_differ(const uint8_t *have, size_t have_len, const uint8_t *want,
	size_t want_len, char out[AUDIT_DIFFERENCE_MAX])
{
	struct audit_types are = {0}, should = {0};

	out[0] = '\0';
	if (!bitmap_read(have, have_len, &are)
		|| !bitmap_read(want, want_len, &should)) {
		snprintf(out, AUDIT_DIFFERENCE_MAX, "is broken");
		return true;
	}
	types_list("lacks", &should, &are, out, AUDIT_DIFFERENCE_MAX);
	types_list("has", &are, &should, out, AUDIT_DIFFERENCE_MAX);
	/* Empty if the types are the same and only the form is unusual. */
	return out[0] != '\0';
}

bool
audit_types_differ(const uint8_t *have, size_t have_len, const uint8_t *want,
	size_t want_len, char out[AUDIT_DIFFERENCE_MAX])
{
	if (have_len == want_len
		&& (have_len == 0 || memcmp(have, want, have_len) == 0))
		return false;
	return sets_differ(have, have_len, want, want_len, out);
}
