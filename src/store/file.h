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
	char *path;   /* of the named file; NULL: in memory */
	/* The writer's mappings, for readers in its process. */
	pid_t writer_pid;
	uint8_t *writer_base; /* NULL: no writer is open */
	uint8_t *writer_slots;
};

/*
 * Maps size octets of a file from its start, at an address that suits huge
 * pages, and keeps it out of core files. protection as for mmap. Returns NULL
 * when refused (errno).
 */
void *file_map(int fd, size_t size, int protection);

/* Closes what this process could make a writable mapping with. */
void file_drop_descriptors(struct store *store);

#endif
