/* audit_nsec.c - the NSEC chain of a zone (RFC 4035 section 2.3), and type
 * bitmaps (RFC 4034 section 4.1.2). */
#include <stdio.h>
#include <string.h>

#include "audit/audit_part.h"

/* ---- bitmaps ----------------------------------------------------------- */

static void
audit_types_add(struct audit_types *types, uint16_t type)
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

/* At a zone cut only NS, DS and what proves them are the zone's (RFC 4035
 * section 2.3, RFC 5155 section 7.1). Signatures that are not there are told
 * of elsewhere: here RRSIG is expected wherever they should be. */
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
		audit_types_add(types, g->type);
		is_signed |= !owner->cut || g->type != TYPE_NS;
	}
	if (is_signed)
		audit_types_add(types, TYPE_RRSIG);
}

/* The bits of a window in a bitmap; false if the bitmap has a broken part. */
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

static void
list_types(const char *word, const struct audit_types *of,
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

bool
audit_bitmap_differs(const uint8_t *have, size_t have_len, const uint8_t *want,
	size_t want_len, char out[AUDIT_DIFFERENCE_MAX])
{
	struct audit_types are = {0}, should = {0};

	if (have_len == want_len && memcmp(have, want, have_len) == 0)
		return false;
	out[0] = '\0';
	if (!bitmap_read(have, have_len, &are)
		|| !bitmap_read(want, want_len, &should)) {
		snprintf(out, AUDIT_DIFFERENCE_MAX, "is broken");
		return true;
	}
	list_types("lacks", &should, &are, out, AUDIT_DIFFERENCE_MAX);
	list_types("has", &are, &should, out, AUDIT_DIFFERENCE_MAX);
	/* The same types, in a form that no signer writes. */
	return out[0] != '\0';
}

/* ---- the chain --------------------------------------------------------- */

/* The next name of an NSEC; NULL if the RDATA is broken. */
static const uint8_t *
nsec_read(const struct audit_owner *owner, const struct audit_group *g,
	uint8_t next[NAME_MAX_LEN], size_t *bitmap_len)
{
	const uint8_t *rr = owner->data + g->at;
	struct cursor c;
	size_t len;

	cursor_init(&c, rr + 2, octets_get_u16(rr));
	if (name_read_uncompressed(&c, next, &len) != NSD_OK)
		return NULL;
	*bitmap_len = cursor_left(&c);
	return c.at;
}

static void
nsec_check_bitmap(struct audit *audit, const struct audit_owner *owner,
	const struct audit_place *place, const uint8_t *bitmap, size_t len)
{
	char difference[AUDIT_DIFFERENCE_MAX], name[NAME_TEXT_MAX];
	uint8_t want[BITMAP_MAX];
	size_t want_len;

	audit_types_of(&audit->types, owner);
	want_len = audit_types_write(&audit->types, want);
	audit_types_clear(&audit->types);
	if (!audit_bitmap_differs(bitmap, len, want, want_len, difference))
		return;
	name_print_text(owner->name, name);
	audit_add(audit, AUDIT_NSEC_BITMAP, false, place,
		"type bitmap of NSEC at %s %s", name, difference);
}

static void
nsec_check_next(struct audit *audit, const uint8_t *name)
{
	struct audit_nsec *n = &audit->nsec;
	const struct audit_place place = {n->previous, TYPE_NSEC, NULL,
		n->previous_order};
	char owner[NAME_TEXT_MAX], next[NAME_TEXT_MAX], want[NAME_TEXT_MAX];

	if (!n->has_previous || name_equal(n->next, name))
		return;
	name_print_text(n->previous, owner);
	name_print_text(n->next, next);
	name_print_text(name, want);
	audit_add(audit, AUDIT_NSEC_NEXT, false, &place,
		"next name of NSEC at %.300s is %.300s, not %.300s", owner,
		next, want);
}

static void
nsec_check_stray(struct audit *audit, const struct audit_owner *owner,
	const struct audit_place *place)
{
	char name[NAME_TEXT_MAX];

	name_print_text(owner->name, name);
	audit_add(audit, AUDIT_NSEC_STRAY, false, place,
		owner->occluded ? "%s has NSEC but is not the zone's"
				: "%s has NSEC but no other data", name);
}

/* Every name with data and every cut has an NSEC (RFC 4035 section 2.3),
 * which must not be the only RRset there. */
void
audit_nsec_name(struct audit *audit, const struct audit_owner *owner)
{
	struct audit_nsec *n = &audit->nsec;
	const struct audit_group *g = audit_owner_find(owner, TYPE_NSEC);
	struct audit_place place = {owner->name, TYPE_NSEC, NULL,
		owner->order};
	const uint8_t *bitmap;
	size_t bitmap_len, len;
	char name[NAME_TEXT_MAX];

	n->seen += g != NULL;
	if (!n->wanted)
		return;
	if (owner->occluded || !owner->exists) {
		if (g != NULL)
			nsec_check_stray(audit, owner, &place);
		return;
	}
	nsec_check_next(audit, owner->name);
	n->has_previous = false;
	if (g == NULL) {
		name_print_text(owner->name, name);
		place.type = 0;
		audit_add(audit, AUDIT_NSEC_MISSING, false, &place,
			"%s has no NSEC", name);
		return;
	}
	len = 2u + octets_get_u16(owner->data + g->at);
	if (len < g->len) {
		name_print_text(owner->name, name);
		audit_add(audit, AUDIT_NSEC_SEVERAL, false, &place,
			"%s has several NSEC", name);
	}
	bitmap = nsec_read(owner, g, n->next, &bitmap_len);
	if (bitmap == NULL)
		return;
	nsec_check_bitmap(audit, owner, &place, bitmap, bitmap_len);
	n->has_previous = true;
	n->previous_order = owner->order;
	memcpy(n->previous, owner->name, owner->name_len);
}

/* The last one leads back to the apex (RFC 4034 section 4.1.1). A zone must
 * have one chain or the other. */
void
audit_nsec_finish(struct audit *audit)
{
	const struct audit_place place = {audit->options->apex, 0, NULL, 0};
	struct audit_nsec *n = &audit->nsec;

	if (n->wanted)
		nsec_check_next(audit, audit->options->apex);
	if (n->wanted && n->seen == 0) {
		audit_log_drop(&audit->log, AUDIT_NSEC_MISSING);
		audit_add(audit, AUDIT_NO_DENIAL, false, &place,
			"the zone has neither NSEC nor an NSEC3PARAM that "
			"can be used");
	}
	if (!n->wanted && n->seen > 0)
		audit_add(audit, AUDIT_NSEC_UNUSED, false, &place,
			"%llu NSEC records, but none at the apex",
			(unsigned long long)n->seen);
}
