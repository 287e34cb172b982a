/*
 * spool.h - a text that is too long for memory, as it comes: a file of its own.
 */
#ifndef SRC_JOURNAL_SPOOL_H
#define SRC_JOURNAL_SPOOL_H

#include <stdint.h>

#include "base/err.h"
#include "journal/format.h"

struct spool {
	int fd;           /* -1: there is no file yet */
	uint64_t number;  /* in its name */
	uint64_t written; /* octets */
	uint8_t *sums;    /* of the blocks; grows to 1/4096 of the text */
	size_t sums_used;
	size_t sums_room;
};

void spool_init(struct spool *spool, uint64_t number);

/*
 * Writes the next block: FORMAT_BLOCK octets, fewer only for the last one. It
 * is in memory aligned to 8, with room for zeros up to a multiple of
 * FORMAT_ALIGN.
 * returns NSD_OK; NSD_E_SYSTEM with errno; NSD_E_MEMORY; NSD_E_LIMIT: the text
 *     is longer than any zone.
 */
enum nsd_err spool_write(int dirfd, struct spool *spool, uint8_t *block,
	size_t len) MUST_USE;

/* Turns the file, which is complete, into that of an entry: with the table,
 * durable, under its name. table_sum: of the table. As spool_write; the file is
 * then as before, or is there under the new name. */
enum nsd_err spool_keep(int dirfd, struct spool *spool, uint64_t id,
	uint8_t table_sum[FORMAT_SUM]) MUST_USE;

/* Ends the spool; a file that was not kept is removed. */
void spool_fini(int dirfd, struct spool *spool);

#endif
