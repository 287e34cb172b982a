/*
 * collector.c - the role that collects the records of queries and answers, from
 * the rings of all workers, and hands them to dnstap and to the query log.
 *
 * It looks at the rings every 5 to 40 ms: workers tell it nothing, so a
 * record costs them no system call. Main opens its sinks. It trusts no ring: a
 * worker that was taken over loses its own records, and no others.
 */
#include "config.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "collector/dnstap.h"
#include "collector/query_log_file.h"
#include "collector/zone_filter.h"
#include "ipc/handlers.h"
#include "process/counts.h"
#include "process/role.h"
#include "process/sandbox.h"

/* The pause between two looks at the rings: the shortest, behind records, and
 * the longest, when none come. A ring holds the records of 60 ms of 150,000
 * answers a second. */
#define LOOK_MSEC 5
#define LOOK_MAX_MSEC 40
/* Records that are taken from a ring at a time, and from all of them before the
 * loop has its turn. */
#define TAKE_AT_ONCE 64
#define TAKE_MAX 4096
/* Time between two lines of the log about lost records. */
#define TELL_MSEC 60000
/* Time for what is left at the end. */
#define STOP_MSEC 500

struct collector {
	struct role role;
	struct tap_counts *counts;
	struct tap_reader *readers; /* of each worker */
	unsigned reader_count;
	struct zone_filter zones;
	struct dnstap *dnstap;
	struct query_log_file *log;
	struct event *look_event;
	struct event *stop_event;
	unsigned pause_msec;
	int64_t told_msec;     /* when lost records were told last; 0: never */
	uint64_t told_dropped; /* of counts->dropped, how many are told */
	uint64_t records_lost; /* in rings, and not told */
	uint8_t copy[TAP_RECORD_MAX];
};

/* ---- records ------------------------------------------------------------- */

