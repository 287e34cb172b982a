/* audit_hashes.c - the NSEC3 chain in use, at the names and the records that a
 * change has touched (RFC 5155 section 7.1). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_change.h"
#include "base/grow.h"
#include "zone/nsec3_page.h"
#include "zone/zone.h"

/* Names below an empty one that are looked at, to see whether it needs an NSEC3
 * of its own. */
#define BELOW_MAX 1000u

/* ---- names --------------------------------------------------------------- */

static enum nsd_err
hashes_put(struct audit_touched *t, const struct audit_hash *hash)
{
	struct audit_hash *hashes = grow_array(t->hashes, t->hash_count,
		&t->hash_room, sizeof(*hashes));
	struct audit_hash *to;

	if (hashes == NULL)
		return NSD_E_MEMORY;
	t->hashes = hashes;
	to = &hashes[t->hash_count];
	*to = *hash;
	to->order = ++t->audit->order;
	to->name = arena_copy(&t->arena, hash->name, name_len(hash->name));
	if (hash->bitmap_len > 0)
		to->bitmap = arena_copy(&t->arena, hash->bitmap,
			hash->bitmap_len);
	if (to->name == NULL || (hash->bitmap_len > 0 && to->bitmap == NULL))
		return NSD_E_MEMORY;
	t->hash_count++;
	return NSD_OK;
}

/* Adds a name without data: one that is empty, but perhaps for signatures of
 * what is gone, or one that is not there. */
static enum nsd_err
hashes_put_empty(struct audit_touched *t, const uint8_t *name,
	const struct node *node)
{
	const struct audit_hash hash = {
		.kind = node != NULL && (node->flags & NODE_OCCLUDED) == 0
			? AUDIT_HASH_EMPTY : AUDIT_HASH_NOT,
		.name = name,
	};

	return hashes_put(t, &hash);
}

/* Adds the names between a name and the apex that have no data. */
static enum nsd_err
hashes_put_above(struct audit_touched *t, const uint8_t *name)
{
	unsigned depth = name_count_labels(name) - t->audit->apex_labels;
	enum nsd_err err = NSD_OK;

	for (unsigned i = 1; i < depth && err == NSD_OK; i++) {
		const uint8_t *above = name_skip_labels(name, i);
		const struct node *node = audit_touched_find(t, t->zone,
			above);

		if (!audit_node_is_visible(node))
			err = hashes_put_empty(t, above, node);
	}
	return err;
}

enum nsd_err
audit_hashes_add(struct audit_touched *t, const uint8_t *name)
{
	struct audit *audit = t->audit;
	const struct audit_owner *o = &audit->owner;
	uint8_t bitmap[BITMAP_MAX];
	struct audit_hash hash = {.kind = AUDIT_HASH_NEEDED, .name = name,
		.bitmap = bitmap};
	enum nsd_err err;

	if (o->occluded || !o->exists) {
		err = hashes_put_empty(t, name,
			audit_touched_find(t, t->zone, name));
	} else {
		if (o->cut && !o->has_ds)
			hash.kind = AUDIT_HASH_OPTIONAL;
		audit_types_of(&audit->types, o);
		hash.bitmap_len = (uint16_t)audit_types_write(&audit->types,
			bitmap);
		audit_types_clear(&audit->types);
		err = hashes_put(t, &hash);
	}
	return err == NSD_OK ? hashes_put_above(t, name) : err;
}

/* ---- records ------------------------------------------------------------- */

/* The record of a chain that has a hash, or covers it. */
struct nsec3_link {
	bool matches;
	bool has_hole; /* the next record is not the one that it leads to */
	uint8_t hash[NSEC3_HASH_LEN]; /* of the record */
	uint8_t next[NSEC3_HASH_LEN]; /* as it says */
	uint8_t flags;
	size_t bitmap_len;
	const uint8_t *bitmap; /* in the scratch arena */
};

