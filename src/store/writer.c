/* writer.c - the one process that changes the store: publishing, and freeing
 * what no reader can see any more. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/writer.h"

#define RETIRED_BLOCK_FIRST 62u /* objects: 512 octets with the head */
#define RETIRED_BLOCK_MAX 8190u

static size_t
slots_size(const struct store *store)
{
	return (size_t)(store->reader_max + 1) * STORE_PAGE;
}

static enum nsd_err
writer_map(struct store *store, struct store_writer *w)
{
	size_t table;

	w->base = store_map(store->fd, store->reservation,
		PROT_READ | PROT_WRITE);
	if (w->base == NULL)
		return NSD_E_SYSTEM;
	w->slots = mmap(NULL, slots_size(store), PROT_READ | PROT_WRITE,
		MAP_SHARED, store->slots_fd, 0);
	if (w->slots == MAP_FAILED)
		goto out_base;
	w->span_max = layout_span_max(store->reservation);
	table = w->span_max * sizeof(*w->spans);
	/* Address space for all there may ever be; pages as they come. */
	w->spans = mmap(NULL, table, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->spans == MAP_FAILED)
		goto out_slots;
	w->view.base = w->base;
	w->header = (struct store_header *)w->base;
	return NSD_OK;
out_slots:
	munmap(w->slots, slots_size(store));
out_base:
	munmap(w->base, store->reservation);
	return NSD_E_SYSTEM;
}

enum nsd_err
store_writer_open(struct store *store, struct store_writer **writer)
{
	struct store_writer *w;
	enum nsd_err err;

	if (store->fd < 0 || store->writer != NULL)
		return NSD_E_DENIED;
	err = image_mark_unclean(store);
	if (err != NSD_OK)
		return err;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return NSD_E_MEMORY;
	err = writer_map(store, w);
	if (err != NSD_OK) {
		free(w);
		return err;
	}
	w->store = store;
	w->pid = getpid();
	pthread_mutex_init(&w->lock, NULL);
	CDS_INIT_LIST_HEAD(&w->heaps);
	CDS_INIT_LIST_HEAD(&w->retired);
	span_table_load(w);
	heap_init(&w->heap, w, false);
	cds_list_add(&w->heap.entry, &w->heaps);
	store->writer = w;
	if (store->named && !span_make_used_pages(w)) {
		int saved = errno;

		store_writer_close(w);
		errno = saved;
		return NSD_E_SYSTEM;
	}
	*writer = w;
	return NSD_OK;
}

void
store_writer_close(struct store_writer *writer)
{
	struct store *store;
	struct retired_block *block, *next;

	if (writer == NULL)
		return;
	store = writer->store;
	heap_flush(&writer->heap);
	cds_list_for_each_entry_safe(block, next, &writer->retired, entry)
		free(block);
	munmap(writer->spans, writer->span_max * sizeof(*writer->spans));
	munmap(writer->slots, slots_size(store));
	munmap(writer->base, store->reservation);
	pthread_mutex_destroy(&writer->lock);
	store->writer = NULL;
	free(writer);
}

/* Readers may still look at what is retired; nobody else will. So it is marked
 * as free and left as it is. */
static void
retired_forget(struct store_writer *writer)
{
	struct retired_block *block;

	cds_list_for_each_entry(block, &writer->retired, entry)
		for (uint32_t i = 0; i < block->count; i++)
			heap_free_granules(writer, block->objects[i].ref,
				store_granules(block->objects[i].len));
}

enum nsd_err
store_writer_close_clean(struct store_writer *writer)
{
	struct store *store = writer->store;

	if (store->named) {
		(void)store_reclaim(writer);
		/* Pages that readers may look at are not given back. */
		store_trim(writer);
		retired_forget(writer);
	}
	store_writer_close(writer);
	return image_mark_clean(store);
}

const struct store_view *
store_writer_view(const struct store_writer *writer)
{
	return &writer->view;
}

void
store_publish(struct store_writer *writer, enum store_root root,
	store_ref ref)
{
	rcu_store_release(&writer->header->roots[root], ref);
}

void
store_publish_ref(struct store_writer *writer, store_ref *cell, store_ref ref)
{
	(void)writer;
	rcu_store_release(cell, ref);
}

/* ---- retiring */

