/* sinks.c - main's part in the collector. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "conf/chroot.h"
#include "conf/compare.h"
#include "main/child.h"
#include "main/service.h"
#include "main/sinks.h"
#include "main/supervisor.h"
#include "main/tap_wants.h"
#include "net/socket.h"
#include "process/counts.h"

/* The shortest time between two openings of a sink, however often the collector
 * asks. */
#define OPEN_PAUSE_MSEC 500
/* The value of query-log for lines that go to syslog. */
#define QUERY_LOG_SYSLOG "syslog:"
/* The port of a receiver that nsd.conf has none for. */
#define DNSTAP_PORT 3333

/* ---- the switch ---------------------------------------------------------- */

static void
zones_fill(struct tap_zones *zones, const struct conf_strings *names)
{
	uint8_t apex[NAME_MAX_LEN];

	memset(zones, 0, sizeof(*zones));
	for (size_t i = 0; i < names->count; i++)
		if (conf_parse_zone_name(names->items[i], apex))
			tap_zones_add(zones, apex, name_len(apex));
}

/* Fills the set of zones that workers do not look at, and has them look at
 * it. */
static void
sinks_choose_zones(struct tap_switch *wanted, const struct conf_strings *names)
{
	uint32_t chosen = 0;

	if (names->count > 0) {
		chosen = wanted->chosen == 1 ? 2 : 1;
		zones_fill(&wanted->sets[chosen - 1], names);
	}
	__atomic_store_n(&wanted->chosen, chosen, __ATOMIC_RELEASE);
}

static void
sinks_tell_workers(const struct supervisor *s)
{
	struct tap_switch *wanted = counts_get_switch(s->server.counts);
	const struct conf *conf = s->server.conf;

	sinks_choose_zones(wanted, &conf->dnstap.dnstap_zones);
	__atomic_store_n(&wanted->sample, conf->dnstap.dnstap_sample,
		__ATOMIC_RELAXED);
	__atomic_store_n(&wanted->said, s->sinks.said, __ATOMIC_RELAXED);
	__atomic_store_n(&wanted->wants, tap_wants_choose(conf, s->sinks.said),
		__ATOMIC_RELAXED);
}

/* ---- the process --------------------------------------------------------- */

void
sinks_begin(struct supervisor *s)
{
	sinks_tell_workers(s);
	if (tap_wants_collector(s->server.conf, s->sinks.said))
		service_start(&s->collector, NULL);
}

/* Stops the collector, if one runs; at its end main starts the next one, if
 * one is wanted. */
static void
sinks_restart(struct supervisor *s)
{
	if (s->collector.current != NULL)
		child_stop(s->collector.current);
	else if (tap_wants_collector(s->server.conf, s->sinks.said))
		service_start(&s->collector, NULL);
}

enum nsd_err
sinks_switch(struct supervisor *s, bool on)
{
	const struct conf *conf = s->server.conf;
	enum tap_said said = on ? TAP_SAID_ON : TAP_SAID_OFF;
	bool differs = tap_wants_dnstap(conf, said)
		!= tap_wants_dnstap(conf, s->sinks.said);

	if (on && tap_wants_choose(conf, said) == 0)
		return NSD_E_NOT_FOUND;
	s->sinks.said = said;
	sinks_tell_workers(s);
	if (differs)
		sinks_restart(s);
	return NSD_OK;
}

/* Certificates and keys are files, whose contents may have changed. */
static bool
sinks_differ(const struct supervisor *s, const struct conf *a,
	const struct conf *b)
{
	const struct conf_dnstap *d = &b->dnstap;

	return !conf_options_are_same(a, b, "dnstap", "")
		|| !conf_options_are_same(a, b, "server", "query-log")
		|| (tap_wants_dnstap(b, s->sinks.said) && d->dnstap_tls
			&& d->dnstap_ip != NULL && *d->dnstap_ip != '\0');
}

void
sinks_follow(struct supervisor *s, const struct conf *before)
{
	if (!sinks_differ(s, before, s->server.conf))
		return;
	s->sinks.said = TAP_SAID_NOTHING;
	s->sinks.opened_msec[SINK_DNSTAP] = 0;
	s->sinks.opened_msec[SINK_QUERY_LOG] = 0;
	sinks_tell_workers(s);
	sinks_restart(s);
}

