/*
 * nsec3_record.c - packs the NSEC3 RRset of an owner into a record of the
 * chain. The common part of many records becomes a template that they share.
 */
#include <string.h>

#include "compile/pack_parts.h"
#include "store/writer.h"

#define TEMPLATES_FIRST 16u
#define NEXT_LEN_AT(salt_len) (5u + (salt_len)) /* in the RDATA of NSEC3 */

bool
nsec3_has_next(const struct rrbatch_rr *rr)
{
	const uint8_t *rdata = rrbatch_rr_rdata(rr);
	size_t at = NEXT_LEN_AT(rdata[4]);

	return rr->rdlen > at && rdata[at] == NSEC3_HASH_LEN
		&& rr->rdlen >= at + 1 + NSEC3_HASH_LEN;
}

const uint8_t *
nsec3_get_next(const struct rrbatch_rr *rr)
{
	const uint8_t *rdata = rrbatch_rr_rdata(rr);

	return rdata + NEXT_LEN_AT(rdata[4]) + 1;
}

/* ---- templates ----------------------------------------------------------- */

/* The RDATA of an NSEC3 record, in parts. */
struct nsec3_template_parts {
	const uint8_t *head;
	const uint8_t *bitmap;
	uint16_t head_len;
	uint16_t bitmap_len;
	uint32_t ttl_sec;
};

static void
nsec3_template_read(const struct item_group *g,
	struct nsec3_template_parts *parts)
{
	const struct rrbatch_rr *rr = g->items[0].rr;

	parts->head = rrbatch_rr_rdata(rr);
	parts->head_len = (uint16_t)(NEXT_LEN_AT(parts->head[4]) + 1);
	parts->bitmap = parts->head + parts->head_len + NSEC3_HASH_LEN;
	parts->bitmap_len = (uint16_t)(rr->rdlen - parts->head_len
		- NSEC3_HASH_LEN);
	parts->ttl_sec = g->ttl_sec;
}

static bool
nsec3_template_matches(const struct nsec3_template *template,
	const struct nsec3_template_parts *parts)
{
	return template->ttl_sec == parts->ttl_sec
		&& template->head_len == parts->head_len
		&& template->bitmap_len == parts->bitmap_len
		&& memcmp(template->data, parts->head, parts->head_len) == 0
		&& memcmp(template->data + parts->head_len, parts->bitmap,
			   parts->bitmap_len) == 0;
}

static enum nsd_err
nsec3_templates_grow(struct packer *p)
{
	size_t room = p->nsec3_templates.room == 0 ? TEMPLATES_FIRST
		: p->nsec3_templates.room * 2;
	struct nsec3_template_slot *slots = arena_alloc_zero(&p->arena,
		room * sizeof(*slots));

	if (slots == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < p->nsec3_templates.room; i++) {
		const struct nsec3_template_slot *old =
			&p->nsec3_templates.slots[i];
		size_t at = old->hash;

		if (old->template == NULL)
			continue;
		while (slots[at & (room - 1)].template != NULL)
			at++;
		slots[at & (room - 1)] = *old;
	}
	p->nsec3_templates.slots = slots;
	p->nsec3_templates.room = room;
	return NSD_OK;
}

static enum nsd_err
nsec3_template_create(struct packer *p,
	const struct nsec3_template_parts *parts,
	struct nsec3_template_slot *slot)
{
	struct nsec3_template *template = store_alloc(p->heap,
		sizeof(*template) + parts->head_len + parts->bitmap_len,
		&slot->ref);

	if (template == NULL)
		return NSD_E_MEMORY;
	template->refs = 0;
	template->ttl_sec = parts->ttl_sec;
	template->head_len = parts->head_len;
	template->bitmap_len = parts->bitmap_len;
	memcpy(template->data, parts->head, parts->head_len);
	memcpy(template->data + parts->head_len, parts->bitmap,
		parts->bitmap_len);
	slot->template = template;
	slot->count = 0;
	return NSD_OK;
}

