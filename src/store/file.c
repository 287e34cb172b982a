/* file.c - holds the files of the store, and maps them. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/file.h"

static void
descriptor_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
file_drop_descriptors(struct store *store)
{
	descriptor_close(&store->fd);
	descriptor_close(&store->read_fd);
	descriptor_close(&store->slots_fd);
}

void
store_destroy(struct store *store)
{
	int saved = errno;

	if (store == NULL)
		return;
	file_drop_descriptors(store);
	free(store->path);
	free(store);
	errno = saved;
}

int
store_keep_file(struct store *store)
{
	int fd = store->fd;

	store->fd = -1;
	file_drop_descriptors(store);
	store->fd = fd;
	return fd;
}

void
store_reader_clear(struct store *store, unsigned slot)
{
	static const struct store_slot none;

	if (slot >= store->reader_max || store->slots_fd < 0)
		return;
	/* Cannot fail: the file is in memory and its pages exist. */
	if (pwrite(store->slots_fd, &none, sizeof(none),
		    (off_t)slot * STORE_PAGE) != sizeof(none))
		return;
}

/* Keeps the store out of core files. The server's processes write no core; a
 * debugger, and tools that link the store, do. With all zones in it that takes
 * long; and a hole of the file that is read for a core becomes memory, which is
 * not given back. A failure matters little. */
static void
file_keep_from_core(void *area, size_t size)
{
	(void)madvise(area, size, MADV_DONTDUMP);
}

void *
file_map(int fd, size_t size, int protection)
{
	size_t slack = size >= STORE_EXTENT ? STORE_EXTENT : 0;
	uint8_t *area, *at, *end;

	if (slack == 0) {
		area = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
		if (area == MAP_FAILED)
			return NULL;
		file_keep_from_core(area, size);
		return area;
	}
	/* A huge page is mapped as one only if its address is a multiple of
	 * its size, as its offset in the file is. */
	area = mmap(NULL, size + slack, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return NULL;
	at = (uint8_t *)(((uintptr_t)area + slack - 1)
		& ~(uintptr_t)(slack - 1));
	end = area + size + slack;
	if (mmap(at, size, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
		    fd, 0) == MAP_FAILED) {
		munmap(area, size + slack);
		return NULL;
	}
	if (at > area)
		munmap(area, (size_t)(at - area));
	if (at + size < end)
		munmap(at + size, (size_t)(end - (at + size)));
	file_keep_from_core(at, size);
	return at;
}
