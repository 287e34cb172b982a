/* service.h - the services of main: each is a process of a role that main keeps
 * running, by starting another one when it dies. */
#ifndef MAIN_SERVICE_H
#define MAIN_SERVICE_H

#include "main/supervisor.h"

/* A process that has lived for this long has not failed at its start. */
#define SERVICE_LIVED_WELL_MSEC 60000

/* Prepares a service without a process, with its timer. False: no memory. */
bool service_init(struct service *service, struct supervisor *s,
	enum ipc_role role,
	unsigned index) MUST_USE;

/* Forks a process of a service, for the generation. In the new process this
 * does not return. A failure is logged, and a timer is set to try again. */
void service_start(struct service *service, struct generation *generation);

/* Starts a service after a pause that grows with each failure in a row. */
void service_start_later(struct service *service);

/* If no worker serves, shortens the pauses of workers to a fraction of a
 * second: they were chosen while a worker served. */
void service_hurry(struct supervisor *s);

/* Starts the loader, for the store that generation_choose chooses. */
void service_start_loader(struct supervisor *s);

/* At a stop: if the loader has died and a database file is still open, forks
 * one more loader, as only a loader can close that file. */
void service_start_to_close(struct supervisor *s);

/* Xfrd has zones to write: starts the writer unless it runs; later, if the last
 * writer ended less than a pause ago. Also at a stop. */
void service_want_writer(struct supervisor *s);
/* The loader has versions to be judged: starts a verifier for its store, unless
 * there is one that it talks to. Does nothing at a stop. */
void service_want_verifier(struct supervisor *s);
/* The writer or the verifier has ended: none runs until it is wanted. status:
 * of waitpid. */
void service_rest(struct service *service, const struct child *lost,
	int status);
/* At a stop: forks a writer, as xfrd may have zones to write. It asks for
 * another one itself if that ends too early. */
void service_start_to_write(struct supervisor *s);

/*
 * Starts a service whose process has died (reaped, not freed yet), unless the
 * server stops. A worker that had read from its sockets may have died of a
 * message: its standby process or a new one replaces it at once. Other
 * processes are replaced after a pause, if they were not told to end.
 */
void service_respawn(struct service *service, const struct child *lost);

/* The standby process of a service has ended (reaped, not freed yet): forks
 * another one if the service still wants one. */
void service_lose_next(struct service *service, const struct child *lost);

/* Replaces the process in a service by one for the serving generation. A worker
 * serves until its successor does. Does nothing at a stop: a new process would
 * not be told to end. */
void service_restart(struct service *service);

/* Returns a worker that serves: the first one from this index on, where the
 * first worker follows the last. NULL: none serves. */
struct child *service_find_server(const struct supervisor *s, unsigned first);

/* The service's current worker reads its sockets from now on: ends the one that
 * it replaces, and takes lent sockets back. */
void service_on_serving(struct service *service);

/*
 * A worker has died that may have served lent sockets of other services: lends
 * these to another worker, unless this one crashed. Then the clients of these
 * sockets may have caused the crash, and must not reach a third worker. True:
 * it crashed, and had sockets of others.
 */
bool service_drop_adopter(struct supervisor *s, const struct child *adopter,
	bool crashed);

#endif
