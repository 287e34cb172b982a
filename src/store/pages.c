/* pages.c - the memory behind the spans: made, made huge, and given back. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "store/pages.h"

/* Linux 6.1; the C library may be older than the kernel. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define COLLAPSE_TRIES 3

/* Makes pages of the file. */
static bool
pages_make(struct store_writer *writer, uint64_t at, uint64_t len)
{
	int rc;

	do { /* a file in memory gives up when a signal comes */
		rc = fallocate(writer->store->fd, 0, (off_t)at, (off_t)len);
	} while (rc != 0 && errno == EINTR);
	if (rc != 0) {
		writer->lack = errno;
		writer->lack_len = len;
	}
	return rc == 0;
}

/* ---- whole spans and extents */

bool
pages_collapse(struct store_writer *writer, uint32_t span)
{
	void *extent = writer->base + writer->header->data_at
		+ (uint64_t)span * SPAN_SIZE;

	assert(span % EXTENT_SPANS == 0);
	for (int i = 0; i < COLLAPSE_TRIES; i++) {
		if (madvise(extent, STORE_EXTENT, MADV_COLLAPSE) == 0)
			return true;
		/* EAGAIN: a page was busy. EINVAL: the kernel does not know
		 * this at all; do not ask again. */
		if (errno == EINVAL)
			writer->no_collapse = true;
		if (errno != EAGAIN)
			return false;
	}
	return false;
}

bool
pages_make_spans(struct store_writer *writer, uint32_t span, uint32_t count)
{
	assert(span < writer->span_max && count <= writer->span_max - span);
	return pages_make(writer,
		writer->header->data_at + (uint64_t)span * SPAN_SIZE,
		(uint64_t)count * SPAN_SIZE);
}

bool
pages_make_bitmap(struct store_writer *writer, uint32_t span, uint32_t count)
{
	size_t len = (size_t)count * SPAN_BITMAP;

	if (!pages_make(writer, STORE_PAGE + (uint64_t)span * SPAN_BITMAP, len))
		return false;
	/* In a named file anything may stand behind the last span. */
	if (writer->store->named)
		memset(span_bitmap(writer, span), 0, len);
	return true;
}

bool
pages_make_extent(struct store_writer *writer, uint32_t span)
{
	uint64_t at = writer->header->data_at + (uint64_t)span * SPAN_SIZE;

	if (!writer->store->huge_pages || writer->no_collapse)
		return false;
	/* Kernels collapse no range without any page: EINVAL. */
	if (ftruncate(writer->store->fd, (off_t)(at + STORE_EXTENT)) != 0
		|| !pages_make(writer, at, STORE_PAGE))
		return false;
	return pages_collapse(writer, span);
}

/* ---- the pages of one span */

/* A bit for each page of a span that granules of it lie in. */
static uint32_t
pages_of(uint32_t at, uint32_t count)
{
	uint32_t first = at / PAGE_GRANULES;
	uint32_t end = (at + count + PAGE_GRANULES - 1) / PAGE_GRANULES;

	ASSERT_HOT(at + count <= SPAN_GRANULES);
	return (1u << end) - (1u << first);
}

uint32_t
pages_unused(const uint64_t *bitmap)
{
	uint32_t unused = 0;

	for (uint32_t page = 0; page < SPAN_PAGES; page++) {
		uint64_t used = 0;

		for (unsigned i = 0; i < PAGE_GRANULES / 64; i++)
			used |= *bitmap++;
		unused |= (uint32_t)(used == 0) << page;
	}
	return unused;
}

uint32_t
pages_room(struct store_writer *writer, uint32_t granule,
	uint32_t count, uint32_t wanted)
{
	uint32_t span = span_of_granule(writer, granule);
	uint32_t at = granule - span_first_granule(writer, span);
	uint32_t room;

	ASSERT_HOT(wanted <= count);
	if ((writer->spans[span].absent & pages_of(at, count)) == 0)
		return count;
	room = (at + wanted + PAGE_GRANULES - 1) / PAGE_GRANULES
		* PAGE_GRANULES - at;
	return room < count ? room : count;
}

bool
pages_make_absent(struct store_writer *writer, uint32_t granule,
	uint32_t count)
{
	uint32_t span = span_of_granule(writer, granule);
	struct span *s = &writer->spans[span];
	uint32_t pages = s->absent
		& pages_of(granule - span_first_granule(writer, span), count);
	uint32_t first, end;
	uint64_t at;

	if (pages == 0)
		return true;
	first = (uint32_t)__builtin_ctz(pages);
	end = 32 - (uint32_t)__builtin_clz(pages);
	at = writer->header->data_at + (uint64_t)span * SPAN_SIZE
		+ (uint64_t)first * STORE_PAGE;
	if (!pages_make(writer, at, (uint64_t)(end - first) * STORE_PAGE))
		return false;
	s->absent = (uint16_t)(s->absent & ~((1u << end) - (1u << first)));
	return true;
}

/* ---- in a file, and back to the kernel */

bool
pages_make_used(struct store_writer *writer)
{
	uint32_t end = writer->header->span_count, run = 0;

	if (!pages_make(writer, 0, STORE_PAGE + (uint64_t)end * SPAN_BITMAP))
		return false;
	for (uint32_t i = 0; i <= end; i++) {
		if (i < end && writer->spans[i].state != SPAN_ABSENT) {
			writer->spans[i].absent = 0;
			writer->spans[i].guessed = false;
			run++;
			continue;
		}
		if (run > 0 && !pages_make_spans(writer, i - run, run))
			return false;
		run = 0;
	}
	return true;
}

bool
pages_give_back(struct store_writer *writer, uint32_t span, uint32_t page,
	uint32_t count)
{
	uint64_t at = writer->header->data_at + (uint64_t)span * SPAN_SIZE
		+ (uint64_t)page * STORE_PAGE;

	assert(page < SPAN_PAGES && count > 0
		&& span + (page + count - 1) / SPAN_PAGES
			< writer->header->span_count);
	if (fallocate(writer->store->fd,
		    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
		    (off_t)count * STORE_PAGE)
		!= 0)
		return false;
	writer->punched += (uint64_t)count * STORE_PAGE;
	return true;
}
