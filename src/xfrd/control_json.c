/* control_json.c - the answers of zonestatus and listzones in JSON.
 * Keys stay; others may come. doc/nsd-control.8 lists them. */
#include "config.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"

void
control_json_name(struct xfrd *xfrd, struct ctl_json *json,
	struct xfrd_zone *zone, const struct xfrd_options *options)
{
	char name[NAME_TEXT_MAX];

	ctl_json_text(json, "zone", xfrd_zone_print_name(xfrd, zone, name));
	ctl_json_text(json, "pattern", xfrd_options_pattern(options));
}

static const char *
json_primary(const struct xfrd_options *options, uint32_t index)
{
	return xfrd_options_texts(options, SETTINGS_REQUEST_XFR, index).spec;
}

/* Returns the seconds between two times. */
static long long
json_seconds(int64_t from, int64_t to)
{
	return to > from ? (to - from) / 1000 : 0;
}

static void
json_print_error(const struct xfrd *xfrd, struct ctl_json *json,
	const struct xfrd_options *options, const struct xfr_status *status,
	int64_t now)
{
	struct settings_texts primary = xfrd_options_texts(options,
		SETTINGS_REQUEST_XFR, status->error_primary);
	long long ago = json_seconds(status->error_at, now);
	char text[XFRD_ERROR_MAX];

	ctl_json_open(json, "last_error", '{');
	ctl_json_text(json, "reason", xfr_outcome_text(status->error));
	ctl_json_text(json, "text",
		xfrd_print_error(xfrd, status, text, sizeof(text)));
	if (primary.spec != NULL) {
		ctl_json_text(json, "primary", primary.spec);
		ctl_json_text(json, "key", primary.key_name);
		ctl_json_text(json, "tls_auth", primary.tls_auth);
	}
	ctl_json_number(json, "time", (long long)time(NULL) - ago);
	ctl_json_number(json, "ago_sec", ago);
	ctl_json_close(json, '}');
}

static void
json_print_secondary(const struct xfrd *xfrd, struct ctl_json *json,
	const struct xfrd_options *options, const struct xfr_status *status,
	int64_t now)
{
	ctl_json_text(json, "primary", json_primary(options,
		status->primary != XFR_NONE ? status->primary
					    : status->next_primary));
	if (status->is_notified)
		ctl_json_number(json, "notified_serial",
			status->notified_serial);
	ctl_json_text(json, "transfer", status->is_checking
			? (status->primary != XFR_NONE ? "under way"
						       : "waits")
			: NULL);
	ctl_json_number(json, "failed_attempts", status->failed_rounds);
	if (status->has_error)
		json_print_error(xfrd, json, options, status, now);
	if (status->check_at != XFR_NEVER)
		ctl_json_number(json, "next_refresh_sec",
			json_seconds(now, status->check_at));
	if (status->has_data && status->expire_at != XFR_NEVER)
		ctl_json_number(json, "expires_sec",
			json_seconds(now, status->expire_at));
	if (status->has_data)
		ctl_json_number(json, "served_for_sec",
			json_seconds(status->served_at, now));
}

/* Prints the servers that fail now, and in which ways. */
static void
json_print_failing(const struct xfrd *xfrd, struct ctl_json *json,
	struct xfrd_zone *zone, const struct xfrd_options *options,
	int64_t now)
{
	const struct xfrd_said_way *way = zone->said;
	char text[XFRD_ERROR_MAX];

	if (way == NULL)
		return;
	ctl_json_open(json, "failing", '[');
	for (; way != NULL; way = way->next) {
		const char *server = xfrd_options_texts(options,
			way->is_notify ? SETTINGS_NOTIFY
				: SETTINGS_REQUEST_XFR, way->server).spec;

		if (!way->is_final || server == NULL)
			continue;
		ctl_json_open(json, NULL, '{');
		ctl_json_text(json, way->is_notify ? "notify" : "primary",
			server);
		ctl_json_text(json, "text", xfrd_failure_print(xfrd,
			(enum xfr_outcome)way->outcome, way->rcode,
			way->reason, text, sizeof(text)));
		ctl_json_number(json, "since_sec",
			json_seconds(way->since_msec, now));
		ctl_json_close(json, '}');
	}
	ctl_json_close(json, ']');
}

static void
json_print_received(struct ctl_json *json, const struct xfrd_zone *zone,
	const struct xfrd_options *options)
{
	const struct xfrd_received *last = &zone->received;

	if (last->at_sec == 0)
		return;
	ctl_json_open(json, "last_transfer", '{');
	ctl_json_text(json, "kind", xfrd_received_kind(last));
	ctl_json_text(json, "primary", json_primary(options,
		last->primary));
	ctl_json_number(json, "octets", last->octets);
	ctl_json_number(json, "msec", last->msec);
	ctl_json_number(json, "time", last->at_sec);
	ctl_json_close(json, '}');
}

