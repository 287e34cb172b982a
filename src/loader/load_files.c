/* load_files.c - the files that a zone was read from. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ipc/message.h"
#include "loader/load_files.h"
#include "zonedb/sources_edit.h"

static bool
files_source_has_changed(const struct zone_source *s)
{
	struct stat st;

	if (stat(s->path, &st) == -1)
		return s->inode != 0; /* 0: the file was not there then,
				       * either */
	return st.st_mtim.tv_sec != s->mtime_sec
		|| st.st_mtim.tv_nsec != (long)s->mtime_nsec
		|| st.st_ctim.tv_sec != s->ctime_sec
		|| st.st_ctim.tv_nsec != (long)s->ctime_nsec
		|| (uint64_t)st.st_size != s->size
		|| (uint64_t)st.st_ino != s->inode
		|| (uint64_t)st.st_dev != s->device;
}

bool
load_files_are_others(const struct zone_sources *sources, const char *path)
{
	return sources != NULL
		&& strcmp(zone_sources_first(sources)->path, path) != 0;
}

bool
load_files_have_changed(const struct zone_sources *sources, const char *path)
{
	const struct zone_source *s;

	if (sources == NULL)
		return true;
	if (load_files_are_others(sources, path))
		return true;
	s = zone_sources_first(sources);
	for (unsigned i = 0; i < sources->count; i++) {
		if (files_source_has_changed(s))
			return true;
		s = zone_sources_next(s);
	}
	return false;
}

void
load_files_note(struct store_writer *writer, store_ref entry, const char *path)
{
	char *copy = strdup(path);
	struct zonefile_source file = {.path = copy};
	struct stat st;

	if (copy != NULL && stat(path, &st) == 0) {
		file.mtime = st.st_mtim;
		file.ctime = st.st_ctim;
		file.size = (uint64_t)st.st_size;
		file.inode = (uint64_t)st.st_ino;
		file.device = (uint64_t)st.st_dev;
		sources_set(writer, entry, &file, 1, 0);
	}
	free(copy);
}

void
load_files_note_written(struct store_writer *writer, store_ref entry,
	const char *path, const struct ipc_file_stamp *stamp, uint32_t serial)
{
	const struct zonefile_source file = {
		.path = strdup(path),
		.mtime = {stamp->mtime_sec, (long)stamp->mtime_nsec},
		.ctime = {stamp->ctime_sec, (long)stamp->ctime_nsec},
		.size = stamp->size,
		.inode = stamp->inode,
		.device = stamp->device,
	};

	if (file.path != NULL) {
		sources_set(writer, entry, &file, 1, 0);
		sources_set_serial(writer, entry, serial);
	}
	free(file.path);
}

bool
load_files_are_equal(const struct zonefile_result *a,
	const struct zonefile_result *b)
{
	if (a->source_count != b->source_count)
		return false;
	for (size_t i = 0; i < a->source_count; i++) {
		const struct zonefile_source *x = &a->sources[i];
		const struct zonefile_source *y = &b->sources[i];

		if (strcmp(x->path, y->path) != 0 || x->size != y->size
			|| x->inode != y->inode || x->device != y->device
			|| x->mtime.tv_sec != y->mtime.tv_sec
			|| x->mtime.tv_nsec != y->mtime.tv_nsec
			|| x->ctime.tv_sec != y->ctime.tv_sec
			|| x->ctime.tv_nsec != y->ctime.tv_nsec)
			return false;
	}
	return true;
}
