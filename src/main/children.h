/* children.h - all processes of main at once. */
#ifndef MAIN_CHILDREN_H
#define MAIN_CHILDREN_H

#include "main/supervisor.h"

/* Calls fn for each child that there is. */
void children_walk(struct supervisor *s,
	void (*fn)(struct child *child, void *arg), void *arg);

/* Sends a message with nothing in it to every child whose role receives it. */
void children_tell(struct supervisor *s, enum ipc_type type);
/* Tells all to end (child_stop). */
void children_stop(struct supervisor *s);
/* Kills the workers, which are not replaced. */
void children_kill_workers(struct supervisor *s);
unsigned children_count(const struct supervisor *s);

/* True if there is a worker, whether it serves or not. */
bool children_have_worker(const struct supervisor *s);
/* True if a worker serves, as far as is known: not one whose heartbeat is
 * overdue and that is stopped, asleep or traced (watch.h). */
bool children_serve(const struct supervisor *s);

#endif
