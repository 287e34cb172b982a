/* control_updates.c - zonestatus of a zone that takes UPDATEs of clients. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_update.h"

#define TIME_TEXT_MAX 32

/* Prints a time of the epoch. Returns out. */
static const char *
updates_print_time(int64_t sec, char out[TIME_TEXT_MAX])
{
	time_t date = (time_t)sec;
	struct tm tm;

	if (localtime_r(&date, &tm) == NULL
		|| strftime(out, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		snprintf(out, TIME_TEXT_MAX, "%lld", (long long)sec);
	return out;
}

void
control_print_updates(struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_zone *zone, const struct xfrd_options *options)
{
	const uint8_t *apex = xfrd_zone_apex(zone);
	uint32_t count = xfrd_client_update_count(xfrd, apex);
	struct xfrd_updated last;
	char time[TIME_TEXT_MAX];

	if (!xfrd_options_take_updates(options))
		return;
	if (xfrd_client_update_find_last(xfrd, apex, &last))
		ctl_printf(call, "\t\tupdate: \"serial %lu from %s at %s\"\n",
			(unsigned long)last.serial, last.source,
			updates_print_time(last.at_sec, time));
	if (xfrd_freeze_has(xfrd, apex))
		ctl_printf(call, "\t\tfrozen: yes\n");
	if (count > 0)
		ctl_printf(call, "\t\tupdates-waiting: %u\n",
			(unsigned)count);
}

void
control_json_updates(struct xfrd *xfrd, struct ctl_json *json,
	const struct xfrd_zone *zone, const struct xfrd_options *options)
{
	const uint8_t *apex = xfrd_zone_apex(zone);
	struct xfrd_updated last;
	char *key;

	if (!xfrd_options_take_updates(options))
		return;
	ctl_json_text(json, "frozen", xfrd_freeze_has(xfrd, apex) ? "yes"
		: NULL);
	ctl_json_number(json, "updates_waiting",
		(long long)xfrd_client_update_count(xfrd, apex));
	if (!xfrd_client_update_find_last(xfrd, apex, &last))
		return;
	key = strstr(last.source, XFRD_UPDATED_KEY);
	if (key != NULL) {
		*key = '\0';
		key += strlen(XFRD_UPDATED_KEY);
	}
	ctl_json_open(json, "last_update", '{');
	ctl_json_number(json, "serial", last.serial);
	ctl_json_text(json, "from", last.source);
	ctl_json_text(json, "key", key);
	ctl_json_number(json, "time", (long long)last.at_sec);
	ctl_json_close(json, '}');
}
