/* vet.c - looks at all that a store from a file holds: the table, the zones;
 * takes out those that are not sound. */
#include <pthread.h>
#include <stdlib.h>

#include "store/writer.h"
#include "vet/vet_part.h"
#include "zone/objects.h"
#include "zone/sources.h"
#include "zone/table.h"

#define THREADS_MAX 64u
#define TABLE_SPLIT 64u
#define LARGE 20000u /* names */
/* Each takes out all zones that have a fault; what shares octets with one of
 * these has none in the next. */
#define ROUNDS_MAX 8u

const char *
vet_kind_text(enum vet_kind kind)
{
#define TEXT(kind, text) [kind] = text,
	static const char *const texts[] = { VET_KIND_LIST(TEXT) };
#undef TEXT

	return texts[kind];
}

bool
vet_fail(struct vet_part *p, enum vet_kind kind, store_ref ref,
	const char *text)
{
	if (p->fault.text == NULL)
		p->fault = (struct vet_fault){.kind = vet_kind_text(kind),
			.text = text, .ref = ref};
	return false;
}

size_t
vet_split(struct vet_part *parts, size_t max,
	size_t (*expand)(struct vet_part *parts, size_t count, size_t at,
		size_t max))
{
	size_t count = 1, before;

	do {
		before = count;
		for (size_t i = 0; i < count; i++) {
			size_t more = parts[i].fault.text != NULL ? 0
				: expand(parts, count, i, max);

			count += more;
			i += more;
		}
	} while (count > before);
	return count;
}

/* ---- threads ----------------------------------------------------------- */

struct vet_pool {
	size_t next;
	size_t count;
	void (*run)(void *ctx, size_t i, struct vet_scratch *scratch);
	void *ctx;
};

static struct vet_scratch *
scratch_create(void)
{
	struct vet_scratch *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->parts = malloc((VET_ZONE_PARTS + 1) * sizeof(*s->parts));
	if (s->parts != NULL)
		return s;
	free(s);
	return NULL;
}

static void
scratch_destroy(struct vet_scratch *s)
{
	if (s != NULL)
		free(s->parts);
	free(s);
}

static void
pool_work(struct vet_pool *pool, struct vet_scratch *scratch)
{
	for (;;) {
		size_t i = __atomic_fetch_add(&pool->next, 1,
			__ATOMIC_RELAXED);

		if (i >= pool->count)
			return;
		pool->run(pool->ctx, i, scratch);
	}
}

static void *
pool_thread(void *arg)
{
	struct vet_scratch *scratch = scratch_create();

	/* The others do it all then. */
	if (scratch != NULL)
		pool_work(arg, scratch);
	scratch_destroy(scratch);
	return NULL;
}

void
vet_run(struct vet *vet, size_t count,
	void (*run)(void *ctx, size_t i, struct vet_scratch *scratch),
	void *ctx)
{
	struct vet_pool pool = {0, count, run, ctx};
	pthread_t threads[THREADS_MAX];
	unsigned n = 0;

	while (n + 1 < vet->threads && n + 1 < count && n < THREADS_MAX
		&& pthread_create(&threads[n], NULL, pool_thread, &pool) == 0)
		n++;
	pool_work(&pool, vet->scratch);
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

/* ---- entries ----------------------------------------------------------- */

#define ENTRY_FLAGS (ZONE_ENTRY_EXPIRED | ZONE_ENTRY_SECONDARY \
	| ZONE_ENTRY_ADDED)

/* What a part of the table leads to. */
struct vet_list {
	struct vet_zone *zones;
	size_t count, room;
	bool no_memory;
};

static struct vet_zone *
list_add(struct vet_list *list)
{
	if (list->count == list->room) {
		size_t room = list->room * 2 + 64;
		struct vet_zone *more = realloc(list->zones,
			room * sizeof(*more));

		if (more == NULL) {
			list->no_memory = true;
			return NULL;
		}
		list->zones = more;
		list->room = room;
	}
	memset(&list->zones[list->count], 0, sizeof(*list->zones));
	return &list->zones[list->count++];
}

static bool
vet_options(struct vet_part *p, store_ref ref)
{
	const struct zone_options *o = vet_get(p, VET_OPTIONS, ref,
		sizeof(*o));

	return o != NULL
		&& vet_claim(p, VET_OPTIONS, ref, zone_options_size(o));
}

/* The paths end, and the records do where the object does. */
static bool
vet_sources(struct vet_part *p, store_ref ref)
{
	const struct zone_sources *s = vet_get(p, VET_SOURCES, ref,
		sizeof(*s));
	const struct zone_source *source;
	size_t at = sizeof(*s);

	if (s == NULL || s->len < sizeof(*s)
		|| !vet_claim(p, VET_SOURCES, ref, s->len))
		return false;
	source = zone_sources_first(s);
	for (unsigned i = 0; i < s->count; i++) {
		if (s->len - at < sizeof(*source) || source->path_len == 0
			|| source->path_len > s->len - at - sizeof(*source)
			|| source->path[source->path_len - 1] != '\0')
			return vet_fail(p, VET_SOURCES, ref,
				"has paths that do not end");
		source = zone_sources_next(source);
		at = (size_t)((const uint8_t *)source - (const uint8_t *)s);
		if (at > s->len)
			return vet_fail(p, VET_SOURCES, ref,
				"ends within a record");
	}
	return s->count > 0 || vet_fail(p, VET_SOURCES, ref, "has none");
}

