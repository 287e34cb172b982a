/* writer_edited.h - keeps zone files that an operator has edited, and that the
 * server has not read. */
#ifndef WRITER_WRITER_EDITED_H
#define WRITER_WRITER_EDITED_H

#include <limits.h>

#include "base/err.h"

struct zone_sources;

/* A file of a zone that takes updates. zone: name of the zone; sources: state
 * of the file that the server has read or written, NULL: none. Borrowed. */
struct writer_edited {
	const char *zone;
	const char *path;
	const struct zone_sources *sources;
};

/*
 * Finds under which name an edited file is kept when its zone is written, and
 * logs it. ctx: a struct writer_edited.
 *
 * returns NSD_OK and the name, which no file has, unless ten have such names;
 *     empty: the file is the server's, or none is there. NSD_E_SYSTEM with
 *     errno: the file cannot be kept. Logged.
 */
enum nsd_err writer_edited_find(void *ctx, char name[PATH_MAX]) MUST_USE;

#endif
