/* database.h - the store in a file, kept over a clean stop (`database:`). */
#ifndef LOADER_DATABASE_H
#define LOADER_DATABASE_H

#include <sys/types.h>

#include "conf/conf.h"
#include "store/store.h"

struct store_writer;

/*
 * Opens the file that the configuration names. Logs the state of the file, and
 * the consequence. NULL: none is configured, or it cannot be used; the store is
 * in memory then.
 */
struct store *database_open(const struct conf_server *options, uid_t owner,
	unsigned reader_max);

/* Closes the writer of a store in memory that has taken the place of a damaged
 * one. The file of the damaged one gets its contents. */
void database_save(struct store_writer *writer, int fd);

/* Closes the loader's side, so that the next start can attach to the file. */
void database_close(struct store_writer *writer);

#endif