/* Finds a record. NSD_E_LIMIT: the owner has several. */
static enum nsd_err
link_find(struct audit_touched *t, const struct zone *zone,
	const uint8_t *hash, struct nsec3_link *link)
{
	struct nsec3_find find = {
		.chain = store_get(t->view, zone->chain),
	}, *finds = &find;
	struct nsec3_parts parts;
	uint8_t *rdata;
	size_t len;

	memcpy(find.hash, hash, NSEC3_HASH_LEN);
	nsec3_find_batch(t->view, &finds, 1);
	if (find.record == NULL || (find.record->flags & NSEC3_RRSET) != 0)
		return NSD_E_LIMIT;
	rdata = arena_alloc(&t->scratch, 65535);
	if (rdata == NULL)
		return NSD_E_MEMORY;
	len = nsec3_unpack_rdata(t->view, find.record, find.next_hash, rdata);
	if (!audit_nsec3_read(rdata, len, &parts)
		|| parts.next_len != NSEC3_HASH_LEN)
		return NSD_E_LIMIT;
	*link = (struct nsec3_link){
		.matches = find.matches,
		.has_hole = (find.record->flags & NSEC3_OWN_NEXT) != 0,
		.flags = parts.flags,
		.bitmap_len = parts.bitmap_len,
		.bitmap = parts.bitmap,
	};
	memcpy(link->hash, find.owner_hash, NSEC3_HASH_LEN);
	memcpy(link->next, parts.next, NSEC3_HASH_LEN);
	return NSD_OK;
}

/* Finds the record before a hash. */
static enum nsd_err
link_find_before(struct audit_touched *t, const uint8_t *hash,
	struct nsec3_link *link)
{
	uint8_t before[NSEC3_HASH_LEN];

	memcpy(before, hash, sizeof(before));
	for (size_t i = sizeof(before); i > 0 && before[i - 1]-- == 0; i--)
		;
	return link_find(t, t->zone, before, link);
}

