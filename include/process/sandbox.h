/*
 * sandbox.h - confines a process, so that one that was taken over can do little
 * harm: the system calls that it may make (seccomp), and what it may reach at
 * all (landlock). doc/isolation.md has the list of each role.
 */
#ifndef PROCESS_SANDBOX_H
#define PROCESS_SANDBOX_H

#include <stdbool.h>

#include "base/err.h"
#include "ipc/message.h"

/* The confinements that a role is put under. All zeros: none. */
struct sandbox {
	bool calls;        /* system calls are filtered */
	unsigned landlock; /* the version of the kernel's landlock; 0: none */
	bool lists;        /* set by a role: it may read the names of files in
			    * all folders */
};

/*
 * In main, before it forks a role: finds the confinements that the kernel and
 * this build have, and logs which are missing. wanted: of `sandbox:`. Forks up
 * to three times, and waits. Without sandbox_enter, nothing changes.
 */
void sandbox_probe(struct sandbox *sandbox, bool wanted);

/*
 * In a role, after it has opened all that it needs: confines the process, with
 * all its threads, for good. Needs PR_SET_NO_NEW_PRIVS.
 * in: folders: that the role may write to, ended by NULL; NULL: none. Missing
 * folders are left out. Borrowed.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM (errno): the kernel refuses,
 * perhaps half-way: end the process.
 */
enum nsd_err sandbox_enter(const struct sandbox *sandbox, enum ipc_role role,
	const char *const *folders) MUST_USE;

/*
 * sandbox_enter in two steps, in this order, for a role that has work to do
 * between them. Threads that it starts then are confined in both ways; one from
 * before the first step keeps the paths that it had.
 */
enum nsd_err sandbox_enter_folders(const struct sandbox *sandbox,
	enum ipc_role role, const char *const *folders) MUST_USE;
enum nsd_err sandbox_enter_calls(const struct sandbox *sandbox,
	enum ipc_role role) MUST_USE;

/* In a process that becomes a program of the operator's: it, and what it
 * starts, can send signals to each other alone, and look into nobody else; as
 * far as the kernel can do that (landlock, version 6). Files, sockets and calls
 * stay as they are. Needs PR_SET_NO_NEW_PRIVS. */
void sandbox_enter_program(const struct sandbox *sandbox);

#endif
