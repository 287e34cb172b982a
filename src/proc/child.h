/* child.h - one process of main: its channel, and telling it to end. */
#ifndef PROC_CHILD_H
#define PROC_CHILD_H

#include "proc/supervisor.h"

/* Returns a child for a post, not forked yet and without a channel; NULL: no
 * memory or descriptor. child_unwatch and free() it. */
struct child *child_create(struct post *post, struct generation *generation);

/* Its name in the log, lent until the next call. */
const char *child_name(const struct child *child);

/* Reads its channel from now on: messages go to supervisor.handlers. Makes what
 * it has in hand. False: no memory. Undo with child_unwatch, in either case. */
bool child_watch(struct child *child) MUST_USE;
/* In main, once the child is forked: nobody else gets what it has in hand, and
 * main only reads it. */
void child_keep_hand(struct child *child);
void child_unwatch(struct child *child);

/*
 * Sends to a child; borrows all. Does not block: what it has no room for waits
 * (link_send), and is sent once it reads. So a child that lives hears of
 * everything. One that would not is killed: too much waits for it, or there is
 * no memory. That is said in the log; that it has died is not: its death is
 * seen to when it is reaped.
 * returns NSD_OK; NSD_E_PEER: it has died; NSD_E_BUG: message.h does not allow
 * it; NSD_E_LIMIT, NSD_E_MEMORY, NSD_E_SYSTEM: it is killed.
 */
enum nsd_err child_send(struct child *child, enum ipc_type type,
	const void *payload, size_t len, const int *fds, unsigned fd_count);

/* Tells it to end, by an event of its own: however full its channel is. What
 * waits for it is forgotten, but for DATABASE. Kills it if it does not end
 * within 15 s (a loader that keeps a file: 90 s; a writer while the server
 * runs: an hour). */
void child_stop(struct child *child);
/* Kills it, whoever its user is. */
void child_kill(const struct child *child);
/* The same, and nobody is to try again what it did not get done. */
void child_give_up(struct child *child);

/* Says in the log how it ended (status: of waitpid), unless it was told to, or
 * many do (ends.h). */
void child_log_end(const struct child *child, int status);

/* It is reaped: sets what its end says of it. */
void child_note_end(struct child *child);

#endif
