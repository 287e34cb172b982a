/*
 * trial.h - runs a function in a process of its own, which may crash, be killed
 * or hang. The caller goes on in any case, and nothing of the trial stays in
 * its memory.
 */
#ifndef BASE_TRIAL_H
#define BASE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Octets of the text of a report, with the NUL. */
#define TRIAL_TEXT_MAX 1024

/* Longer than any trial takes that comes to an end. */
#define TRIAL_MSEC 10000

/* The report of a trial, from a process that may have been taken over. */
struct trial_report {
	uint32_t err; /* enum nsd_err */
	char text[TRIAL_TEXT_MAX];
};

/*
 * The function of a trial, in the new process: writes its report, if any, to
 * text. The process has the descriptors 0 to 2 and the one for the report; it
 * leaves no core, and ends with its parent.
 */
typedef enum nsd_err trial_fn(void *arg, char text[TRIAL_TEXT_MAX]);

/*
 * Forks, runs fn in the new process, and waits for it, at most limit_msec. No
 * process of it is left. For a process of one thread that reaps no children in
 * signal handlers.
 * text: the report, in one line even if that process was taken over; "" after
 * the failures below.
 * returns the result of fn. Or NSD_E_SYSTEM with errno: there is no new
 * process; NSD_E_PEER: it has died; NSD_E_AGAIN: it took too long.
 */
enum nsd_err trial_run(trial_fn *fn, void *arg, int limit_msec,
	char text[TRIAL_TEXT_MAX]) MUST_USE;

/* Waits for a report on a pipe, as trial_run does. Blocks for limit_msec at
 * most. returns as trial_run, but never that there is no process. */
enum nsd_err trial_hear(int from, int limit_msec, char text[TRIAL_TEXT_MAX])
	MUST_USE;
/* Reads a report: returns its code, or NSD_E_PEER if that is no enum nsd_err;
 * text is its text in one line. */
enum nsd_err trial_read(const struct trial_report *report,
	char text[TRIAL_TEXT_MAX]) MUST_USE;

/*
 * True if a process may make a system call. A service manager's filter may kill
 * a process that makes it, so a trial makes it first. call: makes it, and may
 * fail. Without a filter there is no trial.
 */
bool trial_may_call(void (*call)(void));

#endif