static struct audit_place
link_place(const struct audit_touched *t, const uint8_t *hash,
	uint8_t owner[NAME_MAX_LEN])
{
	owner[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(hash, owner + 1);
	memcpy(owner + 1 + NSEC3_LABEL_LEN, t->audit->options->apex,
		t->audit->apex_len);
	return (struct audit_place){owner, TYPE_NSEC3, NULL,
		++t->audit->order};
}

/* Tells what is wrong with the record that has a hash. */
static void
link_tell(struct audit_touched *t, enum audit_kind kind, const uint8_t *hash,
	const char *what)
{
	uint8_t owner[NAME_MAX_LEN];
	const struct audit_place place = link_place(t, hash, owner);
	char text[NAME_TEXT_MAX];

	name_print_text(owner, text);
	audit_add(t->audit, kind, false, &place, "NSEC3 at %s %s", text, what);
}

static void
link_tell_hole(struct audit_touched *t, const struct nsec3_link *link)
{
	char label[NSEC3_LABEL_LEN + 1] = "", text[NSEC3_LABEL_LEN + 80];

	if (!link->has_hole)
		return;
	nsec3_print_label(link->next, (uint8_t *)label);
	snprintf(text, sizeof(text), "leads to %s, which does not follow",
		label);
	link_tell(t, AUDIT_NSEC3_NEXT, link->hash, text);
}

/* ---- the record of each name --------------------------------------------- */

/* Looks at the names below an empty one: whether there are any, and unless
 * needed is NULL whether one needs a record. NSD_E_LIMIT: they are too many. */
static enum nsd_err
empty_look_below(const struct audit_touched *t, const uint8_t *name,
	bool *has_any, bool *needed)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name split;
	struct trie_iter iter;
	store_ref ref;
	unsigned count = 0;

	*has_any = false;
	if (needed != NULL)
		*needed = false;
	trie_name_split(&split, name,
		(unsigned)(name_len(name) - t->audit->apex_len), label_at);
	trie_iter_init_below(&iter, t->view, &t->zone->names.root, &split);
	while ((needed != NULL ? !*needed : !*has_any)
		&& (ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct node *node = store_get(t->view, ref);

		if (++count > BELOW_MAX)
			return NSD_E_LIMIT;
		if (!audit_node_is_visible(node))
			continue;
		*has_any = true;
		if (needed != NULL)
			*needed = (node->flags & NODE_CUT) == 0
				|| (node->flags & NODE_HAS_DS) != 0;
	}
	return NSD_OK;
}

/* True if a name may do without a record, as an opt-out covers it. */
static enum nsd_err
hash_may_lack(const struct audit_touched *t, const struct audit_hash *h,
	const struct nsec3_link *link, bool *may)
{
	bool has_any = true, needed = h->kind == AUDIT_HASH_NEEDED;
	enum nsd_err err = NSD_OK;

	if (h->kind == AUDIT_HASH_EMPTY)
		err = empty_look_below(t, h->name, &has_any, &needed);
	*may = h->kind == AUDIT_HASH_NOT || !has_any
		|| (!needed && (link->flags & NSEC3_OPT_OUT) != 0);
	return err;
}

static enum nsd_err
hash_check(struct audit_touched *t, const struct audit_hash *h)
{
	const struct audit_place place = {h->name, 0, NULL, h->order};
	char text[NAME_TEXT_MAX], label[NSEC3_LABEL_LEN + 1] = "",
		difference[AUDIT_DIFFERENCE_MAX];
	struct nsec3_link link;
	bool may = false, has_any = true;
	enum nsd_err err = link_find(t, t->zone, h->hash, &link);

	if (err != NSD_OK)
		return err;
	name_print_text(h->name, text);
	nsec3_print_label(h->hash, (uint8_t *)label);
	if (link.matches && h->kind == AUDIT_HASH_EMPTY)
		err = empty_look_below(t, h->name, &has_any, NULL);
	if (err != NSD_OK)
		return err;
	if (link.matches && (h->kind == AUDIT_HASH_NOT || !has_any))
		link_tell(t, AUDIT_NSEC3_STRAY, h->hash,
			"is of no name in the zone");
	else if (link.matches && audit_types_differ(link.bitmap,
			link.bitmap_len, h->bitmap, h->bitmap_len, difference))
		audit_add(t->audit, AUDIT_NSEC3_BITMAP, false, &place,
			"type bitmap of NSEC3 of %s (%s) %s", text, label,
			difference);
	if (link.matches)
		return NSD_OK;
	err = hash_may_lack(t, h, &link, &may);
	if (err == NSD_OK && !may)
		audit_add(t->audit, AUDIT_NSEC3_MISSING, false, &place,
			"%s has no NSEC3 (%s)", text, label);
	return err;
}

/* ---- the name of each record --------------------------------------------- */

static int
hash_compare(const void *a, const void *b)
{
	const struct audit_hash *x = a, *y = b;

	return memcmp(x->hash, y->hash, NSEC3_HASH_LEN);
}

/* True if the hash is that of a name that was looked at. */
static bool
hashes_have(const struct audit_touched *t, const uint8_t *hash)
{
	struct audit_hash wanted;

	memcpy(wanted.hash, hash, NSEC3_HASH_LEN);
	return t->hash_count > 0 && bsearch(&wanted, t->hashes, t->hash_count,
		sizeof(*t->hashes), hash_compare) != NULL;
}

static bool
bitmap_has(const struct nsec3_link *link, uint16_t type)
{
	struct cursor c;

	cursor_init(&c, link->bitmap, link->bitmap_len);
	while (cursor_left(&c) > 0) {
		uint8_t window = cursor_read_u8(&c);
		uint8_t len = cursor_read_u8(&c);
		const uint8_t *bits = cursor_read_octets(&c, len);

		if (c.failed)
			return false;
		if (window == type >> 8 && (type & 255u) / 8 < len)
			return (bits[(type & 255u) / 8] >> (7 - type % 8) & 1)
				!= 0;
	}
	return false;
}

/* A record has gone whose name has not changed. NSD_E_LIMIT: it may have been
 * that of an empty name, which may do without. */
static enum nsd_err
record_is_missed(struct audit_touched *t, const struct nsec3_link *old,
	const struct nsec3_link *cover)
{
	if ((cover->flags & NSEC3_OPT_OUT) != 0) {
		if (old->bitmap_len == 0)
			return NSD_E_LIMIT;
		if (bitmap_has(old, TYPE_NS) && !bitmap_has(old, TYPE_SOA)
			&& !bitmap_has(old, TYPE_DS))
			return NSD_OK;
	}
	link_tell(t, AUDIT_NSEC3_MISSING, old->hash,
		"is gone, but its name is there");
	return NSD_OK;
}

/* Checks the chain where a record was touched. NSD_E_LIMIT: with and without
 * opt-out side by side only the whole zone tells what is covered. */
static enum nsd_err
record_check(struct audit_touched *t, const uint8_t *hash)
{
	struct nsec3_link old, new, before;
	char difference[AUDIT_DIFFERENCE_MAX];
	enum nsd_err err = link_find(t, t->served, hash, &old);

	if (err == NSD_OK)
		err = link_find(t, t->zone, hash, &new);
	if (err == NSD_OK)
		err = link_find_before(t, hash, &before);
	if (err != NSD_OK)
		return err;
	if (((old.flags ^ new.flags) & NSEC3_OPT_OUT) != 0
		|| ((before.flags ^ new.flags) & NSEC3_OPT_OUT) != 0)
		return NSD_E_LIMIT;
	link_tell_hole(t, &before);
	if (new.matches)
		link_tell_hole(t, &new);
	if (hashes_have(t, hash))
		return NSD_OK;
	if (!new.matches)
		return old.matches ? record_is_missed(t, &old, &new) : NSD_OK;
	if (!old.matches)
		link_tell(t, AUDIT_NSEC3_STRAY, hash,
			"is of no name in the zone");
	else if (audit_types_differ(new.bitmap, new.bitmap_len, old.bitmap,
			old.bitmap_len, difference))
		link_tell(t, AUDIT_NSEC3_BITMAP, hash, difference);
	return NSD_OK;
}

static enum nsd_err
records_check(struct audit_touched *t)
{
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < t->count && err == NSD_OK; i++) {
		const uint8_t *name = t->names[i];
		uint8_t hash[NSEC3_HASH_LEN];

		if (name_len(name) == t->audit->apex_len + 1 + NSEC3_LABEL_LEN
			&& nsec3_parse_label(name, hash)) {
			err = record_check(t, hash);
			arena_reset(&t->scratch);
		}
	}
	return err;
}

