/* load_verify.c - verifies that a version from elsewhere is the primary's, and
 * that validators will believe it. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit/audit.h"
#include "base/log.h"
#include "conf/chroot.h"
#include "loader/load_change.h"
#include "loader/load_verify.h"
#include "store/writer.h"
#include "zone/zonemd.h"
#include "zonefile/anchors.h"

bool
load_verify_is_wanted(const struct load_zone *zone)
{
	return zone->conf->options->zonemd_verify || load_change_is_wanted(zone)
		|| zone->conf->options->dnssec_verify != CONF_DNSSEC_NO;
}

bool
load_verify_takes_long(const struct load_zone *zone, const struct zone *served,
	uint64_t records_max)
{
	return zone->conf->options->dnssec_verify != CONF_DNSSEC_NO
		|| load_change_takes_long(zone, served, records_max)
		|| (zone->conf->options->zonemd_verify
			&& served->rr_count > records_max);
}

/* ---- digests ------------------------------------------------------------- */

static enum nsd_err
verify_digest(const struct load_context *context,
	const struct load_zone *zone, const struct zone *made,
	struct load_refusal *refusal)
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
		load_refusal_set(refusal, IPC_CHECK_DIGEST, made->serial,
			"%s", zonemd_text(verdict));
		return NSD_E_DIGEST;
	}
	log_at(verdict == ZONEMD_ABSENT ? 1 : 3, LOG_LEVEL_INFO,
		"zone %s: serial %u: %s", zone->conf->name,
		(unsigned)made->serial, zonemd_text(verdict));
	return NSD_OK;
}

/* ---- signatures ---------------------------------------------------------- */

/* The first finding that breaks validation, or the first error of the file of
 * trust anchors; the first algorithm that is not verified; the first finding
 * that breaks a rule and nothing else. */
struct verify_findings {
	struct diag_sink sink;
	char first[IPC_WHY_MAX + 1];
	char unknown[IPC_WHY_MAX + 1];
	char odd[IPC_WHY_MAX + 1];
};

static void
verify_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct verify_findings *findings = (struct verify_findings *)sink;
	char *out = d->severity == DIAG_ERROR ? findings->first
		: strstr(d->text, "cannot be verified here") != NULL
		? findings->unknown : findings->odd;

	if (*out == '\0')
		snprintf(out, IPC_WHY_MAX + 1, "%s", d->text);
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

/* Returns the file of trust anchors; NULL: there is none. */
static const char *
verify_find_anchor(const struct load_zone *zone)
{
	const char *path = zone->conf->options->dnssec_verify_anchor;

	return path != NULL && *path != '\0' ? path : NULL;
}

/* Judges an audit. *is_verified: signatures have shown that all is right. */
static enum nsd_err
verify_conclude(const struct load_zone *zone, unsigned serial,
	const struct verify_findings *findings,
	const struct audit_report *report, bool *is_verified,
	struct load_refusal *refusal)
{
	const struct conf_pattern *options = zone->conf->options;
	bool takes_unsigned = options->dnssec_verify == CONF_DNSSEC_IF_SIGNED
		&& verify_find_anchor(zone) == NULL;
	/* A zone of unknown algorithms is as one without signatures: RFC 4035
	 * section 5.2. */
	bool is_unknown = report->verified == 0
		&& report->count[AUDIT_KEY_UNKNOWN] > 0;

	*is_verified = false;
	if (takes_unsigned && report->count[AUDIT_UNSIGNED] > 0)
		return NSD_OK;
	if (takes_unsigned && is_unknown) {
		log_at(1, LOG_LEVEL_INFO, "zone %s: serial %u is taken as"
			" unsigned: %s", zone->conf->name, serial,
			findings->unknown);
		return NSD_OK;
	}
	if (findings->sink.errors > 0 || is_unknown) {
		load_refusal_set(refusal, IPC_CHECK_SIGNED, serial, "%s",
			is_unknown ? findings->unknown : findings->first);
		return NSD_E_SIGNED;
	}
	*is_verified = true;
	if (findings->odd[0] != '\0')
		log_at(2, LOG_LEVEL_WARNING, "zone %s: serial %u is taken"
			" though %s", zone->conf->name, serial, findings->odd);
	log_at(3, LOG_LEVEL_INFO, "zone %s: serial %u: %" PRIu64 " signatures"
				  " are right%s%s", zone->conf->name, serial,
		report->verified,
		report->count[AUDIT_KEY_UNKNOWN] > 0 ? "; " : "",
		report->count[AUDIT_KEY_UNKNOWN] > 0 ? findings->unknown : "");
	return NSD_OK;
}

static enum nsd_err
verify_by(const struct load_context *context, const struct load_zone *zone,
	const struct anchors *anchors, struct update_candidate *candidate,
	struct load_refusal *refusal)
{
	const struct audit_options options = {
		.apex = zone->conf->wire,
		.now_sec = (uint64_t)time(NULL),
		.margin_sec = zone->conf->options->dnssec_verify_margin,
		.verify = true,
		.strict = true,
		.anchors = anchors,
		.threads = context->threads_max,
	};
	struct verify_findings findings = {.sink.on_diag = verify_on_diag};
	struct audit_report report;
	enum nsd_err err = verify_audit(context, &options, candidate,
		&findings, &report);

	return err != NSD_OK ? err : verify_conclude(zone,
		candidate->zone->serial, &findings, &report,
		&candidate->is_verified, refusal);
}

static enum nsd_err
verify_signatures(const struct load_context *context,
	const struct load_zone *zone, struct update_candidate *candidate,
	struct load_refusal *refusal)
{
	const struct conf_pattern *options = zone->conf->options;
	const char *path = verify_find_anchor(zone);
	struct verify_findings findings = {.sink.on_diag = verify_on_diag};
	struct anchors_file file;
	enum nsd_err err;

	if (options->dnssec_verify == CONF_DNSSEC_NO)
		return NSD_OK;
	if (path == NULL)
		return verify_by(context, zone, NULL, candidate, refusal);
	err = anchors_read(conf_path_in_chroot(context->chroot, path),
		zone->conf->wire, &findings.sink, &file);
	if (err == NSD_OK) {
		err = verify_by(context, zone, &file.anchors, candidate,
			refusal);
		anchors_fini(&file);
		return err;
	}
	if (err == NSD_E_MEMORY)
		return err;
	load_refusal_set(refusal, IPC_CHECK_SIGNED, candidate->zone->serial,
		"dnssec-verify-anchor %s: %s", path, findings.first[0] != '\0'
			? findings.first : err_reason(err));
	return NSD_E_SIGNED;
}

enum nsd_err
load_verify(const struct load_context *context, const struct load_zone *zone,
	uint32_t accepted, struct update_candidate *candidate,
	struct load_refusal *refusal)
{
	enum nsd_err err = NSD_OK;

	if ((accepted & IPC_CHECK_CHANGE) == 0)
		err = load_change_check(store_writer_view(context->writer),
			zone, candidate, refusal);
	if (err == NSD_OK && (accepted & IPC_CHECK_DIGEST) == 0)
		err = verify_digest(context, zone, candidate->zone, refusal);
	if (err == NSD_OK && (accepted & IPC_CHECK_SIGNED) == 0)
		err = verify_signatures(context, zone, candidate, refusal);
	return err;
}
