/* private_folder.h - where the journal lies if nothing of it is to be kept. */
#ifndef MAIN_PRIVATE_FOLDER_H
#define MAIN_PRIVATE_FOLDER_H

#include "process/server.h"

/*
 * Without xfrdfile: makes a folder with an unpredictable name in xfrdir, and
 * notes it in server->private_folder. To be called as the user that main stays.
 * A failure is logged, and no zone can be transferred then.
 */
void private_folder_make(struct server *server);

/* Removes the folder with its files; no process may use them any more. */
void private_folder_remove(const struct server *server);

#endif
