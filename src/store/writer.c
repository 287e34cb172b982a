/* writer.c - the one process that changes the store: opens and closes it for
 * that, publishes, and counts. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "store/create.h"
#include "store/heap.h"
#include "store/holders.h"
#include "store/holes.h"
#include "store/image.h"
#include "store/pages.h"
#include "store/retire.h"
#include "store/span.h"

static size_t
slots_size(const struct store *store)
{
	return (size_t)(store->reader_max + 1) * STORE_PAGE;
}

static enum nsd_err
writer_map(struct store *store, struct store_writer *w)
{
	size_t table;

	w->base = file_map(store->fd, store->reservation,
		PROT_READ | PROT_WRITE);
	if (w->base == NULL)
		return NSD_E_SYSTEM;
	w->slots = mmap(NULL, slots_size(store), PROT_READ | PROT_WRITE,
		MAP_SHARED, store->slots_fd, 0);
	if (w->slots == MAP_FAILED)
		goto out_base;
	w->span_max = layout_span_max(store->reservation);
	table = w->span_max * sizeof(*w->spans);
	/* Address space for all the spans there may ever be; pages come when
	 * they are written to. */
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

	if (store->fd < 0 || store->writer_base != NULL)
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
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->retire_lock, NULL);
	CDS_INIT_LIST_HEAD(&w->heaps);
	CDS_INIT_LIST_HEAD(&w->retired);
	CDS_INIT_LIST_HEAD(&w->held);
	CDS_INIT_LIST_HEAD(&w->unheld);
	span_load(w);
	holes_load(w);
	heap_init(&w->heap, w, false);
	cds_list_add(&w->heap.entry, &w->heaps);
	heap_init(&w->long_lived, w, true);
	cds_list_add(&w->long_lived.entry, &w->heaps);
	store->writer_pid = getpid();
	store->writer_base = w->base;
	store->writer_slots = w->slots;
	if (store->named && !pages_make_used(w)) {
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

	if (writer == NULL)
		return;
	store = writer->store;
	assert(store->writer_base == writer->base);
	heap_flush(&writer->heap);
	retire_fini(writer);
	holes_fini(writer);
	munmap(writer->spans, writer->span_max * sizeof(*writer->spans));
	munmap(writer->slots, slots_size(store));
	munmap(writer->base, store->reservation);
	pthread_mutex_destroy(&writer->retire_lock);
	pthread_mutex_destroy(&writer->lock);
	store->writer_base = NULL;
	free(writer);
}

enum nsd_err
store_writer_close_clean(struct store_writer *writer)
{
	struct store *store = writer->store;

	assert(heap_is_alone(writer));
	if (store->named) {
		(void)store_reclaim(writer);
		/* Trims before retired objects become free: pages that readers
		 * may look at are not given back. */
		store_trim(writer);
		retire_forget(writer);
	}
	store_writer_close(writer);
	return image_mark_clean(store);
}

enum nsd_err
store_writer_close_into(struct store_writer *writer, int fd,
	uint64_t contents)
{
	struct store file = {.fd = fd, .named = true};
	bool written;

	assert(!writer->store->named && heap_is_alone(writer));
	(void)store_reclaim(writer);
	retire_forget(writer);
	heap_flush(&writer->heap);
	written = image_write(fd, writer->base, contents);
	store_writer_close(writer);
	return written ? image_mark_clean(&file) : NSD_E_SYSTEM;
}

void
store_writer_set_heartbeat(struct store_writer *writer, uint64_t *heartbeat)
{
	writer->heartbeat = heartbeat;
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
	assert((unsigned)root < STORE_ROOT_COUNT);
	assert(ref == STORE_NONE || heap_has(writer, ref));
	rcu_store_release(&writer->header->roots[root], ref);
}

void
store_publish_ref(struct store_writer *writer, store_ref *cell, store_ref ref)
{
	ASSERT_HOT((uint8_t *)cell > writer->base
		&& (uint8_t *)cell < writer->base + writer->store->reservation);
	ASSERT_HOT(ref == STORE_NONE || heap_has(writer, ref));
	(void)writer;
	rcu_store_release(cell, ref);
}

void
store_get_stats(const struct store_writer *writer, struct store_stats *stats)
{
	struct store_writer *w = (struct store_writer *)(uintptr_t)writer;
	struct holders holders;
	struct stat st;
	int64_t live = heap_count_live(w);
	uint64_t present = 0;

	memset(stats, 0, sizeof(*stats));
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = 0; i < w->header->span_count; i++)
		if (w->spans[i].state != SPAN_ABSENT)
			present += SPAN_PAGES
				- (unsigned)__builtin_popcount(
					w->spans[i].absent);
	stats->given_back = w->punched;
	pthread_mutex_unlock(&w->lock);

	holders_scan(w, &holders);
	pthread_mutex_lock(&w->retire_lock);
	stats->retired = w->retired_octets;
	stats->retired_total = w->retired_total;
	stats->reclaimed_total = w->reclaimed_total;
	pthread_mutex_unlock(&w->retire_lock);
	stats->live = (uint64_t)live * STORE_GRANULE - stats->retired;
	stats->free = present * STORE_PAGE - (uint64_t)live * STORE_GRANULE;
	if (fstat(w->store->fd, &st) == 0)
		stats->mapped = (uint64_t)st.st_blocks * 512;
	stats->epoch = w->header->epoch;
	stats->oldest_reader_epoch = holders.oldest_seen;
	stats->pins = holders.count;
	for (unsigned i = 0; i < holders.count; i++)
		if (stats->oldest_reader_epoch == 0
			|| holders.pins[i].low < stats->oldest_reader_epoch)
			stats->oldest_reader_epoch = holders.pins[i].low;
}
