/* walk.c - walks all records of a zone in canonical order. */
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
#include "zone/nsec3_page.h"
#include "zone/unpack.h"
#include "zone/walk.h"

struct walk {
	const struct store_view *view;
	const uint8_t *apex;
	size_t apex_len;
	enum nsd_err (*on_rr)(void *ctx, const struct zone_rr *rr);
	void *ctx;
	uint8_t owner[NAME_MAX_LEN];
	uint8_t rdata[65535];
};

static enum nsd_err
walk_rrset(struct walk *w, const struct rrset *rrset)
{
	const uint8_t *at = rrset->data, *end = at + rrset_len(rrset);
	struct zone_rr rr = {
		.owner = w->owner,
		.ttl_sec = rrset->ttl_sec,
		.type = rrset->type,
		.rdata = w->rdata,
	};

	for (; at < end; at += 2u + octets_get_u16(at)) {
		enum nsd_err err;

		rr.rdlen = (uint16_t)unpack_rdata(rrset, at, w->apex,
			w->rdata);
		err = w->on_rr(w->ctx, &rr);
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

static enum nsd_err
walk_sigs(struct walk *w, const struct rrset_sigs *sigs)
{
	const uint8_t *at = sigs->data;
	struct zone_rr rr = {
		.owner = w->owner,
		.ttl_sec = sigs->ttl_sec,
		.type = TYPE_RRSIG,
		.rdata = w->rdata,
	};

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		enum nsd_err err;

		rr.rdlen = (uint16_t)unpack_sig_rdata(w->view, sig, w->rdata);
		err = w->on_rr(w->ctx, &rr);
		if (err != NSD_OK)
			return err;
		at += sig_size(sig);
	}
	return NSD_OK;
}

static void
walk_make_owner(const struct walk *w, const struct node *node, uint8_t *owner)
{
	memcpy(owner, trie_leaf_name(&node->leaf), node->leaf.name_len);
	memcpy(owner + node->leaf.name_len, w->apex, w->apex_len);
}

/* Gives the NSEC3 RRset that the iterator is at, and its signatures. */
static enum nsd_err
walk_nsec3(struct walk *w, const struct nsec3_iter *iter)
{
	const struct nsec3_record *record = iter->record;
	enum nsd_err err;

	if ((record->flags & NSEC3_RRSET) != 0) {
		err = walk_rrset(w, store_get(w->view, record->form));
	} else {
		const struct nsec3_form *form = store_get(w->view,
			record->form);
		struct zone_rr rr = {
			.owner = w->owner,
			.ttl_sec = form->ttl_sec,
			.type = TYPE_NSEC3,
			.rdata = w->rdata,
		};

		rr.rdlen = (uint16_t)nsec3_unpack_rdata(w->view, record,
			iter->next_hash, w->rdata);
		err = w->on_rr(w->ctx, &rr);
	}
	return err != NSD_OK ? err : walk_sigs(w, &record->sigs);
}

/* True for the SOA and for its signatures. */
static bool
entry_is_soa(const struct node_rrset *e)
{
	return e->type == TYPE_SOA;
}

/* Gives the entries of a node. At the apex, these are the SOA alone if `soa`,
 * else all others. If the name has NSEC3 records in the chain, chain is at
 * them, and they come at their place by type; else it is NULL. */
static enum nsd_err
walk_entries(struct walk *w, const struct node *node, bool soa,
	const struct nsec3_iter *chain)
{
	const struct node_rrset *e = node_entries(node);
	bool apex = (node->flags & NODE_APEX) != 0;
	enum nsd_err err = NSD_OK;

	for (unsigned i = 0; err == NSD_OK && i < node->entry_count; i++) {
		if (apex && entry_is_soa(&e[i]) != soa)
			continue;
		if (chain != NULL && e[i].type > TYPE_NSEC3) {
			err = walk_nsec3(w, chain);
			chain = NULL;
		}
		if (err == NSD_OK)
			err = (e[i].flags & NODE_RRSET_SIGS) != 0
				? walk_sigs(w, store_get(w->view, e[i].ref))
				: walk_rrset(w, store_get(w->view, e[i].ref));
	}
	if (err == NSD_OK && chain != NULL)
		err = walk_nsec3(w, chain);
	return err;
}

static enum nsd_err
walk_node(struct walk *w, const struct node *node,
	const struct nsec3_iter *chain)
{
	enum nsd_err err = NSD_OK;

	if ((node->flags & NODE_APEX) != 0)
		err = walk_entries(w, node, true, NULL);
	if (err == NSD_OK)
		err = walk_entries(w, node, false, chain);
	return err;
}

/* ---- merging names, other NSEC3 owners, and the chain ------------------ */

/* One of the things that are merged; it is at one of its owners. */
struct source {
	struct trie_iter nodes;
	struct nsec3_iter records; /* if is_chain, else nodes */
	bool is_chain;
	bool ended;
	const struct node *node;
	uint8_t owner[NAME_MAX_LEN];
};

static void
source_next(const struct walk *w, struct source *s)
{
	store_ref ref;

	if (s->is_chain) {
		s->ended = !nsec3_iter_next(&s->records);
		if (s->ended)
			return;
		s->owner[0] = NSEC3_LABEL_LEN;
		nsec3_print_label(s->records.hash, s->owner + 1);
		memcpy(s->owner + 1 + NSEC3_LABEL_LEN, w->apex, w->apex_len);
		return;
	}
	ref = trie_iter_next(&s->nodes);
	s->ended = ref == STORE_NONE;
	if (s->ended)
		return;
	s->node = store_get(w->view, ref);
	walk_make_owner(w, s->node, s->owner);
}

/* The source whose owner is the first; of equal owners, the first source. */
static struct source *
sources_choose(struct source *sources, unsigned count)
{
	struct source *first = NULL;

	for (unsigned i = 0; i < count; i++)
		if (!sources[i].ended && (first == NULL
			|| name_compare(sources[i].owner, first->owner) < 0))
			first = &sources[i];
	return first;
}

static enum nsd_err
walk_run(struct walk *w, const struct zone *zone)
{
	struct source sources[3] = {{.is_chain = false}}, *s;

	trie_iter_init(&sources[0].nodes, w->view, &zone->names.root);
	trie_iter_init(&sources[1].nodes, w->view, &zone->nsec3.root);
	sources[2].is_chain = true;
	nsec3_iter_init(&sources[2].records, w->view,
		zone->chain == STORE_NONE ? NULL
					  : store_get(w->view, zone->chain));
	for (unsigned i = 0; i < 3; i++)
		source_next(w, &sources[i]);
	while ((s = sources_choose(sources, 3)) != NULL) {
		struct source *chain = &sources[2];
		bool both = s == &sources[0] && !chain->ended
			&& name_compare(s->owner, chain->owner) == 0;
		enum nsd_err err;

		memcpy(w->owner, s->owner, sizeof(w->owner));
		err = s->is_chain ? walk_nsec3(w, &s->records)
			: walk_node(w, s->node, both ? &chain->records : NULL);
		if (err != NSD_OK)
			return err;
		source_next(w, s);
		if (both)
			source_next(w, chain);
	}
	return NSD_OK;
}

enum nsd_err
zone_walk(const struct store_view *view, const struct zone *zone,
	const uint8_t *apex,
	enum nsd_err (*on_rr)(void *ctx, const struct zone_rr *rr), void *ctx)
{
	struct walk *w = malloc(sizeof(*w));
	enum nsd_err err;

	if (w == NULL)
		return NSD_E_MEMORY;
	w->view = view;
	w->apex = apex;
	w->apex_len = name_len(apex);
	w->on_rr = on_rr;
	w->ctx = ctx;
	err = walk_run(w, zone);
	free(w);
	return err;
}
