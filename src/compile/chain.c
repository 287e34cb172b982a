/* chain.c - the pass that makes the NSEC3 chain: it takes the records out of
 * the owners, packs them, and puts them in order. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compile/build_pass.h"
#include "compile/pack_parts.h"
#include "store/writer.h"
#include "zonedb/nsec3_pages.h"

#define CHUNK 1024u

/* ---- owners ------------------------------------------------------------ */

static void
owner_warn(struct build_worker *w, const struct owner *owner,
	const struct rrbatch_rr *rr, const char *why)
{
	char name[NAME_TEXT_MAX];

	findings_add(&w->packer.findings, DIAG_WARNING, rr,
		"NSEC3 record at %s is not used: %s",
		findings_name_text(owner->name, name), why);
}

/* True if the record is one of the chain but for its owner name. */
static bool
record_is_usable(struct build_worker *w, const struct owner *owner,
	const struct rrbatch_rr *rr)
{
	if (rr->type != TYPE_NSEC3
		|| !nsec3_has_params(rr, &w->build->zone.params))
		return false;
	if (nsec3_has_next(rr))
		return true;
	owner_warn(w, owner, rr, "the next hash is not of 20 octets");
	return false;
}

/* The first record of a run that belongs into the chain, or NULL. */
static const struct rrbatch_rr *
run_find_usable(struct build_worker *w, const struct owner *run)
{
	size_t owners = run_count(w->build, run);

	for (size_t o = 0; o < owners; o++) {
		const struct rrbatch_rr *rr;

		if (run[o].rr_count == 0)
			continue;
		rr = owner_get_rr(&run[o]);
		for (uint32_t i = 0; i < run[o].rr_count;
			i++, rr = rrbatch_next(rr))
			if (record_is_usable(w, &run[0], rr))
				return rr;
	}
	return NULL;
}

/* Packs the NSEC3 records of a run of owners into item, if they belong to the
 * chain, and marks the run. Else item has no record. */
static enum nsd_err
run_pack_chain(struct build_worker *w, struct owner *run,
	struct chain_item *item)
{
	const struct rrbatch_rr *rr = run_find_usable(w, run);
	const struct item_group *nsec3, *sigs;
	enum nsd_err err;
	size_t count;

	item->entry.record = STORE_NONE;
	if (rr == NULL)
		return NSD_OK;
	if (run->labels != 1
		|| !nsec3_parse_label(run->name, item->entry.hash)) {
		owner_warn(w, run, rr, "the owner is no hash right below the "
			"apex");
		return NSD_OK;
	}
	err = run_list_groups(w, run, ITEMS_CHAIN, &count);
	if (err != NSD_OK)
		return err;
	/* Another worker may be looking whether its run ends here. */
	__atomic_fetch_or(&run->flags, OWNER_CHAINED, __ATOMIC_RELAXED);
	/* Signatures sort behind what they cover. */
	nsec3 = &w->packer.groups[0];
	sigs = count > 1 ? &w->packer.groups[1] : NULL;
	if (w->packer.findings.count[DIAG_ERROR] > 0)
		return NSD_OK;
	err = nsec3_record_pack(&w->packer, run, nsec3, sigs, NULL,
		&item->entry.record);
	if (err == NSD_E_ZONE)
		return NSD_OK;
	item->rr = nsec3->count == 1 ? nsec3->items[0].rr : NULL;
	w->packer.rr_count += nsec3->count + (sigs != NULL ? sigs->count : 0);
	return err;
}

static enum nsd_err
chain_worker(struct build_worker *w)
{
	struct build *b = w->build;
	enum nsd_err err = packer_prepare(&w->packer);

	while (err == NSD_OK && !__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		size_t start = __atomic_fetch_add(&b->next_chunk, CHUNK,
			__ATOMIC_RELAXED);

		if (start >= b->hash_count)
			break;
		for (size_t i = start; err == NSD_OK && i < start + CHUNK
			&& i < b->hash_count; i++) {
			owner_prefetch_records(b->hashes, i, b->hash_count);
			if ((b->hashes[i].flags & OWNER_NSEC3) != 0
				&& (b->hashes[i].flags & OWNER_AGAIN) == 0)
				err = run_pack_chain(w, &b->hashes[i],
					&b->chain_items[i]);
		}
	}
	if (err != NSD_OK)
		__atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
	return err;
}

/* ---- the chain --------------------------------------------------------- */

static int
item_compare_hash(const void *a, const void *b)
{
	const struct chain_item *x = a, *y = b;

	return memcmp(x->entry.hash, y->entry.hash, NSEC3_HASH_LEN);
}

/* Takes the records of names that have other data as well. */
static enum nsd_err
chain_take_names(struct build *b)
{
	struct build_worker *w = &b->workers[0];
	size_t before = b->chain_count;

	for (size_t i = 0; i < b->name_count; i++) {
		struct chain_item *item = &b->chain_items[b->chain_count];
		enum nsd_err err;

		if ((b->names[i].flags & OWNER_NSEC3) == 0
			|| (b->names[i].flags & OWNER_AGAIN) != 0)
			continue;
		err = run_pack_chain(w, &b->names[i], item);
		if (err != NSD_OK)
			return err;
		b->chain_count += item->entry.record != STORE_NONE;
	}
	if (b->chain_count > before)
		qsort(b->chain_items, b->chain_count, sizeof(*b->chain_items),
			item_compare_hash);
	return NSD_OK;
}

static size_t
count_names_with_nsec3(const struct build *b)
{
	size_t count = 0;

	for (size_t i = 0; b->nsec3_in_names && i < b->name_count; i++)
		count += (b->names[i].flags & OWNER_NSEC3) != 0;
	return count;
}

