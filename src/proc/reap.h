/* reap.h - the ends of main's processes. */
#ifndef PROC_REAP_H
#define PROC_REAP_H

#include "proc/supervisor.h"

/* Sees to all processes that have died, and has others take their posts. To be
 * called once a signal says so. */
void reap_children(struct supervisor *s);

#endif
