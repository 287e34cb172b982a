/* pidfile.h - the file with main's process id. */
#ifndef MAIN_PIDFILE_H
#define MAIN_PIDFILE_H

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
 * Writes the pid of this process to a new file, which is then renamed. So
 * neither a symbolic link nor a half-written file can have the name. The file
 * belongs to the user that starts the server: if it were of the server's user,
 * that user could choose which process root sends signals to. At the end it is
 * emptied by the descriptor that is kept. Keeps path.
 * returns NSD_OK; NSD_E_SYSTEM: the file cannot be made; NSD_E_MEMORY. Both are
 * said in the log.
 */
enum nsd_err pidfile_write(struct pidfile *pidfile, const char *path) MUST_USE;

/* The name of the file once the root directory has changed. Keeps path. */
void pidfile_set_path(struct pidfile *pidfile, const char *path);

/* Empties the file, and removes it if it is still the one that was written
 * and the directory allows it. */
void pidfile_remove(struct pidfile *pidfile);

#endif
