/* create.c - makes the files of a new store. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store/create.h"

#define RESERVATION_DEFAULT STORE_ROOM_MAX
#define RESERVATION_LEAST ((size_t)64 << 20)

/* Makes a nameless file in memory, open read-write. */
static enum nsd_err
file_create(const char *name, int *fd)
{
	*fd = memfd_create(name, MFD_CLOEXEC);
	return *fd < 0 ? NSD_E_SYSTEM : NSD_OK;
}

/* Opens the same file read-only. A duplicate of the descriptor would carry the
 * permission to write. */
static int
file_open_to_read(int fd, int self_fds)
{
	char path[40];

	if (self_fds == 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		return open(path, O_RDONLY | O_CLOEXEC);
	}
	snprintf(path, sizeof(path), "%d", fd);
	return openat(self_fds, path, O_RDONLY | O_CLOEXEC);
}

bool
create_reservation_fits(size_t size)
{
	void *p = mmap(NULL, size, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p != MAP_FAILED && munmap(p, size) == 0;
}

/* The largest reservation, up to the wanted one, that the system grants; 0 if
 * not even the least. */
static size_t
reservation_probe(size_t wanted)
{
	size_t size = wanted != 0 ? wanted : RESERVATION_DEFAULT;

	if (size > RESERVATION_DEFAULT)
		size = RESERVATION_DEFAULT;
	size &= ~(size_t)(STORE_EXTENT - 1);
	if (size < RESERVATION_LEAST)
		size = RESERVATION_LEAST;
	for (; size >= RESERVATION_LEAST; size /= 2)
		if (create_reservation_fits(size))
			return size & ~(size_t)(STORE_EXTENT - 1);
	return 0;
}

enum nsd_err
create_header(int fd, size_t reservation, uint64_t contents)
{
	struct store_header header = {
		.layout = STORE_LAYOUT_VERSION,
		.reservation = reservation,
		.data_at = layout_data_at(reservation),
		.machine = STORE_MACHINE,
		.contents = contents,
		.epoch = 1,
	};

	memcpy(header.magic, STORE_MAGIC, sizeof(header.magic));
	if (fallocate(fd, 0, 0, STORE_PAGE) != 0)
		return NSD_E_SYSTEM;
	if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header))
		return NSD_E_SYSTEM;
	return NSD_OK;
}

enum nsd_err
create_prepare(const struct store_options *options, struct store **store)
{
	struct store *s = calloc(1, sizeof(*s));
	enum nsd_err err = NSD_E_MEMORY;

	if (s == NULL)
		return NSD_E_MEMORY;
	s->fd = s->read_fd = s->slots_fd = -1;
	s->maker = getpid();
	s->reader_max = options->reader_max;
	s->huge_pages = options->huge_pages;
	s->poison = options->poison;
	s->reservation = reservation_probe(options->reservation);
	if (s->reservation == 0)
		goto out_store;
	err = file_create("nsd-readers", &s->slots_fd);
	if (err != NSD_OK)
		goto out_store;
	/* One page more: the writer maps at least one, even for no reader. */
	if (fallocate(s->slots_fd, 0, 0,
		    (off_t)(s->reader_max + 1) * STORE_PAGE) != 0) {
		err = NSD_E_SYSTEM;
		goto out_store;
	}
	*store = s;
	return NSD_OK;
out_store:
	store_destroy(s);
	return err;
}

enum nsd_err
store_create(const struct store_options *options, struct store **store)
{
	struct store *s;
	enum nsd_err err = create_prepare(options, &s);

	if (err != NSD_OK)
		return err;
	err = file_create("nsd-store", &s->fd);
	if (err == NSD_OK) {
		s->read_fd = file_open_to_read(s->fd, options->self_fds);
		err = s->read_fd < 0 ? NSD_E_SYSTEM : NSD_OK;
	}
	if (err == NSD_OK)
		err = create_header(s->fd, s->reservation, 0);
	if (err != NSD_OK) {
		store_destroy(s);
		return err;
	}
	*store = s;
	return NSD_OK;
}
