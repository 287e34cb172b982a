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
 * Reads what an earlier server has left, and reports it in the log. Nothing
 * found there keeps this server from starting. Returns the pid, 0: none.
 */
pid_t pidfile_check(const char *path);

/*
 * Writes the pid of this process. It is written to a new file, which is given
 * to owner and group (-1: as they are) and then renamed. So neither a symbolic
 * link nor a half-written file can have the name. Keeps path.
 * returns NSD_OK; NSD_E_SYSTEM: the file cannot be made; NSD_E_MEMORY. Both are
 * said in the log.
 */
enum nsd_err pidfile_write(struct pidfile *pidfile, const char *path,
	uid_t owner, gid_t group) MUST_USE;

/* The name of the file once the root directory has changed. Keeps path. */
void pidfile_set_path(struct pidfile *pidfile, const char *path);

/* Empties the file, and removes it if it is still the one that was written
 * and the directory allows it. */
void pidfile_remove(struct pidfile *pidfile);

#endif
