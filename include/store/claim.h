/*
 * claim.h - who has which octets of a store whose contents are not trusted:
 * each object is claimed as one of a kind, and no two overlap.
 */
#ifndef STORE_CLAIM_H
#define STORE_CLAIM_H

#include "store/store.h"

struct store_writer;
struct store_claims;

enum store_claim {
	CLAIM_NEW,   /* the caller is the first to come upon this object */
	CLAIM_SAME,  /* claimed before, from that very place, as that kind */
	CLAIM_WRONG, /* not allocated, outside, of another kind, or overlapping */
};

/*
 * Between begin and end nothing is allocated, freed, retired or published, and
 * the writer's heap is the only one. Cost: an octet of memory for each 8 of the
 * store that objects begin in, until end.
 */
enum nsd_err store_claims_begin(struct store_writer *writer,
	struct store_claims **claims) MUST_USE;
void store_claims_end(struct store_claims *claims);

/* As end; then what is used and not claimed is retired. NSD_E_MEMORY: it stays
 * until the next time. */
enum nsd_err store_claims_sweep(struct store_claims *claims,
	uint64_t *octets) MUST_USE;

/* True if so many octets from there on lie in the store, and can be looked at.
 * Any thread. */
bool store_claims_reach(const struct store_claims *claims, store_ref ref,
	size_t len);

/* Claims an object of len octets (at least 1) as a kind (1 to 255). Any
 * thread. */
enum store_claim store_claim(struct store_claims *claims, store_ref ref,
	size_t len, uint8_t kind);

/* True if that is claimed as a kind, from that very place. Any thread. */
bool store_claim_is(const struct store_claims *claims, store_ref ref,
	uint8_t kind);

/* Fetches what a claim of an object will look at. */
void store_claim_prefetch(const struct store_claims *claims, store_ref ref);

/* Makes what is claimed as one kind another; false if it is not of that kind.
 * Any thread. */
bool store_claim_alter(struct store_claims *claims, store_ref ref,
	uint8_t from, uint8_t to);

/* The newest epoch that there has been. */
uint64_t store_claims_epoch(const struct store_claims *claims);

#endif
