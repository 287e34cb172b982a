/* database.h - the store in a file, kept over a clean stop (`database:`). */
#ifndef PROC_DATABASE_H
#define PROC_DATABASE_H

#include <sys/types.h>

#include "conf/conf.h"
#include "store/store.h"

struct store_writer;

/*
 * Opens the file that the configuration names; what was found and what
 * follows from it is said in the log. NULL: there is to be none, or it cannot
 * be used, and the store is in memory.
 */
struct store *database_open(const struct conf_server *options, uid_t owner,
	unsigned reader_max);

/*
 * Looks at what the file holds before anybody relies on it, on so many
 * threads. Zones with a fault are told of and taken out: they are not loaded
 * then. If the table of zones itself cannot be used, *writer is another one, of
 * an empty store. For the loader, while there are no readers.
 */
enum nsd_err database_vet(struct store_writer **writer, unsigned threads)
	MUST_USE;

/* Closes the writer of a store in memory that took the place of a damaged one,
 * and leaves what it holds in the file of that. */
void database_save(struct store_writer *writer, int fd);

/* Closes the loader's side, so that the next start can attach to the file. */
void database_close(struct store_writer *writer);

#endif
