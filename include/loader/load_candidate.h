/*
 * load_candidate.h - has a version of a zone verified before it is published,
 * by the program that nsd.conf names (doc/decisions/0174).
 *
 * The thread that has made the version waits; the loop shows it as the
 * candidate of its zone, asks the verifier, and gives the verdict. A thread
 * that waits holds nothing but its zone, which is claimed: threads that may
 * wait do nothing else (loader_verdicts.c).
 */
#ifndef LOADER_LOAD_CANDIDATE_H
#define LOADER_LOAD_CANDIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "loader/load_zone.h"
#include "store/store.h"

struct zone_update;

#define LOAD_CANDIDATE_WHY_MAX 128u

/* A version that is to be verified, on the stack of the thread that waits. */
struct load_candidate {
	const struct load_zone *zone;
	struct zone_update *update; /* the transaction that has made it
				     * (update_make); NULL: it was built */
	store_ref built;  /* the built version. Set to none if it was refused:
			   * the loop has retired it */
	char why[LOAD_CANDIDATE_WHY_MAX]; /* a refusal's reason */
	uint32_t serial;  /* of the refused version */
	/* of the loop alone */
	struct load_candidate *next;
	store_ref shown;  /* in the entry; none: not shown */
	uint64_t ticket;
	unsigned tries;   /* verifiers that have died with it, or did not find
			   * it */
	uint64_t channel; /* of the verifier that has it in hand; 0: none */
	enum nsd_err err;
	bool done;        /* under the loop's lock */
};

/* The part of the options that threads look at. The three flags are atomic: a
 * reconfig sets them. */
struct load_judging {
	bool enabled;     /* verify: enable */
	bool zones;       /* verify: verify-zones */
	bool has_command; /* verify: verifier */
	/* Called by the loop, with what follows: see loader_verdicts.c. */
	void (*begin)(void *ctx, struct load_candidate *candidate);
	void *ctx;
};

/* True if new versions of a zone are to be verified by a program. The zone is
 * claimed, or the caller is the loop. */
bool load_candidate_is_wanted(const struct load_context *context,
	const struct load_zone *zone);

/*
 * Waits for the verdict on a version; in a thread of context->awaits, else
 * returns NSD_OK at once. Until then no other thread changes the zone.
 * returns NSD_OK: it is to be published, and stays the candidate until then;
 * or no record changes. NSD_E_REFUSED: it is not, and readers of the candidate
 * may still be there; why says the reason. NSD_E_PEER: there is no verdict, as
 * the loader ends or the zone goes. After both the version is withdrawn.
 */
enum nsd_err load_candidate_check(const struct load_context *context,
	struct load_candidate *candidate) MUST_USE;

#endif
