/* database.h - the store in a file, kept over a clean stop (`database:`). */
#ifndef PROC_DATABASE_H
#define PROC_DATABASE_H

#include <sys/types.h>

#include "conf/conf.h"
#include "store/store.h"

struct store_writer;

/*
 * Opens the file that the configuration names. The log says what was found and
 * what follows from it. NULL: none is configured, or it cannot be used; the
 * store is in memory then.
 */
struct store *database_open(const struct conf_server *options, uid_t owner,
	unsigned reader_max);

/*
 * Looks through what the file holds before anybody relies on it, with so many
 * threads. Zones with a fault are named in the log and taken out: they are not
 * loaded then. If the table of zones itself cannot be used, *writer is another
 * one, of an empty store. For the loader, while there are no readers.
 * returns NSD_OK; NSD_E_SYSTEM: no randomness, or the store cannot be emptied;
 * NSD_E_MEMORY.
 */
enum nsd_err database_vet(struct store_writer **writer, unsigned threads)
	MUST_USE;

/*
 * Looks through a store whose readers have crashed, after it was taken over;
 * they may go on reading. The log says what is found; nothing is changed.
 * returns NSD_OK: nothing is wrong, or there is no memory to look; NSD_E_BUG:
 * it must not be served any more.
 */
enum nsd_err database_look_through(struct store_writer *writer,
	unsigned threads) MUST_USE;

/* Closes the writer of a store in memory that has taken the place of a damaged
 * one. What it holds is left in the file of the damaged one. */
void database_save(struct store_writer *writer, int fd);

/* Closes the loader's side, so that the next start can attach to the file. */
void database_close(struct store_writer *writer);

#endif
