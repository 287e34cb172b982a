/*
 * admin_files.h - the files of UNIX sockets for operators, as main has made
 * them: a socket does not know whether the file at its path is still its own.
 */
#ifndef PROCESS_ADMIN_FILES_H
#define PROCESS_ADMIN_FILES_H

#include <stdbool.h>

#include "base/err.h"

/* Lists of files. Zeroed: empty. */
struct admin_files {
	struct admin_file *first;
};

/* Adds the file of a socket at a path, which was made just now. False: there is
 * no memory, or no file (errno). */
bool admin_files_add(struct admin_files *files, int fd, const char *path)
	MUST_USE;

/* True if the file at a path is that of an open socket, by whatever path the
 * list has it. No other file can look the same: an open socket holds its own,
 * also one that was removed. */
bool admin_files_has(const struct admin_files *files, int fd,
	const char *path);

/* Moves all of made into files. */
void admin_files_take(struct admin_files *files, struct admin_files *made);

/* Drops the files of sockets other than the open ones of the array fds. */
void admin_files_drop_closed(struct admin_files *files, const int *fds,
	unsigned count);

/* Removes the files of a list from the disk, except where another file has come
 * in their place, and empties the list. Sockets are closed after that: until
 * then no other file can look the same. */
void admin_files_remove(struct admin_files *made);

#endif
