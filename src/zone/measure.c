/* measure.c - counts the memory that all zones use, by its use. */
#include <string.h>

#include "settings/pattern.h"
#include "zone/history.h"
#include "zone/measure.h"
#include "zone/nsec3_page.h"
#include "zone/objects.h"
#include "zone/share_index.h"
#include "zone/sources.h"
#include "zone/table.h"

/* A shared object counts for each of its holders with an equal part. Sums are
 * kept in units of 2^-16 octets for that. */
#define PART_BITS 16

struct measurer {
	const struct store_view *view;
	struct zone_measuring *to;
	enum zone_kind trie_kind; /* of the branches at hand */
	size_t left; /* objects that this step may still look at */
	bool is_writer; /* false: objects of the writer may not be looked at */
};

/* The parts of a zone, in the order in which they are measured. */
enum measure_section {
	SECTION_ZONE,
	SECTION_NAMES,
	SECTION_NSEC3,
	SECTION_TARGETS,
	SECTION_CHAIN,
	SECTION_END,
};

static void
measure_part(struct measurer *m, enum zone_kind kind, size_t len,
	uint64_t holders)
{
	size_t octets = (len + STORE_GRANULE - 1)
		& ~(size_t)(STORE_GRANULE - 1);

	m->to->parts[kind] += ((uint64_t)octets << PART_BITS)
		/ (holders > 0 ? holders : 1);
}

static void
measure_branch(void *ctx, store_ref ref, size_t len)
{
	struct measurer *m = ctx;

	measure_part(m, m->trie_kind, len, 1);
}

/* ---- places ------------------------------------------------------------- */

static void
place_set(struct zone_measure_place *place, const struct trie_leaf *leaf)
{
	place->begun = true;
	place->len = leaf->name_len;
	memcpy(place->name, trie_leaf_name(leaf), place->len);
	place->name[place->len] = 0; /* the root, of a whole name */
}

/* Begins a walk behind a place, or at the start if there is none yet. */
static void
place_iter_init(const struct zone_measure_place *place, struct measurer *m,
	const struct trie *trie, struct trie_iter *iter)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_name name;

	if (!place->begun) {
		trie_iter_init(iter, m->view, &trie->root);
		return;
	}
	trie_name_split(&name, place->name, place->len, label_at);
	trie_iter_init_after(iter, m->view, &trie->root, &name);
}

/* The next object of a trie, or none. Counts the branches left behind. */
static store_ref
measure_next(struct measurer *m, struct trie_iter *iter)
{
	m->trie_kind = ZONE_KIND_tries;
	trie_iter_leave(iter, measure_branch, m);
	return trie_iter_next(iter);
}

/* True if the whole trie is measured. */
static bool
measure_trie(struct measurer *m, const struct trie *trie,
	void (*measure)(struct measurer *, store_ref))
{
	const struct trie_leaf *leaf = NULL;
	struct trie_iter iter;
	store_ref ref;

	place_iter_init(&m->to->name, m, trie, &iter);
	for (; m->left > 0; m->left--) {
		ref = measure_next(m, &iter);
		if (ref == STORE_NONE)
			return true;
		measure(m, ref);
		leaf = store_get(m->view, ref);
	}
	if (leaf != NULL)
		place_set(&m->to->name, leaf);
	return false;
}

/* ---- objects ------------------------------------------------------------ */

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
measure_nsec3_record(struct measurer *m, const struct nsec3_record *record)
{
	const struct nsec3_template *template = store_get(m->view,
		record->template);

	measure_part(m, ZONE_KIND_nsec3, nsec3_record_size(record), 1);
	measure_templates(m, ZONE_KIND_nsec3, &record->sigs);
	if ((record->flags & NSEC3_RRSET) != 0)
		measure_rrset(m, ZONE_KIND_nsec3,
			store_get(m->view, record->template));
	else
		measure_part(m, ZONE_KIND_nsec3, nsec3_template_size(template),
			template->refs);
}