/* ---- sinks --------------------------------------------------------------- */

/* Returns a descriptor; -1: errno says why. */
static int
connect_address(const struct sockaddr *address, socklen_t len)
{
	int fd = socket(address->sa_family,
		SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd == -1 || connect(fd, address, len) == 0 || errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* A socket of UNIX is connected at once, or not at all. */
static int
connect_path(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(address.sun_path, path);
	return connect_address((struct sockaddr *)&address, sizeof(address));
}

static int
connect_receiver(const struct supervisor *s)
{
	const struct conf_dnstap *d = &s->server.conf->dnstap;
	struct sockaddr_storage address;

	if (d->dnstap_ip == NULL || *d->dnstap_ip == '\0')
		return connect_path(conf_path_in_chroot(s->server.chroot,
			d->dnstap_socket_path));
	if (net_parse_address(d->dnstap_ip, DNSTAP_PORT, &address) != NSD_OK) {
		errno = EINVAL;
		return -1;
	}
	return connect_address((struct sockaddr *)&address,
		net_address_len(&address));
}

/* Opens the query log as the log is opened: log_open_files knows which links
 * are not to be followed, and the socket of syslog. */
static int
open_query_log(const struct supervisor *s, struct ipc_sink *sink)
{
	const char *name = s->server.conf->server.query_log;
	struct log_options options = {.only_syslog = true};
	struct log_files files;

	sink->is_syslog = strcmp(name, QUERY_LOG_SYSLOG) == 0;
	if (sink->is_syslog == 0)
		options = (struct log_options){.file =
			conf_path_in_chroot(s->server.chroot, name)};
	if (log_open_files(&options, &files) != NSD_OK)
		return -1;
	sink->is_stream = files.syslog_is_stream;
	return sink->is_syslog != 0 ? files.syslog : files.file;
}

/* Returns a descriptor; -1: sink->error says why. */
static int
sink_open(const struct supervisor *s, struct ipc_sink *sink)
{
	const struct conf *conf = s->server.conf;
	int fd = -1;

	errno = ENOENT;
	if (sink->which == SINK_DNSTAP
		&& tap_wants_dnstap(conf, s->sinks.said))
		fd = connect_receiver(s);
	else if (sink->which == SINK_QUERY_LOG && tap_wants_log(conf))
		fd = open_query_log(s, sink);
	if (fd == -1)
		sink->error = (uint32_t)errno;
	return fd;
}

static void
sink_send(struct child *collector, const struct ipc_sink *sink, int fd)
{
	(void)child_send(collector, IPC_SINK, sink, sizeof(*sink), &fd,
		fd != -1);
	if (fd != -1)
		close(fd);
}

void
sinks_on_want(struct supervisor *s, struct child *collector,
	const struct ipc_message *m)
{
	int64_t now = clock_now_msec();
	struct ipc_want_sink want;
	struct ipc_sink sink = {.error = EALREADY};
	int64_t *opened;

	memcpy(&want, m->payload, sizeof(want));
	if (collector->reaped || collector->told_stop
		|| want.which >= SINK_COUNT)
		return;
	opened = &s->sinks.opened_msec[want.which];
	if (*opened != 0 && now - *opened < OPEN_PAUSE_MSEC) {
		sink.which = want.which;
		sink_send(collector, &sink, -1);
		return;
	}
	*opened = now;
	sink = (struct ipc_sink){.which = want.which};
	sink_send(collector, &sink, sink_open(s, &sink));
}

enum nsd_err
sinks_reopen_log(struct supervisor *s)
{
	struct child *collector = s->collector.current;
	struct ipc_sink sink = {.which = SINK_QUERY_LOG};
	int fd;

	if (!tap_wants_log(s->server.conf))
		return NSD_OK;
	fd = sink_open(s, &sink);
	if (fd == -1) {
		errno = (int)sink.error;
		return NSD_E_SYSTEM;
	}
	if (collector != NULL && !collector->told_stop) {
		sink_send(collector, &sink, fd);
		return NSD_OK;
	}
	/* The next collector has the file opened by its name. */
	close(fd);
	s->sinks.opened_msec[SINK_QUERY_LOG] = 0;
	return NSD_OK;
}
