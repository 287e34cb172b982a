/* apex.h - what stands at the apex of a zone whose names come in order. */
#ifndef BUILD_APEX_H
#define BUILD_APEX_H

#include <stdbool.h>

#include "dns/rrbatch.h"

struct build;

struct apex_facts {
	bool soa;
	bool ns;
	unsigned params_count;
	const struct rrbatch_rr *params; /* the first NSEC3PARAM, or NULL */
};

/* Reads the owners at the front of b->names, those of the apex. */
void apex_read_facts(const struct build *b, struct apex_facts *facts);

#endif