/* As measure_trie; the place is a hash. */
static bool
measure_chain(struct measurer *m, store_ref ref)
{
	struct zone_measure_place *place = &m->to->name;
	const struct nsec3_chain *chain;
	struct nsec3_iter iter;

	if (ref == STORE_NONE)
		return true;
	chain = store_get(m->view, ref);
	m->trie_kind = ZONE_KIND_nsec3;
	if (place->begun) {
		nsec3_iter_init_after(&iter, m->view, chain, place->name);
	} else {
		nsec3_iter_init(&iter, m->view, chain);
		measure_part(m, ZONE_KIND_nsec3, nsec3_chain_size(chain), 1);
	}
	while (nsec3_iter_next(&iter)) {
		if (m->left == 0)
			return false;
		m->left--;
		measure_nsec3_record(m, iter.record);
		nsec3_iter_leave(&iter, measure_branch, m);
		place->begun = true;
		memcpy(place->name, iter.hash, NSEC3_HASH_LEN);
	}
	return true;
}

/* ---- zones -------------------------------------------------------------- */

static bool
measure_step(struct measurer *m, const struct zone *zone)
{
	switch (m->to->section) {
	case SECTION_ZONE:
		measure_part(m, ZONE_KIND_zones, sizeof(*zone), 1);
		if (m->is_writer && zone->share != STORE_NONE)
			measure_part(m, ZONE_KIND_sharing,
				share_index_size(
					store_get(m->view, zone->share)),
				1);
		return true;
	case SECTION_NAMES:
		return measure_trie(m, &zone->names, measure_node);
	case SECTION_NSEC3:
		return measure_trie(m, &zone->nsec3, measure_node);
	case SECTION_TARGETS:
		return measure_trie(m, &zone->targets, measure_target);
	default:
		return measure_chain(m, zone->chain);
	}
}

/* True if the zone is done. */
static bool
measure_zone(struct measurer *m, const struct zone_entry *entry)
{
	store_ref zone = store_load_ref(&entry->zone);

	if (zone == STORE_NONE)
		return true;
	while (m->to->section < SECTION_END) {
		if (!measure_step(m, store_get(m->view, zone)))
			return false;
		m->to->section++;
		m->to->name.begun = false;
	}
	return true;
}

/* of: holders of the one that holds the options. */
static void
measure_options(struct measurer *m, store_ref ref, uint64_t of)
{
	const struct settings_options *options = store_get(m->view, ref);

	measure_part(m, ZONE_KIND_zones, settings_options_size(options),
		options->refs * of);
}

static void
measure_pattern(struct measurer *m, store_ref ref)
{
	const struct settings_pattern *pattern = store_get(m->view, ref);

	measure_part(m, ZONE_KIND_zones, pattern->len, pattern->refs);
	if (pattern->options != STORE_NONE)
		measure_options(m, pattern->options, pattern->refs);
}

/* Measures the settings, with the keys, whatever other holders these have. */
static void
measure_settings(struct measurer *m)
{
	const struct settings *settings = settings_get(m->view);
	const store_ref *refs = settings_keys(settings);

	if (store_root(m->view, STORE_ROOT_SETTINGS) == STORE_NONE)
		return;
	measure_part(m, ZONE_KIND_zones, settings->len, 1);
	for (uint32_t i = 0; i < settings->key_count; i++)
		measure_part(m, ZONE_KIND_zones,
			settings_key_size(store_get(m->view, refs[i])), 1);
	refs = settings_patterns(settings);
	for (uint32_t i = 0; i < settings->pattern_count; i++)
		measure_pattern(m, refs[i]);
}

static void
measure_history(struct measurer *m, store_ref ref)
{
	while (ref != STORE_NONE) {
		const struct zone_changeset *changeset = store_get(m->view,
			ref);

		measure_part(m, ZONE_KIND_history,
			zone_changeset_size(changeset), 1);
		ref = changeset->older;
	}
}

