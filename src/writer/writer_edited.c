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
 * kept before. */
static enum nsd_err
edited_find_name(const char *path, char name[PATH_MAX])
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
		if (stat(name, &st) == -1)
			return errno == ENOENT ? NSD_OK : NSD_E_SYSTEM;
	}
	errno = EEXIST;
	return NSD_E_SYSTEM;
}

enum nsd_err
writer_edited_keep(const char *zone, const char *path,
	const struct zone_sources *sources, char name[PATH_MAX])
{
	enum nsd_err err;
	int error;

	name[0] = '\0';
	if (!edited_is_there(path, sources))
		return NSD_OK;
	err = edited_find_name(path, name);
	error = errno;
	if (err == NSD_OK)
		log_error("zone %s takes updates, and its file %s was changed"
			  " by hand and is not read: it is kept as %s, and the"
			  " zone as it is served is written", zone, path, name);
	else if (error == EEXIST)
		log_error("zone %s takes updates, and its file %s was changed"
			  " by hand and is not read: the zone is not written,"
			  " since %u files are kept already, up to %s: remove"
			  " those that are not needed", zone, path, KEPT_MAX,
			name);
	else
		log_error("zone %s takes updates, and its file %s was changed"
			  " by hand and cannot be kept as %s: %s", zone, path,
			name, strerror(error));
	errno = error;
	return err;
}
