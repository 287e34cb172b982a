/* measure.c - what the memory of all zones is used for. */
#include <string.h>

#include "zone/measure.h"
#include "zone/nsec3_page.h"
#include "zone/objects.h"
#include "zone/share.h"
#include "zone/sources.h"
#include "zone/table.h"

/* What is shared counts for each holder with its part, in these. */
#define PART_BITS 16

struct measurer {
	const struct store_view *view;
	uint64_t parts[ZONE_KIND_COUNT];
	enum zone_kind trie_kind; /* of the branches at hand */
};

static void
measure_part(struct measurer *m, enum zone_kind kind, size_t len,
	uint32_t holders)
{
	size_t octets = (len + STORE_GRANULE - 1)
		& ~(size_t)(STORE_GRANULE - 1);

	m->parts[kind] += ((uint64_t)octets << PART_BITS)
		/ (holders > 0 ? holders : 1);
}

static void
measure_branch(void *ctx, store_ref ref, size_t len)
{
	struct measurer *m = ctx;

	measure_part(m, m->trie_kind, len, 1);
}

static void
measure_trie(struct measurer *m, const struct trie *trie,
	void (*measure)(struct measurer *, store_ref))
{
	struct trie_iter iter;
	store_ref ref;

	m->trie_kind = ZONE_KIND_tries;
	trie_visit(m->view, trie, measure_branch, m);
	trie_iter_init(&iter, m->view, &trie->root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE)
		measure(m, ref);
}

static void
measure_templates(struct measurer *m, enum zone_kind kind,
	const struct rrset_sigs *sigs)
{
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		const struct sig_template *t = store_get(m->view,
			sig->template_ref);

		measure_part(m, kind, sig_template_size(t), t->refs);
		at += sig_size(sig);
	}
}

static void
measure_sigs(struct measurer *m, const struct rrset_sigs *sigs)
{
	measure_part(m, ZONE_KIND_signatures, rrset_sigs_size(sigs), 1);
	measure_templates(m, ZONE_KIND_signatures, sigs);
}

static void
measure_rrset(struct measurer *m, enum zone_kind kind,
	const struct rrset *rrset)
{
	measure_part(m, kind, rrset_size(rrset), rrset->refs);
}

static void
measure_node(struct measurer *m, store_ref ref)
{
	const struct node *node = store_get(m->view, ref);
	const struct node_rrset *e = node_entries(node);

	measure_part(m, ZONE_KIND_names, node_size(node), 1);
	for (unsigned i = 0; i < node->entry_count; i++) {
		if ((e[i].flags & NODE_RRSET_SIGS) != 0)
			measure_sigs(m, store_get(m->view, e[i].ref));
		else
			measure_rrset(m, ZONE_KIND_rrsets,
				store_get(m->view, e[i].ref));
	}
}

static void
measure_target(struct measurer *m, store_ref ref)
{
	measure_part(m, ZONE_KIND_addresses,
		glue_target_size(store_get(m->view, ref)), 1);
}

static void
measure_chain(struct measurer *m, const struct nsec3_chain *chain)
{
	struct nsec3_iter iter;

	measure_part(m, ZONE_KIND_nsec3, nsec3_chain_size(chain), 1);
	m->trie_kind = ZONE_KIND_nsec3;
	nsec3_visit_pages(m->view, chain, measure_branch, m);
	nsec3_iter_init(&iter, m->view, chain);
	while (nsec3_iter_next(&iter)) {
		const struct nsec3_form *form = store_get(m->view,
			iter.record->form);

		measure_part(m, ZONE_KIND_nsec3,
			nsec3_record_size(iter.record), 1);
		measure_templates(m, ZONE_KIND_nsec3, &iter.record->sigs);
		if ((iter.record->flags & NSEC3_RRSET) != 0)
			measure_rrset(m, ZONE_KIND_nsec3,
				store_get(m->view, iter.record->form));
		else
			measure_part(m, ZONE_KIND_nsec3, nsec3_form_size(form),
				form->refs);
	}
}

static void
measure_zone(struct measurer *m, const struct zone *zone)
{
	measure_part(m, ZONE_KIND_zones, sizeof(*zone), 1);
	measure_trie(m, &zone->names, measure_node);
	measure_trie(m, &zone->nsec3, measure_node);
	measure_trie(m, &zone->targets, measure_target);
	if (zone->chain != STORE_NONE)
		measure_chain(m, store_get(m->view, zone->chain));
	if (zone->share != STORE_NONE)
		measure_part(m, ZONE_KIND_sharing,
			share_index_size(store_get(m->view, zone->share)), 1);
}

static void
measure_entry(struct measurer *m, store_ref ref)
{
	const struct zone_entry *entry = store_get(m->view, ref);
	const struct zone_sources *sources = zone_sources_get(m->view, ref);

	measure_part(m, ZONE_KIND_zones, zone_entry_size(entry), 1);
	if (entry->options != STORE_NONE)
		measure_part(m, ZONE_KIND_zones,
			zone_options_size(store_get(m->view, entry->options)),
			1);
	if (sources != NULL)
		measure_part(m, ZONE_KIND_zones, sources->len, 1);
	if (entry->zone != STORE_NONE)
		measure_zone(m, store_get(m->view, entry->zone));
}

void
zone_measure(const struct store_view *view, struct zone_measure *measure)
{
	const struct zone_table *table = table_get(view);
	struct measurer m = {.view = view};

	if (table != NULL) {
		measure_part(&m, ZONE_KIND_zones, sizeof(*table), 1);
		measure_trie(&m, &table->apexes, measure_entry);
	}
	for (unsigned i = 0; i < ZONE_KIND_COUNT; i++)
		measure->octets[i] = m.parts[i] >> PART_BITS;
}

const char *
zone_kind_name(enum zone_kind kind)
{
#define ZONE_KIND_NAME(name, meaning) #name,
	static const char *const names[] = {ZONE_KINDS(ZONE_KIND_NAME)};
#undef ZONE_KIND_NAME

	return names[kind];
}
