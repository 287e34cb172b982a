/* image.c - reads, sums, marks and writes the named file of a store. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "store/image.h"

#define CHUNK_SPANS 256u
#define CHUNK (256u << 10)

_Static_assert(CHUNK == CHUNK_SPANS * SPAN_BITMAP && CHUNK % SPAN_SIZE == 0,
	"one buffer serves for bitmaps and for data");

/* ---- the checksum */

bool
image_read(int fd, void *data, size_t len, uint64_t at)
{
	uint8_t *p = data;

	while (len > 0) {
		ssize_t n = pread(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : EIO;
			return false;
		}
		p += n;
		at += (size_t)n;
		len -= (size_t)n;
	}
	return true;
}

static bool
span_is_used(const uint8_t *octets)
{
	const uint64_t *bitmap = (const uint64_t *)(const void *)octets;

	for (unsigned i = 0; i < SPAN_WORDS; i++)
		if (bitmap[i] != 0)
			return true;
	return false;
}

/* Adds the contents of count spans to the sum. */
static bool
sum_spans(int fd, uint64_t at, uint32_t count, struct sum *sum, void *buffer)
{
	uint64_t left = (uint64_t)count * SPAN_SIZE;

	while (left > 0) {
		size_t len = left < CHUNK ? (size_t)left : CHUNK;

		if (!image_read(fd, buffer, len, at))
			return false;
		sum_add(sum, buffer, len);
		at += len;
		left -= len;
	}
	return true;
}

/* Adds to the sum the bitmaps of count spans, then those of them that have
 * objects. */
static bool
sum_chunk(int fd, const struct store_header *header, uint32_t first,
	uint32_t count, struct sum *sum, uint8_t *buffer, uint64_t *octets)
{
	size_t len = (size_t)count * SPAN_BITMAP;
	bool used[CHUNK_SPANS + 1] = { false };
	uint32_t run = 0;

	assert(count <= CHUNK_SPANS);
	if (!image_read(fd, buffer, len,
		    STORE_PAGE + (uint64_t)first * SPAN_BITMAP))
		return false;
	sum_add(sum, buffer, len);
	*octets += len;
	for (uint32_t i = 0; i < count; i++)
		used[i] = span_is_used(buffer + (size_t)i * SPAN_BITMAP);
	for (uint32_t i = 0; i <= count; i++) {
		uint64_t at = header->data_at
			+ (uint64_t)(first + i - run) * SPAN_SIZE;

		if (used[i]) {
			run++;
			continue;
		}
		if (run > 0 && !sum_spans(fd, at, run, sum, buffer))
			return false;
		*octets += (uint64_t)run * SPAN_SIZE;
		run = 0;
	}
	return true;
}

enum nsd_err
image_sum(int fd, const uint8_t *page, struct sum *sum, uint64_t *octets)
{
	struct store_header header;
	uint8_t *buffer = aligned_alloc(STORE_PAGE, CHUNK);
	enum nsd_err err = NSD_OK;

	if (buffer == NULL)
		return NSD_E_MEMORY;
	memset(sum, 0, sizeof(*sum));
	memcpy(buffer, page, STORE_PAGE);
	memcpy(&header, page, sizeof(header));
	memset(buffer + offsetof(struct store_header, sum), 0, sizeof(*sum));
	sum_add(sum, buffer, STORE_PAGE);
	*octets = STORE_PAGE;
	for (uint32_t i = 0; i < header.span_count; i += CHUNK_SPANS) {
		uint32_t left = header.span_count - i;

		if (!sum_chunk(fd, &header, i,
			    left < CHUNK_SPANS ? left : CHUNK_SPANS, sum,
			    buffer, octets)) {
			err = NSD_E_SYSTEM;
			break;
		}
	}
	free(buffer);
	return err;
}

uint64_t
image_length(const struct store_header *header)
{
	return header->data_at + (uint64_t)header->span_count * SPAN_SIZE;
}

/* ---- marks */

enum nsd_err
image_mark_unclean(struct store *store)
{
	const size_t at = offsetof(struct store_header, clean);
	uint64_t clean;

	if (!store->named)
		return NSD_OK;
	if (!image_read(store->fd, &clean, sizeof(clean), at))
		return NSD_E_SYSTEM;
	if (clean == 0)
		return NSD_OK;
	clean = 0;
	if (pwrite(store->fd, &clean, sizeof(clean), (off_t)at)
			!= (ssize_t)sizeof(clean)
		|| fsync(store->fd) != 0)
		return NSD_E_SYSTEM;
	return NSD_OK;
}

enum nsd_err
image_mark_clean(struct store *store)
{
	union {
		uint8_t octets[STORE_PAGE];
		struct store_header header;
	} page;
	uint64_t octets;
	enum nsd_err err;
	struct stat st;

	if (!store->named)
		return NSD_OK;
	if (!image_read(store->fd, &page, sizeof(page), 0))
		return NSD_E_SYSTEM;
	/* A file that is too short was cut by somebody, and lacks data that the
	 * next start would take for sound zeros. */
	if (fstat(store->fd, &st) != 0)
		return NSD_E_SYSTEM;
	if ((uint64_t)st.st_size < image_length(&page.header)) {
		errno = ENODATA;
		return NSD_E_SYSTEM;
	}
	if (ftruncate(store->fd, (off_t)image_length(&page.header)) != 0)
		return NSD_E_SYSTEM;
	page.header.clean = STORE_CLEAN;
	err = image_sum(store->fd, page.octets, &page.header.sum, &octets);
	if (err != NSD_OK)
		return err;
	/* The mark goes last: it must not reach the disk before the rest. */
	if (fsync(store->fd) != 0
		|| pwrite(store->fd, &page, sizeof(page), 0)
			!= (ssize_t)sizeof(page)
		|| fsync(store->fd) != 0)
		return NSD_E_SYSTEM;
	return NSD_OK;
}

/* ---- a store in memory that goes to the file of one given up */

static bool
write_all(int fd, const void *data, size_t len, uint64_t at)
{
	const uint8_t *p = data;

	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += (size_t)n;
		len -= (size_t)n;
	}
	return true;
}

bool
image_write(int fd, const uint8_t *base, uint64_t contents)
{
	union {
		uint8_t octets[STORE_PAGE];
		struct store_header header;
	} page;
	const uint8_t *bitmaps = base + STORE_PAGE;

	memcpy(&page, base, sizeof(page));
	page.header.contents = contents;
	page.header.clean = 0;
	if (ftruncate(fd, 0) != 0 || !write_all(fd, &page, sizeof(page), 0)
		|| !write_all(fd, bitmaps,
			(size_t)page.header.span_count * SPAN_BITMAP,
			STORE_PAGE))
		return false;
	for (uint32_t i = 0; i < page.header.span_count; i++) {
		uint64_t at = page.header.data_at + (uint64_t)i * SPAN_SIZE;

		if (span_is_used(bitmaps + (size_t)i * SPAN_BITMAP)
			&& !write_all(fd, base + at, SPAN_SIZE, at))
			return false;
	}
	/* The last spans may be free: holes of the file. */
	return ftruncate(fd, (off_t)image_length(&page.header)) == 0;
}
