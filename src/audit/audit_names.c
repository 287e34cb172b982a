/* audit_names.c - the names of a zone that should have an NSEC3 record: those
 * with records, and the empty ones between them and the apex. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_part.h"

#define NAMES_ROOM ((size_t)1 << 18) /* octets of a batch */

/* Copies a name and its bitmap behind those that are kept. */
static enum nsd_err
names_put(struct audit *audit, const uint8_t *name, bool optional,
	const uint8_t *bitmap, size_t bitmap_len)
{
	struct audit_names *n = &audit->names;
	struct audit_batch *b = n->last;
	size_t len = name_len(name);
	size_t size = (sizeof(struct audit_name) + len + bitmap_len + 7)
		& ~(size_t)7;
	struct audit_name *to;

	if (b == NULL || b->room - b->len < size) {
		assert(size <= NAMES_ROOM);
		b = audit_batch_create(NAMES_ROOM, true);
		if (b == NULL)
			return NSD_E_MEMORY;
		if (n->last != NULL)
			n->last->kept_next = b;
		else
			n->first = b;
		n->last = b;
	}
	to = (void *)(b->data + b->len);
	to->order = ++audit->order;
	to->bitmap_len = (uint16_t)bitmap_len;
	to->name_len = (uint8_t)len;
	to->optional = optional;
	memcpy(to->data, name, len);
	if (bitmap_len > 0)
		memcpy(to->data + len, bitmap, bitmap_len);
	b->len += size;
	return NSD_OK;
}

/*
 * Adds the empty names above the last one, down from its first `depth` labels:
 * all that is below them has been seen. An empty name should have an NSEC3 too.
 * It may lack one if there are only insecure delegations below it
 * (RFC 5155 section 7.1).
 */
static enum nsd_err
names_close(struct audit *audit, unsigned depth)
{
	struct audit_names *n = &audit->names;
	enum nsd_err err = NSD_OK;

	assert(n->depth <= NAME_MAX_LABELS);

	for (unsigned d = n->depth; d > depth && err == NSD_OK; d--)
		if (!n->parents[d].exists)
			err = names_put(audit,
				name_skip_labels(n->previous, n->depth - d),
				!n->parents[d].required, NULL, 0);
	return err;
}

/* Labels below the apex that two names have in common. */
static unsigned
audit_count_common(const uint8_t *a, unsigned a_depth, const uint8_t *b,
	unsigned b_depth)
{
	unsigned depth = a_depth < b_depth ? a_depth : b_depth;

	a = name_skip_labels(a, a_depth - depth);
	b = name_skip_labels(b, b_depth - depth);
	while (depth > 0 && !name_equal(a, b)) {
		a += a[0] + 1;
		b += b[0] + 1;
		depth--;
	}
	return depth;
}

/* In canonical order, names below another one follow right behind it. */
enum nsd_err
audit_names_add(struct audit *audit, const struct audit_owner *owner)
{
	struct audit_names *n = &audit->names;
	unsigned depth = name_count_labels(owner->name) - audit->apex_labels;
	bool insecure = owner->cut && !owner->has_ds;
	uint8_t bitmap[BITMAP_MAX];
	unsigned common;
	enum nsd_err err;
	size_t len;

	assert(depth <= NAME_MAX_LABELS);
	if (audit->nsec3.param_count == 0 || owner->occluded || !owner->exists)
		return NSD_OK;
	common = audit_count_common(n->previous, n->depth, owner->name, depth);
	err = names_close(audit, common);
	if (err != NSD_OK)
		return err;
	for (unsigned d = common + 1; d < depth; d++)
		n->parents[d] = (struct audit_parent){false, false};
	n->parents[depth].exists = true;
	for (unsigned d = 0; d < depth && !insecure; d++)
		n->parents[d].required = true;
	memcpy(n->previous, owner->name, owner->name_len);
	n->depth = depth;
	audit_types_of(&audit->types, owner);
	len = audit_types_write(&audit->types, bitmap);
	audit_types_clear(&audit->types);
	return names_put(audit, owner->name, insecure, bitmap, len);
}

enum nsd_err
audit_names_finish(struct audit *audit)
{
	return names_close(audit, 0);
}

void
audit_names_fini(struct audit_names *names)
{
	while (names->first != NULL) {
		struct audit_batch *b = names->first;

		names->first = b->kept_next;
		free(b);
	}
	names->last = NULL;
}