/* The block that takes the next object of this epoch, or NULL. */
static struct retired_block *
retired_block_get(struct store_writer *writer)
{
	uint64_t epoch = writer->header->epoch;
	uint32_t max = RETIRED_BLOCK_FIRST;
	struct retired_block *block;

	if (!cds_list_empty(&writer->retired)) {
		block = cds_list_entry(writer->retired.prev,
			struct retired_block, entry);
		if (block->epoch == epoch && block->count < block->max)
			return block;
		if (block->epoch == epoch)
			max = RETIRED_BLOCK_MAX;
	}
	block = malloc(sizeof(*block) + max * sizeof(block->objects[0]));
	if (block == NULL)
		return NULL;
	block->epoch = epoch;
	block->count = 0;
	block->max = max;
	cds_list_add_tail(&block->entry, &writer->retired);
	return block;
}

void
store_retire(struct store_writer *writer, store_ref ref, size_t len)
{
	struct retired_block *block;

	if (ref == STORE_NONE)
		return;
	block = retired_block_get(writer);
	/* Without memory to remember it by, the object stays used: that is
	 * safe, and mark and sweep finds it. */
	if (block == NULL)
		return;
	block->objects[block->count].ref = ref;
	block->objects[block->count].len = (uint32_t)len;
	block->count++;
	writer->retired_octets += (uint64_t)store_granules(len)
		* STORE_GRANULE;
}

/* The oldest epoch that a reader may still be in; 0: there is none. */
static uint64_t
oldest_epoch(const struct store_writer *writer)
{
	uint64_t oldest = 0;

	for (unsigned i = 0; i < writer->store->reader_max; i++) {
		const struct store_slot *slot = (const struct store_slot *)(
			writer->slots + (size_t)i * STORE_PAGE);
		/* In this order: see store_reader_pin. */
		uint64_t seen = rcu_load_acquire(&slot->seen);
		uint64_t pinned = rcu_load_acquire(&slot->pinned);

		if (seen != 0 && (oldest == 0 || seen < oldest))
			oldest = seen;
		if (pinned != 0 && (oldest == 0 || pinned < oldest))
			oldest = pinned;
	}
	return oldest;
}

static void
retired_block_free(struct store_writer *writer, struct retired_block *block)
{
	for (uint32_t i = 0; i < block->count; i++) {
		uint32_t len = block->objects[i].len;

		writer->retired_octets -= (uint64_t)store_granules(len)
			* STORE_GRANULE;
		store_free(&writer->heap, block->objects[i].ref, len);
	}
	cds_list_del(&block->entry);
	free(block);
}

size_t
store_reclaim(struct store_writer *writer)
{
	struct retired_block *block, *next;
	uint64_t epoch = writer->header->epoch;
	uint64_t oldest;

	if (cds_list_empty(&writer->retired))
		return 0;
	block = cds_list_entry(writer->retired.prev, struct retired_block,
		entry);
	/* Unlinked first, then the epoch: a reader that sees the new epoch
	 * cannot find what was retired in an older one. */
	if (block->epoch == epoch)
		rcu_store_release(&writer->header->epoch, ++epoch);
	/* Either we see that a reader is online, or it sees what we have
	 * published: see store_reader_online. */
	rcu_full_barrier();
	oldest = oldest_epoch(writer);
	cds_list_for_each_entry_safe(block, next, &writer->retired, entry) {
		if (oldest != 0 && block->epoch >= oldest)
			break;
		retired_block_free(writer, block);
	}
	return (size_t)writer->retired_octets;
}

void
store_get_stats(const struct store_writer *writer, struct store_stats *stats)
{
	struct store_writer *w = (struct store_writer *)(uintptr_t)writer;
	struct store_heap *heap;
	struct stat st;
	int64_t live;
	uint64_t present = 0;

	pthread_mutex_lock(&w->lock);
	live = w->live;
	cds_list_for_each_entry(heap, &w->heaps, entry)
		live += rcu_load_relaxed(&heap->live);
	for (uint32_t i = 0; i < w->header->span_count; i++)
		present += w->spans[i].state != SPAN_ABSENT;
	pthread_mutex_unlock(&w->lock);

	stats->retired = w->retired_octets;
	stats->live = (uint64_t)live * STORE_GRANULE - stats->retired;
	stats->free = present * SPAN_SIZE - (uint64_t)live * STORE_GRANULE;
	stats->mapped = 0;
	if (fstat(w->store->fd, &st) == 0)
		stats->mapped = (uint64_t)st.st_blocks * 512;
	stats->epoch = w->header->epoch;
	stats->oldest_reader_epoch = oldest_epoch(w);
}
