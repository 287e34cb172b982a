/*
 * nsec3_record.c - packs the NSEC3 RRset of an owner into a record of the
 * chain; what many have in common becomes a shared form.
 */
#include <string.h>

#include "build/build_pass.h"
#include "store/writer.h"

#define FORMS_FIRST 16u
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

/* ---- forms ------------------------------------------------------------- */

/* The RDATA of an NSEC3 record, in parts. */
struct form_parts {
	const uint8_t *head;
	const uint8_t *bitmap;
	uint16_t head_len;
	uint16_t bitmap_len;
	uint32_t ttl_sec;
};

static void
form_read(const struct group *g, struct form_parts *p)
{
	const struct rrbatch_rr *rr = g->items[0].rr;

	p->head = rrbatch_rr_rdata(rr);
	p->head_len = (uint16_t)(NEXT_LEN_AT(p->head[4]) + 1);
	p->bitmap = p->head + p->head_len + NSEC3_HASH_LEN;
	p->bitmap_len = (uint16_t)(rr->rdlen - p->head_len - NSEC3_HASH_LEN);
	p->ttl_sec = g->ttl_sec;
}

static bool
form_matches(const struct nsec3_form *form, const struct form_parts *p)
{
	return form->ttl_sec == p->ttl_sec && form->head_len == p->head_len
		&& form->bitmap_len == p->bitmap_len
		&& memcmp(form->data, p->head, p->head_len) == 0
		&& memcmp(form->data + p->head_len, p->bitmap, p->bitmap_len)
			== 0;
}

static enum nsd_err
forms_grow(struct worker *w)
{
	size_t room = w->forms_room == 0 ? FORMS_FIRST : w->forms_room * 2;
	struct form_slot *slots = arena_alloc_zero(&w->arena,
		room * sizeof(*slots));

	if (slots == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < w->forms_room; i++) {
		const struct form_slot *old = &w->forms[i];
		size_t at = old->hash;

		if (old->form == NULL)
			continue;
		while (slots[at & (room - 1)].form != NULL)
			at++;
		slots[at & (room - 1)] = *old;
	}
	w->forms = slots;
	w->forms_room = room;
	return NSD_OK;
}

static enum nsd_err
form_create(struct worker *w, const struct form_parts *p,
	struct form_slot *slot)
{
	struct nsec3_form *form = store_alloc(w->heap,
		sizeof(*form) + p->head_len + p->bitmap_len, &slot->ref);

	if (form == NULL)
		return NSD_E_MEMORY;
	form->refs = 0;
	form->ttl_sec = p->ttl_sec;
	form->head_len = p->head_len;
	form->bitmap_len = p->bitmap_len;
	memcpy(form->data, p->head, p->head_len);
	memcpy(form->data + p->head_len, p->bitmap, p->bitmap_len);
	slot->form = form;
	slot->count = 0;
	return NSD_OK;
}

/* The form of an RRset of one record, one holder more counted. */
static enum nsd_err
form_get(struct worker *w, const struct group *g, store_ref *ref)
{
	uint64_t seed = w->build->share.seed ^ g->ttl_sec;
	struct form_slot *slot;
	struct form_parts p;
	uint32_t hash;

	form_read(g, &p);
	hash = (uint32_t)(share_hash_octets(seed, p.head, p.head_len)
		^ share_hash_octets(seed, p.bitmap, p.bitmap_len));
	if (w->forms_used * 2 >= w->forms_room && forms_grow(w) != NSD_OK)
		return NSD_E_MEMORY;
	for (size_t i = hash;; i++) {
		slot = &w->forms[i & (w->forms_room - 1)];
		if (slot->form == NULL)
			break;
		if (slot->hash == hash && form_matches(slot->form, &p))
			goto found;
	}
	slot->hash = hash;
	if (form_create(w, &p, slot) != NSD_OK)
		return NSD_E_MEMORY;
	w->forms_used++;
found:
	slot->count++;
	*ref = slot->ref;
	return NSD_OK;
}

void
nsec3_forms_flush(struct worker *w)
{
	for (size_t i = 0; i < w->forms_room; i++) {
		struct form_slot *slot = &w->forms[i];
		struct nsec3_form *form;

		if (slot->form == NULL)
			continue;
		form = store_edit(w->heap, slot->ref);
		form->refs += slot->count;
		slot->count = 0;
	}
}

/*
 * For an update: a form that one of the records in the same page has, or a new
 * one. Most zones have a handful of forms, each of them everywhere. The holder
 * is counted.
 */