static void
collector_count(uint64_t *counter, uint64_t n)
{
	if (n > 0)
		__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* Takes some records of a ring; returns how many. */
static unsigned
collector_take_some(struct collector *c, struct tap_reader *reader)
{
	struct tap_record record;
	unsigned count = 0;

	while (count < TAKE_AT_ONCE) {
		enum tap_outcome outcome = tap_read(reader, &record);

		if (outcome == TAP_NOTHING)
			break;
		count++;
		if (outcome == TAP_GARBAGE)
			collector_count(&c->counts->garbage, 1);
		else if (zone_filter_takes(&c->zones, &record)) {
			dnstap_take(c->dnstap, &record);
			query_log_file_take(c->log, &record);
		}
	}
	return count;
}

/* Takes records of all rings in turn. Returns how many; at most somewhat above
 * TAKE_MAX. */
static unsigned
collector_take(struct collector *c)
{
	unsigned count = 0, more;
	uint64_t lost = 0;

	do {
		more = 0;
		for (unsigned i = 0; i < c->reader_count; i++)
			more += collector_take_some(c, &c->readers[i]);
		count += more;
	} while (more > 0 && count < TAKE_MAX);
	for (unsigned i = 0; i < c->reader_count; i++)
		lost += tap_take_dropped(&c->readers[i]);
	c->records_lost += lost;
	collector_count(&c->counts->dropped, lost);
	dnstap_push(c->dnstap);
	query_log_file_push(c->log);
	return count;
}

/* Says in the log what was lost, and where. */
static void
collector_tell_dropped(struct collector *c)
{
	uint64_t records = c->records_lost;
	uint64_t messages = c->counts->dropped - c->told_dropped - records;

	if (records > 0)
		log_warning("%llu records of queries were lost, as the"
			    " collector does not keep up",
			(unsigned long long)records);
	if (messages > 0)
		log_warning("dnstap: %llu messages were lost, as the receiver"
			    " takes none or too few",
			(unsigned long long)messages);
	if (records > 0 || messages > 0)
		c->told_msec = clock_now_msec();
	c->told_dropped += messages + records;
	c->records_lost = 0;
}

/* Tells of losses, at most once a minute. */
static void
collector_tell_often(struct collector *c)
{
	if (c->told_msec == 0
		|| clock_now_msec() - c->told_msec >= TELL_MSEC)
		collector_tell_dropped(c);
}

static void
collector_look_later(struct collector *c, unsigned msec)
{
	const struct timeval when = {.tv_usec = msec * 1000};

	if (event_add(c->look_event, &when) == -1)
		log_error("out of memory for a timer");
}

static void
collector_on_look(evutil_socket_t fd, short what, void *arg)
{
	struct collector *c = arg;
	unsigned count = collector_take(c);

	if (count > 0)
		c->pause_msec = LOOK_MSEC;
	else if (c->pause_msec < LOOK_MAX_MSEC)
		c->pause_msec *= 2;
	collector_tell_often(c);
	collector_look_later(c, count >= TAKE_MAX ? 0 : c->pause_msec);
}

/* ---- messages ------------------------------------------------------------ */

static void
collector_on_sink(struct role *role, const struct ipc_message *m)
{
	struct collector *c = (struct collector *)role;
	struct ipc_sink sink;
	int fd = -1;

	memcpy(&sink, m->payload, sizeof(sink));
	/* The message's descriptors are closed behind it. */
	if (m->fd_count > 0)
		fd = dup(m->fds[0]);
	if (fd == -1 && sink.error == 0)
		sink.error = EMFILE;
	if (sink.which == SINK_DNSTAP)
		dnstap_on_sink(c->dnstap, fd, (int)sink.error);
	else
		query_log_file_on_sink(c->log, fd, &sink);
}

#define COLLECTOR_HANDLERS(X)                                                \
	ROLE_HANDLERS(X)                                                     \
	X(SINK, collector_on_sink)

static void (*const collector_handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {COLLECTOR_HANDLERS(IPC_HANDLER)};
IPC_CHECK_HANDLERS(COLLECTOR_HANDLERS, IPC_TO_COLLECTOR);

/* ---- begin and end ------------------------------------------------------- */

static void
collector_end(struct collector *c)
{
	dnstap_end(c->dnstap);
	collector_tell_dropped(c);
	role_stop(&c->role);
}

static void
collector_on_done(void *ctx)
{
	collector_end(ctx);
}

static void
collector_on_stop_timer(evutil_socket_t fd, short what, void *arg)
{
	collector_end(arg);
}

/* Sends what the rings hold now, as far as the receiver takes it at once. */
static void
collector_on_stop(struct role *role)
{
	static const struct timeval most = {.tv_usec = STOP_MSEC * 1000};
	struct collector *c = (struct collector *)role;
	uint64_t records = 0, count;

	(void)event_del(c->look_event);
	do {
		count = collector_take(c);
		records += count;
	} while (count > 0
		&& records < (uint64_t)c->reader_count
			* (TAP_RING_SIZE / TAP_HEAD_LEN));
	if (!dnstap_stop(c->dnstap, collector_on_done, c)
		|| event_add(c->stop_event, &most) == -1)
		collector_end(c);
}

/* A signal to all processes: workers may have records yet, so main says when to
 * end. */
static void
collector_on_term(struct role *role)
{
}

static enum nsd_err
collector_init_rings(struct collector *c, const struct counts *counts)
{
	c->counts = counts_get_tap(counts);
	c->told_dropped = c->counts->dropped;
	__atomic_store_n(&c->counts->connected, 0, __ATOMIC_RELAXED);
	c->reader_count = counts_workers(counts);
	c->readers = calloc(c->reader_count, sizeof(*c->readers));
	if (c->readers == NULL)
		return NSD_E_MEMORY;
	for (unsigned i = 0; i < c->reader_count; i++)
		c->readers[i] = (struct tap_reader){
			.ring = counts_get_ring(counts, i),
			.cursor = counts_get_cursor(counts, i),
			.copy = c->copy,
		};
	return NSD_OK;
}

static enum nsd_err
collector_init_events(struct collector *c)
{
	c->pause_msec = LOOK_MSEC;
	c->look_event = event_new(c->role.base, -1, 0, collector_on_look, c);
	c->stop_event = event_new(c->role.base, -1, 0,
		collector_on_stop_timer, c);
	if (c->look_event == NULL || c->stop_event == NULL)
		return NSD_E_MEMORY;
	collector_look_later(c, LOOK_MSEC);
	return NSD_OK;
}

static enum nsd_err
collector_init(struct collector *c, const struct role_start *start)
{
	int keep[2 + LOG_FDS_MAX] = {start->channel.fd, start->stop_fd};
	unsigned kept = 2 + log_list_fds(keep + 2);
	struct server *server = start->server;
	enum nsd_err err;

	c->role.handlers = collector_handlers;
	c->role.on_stop = collector_on_stop;
	c->role.on_term = collector_on_term;
	role_init_name("dnstap_collector", "collector");
	role_init_death(server, true);
	server_leave_secrets(server);
	fs_close_all_but(keep, kept);
	err = collector_init_rings(c, server->counts);
	if (err == NSD_OK)
		err = role_init_loop(&c->role, start);
	if (err == NSD_OK)
		err = collector_init_events(c);
	if (err == NSD_OK)
		err = zone_filter_init(&c->zones,
			&server->conf->dnstap.dnstap_zones);
	if (err == NSD_OK)
		err = dnstap_open(&c->role, c->counts, &c->dnstap);
	if (err == NSD_OK)
		err = query_log_file_open(&c->role, c->counts, &c->log);
	if (err == NSD_OK)
		err = sandbox_enter(&server->sandbox, ROLE_COLLECTOR, NULL);
	if (err == NSD_OK) {
		dnstap_begin(c->dnstap);
		query_log_file_begin(c->log);
	}
	return err;
}

void
collector_main(const struct role_start *start)
{
	struct collector *c = calloc(1, sizeof(*c));
	enum nsd_err err = c != NULL ? collector_init(c, start)
				     : NSD_E_MEMORY;

	if (err != NSD_OK) {
		log_error("the collector cannot start: %s", err_text(err));
		_exit(1);
	}
	role_run(&c->role);
	_exit(0);
}
