/*
 * recover.h - reads the segments of a journal into a table of live entries.
 */
#ifndef SRC_JOURNAL_RECOVER_H
#define SRC_JOURNAL_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "journal/format.h"
#include "journal/live.h"

enum recover_mode {
	/* For readers, who write nothing and pass over the end of the last
	 * segment in silence. A file that is not there may have gone while
	 * the folder was read. */
	RECOVER_LOOK,
	/* The same, but lost files are reported and skipped. */
	RECOVER_TAKE,
	/* For the writer: a torn end of the last segment is told and cut off, a
	 * segment that was never begun is removed, and the rest is made
	 * durable. */
	RECOVER_REPAIR,
};

struct recover_result {
	uint64_t id_last;       /* the largest that was seen, and ids_lost; 0:
				 * none */
	uint64_t ids_lost;      /* at most this many are in octets that the disk
				 * could not read; 0: it read all */
	uint32_t segment_last;  /* 0: there are no segments */
	/* Of the last segment: where its whole records end, and whether all
	 * before that was whole, so that it can be appended to. */
	uint64_t end;
	bool can_append;
	uint8_t salt[FORMAT_SALT];
};

/*
 * Reads all segments of a folder. Each record is checked, with the text in it;
 * of a text in a file it is checked that the file is there and has its length.
 * Damage is reported to the sink and skipped, and so are octets that the disk
 * cannot read (EIO). Those are not cut off: they may be readable again. live:
 * empty; its segments have their octets.
 * returns NSD_OK; NSD_E_SYSTEM with errno; NSD_E_MEMORY; NSD_E_NOT_FOUND:
 *     a file went while the folder was read.
 */
enum nsd_err recover_segments(int dirfd, enum recover_mode mode,
	struct diag_sink *sink, struct live *live,
	struct recover_result *result) MUST_USE;

/* Lists the numbers of the files of a suffix in a folder, in order.
 * *numbers: free(). returns NSD_OK, NSD_E_SYSTEM, NSD_E_MEMORY. */
enum nsd_err recover_list(int dirfd, const char *suffix, uint64_t **numbers,
	size_t *count) MUST_USE;
/* For qsort and bsearch: of two uint64_t, which comes first? */
int recover_compare_numbers(const void *a, const void *b);

#endif
