/* post.h - the posts of main: roles that are always to be filled by a
 * process. */
#ifndef PROC_POST_H
#define PROC_POST_H

#include "proc/supervisor.h"

/* A process that has lived this long does not fail at its start. */
#define POST_LIVED_WELL_MSEC 60000

/* Prepares an empty post, with its timer. False: no memory. */
bool post_init(struct post *post, struct supervisor *s, enum ipc_role role,
	unsigned index) MUST_USE;

/* Fills a post now: forks a process for the generation. In the new process this
 * does not return. A failure is said in the log, and tried again later. */
void post_fill(struct post *post, struct generation *generation);

/* Fills it after a pause that grows with each failure in a row. */
void post_fill_later(struct post *post);

/* Ends the pauses of workers' posts, but for a moment, if no worker serves.
 * They were chosen while one did. */
void post_hurry(struct supervisor *s);

/* Fills the post of the loader, with the store that it is to have. */
void post_fill_loader(struct supervisor *s);

/* At a stop: only a loader can close the file of a store. If there is none,
 * because the last one has died, fills its post once more for that. */
void post_fill_to_close(struct supervisor *s);

/* Xfrd has zones to write: fills the post of the writer, unless it is filled,
 * or another writer has only just ended; then a little later. */
void post_want_writer(struct supervisor *s);
/* The post of the writer has lost its process, and stays empty until there is
 * something to write. status: of waitpid. */
void post_rest_writer(struct post *post, const struct child *lost, int status);
/* At a stop: xfrd may have zones to write, and cannot ask any more. */
void post_fill_to_write(struct supervisor *s);

/*
 * A post has lost its process, which is reaped and not freed yet: another one
 * takes the post, unless all are to end. A worker that has turned to its
 * clients may have died of what they sent: who stands by serves at once, or a
 * new process does. Else there is a pause.
 */
void post_refill(struct post *post, const struct child *lost);

/* Who stood by in it has ended, is reaped and not freed yet. */
void post_lose_next(struct post *post, const struct child *lost);

/* Replaces the process in a post by one for the serving generation. A worker
 * serves until its successor does. Does nothing at a stop: nobody would tell
 * a new process to end. */
void post_roll(struct post *post);

/* A worker reads its sockets from now on. */
void post_on_serving(struct post *post);

/*
 * A worker has died, and with it what it did for other posts: their sockets are
 * lent to another one. If it crashed, they are not: what their clients send may
 * have been the reason, and it is to reach no third. True: it crashed, and had
 * sockets of others.
 */
bool post_drop_adopter(struct supervisor *s, const struct child *adopter,
	bool crashed);

#endif
