/* release.c - frees or retires what a zone version or settings hold. */
#include <assert.h>

#include "names/trie_edit.h"
#include "settings/update_policy.h"
#include "zone/history.h"
#include "zone/nsec3_page.h"
#include "zone/objects.h"
#include "zonedb/release.h"

void
release_object(struct releaser *r, store_ref ref, size_t len)
{
	if (r->writer != NULL)
		store_retire(r->writer, ref, len);
	else
		store_free(r->heap, ref, len);
}

void
release_rrset(struct releaser *r, store_ref ref)
{
	struct rrset *rrset = store_edit(r->heap, ref);

	assert(rrset->refs > 0);
	if (--rrset->refs > 0)
		return;
	if (r->share != NULL)
		share_index_remove_rrset(r->share, ref);
	release_object(r, ref, rrset_size(rrset));
}

static void
release_template(struct releaser *r, store_ref ref)
{
	const struct sig_template *t = store_get(r->view, ref);

	if (r->share != NULL)
		share_index_remove(r->share, share_hash_template(r->share, t),
			ref);
	release_object(r, ref, sig_template_size(t));
}

/* Releases the templates of signatures, but not the signatures. */
static void
release_templates(struct releaser *r, const struct rrset_sigs *sigs)
{
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		struct sig_template *t = store_edit(r->heap,
			sig->template_ref);

		assert(t->refs > 0);
		if (--t->refs == 0)
			release_template(r, sig->template_ref);
		at += sig_size(sig);
	}
}

void
release_sigs(struct releaser *r, store_ref ref)
{
	const struct rrset_sigs *sigs = store_get(r->view, ref);

	release_templates(r, sigs);
	release_object(r, ref, rrset_sigs_size(sigs));
}

void
release_entries(struct releaser *r, const struct node_rrset *entries,
	size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((entries[i].flags & NODE_RRSET_SIGS) != 0)
			release_sigs(r, entries[i].ref);
		else
			release_rrset(r, entries[i].ref);
	}
}

void
release_node(struct releaser *r, store_ref ref)
{
	const struct node *node = store_get(r->view, ref);

	release_entries(r, node_entries(node), node->entry_count);
	release_object(r, ref, node_size(node));
}

/* ---- the chain --------------------------------------------------------- */

static void
release_nsec3_template(struct releaser *r, store_ref ref)
{
	struct nsec3_template *template = store_edit(r->heap, ref);

	assert(template->refs > 0);
	if (--template->refs == 0)
		release_object(r, ref, nsec3_template_size(template));
}

void
release_nsec3_record(struct releaser *r, store_ref ref)
{
	const struct nsec3_record *record = store_get(r->view, ref);

	if ((record->flags & NSEC3_RRSET) != 0)
		release_rrset(r, record->template);
	else
		release_nsec3_template(r, record->template);
	release_templates(r, &record->sigs);
	release_object(r, ref, nsec3_record_size(record));
}

void
release_chain(struct releaser *r, store_ref ref)
{
	const struct nsec3_chain *chain = store_get(r->view, ref);
	struct nsec3_iter iter;
	store_ref last = STORE_NONE;

	/* Let go of a record only when the walk has left it behind. */
	nsec3_iter_init(&iter, r->view, chain);
	while (nsec3_iter_next(&iter)) {
		if (last != STORE_NONE)
			release_nsec3_record(r, last);
		last = iter.ref;
	}
	if (last != STORE_NONE)
		release_nsec3_record(r, last);
	nsec3_visit_pages(r->view, chain, release_branch, r);
	release_object(r, ref, nsec3_chain_size(chain));
}

/* ---- the zone ---------------------------------------------------------- */

void
release_branch(void *ctx, store_ref ref, size_t len)
{
	release_object(ctx, ref, len);
}

void
release_target(struct releaser *r, store_ref ref)
{
	release_object(r, ref, glue_target_size(store_get(r->view, ref)));
}

