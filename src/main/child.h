/* child.h - one process of main: its channel, and telling it to end. */
#ifndef MAIN_CHILD_H
#define MAIN_CHILD_H

#include "main/supervisor.h"

/* Roles that are there only while there is work for them. */
#define CHILD_ON_DEMAND (ROLE_WRITER | ROLE_VERIFIER)

/* Returns a child for a service, not forked yet and without a channel; NULL: no
 * memory or descriptor. child_unwatch and free() it. */
struct child *child_create(struct service *service,
	struct generation *generation);

/* The name of a child in the log, lent until the next call. */
const char *child_name(const struct child *child);

/* Reads the channel of a child from now on: messages go to supervisor.handlers.
 * Maps its page (process/child_page.h). False: no memory. Undo with
 * child_unwatch, in either case. */
bool child_watch(struct child *child) MUST_USE;
/* In main, once the child is forked: later children do not inherit the child's
 * page, and main can only read it. */
void child_keep_page(struct child *child);
void child_unwatch(struct child *child);

/*
 * Sends a message to a child; borrows all. Does not block: a message that the
 * channel has no room for waits (link_send) and is sent once the child reads.
 * So a child that lives gets every message; a child that would miss one,
 * because too much waits or memory is short, is killed, and the log says so.
 * The log says nothing here of a child that has died: reap_children does.
 * returns NSD_OK; NSD_E_PEER: the child has died; NSD_E_BUG: message.h does not
 * allow the message; NSD_E_LIMIT, NSD_E_MEMORY, NSD_E_SYSTEM: it was killed.
 */
enum nsd_err child_send(struct child *child, enum ipc_type type,
	const void *payload, size_t len, const int *fds, unsigned fd_count);

/* Tells a child to end by its eventfd, however full its channel is. Messages
 * that wait for it are dropped, but for DATABASE. A timer kills the child if it
 * does not end within 15 s (an xfrd that shows a heartbeat: 75 s; a loader that
 * keeps a file: 90 s; a writer while the server runs: an hour). */
void child_stop(struct child *child);
/* Kills a child, whatever user it runs as. */
void child_kill(const struct child *child);
/* The same, and no successor takes up its unfinished work. */
void child_give_up(struct child *child);

/* Logs how a child ended (status: of waitpid), unless it was told to end, or
 * many others have ended just now (ends.h). */
void child_log_end(const struct child *child, int status);

/* A child is reaped: sets reaped and has_read. */
void child_note_end(struct child *child);

#endif
