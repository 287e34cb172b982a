/* walk.c - all records of a zone in canonical order. */
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
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

		rr.rdlen = (uint16_t)rrset_unpack_rdata(rrset, at, w->apex,
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

		rr.rdlen = (uint16_t)sig_unpack_rdata(w->view, sig, w->rdata);
		err = w->on_rr(w->ctx, &rr);
		if (err != NSD_OK)
			return err;
		at += sig_size(sig);
	}
	return NSD_OK;
}

/* An entry of the node at hand is the SOA or its signatures. */
static bool
entry_is_soa(const struct node_rrset *e)
{
	return e->type == TYPE_SOA;
}

static enum nsd_err
walk_entries(struct walk *w, const struct node *node, bool soa)
{
	const struct node_rrset *e = node_entries(node);
	bool apex = (node->flags & NODE_APEX) != 0;

	for (unsigned i = 0; i < node->entry_count; i++) {
		enum nsd_err err;

		if (apex && entry_is_soa(&e[i]) != soa)
			continue;
		err = (e[i].flags & NODE_RRSET_SIGS) != 0
			? walk_sigs(w, store_get(w->view, e[i].ref))
			: walk_rrset(w, store_get(w->view, e[i].ref));
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

static void
walk_make_owner(const struct walk *w, const struct node *node, uint8_t *owner)
{
	memcpy(owner, trie_leaf_name(&node->leaf), node->leaf.name_len);
	memcpy(owner + node->leaf.name_len, w->apex, w->apex_len);
}

static enum nsd_err
walk_node(struct walk *w, const struct node *node)
{
	enum nsd_err err = NSD_OK;

	walk_make_owner(w, node, w->owner);
	if ((node->flags & NODE_APEX) != 0)
		err = walk_entries(w, node, true);
	if (err == NSD_OK)
		err = walk_entries(w, node, false);
	return err;
}

static const struct node *
walk_next(struct walk *w, struct trie_iter *iter)
{
	store_ref ref = trie_iter_next(iter);

	return ref == STORE_NONE ? NULL : store_get(w->view, ref);
}

/* True if the first node comes first. */
static bool
walk_in_order(const struct walk *w, const struct node *a, const struct node *b)
{
	uint8_t x[NAME_MAX_LEN], y[NAME_MAX_LEN];

	if (a == NULL || b == NULL)
		return b == NULL;
	walk_make_owner(w, a, x);
	walk_make_owner(w, b, y);
	return name_compare(x, y) < 0;
}

static enum nsd_err
walk_run(struct walk *w, const struct zone *zone)
{
	struct trie_iter names, hashes;
	const struct node *name, *hash;

	trie_iter_init(&names, w->view, &zone->names.root);
	trie_iter_init(&hashes, w->view, &zone->nsec3.root);
	name = walk_next(w, &names);
	hash = walk_next(w, &hashes);
	while (name != NULL || hash != NULL) {
		bool is_name = walk_in_order(w, name, hash);
		enum nsd_err err = walk_node(w, is_name ? name : hash);

		if (err != NSD_OK)
			return err;
		if (is_name)
			name = walk_next(w, &names);
		else
			hash = walk_next(w, &hashes);
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
