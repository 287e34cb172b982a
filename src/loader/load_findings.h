/* load_findings.h - findings about a zone file, as lines of the log: the first
 * ones, and where to see the rest. */
#ifndef LOADER_LOAD_FINDINGS_H
#define LOADER_LOAD_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/*
 * A sink that counts findings. It writes to the log
 *     at verbosity 0: the first error, and no warning;
 *     at verbosity 1: 50 errors and 50 warnings;
 *     at verbosity 2 and above: all that it gets.
 * It keeps the first errors, for the one who has asked for the file to be read.
 */
#define LOAD_FINDINGS_TEXT_MAX 1024
struct load_findings {
	struct diag_sink sink; /* first */
	uint32_t shown[DIAG_ERROR + 1];
	size_t len;                   /* of text */
	char text[LOAD_FINDINGS_TEXT_MAX]; /* the first errors, a line each */
};

void load_findings_init(struct load_findings *findings);

/* The file is read from its start once more: counts anew. sink: of a struct
 * load_findings. */
void load_findings_restart(struct diag_sink *sink);

/* After the zone has failed: `zone ZONE file PATH read with N errors`. The line
 * says what shows them all, if the log does not. */
void load_findings_log_failure(const struct load_findings *findings,
	const char *zone, const char *path);

/* After the zone was read: a line, if it has warnings that were not shown. */
void load_findings_log_warnings(const struct load_findings *findings,
	const char *zone, const char *path);

#endif
