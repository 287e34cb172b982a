/* build.c - runs the passes that turn records into a zone in the store. */
#include <assert.h>
#include <string.h>

#include "base/threads.h"
#include "compile/build_pass.h"
#include "names/trie_edit.h"
#include "store/writer.h"
#include "zonedb/release.h"

#define STACK_MEMORY 16384u       /* a small zone's build needs no more */
#define RR_PER_THREAD_MIN 20000u  /* fewer are not worth a thread */

/* ---- a build's life ---------------------------------------------------- */

static unsigned
build_choose_threads(const struct build *b)
{
	uint64_t useful = b->rr_total / RR_PER_THREAD_MIN;
	unsigned threads = b->input->threads;

	if (threads > THREADS_RUN_MAX)
		threads = THREADS_RUN_MAX;
	if (useful < threads)
		threads = (unsigned)useful;
	return threads > 0 ? threads : 1;
}

static void
build_init_zone(struct build *b)
{
	struct packer_zone *zone = &b->zone;

	zone->apex_len = (uint8_t)name_len(b->input->apex);
	for (unsigned i = 0; i < zone->apex_len; i++)
		zone->apex[i] = name_lower_octet(b->input->apex[i]);
	zone->secondary = b->input->secondary;
	zone->limits = b->input->limits;
	if (b->writer != NULL)
		zone->view = store_writer_view(b->writer);
}

static void
build_destroy_workers(struct build *b)
{
	for (unsigned i = 0; i < b->worker_count; i++) {
		if (i > 0 && b->workers[i].packer.heap != NULL)
			store_heap_destroy(b->workers[i].packer.heap);
		if (i > 0)
			arena_fini(&b->workers[i].packer.arena);
		arena_fini(&b->workers[i].part);
	}
}

static enum nsd_err
build_create_workers(struct build *b, struct store_heap *heap)
{
	unsigned threads = build_choose_threads(b);

	b->workers = arena_alloc_zero(&b->arena,
		threads * sizeof(*b->workers));
	if (b->workers == NULL)
		return NSD_E_MEMORY;
	for (unsigned i = 0; i < threads; i++) {
		struct build_worker *w = &b->workers[i];

		w->build = b;
		w->number = i;
		arena_init(&w->packer.arena, NULL, 0);
		arena_init(&w->part, NULL, 0);
		packer_init(&w->packer, &b->zone, heap, build_worker_part(w));
		b->worker_count++;
		if (i == 0)
			continue;
		/* Not `heap` after a failure: that is worker 0's, which the
		 * caller owns, and must not be destroyed. */
		w->packer.heap = NULL;
		if (b->writer != NULL && store_heap_create(b->writer,
				&w->packer.heap) != NSD_OK)
			return NSD_E_MEMORY;
	}
	return NSD_OK;
}

/* ---- finish ------------------------------------------------------------ */

size_t
build_compact_nodes(store_ref *nodes, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (nodes[i] != STORE_NONE)
			nodes[n++] = nodes[i];
	return n;
}

static void
zone_take_facts(struct build *b, struct zone *zone)
{
	zone_read_apex(store_writer_view(b->writer), zone);
	zone->chain = b->zone.chain;
	if (b->zone.chain != STORE_NONE)
		zone->flags |= ZONE_NSEC3;
	if (b->wildcards > 0)
		zone->flags |= ZONE_WILDCARDS;
	if (b->dnames > 0)
		zone->flags |= ZONE_DNAMES;
	zone->wildcard_count = b->wildcards;
	zone->dname_count = b->dnames;
	for (unsigned i = 0; i < b->worker_count; i++) {
		zone->rr_count += b->workers[i].packer.rr_count;
		zone->node_count += b->workers[i].node_count;
	}
}

/* Gives the zone the index by which updates find equal contents. */
static enum nsd_err
build_save_share(struct build *b, struct zone *zone)
{
	struct store_heap *heap = build_packer(b)->heap;
	struct share_index *index;
	size_t templates = 0;

	for (unsigned i = 0; i < b->worker_count; i++)
		templates += b->workers[i].packer.templates.used;
	if (share_save(&b->zone.share, heap, templates, &zone->share) != NSD_OK)
		return NSD_E_MEMORY;
	if (zone->share == STORE_NONE)
		return NSD_OK;
	index = store_edit(heap, zone->share);
	for (unsigned i = 0; i < b->worker_count; i++) {
		const struct packer *p = &b->workers[i].packer;
		const struct template_table *t = &p->templates;

		for (size_t s = 0; s < t->room; s++)
			if (t->slots[s].template != NULL)
				share_index_put(index, t->slots[s].hash,
					t->slots[s].ref);
	}
	return NSD_OK;
}

