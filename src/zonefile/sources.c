/* sources.c - the list of files that a parse has read or looked for. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "zonefile/parse.h"

/* A file that is included from beside another counts twice: where it was looked
 * for first is in the list, too. */
#define SOURCES_MAX 8192u

static bool
same_source(const struct zonefile_source *s, const char *path,
	const struct stat *st)
{
	return strcmp(s->path, path) == 0
		&& s->inode == (uint64_t)st->st_ino
		&& s->size == (uint64_t)st->st_size
		&& s->mtime.tv_sec == st->st_mtim.tv_sec
		&& s->mtime.tv_nsec == st->st_mtim.tv_nsec
		&& s->ctime.tv_sec == st->st_ctim.tv_sec
		&& s->ctime.tv_nsec == st->st_ctim.tv_nsec
		&& s->device == (uint64_t)st->st_dev;
}

enum nsd_err
sources_add(struct parse *p, const char *path, const struct stat *st,
	size_t *index)
{
	struct zonefile_result *result = p->result;
	struct zonefile_source *s;
	size_t i, n = result->source_count;

	for (i = 0; i < n; i++) {
		if (same_source(&result->sources[i], path, st)) {
			*index = i;
			return NSD_OK;
		}
	}
	if (n == SOURCES_MAX)
		return NSD_E_LIMIT;
	s = grow_array(result->sources, n, &p->source_room, sizeof(*s));
	if (s == NULL)
		return NSD_E_MEMORY;
	result->sources = s;
	s += n;
	s->path = strdup(path);
	if (s->path == NULL)
		return NSD_E_MEMORY;
	s->mtime = st->st_mtim;
	s->ctime = st->st_ctim;
	s->size = (uint64_t)st->st_size;
	s->inode = (uint64_t)st->st_ino;
	s->device = (uint64_t)st->st_dev;
	result->source_count++;
	*index = n;
	return NSD_OK;
}

const char **
zonefile_list_names(const struct zonefile_result *result)
{
	const char **names = calloc(result->source_count + 1, sizeof(*names));

	for (size_t i = 0; names != NULL && i < result->source_count; i++)
		names[i] = result->sources[i].path;
	return names;
}

void
sources_fini(struct zonefile_result *result)
{
	size_t i;

	for (i = 0; i < result->source_count; i++)
		free(result->sources[i].path);
	free(result->sources);
	result->sources = NULL;
	result->source_count = 0;
}