/* Measures what a zone has even if it is not loaded. */
static void
measure_entry(struct measurer *m, store_ref ref)
{
	const struct zone_entry *entry = store_get(m->view, ref);
	const struct zone_sources *sources = m->is_writer
		? zone_sources_get(m->view, ref) : NULL;
	store_ref options = store_load_ref(&entry->options);
	store_ref pattern = store_load_ref(&entry->pattern);
	store_ref own = store_load_ref(&entry->own);

	measure_part(m, ZONE_KIND_zones, zone_entry_size(entry), 1);
	if (options != STORE_NONE)
		measure_options(m, options, 1);
	if (pattern != STORE_NONE)
		measure_pattern(m, pattern);
	if (own != STORE_NONE)
		measure_part(m, ZONE_KIND_zones,
			zone_own_size(store_get(m->view, own)), 1);
	if (sources != NULL)
		measure_part(m, ZONE_KIND_zones, sources->len, 1);
	measure_history(m, store_load_ref(&entry->history));
}

/* Measures the zones behind the place. False: all is measured. */
static bool
measure_zones(struct measurer *m, const struct zone_table *table)
{
	struct zone_measuring *to = m->to;
	struct trie_iter iter;
	store_ref ref;

	if (!to->zone.begun)
		measure_settings(m);
	place_iter_init(&to->zone, m, &table->apexes, &iter);
	while (m->left > 0) {
		const struct zone_entry *entry;

		ref = measure_next(m, &iter);
		if (ref == STORE_NONE)
			return false;
		m->left--;
		entry = store_get(m->view, ref);
		measure_entry(m, ref);
		place_set(&to->zone, &entry->leaf);
		to->section = SECTION_ZONE;
		to->name.begun = false;
		to->in_zone = !measure_zone(m, entry);
		if (to->in_zone)
			break;
	}
	return true;
}

bool
zone_measure_step(const struct store_view *view,
	struct zone_measuring *measuring, size_t objects)
{
	const struct zone_table *table = table_get(view);
	struct measurer m = {
		.view = view,
		.to = measuring,
		.left = objects > 0 ? objects : 1,
		.is_writer = true,
	};
	store_ref ref;

	if (table == NULL)
		return false;
	if (!measuring->zone.begun)
		measure_part(&m, ZONE_KIND_zones, sizeof(*table), 1);
	/* The zone that was begun may have another version by now, or be
	 * gone. */
	if (measuring->in_zone
		&& table_find_apex(view, measuring->zone.name, &ref) == NSD_OK
		&& !measure_zone(&m, store_get(view, ref)))
		return true;
	measuring->in_zone = false;
	return measure_zones(&m, table);
}

void
zone_measure_begin_one(struct zone_measuring *measuring, const uint8_t *apex)
{
	*measuring = (struct zone_measuring){.in_zone = false};
	memcpy(measuring->zone.name, apex, name_len(apex));
}

bool
zone_measure_step_one(const struct store_view *view,
	struct zone_measuring *measuring, size_t objects)
{
	struct measurer m = {
		.view = view,
		.to = measuring,
		.left = objects > 0 ? objects : 1,
	};
	store_ref ref;

	if (table_find_apex(view, measuring->zone.name, &ref) != NSD_OK)
		return false;
	if (!measuring->zone.begun)
		measure_entry(&m, ref);
	measuring->zone.begun = true;
	return !measure_zone(&m, store_get(view, ref));
}

void
zone_measure_get(const struct zone_measuring *measuring,
	struct zone_measure *measure)
{
	for (unsigned i = 0; i < ZONE_KIND_COUNT; i++)
		measure->octets[i] = measuring->parts[i] >> PART_BITS;
}

void
zone_measure(const struct store_view *view, struct zone_measure *measure)
{
	struct zone_measuring measuring = {.in_zone = false};

	while (zone_measure_step(view, &measuring, SIZE_MAX))
		;
	zone_measure_get(&measuring, measure);
}

const char *
zone_kind_name(enum zone_kind kind)
{
#define ZONE_KIND_NAME(name, meaning) #name,
	static const char *const names[] = {ZONE_KINDS(ZONE_KIND_NAME)};
#undef ZONE_KIND_NAME

	return names[kind];
}
