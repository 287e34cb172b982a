/*
 * append.h - the end of a journal's log: records are appended to a segment and
 * made durable together.
 *
 * If an append_commit fails, records since the last one are lost, and the log
 * is as it was after that. A segment of which that is not sure is left, and
 * another one begun: after a failed fsync it is not known what is on the disk,
 * and a later fsync may succeed all the same.
 */
#ifndef SRC_JOURNAL_APPEND_H
#define SRC_JOURNAL_APPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "journal/format.h"

struct append {
	int dirfd;
	uint64_t segment_size;
	int fd;             /* the segment; -1: the next one is to be begun */
	uint32_t number;    /* of the segment, or of the last one */
	uint8_t salt[FORMAT_SALT];
	uint64_t end;       /* where the buffer will stand */
	uint64_t committed; /* end at the last append_commit */
	uint64_t synced;    /* octets that are known to be on the disk */
	bool is_new;        /* the folder may not know it yet */
	uint8_t *buffer;
	size_t used;
	uint64_t syncs;
};

/*
 * Prepares to append behind segment `number` (0: there is none), or to it if fd
 * is not -1: at offset end, with its salt, all durable. Takes fd, keeps dirfd.
 * NSD_E_MEMORY: fd is then still the caller's.
 */
enum nsd_err append_init(struct append *append, int dirfd,
	uint64_t segment_size, uint32_t number) MUST_USE;
void append_resume(struct append *append, int fd, uint64_t end,
	const uint8_t salt[FORMAT_SALT]);
/* Closes the segment; records that were not committed are lost. */
void append_fini(struct append *append);

/*
 * These append one record each; head describes it, and gets its place: its
 * entry.segment, .offset and .head_len are set, and table_sum. _text: the text
 * is in memory, or the first text_len octets of fd (not -1). _bare: there is no
 * text in the record (FORMAT_DEAD, FORMAT_TEXT_IN_FILE). _copy: the record of a
 * live entry, checked, with its text; head is filled.
 * returns NSD_OK; NSD_E_SYSTEM with errno; NSD_E_LIMIT: no number for a segment
 *     is left; of _copy also what fetch_head returns.
 */
enum nsd_err append_text(struct append *append, struct format_head *head,
	const void *text, int fd) MUST_USE;
enum nsd_err append_bare(struct append *append, struct format_head *head)
	MUST_USE;
enum nsd_err append_copy(struct append *append,
	const struct journal_entry *entry, struct format_head *head) MUST_USE;

/* Writes the records that were appended, and with sync makes them durable.
 * NSD_E_SYSTEM with errno: the records since the last time are lost.
 * *sync_failed: it was the fsync. */
enum nsd_err append_commit(struct append *append, bool sync,
	bool *sync_failed) MUST_USE;
/* Takes back records that were appended since the last commit. */
void append_undo(struct append *append);

#endif
