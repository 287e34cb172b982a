/* order.h - guesses whether the names in a zone file are in canonical order. */
#ifndef ZONEFILE_ORDER_H
#define ZONEFILE_ORDER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Looks at the owners in some fifty places of a file. Returns false if two of
 * them are in no canonical order (RFC 4034 section 6.1), or if none was found.
 * Names that look like hashes of NSEC3 are left out; so are names without a dot
 * at the end while others have one, since their origin is not known. The guess
 * may be wrong either way. Cost: as many reads of 4 KiB. Blocks on the file
 * system.
 */
bool order_is_likely(const char *path);

#endif