/* The template of an RRset of one record, one holder more counted. */
static enum nsd_err
nsec3_template_get(struct packer *p, const struct item_group *g, store_ref *ref)
{
	uint64_t seed = p->zone->share.seed ^ g->ttl_sec;
	struct nsec3_template_slot *slot;
	struct nsec3_template_parts parts;
	uint32_t hash;

	nsec3_template_read(g, &parts);
	hash = (uint32_t)(share_hash_octets(seed, parts.head, parts.head_len)
		^ share_hash_octets(seed, parts.bitmap, parts.bitmap_len));
	if (p->nsec3_templates.used * 2 >= p->nsec3_templates.room
		&& nsec3_templates_grow(p) != NSD_OK)
		return NSD_E_MEMORY;
	for (size_t i = hash;; i++) {
		slot = &p->nsec3_templates.slots[i
			& (p->nsec3_templates.room - 1)];
		if (slot->template == NULL)
			break;
		if (slot->hash == hash
			&& nsec3_template_matches(slot->template, &parts))
			goto found;
	}
	slot->hash = hash;
	if (nsec3_template_create(p, &parts, slot) != NSD_OK)
		return NSD_E_MEMORY;
	p->nsec3_templates.used++;
found:
	slot->count++;
	*ref = slot->ref;
	return NSD_OK;
}

void
nsec3_templates_flush(struct packer *p)
{
	for (size_t i = 0; i < p->nsec3_templates.room; i++) {
		struct nsec3_template_slot *slot = &p->nsec3_templates.slots[i];
		struct nsec3_template *template;

		if (slot->template == NULL)
			continue;
		template = store_edit(p->heap, slot->ref);
		template->refs += slot->count;
		slot->count = 0;
	}
}

/*
 * For an update: takes a template that a record in the same page has, or makes
 * a new one. Most zones have a handful of templates, and each of them is in
 * most pages. The holder is counted.
 */
static enum nsd_err
nsec3_template_get_near(struct packer *p, const struct item_group *g,
	const struct nsec3_chain *near, const uint8_t *hash, store_ref *ref)
{
	const struct store_view *view = store_heap_view(p->heap);
	struct nsec3_template_slot slot;
	struct nsec3_place place;
	struct nsec3_template_parts parts;

	nsec3_template_read(g, &parts);
	nsec3_place_find(view, near, hash, &place);
	for (unsigned i = 0; i < place.page->count; i++)
		store_prefetch(view, nsec3_page_refs(place.page)[i]);
	for (unsigned i = 0; i < place.page->count; i++) {
		const struct nsec3_record *r = store_get(view,
			nsec3_page_refs(place.page)[i]);

		if ((r->flags & NSEC3_RRSET) != 0
			|| !nsec3_template_matches(store_get(view, r->template),
				&parts))
			continue;
		((struct nsec3_template *)store_edit(p->heap,
			r->template))->refs++;
		*ref = r->template;
		return NSD_OK;
	}
	if (nsec3_template_create(p, &parts, &slot) != NSD_OK)
		return NSD_E_MEMORY;
	((struct nsec3_template *)store_edit(p->heap, slot.ref))->refs = 1;
	*ref = slot.ref;
	return NSD_OK;
}

/* ---- records ----------------------------------------------------------- */

/* Sets record->template: the template of a record alone, or the RRset of
 * several. On failure no holder is counted. */
static enum nsd_err
record_take_template(struct packer *p, const struct owner *owner,
	const struct item_group *nsec3, const struct nsec3_chain *near,
	struct nsec3_record *record)
{
	uint8_t hash[NSEC3_HASH_LEN];
	enum nsd_err err;

