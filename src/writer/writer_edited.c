/* writer_edited.c - keeps zone files that an operator has edited, and that the
 * server has not read. */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "loader/load_files.h"
#include "writer/writer_edited.h"
#include "zone/sources.h"

/* Edited files of a zone that are kept. */
#define KEPT_MAX 10u

static bool
edited_is_there(const char *path, const struct zone_sources *sources)
{
	struct stat st;

	return sources != NULL && stat(path, &st) == 0
		&& ((sources->flags & ZONE_SOURCES_FAILED) != 0
			|| load_files_have_changed(sources, path));
}

/* Finds a name that no file has: an operator may still want those that were
 * kept before. If all are taken, the last one is the name: what clients were
 * told is more than the eleventh file. */
static enum nsd_err
edited_find_name(const char *path, char name[PATH_MAX], bool *is_taken)
{
	struct stat st;

	for (unsigned i = 0; i < KEPT_MAX; i++) {
		char number[16] = "";
		int n;

		if (i > 0)
			snprintf(number, sizeof(number), ".%u", i);
		n = snprintf(name, PATH_MAX, "%s.edited%s", path, number);
		if (n < 0 || n >= PATH_MAX) {
			errno = ENAMETOOLONG;
			return NSD_E_SYSTEM;
		}
		*is_taken = lstat(name, &st) == 0;
		if (!*is_taken)
			return errno == ENOENT ? NSD_OK : NSD_E_SYSTEM;
	}
	return NSD_OK;
}

enum nsd_err
writer_edited_find(void *ctx, char name[PATH_MAX])
{
	const struct writer_edited *edited = ctx;
	bool is_taken = false;
	enum nsd_err err;
	int error;

	name[0] = '\0';
	if (!edited_is_there(edited->path, edited->sources))
		return NSD_OK;
	err = edited_find_name(edited->path, name, &is_taken);
	error = errno;
	if (err == NSD_OK)
		log_error("zone %s takes updates, and its file %s was changed"
			  " by hand and is not read: it is kept as %s%s, and the"
			  " zone as it is served is written", edited->zone,
			edited->path, name, is_taken
				? " in place of an older one, as all such names"
				  " are taken" : "");
	else
		log_error("zone %s takes updates, and its file %s was changed"
			  " by hand and cannot be kept as %s: %s",
			edited->zone, edited->path, name, strerror(error));
	errno = error;
	return err;
}
