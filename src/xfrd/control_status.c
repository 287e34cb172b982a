/* control_status.c - zonestatus and listzones: the state of zones. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/store.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "zone/measure.h"

/* Zones, and time, in one turn of the loop. */
#define TURN_ZONES 100
#define TURN_USEC 1000
/* Objects of a zone that are measured until the clock is looked at. */
#define STEP_OBJECTS 1000u
/* In a list of all zones, those with more names are not measured: it would take
 * too long. */
#define LIST_NAMES_MAX 10000u
#define TIME_TEXT_MAX 32

/* A list of zones that is being printed. */
struct control_list {
	struct xfrd *xfrd;
	uint32_t next; /* number of a zone */
	bool is_one; /* of one zone, which was printed already */
	bool is_json;
	struct ctl_json json;
	/* True: the zone is to be measured, and list_end_zone follows. */
	bool (*print)(struct control_list *list, struct ctl_call *call,
		struct xfrd_zone *zone);
	bool is_measuring;
	struct zone_measuring measuring;
};

/* ---- lines of a zone ----------------------------------------------------- */

/* Prints the date of a time of the machine. */
static const char *
status_print_time(int64_t at, int64_t now, char out[TIME_TEXT_MAX])
{
	struct timespec real;
	struct tm tm;
	time_t date;

	/* Not from whole seconds: a time must not differ from one look to the
	 * next. */
	clock_gettime(CLOCK_REALTIME, &real);
	date = (time_t)(((int64_t)real.tv_sec * 1000 + real.tv_nsec / 1000000
		- (now - at)) / 1000);
	if (localtime_r(&date, &tm) == NULL
		|| strftime(out, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		snprintf(out, TIME_TEXT_MAX, "%lld", (long long)date);
	return out;
}

static const char *
status_state(const struct xfr_status *status)
{
	switch (status->state) {
	case XFR_STATE_OK:
		return "ok";
	case XFR_STATE_REFRESHING:
		return "refreshing";
	case XFR_STATE_EXPIRED:
		break;
	}
	/* NSD calls a zone without data refreshing. */
	return status->has_data ? "expired" : "refreshing";
}

static const char *
status_primary(const struct xfrd_options *options, uint32_t index)
{
	const char *spec = xfrd_options_texts(options, SETTINGS_REQUEST_XFR,
		index).spec;

	return spec != NULL ? spec : "unknown";
}

static void
status_print_serials(struct ctl_call *call, const struct xfr_status *status,
	int64_t now)
{
	char since[TIME_TEXT_MAX];

	if (!status->has_data) {
		ctl_printf(call, "\tserved-serial: none\n"
				 "\tcommit-serial: none\n");
		return;
	}
	status_print_time(status->served_at, now, since);
	ctl_printf(call, "\tserved-serial: \"%u since %s\"\n"
			 "\tcommit-serial: \"%u since %s\"\n",
		(unsigned)status->soa.serial, since,
		(unsigned)status->soa.serial, since);
}

/* True if a request of the zone waits for a connection. */
static bool
status_waits(const struct xfrd *xfrd, struct xfrd_zone *zone)
{
	const struct xfrd_job *job;

	cds_list_for_each_entry(job, &xfrd->asks.waiting, keep_node)
		if (job->zone == zone)
			return true;
	return false;
}

/* Prints what the check does, or how long it is until the next. */
static void
status_print_activity(const struct xfrd *xfrd, struct ctl_call *call,
	struct xfrd_zone *zone, const struct xfrd_options *options,
	const struct xfr_status *status, int64_t now)
{
	bool udp = status->query == XFR_QUERY_SOA_UDP
		|| status->query == XFR_QUERY_IXFR_UDP;

	if (status->primary != XFR_NONE && !status_waits(xfrd, zone))
		ctl_printf(call, "\ttransfer: \"%s %s\"\n",
			udp ? "sent UDP to" : "TCP connected to",
			status_primary(options, status->primary));
	else if (status->is_checking)
		ctl_printf(call, "\ttransfer: \"waiting-for-%s-fd\"\n",
			udp ? "UDP" : "TCP");
	else if (status->check_at != XFR_NEVER)
		ctl_printf(call, "\twait: \"%lld sec between attempts\"\n",
			(long long)(status->check_at > now
					? (status->check_at - now) / 1000
					: 0));
}

/* Prints the last error, as the log told it. */
static void
status_print_error(const struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_options *options, const struct xfr_status *status,
	int64_t now)
{
	struct settings_texts primary = xfrd_options_texts(options,
		SETTINGS_REQUEST_XFR, status->error_primary);
	char error[XFRD_ERROR_MAX], with[XFRD_WITH_MAX];

	if (!status->has_error)
		return;
	xfrd_print_with(primary.key_name, primary.tls_auth, with,
		sizeof(with));
	ctl_printf(call, "\t\tlast-error: \"%s from %s%s, %lld sec ago\"\n",
		xfrd_print_error(xfrd, status, error, sizeof(error)),
		status_primary(options, status->error_primary), with,
		(long long)((now - status->error_at) / 1000));
}

/* Prints the servers that fail now, and in which ways. */
static void
status_print_failing(const struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_zone *zone, const struct xfrd_options *options,
	int64_t now)
{
	const struct xfrd_said_way *way = zone->said;
	char error[XFRD_ERROR_MAX], with[XFRD_WITH_MAX];

	for (; way != NULL; way = way->next) {
		struct settings_texts server = xfrd_options_texts(options,
			way->is_notify ? SETTINGS_NOTIFY
				: SETTINGS_REQUEST_XFR, way->server);

		if (!way->is_final || server.spec == NULL)
			continue;
		ctl_printf(call, "\t\tfailing: \"%s%s%s: %s, since %lld"
			" sec\"\n", way->is_notify ? "notify to " : "",
			server.spec, xfrd_print_with(server.key_name,
				server.tls_auth, with, sizeof(with)),
			xfrd_failure_print(xfrd,
				(enum xfr_outcome)way->outcome, way->rcode,
				way->reason, error, sizeof(error)),
			(long long)((now - way->since_msec) / 1000));
	}
}

static void
status_print_received(struct ctl_call *call, const struct xfrd_zone *zone,
	const struct xfrd_options *options)
{
	const struct xfrd_received *last = &zone->received;

	if (last->at_sec != 0)
		ctl_printf(call, "\t\tlast-transfer: \"%s from %s, %u bytes"
				 " in %.3f seconds, %lld sec ago\"\n",
			xfrd_received_kind(last),
			status_primary(options, last->primary),
			(unsigned)last->octets, last->msec / 1e3,
			(long long)time(NULL) - (long long)last->at_sec);
}

/* Prints lines that NSD does not have, indented further. */
static void
status_print_more(const struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_options *options, const struct xfr_status *status,
	int64_t now)
{
	uint32_t primary = status->primary != XFR_NONE ? status->primary
						       : status->next_primary;

	ctl_printf(call, "\t\tfrom: \"%s\"\n",
		status_primary(options, primary));
	status_print_error(xfrd, call, options, status, now);
	if (status->failed_rounds > 0)
		ctl_printf(call, "\t\tfailed-attempts: %u\n",
			(unsigned)status->failed_rounds);
	if (status->check_at != XFR_NEVER)
		ctl_printf(call, "\t\tnext-refresh: \"in %lld sec\"\n",
			(long long)(status->check_at > now
					? (status->check_at - now) / 1000
					: 0));
	if (status->has_data && status->expire_at != XFR_NEVER)
		ctl_printf(call, "\t\texpires: \"in %lld sec\"\n",
			(long long)(status->expire_at > now
					? (status->expire_at - now) / 1000
					: 0));
}

static void
status_print_secondary(struct xfrd *xfrd, struct ctl_call *call,
	struct xfrd_zone *zone, const struct xfrd_options *options)
{
	int64_t now = clock_now_msec();
	struct xfr_status status;

	xfr_get_status(xfrd->zones.machine, zone->handle, now, &status);
	ctl_printf(call, "\tstate: %s\n", status_state(&status));
	status_print_serials(call, &status, now);
	if (status.is_notified)
		ctl_printf(call, "\tnotified-serial: \"%u\"\n",
			(unsigned)status.notified_serial);
	status_print_activity(xfrd, call, zone, options, &status, now);
	status_print_more(xfrd, call, options, &status, now);
	status_print_received(call, zone, options);
}

/* Prints NOTIFYs that are not acknowledged yet. */
static void
status_print_notifies(struct xfrd *xfrd, struct ctl_call *call,
	struct xfrd_zone *zone, const struct xfrd_options *options)
{
	uint16_t list[XFR_TARGETS_MAX];
	struct xfr_status status;
	uint32_t count = xfr_list_notifying(xfrd->zones.machine, zone->handle,
		list, XFR_TARGETS_MAX);

	if (count == 0)
		return;
	xfr_get_status(xfrd->zones.machine, zone->handle, clock_now_msec(),
		&status);
	ctl_printf(call, "\tnotify: \"send");
	for (uint32_t i = 0; i < count; i++) {
		const char *spec = xfrd_options_texts(options,
			SETTINGS_NOTIFY, list[i]).spec;

		if (spec != NULL)
			ctl_printf(call, " %s", spec);
	}
	ctl_printf(call, " with serial %u\"\n", (unsigned)status.soa.serial);
}

/* Prints the outcome of the last try to write the zone to its file. */
static void
status_print_written(struct xfrd *xfrd, struct ctl_call *call,
	struct xfrd_zone *zone)
{
	const struct xfrd_written *done = &zone->written;
	uint32_t serial;
	long long ago;

	if (xfrd_written_find_serial(xfrd, zone, &serial))
		ctl_printf(call, "\t\tfile-serial: %u\n", (unsigned)serial);
	if (done->at_sec == 0)
		return;
	ago = (long long)time(NULL) - (long long)done->at_sec;
	if (done->err == NSD_OK)
		ctl_printf(call, "\t\tlast-write: \"serial %u, %lld sec"
				 " ago\"\n",
			(unsigned)done->serial, ago);
	else
		ctl_printf(call, "\t\tlast-write: \"failed %lld sec ago:"
				 " %s%s\"\n",
			ago, xfrd_written_why(done),
			done->to == IPC_WRITTEN_COPY
				? ", a copy is in xfrdir"
				: "");
}

/* True if a zone is primary; not if nothing is published of it (yet). */
static bool
status_is_primary(const struct xfrd_options *options)
{
	return options->entry != NULL
		&& xfrd_options_count(options, SETTINGS_REQUEST_XFR) == 0;
}

/* Prints the zone's part in catalogs, in NSD's lines. */
static void
status_print_catalog(struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_zone *zone, const struct xfrd_options *options)
{
	const struct xfrd_catalog *catalog = !zone->is_catalog ? NULL
		: xfrd_catalog_find(xfrd, xfrd_zone_apex(zone));
	char why[XFRD_ERROR_MAX], text[NAME_TEXT_MAX];
	const char *id = control_find_member_id(xfrd, zone, options, text);
	struct xfrd_soa soa;
	uint64_t count;

	if (xfrd_produce_find_count(xfrd, xfrd_zone_apex(zone), &count)
		&& xfrd_zones_get_soa(xfrd, zone, &soa))
		ctl_printf(call, "\tcatalog: producer (serial: %u, # members:"
			" %llu)\n", (unsigned)soa.numbers.serial,
			(unsigned long long)count);
	else if (xfrd_options_catalog(options) == CONF_CATALOG_PRODUCER)
		ctl_printf(call, "\tcatalog: producer\n");
	if (catalog != NULL && catalog->is_compared)
		ctl_printf(call, "\tcatalog: consumer (serial: %u, # members:"
			" %llu)\n", (unsigned)catalog->serial,
			(unsigned long long)xfrd_catalog_count(catalog));
	else if (catalog != NULL)
		ctl_printf(call, "\tcatalog: consumer\n");
	if (catalog != NULL && *xfrd_catalog_print_invalid(catalog, why,
			sizeof(why)) != '\0')
		ctl_printf(call, "\tcatalog-invalid: %s\n", why);
	if (id != NULL)
		ctl_printf(call, "\tcatalog-member-id: %s\n", id);
}

/* Prints the folder that has the zone's file, and what becomes of that. */
static void
status_print_folder(struct xfrd *xfrd, struct ctl_call *call,
	const struct xfrd_zone *zone)
{
	const struct xfrd_folder *folder = xfrd_folder_of_zone(xfrd, zone);
	char text[XFRD_ERROR_MAX];

	if (folder == NULL)
		return;
	ctl_printf(call, "\t\t%.*s: %s\n", (int)strlen("zone-directory"),
		folder->name, folder->name + strlen("zone-directory "));
	if (*xfrd_folder_print_fault(folder, text, sizeof(text)) != '\0')
		ctl_printf(call, "\t\tzone-directory-fault: \"%s\"\n", text);
	if (*xfrd_folder_print_pause(folder, zone, text, sizeof(text)) != '\0')
		ctl_printf(call, "\t\tzone-file: \"%s\"\n", text);
}

static void
status_print_zone(struct xfrd *xfrd, struct ctl_call *call,
	struct xfrd_zone *zone, const struct xfrd_options *options)
{
	const char *pattern = xfrd_options_pattern(options);
	bool is_known = zone->handle != XFR_NONE;
	bool secondary = !status_is_primary(options);
	char name[NAME_TEXT_MAX];
	struct xfrd_soa soa;

	ctl_printf(call, "zone:\t%s\n",
		xfrd_zone_print_name(xfrd, zone, name));
	if (pattern != NULL)
		ctl_printf(call, "\tpattern: %s\n", pattern);
	status_print_catalog(xfrd, call, zone, options);
	if (is_known)
		status_print_notifies(xfrd, call, zone, options);
	if (!secondary)
		ctl_printf(call, "\tstate: primary\n");
	else if (is_known)
		status_print_secondary(xfrd, call, zone, options);
	else
		ctl_printf(call, "\tstate: refreshing\n"
				 "\tserved-serial: none\n"
				 "\tcommit-serial: none\n");
	if (xfrd_zones_get_soa(xfrd, zone, &soa)) {
		ctl_printf(call, "\t\tserial: %u\n\t\trecords: %llu\n",
			(unsigned)soa.numbers.serial,
			(unsigned long long)soa.records);
		if (!secondary && soa.file_failed)
			ctl_printf(call, "\t\tlast-read: \"failed: see the"
				" log\"\n");
	} else {
		ctl_printf(call, "\t\tserial: none\n");
	}
	control_print_updates(xfrd, call, zone, options);
	control_print_refused(xfrd, call, zone);
	status_print_folder(xfrd, call, zone);
	status_print_failing(xfrd, call, zone, options, clock_now_msec());
	if ((secondary && is_known) || zone->written.at_sec != 0)
		status_print_written(xfrd, call, zone);
}

static void
status_print_name(struct xfrd *xfrd, struct ctl_call *call,
	struct xfrd_zone *zone, const struct xfrd_options *options)
{
	const char *pattern = xfrd_options_pattern(options);
	char name[NAME_TEXT_MAX];

	ctl_printf(call, "%s%s%s\n", xfrd_zone_print_name(xfrd, zone, name),
		pattern != NULL ? "\t" : "", pattern != NULL ? pattern : "");
}

/* ---- lists --------------------------------------------------------------- */

static bool
list_print_zone(struct control_list *list, struct ctl_call *call,
	struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(list->xfrd, zone);
	bool secondary = xfrd_options_count(&options, SETTINGS_REQUEST_XFR)
		> 0;
	struct xfrd_soa soa;

	if (list->is_json)
		control_json_zone(list->xfrd, &list->json, zone, &options);
	else
		status_print_zone(list->xfrd, call, zone, &options);
	xfrd_read_end(list->xfrd);
	if (secondary && xfrd_zones_get_soa(list->xfrd, zone, &soa)
		&& (list->is_one || soa.names <= LIST_NAMES_MAX)) {
		zone_measure_begin_one(&list->measuring, xfrd_zone_apex(zone));
		return true;
	}
	if (list->is_json)
		ctl_json_close(&list->json, '}');
	return false;
}

static bool
list_print_name(struct control_list *list, struct ctl_call *call,
	struct xfrd_zone *zone)
{
	struct xfrd_options options = xfrd_options_begin(list->xfrd, zone);

	if (list->is_json) {
		ctl_json_open(&list->json, NULL, '{');
		control_json_name(list->xfrd, &list->json, zone, &options);
		ctl_json_close(&list->json, '}');
	} else {
		status_print_name(list->xfrd, call, zone, &options);
	}
	xfrd_read_end(list->xfrd);
	return false;
}

/* Prints the last line of a zone: the octets that it takes in the store. */
static void
list_end_zone(struct control_list *list, struct ctl_call *call)
{
	struct zone_measure measure;
	uint64_t octets = 0;

	zone_measure_get(&list->measuring, &measure);
	for (unsigned i = 0; i < ZONE_KIND_COUNT; i++)
		octets += measure.octets[i];
	if (list->is_json) {
		ctl_json_number(&list->json, "memory", (long long)octets);
		ctl_json_close(&list->json, '}');
	} else {
		ctl_printf(call, "\t\tmemory: %llu\n",
			(unsigned long long)octets);
	}
}

/* Measures the zone that was printed last. True: not to the end. */
static bool
list_measure(struct control_list *list, struct ctl_call *call,
	int64_t end_usec)
{
	bool more;

	do {
		more = zone_measure_step_one(xfrd_read_begin(list->xfrd),
			&list->measuring, STEP_OBJECTS);
		xfrd_read_end(list->xfrd);
	} while (more && clock_now_usec() < end_usec);
	if (!more)
		list_end_zone(list, call);
	return more;
}

static void
list_on_gone(struct ctl_call *call)
{
	free(ctl_hooks(call)->ctx);
	ctl_end(call);
}

static bool
list_is_whole(const struct control_list *list)
{
	return !list->is_measuring && (list->is_one
		|| list->next >= list->xfrd->zones.table.end);
}

/* Zones may come and go meanwhile: some may be left out. */
static void
list_on_room(struct ctl_call *call)
{
	struct control_list *list = ctl_hooks(call)->ctx;
	const struct xfrd_zone_table *table = &list->xfrd->zones.table;
	int64_t end_usec = clock_now_usec() + TURN_USEC;

	for (unsigned i = 0; i < TURN_ZONES && !list_is_whole(list); i++) {
		struct xfrd_zone *zone;

		if (list->is_measuring)
			list->is_measuring = list_measure(list, call,
				end_usec);
		else if ((zone = xfrd_zone_at(table, list->next++)) != NULL)
			list->is_measuring = list->print(list, call, zone);
		if (clock_now_usec() >= end_usec)
			break;
	}
	if (!list_is_whole(list))
		return;
	if (list->is_json) {
		ctl_json_close(&list->json, ']');
		ctl_printf(call, "\n");
	}
	free(list);
	ctl_end(call);
}

/* Starts to print a zone; one: NULL: all zones. */
static void
list_start(struct xfrd *xfrd, struct ctl_call *call,
	struct xfrd_zone *one, bool (*print)(struct control_list *,
		struct ctl_call *, struct xfrd_zone *))
{
	struct control_list *list = calloc(1, sizeof(*list));

	if (list == NULL) {
		ctl_printf(call, "error out of memory\n");
		ctl_end(call);
		return;
	}
	list->xfrd = xfrd;
	list->is_one = one != NULL;
	list->print = print;
	list->is_json = ctl_command(call)->json;
	list->json.call = call;
	if (list->is_json)
		ctl_json_open(&list->json, NULL, '[');
	/* A single zone is printed now: it may go before there is room. */
	if (one != NULL)
		list->is_measuring = print(list, call, one);
	ctl_hooks(call)->ctx = list;
	ctl_hooks(call)->on_gone = list_on_gone;
	ctl_stream(call, list_on_room);
}

/* ---- verbs --------------------------------------------------------------- */

void
control_on_zonestatus(struct xfrd *xfrd, struct ctl_call *call)
{
	const char *name = ctl_argument(call, 0);
	struct xfrd_zone *zone = NULL;

	if (name != NULL) {
		zone = control_find_zone(xfrd, call, name);
		if (zone == NULL)
			return;
	}
	list_start(xfrd, call, zone, list_print_zone);
}

void
control_on_listzones(struct xfrd *xfrd, struct ctl_call *call)
{
	list_start(xfrd, call, NULL, list_print_name);
}
