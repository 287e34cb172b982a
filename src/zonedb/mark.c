/*
 * mark.c - marks all objects that the roots lead to, for a loader that takes
 * over from one that died. The rest is garbage. If a reference leads out of the
 * store, the store is damaged, and the reference is not followed.
 */
#include "names/trie_key.h"
#include "settings/pattern.h"
#include "settings/update_policy.h"
#include "store/writer.h"
#include "zone/history.h"
#include "zone/nsec3_page.h"
#include "zone/objects.h"
#include "zone/sources.h"
#include "zone/table.h"
#include "zonedb/mark.h"

struct marker {
	const struct store_view *view;
	struct store_heap *heap;
	struct store_sweep *sweep;
	uint32_t version; /* of the zone at hand */
};

/* An object to look at the first len octets of; NULL if these are not in the
 * store. */
static const void *
mark_get(struct marker *m, store_ref ref, size_t len)
{
	return store_sweep_check(m->sweep, ref, len) ? store_get(m->view, ref)
						     : NULL;
}

static void *
mark_edit(struct marker *m, store_ref ref, size_t len)
{
	return store_sweep_check(m->sweep, ref, len)
		? store_edit(m->heap, ref)
		: NULL;
}

/* Counts the holders anew: the loader that died may have been about to let go
 * of some. */
static void
mark_rrset(struct marker *m, store_ref ref)
{
	struct rrset *rrset = mark_edit(m, ref, sizeof(*rrset));
	const struct rrset_tail *tail;

	if (rrset == NULL
		|| mark_get(m, ref, sizeof(*rrset) + rrset_len(rrset)) == NULL)
		return;
	tail = rrset_get_tail(rrset);
	if (tail != NULL
		&& mark_get(m, ref, (size_t)((const uint8_t *)(tail + 1)
					    - (const uint8_t *)rrset))
			== NULL)
		return;
	rrset->refs++;
	if (!store_sweep_mark(m->sweep, ref, rrset_size(rrset)))
		return;
	rrset->refs = 1;
	for (unsigned i = 0; tail != NULL && i < tail->target_count; i++) {
		store_ref cell = rrset_tail_targets(tail)[i].glue;
		struct glue_target *t;

		if (cell == STORE_NONE)
			continue;
		t = mark_edit(m, cell - GLUE_CELL_GRANULES, sizeof(*t));
		if (t != NULL)
			t->refs++;
	}
}

/* True if the signatures that begin at an offset of an object end in the
 * store. */
static bool
mark_check_sigs(struct marker *m, store_ref ref, size_t offset)
{
	const uint8_t *base = mark_get(m, ref,
		offset + sizeof(struct rrset_sigs));
	size_t at = offset + sizeof(struct rrset_sigs);
	unsigned count;

	if (base == NULL)
		return false;
	count = ((const struct rrset_sigs *)(base + offset))->count;
	for (unsigned i = 0; i < count; i++) {
		if (mark_get(m, ref, at + sizeof(struct sig)) == NULL)
			return false;
		at += sig_size((const struct sig *)(base + at));
	}
	return true;
}

static void
mark_templates(struct marker *m, const struct rrset_sigs *sigs)
{
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		struct sig_template *t = mark_edit(m, sig->template_ref,
			sizeof(*t));

		if (t == NULL)
			return;
		if (store_sweep_mark(m->sweep, sig->template_ref,
			    sig_template_size(t)))
			t->refs = 0;
		t->refs++;
		at += sig_size(sig);
	}
}

static void
mark_sigs(struct marker *m, store_ref ref)
{
	const struct rrset_sigs *sigs = store_get(m->view, ref);

	if (mark_check_sigs(m, ref, 0)
		&& store_sweep_mark(m->sweep, ref, rrset_sigs_size(sigs)))
		mark_templates(m, sigs);
}

static void
mark_node(struct marker *m, store_ref ref)
{
	const struct node *node = mark_get(m, ref, sizeof(*node));
	const struct node_rrset *e;

	if (node == NULL
		|| !store_sweep_mark(m->sweep, ref, node_size(node)))
		return;
	e = node_entries(node);
	for (unsigned i = 0; i < node->entry_count; i++) {
		if ((e[i].flags & NODE_RRSET_SIGS) != 0)
			mark_sigs(m, e[i].ref);
		else
			mark_rrset(m, e[i].ref);
	}
}

/* Cuts off links for a version that was never published, for the next update
 * will have its number. The changes of all other links get their cell back:
 * each is a pending one that had none yet, so that this ends in a ring, too. */
