/* flags.h - the command line of nsd (doc/surface.md section 2.1). */
#ifndef MAIN_FLAGS_H
#define MAIN_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"

#define FLAGS_MAX 32 /* rows of the table in flags.c */

/* Flags of the command line; the strings are those of argv. Only the table in
 * flags.c knows which option a flag stands for. */
struct flags {
	const char *config;
	bool given[FLAGS_MAX];
	const char *texts[FLAGS_MAX]; /* NULL: not given, or takes none */
	int64_t numbers[FLAGS_MAX];   /* of those that are a number */
	const char **addresses;       /* -a */
	unsigned address_count;
	size_t address_room;
	/* Made by flags_apply. */
	struct conf_interface *interfaces;
	uint8_t *nsid_data;
};

enum flags_outcome { FLAGS_RUN, FLAGS_EXIT_OK, FLAGS_EXIT_FAILURE };

/* Reads the arguments, and keeps them. Prints errors, or text that was asked
 * for, on stderr. Release with flags_fini. */
enum flags_outcome flags_parse(int argc, char **argv, struct flags *flags);

/* Puts the flags into the configuration, where they win. From then on conf
 * refers to memory of the flags. Once for each struct flags. returns NSD_OK;
 * NSD_E_SYNTAX: a flag has a wrong value, said in the log; NSD_E_MEMORY. */
enum nsd_err flags_apply(struct flags *flags, struct conf *conf) MUST_USE;
void flags_fini(struct flags *flags);

#endif
