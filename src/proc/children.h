/* children.h - starting, watching and replacing the processes of main. */
#ifndef PROC_CHILDREN_H
#define PROC_CHILDREN_H

#include "proc/supervisor.h"

/* Fills a post now: forks a process for the generation. In the child this
 * does not return. A failure is a line in the log and another try later. */
void post_fill(struct post *post, struct generation *generation);

/* Fills it after a pause that grows with each failure in a row. */
void post_fill_later(struct post *post);

/* Replaces the process in a post by one for the serving generation; a worker
 * serves until its successor does. */
void post_roll(struct post *post);

/* A worker reads its sockets from now on. */
void post_on_serving(struct post *post);

/* Ends processes that have died; once a signal said so. */
void children_reap(struct supervisor *s);

/* Sends to every child whose role receives it. */
void children_tell(struct supervisor *s, enum ipc_type type, const int *fds,
	unsigned fd_count);
/* Tells one, or all, to end; kills those that do not within 15 s. */
void child_stop(struct child *child);
void children_stop(struct supervisor *s);
void children_kill(struct supervisor *s);
unsigned children_count(const struct supervisor *s);

/* Sends to one. What fails is a line in the log, but not that it has died:
 * that is seen to when it is reaped. */
enum nsd_err child_send(struct child *child, enum ipc_type type,
	const void *payload, size_t len, const int *fds, unsigned fd_count);

/* Frees a generation if nobody uses it any more. */
void generation_release(struct supervisor *s, struct generation *g);

/* supervisor.c: a message of a child, or the end of its channel. */
void supervisor_on_message(struct supervisor *s, struct child *child,
	const struct ipc_message *m);
/* supervisor.c: at a stop a loader has ended that was not done. */
void supervisor_on_loader_lost(struct supervisor *s);
/* supervisor.c: nobody uses the store of a damaged database any more. */
void supervisor_keep_file(struct supervisor *s, struct store *store);

#endif