static void
cell_check_links(struct marker *m, store_ref of, uint32_t version)
{
	struct glue_cell *cell = store_edit(m->heap, of);
	uint64_t link = cell->link;

	while (glue_link_counts(link, version)) {
		struct glue_change *change = mark_edit(m, (store_ref)link,
			sizeof(*change));

		if (change == NULL || change->of != STORE_NONE)
			break;
		change->of = of;
		cell = &change->cell;
		link = cell->link;
	}
	if ((store_ref)link != STORE_NONE)
		__atomic_store_n(&cell->link, link & GLUE_CELL_HIDDEN,
			__ATOMIC_RELEASE);
}

static void
mark_target(struct marker *m, store_ref ref)
{
	struct glue_target *t = mark_edit(m, ref, sizeof(*t));

	if (t == NULL
		|| !store_sweep_mark(m->sweep, ref, glue_target_size(t)))
		return;
	t->refs = 0;
	cell_check_links(m, ref + GLUE_CELL_GRANULES, m->version);
}

static void
mark_pending(struct marker *m, const struct zone *zone)
{
	store_ref ref = zone->pending_first;

	while (ref != STORE_NONE) {
		struct glue_change *c = mark_edit(m, ref, sizeof(*c));

		if (c == NULL
			|| !store_sweep_mark(m->sweep, ref, sizeof(*c)))
			return;
		c->of = STORE_NONE; /* until its cell is found */
		ref = ref == zone->pending_last ? STORE_NONE : c->next;
	}
}

/* Marks each branch before what is below it, so that this ends even if a
 * damaged store has branches in a ring. */
static void
mark_trie_entry(struct marker *m, const struct trie_entry *entry,
	void (*mark)(struct marker *, store_ref))
{
	uint64_t word = entry_word(entry);
	const struct trie_entry *children = entry_children(m->view, entry);

	if (!word_is_branch(word)) {
		mark(m, entry->word[2]);
		return;
	}
	if (!store_sweep_mark(m->sweep, entry->word[2],
		    word_count(word) * sizeof(*children)))
		return;
	for (unsigned i = 0; i < word_count(word); i++)
		mark_trie_entry(m, &children[i], mark);
}

static void
mark_trie(struct marker *m, const struct trie *trie,
	void (*mark)(struct marker *, store_ref))
{
	if (!trie_is_empty(trie))
		mark_trie_entry(m, &trie->root, mark);
}

static void
mark_nsec3_template(struct marker *m, store_ref ref)
{
	struct nsec3_template *template = mark_edit(m, ref, sizeof(*template));

	if (template == NULL)
		return;
	if (store_sweep_mark(m->sweep, ref, nsec3_template_size(template)))
		template->refs = 0;
	template->refs++;
}

static void
mark_record(struct marker *m, store_ref ref)
{
	const struct nsec3_record *record = store_get(m->view, ref);

	if (!mark_check_sigs(m, ref, offsetof(struct nsec3_record, sigs))
		|| !store_sweep_mark(m->sweep, ref,
			nsec3_record_size(record)))
		return;
	if ((record->flags & NSEC3_RRSET) != 0)
		mark_rrset(m, record->template);
	else
		mark_nsec3_template(m, record->template);
	mark_templates(m, &record->sigs);
}

static void
mark_page(struct marker *m, store_ref ref)
{
	const struct nsec3_page *page = mark_get(m, ref, sizeof(*page));

	if (page == NULL
		|| !store_sweep_mark(m->sweep, ref,
			nsec3_page_size(page->count)))
		return;
	for (unsigned i = 0; i < page->count; i++) {
		if (page->height > 0)
			mark_page(m, nsec3_page_refs(page)[i]);
		else
			mark_record(m, nsec3_page_refs(page)[i]);
	}
}

static void
mark_chain(struct marker *m, store_ref ref)
{
	const struct nsec3_chain *chain = mark_get(m, ref, sizeof(*chain));

	if (chain != NULL
		&& store_sweep_mark(m->sweep, ref, nsec3_chain_size(chain)))
		mark_page(m, chain->index);
}

static void
mark_zone(struct marker *m, store_ref ref)
{
	struct zone *zone = mark_edit(m, ref, sizeof(*zone));

	if (zone == NULL || !store_sweep_mark(m->sweep, ref, sizeof(*zone)))
		return;
	/* The index may have RRsets that were never published. An update makes
	 * a new one. */
	zone->share = STORE_NONE;
	m->version = zone->version;
	mark_pending(m, zone);
	mark_trie(m, &zone->targets, mark_target);
	mark_trie(m, &zone->names, mark_node);
	mark_trie(m, &zone->nsec3, mark_node);
	if (zone->chain != STORE_NONE)
		mark_chain(m, zone->chain);
}

static void
mark_key(struct marker *m, store_ref ref)
{
	struct settings_key *key = mark_edit(m, ref, sizeof(*key));

	if (key == NULL)
		return;
	if (store_sweep_mark(m->sweep, ref, settings_key_size(key)))
		key->refs = 0;
	key->refs++;
}

