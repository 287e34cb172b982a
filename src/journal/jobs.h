/*
 * jobs.h - jobs of the threads of a journal's writer, and queues of jobs.
 */
#ifndef SRC_JOURNAL_JOBS_H
#define SRC_JOURNAL_JOBS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/list.h"
#include "journal/format.h"
#include "journal/spool.h"

enum job_kind {
	JOB_BLOCK,          /* a block of a text goes to its file */
	JOB_ABANDON,        /* a text with a file is thrown away */
	JOB_TEXT,           /* an entry has ended */
	JOB_DEAD,           /* entries are not live any more, or are judged */
	JOB_COPY,           /* an entry moves to the end of the log */
	JOB_REMOVE_SEGMENT, /* the file goes, once the jobs before are
			     * durable */
	JOB_REMOVE_FILE,
};

/* A text that has outgrown its buffer. From its first block to its end it is
 * the spooling thread's, but for `failed`. */
struct journal_text {
	struct spool spool;
	enum nsd_err err;
	_Atomic int failed; /* errno of a failure; 0: none */
};

struct journal_job {
	struct cds_list_head node;
	struct cds_list_head pending; /* JOB_TEXT: of the loop */
	enum job_kind kind;
	bool unwanted;                /* JOB_TEXT: of the loop */
	enum nsd_err err;
	int error;                    /* errno */
	struct format_head head;      /* the record to append, then its place */
	struct journal_entry from;    /* JOB_COPY: where it was */
	struct journal_text *text;        /* NULL: the whole text is in data */
	uint8_t *data;                /* the last octets of a text */
	size_t len;
	size_t weight;                /* octets that wait with it */
	char source[];
};

/* A queue between threads. */
struct journal_jobs {
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct cds_list_head list;
	bool ended;
};

/* A job, all zero; source_room octets are behind it. NULL: without memory. */
struct journal_job *jobs_create(enum job_kind kind, size_t source_room)
	MUST_USE;
/* Frees a job with its data; its text has ended. NULL is fine. */
void jobs_destroy(struct journal_job *job);

void jobs_init(struct journal_jobs *jobs);
/* Frees the queue with its jobs. */
void jobs_fini(struct journal_jobs *jobs);

void jobs_push(struct journal_jobs *jobs, struct journal_job *job);
/* Appends a list, which is empty then. */
void jobs_push_all(struct journal_jobs *jobs, struct cds_list_head *list);
/* Moves all jobs to the end of a list; with wait, waits until there is one.
 * False: the queue has ended and is empty. */
bool jobs_take(struct journal_jobs *jobs, bool wait,
	struct cds_list_head *list);
/* Ends the queue: no more jobs will come. */
void jobs_end(struct journal_jobs *jobs);

#endif
