/* carry.h - knowledge that the next part of a build needs of the names before
 * it. */
#ifndef COMPILE_CARRY_H
#define COMPILE_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#include "compile/shape.h"
#include "store/store.h"

struct build;

struct part_carry {
	struct shape_walk walk;
	bool any;              /* there is a name before */
	unsigned depth;        /* labels of the last name */
	struct {
		struct owner owner;
		store_ref node;
		bool wildcard_told; /* the node knows of a wildcard below */
		uint8_t name[NAME_MAX_LEN];
	} path[NAME_MAX_LABELS + 1]; /* the last name and its ancestors, by
				      * labels */
};

/* Keeps the last name of the part at hand, if it has any, and its
 * ancestors. */
void carry_keep_path(struct part_carry *carry, const struct build *b);

/* The name before, or NULL. carry may be NULL. */
static inline const struct owner *
carry_get_last(const struct part_carry *carry)
{
	return carry == NULL || !carry->any ? NULL
					    : &carry->path[carry->depth].owner;
}

#endif
