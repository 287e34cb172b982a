/* post.h - the posts of main: each is a place that main keeps filled with a
 * process of a role. */
#ifndef MAIN_POST_H
#define MAIN_POST_H

#include "main/supervisor.h"

/* A process that has lived for this long has not failed at its start. */
#define POST_LIVED_WELL_MSEC 60000

/* Prepares an empty post, with its timer. False: no memory. */
bool post_init(struct post *post, struct supervisor *s, enum ipc_role role,
	unsigned index) MUST_USE;

/* Forks a process for the generation into a post. In the new process this does
 * not return. A failure is logged, and a timer is set to try again. */
void post_fill(struct post *post, struct generation *generation);

/* Fills a post after a pause that grows with each failure in a row. */
void post_fill_later(struct post *post);

/* If no worker serves, shortens the pauses of workers' posts to a fraction of a
 * second: they were chosen while a worker served. */
void post_hurry(struct supervisor *s);

/* Fills the post of the loader, for the store that generation_choose
 * chooses. */
void post_fill_loader(struct supervisor *s);

/* At a stop: if the loader has died and a database file is still open, forks
 * one more loader, as only a loader can close that file. */
void post_fill_to_close(struct supervisor *s);

/* Xfrd has zones to write: fills the post of the writer unless it is filled;
 * later, if the last writer ended less than a pause ago. Also at a stop. */
void post_want_writer(struct supervisor *s);
/* The writer has ended: its post stays empty until post_want_writer. status:
 * of waitpid. */
void post_rest_writer(struct post *post, const struct child *lost, int status);
/* At a stop: forks a writer, as xfrd may have zones to write. It asks for
 * another one itself if that ends too early. */
void post_fill_to_write(struct supervisor *s);

/*
 * Fills a post whose process has died (reaped, not freed yet), unless the
 * server stops. A worker that had read from its sockets may have died of a
 * message: its standby process or a new one replaces it at once. Other
 * processes are replaced after a pause, if they were not told to end.
 */
void post_refill(struct post *post, const struct child *lost);

/* The standby process of a post has ended (reaped, not freed yet): forks
 * another one if the post still wants one. */
void post_lose_next(struct post *post, const struct child *lost);

/* Replaces the process in a post by one for the serving generation. A worker
 * serves until its successor does. Does nothing at a stop: nobody would tell
 * a new process to end. */
void post_roll(struct post *post);

/* Returns a worker that serves, or NULL. */
struct child *post_find_server(const struct supervisor *s);

/* The post's current worker reads its sockets from now on: ends the one that it
 * replaces, and takes lent sockets back. */
void post_on_serving(struct post *post);

/*
 * A worker has died that may have served lent sockets of other posts: lends
 * these to another worker, unless this one crashed. Then the clients of these
 * sockets may have caused the crash, and must not reach a third worker. True:
 * it crashed, and had sockets of others.
 */
bool post_drop_adopter(struct supervisor *s, const struct child *adopter,
	bool crashed);

#endif
