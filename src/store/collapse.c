/* collapse.c - huge pages for the store, and memory back to the kernel. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "store/writer.h"

/* Linux 6.1; the C library may be older than the kernel. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define COLLAPSE_TRIES 3

bool
collapse_extent(struct store_writer *writer, void *extent)
{
	for (int i = 0; i < COLLAPSE_TRIES; i++) {
		if (madvise(extent, STORE_EXTENT, MADV_COLLAPSE) == 0)
			return true;
		/* EAGAIN: a page was busy. Others may do better later, but
		 * not where the kernel does not know it at all. */
		if (errno == EINVAL)
			writer->no_collapse = true;
		if (errno != EAGAIN)
			return false;
	}
	return false;
}

/* Gives the pages of wholly free spans back; the lock is held. */
static void
punch_spans(struct store_writer *w, uint32_t first, uint32_t count)
{
	uint64_t at = w->header->data_at + (uint64_t)first * SPAN_SIZE;

	if (fallocate(w->store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		    (off_t)at, (off_t)count * SPAN_SIZE)
		!= 0)
		return;
	w->punched += (uint64_t)count * SPAN_SIZE;
	for (uint32_t i = first; i < first + count; i++) {
		if (w->spans[i].state == SPAN_FREE) {
			span_list_remove(w, i);
			span_list_add(w, i, SPAN_ABSENT);
		}
		w->spans[i].huge = false;
	}
}

/* All of an extent that is mostly used becomes one huge page. */
static void
collapse_used(struct store_writer *w, uint32_t first)
{
	uint64_t at = w->header->data_at + (uint64_t)first * SPAN_SIZE;

	if (!collapse_extent(w, w->base + at))
		return;
	for (uint32_t i = first; i < first + EXTENT_SPANS; i++) {
		if (w->spans[i].state == SPAN_ABSENT) {
			span_list_remove(w, i);
			span_list_add(w, i, SPAN_FREE);
		}
		w->spans[i].huge = true;
	}
}

static void
trim_extent(struct store_writer *w, uint32_t first, uint32_t end)
{
	uint32_t unused = 0;

	for (uint32_t i = first; i < end; i++)
		unused += w->spans[i].state <= SPAN_FREE;
	/* A huge page is only broken up if most of it comes back. */
	if (unused < (end - first) / 2 && w->spans[first].huge)
		return;
	if (unused <= EXTENT_SPANS / 8 && end - first == EXTENT_SPANS
		&& w->store->huge_pages && !w->no_collapse) {
		collapse_used(w, first);
		if (w->spans[first].huge)
			return;
	}
	for (uint32_t i = first; i < end; i++) {
		uint32_t count = 0;

		while (i + count < end
			&& w->spans[i + count].state <= SPAN_FREE)
			count++;
		if (count > 0) {
			punch_spans(w, i, count);
			i += count - 1;
		}
	}
}

void
store_trim(struct store_writer *writer)
{
	uint32_t end = writer->header->span_count;

	heap_flush(&writer->heap);
	for (uint32_t i = 0; i < end; i += EXTENT_SPANS) {
		uint32_t next = end - i < EXTENT_SPANS ? end : i + EXTENT_SPANS;

		pthread_mutex_lock(&writer->lock);
		trim_extent(writer, i, next);
		pthread_mutex_unlock(&writer->lock);
	}
}
