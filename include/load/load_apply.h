/* load_apply.h - publishes what a zone file changes in a zone. */
#ifndef LOAD_LOAD_APPLY_H
#define LOAD_LOAD_APPLY_H

#include "base/err.h"
#include "load/load_zone.h"
#include "update/update.h"

/*
 * Publishes the changes of a result that is LOAD_DIFFERS, all or none; *done
 * says how many. They are kept for other secondaries, if the zone's options say
 * so. limits: for what changes; all zeros: none. For the loader's
 * main thread. Findings are not told: they have no place in a file.
 * returns NSD_OK; what update_begin, _add, _remove and _commit return when
 * the zone has no version, the changes break a rule, or there is no memory: the
 * zone is then as before.
 */
enum nsd_err load_apply_diff(const struct load_context *context,
	const struct load_result *result, const struct zone_limits *limits,
	struct zone_update_result *done) MUST_USE;

#endif
