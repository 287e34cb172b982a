/* update_index.c - makes the index by which updates find equal contents, from
 * what a zone has: at once or in steps. */
#include <string.h>

#include "store/writer.h"
#include "update/update_pass.h"
#include "zonedb/share.h"

static enum nsd_err
share_add_sigs(struct share *share, const struct rrset_sigs *sigs)
{
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		uint32_t hash = share_hash_template(share,
			store_get(share->view, sig->template_ref));
		const struct share_index_slot *slot;
		uint32_t n = hash >> 1;

		while ((slot = share_index_get(share_get_index(share), n))
				!= NULL && slot->ref != sig->template_ref)
			n++;
		if (slot == NULL && share_index_add(share, hash,
				sig->template_ref) != NSD_OK)
			return NSD_E_MEMORY;
		at += sig_size(sig);
	}
	return NSD_OK;
}

static enum nsd_err
share_add_node(struct share *share, const struct node *node)
{
	const struct node_rrset *e = node_entries(node);
	enum nsd_err err = NSD_OK;

	for (unsigned i = 0; i < node->entry_count && err == NSD_OK; i++)
		err = (e[i].flags & NODE_RRSET_SIGS) != 0
			? share_add_sigs(share, store_get(share->view,
				e[i].ref))
			: share_index_add_rrset(share, e[i].ref);
	return err;
}

/* ---- in steps ----------------------------------------------------------- */

/*
 * The zone may change between two steps. So only the name or hash where a step
 * ended is kept. An index may lack something: what is not found there is stored
 * again.
 */

/* Goes through a trie, from the name of the last step on. NSD_E_AGAIN: *count
 * names are done. */
static enum nsd_err
prepare_trie(struct zone_prepare *p, struct share *share,
	const struct trie *trie, size_t *count)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name name;
	struct trie_iter iter;
	const struct node *node = NULL;
	store_ref ref;
	enum nsd_err err = NSD_OK;

	if (p->begun) {
		trie_name_split(&name, p->at, p->len, label_at);
		trie_iter_init_after(&iter, share->view, &trie->root, &name);
	} else {
		trie_iter_init(&iter, share->view, &trie->root);
	}
	while (err == NSD_OK && *count > 0
		&& (ref = trie_iter_next(&iter)) != STORE_NONE) {
		node = store_get(share->view, ref);
		err = share_add_node(share, node);
		--*count;
	}
	if (err != NSD_OK || *count > 0)
		return err;
	if (node != NULL) {
		p->begun = true;
		p->len = node->leaf.name_len;
		memcpy(p->at, node->name, p->len);
	}
	return NSD_E_AGAIN;
}

static enum nsd_err
prepare_chain(struct zone_prepare *p, struct share *share, store_ref ref,
	size_t *count)
{
	const struct nsec3_chain *chain;
	struct nsec3_iter iter;
	enum nsd_err err = NSD_OK;

	if (ref == STORE_NONE)
		return NSD_OK;
	chain = store_get(share->view, ref);
	if (p->begun)
		nsec3_iter_init_after(&iter, share->view, chain, p->at);
	else
		nsec3_iter_init(&iter, share->view, chain);
	while (err == NSD_OK && *count > 0 && nsec3_iter_next(&iter)) {
		err = share_add_sigs(share, &iter.record->sigs);
		--*count;
	}
	if (err != NSD_OK || *count > 0)
		return err;
	if (iter.record != NULL) {
		p->begun = true;
		memcpy(p->at, iter.hash, NSEC3_HASH_LEN);
	}
	return NSD_E_AGAIN;
}

static enum nsd_err
prepare_parts(struct zone_prepare *p, struct share *share,
	const struct zone *zone, size_t count)
{
	enum nsd_err err = NSD_OK;

	for (; p->part < 3; p->part++, p->begun = false) {
		if (p->part == 0)
			err = prepare_trie(p, share, &zone->names, &count);
		else if (p->part == 1)
			err = prepare_trie(p, share, &zone->nsec3, &count);
		else
			err = prepare_chain(p, share, zone->chain, &count);
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

enum nsd_err
update_prepare_begin(struct store_writer *writer, store_ref entry_ref,
	struct zone_prepare *prepare)
{
	struct store_heap *heap = store_writer_heap(writer);
	const struct zone_entry *entry = store_edit(heap, entry_ref);
	struct zone *zone;
	struct share share;
	enum nsd_err err;

	memset(prepare, 0, sizeof(*prepare));
	if (entry->zone == STORE_NONE)
		return NSD_E_NOT_FOUND;
	zone = store_edit(heap, entry->zone);
	err = share_open_index(&share, heap, &zone->share, entry->name);
	if (err != NSD_OK)
		return err;
	prepare->entry = entry_ref;
	prepare->seed = share.seed;
	return NSD_OK;
}

enum nsd_err
update_prepare_step(struct store_writer *writer,
	struct zone_prepare *prepare, size_t names)
{
	struct store_heap *heap = store_writer_heap(writer);
	const struct zone_entry *entry = store_edit(heap, prepare->entry);
	struct zone *zone;
	struct share share;

	if (entry->zone == STORE_NONE)
		return NSD_OK;
	zone = store_edit(heap, entry->zone);
	if (zone->share == STORE_NONE)
		return NSD_OK;
	if (share_open_index(&share, heap, &zone->share, entry->name)
		!= NSD_OK)
		return NSD_E_MEMORY;
	/* A build replaced the zone, and has made another index. */
	if (share.seed != prepare->seed)
		return NSD_OK;
	return prepare_parts(prepare, &share, zone, names);
}

/* ---- at once ------------------------------------------------------------ */

enum nsd_err
update_open_share(struct store_heap *heap, struct zone *zone,
	const uint8_t *apex, struct share *share)
{
	bool made = zone->share == STORE_NONE;
	struct zone_prepare prepare = {.part = 0};
	enum nsd_err err = share_open_index(share, heap, &zone->share, apex);

	if (err != NSD_OK || !made)
		return err;
	err = prepare_parts(&prepare, share, zone, SIZE_MAX);
	if (err != NSD_OK) {
		store_free(heap, zone->share,
			share_index_size(share_get_index(share)));
		zone->share = STORE_NONE;
	}
	return err;
}

enum nsd_err
update_prepare(struct store_writer *writer, store_ref entry_ref)
{
	struct store_heap *heap = store_writer_heap(writer);
	const struct zone_entry *entry = store_edit(heap, entry_ref);
	struct share share;

	if (entry->zone == STORE_NONE)
		return NSD_OK;
	return update_open_share(heap, store_edit(heap, entry->zone),
		entry->name, &share);
}
