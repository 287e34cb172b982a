/*
 * verifier_job.h - a version that a program judges: from the start of the
 * program to the verdict.
 */
#ifndef VERIFIER_VERIFIER_JOB_H
#define VERIFIER_VERIFIER_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "dns/name.h"
#include "ipc/message.h"
#include "store/store.h"
#include "verifier/verifier_lines.h"

struct event;
struct event_base;
struct verifier_job;

/* One stream of a program's output. */
struct verifier_stream {
	struct verifier_job *job;
	int fd;              /* -1: none, or it has ended */
	struct event *event;
	enum log_level level;
	struct verifier_lines lines;
};

struct verifier_job {
	struct verifier_job *next;
	/* Set by the owner. */
	struct ipc_verify what;
	uint64_t channel;      /* to the loader that has asked */
	char zone[NAME_TEXT_MAX]; /* the name, as it is configured */
	/* The zone, whose text the program reads: pinned until fed. */
	const struct zone *version;
	struct store_pin pin;
	bool is_pinned;
	/* The job is over: verified is set but for the ticket. May free it. */
	void (*on_end)(struct verifier_job *job,
		const struct ipc_verified *verified);
	/* The zone has been read from the store. */
	void (*on_fed)(struct verifier_job *job);
	void *owner;
	/* private */
	pid_t keeper;  /* 0: the job waits, and has no process */
	int32_t program; /* pid of the program; 0: none was started */
	bool timed_out;
	int report_fd;
	struct event *report_event;
	struct event *late_event; /* the keeper itself hangs */
	int fed_fd;    /* closed on the other side once the zone is read */
	struct event *fed_event;
	struct verifier_stream out, err;
};

/* The means that a job is done with; all borrowed. */
struct verifier_tools {
	struct event_base *base;
	const struct store_view *view;
	char *const *argv;
	int proc_fd; /* see struct keeper_task; sandbox, too */
	const struct sandbox *sandbox;
};

/* Starts the program; on_end comes later. A job that could not be started,
 * without a process, ends in this call. */
void verifier_job_start(struct verifier_job *job,
	const struct verifier_tools *tools);

/* Has a job that was started end soon: on_end comes, with VERDICT_AGAIN. */
void verifier_job_stop(const struct verifier_job *job);
/* Has the zone of such a job read from the store at once: on_fed comes soon,
 * however slow the program reads. */
void verifier_job_hurry(const struct verifier_job *job);

#endif