/* What belongs to an entry can be done without. */
static bool
vet_belongings(struct vet_part *p, const struct zone_entry *entry,
	store_ref ref)
{
	if ((entry->flags & ~ENTRY_FLAGS) != 0
		|| (entry->flags & (ZONE_ENTRY_EXPIRED | ZONE_ENTRY_SECONDARY))
			== ZONE_ENTRY_EXPIRED)
		return vet_fail(p, VET_ENTRY, ref, "has unknown flags");
	return (entry->options == STORE_NONE || vet_options(p, entry->options))
		&& (entry->sources == STORE_NONE
			|| vet_sources(p, entry->sources));
}

static bool
vet_entry(struct vet_part *p, store_ref ref)
{
	const struct zone_table *table = table_get(p->vet->view);
	const struct zone_entry *entry = vet_get(p, VET_ENTRY, ref,
		sizeof(*entry));
	struct vet_list *list = p->leaf_ctx;
	struct vet_zone *zone;

	if (entry == NULL
		|| !vet_claim(p, VET_ENTRY, ref, zone_entry_size(entry)))
		return false;
	if (entry->leaf.name_at != offsetof(struct zone_entry, name)
		|| entry->leaf.name_len >= NAME_MAX_LEN
		|| !vet_name(entry->name, entry->leaf.name_len,
			entry->leaf.labels)
		|| entry->name[entry->leaf.name_len] != 0
		|| !table_may_serve(table, entry->name))
		return vet_fail(p, VET_ENTRY, ref, "has no name");
	zone = list_add(list);
	if (zone == NULL)
		return false;
	zone->entry = entry;
	zone->entry_ref = ref;
	zone->ref = entry->zone;
	if (!vet_belongings(p, entry, ref)) {
		zone->fault = p->fault;
		p->fault.text = NULL;
	}
	return true;
}

/* ---- the table --------------------------------------------------------- */

static void
table_part_run(void *ctx, size_t i, struct vet_scratch *scratch)
{
	struct vet_part *p = (struct vet_part *)ctx + i;

	p->scratch = scratch;
	if (p->fault.text == NULL)
		(void)vet_trie(p);
}

static enum nsd_err
lists_join(struct vet_list *lists, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (lists[i].no_memory)
			return NSD_E_MEMORY;
	for (size_t i = 1; i < count; i++)
		for (size_t n = 0; n < lists[i].count; n++) {
			struct vet_zone *zone = list_add(&lists[0]);

			if (zone == NULL)
				return NSD_E_MEMORY;
			*zone = lists[i].zones[n];
		}
	return NSD_OK;
}

/* The entries of the trie go to the first list. */
static enum nsd_err
vet_apexes(struct vet *vet, const struct zone_table *table,
	struct vet_part *parts, struct vet_list *lists,
	struct vet_fault *fault)
{
	enum nsd_err err;
	size_t count;

	vet_part_init(&parts[0], vet, NULL, vet->scratch);
	vet_trie_init(&parts[0], &table->apexes, vet_entry);
	count = vet_trie_split(parts, TABLE_SPLIT);
	for (size_t i = 0; i < count; i++)
		parts[i].leaf_ctx = &lists[i];
	vet_run(vet, count, table_part_run, parts);
	err = lists_join(lists, count);
	if (err == NSD_OK && !vet_trie_join(parts, count)) {
		*fault = parts[0].fault;
		err = NSD_E_BUG;
	}
	for (size_t i = 1; i < count; i++)
		free(lists[i].zones);
	return err;
}

static bool
table_is_sound(struct vet_part *p, store_ref ref)
{
	const struct zone_table *table = vet_get(p, VET_TABLE, ref,
		sizeof(*table));

	for (unsigned i = STORE_ROOT_ZONES + 1; i < STORE_ROOT_COUNT; i++)
		if (store_root(p->vet->view, (enum store_root)i)
			!= STORE_NONE)
			return vet_fail(p, VET_NONE, STORE_NONE,
				"has more than a table");
	return table != NULL && vet_claim(p, VET_TABLE, ref, sizeof(*table));
}