enum nsd_err
chain_list(struct build *b)
{
	size_t room = b->hash_count + count_names_with_nsec3(b) + 1, n = 0;
	enum nsd_err err;

	b->chain_items = arena_alloc_zero(build_part(b),
		room * sizeof(*b->chain_items));
	if (b->chain_items == NULL)
		return NSD_E_MEMORY;
	b->next_chunk = 0;
	err = workers_run(b, chain_worker);
	for (size_t i = 0; i < b->hash_count; i++)
		if (b->chain_items[i].entry.record != STORE_NONE)
			b->chain_items[n++] = b->chain_items[i];
	b->chain_count = n;
	if (err == NSD_OK && b->nsec3_in_names)
		err = chain_take_names(b);
	for (unsigned i = 0; i < b->worker_count; i++) {
		pack_sigs_flush(&b->workers[i].packer);
		nsec3_templates_flush(&b->workers[i].packer);
	}
	return err;
}

/* Has a record keep its next hash itself, with a warning. */
static enum nsd_err
item_keep_next(struct build *b, struct chain_item *item, const uint8_t *next)
{
	struct packer *p = build_packer(b);
	const struct nsec3_record *old = store_get(store_heap_view(p->heap),
		item->entry.record);
	size_t len = nsec3_record_size(old);
	struct nsec3_record *record;
	store_ref ref;

	findings_add(&p->findings, DIAG_WARNING, item->rr,
		"the next hash of this NSEC3 record is not that of the record "
		"that follows: the chain is broken");
	record = store_alloc(p->heap, len + NSEC3_HASH_LEN, &ref);
	if (record == NULL)
		return NSD_E_MEMORY;
	memcpy(record, old, len);
	memcpy((uint8_t *)record + len, next, NSEC3_HASH_LEN);
	record->flags |= NSEC3_OWN_NEXT;
	store_free(p->heap, item->entry.record, len);
	item->entry.record = ref;
	item->rr = NULL;
	return NSD_OK;
}

enum nsd_err
chain_check_item(struct build *b, struct chain_item *item,
	const uint8_t *follows)
{
	const uint8_t *next;

	if (item->rr == NULL)
		return NSD_OK;
	next = nsec3_get_next(item->rr);
	/* Behind an error, records are left out: the zone is given up. */
	if (memcmp(next, follows, NSEC3_HASH_LEN) == 0 || build_has_errors(b))
		return NSD_OK;
	return item_keep_next(b, item, next);
}

static enum nsd_err
chain_check_next(struct build *b)
{
	struct chain_item *items = b->chain_items;
	enum nsd_err err = NSD_OK;

	for (size_t i = 0; i < b->chain_count && err == NSD_OK; i++)
		err = chain_check_item(b, &items[i], items[i + 1
			< b->chain_count ? i + 1 : 0].entry.hash);
	return err;
}

/* RFC 5155 section 10.3 and RFC 9276 section 3.2: if hashing is so costly that
 * queries could stop the server, it is not done. */
static bool
chain_is_costly(struct build *b)
{
	uint32_t max = nsec3_params_limit(b->input->nsec3_iterations_max);

	if (b->zone.params.iterations <= max)
		return false;
	findings_add(&build_packer(b)->findings, DIAG_WARNING, b->params_rr,
		"%u NSEC3 iterations are more than %u: names are not hashed, "
		"and denials have no proofs",
		(unsigned)b->zone.params.iterations, (unsigned)max);
	return true;
}

enum nsd_err
chain_create(struct build *b, const struct nsec3_entry *entries, size_t count)
{
	struct store_heap *heap = build_packer(b)->heap;
	size_t size = sizeof(struct nsec3_chain) + b->zone.params.salt_len;
	struct nsec3_chain *chain;
	store_ref ref;

	assert(count > 0 && count <= UINT32_MAX);
	chain = store_alloc(heap, size, &ref);
	if (chain == NULL)
		return NSD_E_MEMORY;
	if (nsec3_pages_build(heap, entries, count, &chain->index)
		!= NSD_OK) {
		store_free(heap, ref, size);
		return NSD_E_MEMORY;
	}
	chain->count = (uint32_t)count;
	chain->iterations = b->zone.params.iterations;
	chain->salt_len = b->zone.params.salt_len;
	chain->flags = chain_is_costly(b) ? NSEC3_CHAIN_COSTLY : 0;
	memcpy(chain->salt, b->zone.params.salt, b->zone.params.salt_len);
	b->zone.chain = ref;
	return NSD_OK;
}

/* The chain of all items. */
static enum nsd_err
chain_create_of_items(struct build *b)
{
	struct nsec3_entry *entries = arena_alloc(&b->arena,
		b->chain_count * sizeof(*entries));
	enum nsd_err err;

	if (entries == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < b->chain_count; i++)
		entries[i] = b->chain_items[i].entry;
	err = chain_create(b, entries, b->chain_count);
	if (err == NSD_OK)
		b->chain_count = 0;
	return err;
}

static void
chain_warn_of_no_record(struct build *b)
{
	if (b->zone.apex_len + NSEC3_LABEL_LEN + 1 > NAME_MAX_LEN
		|| build_has_errors(b))
		return;
	findings_add(&build_packer(b)->findings, DIAG_WARNING, b->params_rr,
		"no NSEC3 record has the parameters of this NSEC3PARAM");
}

enum nsd_err
chain_build(struct build *b)
{
	enum nsd_err err;

	err = chain_choose(b);
	if (err != NSD_OK || b->params_rr == NULL)
		return err;
	err = chain_list(b);
	if (err != NSD_OK)
		return err;
	if (b->chain_count == 0) {
		chain_warn_of_no_record(b);
		return NSD_OK;
	}
	err = chain_check_next(b);
	return err != NSD_OK ? err : chain_create_of_items(b);
}
