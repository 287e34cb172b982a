/* audit_nsec.c - the NSEC chain of a zone (RFC 4035 section 2.3). */
#include <string.h>

#include "audit/audit_part.h"

/* Reads the next name of an NSEC. Returns its bitmap; NULL if the RDATA is
 * malformed. */
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

/* Notes an NSEC, whose next name is still to be checked. Returns its bitmap;
 * NULL: it is malformed. */
static const uint8_t *
nsec_note(struct audit_nsec *n, const struct audit_owner *owner,
	const struct audit_group *g, size_t *bitmap_len)
{
	const uint8_t *bitmap = nsec_read(owner, g, n->next, bitmap_len);

	n->has_previous = bitmap != NULL;
	n->previous_order = owner->order;
	memcpy(n->previous, owner->name, owner->name_len);
	return bitmap;
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
	if (!audit_types_differ(bitmap, len, want, want_len, difference))
		return;
	name_print_text(owner->name, name);
	audit_add(audit, AUDIT_NSEC_BITMAP, false, place,
		"type bitmap of NSEC at %s %s", name, difference);
}

/* `name` comes next in the zone: does the NSEC before say so? */
void
audit_nsec_check_next(struct audit *audit, const uint8_t *name)
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

/* Tells of an NSEC at a name that should have none. */
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

/* Every name with data and every cut has an NSEC, and no name has only that
 * (RFC 4035 section 2.3). */
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
	audit_nsec_check_next(audit, owner->name);
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
	bitmap = nsec_note(n, owner, g, &bitmap_len);
	if (bitmap != NULL)
		nsec_check_bitmap(audit, owner, &place, bitmap, bitmap_len);
}

void
audit_nsec_begin(struct audit *audit, const struct audit_owner *owner)
{
	const struct audit_group *g = audit_owner_find(owner, TYPE_NSEC);
	size_t bitmap_len;

	audit->nsec.has_previous = false;
	if (g != NULL)
		(void)nsec_note(&audit->nsec, owner, g, &bitmap_len);
}

/* The last NSEC leads back to the apex (RFC 4034 section 4.1.1). A zone has
 * NSEC, or else NSEC3. */
void
audit_nsec_finish(struct audit *audit)
{
	const struct audit_place place = {audit->options->apex, 0, NULL, 0};
	struct audit_nsec *n = &audit->nsec;

	if (n->wanted)
		audit_nsec_check_next(audit, audit->options->apex);
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
