/* reap.h - collects the processes of main that have ended. */
#ifndef PROC_REAP_H
#define PROC_REAP_H

#include "proc/supervisor.h"

/* Reaps all processes that have ended, and fills their posts. Call it on
 * SIGCHLD. */
void reap_children(struct supervisor *s);

#endif
