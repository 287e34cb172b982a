/* load_verify.c - verifies by ZONEMD that a transferred version is the
 * primary's. */
#include "config.h"

#include "base/log.h"
#include "loader/load_verify.h"
#include "store/writer.h"
#include "zone/zonemd.h"

bool
load_verify_is_wanted(const struct load_zone *zone)
{
	return zone->conf->options->zonemd_verify;
}

enum nsd_err
load_verify_zone(const struct load_context *context,
	const struct load_zone *zone, const struct zone *made)
{
	enum zonemd_verdict verdict;
	enum nsd_err err;

	if (!load_verify_is_wanted(zone))
		return NSD_OK;
	err = zonemd_check(store_writer_view(context->writer), made,
		zone->conf->wire, &verdict);
	if (err != NSD_OK)
		return err;
	if (zonemd_is_bad(verdict)) {
		log_error("zone %s: serial %u is not served: %s",
			zone->conf->name, (unsigned)made->serial,
			zonemd_text(verdict));
		return NSD_E_DIGEST;
	}
	log_at(verdict == ZONEMD_ABSENT ? 1 : 3, LOG_LEVEL_INFO,
		"zone %s: serial %u: %s", zone->conf->name,
		(unsigned)made->serial, zonemd_text(verdict));
	return NSD_OK;
}
