/* sandbox_landlock.h - limits the files and sockets that a process may reach,
 * by the kernel's landlock. */
#ifndef PROCESS_SANDBOX_LANDLOCK_H
#define PROCESS_SANDBOX_LANDLOCK_H

#include <stdbool.h>

#include "base/err.h"
#include "ipc/message.h"

/* The version of the kernel's landlock; 0 (errno): it has none. */
unsigned sandbox_landlock_version(void);

/*
 * Confines this process to what its role may reach, as far as the version can:
 *   worker: no path at all; no TCP but on the sockets that it has;
 *   loader: reads any file, and runs, makes, writes and removes none;
 *   xfrd: reads and writes files in the folders (see sandbox_enter), no others;
 *   writer: makes, replaces and removes files there, and reads none;
 *   lists: names of files in all folders;
 *   all: no signal to another process, none of their memory and descriptors,
 *   no socket of theirs without a path.
 * returns NSD_OK; NSD_E_SYSTEM (errno).
 */
enum nsd_err sandbox_landlock_enter(unsigned version, enum ipc_role role,
	const char *const *folders, bool lists) MUST_USE;

/* Confines this process, and those that it makes, to each other: no signal to
 * others, none of their memory and descriptors. NSD_E_SYSTEM (errno): ENOSYS:
 * the version cannot do that; else the kernel refuses. */
enum nsd_err sandbox_landlock_leave_others(unsigned version) MUST_USE;

#endif
