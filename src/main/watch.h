/*
 * watch.h - finds children that hang. Each raises a word that it shares with
 * main alone, its heartbeat, whenever its loop turns; main looks at all of them
 * four times a second. Silence alone proves nothing, for a busy machine has no
 * processor to spare: see doc/decisions/0062-hung-processes.md.
 */
#ifndef MAIN_WATCH_H
#define MAIN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "process/role.h"

struct child;
struct supervisor;

/* Looks after which a child that has a heartbeat, and does nothing that it was
 * told (barrier.h), hangs, too: workers and xfrd take messages at each turn of
 * their loop. */
#define WATCH_UNRESPONSIVE_LOOKS 20u

/* The state of a silent process, as /proc shows it. */
struct watch_sight {
	char state;       /* as proc(5) has it: 'S' sleeps, 'T' is stopped;
			   * '?': main cannot tell */
	bool traced;      /* by a debugger */
	int64_t cpu_msec; /* of all its threads */
};

/* Times after which a silent process hangs. */
struct watch_limits {
	int64_t stopped_msec;
	int64_t asleep_msec;
	int64_t busy_msec;    /* of processor time */
};

enum watch_verdict {
	WATCH_WAITS,   /* perhaps: for the disk or a processor */
	WATCH_TRACED,  /* a debugger has it */
	WATCH_HANGS,   /* from here on it does */
	WATCH_STOPPED = WATCH_HANGS,
	WATCH_ASLEEP,
	WATCH_BUSY,
	WATCH_UNRESPONSIVE, /* not by watch_check: it has a heartbeat */
};

/* Main's record of a child's heartbeats. Zeroed at first. */
struct watch {
	uint64_t heartbeat;      /* as it was seen last */
	int64_t silent_msec;     /* since then; 0: not looked at again */
	int64_t cpu_first_msec;  /* at the first look after that */
	int64_t cpu_msec;        /* at the last one */
	enum watch_verdict kind; /* verdict of the last look */
	int64_t kind_msec;       /* since when all have */
	bool told;               /* of this silence */
};

/*
 * Judges a process whose heartbeat is as it was at the last look. step_msec:
 * since that look, as far as it counts.
 */
enum watch_verdict watch_check(struct watch *watch,
	const struct watch_limits *limits, const struct watch_sight *sight,
	int64_t step_msec);

/* Kills a child that hangs: another one takes its place. */
void watch_replace(struct child *child);

/* Has main look at its children from now on. NSD_OK or NSD_E_MEMORY. Without
 * /proc, which is opened for a chroot too, less is found. */
enum nsd_err watch_open(struct supervisor *s) MUST_USE;

#endif
