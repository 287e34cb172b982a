/* pidfile.h - the file that says who to send signals to. */
#ifndef PROC_PIDFILE_H
#define PROC_PIDFILE_H

#include <sys/types.h>

#include "base/err.h"

struct pidfile {
	const char *path; /* NULL: none */
	int fd;           /* of the file that was written; -1: none */
};

/*
 * Reads what an earlier server left and reports it in the log; nothing that is
 * found there keeps this one from starting. Returns the pid, 0: none.
 */
pid_t pidfile_check(const char *path);

/*
 * Writes the pid of this process: to a file of a name of its own, given to
 * owner and group (-1: as they are), then renamed, so that neither a symbolic
 * link nor a half-written file can stand under the name. Keeps path.
 * returns NSD_E_SYSTEM or NSD_E_MEMORY, said in the log.
 */
enum nsd_err pidfile_write(struct pidfile *pidfile, const char *path,
	uid_t owner, gid_t group) MUST_USE;

/* The name of the file once the root directory has changed. Keeps path. */
void pidfile_set_path(struct pidfile *pidfile, const char *path);

/* Empties the file, and removes it if it is still the one that was written
 * and the directory allows it. */
void pidfile_remove(struct pidfile *pidfile);

#endif
