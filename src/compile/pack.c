/* pack.c - the pass that packs each name: its records become a node in the
 * store. */
#include "compile/build_pass.h"

#define CHUNK 1024u /* owners a worker takes at a time */

/* Packs the records of a name, the run of owners with its name. */
static enum nsd_err
pack_name(struct build_worker *w, const struct owner *run, bool hashed,
	store_ref *ref)
{
	size_t count = 0;
	enum item_choice choice = (run->flags & OWNER_CHAINED) != 0
		? ITEMS_REST : ITEMS_ALL;

	if (run->rr_count > 0
		&& run_list_groups(w, run, choice, &count) != NSD_OK)
		return NSD_E_MEMORY;
	w->node_count += !hashed;
	return node_pack_groups(&w->packer, run, count, ref);
}

/* Packs the names of a range, or the owners of NSEC3 that are in no chain. */
static enum nsd_err
pack_range(struct build_worker *w, const struct owner *owners, store_ref *nodes,
	size_t start, size_t end, size_t total, bool hashed)
{
	for (size_t i = start; i < end; i++) {
		size_t n = end - i < HASHER_OWNERS ? end - i : HASHER_OWNERS;
		size_t place = (i - start) % HASHER_OWNERS;
		enum nsd_err err = NSD_OK;

		nodes[i] = STORE_NONE;
		owner_prefetch_records(owners, i, total);
		if (!hashed && place == 0)
			err = hasher_run(&w->packer, &owners[i], n);
		if (err != NSD_OK)
			return err;
		if ((owners[i].flags & OWNER_AGAIN) != 0
			|| (hashed && (owners[i].flags & OWNER_CHAINED) != 0))
			continue;
		w->packer.hashes[0] = w->packer.hashes[1] = NULL;
		if (!hashed)
			hasher_get(&w->packer, place);
		err = pack_name(w, &owners[i], hashed, &nodes[i]);
		if (err != NSD_OK)
			return err;
	}
	return NSD_OK;
}

static enum nsd_err
pack_chunk(struct build_worker *w, size_t start, size_t end)
{
	struct build *b = w->build;
	size_t names_end = end < b->name_count ? end : b->name_count;
	enum nsd_err err = NSD_OK;

	if (start < names_end)
		err = pack_range(w, b->names, b->name_nodes, start, names_end,
			b->name_count, false);
	if (err != NSD_OK || end <= b->name_count)
		return err;
	start = start > b->name_count ? start - b->name_count : 0;
	return pack_range(w, b->hashes, b->hash_nodes, start,
		end - b->name_count, b->hash_count, true);
}

static enum nsd_err
pack_worker(struct build_worker *w)
{
	struct build *b = w->build;
	size_t total = b->name_count + b->hash_count;
	enum nsd_err err = packer_prepare(&w->packer);

	while (err == NSD_OK && !__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		size_t start = __atomic_fetch_add(&b->next_chunk, CHUNK,
			__ATOMIC_RELAXED);
		size_t end = start + CHUNK < total ? start + CHUNK : total;

		if (start >= total)
			break;
		if (w->number == 0 && b->input->on_progress != NULL)
			b->input->on_progress(b->input->progress_ctx, "pack",
				start, total);
		err = pack_chunk(w, start, end);
	}
	if (err != NSD_OK)
		__atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
	return err;
}

enum nsd_err
pack_build(struct build *b)
{
	enum nsd_err err;

	b->name_nodes = arena_alloc_zero(build_part(b),
		b->name_count * sizeof(*b->name_nodes) + 1);
	b->hash_nodes = arena_alloc_zero(build_part(b),
		b->hash_count * sizeof(*b->hash_nodes) + 1);
	if (b->name_nodes == NULL || b->hash_nodes == NULL)
		return NSD_E_MEMORY;
	b->next_chunk = 0;
	err = workers_run(b, pack_worker);
	for (unsigned i = 0; i < b->worker_count; i++)
		pack_sigs_flush(&b->workers[i].packer);
	return err;
}
