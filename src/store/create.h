/*
 * create.h - the parts that a new store in memory and one in a named file have
 * in common.
 */
#ifndef STORE_CREATE_H
#define STORE_CREATE_H

#include "store/file.h"

/*
 * Makes a store with all but the two descriptors of the store itself.
 * returns NSD_OK, NSD_E_MEMORY (no memory, or no address space), NSD_E_SYSTEM
 * (errno: no file for the slots).
 */
enum nsd_err create_prepare(const struct store_options *options,
	struct store **store) MUST_USE;

/* Writes the header of an empty store. returns NSD_OK, NSD_E_SYSTEM (errno: no
 * room, or the file cannot be written). */
enum nsd_err create_header(int fd, size_t reservation, uint64_t contents)
	MUST_USE;

/* True if `size` octets of address space can be had. */
bool create_reservation_fits(size_t size);

#endif
