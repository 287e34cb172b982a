/* daemon.h - going into the background, once it is known that all is well. */
#ifndef MAIN_DAEMON_H
#define MAIN_DAEMON_H

#include <stdbool.h>

#include "base/err.h"

struct daemon_start {
	int ready_fd; /* to the process that waits; -1: foreground */
	int null_fd;  /* /dev/null, which a chroot may not have */
};

/*
 * Forks, unless in the foreground. The parent stays until the child calls
 * daemon_ready, and then exits with 0; if the child ends before, with 1. The
 * child returns, in a session of its own. NSD_E_SYSTEM: a pipe, /dev/null, a
 * fork or a session cannot be had; said in the log.
 */
enum nsd_err daemon_start(struct daemon_start *start, bool foreground)
	MUST_USE;

/* Lets the parent go, and the terminal too. */
void daemon_ready(struct daemon_start *start);
/* In a child of that process: the terminal is let go, the parent waits on. */
void daemon_leave(struct daemon_start *start);

#endif
