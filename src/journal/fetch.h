/*
 * fetch.h - reads a record of a journal by its entry.
 */
#ifndef SRC_JOURNAL_FETCH_H
#define SRC_JOURNAL_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "journal/format.h"

/* Reads len octets at an offset, whatever signals come. returns NSD_OK;
 * NSD_E_WIRE: the file ends before; NSD_E_SYSTEM with errno. */
enum nsd_err fetch_octets(int fd, uint64_t offset, void *data, size_t len)
	MUST_USE;

/*
 * Opens the segment of an entry and reads its head.
 * buffer: FORMAT_HEAD_MAX octets, aligned to 8; head->source is in it.
 * returns NSD_OK and gives *fd, the segment (close); NSD_E_NOT_FOUND: there is
 *     no such segment; NSD_E_WIRE: the head is damaged, or of another entry;
 *     NSD_E_SYSTEM with errno.
 */
enum nsd_err fetch_head(int dirfd, const struct journal_entry *entry,
	uint8_t *buffer, int *fd, struct format_head *head) MUST_USE;

/* A segment that stays open: its next entry is near. */
struct fetch_segment {
	int fd;          /* -1: not open */
	uint64_t number;
	uint8_t salt[FORMAT_SALT];
};

void fetch_init_segment(struct fetch_segment *segment);
void fetch_close_segment(struct fetch_segment *segment);
/* As fetch_head, with the segment that is open; if the entry's is another one,
 * that stays open from now on. *fd: a descriptor of its own. */
enum nsd_err fetch_head_near(int dirfd, struct fetch_segment *segment,
	const struct journal_entry *entry, uint8_t *buffer, int *fd,
	struct format_head *head) MUST_USE;

/* Opens the text of an entry in a file of its own. As fetch_head. */
enum nsd_err fetch_file(int dirfd, uint64_t id, int *fd) MUST_USE;

#endif
