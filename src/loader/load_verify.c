/* load_verify.c - verifies that a version from elsewhere is the primary's, and
 * that validators will believe it. */
#include "config.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "audit/audit.h"
#include "base/log.h"
#include "loader/load_verify.h"
#include "store/writer.h"
#include "zone/zonemd.h"

bool
load_verify_is_wanted(const struct load_zone *zone)
{
	return zone->conf->options->zonemd_verify
		|| zone->conf->options->dnssec_verify != CONF_DNSSEC_NO;
}

bool
load_verify_takes_long(const struct load_zone *zone, const struct zone *served,
	uint64_t records_max)
{
	return zone->conf->options->dnssec_verify != CONF_DNSSEC_NO
		|| (zone->conf->options->zonemd_verify
			&& served->rr_count > records_max);
}

/* ---- digests ------------------------------------------------------------- */

enum nsd_err
load_verify_digest(const struct load_context *context,
	const struct load_zone *zone, const struct zone *made)
{
	enum zonemd_verdict verdict;
	enum nsd_err err;

	if (!zone->conf->options->zonemd_verify)
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

/* ---- signatures ---------------------------------------------------------- */

/* The first finding that breaks validation. */
struct verify_findings {
	struct diag_sink sink;
	char first[200];
};

static void
verify_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct verify_findings *findings = (struct verify_findings *)sink;

	if (d->severity == DIAG_ERROR && findings->first[0] == '\0')
		snprintf(findings->first, sizeof(findings->first), "%s",
			d->text);
}

static enum nsd_err
verify_audit(const struct load_context *context,
	const struct audit_options *options,
	const struct update_candidate *candidate,
	struct verify_findings *findings, struct audit_report *report)
{
	const struct store_view *view = store_writer_view(context->writer);
	const struct audit_change change = {
		.served = candidate->served,
		.zone = candidate->zone,
		.owners = candidate->owners,
		.count = candidate->owner_count,
	};
	enum nsd_err err = NSD_E_LIMIT;

	if (change.owners != NULL && change.served != NULL
		&& (change.served->flags & ZONE_VERIFIED) != 0)
		err = audit_change(view, &change, options, &findings->sink,
			report);
	return err != NSD_E_LIMIT ? err : audit_zone(view, candidate->zone,
		options, &findings->sink, report);
}

static enum nsd_err
verify_signatures(const struct load_context *context,
	const struct load_zone *zone, struct update_candidate *candidate)
{
	const struct audit_options options = {
		.apex = zone->conf->wire,
		.now_sec = (uint64_t)time(NULL),
		.margin_sec = zone->conf->options->dnssec_verify_margin,
		.verify = true,
		.strict = true,
		.threads = context->threads_max,
	};
	struct verify_findings findings = {.sink.on_diag = verify_on_diag};
	struct audit_report report;
	unsigned serial = candidate->zone->serial;
	enum nsd_err err;

	if (zone->conf->options->dnssec_verify == CONF_DNSSEC_NO)
		return NSD_OK;
	err = verify_audit(context, &options, candidate, &findings, &report);
	if (err != NSD_OK)
		return err;
	if (report.count[AUDIT_UNSIGNED] > 0
		&& zone->conf->options->dnssec_verify == CONF_DNSSEC_IF_SIGNED)
		return NSD_OK;
	if (findings.sink.errors > 0) {
		log_error("zone %s: serial %u is not served: %s",
			zone->conf->name, serial, findings.first);
		return NSD_E_SIGNED;
	}
	candidate->is_verified = true;
	log_at(3, LOG_LEVEL_INFO, "zone %s: serial %u: %" PRIu64 " signatures"
				  " are right", zone->conf->name, serial,
		report.verified);
	return NSD_OK;
}

enum nsd_err
load_verify(const struct load_context *context, const struct load_zone *zone,
	struct update_candidate *candidate)
{
	enum nsd_err err = load_verify_digest(context, zone, candidate->zone);

	return err == NSD_OK ? verify_signatures(context, zone, candidate)
		: err;
}
