/* introduce.h - main makes its children known to each other. */
#ifndef MAIN_INTRODUCE_H
#define MAIN_INTRODUCE_H

#include "main/supervisor.h"

/* A process was forked: gives it and those that it talks to directly a channel
 * each. xfrd talks to the loader and to all workers, others to xfrd alone. */
void introduce_child(struct supervisor *s, struct child *child);

/* A process has died, and is reaped: tells those that it talked to. */
void introduce_end(struct supervisor *s, const struct child *child);

#endif
