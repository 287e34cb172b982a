/* store_forge.c - gives a store in a file that was altered on purpose the
 * checksum of what it holds now, so that it is attached to as it is. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sum.h"
#include "store/file.h"

#define CHUNK_SPANS 256u /* bitmaps summed at once; see image.c */

static bool
span_is_used(const uint8_t *bitmap)
{
	for (unsigned i = 0; i < SPAN_BITMAP; i++)
		if (bitmap[i] != 0)
			return true;
	return false;
}

static struct sum
store_sum(const uint8_t *base)
{
	static struct store_header header __attribute__((aligned(STORE_PAGE)));
	static uint8_t page[STORE_PAGE] __attribute__((aligned(STORE_PAGE)));
	const uint8_t *bitmaps = base + STORE_PAGE;
	struct sum sum = {{0}};

	memcpy(&header, base, sizeof(header));
	memcpy(page, base, STORE_PAGE);
	memset(page + offsetof(struct store_header, sum), 0, sizeof(sum));
	sum_add(&sum, page, STORE_PAGE);
	for (uint32_t first = 0; first < header.span_count;
		first += CHUNK_SPANS) {
		uint32_t count = header.span_count - first;

		if (count > CHUNK_SPANS)
			count = CHUNK_SPANS;
		sum_add(&sum, bitmaps + (size_t)first * SPAN_BITMAP,
			(size_t)count * SPAN_BITMAP);
		for (uint32_t i = first; i < first + count; i++)
			if (span_is_used(bitmaps + (size_t)i * SPAN_BITMAP))
				sum_add(&sum,
					base + header.data_at
						+ (size_t)i * SPAN_SIZE,
					SPAN_SIZE);
	}
	return sum;
}

int
main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR) : -1;
	struct stat st;
	struct store_header *header;

	if (fd == -1 || fstat(fd, &st) == -1)
		return 2;
	header = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		return 2;
	header->sum = store_sum((const uint8_t *)header);
	return 0;
}