enum nsd_err
build_make_zone(struct build *b, const struct trie *names,
	const struct trie *nsec3, const struct trie *targets, store_ref apex)
{
	struct store_heap *heap = build_packer(b)->heap;
	store_ref ref;
	struct zone *zone = store_alloc(heap, sizeof(*zone), &ref);

	if (zone == NULL)
		return NSD_E_MEMORY;
	memset(zone, 0, sizeof(*zone));
	if (build_save_share(b, zone) != NSD_OK) {
		store_free(heap, ref, sizeof(*zone));
		return NSD_E_MEMORY;
	}
	zone->names = *names;
	zone->nsec3 = *nsec3;
	zone->targets = *targets;
	zone->apex = apex;
	zone_take_facts(b, zone);
	b->made = ref;
	return NSD_OK;
}

struct trie_job {
	struct trie *trie;
	const store_ref *objects;
	size_t count;
};

/* Each worker builds one of the three tries. If there are fewer workers, some
 * build more. */
static enum nsd_err
trie_worker(struct build_worker *w)
{
	const struct trie_job *jobs = w->pass_arg;

	for (unsigned i = w->number; i < 3; i += w->build->worker_count)
		if (trie_build(w->packer.heap, jobs[i].objects, jobs[i].count,
			    jobs[i].trie) != NSD_OK)
			return NSD_E_MEMORY;
	return NSD_OK;
}

static void
drop_branch(void *ctx, store_ref ref, size_t len)
{
	store_free(ctx, ref, len);
}

static enum nsd_err
build_finish(struct build *b)
{
	struct store_heap *heap = build_packer(b)->heap;
	struct trie_edit edit = {heap, drop_branch, heap, NULL};
	struct trie tries[3];
	enum nsd_err err;
	size_t names = build_compact_nodes(b->name_nodes, b->name_count);
	size_t hashes = build_compact_nodes(b->hash_nodes, b->hash_count);

	b->name_count = names;
	b->hash_count = hashes;
	memset(tries, 0, sizeof(tries));
	struct trie_job jobs[3] = {
		{&tries[0], b->name_nodes, names},
		{&tries[1], b->hash_nodes, hashes},
		{&tries[2], b->targets, b->target_count},
	};
	for (unsigned i = 0; i < b->worker_count; i++)
		b->workers[i].pass_arg = jobs;
	err = workers_run(b, trie_worker);
	if (err == NSD_OK)
		err = build_make_zone(b, &tries[0], &tries[1], &tries[2],
			b->name_nodes[0]);
	if (err != NSD_OK)
		for (unsigned i = 0; i < 3; i++)
			trie_clear(&edit, jobs[i].trie);
	return err;
}

void
build_undo_targets(struct build *b)
{
	struct store_heap *heap = build_packer(b)->heap;
	struct releaser r = {store_heap_view(heap), heap, NULL,
		NULL};

	for (size_t i = 0; i < b->target_count; i++)
		release_target(&r, b->targets[i]);
	b->target_count = 0;
}

void
build_undo(struct build *b)
{
	struct store_heap *heap = build_packer(b)->heap;
	struct releaser r = {store_heap_view(heap), heap, NULL,
		NULL};

	for (unsigned i = 0; i < b->worker_count; i++)
		release_entries(&r, b->workers[i].packer.entries,
			b->workers[i].packer.packed);
	build_undo_targets(b);
	for (size_t i = 0; b->name_nodes != NULL && i < b->name_count; i++)
		if (b->name_nodes[i] != STORE_NONE)
			release_node(&r, b->name_nodes[i]);
	for (size_t i = 0; b->hash_nodes != NULL && i < b->hash_count; i++)
		if (b->hash_nodes[i] != STORE_NONE)
			release_node(&r, b->hash_nodes[i]);
	for (size_t i = 0; i < b->chain_count; i++)
		release_nsec3_record(&r, b->chain_items[i].entry.record);
	if (b->zone.chain != STORE_NONE)
		release_chain(&r, b->zone.chain);
}

/* ---- passes ------------------------------------------------------------ */

static void
build_progress(const struct build *b, const char *stage)
{
	if (b->input->on_progress != NULL)
		b->input->on_progress(b->input->progress_ctx, stage, 0,
			b->rr_total);
}

