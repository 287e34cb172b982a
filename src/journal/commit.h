/*
 * commit.h - the two threads of a journal's writer. One writes texts to files
 * of their own, and may take long over it. The other appends all entries to the
 * log that have ended meanwhile, and makes them durable at once.
 */
#ifndef SRC_JOURNAL_COMMIT_H
#define SRC_JOURNAL_COMMIT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/threads.h"
#include "journal/append.h"
#include "journal/jobs.h"

/* Octets that wait for the disk: the journal is full from COMMIT_FULL on, and
 * above COMMIT_WAIT callers with more have to wait. */
#define COMMIT_FULL (4u << 20)
#define COMMIT_WAIT (8u << 20)

struct commit {
	int dirfd;
	int event;           /* an eventfd */
	struct append append; /* of the thread, once it runs */
	struct journal_jobs spooling;
	struct journal_jobs logging;
	struct journal_jobs done;    /* of all kinds but JOB_BLOCK and
				      * JOB_ABANDON */
	struct threads spooler;
	struct threads logger;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t room;
	size_t waiting;      /* octets */
	_Atomic uint64_t syncs;
};

/* Starts the threads. append was prepared and is commit's from now on. Keeps
 * dirfd. returns NSD_OK, NSD_E_MEMORY, NSD_E_SYSTEM with errno. */
enum nsd_err commit_start(struct commit *commit, int dirfd) MUST_USE;
/* Waits until all jobs are done, and ends the threads. */
void commit_stop(struct commit *commit);

/* Gives a job to the thread that it is for. */
void commit_push(struct commit *commit, struct journal_job *job);
bool commit_is_full(struct commit *commit) MUST_USE;
/* Waits while more than COMMIT_WAIT octets wait for the disk. */
void commit_wait_room(struct commit *commit);

/* Takes the jobs that are done; clears the event if there are none. */
void commit_take_done(struct commit *commit, struct cds_list_head *list);

#endif
