/* load_digest.h - verifies the digest of a version that a zone file makes,
 * before it is published (zonemd-verify, RFC 8976). Versions from elsewhere:
 * load_verify.h. */
#ifndef LOADER_LOAD_DIGEST_H
#define LOADER_LOAD_DIGEST_H

#include "base/err.h"
#include "loader/load_reading.h"
#include "zone/zone.h"

/* The file that a version comes from. All is borrowed. */
struct load_digest_file {
	const struct load_context *context;
	const struct load_zone *zone;
	const char *path;
	struct diag_sink *sink; /* is told what is wrong, as an error of the
				 * file */
};

/*
 * Verifies the digest of a version that is not published yet, or is served. It
 * must stay. Any thread. Cost: zonemd_check, unless the zone's options want
 * none.
 * returns NSD_OK: it is right; or there is none, which the log says.
 * NSD_E_DIGEST: it is not to be served. NSD_E_MEMORY.
 */
enum nsd_err load_digest_check(const struct load_digest_file *file,
	const struct zone *made) MUST_USE;

/*
 * The same of a file that was read, as far as its version was not verified when
 * it was applied (load_apply_options). The file of a zone that primaries or
 * clients change is not verified while no version is served: at a start it is
 * what was written here. After NSD_E_DIGEST and NSD_E_MEMORY the version is
 * gone.
 */
enum nsd_err load_digest_check_read(const struct load_reading *reading)
	MUST_USE;

#endif