static bool
apex_has(const struct build *b, uint16_t type)
{
	for (size_t i = 0; i < b->name_count && b->names[i].labels == 0; i++) {
		const struct rrbatch_rr *rr = owner_get_rr(&b->names[i]);

		for (uint32_t n = 0; n < b->names[i].rr_count;
			n++, rr = rrbatch_next(rr))
			if (rr->type == type)
				return true;
	}
	return false;
}

/* The last line of the input with a record: findings about what is missing are
 * reported there. Line 1 of an empty file. */
static void
build_find_end(const struct build *b, struct rrbatch_rr *end)
{
	memset(end, 0, sizeof(*end));
	end->line = b->input->file_count > 0;
	for (const struct rrbatch *batch = b->input->batches; batch != NULL;
		batch = batch->next) {
		const struct rrbatch_rr *rr = rrbatch_first(batch);

		for (size_t i = 0; i < batch->count; i++) {
			end->line = rr->line;
			end->file = rr->file;
			rr = rrbatch_next(rr);
		}
	}
}

/* Reports a missing SOA or NS at the apex. */
static void
build_check_apex(struct build *b)
{
	struct findings *findings = &build_packer(b)->findings;
	bool soa = apex_has(b, TYPE_SOA), ns = apex_has(b, TYPE_NS);
	struct rrbatch_rr end;
	char text[NAME_TEXT_MAX];

	if (soa && ns)
		return;
	build_find_end(b, &end);
	findings_name_text(b->zone.apex, text);
	if (!soa)
		findings_add(findings, DIAG_ERROR, &end,
			"zone configured as '%s' has no SOA record.", text);
	else
		findings_add(findings, DIAG_WARNING, &end,
			"zone '%s' has no NS record", text);
}

/* Runs the passes one after the other. A zone with errors is given up only once
 * it is packed: so all errors are told at once. */
static enum nsd_err
build_run(struct build *b)
{
	enum nsd_err err;

	build_progress(b, "index");
	err = index_build(b);
	if (err != NSD_OK)
		return err;
	build_check_apex(b);
	build_progress(b, "shape");
	err = shape_build(b);
	if (err != NSD_OK)
		return err;
	build_progress(b, "chain");
	err = chain_build(b);
	if (err != NSD_OK)
		return err;
	err = pack_build(b);
	if (err != NSD_OK)
		return err;
	if (build_has_errors(b))
		return NSD_E_ZONE;
	build_progress(b, "glue");
	err = glue_build(b);
	if (err != NSD_OK)
		return err;
	build_progress(b, "tries");
	return build_finish(b);
}

void
build_emit(struct build *b, struct diag_sink *sink)
{
	struct findings *lists[THREADS_RUN_MAX];

	for (unsigned i = 0; i < b->worker_count; i++)
		lists[i] = &b->workers[i].packer.findings;
	findings_emit(lists, b->worker_count, b->input->files,
		b->input->file_count, sink);
}

enum nsd_err
build_start(struct build *b, struct store_heap *heap)
{
	assert(b->workers == NULL);
	build_init_zone(b);
	if (build_create_workers(b, heap) != NSD_OK)
		return NSD_E_MEMORY;
	if (b->writer == NULL)
		return NSD_OK;
	return share_init(&b->zone.share, store_heap_view(heap), &b->arena,
		b->worker_count, b->rr_total);
}

void
build_fini(struct build *b)
{
	share_fini(&b->zone.share);
	build_destroy_workers(b);
	arena_fini(&b->arena);
}

enum nsd_err
build_zone(const struct zone_build_input *input, struct store_writer *writer,
	struct store_heap *heap, struct diag_sink *sink, store_ref *zone)
{
	uint64_t memory[STACK_MEMORY / 8], worker_memory[STACK_MEMORY / 8];
	struct build b = {.input = input, .writer = writer};
	enum nsd_err err;

	arena_init(&b.arena, memory, sizeof(memory));
	for (const struct rrbatch *batch = input->batches; batch != NULL;
		batch = batch->next)
		b.rr_total += batch->count;
	err = build_start(&b, heap);
	if (err == NSD_OK) {
		/* The calling thread's packer begins in stack memory. */
		arena_init(&build_packer(&b)->arena, worker_memory,
			sizeof(worker_memory));
		err = build_run(&b);
		if (err == NSD_OK || err == NSD_E_ZONE)
			build_emit(&b, sink);
		if (err != NSD_OK)
			build_undo(&b);
		else
			*zone = b.made;
		arena_fini(&build_packer(&b)->arena);
	}
	build_fini(&b);
	return err;
}
