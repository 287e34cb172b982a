/*
 * control_trouble.c - the verb status: trouble at a glance, behind the lines
 * that NSD has. Without trouble there are no more lines.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/counts.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_catalog.h"
#include "xfrd/xfrd_refused.h"
#include "xfrd/xfrd_statistics.h"

/* Zones in one turn of the loop. */
#define TURN_ZONES 500u
/* Zones that are named; a line has the number of the others. */
#define NAMED_MAX 10u

struct control_trouble {
	struct xfrd *xfrd;
	uint32_t next; /* number of a zone */
	size_t zones; /* zones with trouble, so far */
	bool is_json;
	struct ctl_json json;
};

static void __attribute__((format(printf, 3, 4)))
trouble_say(struct control_trouble *t, struct ctl_call *call,
	const char *format, ...)
{
	char line[XFRD_ERROR_FROM_MAX + NAME_TEXT_MAX + 200];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (t->is_json)
		ctl_json_text(&t->json, NULL, line);
	else
		ctl_printf(call, "trouble: %s\n", line);
}

/* ---- zones --------------------------------------------------------------- */

static const char *const what_is_wrong[STATISTICS_ZONE_TROUBLES] = {
	[STATISTICS_ZONE_NOT_LOADED] = "is not loaded",
	[STATISTICS_ZONE_AS_IT_WAS] = "is served as it was: its file cannot be"
		" used, see the log",
	[STATISTICS_ZONE_EXPIRED] = "has expired",
	[STATISTICS_ZONE_NO_DATA] = "has no data",
	[STATISTICS_ZONE_NOT_REFRESHED] = "cannot be refreshed",
	[STATISTICS_ZONE_NOT_WRITTEN] = "cannot be written",
	[STATISTICS_ZONE_NOT_HEARD] = "has a target of NOTIFY that does not"
		" acknowledge it",
};

/* Returns the newest failure of a target of NOTIFY. */
static const char *
trouble_explain_notify(struct xfrd *xfrd, struct xfrd_zone *zone,
	char error[XFRD_ERROR_MAX])
{
	struct xfrd_options options = xfrd_options_begin(xfrd, zone);
	const struct xfrd_said_way *way = xfrd_trouble_find_notify(xfrd, zone);
	const char *spec = way == NULL ? NULL
		: xfrd_options_texts(&options, SETTINGS_NOTIFY,
			way->server).spec;
	char why[XFRD_ERROR_MAX];

	if (spec != NULL)
		snprintf(error, XFRD_ERROR_MAX, "%.100s, %.*s", spec,
			XFRD_ERROR_MAX - 110, xfrd_failure_print(xfrd,
				(enum xfr_outcome)way->outcome, way->rcode,
				way->reason, why, sizeof(why)));
	xfrd_read_end(xfrd);
	return spec != NULL ? error : NULL;
}

/* Returns why a secondary zone has trouble, perhaps in error; or NULL. */
static const char *
trouble_explain(struct xfrd *xfrd, struct xfrd_zone *zone,
	const struct xfr_status *status, char error[XFRD_ERROR_FROM_MAX])
{
	const struct xfrd_refused_version *refused = xfrd_refused_find(
		&xfrd->zones.table, zone);

	if (refused != NULL) {
		snprintf(error, XFRD_ERROR_MAX, "serial %u is refused by %s:"
			" %.300s", (unsigned)refused->serial,
			xfrd_refused_check_word(refused->check), refused->why);
		return error;
	}
	return status->has_error
		? xfrd_print_error_from(xfrd, zone, status, error,
			XFRD_ERROR_FROM_MAX)
		: NULL;
}

static void
trouble_look(struct control_trouble *t, struct ctl_call *call,
	struct xfrd_zone *zone)
{
	enum statistics_zone_trouble trouble;
	char error[XFRD_ERROR_FROM_MAX], name[NAME_TEXT_MAX];
	const char *why = NULL;
	struct xfr_status status;

	trouble = xfrd_trouble_find(t->xfrd, zone, &status);
	if (trouble == STATISTICS_ZONE_WELL || t->zones++ >= NAMED_MAX)
		return;
	assert(trouble < STATISTICS_ZONE_TROUBLES
		&& what_is_wrong[trouble] != NULL);
	if (trouble == STATISTICS_ZONE_NOT_HEARD)
		why = trouble_explain_notify(t->xfrd, zone, error);
	else if (trouble == STATISTICS_ZONE_NOT_WRITTEN)
		why = xfrd_written_why(&zone->written);
	else if (xfrd_zone_is_secondary(t->xfrd, zone))
		why = trouble_explain(t->xfrd, zone, &status, error);
	trouble_say(t, call, "zone %s %s%s%s",
		xfrd_zone_print_name(t->xfrd, zone, name),
		what_is_wrong[trouble], why != NULL ? ": " : "",
		why != NULL ? why : "");
}

/* ---- the rest ------------------------------------------------------------ */

/* Changes the name that the counters have for a worker, server0 as in NSD, to
 * that of ps and the log. */
