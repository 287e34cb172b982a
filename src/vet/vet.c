/* vet.c - looks at all that a store from a file holds, and takes out the zones
 * that are not sound. */
#include <assert.h>
#include <stdlib.h>

#include "store/writer.h"
#include "vet/vet_part.h"
#include "zone/table.h"

#define LARGE 20000u /* names; such a zone is shared out to the threads */
/* Each round takes out all zones with a fault. A zone that shares octets with
 * one of these has no fault in the next round. */
#define ROUNDS_MAX 8u

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

/* The zones that a thread looks at alone. */
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

/* Tells of faults, and makes the zones that have one "not loaded", unless all
 * is only looked at. They can be cut off in place, since nobody reads yet.
 * Returns how many there were. */
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
		faults++;
		if (options->only_look)
			continue;
		entry = store_edit(store_writer_heap(vet->writer),
			zone->entry_ref);
		entry->zone = entry->options = entry->sources = STORE_NONE;
		entry->history = STORE_NONE;
		entry->flags &= ZONE_ENTRY_SECONDARY;
		entry->expires_sec = 0;
		entry->group = 0;
	}
	return faults;
}

/* One look at everything. NSD_E_BUG: the table is faulty. */
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
vet_store(struct store_writer *writer, const struct vet_options *options,
	size_t *faults)
{
	struct vet vet = {.writer = writer,
		.view = store_writer_view(writer),
		.key = {options->key[0], options->key[1]},
		.threads = options->threads, .only_look = options->only_look,
		.scratch = vet_scratch_create()};
	enum nsd_err err = vet.scratch != NULL ? NSD_OK : NSD_E_MEMORY;
	size_t found = 1;
	uint64_t octets;

	assert(options->on_fault != NULL
		&& !(options->sweep && options->only_look));
	*faults = 0;
	if (!options->only_look)
		store_publish(writer, STORE_ROOT_SETTINGS, STORE_NONE);
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
		if (options->only_look)
			found = 0;
		if (err == NSD_OK && found == 0 && options->sweep)
			err = store_claims_sweep(vet.claims, &octets);
		else
			store_claims_end(vet.claims);
	}
	if (err == NSD_OK && options->sweep)
		(void)store_reclaim(writer);
	vet_scratch_destroy(vet.scratch);
	return err;
}
