/*
 * command.h - the line of a client that has its command:
 *
 *	NSDCT1 WORD...
 *
 * Words are separated by spaces or tabs. Between NSDCT1 and the verb there may
 * be flags of ours: "--no-wait" (do not wait until it is done) and "-j" (JSON).
 */
#ifndef CTL_COMMAND_H
#define CTL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "ctl/verbs.h"

#define CTL_MAGIC "NSDCT1"
/* Octets of a line, its end included. */
#define CTL_LINE_MAX 8192u
/* Arguments of a verb, not counting it, its flags and NSDCT1; a line with more
 * is no command. */
#define CTL_WORDS_MAX 16u
/* A line of this octet alone ends the lines that follow a command. */
#define CTL_LINES_END '\x04'

struct ctl_command {
	enum ctl_verb verb;
	bool no_wait;
	bool json;
	unsigned count;         /* of arguments, behind the verb */
	const char *arguments[CTL_WORDS_MAX];
};

/* Room for an error's line. */
#define CTL_ERROR_MAX 256

/*
 * Takes a line apart. line: NUL-terminated, without its end; its spaces are
 * overwritten, and *command refers to it. len: octets of it: a NUL within it is
 * an error.
 * returns NSD_OK; NSD_E_SYNTAX, and error is the line that the client gets,
 * without its end.
 */
enum nsd_err ctl_command_parse(char *line, size_t len,
	struct ctl_command *command, char error[CTL_ERROR_MAX]) MUST_USE;

#endif