static void
trouble_name_process(struct counts_process *p)
{
	unsigned index;

	if (sscanf(p->name, "server%u", &index) == 1)
		snprintf(p->name, sizeof(p->name), "server %u", index + 1);
}

/* Reports a message that a process died of. Its file stays; the next death is
 * reported anew. */
static void
trouble_look_at_hand(struct control_trouble *t, struct ctl_call *call,
	const struct counts_process *p)
{
	long long ago_sec = (clock_now_msec() - p->in_hand_msec) / 1000;
	char path[PATH_MAX], root[PATH_MAX];

	if (p->in_hand != 0
		&& server_find_in_hand(t->xfrd->role.server, p->in_hand, path,
			sizeof(path)))
		trouble_say(t, call, "%s has died of what is in %s%s, perhaps,"
			" %lld seconds ago; please report it", p->name,
			server_find_root(t->xfrd->role.server, root), path,
			ago_sec);
	else
		trouble_say(t, call, "%s has died of what is in the log,"
			" perhaps, %lld seconds ago; please report it",
			p->name, ago_sec);
}

static void
trouble_look_at_processes(struct control_trouble *t, struct ctl_call *call)
{
	const struct counts *counts = t->xfrd->role.server->counts;
	int64_t now = clock_now_msec();

	for (unsigned i = 0; i < counts_workers(counts) + 3; i++) {
		struct counts_process p;

		if (!counts_get_process(counts, i, &p) || p.deaths == 0)
			continue;
		trouble_name_process(&p);
		if (p.in_hand_msec != 0
			&& now - p.in_hand_msec
				<= XFRD_TROUBLE_IN_HAND_MSEC)
			trouble_look_at_hand(t, call, &p);
		if (now - p.died_msec > XFRD_TROUBLE_DEATH_MSEC)
			continue;
		trouble_say(t, call, "%s has died, %lld seconds ago; deaths"
			" so far: %llu", p.name,
			(long long)((now - p.died_msec) / 1000),
			(unsigned long long)p.deaths);
	}
}

/* Prints main's lines about options that wait for a restart. */
static void
trouble_look_at_waiting(struct control_trouble *t, struct ctl_call *call)
{
	const char *line = t->xfrd->role.server->waiting;

	while (*line != '\0') {
		int len = (int)strcspn(line, "\n");

		trouble_say(t, call, "%.*s", len, line);
		line += len + (line[len] == '\n');
	}
}

static void
trouble_look_at_journal(struct control_trouble *t, struct ctl_call *call)
{
	char path[PATH_MAX];

	if (!server_find_journal(t->xfrd->role.server, path, sizeof(path)))
		path[0] = '\0';
	trouble_say(t, call, "nothing is transferred: the journal %s cannot be"
		" used: %s", path, t->xfrd->journal_why);
}

static void
trouble_look_at_catalogs(struct control_trouble *t, struct ctl_call *call)
{
	const struct xfrd_catalog *catalog;
	const struct xfrd_folder *folder;
	char why[XFRD_ERROR_MAX];

	cds_list_for_each_entry(catalog, &t->xfrd->catalogs, node)
		if (*xfrd_catalog_print_invalid(catalog, why, sizeof(why))
			!= '\0')
			trouble_say(t, call, "%s is not followed: %s",
				catalog->name, why);
	cds_list_for_each_entry(folder, &t->xfrd->folders.list, node)
		if (*xfrd_folder_print_fault(folder, why, sizeof(why)) != '\0')
			trouble_say(t, call, "%s %s", folder->name, why);
}

static bool
status_wants_records(const struct xfrd *xfrd)
{
	const struct tap_switch *tap =
		counts_get_switch(xfrd->role.server->counts);

	return __atomic_load_n(&tap->wants, __ATOMIC_RELAXED) != 0;
}

/* True if messages go to dnstap: nsd.conf or the operator says so, and there
 * are kinds of them. */
static bool
status_wants_dnstap(const struct xfrd *xfrd)
{
	const struct server *server = xfrd->role.server;
	const struct conf_dnstap *o = &server->conf->dnstap;
	uint32_t said = __atomic_load_n(
		&counts_get_switch(server->counts)->said, __ATOMIC_RELAXED);

	return USE_DNSTAP
		&& (said == TAP_SAID_ON
			|| (said != TAP_SAID_OFF && o->dnstap_enable))
		&& (o->dnstap_log_auth_query_messages
			|| o->dnstap_log_auth_response_messages
			|| o->dnstap_log_update_messages
			|| o->dnstap_log_notify_messages);
}

static const char *
trouble_explain_log(int error)
{
	switch (error) {
	case EAGAIN:
	case ENOBUFS:
		return "its reader does not keep up";
	case EPIPE:
	case ECONNREFUSED:
	case ENOTCONN:
	case ECONNRESET:
		return "its reader has gone";
	default:
		return strerror(error);
	}
}