static void
mark_options(struct marker *m, store_ref ref)
{
	struct settings_options *options = mark_edit(m, ref, sizeof(*options));
	const struct update_policy *policy;
	uint32_t count;

	if (options == NULL
		|| mark_get(m, ref, settings_options_size(options)) == NULL)
		return;
	options->refs++;
	if (!store_sweep_mark(m->sweep, ref, settings_options_size(options)))
		return;
	options->refs = 1;
	count = options->ends[SETTINGS_LIST_COUNT - 1];
	for (uint32_t i = 0; i < count; i++) {
		if (options->acl[i].key != STORE_NONE)
			mark_key(m, options->acl[i].key);
		if (options->acl[i].identity != STORE_NONE)
			mark_key(m, options->acl[i].identity);
	}
	policy = update_policy_get(options);
	for (uint32_t i = 0; policy != NULL && i < policy->count; i++)
		mark_key(m, policy->entries[i].key);
}

static void
mark_pattern(struct marker *m, store_ref ref)
{
	struct settings_pattern *pattern = mark_edit(m, ref, sizeof(*pattern));

	if (pattern == NULL || mark_get(m, ref, pattern->len) == NULL)
		return;
	pattern->refs++;
	if (!store_sweep_mark(m->sweep, ref, pattern->len))
		return;
	pattern->refs = 1;
	if (pattern->options != STORE_NONE)
		mark_options(m, pattern->options);
}

static void
mark_own(struct marker *m, store_ref ref)
{
	const struct zone_own *own = mark_get(m, ref, sizeof(*own));

	if (own != NULL)
		(void)store_sweep_mark(m->sweep, ref, zone_own_size(own));
}

static void
mark_sources(struct marker *m, store_ref ref)
{
	const struct zone_sources *sources = mark_get(m, ref,
		sizeof(*sources));

	if (sources != NULL)
		(void)store_sweep_mark(m->sweep, ref, sources->len);
}

/* Each changeset is marked before the older one, so that this ends even if they
 * are in a ring. */
static void
mark_history(struct marker *m, store_ref ref)
{
	while (ref != STORE_NONE) {
		const struct zone_changeset *changeset = mark_get(m, ref,
			sizeof(*changeset));

		if (changeset == NULL
			|| !store_sweep_mark(m->sweep, ref,
				zone_changeset_size(changeset)))
			return;
		ref = changeset->older;
	}
}

/* Takes away the version that a dead loader had verified: it is not reached any
 * more, and so it is retired with all that it alone has. */
static void
mark_drop_candidate(struct marker *m, store_ref ref)
{
	struct zone_entry *entry = store_edit(m->heap, ref);

	if (entry->candidate != STORE_NONE)
		__atomic_store_n(&entry->candidate, STORE_NONE,
			__ATOMIC_RELEASE);
}

static void
mark_entry(struct marker *m, store_ref ref)
{
	const struct zone_entry *entry = mark_get(m, ref, sizeof(*entry));

	if (entry == NULL
		|| !store_sweep_mark(m->sweep, ref, zone_entry_size(entry)))
		return;
	if (entry->options != STORE_NONE)
		mark_options(m, entry->options);
	if (entry->pattern != STORE_NONE)
		mark_pattern(m, entry->pattern);
	if (entry->own != STORE_NONE)
		mark_own(m, entry->own);
	if (entry->sources != STORE_NONE)
		mark_sources(m, entry->sources);
	mark_history(m, entry->history);
	if (entry->zone != STORE_NONE)
		mark_zone(m, entry->zone);
	mark_drop_candidate(m, ref);
}

static void
mark_table(struct marker *m)
{
	store_ref ref = store_root(m->view, STORE_ROOT_ZONES);
	const struct zone_table *table = table_get(m->view);

	if (ref == STORE_NONE
		|| !store_sweep_mark(m->sweep, ref, sizeof(*table)))
		return;
	mark_trie(m, &table->apexes, mark_entry);
}

static void
mark_settings(struct marker *m)
{
	store_ref ref = store_root(m->view, STORE_ROOT_SETTINGS);
	const struct settings *settings = settings_get(m->view);
	const store_ref *patterns;

	if (ref == STORE_NONE
		|| mark_get(m, ref, sizeof(*settings)) == NULL
		|| mark_get(m, ref, settings_head_size(settings)) == NULL
		|| !store_sweep_mark(m->sweep, ref, settings->len))
		return;
	patterns = settings_patterns(settings);
	for (uint32_t i = 0; i < settings->key_count; i++)
		mark_key(m, settings_keys(settings)[i]);
	for (uint32_t i = 0; i < settings->pattern_count; i++)
		mark_pattern(m, patterns[i]);
}

void
mark_roots(struct store_writer *writer, struct store_sweep *sweep)
{
	struct marker m = {store_writer_view(writer),
		store_writer_heap(writer), sweep, 0};

	mark_table(&m);
	mark_settings(&m);
}
