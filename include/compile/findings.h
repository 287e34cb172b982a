/*
 * findings.h - diagnostics of a build about its input. Each thread collects its
 * own; at the end all go to the sink in file order.
 */
#ifndef COMPILE_FINDINGS_H
#define COMPILE_FINDINGS_H

#include "base/arena.h"
#include "base/diag.h"
#include "dns/name.h"
#include "dns/rrbatch.h"

/* The most findings of a severity that a thread keeps, and that are told in
 * all. */
#define FINDINGS_KEPT_MAX 1000u
#define FINDING_TEXT_MAX 640u

struct finding {
	struct finding *next;
	enum diag_severity severity;
	uint32_t line;
	uint32_t order;  /* of two at one place the earlier comes first */
	uint16_t file;
	char text[];
};

struct findings {
	struct arena *arena; /* borrowed */
	struct finding *list; /* newest first */
	uint32_t kept[DIAG_ERROR + 1];
	uint32_t count[DIAG_ERROR + 1];
};

/* Notes a finding at a record (NULL: the zone as a whole). It is only counted
 * if there is no memory for it, or FINDINGS_KEPT_MAX are kept already. */
void findings_add(struct findings *findings, enum diag_severity severity,
	const struct rrbatch_rr *rr, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Prints a whole name for a finding. Returns text. */
const char *findings_name_text(const uint8_t *name, char text[NAME_TEXT_MAX]);

/* Emits the findings of all lists, ordered by file and line. Errors in files
 * without a name are told without one. */
void findings_emit(struct findings *const *lists, size_t count,
	const char *const *files, size_t file_count, struct diag_sink *sink);

#endif
