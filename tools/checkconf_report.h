/* checkconf_report.h - prints the report of nsd-checkconf --migrate. */
#ifndef CHECKCONF_REPORT_H
#define CHECKCONF_REPORT_H

#include <stdbool.h>

#include "base/diag.h"
#include "conf/migrate.h"

/* Exit codes of a report; 1 is a wrong use of the program. */
#define CHECKCONF_BAD_CONF 2
#define CHECKCONF_TO_DO 3

struct checkconf_report {
	struct diag_sink sink; /* first: errors and warnings are lines, too */
	bool json;             /* set by the caller, as is the next one */
	const char *file;      /* nsd.conf */
	bool begun;            /* a line was printed */
	unsigned errors;
	unsigned counts[CONF_MIGRATE_KINDS];
};

/* Prepares a report whose json and file are set, and prints its head. */
void checkconf_report_begin(struct checkconf_report *report);
/* Prints a note and counts it. */
void checkconf_report_note(void *report, const struct conf_migrate_note *note);
/* Prints the counts. Returns the exit code: 0: there is nothing to do, or as
 * above. */
int checkconf_report_end(struct checkconf_report *report);

#endif
