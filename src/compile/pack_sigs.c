/* pack_sigs.c - packs RRSIGs (RFC 4034 section 3.1) into struct rrset_sigs. The
 * common part of many becomes a sig_template that they share. */
#include <assert.h>
#include <string.h>

#include "compile/pack_parts.h"
#include "store/writer.h"

#define SIG_HEAD 18u /* octets before the signer's name */
#define TEMPLATES_FIRST 16u

/* An RRSIG's RDATA, taken apart. */
struct sig_parts {
	const uint8_t *rdata;
	const uint8_t *signature;
	uint16_t signature_len;
	uint8_t signer_len;
};

static bool
sig_read(const struct rrbatch_rr *rr, struct sig_parts *parts)
{
	const uint8_t *rdata = rrbatch_rr_rdata(rr);
	size_t at = SIG_HEAD;

	while (at < rr->rdlen && rdata[at] != 0)
		at += rdata[at] + 1u;
	if (at >= rr->rdlen || at + 1 - SIG_HEAD > NAME_MAX_LEN)
		return false;
	at++;
	parts->rdata = rdata;
	parts->signer_len = (uint8_t)(at - SIG_HEAD);
	parts->signature = rdata + at;
	parts->signature_len = (uint16_t)(rr->rdlen - at);
	return true;
}

static bool
template_matches(const struct sig_template *t, const struct sig_parts *parts)
{
	return t->covered == octets_get_u16(parts->rdata)
		&& t->original_ttl_sec == octets_get_u32(parts->rdata + 4)
		&& t->key_tag == octets_get_u16(parts->rdata + 16)
		&& t->algorithm == parts->rdata[2]
		&& t->signer_len == parts->signer_len
		&& memcmp(t->signer, parts->rdata + SIG_HEAD,
			   parts->signer_len) == 0;
}

/* Words of a template with the longest signer. */
#define TEMPLATE_WORDS ((sizeof(struct sig_template) + NAME_MAX_LEN + 3) / 4)

static void
template_write(const struct sig_parts *parts, struct sig_template *t)
{
	t->refs = 0;
	t->original_ttl_sec = octets_get_u32(parts->rdata + 4);
	t->covered = octets_get_u16(parts->rdata);
	t->key_tag = octets_get_u16(parts->rdata + 16);
	t->algorithm = parts->rdata[2];
	t->signer_len = parts->signer_len;
	memcpy(t->signer, parts->rdata + SIG_HEAD, parts->signer_len);
}

static enum nsd_err
templates_grow(struct packer *p)
{
	size_t room = p->templates.room == 0 ? TEMPLATES_FIRST
					     : p->templates.room * 2;
	struct template_slot *slots = arena_alloc_zero(&p->arena,
		room * sizeof(*slots));

	if (slots == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < p->templates.room; i++) {
		const struct template_slot *old = &p->templates.slots[i];
		size_t at = old->hash >> 1;

		if (old->template == NULL)
			continue;
		while (slots[at & (room - 1)].template != NULL)
			at++;
		slots[at & (room - 1)] = *old;
	}
	p->templates.slots = slots;
	p->templates.room = room;
	return NSD_OK;
}

/* In an update: finds a template that the zone has, by its index. */
static bool
template_find_indexed(struct packer *p, const struct sig_parts *parts,
	struct template_slot *slot)
{
	const struct share *share = &p->zone->share;
	const struct share_index_slot *found;

	if (share->index == NULL)
		return false;
	for (uint32_t at = slot->hash >> 1; (found = share_index_get(
			share_get_index(share), at)) != NULL; at++) {
		const struct sig_template *t = store_get(share->view,
			found->ref);

		if (found->hash == slot->hash && template_matches(t, parts)) {
			slot->template = t;
			slot->ref = found->ref;
			return true;
		}
	}
	return false;
}

static enum nsd_err
template_create(struct packer *p, const struct sig_parts *parts,
	struct template_slot *slot)
{
	struct share *share = &p->zone->share;
	size_t size = sizeof(struct sig_template) + parts->signer_len;
	struct sig_template *t = store_alloc(p->heap, size, &slot->ref);

	if (t == NULL)
		return NSD_E_MEMORY;
	template_write(parts, t);
	if (share->index != NULL
		&& share_index_add(share, slot->hash, slot->ref) != NSD_OK) {
		store_free(p->heap, slot->ref, size);
		return NSD_E_MEMORY;
	}
	slot->template = t;
	return NSD_OK;
}

