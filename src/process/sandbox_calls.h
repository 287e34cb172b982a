/*
 * sandbox_calls.h - the one table of system calls: which role may make which,
 * with which arguments, and what for.
 */
#ifndef PROCESS_SANDBOX_CALLS_H
#define PROCESS_SANDBOX_CALLS_H

#include <stdint.h>

#define SANDBOX_CONDITIONS_MAX 2

enum sandbox_verdict {
	SANDBOX_ALLOW,
	/* Ends the process, which main logs: for calls that no library makes on
	 * its own, so that an attacker must have taken the process over. */
	SANDBOX_KILL,
};

enum sandbox_kind {
	SANDBOX_NO_CONDITION,
	SANDBOX_IS,   /* argument == value */
	SANDBOX_BITS, /* (argument & mask) == value */
	SANDBOX_SELF, /* argument == the process's number */
};

/* A condition on an argument for a row to apply. */
struct sandbox_condition {
	enum sandbox_kind kind;
	unsigned argument; /* from 0 */
	uint64_t mask;
	uint64_t value;
};

struct sandbox_call {
	const char *name;
	unsigned roles; /* of enum ipc_role */
	enum sandbox_verdict verdict;
	struct sandbox_condition conditions[SANDBOX_CONDITIONS_MAX];
	const char *reason;
};

/* The rows, ended by one without a name. Of several rows of one call any may
 * apply. A call to which no row applies fails with ENOSYS. */
extern const struct sandbox_call sandbox_calls[];

#endif
