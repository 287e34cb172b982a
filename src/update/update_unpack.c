/* update_unpack.c - unpacks the records that a name has before an update. */
#include <string.h>

#include "base/grow.h"
#include "update/update_pass.h"
#include "zone/unpack.h"

static enum nsd_err
entry_add(struct zone_update *u, struct entry_items *e, uint16_t type,
	uint32_t ttl_sec, const uint8_t *rdata, size_t rdlen)
{
	struct rrbatch_rr *rr = arena_alloc(&u->scratch, sizeof(*rr) + rdlen);

	e->items = grow_arena(&u->scratch, e->items, e->count, &e->room,
		sizeof(e->items[0]));
	if (rr == NULL || e->items == NULL)
		return NSD_E_MEMORY;
	memset(rr, 0, sizeof(*rr));
	rr->ttl_sec = ttl_sec;
	rr->type = type;
	rr->rdlen = (uint16_t)rdlen;
	memcpy(rr->data, rdata, rdlen);
	e->items[e->count].key = e->key;
	e->items[e->count].rr = rr;
	e->items[e->count].order = 0;
	e->count++;
	return NSD_OK;
}

/* Unpack at most the first `most` records. */
static enum nsd_err
unpack_rrset(struct zone_update *u, const struct rrset *rrset,
	struct entry_items *e, size_t most)
{
	const uint8_t *rr = rrset->data, *end = rr + rrset_len(rrset);
	uint8_t rdata[65535];

	for (; rr < end && e->count < most; rr += 2u + octets_get_u16(rr)) {
		size_t len = unpack_rdata(rrset, rr, u->zone.apex, rdata);

		if (entry_add(u, e, rrset->type, rrset->ttl_sec, rdata, len)
			!= NSD_OK)
			return NSD_E_MEMORY;
	}
	return NSD_OK;
}

static enum nsd_err
unpack_sigs(struct zone_update *u, const struct rrset_sigs *sigs,
	struct entry_items *e, size_t most)
{
	const uint8_t *at = sigs->data;
	uint8_t rdata[65535];

	for (unsigned i = 0; i < sigs->count && i < most; i++) {
		const struct sig *sig = (const struct sig *)at;
		size_t len = unpack_sig_rdata(u->view, sig, rdata);

		if (entry_add(u, e, TYPE_RRSIG, sigs->ttl_sec, rdata, len)
			!= NSD_OK)
			return NSD_E_MEMORY;
		at += sig_size(sig);
	}
	return NSD_OK;
}

enum nsd_err
update_unpack_entry(struct zone_update *u, const struct node_rrset *entry,
	size_t most, struct entry_items *e)
{
	memset(e, 0, sizeof(*e));
	e->entry = entry;
	e->key = node_entry_key(entry);
	return (e->key & 1) != 0
		? unpack_sigs(u, store_get(u->view, entry->ref), e, most)
		: unpack_rrset(u, store_get(u->view, entry->ref), e, most);
}

/* ---- of the chain ------------------------------------------------------ */

static enum nsd_err
nsec3_unpack_record(struct zone_update *u, const struct nsec3_find *found,
	struct entry_items of[2])
{
	const struct nsec3_record *record = found->record;
	const struct nsec3_template *template;
	uint8_t rdata[65535];
	size_t len;
	enum nsd_err err;

	of[0].key = nsec3_key(0);
	of[1].key = nsec3_key(1);
	err = unpack_sigs(u, &record->sigs, &of[1], SIZE_MAX);
	if (err != NSD_OK)
		return err;
	if ((record->flags & NSEC3_RRSET) != 0)
		return unpack_rrset(u, store_get(u->view, record->template),
			&of[0], SIZE_MAX);
	template = store_get(u->view, record->template);
	len = nsec3_unpack_rdata(u->view, record, found->next_hash, rdata);
	return entry_add(u, &of[0], TYPE_NSEC3, template->ttl_sec, rdata, len);
}

enum nsd_err
update_unpack_chain(struct zone_update *u, struct dirty_name *t,
	struct entry_items of[2])
{
	struct nsec3_find find = {
		.chain = store_get(u->view, u->old->chain),
	}, *finds = &find;

	if (t->owner.labels != 1
		|| !nsec3_parse_label(t->owner.name, find.hash))
		return NSD_OK;
	memcpy(t->hash, find.hash, sizeof(t->hash));
	nsec3_find_batch(u->view, &finds, 1);
	if (!find.matches)
		return NSD_OK;
	t->was_chained = true;
	return nsec3_unpack_record(u, &find, of);
}
