/* store_snapshot.c - copies of a store as another process has just left it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/store_snapshot.h"
#include "store/file.h"

struct store_snapshot {
	struct store_view view;
	uint8_t *copy;
	size_t size; /* octets mapped of each */
};

/* The parts of the file that count: up to `head`, and from `data` to `end`. */
struct extent {
	size_t head, data, end;
};

static struct extent
extent_of(const uint8_t *base)
{
	const struct store_header *h = (const struct store_header *)(
		const void *)base;
	size_t spans = h->span_count;

	return (struct extent){ STORE_PAGE + spans * SPAN_BITMAP,
		(size_t)h->data_at, (size_t)h->data_at + spans * SPAN_SIZE };
}

struct store_snapshot *
store_snapshot_create(const struct store *store)
{
	struct store_snapshot *s = calloc(1, sizeof(*s));

	if (s == NULL)
		abort();
	s->size = store->reservation;
	s->view.base = file_map(store->fd, s->size, PROT_READ);
	s->copy = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->view.base == NULL || s->copy == MAP_FAILED)
		abort();
	return s;
}

void
store_snapshot_destroy(struct store_snapshot *snapshot)
{
	munmap(snapshot->copy, snapshot->size);
	munmap((void *)(uintptr_t)snapshot->view.base, snapshot->size);
	free(snapshot);
}

const struct store_view *
store_snapshot_view(const struct store_snapshot *snapshot)
{
	return &snapshot->view;
}

bool
store_snapshot_update(struct store_snapshot *snapshot)
{
	const uint8_t *base = snapshot->view.base;
	struct extent e = extent_of(base);
	bool changed = false;

	for (size_t at = 0; at < e.end; at += STORE_PAGE) {
		if (at >= e.head && at < e.data)
			at = e.data;
		if (at >= e.end
			|| memcmp(snapshot->copy + at, base + at, STORE_PAGE)
				== 0)
			continue;
		memcpy(snapshot->copy + at, base + at, STORE_PAGE);
		changed = true;
	}
	return changed;
}

static void
write_all(int fd, const uint8_t *data, size_t from, size_t to)
{
	if (pwrite(fd, data + from, to - from, (off_t)from)
		!= (ssize_t)(to - from))
		abort();
}

void
store_snapshot_restore(const struct store_snapshot *snapshot,
	struct store *to)
{
	struct extent e = extent_of(snapshot->copy);

	if (ftruncate(to->fd, 0) != 0)
		abort();
	write_all(to->fd, snapshot->copy, 0, e.head);
	write_all(to->fd, snapshot->copy, e.data, e.end);
}
