/* flags.h - the command line of nsd (doc/surface.md section 2.1). */
#ifndef PROC_FLAGS_H
#define PROC_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"

#define FLAGS_MAX 32 /* rows of the table in flags.c */

/* What stood in argv, which the strings are of. Which option a flag stands for
 * is in the table of flags.c alone. */
struct flags {
	const char *config;
	bool given[FLAGS_MAX];
	const char *texts[FLAGS_MAX]; /* NULL: not given, or takes none */
	int64_t numbers[FLAGS_MAX];   /* of those that are a number */
	const char **addresses;       /* -a */
	unsigned address_count;
	/* Made by flags_apply. */
	struct conf_interface *interfaces;
	uint8_t *nsid_data;
};

enum flags_outcome { FLAGS_RUN, FLAGS_EXIT_OK, FLAGS_EXIT_FAILURE };

/* Reads the arguments, which are kept; says on stderr what is to be said.
 * Release with flags_fini. */
enum flags_outcome flags_parse(int argc, char **argv, struct flags *flags);

/* Folds the flags into the configuration: flags win. Wrong ones are reported
 * in the log: NSD_E_SYNTAX. conf refers to what
 * the flags hold from then on: once for each struct flags. */
enum nsd_err flags_apply(struct flags *flags, struct conf *conf) MUST_USE;
void flags_fini(struct flags *flags);

#endif
