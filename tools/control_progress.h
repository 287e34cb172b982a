/*
 * control_progress.h - nsd-control -v: shows how far a command is, on stderr.
 *
 * It asks the server on a connection of its own (progress), so nothing of the
 * command and its answer is other than without -v. A server that does not know
 * that verb, as NSD 4, is not asked again: then it shows how long it takes.
 */
#ifndef CONTROL_PROGRESS_H
#define CONTROL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"

/* The time between two reports. */
#define CONTROL_PROGRESS_MSEC 500u

/* Zeroed, but for the first three: kept as long as it is used. */
struct control_progress {
	const char *server; /* as -s has it, or NULL */
	const struct conf *conf;
	char **words;       /* of the command, ended by NULL */
	int64_t begun_msec; /* 0: not yet */
	int64_t told_msec;  /* in a line, where there is no terminal */
	bool unknown;       /* the server does not know */
	bool drawn;         /* a bar stands on the terminal */
};

/* Shows the progress: a bar on a terminal; else a line, some seconds apart. */
void control_progress_show(struct control_progress *progress);
/* Removes the bar: other text is to come. */
void control_progress_clear(struct control_progress *progress);

#endif
