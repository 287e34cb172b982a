/* writer_edited.h - keeps zone files that an operator has edited, and that the
 * server has not read. */
#ifndef WRITER_WRITER_EDITED_H
#define WRITER_WRITER_EDITED_H

#include <limits.h>

#include "base/err.h"

struct zone_sources;

/*
 * Finds under which name the file at path is kept when a zone that takes
 * updates is written, and logs it. zone: its name; sources: what the server has
 * read or written; NULL: nothing. Borrows the arguments.
 *
 * returns NSD_OK and the name, which no file has; empty: the file is the
 *     server's, or none is there. NSD_E_SYSTEM with errno: the file cannot be
 *     kept; EEXIST: too many are. Logged.
 */
enum nsd_err writer_edited_keep(const char *zone, const char *path,
	const struct zone_sources *sources, char name[PATH_MAX]) MUST_USE;

#endif
