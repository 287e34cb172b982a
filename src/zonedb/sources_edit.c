/* sources_edit.c - writes the record of the files that a zone was read from. */
#include <string.h>

#include "store/writer.h"
#include "zone/sources.h"
#include "zonedb/sources_edit.h"

static void
source_fill(struct zone_source *to, const struct zonefile_source *from)
{
	to->mtime_sec = from->mtime.tv_sec;
	to->mtime_nsec = (uint32_t)from->mtime.tv_nsec;
	to->ctime_sec = from->ctime.tv_sec;
	to->ctime_nsec = (uint32_t)from->ctime.tv_nsec;
	to->size = from->size;
	to->inode = from->inode;
	to->device = from->device;
	to->path_len = (uint32_t)strlen(from->path) + 1;
	memcpy(to->path, from->path, to->path_len);
}

static store_ref
sources_create(struct store_heap *heap, const struct zonefile_source *files,
	size_t count, const struct zone_sources *head)
{
	size_t len = sizeof(struct zone_sources);
	struct zone_sources *sources;
	struct zone_source *at;
	store_ref ref;

	for (size_t i = 0; i < count; i++)
		len += zone_source_size(strlen(files[i].path) + 1);
	if (count == 0 || count > UINT16_MAX || len > STORE_OBJECT_MAX)
		return STORE_NONE;
	sources = store_alloc(heap, len, &ref);
	if (sources == NULL)
		return STORE_NONE;
	memset(sources, 0, len);
	sources->len = (uint32_t)len;
	sources->count = (uint16_t)count;
	sources->flags = head->flags;
	sources->serial = head->serial;
	at = (struct zone_source *)(sources + 1);
	for (size_t i = 0; i < count; i++) {
		source_fill(at, &files[i]);
		at = (struct zone_source *)((uint8_t *)at
			+ zone_source_size(at->path_len));
	}
	return ref;
}

void
sources_set_failed(struct store_writer *writer, store_ref ref, bool failed)
{
	struct zone_entry *entry = store_edit(store_writer_heap(writer), ref);
	uint32_t flags = entry->flags & ~ZONE_ENTRY_FILE_FAILED;

	if (failed)
		flags |= ZONE_ENTRY_FILE_FAILED;
	if (flags != entry->flags)
		__atomic_store_n(&entry->flags, flags, __ATOMIC_RELAXED);
}

void
sources_set(struct store_writer *writer, store_ref ref,
	const struct zonefile_source *files, size_t count, unsigned flags)
{
	struct store_heap *heap = store_writer_heap(writer);
	struct zone_entry *entry = store_edit(heap, ref);
	store_ref old = entry->sources;
	const struct zone_sources *before = old != STORE_NONE
		? store_edit(heap, old) : NULL;
	struct zone_sources head = {.flags = (uint16_t)flags};

	if (before != NULL && (flags & ZONE_SOURCES_FAILED) != 0) {
		head.flags |= before->flags & ZONE_SOURCES_SERIAL;
		head.serial = before->serial;
	}
	sources_set_failed(writer, ref, (flags & ZONE_SOURCES_FAILED) != 0);
	store_publish_ref(writer, &entry->sources,
		sources_create(heap, files, count, &head));
	if (before != NULL)
		store_retire(writer, old, before->len);
}

/* Readers may read the record meanwhile: the flag is set after the serial. */
void
sources_set_serial(struct store_writer *writer, store_ref ref, uint32_t serial)
{
	struct store_heap *heap = store_writer_heap(writer);
	const struct zone_entry *entry = store_edit(heap, ref);
	struct zone_sources *sources;

	if (entry->sources == STORE_NONE)
		return;
	sources = store_edit(heap, entry->sources);
	__atomic_store_n(&sources->serial, serial, __ATOMIC_RELAXED);
	__atomic_store_n(&sources->flags,
		(uint16_t)(sources->flags | ZONE_SOURCES_SERIAL),
		__ATOMIC_RELEASE);
}
