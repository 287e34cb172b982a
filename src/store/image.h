/*
 * image.h - a store in a named file: its checksum, its mark, its contents. The
 * octets of the file are not trusted here.
 */
#ifndef STORE_IMAGE_H
#define STORE_IMAGE_H

#include "store/file.h"

/* Takes away the mark of a clean stop. For before the first change. returns
 * NSD_OK, NSD_E_SYSTEM (errno: the file cannot be read, written or flushed). */
enum nsd_err image_mark_unclean(struct store *store) MUST_USE;

/*
 * Cuts the file to its length, flushes it, then writes the checksum and the
 * mark of a clean stop. For after the last change.
 * returns NSD_OK, NSD_E_MEMORY, NSD_E_SYSTEM (errno: the file cannot be read,
 * written or flushed). Both do nothing if the store is in memory.
 */
enum nsd_err image_mark_clean(struct store *store) MUST_USE;

/*
 * Writes all that counts of a store in memory, mapped at base, in place of what
 * the file had, without the mark. False: not all was written (errno).
 */
bool image_write(int fd, const uint8_t *base, uint64_t contents);

/* Reads len octets at an offset. False: errno says why; EIO where the file is
 * too short. */
bool image_read(int fd, void *data, size_t len, uint64_t at);

/* The length that the file of a store has. */
uint64_t image_length(const struct store_header *header);

/*
 * The sum over all octets that count: the first page (of which page is a copy)
 * with zeros for the sum, the bitmaps, and all spans with objects. Spans
 * without objects, or behind the last span, are never looked at.
 * out: sum; octets that were read.
 * returns NSD_OK, NSD_E_MEMORY, NSD_E_SYSTEM (errno: the file cannot be read).
 */
enum nsd_err image_sum(int fd, const uint8_t *page, struct sum *sum,
	uint64_t *octets) MUST_USE;

#endif
