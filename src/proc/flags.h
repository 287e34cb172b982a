/* flags.h - the command line of nsd (SURFACE section 2.1). */
#ifndef PROC_FLAGS_H
#define PROC_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"

/* Strings are copies, NULL: not given; numbers -1: not given. */
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
	int64_t port;
	int64_t server_count;
	int64_t statistics;
	int64_t tcp_count;
	int64_t verbosity;
	const char **addresses;
	unsigned address_count;
};

enum flags_outcome { FLAGS_RUN, FLAGS_EXIT_OK, FLAGS_EXIT_FAILURE };

/* Reads the arguments; says on stderr what is to be said. */
enum flags_outcome flags_parse(int argc, char **argv, struct flags *flags);

/* Folds the flags into the configuration: flags win. Wrong ones are reported
 * in the log: NSD_E_SYNTAX. conf refers to the flags' strings from then on. */
enum nsd_err flags_apply(const struct flags *flags, struct conf *conf)
	MUST_USE;

#endif
