/* load_apply.h - publishes the changes that a zone file, or a whole zone that
 * was transferred, makes to a zone. */
#ifndef LOADER_LOAD_APPLY_H
#define LOADER_LOAD_APPLY_H

#include "base/err.h"
#include "loader/load_zone.h"
#include "update/update.h"

struct load_refusal;

/* The most changes that are published in the loader's loop, which takes some 4
 * ms. More are published by the thread that has found them. */
#define LOAD_APPLY_AT_ONCE 1000u

struct load_apply_options {
	struct zone_limits limits; /* for changed names; all zeros: none */
	struct store_heap *heap;   /* of a thread; NULL: of the main thread */
	bool verify;               /* a transfer is judged: load_verify.h */
	uint32_t accepted;         /* checks that are left out */
	struct load_refusal *refusal; /* set if it is refused; with verify */
	struct diag_sink *sink;    /* for a refusal by a verifier, or by the
				    * digest of a file; or NULL */
	const char *path;          /* of the file, of which zonemd-verify
				    * counts; NULL: a transfer */
};

/*
 * Publishes the changes of a result that is LOAD_COMPARED, all or none; *done
 * counts them. They are kept for secondaries, if the zone's options say so. For
 * the loader's main thread; or for a thread that may change the zone
 * (update_make), whose version the loop publishes. Findings are not told: they
 * have no place in a file.
 * returns NSD_OK; what update_begin, _add, _remove and _commit return when
 * the zone has no version, the changes break a rule, or there is no memory;
 * the errors of load_verify, or what load_candidate_check does. The zone is
 * then as before.
 */
enum nsd_err load_apply_diff(const struct load_context *context,
	const struct load_result *result,
	const struct load_apply_options *options,
	struct zone_update_result *done) MUST_USE;

#endif
