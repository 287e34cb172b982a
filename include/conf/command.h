/*
 * command.h - the programs that judge new versions of zones: the clause
 * verify: and the options verify-zone, verifier, verifier-feed-zone and
 * verifier-timeout (doc/surface.md 1.4).
 */
#ifndef CONF_COMMAND_H
#define CONF_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/conf.h"

/* How a version of a zone is judged by a program. */
struct conf_judging {
	const struct conf_strings *command; /* with its arguments; lent by the
					     * configuration */
	bool feed;            /* the program reads the zone */
	uint32_t timeout_sec; /* 0: none */
};

/* Finds how versions of zones with these options are judged. False: they are
 * not. */
bool conf_find_judging(const struct conf *conf,
	const struct conf_pattern *options, struct conf_judging *judging);

/* A number that stands for a command: equal for equal arguments, and else equal
 * with a probability of 2^-64. The same in all processes of a program. Linear
 * in octets. */
uint64_t conf_command_sum(const struct conf_strings *command);

/* All commands of a configuration. */
struct conf_command {
	uint64_t sum;
	char **argv; /* a NULL ends it */
};
struct conf_commands {
	size_t count;
	struct conf_command *items; /* by sum */
};

/*
 * Collects the commands of the clause, the patterns and the zones of a
 * configuration that still has its zones. Nothing of it is kept.
 * returns NSD_OK and gives *commands, to be released with
 * conf_commands_destroy; NSD_E_MEMORY.
 * cost: linear in zones; quadratic, for a few octets, in different commands.
 */
enum nsd_err conf_commands_collect(const struct conf *conf,
	struct conf_commands **commands) MUST_USE;
/* NULL is fine. */
void conf_commands_destroy(struct conf_commands *commands);

/* Finds the arguments of a command; NULL: it is not configured. Lent. NULL for
 * commands is fine. */
char *const *conf_commands_find(const struct conf_commands *commands,
	uint64_t sum);

/* True if both have the same commands. NULL is fine. */
bool conf_commands_are_same(const struct conf_commands *a,
	const struct conf_commands *b);

#endif
