/*
 * shape.h - the effect of names on names below them: zone cuts, DNAMEs and the
 * names that these hide, wildcards.
 */
#ifndef COMPILE_SHAPE_H
#define COMPILE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "dns/name.h"
#include "names/owner.h"

struct packer;

/* A walk along the names in canonical order. It gives each name its flags of
 * enum owner_flags from OWNER_CUT on. Begins all zero. */
struct shape_walk {
	struct owner *path[NAME_MAX_LABELS + 1]; /* last one seen, by labels */
	uint32_t wildcards; /* so far */
	uint32_t dnames;    /* so far, those that are not occluded */
	unsigned cover;     /* labels of the topmost cut or DNAME above */
	bool covered;       /* there is one */
};

/*
 * Visits a name whose parent has been visited. common: labels that it shares
 * with the name before it. The walk keeps the owner.
 */
void shape_place(struct shape_walk *s, struct owner *owner, unsigned common);

/* Tells of data below a DNAME, once for each DNAME. owner: an occluded name,
 * with a record before its name. */
void shape_check_dname(struct shape_walk *s, struct packer *p,
	const struct owner *owner);

#endif