	record->flags = nsec3->count == 1 ? 0 : NSEC3_RRSET;
	if (nsec3->count == 1 && near == NULL)
		return nsec3_template_get(p, nsec3, &record->template);
	if (nsec3->count == 1)
		return nsec3_parse_label(owner->name, hash)
			? nsec3_template_get_near(p, nsec3, near, hash,
				&record->template)
			: NSD_E_BUG;
	findings_add(&p->findings, DIAG_WARNING,
		nsec3->items[nsec3->items[1].order > nsec3->items[0].order].rr,
		"several NSEC3 records at one name");
	err = pack_rrset(p, owner, nsec3, &record->template);
	if (err == NSD_OK && record->template == STORE_NONE)
		return NSD_E_ZONE; /* told */
	return err;
}

enum nsd_err
nsec3_record_pack(struct packer *p, const struct owner *owner,
	const struct item_group *nsec3, const struct item_group *sigs,
	const struct nsec3_chain *near, store_ref *ref)
{
	size_t size = sigs != NULL ? pack_sigs_measure(p, sigs)
				   : sizeof(struct rrset_sigs);
	bool own_next = near != NULL && nsec3->count == 1;
	struct nsec3_record *record;
	enum nsd_err err = NSD_OK;

	if (size == 0 || !check_limits(p, owner, nsec3, 1)
		|| (sigs != NULL && !check_limits(p, owner, sigs, 1)))
		return NSD_E_ZONE;
	size += offsetof(struct nsec3_record, sigs);
	record = store_alloc(p->heap, size + (own_next ? NSEC3_HASH_LEN : 0),
		ref);
	if (record == NULL)
		return NSD_E_MEMORY;
	memset(record, 0, offsetof(struct nsec3_record, sigs.data));
	if (sigs != NULL)
		err = pack_sigs_write(p, sigs, &record->sigs);
	if (err == NSD_OK) {
		err = record_take_template(p, owner, nsec3, near, record);
		if (err != NSD_OK)
			pack_sigs_uncount(p, &record->sigs);
	}
	if (err != NSD_OK) {
		store_free(p->heap, *ref,
			size + (own_next ? NSEC3_HASH_LEN : 0));
		*ref = STORE_NONE;
		return err;
	}
	if (own_next) {
		record->flags |= NSEC3_OWN_NEXT;
		memcpy((uint8_t *)record + size,
			nsec3_get_next(nsec3->items[0].rr), NSEC3_HASH_LEN);
	}
	return NSD_OK;
}

/* ---- of an update ------------------------------------------------------ */

bool
nsec3_items_are_chained(const struct nsec3_chain *chain,
	const struct owner *owner, const struct item *items, size_t count,
	uint8_t hash[NSEC3_HASH_LEN])
{
	const struct nsec3_params params = {
		.salt = chain->salt,
		.salt_len = chain->salt_len,
		.iterations = chain->iterations,
	};

	if (owner->labels != 1 || !nsec3_parse_label(owner->name, hash))
		return false;
	for (size_t i = 0; i < count; i++)
		if (items[i].rr->type == TYPE_NSEC3
			&& nsec3_has_params(items[i].rr, &params)
			&& nsec3_has_next(items[i].rr))
			return true;
	return false;
}

enum nsd_err
nsec3_pack_items(struct packer *p, const struct owner *owner,
	const struct nsec3_chain *chain, struct item *items, size_t count,
	store_ref *record)
{
	const struct item_group *nsec3, *sigs;
	enum nsd_err err;
	size_t groups;

	err = items_group(p, owner, items, count, &groups);
	if (err != NSD_OK)
		return err;
	if (groups == 0 || p->groups[0].type != TYPE_NSEC3
		|| p->groups[0].sigs)
		return NSD_E_BUG;
	/* Signatures sort behind what they cover. */
	nsec3 = &p->groups[0];
	sigs = groups > 1 ? &p->groups[1] : NULL;
	err = nsec3_record_pack(p, owner, nsec3, sigs, chain, record);
	if (err == NSD_OK)
		p->rr_count += nsec3->count + (sigs != NULL ? sigs->count : 0);
	return err;
}
