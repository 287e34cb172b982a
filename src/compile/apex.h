/* apex.h - checks the apex of a zone whose names come in order. */
#ifndef COMPILE_APEX_H
#define COMPILE_APEX_H

#include "base/err.h"
#include "dns/rrbatch.h"

struct build;

/*
 * Reads the owners at the front of b->names, which have to be those of the
 * apex, and has the chain use its NSEC3 parameters.
 * out: *params, a copy of the NSEC3PARAM record, to be freed; NULL if there is
 *     none. Also after an error.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_LIMIT if there is no SOA or NS, or if
 *     only all records together tell which parameters are used.
 */
enum nsd_err apex_use(struct build *b, struct rrbatch_rr **params) MUST_USE;

#endif
