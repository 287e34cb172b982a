/* chain_pass.h - the pass that makes the NSEC3 chain: which parameters are used
 * (chain_choose.c), which records there are (chain.c). */
#ifndef COMPILE_CHAIN_PASS_H
#define COMPILE_CHAIN_PASS_H

#include "base/err.h"
#include "dns/rrbatch.h"
#include "zone/nsec3_page.h"

struct build;

/* A record of the chain. */
struct chain_item {
	struct nsec3_entry entry;
	const struct rrbatch_rr *rr; /* NULL: entry has the next hash */
};

/* Chooses the parameters of the chain: zone.params and params_rr. NSD_OK, also
 * if there are none; NSD_E_MEMORY. */
enum nsd_err chain_choose(struct build *b) MUST_USE;
/* Uses the parameters of this NSEC3PARAM record; false if they are of a kind
 * that is not used. */
bool chain_use_params(struct build *b, const struct rrbatch_rr *rr);
/* Packs the records of the chain; chain_items has them, ascending.
 * NSD_E_MEMORY. */
enum nsd_err chain_list(struct build *b) MUST_USE;
/* A record whose next hash is not that of the record that follows keeps it
 * itself, with a warning; but not if the zone has errors. NSD_E_MEMORY: the
 * item stays as it is. */
enum nsd_err chain_check_item(struct build *b, struct chain_item *item,
	const uint8_t *follows) MUST_USE;
/* Makes zone.chain of the records, which it has from then on. NSD_E_MEMORY:
 * they stay the caller's. */
enum nsd_err chain_create(struct build *b, const struct nsec3_entry *entries,
	size_t count) MUST_USE;

#endif
