/* load_digest.c - verifies the digest of a version that a zone file makes. */
#include "config.h"

#include <assert.h>

#include "base/log.h"
#include "loader/load_digest.h"
#include "store/writer.h"
#include "zone/zonemd.h"
#include "zonedb/release.h"

/* True if the file is this server's own copy of what has come from a primary or
 * a client, which was judged then, or accepted by the operator. */
static bool
digest_is_judged(const struct load_reading *r)
{
	return load_zone_is_from_xfrd(r->zone) && r->served == NULL;
}

enum nsd_err
load_digest_check(const struct load_digest_file *file, const struct zone *made)
{
	const char *name = file->zone->conf->name;
	enum zonemd_verdict verdict;
	enum nsd_err err;

	if (!file->zone->conf->options->zonemd_verify || file->zone->accepts)
		return NSD_OK;
	err = zonemd_check(store_writer_view(file->context->writer), made,
		file->zone->conf->wire, &verdict);
	if (err != NSD_OK)
		return err;
	if (zonemd_is_bad(verdict)) {
		diag_emit(file->sink, DIAG_ERROR, NULL, 0, 0,
			"zone %s file %s: serial %u is not served: %s", name,
			file->path, (unsigned)made->serial,
			zonemd_text(verdict));
		return NSD_E_DIGEST;
	}
	log_at(verdict == ZONEMD_ABSENT ? 1 : 3, LOG_LEVEL_INFO,
		"zone %s: serial %u: %s", name, (unsigned)made->serial,
		zonemd_text(verdict));
	return NSD_OK;
}

enum nsd_err
load_digest_check_read(const struct load_reading *r)
{
	const struct load_digest_file file = {r->context, r->zone, r->path,
		r->sink};
	struct load_result *result = r->result;
	enum nsd_err err;

	if (digest_is_judged(r))
		return NSD_OK;
	/* The served version has the records of the file; it may be older than
	 * the option. */
	if (result->outcome == LOAD_COMPARED && result->change_count == 0)
		return load_digest_check(&file, r->served);
	if (result->outcome != LOAD_BUILT)
		return NSD_OK;
	assert(result->built != STORE_NONE);
	err = load_digest_check(&file, store_get(
		store_writer_view(r->context->writer), result->built));
	if (err == NSD_OK)
		return NSD_OK;
	release_zone(r->heap, result->built);
	result->built = STORE_NONE;
	return err;
}
