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

/* Adds the file at a path, which was made just now. False: there is no memory,
 * or no file (errno). */
bool admin_files_add(struct admin_files *files, const char *path) MUST_USE;

/* True if the file at a path is one of the list, by whatever path that has
 * it. */
bool admin_files_has(const struct admin_files *files, const char *path);

/* Moves all of made into files. */
void admin_files_take(struct admin_files *files, struct admin_files *made);

/* Removes the files of a list from the disk, except where another file has come
 * in their place, and empties the list. Sockets are closed after that: until
 * then no other file can look the same. */
void admin_files_remove(struct admin_files *made);

#endif