/* Records of queries that get nowhere, unless nobody wants any. */
static void
trouble_look_at_records(struct control_trouble *t, struct ctl_call *call)
{
	const char *log = t->xfrd->role.server->conf->server.query_log;
	struct statistics_records records;

	if (!status_wants_records(t->xfrd))
		return;
	xfrd_statistics_get_records(t->xfrd, &records);
	if (status_wants_dnstap(t->xfrd) && !records.is_connected)
		trouble_say(t, call, "dnstap has no receiver, see the log");
	/* Figures of a query log outlast it. */
	if (log != NULL && *log != '\0' && records.log_error != 0)
		trouble_say(t, call, "the query log cannot be written: %s",
			trouble_explain_log(records.log_error));
}

static void
trouble_end(struct control_trouble *t, struct ctl_call *call)
{
	if (t->zones > NAMED_MAX)
		trouble_say(t, call, "and %zu more zones, see zonestatus",
			t->zones - NAMED_MAX);
	if (t->xfrd->journal == NULL)
		trouble_look_at_journal(t, call);
	if (t->xfrd->changes == NULL)
		trouble_say(t, call, "zones cannot be added or deleted: %s",
			t->xfrd->changes_why);
	if (t->xfrd->writes.failed_before)
		trouble_say(t, call, "zone files could not be written before"
			" xfrd was replaced: nsd-control write tries again");
	trouble_look_at_catalogs(t, call);
	trouble_look_at_records(t, call);
	trouble_look_at_processes(t, call);
	trouble_look_at_waiting(t, call);
	if (t->is_json) {
		ctl_json_close(&t->json, ']');
		ctl_json_close(&t->json, '}');
		ctl_printf(call, "\n");
	}
	free(t);
	ctl_end(call);
}

/* Zones may come and go meanwhile: some may be left out. */
static void
trouble_on_room(struct ctl_call *call)
{
	struct control_trouble *t = ctl_hooks(call)->ctx;
	const struct xfrd_zone_table *table = &t->xfrd->zones.table;

	for (unsigned i = 0; i < TURN_ZONES && t->next < table->end; i++) {
		struct xfrd_zone *zone = xfrd_zone_at(table, t->next++);

		if (zone != NULL)
			trouble_look(t, call, zone);
	}
	if (t->next >= table->end)
		trouble_end(t, call);
}

static void
trouble_on_gone(struct ctl_call *call)
{
	free(ctl_hooks(call)->ctx);
	ctl_end(call);
}

/* ---- the verb ------------------------------------------------------------ */

/* True if nsd.conf or the operator wants records of queries, or he wants none
 * any more. */
static bool
status_has_dnstap(const struct xfrd *xfrd)
{
	const struct tap_switch *tap =
		counts_get_switch(xfrd->role.server->counts);

	return status_wants_records(xfrd)
		|| __atomic_load_n(&tap->said, __ATOMIC_RELAXED)
			!= TAP_SAID_NOTHING;
}

static const char *
status_dnstap(const struct xfrd *xfrd)
{
	return status_wants_records(xfrd) ? "on" : "off";
}

/* Keys stay; others may come. doc/nsd-control.8 lists them. */
static void
status_begin_json(struct control_trouble *t)
{
	const struct server *server = t->xfrd->role.server;

	ctl_json_open(&t->json, NULL, '{');
	ctl_json_text(&t->json, "version", PACKAGE_VERSION);
	ctl_json_number(&t->json, "verbosity", log_verbosity());
	ctl_json_number(&t->json, "pid", server->main_pid);
	ctl_json_number(&t->json, "boot", (long long)server->boot);
	if (status_has_dnstap(t->xfrd))
		ctl_json_text(&t->json, "dnstap", status_dnstap(t->xfrd));
	ctl_json_number(&t->json, "zones",
		(long long)t->xfrd->zones.table.count);
	ctl_json_open(&t->json, "trouble", '[');
}

static void
status_begin(struct xfrd *xfrd, struct ctl_call *call)
{
	const struct settings *settings = settings_get(xfrd_read_begin(xfrd));

	ctl_printf(call, "version: %s\n", PACKAGE_VERSION);
	ctl_printf(call, "verbosity: %u\n", log_verbosity());
	if (RATELIMIT)
		ctl_printf(call, "ratelimit: %u\n",
			settings->rrl_ratelimit);
	xfrd_read_end(xfrd);
	if (status_has_dnstap(xfrd))
		ctl_printf(call, "dnstap: %s\n", status_dnstap(xfrd));
}

void
control_on_status(struct xfrd *xfrd, struct ctl_call *call)
{
	struct control_trouble *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		ctl_printf(call, "error out of memory\n");
		ctl_end(call);
		return;
	}
	t->xfrd = xfrd;
	t->is_json = ctl_command(call)->json;
	t->json.call = call;
	if (t->is_json)
		status_begin_json(t);
	else
		status_begin(xfrd, call);
	ctl_hooks(call)->ctx = t;
	ctl_hooks(call)->on_gone = trouble_on_gone;
	ctl_stream(call, trouble_on_room);
}
