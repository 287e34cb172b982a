/*
 * claim.h - says which object has which octets of a store whose contents are
 * not trusted. Each object is claimed as one of a kind, and no two overlap.
 */
#ifndef STORE_CLAIM_H
#define STORE_CLAIM_H

#include "store/store.h"

struct store_writer;
struct store_claims;

enum store_claim {
	CLAIM_NEW,   /* the caller is the first to come upon this object */
	CLAIM_SAME,  /* claimed before, from that very place, as that kind */
	/* Not allocated, outside, of another kind, or overlapping. */
	CLAIM_WRONG,
};

/*
 * Between begin and end nothing is allocated, freed, retired or published, and
 * there are no heaps but the writer's. Cost, until end: an octet of memory for
 * each 8 of the store that objects begin in.
 * out: *claims, the caller's until store_claims_end or store_claims_sweep.
 * returns NSD_OK, NSD_E_MEMORY.
 */
enum nsd_err store_claims_begin(struct store_writer *writer,
	struct store_claims **claims) MUST_USE;

void store_claims_end(struct store_claims *claims);

/*
 * Retires what is used and not claimed, and ends the claims in any case.
 * out: *octets retired, on success.
 * returns NSD_OK; NSD_E_MEMORY: nothing is retired until the next time.
 */
enum nsd_err store_claims_sweep(struct store_claims *claims,
	uint64_t *octets) MUST_USE;

/* True if len octets from ref on lie in the store, and can be looked at. Any
 * thread. */
bool store_claims_reach(const struct store_claims *claims, store_ref ref,
	size_t len);

/* Claims an object of len octets (0: CLAIM_WRONG) as a kind (1 to 255). Any
 * thread. */
enum store_claim store_claim(struct store_claims *claims, store_ref ref,
	size_t len, uint8_t kind);

/* True if an object that begins there is claimed as a kind. Any thread. */
bool store_claim_is(const struct store_claims *claims, store_ref ref,
	uint8_t kind);

/* Prefetches what a claim of an object will look at. Any thread. */
void store_claim_prefetch(const struct store_claims *claims, store_ref ref);

/* Changes the kind of a claimed object. False: it is not claimed as `from`. Any
 * thread. */
bool store_claim_alter(struct store_claims *claims, store_ref ref,
	uint8_t from, uint8_t to);

/* The newest epoch that there has been. */
uint64_t store_claims_epoch(const struct store_claims *claims);

#endif