static enum nsd_err
form_get_near(struct worker *w, const struct group *g,
	const struct nsec3_chain *near, const uint8_t *hash, store_ref *ref)
{
	const struct store_view *view = store_heap_view(w->heap);
	struct form_slot slot;
	struct nsec3_place place;
	struct form_parts p;

	form_read(g, &p);
	nsec3_place_find(view, near, hash, &place);
	for (unsigned i = 0; i < place.page->count; i++)
		store_prefetch(view, nsec3_page_refs(place.page)[i]);
	for (unsigned i = 0; i < place.page->count; i++) {
		const struct nsec3_record *r = store_get(view,
			nsec3_page_refs(place.page)[i]);

		if ((r->flags & NSEC3_RRSET) != 0
			|| !form_matches(store_get(view, r->form), &p))
			continue;
		((struct nsec3_form *)store_edit(w->heap, r->form))->refs++;
		*ref = r->form;
		return NSD_OK;
	}
	if (form_create(w, &p, &slot) != NSD_OK)
		return NSD_E_MEMORY;
	((struct nsec3_form *)store_edit(w->heap, slot.ref))->refs = 1;
	*ref = slot.ref;
	return NSD_OK;
}

/* ---- records ----------------------------------------------------------- */

/* form: of a record alone, else the RRset. No holder is counted on failure. */
static enum nsd_err
record_take_form(struct worker *w, const struct owner *owner,
	const struct group *nsec3, const struct nsec3_chain *near,
	struct nsec3_record *record)
{
	uint8_t hash[NSEC3_HASH_LEN];
	enum nsd_err err;

	record->flags = nsec3->count == 1 ? 0 : NSEC3_RRSET;
	if (nsec3->count == 1 && near == NULL)
		return form_get(w, nsec3, &record->form);
	if (nsec3->count == 1)
		return nsec3_parse_label(owner->name, hash)
			? form_get_near(w, nsec3, near, hash, &record->form)
			: NSD_E_BUG;
	findings_add(&w->findings, DIAG_WARNING,
		nsec3->items[nsec3->items[1].order > nsec3->items[0].order].rr,
		"several NSEC3 records at one name");
	err = pack_rrset(w, owner, nsec3, &record->form);
	if (err == NSD_OK && record->form == STORE_NONE)
		return NSD_E_ZONE; /* told */
	return err;
}

enum nsd_err
nsec3_record_pack(struct worker *w, const struct owner *owner,
	const struct group *nsec3, const struct group *sigs,
	const struct nsec3_chain *near, store_ref *ref)
{
	size_t size = sigs != NULL ? pack_sigs_measure(w, sigs)
				   : sizeof(struct rrset_sigs);
	bool own_next = near != NULL && nsec3->count == 1;
	struct nsec3_record *record;
	enum nsd_err err = NSD_OK;

	if (size == 0)
		return NSD_E_ZONE;
	size += offsetof(struct nsec3_record, sigs);
	record = store_alloc(w->heap, size + (own_next ? NSEC3_HASH_LEN : 0),
		ref);
	if (record == NULL)
		return NSD_E_MEMORY;
	memset(record, 0, offsetof(struct nsec3_record, sigs.data));
	if (sigs != NULL)
		err = pack_sigs_write(w, sigs, &record->sigs);
	if (err == NSD_OK) {
		err = record_take_form(w, owner, nsec3, near, record);
		if (err != NSD_OK)
			pack_sigs_uncount(w, &record->sigs);
	}
	if (err != NSD_OK) {
		store_free(w->heap, *ref,
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
nsec3_pack_items(struct worker *w, const struct owner *owner,
	const struct nsec3_chain *chain, struct item *items, size_t count,
	store_ref *record)
{
	const struct group *nsec3, *sigs;
	enum nsd_err err;
	size_t groups;

	err = items_group(w, owner, items, count, &groups);
	if (err != NSD_OK)
		return err;
	if (groups == 0 || w->groups[0].type != TYPE_NSEC3
		|| w->groups[0].sigs)
		return NSD_E_BUG;
	/* Signatures sort behind what they cover. */
	nsec3 = &w->groups[0];
	sigs = groups > 1 ? &w->groups[1] : NULL;
	err = nsec3_record_pack(w, owner, nsec3, sigs, chain, record);
	if (err == NSD_OK)
		w->rr_count += nsec3->count + (sigs != NULL ? sigs->count : 0);
	return err;
}