/* ---- interface ----------------------------------------------------------- */

static enum nsd_err
hashes_make(struct audit_touched *t)
{
	const struct audit_nsec3_param *p = &t->audit->nsec3.params[0];
	const struct nsec3_params params = {p->salt, p->salt_len,
		p->iterations};
	struct nsec3_job *jobs = calloc(t->hash_count + 1, sizeof(*jobs));
	struct nsec3_job **list = calloc(t->hash_count + 1, sizeof(*list));

	if (jobs == NULL || list == NULL) {
		free(jobs);
		free(list);
		return NSD_E_MEMORY;
	}
	for (size_t i = 0; i < t->hash_count; i++) {
		jobs[i].name = t->hashes[i].name;
		list[i] = &jobs[i];
	}
	nsec3_hash_batch(&params, list, t->hash_count);
	for (size_t i = 0; i < t->hash_count; i++)
		memcpy(t->hashes[i].hash, jobs[i].hash, NSEC3_HASH_LEN);
	free(jobs);
	free(list);
	return NSD_OK;
}

enum nsd_err
audit_hashes_check(struct audit_touched *t)
{
	enum nsd_err err = hashes_make(t);

	if (err != NSD_OK)
		return err;
	if (t->hash_count > 1)
		qsort(t->hashes, t->hash_count, sizeof(*t->hashes),
			hash_compare);
	for (size_t i = 0; i < t->hash_count && err == NSD_OK; i++) {
		if (i > 0 && hash_compare(&t->hashes[i - 1], &t->hashes[i])
				== 0)
			continue;
		err = hash_check(t, &t->hashes[i]);
		arena_reset(&t->scratch);
	}
	return err == NSD_OK ? records_check(t) : err;
}
