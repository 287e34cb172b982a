/*
 * migrate.h - differences of a configuration of NSD 4 in this server
 * (nsd-checkconf --migrate).
 */
#ifndef CONF_MIGRATE_H
#define CONF_MIGRATE_H

#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "conf/conf.h"

/* From the least to the most that an operator has to do. */
enum conf_migrate_kind {
	CONF_MIGRATE_TAKEN_OVER, /* a file of NSD 4 is used */
	CONF_MIGRATE_ONLY_HERE,  /* an option that no NSD 4 knows: it has to go
				  * before a return */
	CONF_MIGRATE_NO_EFFECT,  /* an option that nobody needs here */
	CONF_MIGRATE_DIFFERS,    /* an option that does something else */
	CONF_MIGRATE_TO_DO,      /* a loss or a failure, unless it is seen
				  * to */
	CONF_MIGRATE_KINDS,
};

struct conf_migrate_note {
	enum conf_migrate_kind kind;
	const char *file;   /* never NULL */
	uint32_t line;      /* 0: the file as a whole */
	const char *option; /* NULL: of no option */
	const char *zone;   /* as written; NULL: of no zone */
	const char *text;
	uint32_t more;      /* further lines, or zones, that it holds for */
};

struct conf_migrate_reader {
	void *ctx;
	/* Takes a note, which is lent for the call. */
	void (*on_note)(void *ctx, const struct conf_migrate_note *note);
};

/*
 * Reads a configuration as conf_load does, and gives the reader notes: of
 * options by the order of their lines, one for each line where something is to
 * do, else one for the first line; then of the whole.
 * in: path, sink as conf_load.
 * returns as conf_load. With NSD_E_SYNTAX there are notes, too, of what could
 *     be read.
 */
enum nsd_err conf_migrate(const char *path, struct diag_sink *sink,
	const struct conf_migrate_reader *reader, struct conf **conf) MUST_USE;

#endif