/* Objects go first: finding them takes the branches, and finding the branches
 * takes no objects. */
void
release_trie(struct releaser *r, struct trie *trie,
	void (*release)(struct releaser *, store_ref))
{
	struct trie_edit edit = {r->heap, release_branch, r, NULL};
	struct trie_iter iter;
	store_ref ref;

	trie_iter_init(&iter, r->view, &trie->root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE)
		release(r, ref);
	trie_clear(&edit, trie);
}

void
release_writers_parts(struct releaser *r, const struct zone *zone)
{
	store_ref ref = zone->pending_first;

	while (ref != STORE_NONE) {
		const struct glue_change *c = store_get(r->view, ref);
		store_ref next = ref == zone->pending_last ? STORE_NONE
							   : c->next;

		release_object(r, ref, sizeof(*c));
		ref = next;
	}
	if (zone->share != STORE_NONE)
		store_free(r->heap, zone->share, share_index_size(
			store_get(r->view, zone->share)));
}

/* Lets go of the zone with all that is in it. */
static void
release_version(struct releaser *r, store_ref ref)
{
	struct zone *zone = store_edit(r->heap, ref);
	struct trie names = zone->names, nsec3 = zone->nsec3;
	struct trie targets = zone->targets;
	store_ref chain = zone->chain;

	release_writers_parts(r, zone);
	release_trie(r, &targets, release_target);
	release_trie(r, &names, release_node);
	release_trie(r, &nsec3, release_node);
	if (chain != STORE_NONE)
		release_chain(r, chain);
	release_object(r, ref, sizeof(*zone));
}

void
release_zone(struct store_heap *heap, store_ref zone)
{
	struct releaser r = {store_heap_view(heap), heap, NULL, NULL};

	if (zone != STORE_NONE)
		release_version(&r, zone);
}

void
release_history(struct releaser *r, store_ref ref)
{
	while (ref != STORE_NONE) {
		const struct zone_changeset *changeset = store_get(r->view,
			ref);
		store_ref older = changeset->older;

		release_object(r, ref, zone_changeset_size(changeset));
		ref = older;
	}
}

/* ---- settings ---------------------------------------------------------- */

void
release_key(struct releaser *r, store_ref ref)
{
	struct settings_key *key = store_edit(r->heap, ref);

	assert(key->refs > 0);
	if (--key->refs == 0)
		release_object(r, ref, settings_key_size(key));
}

void
release_options(struct releaser *r, store_ref ref)
{
	struct settings_options *options = store_edit(r->heap, ref);
	const struct update_policy *policy = update_policy_get(options);
	uint32_t count = options->ends[SETTINGS_LIST_COUNT - 1];

	assert(options->refs > 0);
	if (--options->refs > 0)
		return;
	for (uint32_t i = 0; i < count; i++) {
		if (options->acl[i].key != STORE_NONE)
			release_key(r, options->acl[i].key);
		if (options->acl[i].identity != STORE_NONE)
			release_key(r, options->acl[i].identity);
	}
	for (uint32_t i = 0; policy != NULL && i < policy->count; i++)
		release_key(r, policy->entries[i].key);
	release_object(r, ref, settings_options_size(options));
}

void
release_pattern(struct releaser *r, store_ref ref)
{
	struct settings_pattern *pattern = store_edit(r->heap, ref);

	assert(pattern->refs > 0);
	if (--pattern->refs > 0)
		return;
	if (pattern->options != STORE_NONE)
		release_options(r, pattern->options);
	release_object(r, ref, pattern->len);
}

void
release_settings(struct releaser *r, store_ref ref)
{
	const struct settings *settings = store_get(r->view, ref);
	const store_ref *patterns = settings_patterns(settings);

	for (uint32_t i = 0; i < settings->key_count; i++)
		release_key(r, settings_keys(settings)[i]);
	for (uint32_t i = 0; i < settings->pattern_count; i++)
		release_pattern(r, patterns[i]);
	release_object(r, ref, settings->len);
}
