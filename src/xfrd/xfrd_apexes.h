/*
 * xfrd_apexes.h - trees of what xfrd has of zones, in which it is found by the
 * zone's apex.
 *
 * An object begins with the octets of its apex, as a wire name in lower case
 * (RFC 1035 section 3.1), which stay as they are while it is in a tree. The
 * tree is of <search.h>; NULL: it is empty. All calls are logarithmic.
 */
#ifndef XFRD_XFRD_APEXES_H
#define XFRD_XFRD_APEXES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Finds the object of a zone; NULL: there is none. */
void *xfrd_apexes_find(void *const *tree, const uint8_t *apex);
/* Adds an object, whose apex no other one in the tree has. False: there is no
 * memory. */
bool xfrd_apexes_add(void **tree, void *object) MUST_USE;
/* Takes an object out. */
void xfrd_apexes_remove(void **tree, void *object);

#endif
