/* reap.h - collects the processes of main that have ended. */
#ifndef MAIN_REAP_H
#define MAIN_REAP_H

#include "main/supervisor.h"

/* Reaps all processes that have ended, and starts their services. Call it on
 * SIGCHLD. */
void reap_children(struct supervisor *s);

#endif
