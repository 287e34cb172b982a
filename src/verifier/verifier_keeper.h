/*
 * verifier_keeper.h - the process between the verifier and one program: starts
 * the program, ends it when its time is up, and leaves nothing of it behind.
 *
 * The keeper is the subreaper of all that the program starts, daemons as well,
 * so it finds them when the program has ended. It dies after the verifier, or
 * when it is told to by SIGTERM. SIGUSR1 goes on to the process that feeds the
 * program (verifier_feed.h).
 */
#ifndef VERIFIER_VERIFIER_KEEPER_H
#define VERIFIER_VERIFIER_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

struct sandbox;
struct verifier_feed;

/* The reports of a keeper, in this order: KEEPER_STARTED or KEEPER_FAILED; then
 * the end of a program that was started. */
enum keeper_what {
	KEEPER_STARTED,   /* value: the pid */
	KEEPER_FAILED,    /* value: errno; also after KEEPER_STARTED: the zone
			   * could not be written to the program, which was
			   * killed */
	KEEPER_TIMED_OUT, /* KEEPER_ENDED follows */
	KEEPER_ENDED,     /* value: the status, of waitpid */
	KEEPER_STOPPED,   /* the keeper was told to end it */
};
struct keeper_report {
	uint32_t what; /* enum keeper_what */
	int32_t value;
};

struct keeper_task {
	char *const *argv;
	const char *zone;     /* name of the zone */
	uint32_t timeout_sec; /* 0: none */
	int report_fd;        /* for struct keeper_report */
	int out_fd, err_fd;   /* for the program's output */
	int proc_fd;          /* /proc; -1: there is none: processes that leave
			       * the program's group are not found */
	const struct verifier_feed *feed; /* NULL: the program reads nothing */
	const struct sandbox *sandbox; /* NULL: the program may signal all that
				* its user may */
};

/* In a new process, whose parent is verifier: does the task and ends. */
_Noreturn void verifier_keeper_run(const struct keeper_task *task,
	int64_t verifier);

/* Kills all children of this process but those listed: pids of count processes.
 * False: it cannot be seen whether there are any. */
bool verifier_keeper_kill_children(int proc_fd, const int64_t *but,
	unsigned count);

#endif
