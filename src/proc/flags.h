/* flags.h - the command line of nsd (doc/surface.md section 2.1). */
#ifndef PROC_FLAGS_H
#define PROC_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"

/* Strings are those of argv, NULL: not given; numbers -1: not given. */
struct flags {
	bool only_ip4;
	bool only_ip6;
	bool foreground;
	const char *config;
	const char *chroot;
	const char *identity;
	const char *logfile;
	const char *nsid;
	const char *pidfile;
	const char *username;
	int64_t debug_level; /* -L, with --enable-checking only */
	int64_t port;
	int64_t server_count;
	int64_t statistics;
	int64_t tcp_count;
	int64_t verbosity;
	const char **addresses;
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