static enum nsd_err
vet_table(struct vet *vet, struct vet_list *zones, struct vet_fault *fault)
{
	store_ref ref = store_root(vet->view, STORE_ROOT_ZONES);
	const struct zone_table *table = table_get(vet->view);
	struct vet_part *parts = malloc(TABLE_SPLIT * sizeof(*parts));
	struct vet_list lists[TABLE_SPLIT] = {{NULL, 0, 0, false}};
	enum nsd_err err = NSD_OK;

	if (parts == NULL)
		return NSD_E_MEMORY;
	vet_part_init(&parts[0], vet, NULL, vet->scratch);
	if (!table_is_sound(&parts[0], ref)) {
		*fault = parts[0].fault;
		err = NSD_E_BUG;
	} else if (!trie_is_empty(&table->apexes)) {
		err = vet_apexes(vet, table, parts, lists, fault);
	}
	*zones = lists[0];
	if (err == NSD_OK && (table->zone_count != zones->count
			|| table->only != (zones->count == 1
				? zones->zones[0].entry_ref : STORE_NONE))) {
		*fault = (struct vet_fault){.kind = vet_kind_text(VET_TABLE),
			.text = "has not as many zones as it says",
			.ref = ref};
		err = NSD_E_BUG;
	}
	free(parts);
	return err;
}

/* ---- zones ------------------------------------------------------------- */

static bool
zone_is_large(const struct vet *vet, const struct vet_zone *zone)
{
	const struct zone *z;

	if (vet->threads < 2
		|| !store_claims_reach(vet->claims, zone->ref, sizeof(*z)))
		return false;
	z = store_get(vet->view, zone->ref);
	return z->node_count >= LARGE;
}

struct vet_smalls {
	struct vet *vet;
	struct vet_list *zones;
};

static void
small_run(void *ctx, size_t i, struct vet_scratch *scratch)
{
	struct vet_smalls *s = ctx;
	struct vet_zone *zone = &s->zones->zones[i];

	if (zone->ref != STORE_NONE && zone->fault.text == NULL
		&& !zone_is_large(s->vet, zone))
		vet_zone(s->vet, zone, scratch);
}

static enum nsd_err
vet_zones(struct vet *vet, struct vet_list *zones)
{
	struct vet_smalls smalls = {vet, zones};
	enum nsd_err err = NSD_OK;

	vet_run(vet, zones->count, small_run, &smalls);
	for (size_t i = 0; i < zones->count && err == NSD_OK; i++) {
		struct vet_zone *zone = &zones->zones[i];

		if (zone->ref != STORE_NONE && zone->fault.text == NULL
			&& zone_is_large(vet, zone))
			err = vet_zone_large(vet, zone);
	}
	return err;
}

/* Nobody reads yet: what has a fault is cut off. */
static size_t
cut_faults(struct vet *vet, const struct vet_list *zones,
	const struct vet_options *options)
{
	size_t faults = 0;

	for (size_t i = 0; i < zones->count; i++) {
		const struct vet_zone *zone = &zones->zones[i];
		struct vet_fault fault = zone->fault;
		struct zone_entry *entry;

		if (fault.text == NULL)
			continue;
		fault.apex = zone->entry->name;
		options->on_fault(options->ctx, &fault);
		entry = store_edit(store_writer_heap(vet->writer),
			zone->entry_ref);
		entry->zone = entry->options = entry->sources = STORE_NONE;
		entry->flags &= ZONE_ENTRY_SECONDARY | ZONE_ENTRY_ADDED;
		faults++;
	}
	return faults;
}

/* One look at everything. */
static enum nsd_err
vet_round(struct vet *vet, const struct vet_options *options, size_t *faults)
{
	struct vet_list zones = {NULL, 0, 0, false};
	struct vet_fault fault = {.text = NULL};
	enum nsd_err err;

	*faults = 0;
	if (table_get(vet->view) == NULL)
		return NSD_OK;
	err = vet_table(vet, &zones, &fault);
	if (err == NSD_E_BUG)
		options->on_fault(options->ctx, &fault);
	if (err == NSD_OK)
		err = vet_zones(vet, &zones);
	if (err == NSD_OK)
		*faults = cut_faults(vet, &zones, options);
	free(zones.zones);
	return err;
}

enum nsd_err
table_vet(struct store_writer *writer, const struct vet_options *options,
	size_t *faults)
{
	struct vet vet = {.writer = writer,
		.view = store_writer_view(writer),
		.key = {options->key[0], options->key[1]},
		.threads = options->threads, .scratch = scratch_create()};
	enum nsd_err err = vet.scratch != NULL ? NSD_OK : NSD_E_MEMORY;
	size_t found = 1;
	uint64_t octets;

	*faults = 0;
	for (unsigned i = 0; err == NSD_OK && found > 0; i++) {
		if (i == ROUNDS_MAX) {
			err = NSD_E_BUG;
			break;
		}
		err = store_claims_begin(writer, &vet.claims);
		if (err != NSD_OK)
			break;
		err = vet_round(&vet, options, &found);
		*faults += found;
		if (err == NSD_OK && found == 0 && options->sweep)
			err = store_claims_sweep(vet.claims, &octets);
		else
			store_claims_end(vet.claims);
	}
	if (err == NSD_OK && options->sweep)
		(void)store_reclaim(writer);
	scratch_destroy(vet.scratch);
	return err;
}