/* The template of a signature, one holder more counted. */
static enum nsd_err
template_get(struct packer *p, const struct sig_parts *parts, store_ref *ref)
{
	uint32_t room[TEMPLATE_WORDS];
	struct sig_template *wanted = (struct sig_template *)room;
	struct template_slot *slot;
	uint32_t hash;

	template_write(parts, wanted);
	hash = share_hash_template(&p->zone->share, wanted);
	if (p->templates.used * 2 >= p->templates.room
		&& templates_grow(p) != NSD_OK)
		return NSD_E_MEMORY;
	for (size_t i = hash >> 1;; i++) {
		slot = &p->templates.slots[i & (p->templates.room - 1)];
		if (slot->template == NULL)
			break;
		if (slot->hash == hash
			&& template_matches(slot->template, parts)) {
			slot->count++;
			*ref = slot->ref;
			return NSD_OK;
		}
	}
	slot->hash = hash;
	slot->count = 0;
	if (!template_find_indexed(p, parts, slot)
		&& template_create(p, parts, slot) != NSD_OK)
		return NSD_E_MEMORY;
	p->templates.used++;
	slot->count++;
	*ref = slot->ref;
	return NSD_OK;
}

void
pack_sigs_flush(struct packer *p)
{
	for (size_t i = 0; i < p->templates.room; i++) {
		struct template_slot *slot = &p->templates.slots[i];
		struct sig_template *t;

		if (slot->template == NULL)
			continue;
		t = store_edit(p->heap, slot->ref);
		t->refs += slot->count;
		slot->count = 0;
		if (t->refs == 0) {
			if (p->zone->share.index != NULL)
				share_index_remove(&p->zone->share,
					slot->hash, slot->ref);
			store_free(p->heap, slot->ref,
				sizeof(*t) + t->signer_len);
			slot->template = NULL;
		}
	}
}

static size_t
sigs_size(const struct item_group *group)
{
	size_t size = sizeof(struct rrset_sigs);

	for (size_t i = 0; i < group->count; i++) {
		struct sig_parts parts;

		if (!sig_read(group->items[i].rr, &parts))
			continue;
		size += (sizeof(struct sig) + parts.signature_len + 3)
			& ~(size_t)3;
	}
	return size;
}

size_t
pack_sigs_measure(struct packer *p, const struct item_group *group)
{
	size_t size = sigs_size(group);

	if (group->count <= UINT16_MAX && size <= STORE_OBJECT_MAX / 2)
		return size;
	findings_add(&p->findings, DIAG_ERROR, group->items[0].rr,
		"too many signatures at one name");
	return 0;
}

static enum nsd_err
sigs_write_all(struct packer *p, const struct item_group *group,
	struct rrset_sigs *sigs)
{
	uint8_t *at = sigs->data;

	sigs->ttl_sec = group->ttl_sec;
	sigs->count = 0;
	sigs->unused = 0;
	for (size_t i = 0; i < group->count; i++) {
		struct sig *sig = (struct sig *)at;
		struct sig_parts parts;
		size_t padded;

		if (!sig_read(group->items[i].rr, &parts))
			continue;
		if (template_get(p, &parts, &sig->template_ref) != NSD_OK)
			return NSD_E_MEMORY;
		sig->expiration = octets_get_u32(parts.rdata + 8);
		sig->inception = octets_get_u32(parts.rdata + 12);
		sig->len = parts.signature_len;
		sig->labels = parts.rdata[3];
		sig->unused = 0;
		memcpy(sig->signature, parts.signature, parts.signature_len);
		padded = sig_size(sig) - sizeof(*sig);
		memset(sig->signature + parts.signature_len, 0,
			padded - parts.signature_len);
		at += sig_size(sig);
		sigs->count++;
	}
	return NSD_OK;
}

void
pack_sigs_uncount(struct packer *p, const struct rrset_sigs *sigs)
{
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;

		for (size_t t = 0; t < p->templates.room; t++)
			if (p->templates.slots[t].ref == sig->template_ref) {
				assert(p->templates.slots[t].count > 0);
				p->templates.slots[t].count--;
			}
		at += sig_size(sig);
	}
}

enum nsd_err
pack_sigs_write(struct packer *p, const struct item_group *group,
	struct rrset_sigs *sigs)
{
	enum nsd_err err = sigs_write_all(p, group, sigs);

	if (err != NSD_OK)
		pack_sigs_uncount(p, sigs);
	return err;
}

enum nsd_err
pack_sigs(struct packer *p, const struct item_group *group, store_ref *ref)
{
	size_t size = pack_sigs_measure(p, group);
	struct rrset_sigs *sigs;

	*ref = STORE_NONE;
	if (size == 0)
		return NSD_OK;
	sigs = store_alloc(p->heap, size, ref);
	if (sigs == NULL)
		return NSD_E_MEMORY;
	if (pack_sigs_write(p, group, sigs) == NSD_OK)
		return NSD_OK;
	store_free(p->heap, *ref, size);
	return NSD_E_MEMORY;
}
