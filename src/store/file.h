/*
 * file.h - the store as its maker sees it: descriptors and sizes.
 */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "store/layout.h"

struct store {
	int fd;       /* the store, read-write; -1: given up */
	int read_fd;  /* the same file, read-only */
	int slots_fd; /* the readers' slots, read-write */
	pid_t maker;  /* the process that made it */
	size_t reservation;
	unsigned reader_max;
	bool huge_pages;
	bool poison;
	bool named;   /* lies in a file that outlasts it */
	struct store_writer *writer; /* of this process, while open */
};

/*
 * Maps size octets of a file from its start, at an address that suits huge
 * pages. protection as for mmap. returns NULL when refused.
 */
void *store_map(int fd, size_t size, int protection);

/* A store with all but its two descriptors of the store itself, or with an
 * error. */
enum nsd_err store_prepare(const struct store_options *options,
	struct store **store) MUST_USE;

/* Writes the header of an empty store. */
enum nsd_err store_write_header(int fd, size_t reservation,
	uint64_t contents) MUST_USE;

/* True if so much address space can be had. */
bool store_reservation_fits(size_t size);

/* Closes what this process could make a writable mapping with. */
void store_drop_descriptors(struct store *store);

/* ---- image.c: a store in a named file */

/* Before the first change, and after the last one. NSD_E_SYSTEM (errno). */
enum nsd_err image_mark_unclean(struct store *store) MUST_USE;
enum nsd_err image_mark_clean(struct store *store) MUST_USE;

#endif