static void
json_print_written(struct xfrd *xfrd, struct ctl_json *json,
	struct xfrd_zone *zone)
{
	const struct xfrd_written *done = &zone->written;
	uint32_t serial;

	if (xfrd_written_find_serial(xfrd, zone, &serial))
		ctl_json_number(json, "file_serial", serial);
	if (done->at_sec == 0)
		return;
	ctl_json_open(json, "last_write", '{');
	ctl_json_number(json, "time", done->at_sec);
	ctl_json_text(json, "result", done->err == NSD_OK ? "ok" : "failed");
	if (done->err != NSD_OK)
		ctl_json_text(json, "text", xfrd_written_why(done));
	if (done->to == IPC_WRITTEN_COPY)
		ctl_json_text(json, "to", "xfrdir");
	else if (done->to == IPC_WRITTEN_FILE)
		ctl_json_text(json, "to", "file");
	if (done->to != IPC_WRITTEN_NOWHERE)
		ctl_json_number(json, "serial", done->serial);
	ctl_json_close(json, '}');
}

/* Prints the zone's part in catalogs; nothing, if it has none. */
static void
json_print_catalog(struct xfrd *xfrd, struct ctl_json *json,
	const struct xfrd_zone *zone, const struct xfrd_options *options)
{
	const struct xfrd_catalog *catalog = !zone->is_catalog ? NULL
		: xfrd_catalog_find(xfrd, xfrd_zone_apex(zone));
	char why[XFRD_ERROR_MAX], text[NAME_TEXT_MAX];
	const char *id = control_find_member_id(xfrd, zone, options, text);
	const struct xfrd_folder *folder = xfrd_folder_of_zone(xfrd, zone);

	if (xfrd_options_catalog(options) == CONF_CATALOG_PRODUCER)
		ctl_json_text(json, "catalog", "producer");
	if (catalog != NULL) {
		(void)xfrd_catalog_print_invalid(catalog, why, sizeof(why));
		ctl_json_text(json, "catalog", "consumer");
		ctl_json_number(json, "members",
			(long long)xfrd_catalog_count(catalog));
		ctl_json_text(json, "catalog_invalid", *why != '\0' ? why
			: NULL);
	}
	if (id != NULL)
		ctl_json_text(json, "catalog_member_id", id);
	if (folder == NULL)
		return;
	ctl_json_text(json, "zone_directory",
		folder->name + strlen("zone-directory "));
	(void)xfrd_folder_print_pause(folder, zone, why, sizeof(why));
	ctl_json_text(json, "zone_file", *why != '\0' ? why : NULL);
}

void
control_json_zone(struct xfrd *xfrd, struct ctl_json *json,
	struct xfrd_zone *zone, const struct xfrd_options *options)
{
	static const char *const states[] = {
		[XFR_STATE_OK] = "ok",
		[XFR_STATE_REFRESHING] = "refreshing",
		[XFR_STATE_EXPIRED] = "expired",
	};
	bool is_known = zone->handle != XFR_NONE;
	/* A zone of which nothing is published yet counts as secondary. */
	bool secondary = options->entry == NULL
		|| xfrd_options_count(options, SETTINGS_REQUEST_XFR) > 0;
	int64_t now = clock_now_msec();
	struct xfr_status status = {.state = XFR_STATE_REFRESHING};
	struct xfrd_soa soa;

	if (is_known)
		xfr_get_status(xfrd->zones.machine, zone->handle, now,
			&status);
	if (status.state == XFR_STATE_EXPIRED && !status.has_data)
		status.state = XFR_STATE_REFRESHING;
	ctl_json_open(json, NULL, '{');
	control_json_name(xfrd, json, zone, options);
	json_print_catalog(xfrd, json, zone, options);
	ctl_json_text(json, "state", secondary ? states[status.state]
					       : "primary");
	if (xfrd_zones_get_soa(xfrd, zone, &soa)) {
		ctl_json_number(json, "serial", soa.numbers.serial);
		ctl_json_number(json, "records", (long long)soa.records);
		if (!secondary && soa.file_failed)
			ctl_json_text(json, "last_read", "failed");
	} else {
		ctl_json_text(json, "serial", NULL);
	}
	control_json_updates(xfrd, json, zone, options);
	control_json_refused(xfrd, json, zone);
	if (secondary && is_known)
		json_print_secondary(xfrd, json, options, &status, now);
	ctl_json_number(json, "notifying", status.notifying);
	json_print_failing(xfrd, json, zone, options, now);
	json_print_received(json, zone, options);
	if ((secondary && is_known) || zone->written.at_sec != 0)
		json_print_written(xfrd, json, zone);
}
