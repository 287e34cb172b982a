/* glue_pass.h - the passes over target names and their cells in builds, also in
 * those in parts. */
#ifndef COMPILE_GLUE_PASS_H
#define COMPILE_GLUE_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/store.h"

struct build;
struct owner;
struct rrbatch_rr;
struct store_heap;

/* The reasons why a name server has no address that could be given. */
struct glue_lack {
	const uint8_t *owner; /* whole names */
	const uint8_t *target;
	bool cname;     /* the target is an alias */
	bool in_domain; /* at or below the owner, which is not the apex */
	bool hidden;    /* below a cut or DNAME */
};

void glue_warn(struct build *b, const struct rrbatch_rr *rr,
	const struct glue_lack *lack);

/* Appends a target to b->targets, which has room, with the addresses of the
 * node `found` (or none). NSD_E_MEMORY: the store is full. */
enum nsd_err glue_create_target(struct build *b, const struct owner *name,
	store_ref found, bool hidden) MUST_USE;

/* Has a target of an RRset refer to it. */
void glue_set(struct store_heap *heap, store_ref rrset, unsigned index,
	store_ref target);

#endif
