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
	struct store_writer *writer; /* of this process, while open */
};

/*
 * Maps size octets of a file from its start, at an address that suits huge
 * pages. protection as for mmap. returns NULL when refused.
 */
void *store_map(int fd, size_t size, int protection);

/* Closes what this process could make a writable mapping with. */
void store_drop_descriptors(struct store *store);

#endif
