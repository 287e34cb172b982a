/*
 * mark.c - all objects that the table leads to, for a loader that takes over
 * from one that died: what is not among them is garbage.
 */
#include "zone/nsec3_page.h"
#include "zone/objects.h"
#include "zone/sources.h"
#include "zone/table.h"

struct marker {
	const struct store_view *view;
	struct store_heap *heap;
	struct store_sweep *sweep;
	uint32_t version; /* of the zone at hand */
};

static void
mark_branch(void *ctx, store_ref ref, size_t len)
{
	struct marker *m = ctx;

	(void)store_sweep_mark(m->sweep, ref, len);
}

/* The holders are counted anew: the one that died may have been about to
 * let go of some. */
static void
mark_rrset(struct marker *m, store_ref ref)
{
	struct rrset *rrset = store_edit(m->heap, ref);
	const struct rrset_tail *tail = rrset_get_tail(rrset);

	rrset->refs++;
	if (!store_sweep_mark(m->sweep, ref, rrset_size(rrset)))
		return;
	rrset->refs = 1;
	for (unsigned i = 0; tail != NULL && i < tail->target_count; i++) {
		store_ref cell = rrset_tail_targets(tail)[i].glue;
		struct glue_target *t;

		if (cell == STORE_NONE)
			continue;
		t = store_edit(m->heap, cell - GLUE_CELL_GRANULES);
		t->refs++;
	}
}

static void
mark_templates(struct marker *m, const struct rrset_sigs *sigs)
{
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		struct sig_template *t = store_edit(m->heap,
			sig->template_ref);

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

	mark_templates(m, sigs);
	(void)store_sweep_mark(m->sweep, ref, rrset_sigs_size(sigs));
}

static void
mark_node(struct marker *m, store_ref ref)
{
	const struct node *node = store_get(m->view, ref);
	const struct node_rrset *e = node_entries(node);

	if (!store_sweep_mark(m->sweep, ref, node_size(node)))
		return;
	for (unsigned i = 0; i < node->entry_count; i++) {
		if ((e[i].flags & NODE_RRSET_SIGS) != 0)
			mark_sigs(m, e[i].ref);
		else
			mark_rrset(m, e[i].ref);
	}
}

/* A link for a version that was never published is cut off: an update that
 * comes has that number. The others are changes of a cell that is there. */
static void
cell_check_links(struct marker *m, store_ref of, uint32_t version)
{
	struct glue_cell *cell = store_edit(m->heap, of);
	uint64_t link = cell->link;

	while (glue_link_counts(link, version)) {
		struct glue_change *change = store_edit(m->heap,
			(store_ref)link);

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
	struct glue_target *t = store_edit(m->heap, ref);

	(void)store_sweep_mark(m->sweep, ref, glue_target_size(t));
	t->refs = 0;
	cell_check_links(m, ref + GLUE_CELL_GRANULES, m->version);
}

static void
mark_pending(struct marker *m, const struct zone *zone)
{
	store_ref ref = zone->pending_first;

	while (ref != STORE_NONE) {
		struct glue_change *c = store_edit(m->heap, ref);

		(void)store_sweep_mark(m->sweep, ref, sizeof(*c));
		c->of = STORE_NONE; /* until its cell is found */
		ref = ref == zone->pending_last ? STORE_NONE : c->next;
	}
}

static void
mark_trie(struct marker *m, const struct trie *trie,
	void (*mark)(struct marker *, store_ref))
{
	struct trie_iter iter;
	store_ref ref;

	trie_visit(m->view, trie, mark_branch, m);
	trie_iter_init(&iter, m->view, &trie->root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE)
		mark(m, ref);
}

static void
mark_form(struct marker *m, store_ref ref)
{
	struct nsec3_form *form = store_edit(m->heap, ref);

	if (store_sweep_mark(m->sweep, ref, nsec3_form_size(form)))
		form->refs = 0;
	form->refs++;
}

static void
mark_record(struct marker *m, store_ref ref)
{
	const struct nsec3_record *record = store_get(m->view, ref);

	if (!store_sweep_mark(m->sweep, ref, nsec3_record_size(record)))
		return;
	if ((record->flags & NSEC3_RRSET) != 0)
		mark_rrset(m, record->form);
	else
		mark_form(m, record->form);
	mark_templates(m, &record->sigs);
}

static void
mark_chain(struct marker *m, store_ref ref)
{
	const struct nsec3_chain *chain = store_get(m->view, ref);
	struct nsec3_iter iter;

	(void)store_sweep_mark(m->sweep, ref, nsec3_chain_size(chain));
	nsec3_visit_pages(m->view, chain, mark_branch, m);
	nsec3_iter_init(&iter, m->view, chain);
	while (nsec3_iter_next(&iter))
		mark_record(m, iter.ref);
}

static void
mark_zone(struct marker *m, store_ref ref)
{
	struct zone *zone = store_edit(m->heap, ref);

	if (!store_sweep_mark(m->sweep, ref, sizeof(*zone)))
		return;
	/* The index may know what was never published; it is made anew. */
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
mark_entry(struct marker *m, store_ref ref)
{
	const struct zone_entry *entry = store_get(m->view, ref);

	(void)store_sweep_mark(m->sweep, ref, zone_entry_size(entry));
	if (entry->options != STORE_NONE)
		(void)store_sweep_mark(m->sweep, entry->options,
			zone_options_size(store_get(m->view,
				entry->options)));
	if (entry->sources != STORE_NONE) {
		const struct zone_sources *sources = store_get(m->view,
			entry->sources);

		(void)store_sweep_mark(m->sweep, entry->sources,
			sources->len);
	}
	if (entry->zone != STORE_NONE)
		mark_zone(m, entry->zone);
}

void
table_mark(struct store_writer *writer, struct store_sweep *sweep)
{
	struct marker m = {store_writer_view(writer),
		store_writer_heap(writer), sweep, 0};
	const struct zone_table *table = table_get(m.view);

	if (table == NULL)
		return;
	(void)store_sweep_mark(sweep, store_root(m.view, STORE_ROOT_ZONES),
		sizeof(*table));
	mark_trie(&m, &table->apexes, mark_entry);
}
