/*
 * nsd_update.c - nsd with one more source of changes: takes them on its
 * standard input and sends them to the loader on main's own channel.
 *
 *   nsd_update -d -c nsd.conf ...        as nsd; -d is needed
 *
 *   zone APEX                  begins a change of a zone that is served
 *   add-zone APEX              begins a new zone
 *   remove-zone APEX           a zone that add-zone made
 *   add OWNER TTL TYPE RDATA   names that do not end in a dot are below APEX
 *   remove OWNER TTL TYPE RDATA
 *   remove-rrset OWNER TYPE    TYPE ANY: all of the name
 *   octets HEX                 as they are, right or wrong
 *   send                       all since the beginning, as one transaction
 *   addzone NAME PATTERN       a zone of the configuration, from its file
 *   delzone NAME               one of the configuration
 *
 * Each send is answered on standard output:
 *
 *   TICKET ok|ERROR added N removed N names N usec N
 *
 * and each addzone and delzone by
 *
 *   TICKET ok|ERROR loaded 0|1 usec N
 *
 * tickets counted from 1, usec from the sending to the loader's answer. Those
 * of one zone are answered in order, and all that a loader left unanswered
 * before those behind them. "TICKET no loader": it was not sent;
 * "TICKET loader died": it may have been done or not. While PENDING_MAX are
 * not answered, no more lines are read: the sender waits.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/octets.h"
#include "dns/name.h"
#include "dns/rrbatch.h"
#include "dns/rrtype.h"
#include "lib/heap_report.h"
#include "load/load_update.h"
#include "proc/child.h"
#include "proc/start.h"
#include "proc/supervisor.h"
#include "proc/zone_change.h"
#include "zonefile/zonefile.h"

/* Much less than a channel holds. */
#define PENDING_MAX 100
/* How often a loader that died is looked for. */
#define LOOK_USEC 50000

/* Not answered. */
struct pending {
	uint64_t ticket; /* 0: none */
	int64_t sent_usec;
	pid_t loader;    /* 0: it was not sent */
};

struct updater {
	struct supervisor *supervisor;
	struct event *event;
	struct event *look_event;
	bool waits; /* for an answer, before it reads on */
	int in;
	char *line;       /* what has come of the next lines */
	size_t line_len, line_room;
	uint8_t apex[NAME_MAX_LEN];
	uint8_t *data;    /* the file so far */
	size_t len, room;
	uint64_t ticket;
	struct pending pending[PENDING_MAX];
};

static int64_t
now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void
die(const char *what)
{
	fprintf(stderr, "nsd_update: %s\n", what);
	abort();
}

static void
put(struct updater *u, const void *data, size_t len)
{
	if (u->room - u->len < len) {
		u->room = (u->len + len) * 2;
		u->data = realloc(u->data, u->room);
		if (u->data == NULL)
			die("out of memory");
	}
	if (len > 0)
		memcpy(u->data + u->len, data, len);
	u->len += len;
}

static void
put_name(struct updater *u, const char *text)
{
	uint8_t name[NAME_MAX_LEN];
	const char *why;
	size_t len;

	if (name_parse_text(text, strlen(text), u->apex, name, &len, &why)
		!= NSD_OK)
		die(why);
	put(u, name, len);
}

static void
begin(struct updater *u, enum load_update_kind kind, const char *apex)
{
	uint8_t octet = (uint8_t)kind;
	const char *why;
	size_t len;

	if (name_parse_text(apex, strlen(apex), (const uint8_t *)"", u->apex,
		    &len, &why)
		!= NSD_OK)
		die(why);
	u->len = 0;
	put(u, &octet, 1);
	put(u, u->apex, len);
}

static void
put_tail(struct updater *u, uint16_t type, uint32_t ttl_sec,
	const uint8_t *rdata, uint16_t rdlen)
{
	uint8_t head[8];

	octets_put_u16(head, type);
	octets_put_u32(head + 2, ttl_sec);
	octets_put_u16(head + 6, rdlen);
	put(u, head, sizeof(head));
	put(u, rdata, rdlen);
}

/* A line of a zone file. */
static void
put_record(struct updater *u, enum load_update_action action, char *text)
{
	struct zonefile_options options = {.apex = u->apex};
	struct zonefile_result result;
	uint8_t octet = (uint8_t)action;
	const struct rrbatch_rr *rr;
	size_t len = strlen(text);

	text[len] = '\n';
	if (zonefile_parse_text("update", text, len + 1, &options, NULL,
		    &result)
			!= NSD_OK
		|| result.rr_count != 1)
		die("a line that is no record");
	rr = rrbatch_first(result.batches);
	put(u, &octet, 1);
	put(u, rr->data, rr->owner_len);
	put_tail(u, rr->type, rr->ttl_sec, rrbatch_rr_rdata(rr), rr->rdlen);
	zonefile_result_fini(&result);
}

static void
put_rrset(struct updater *u, char *text)
{
	uint8_t octet = LOAD_UPDATE_REMOVE_RRSET;
	char *type_text = strchr(text, ' ');
	uint16_t type = 255;

	if (type_text == NULL)
		die("remove-rrset without a type");
	*type_text++ = '\0';
	if (strcmp(type_text, "ANY") != 0
		&& rrtype_parse(type_text, strlen(type_text), &type) != NSD_OK)
		die("no such type");
	put(u, &octet, 1);
	put_name(u, text);
	put_tail(u, type, 0, NULL, 0);
}

static void
put_octets(struct updater *u, const char *hex)
{
	unsigned value;

	for (; sscanf(hex, "%2x", &value) == 1; hex += 2) {
		uint8_t octet = (uint8_t)value;

		put(u, &octet, 1);
	}
}

/* That of a ticket, 0: a free place; or NULL. */
static struct pending *
find_pending(struct updater *u, uint64_t ticket)
{
	for (unsigned i = 0; i < PENDING_MAX; i++)
		if (u->pending[i].ticket == ticket)
			return &u->pending[i];
	return NULL;
}

/* The one that has waited longest, or NULL. */
static struct pending *
find_first(struct updater *u)
{
	struct pending *first = NULL;

	for (unsigned i = 0; i < PENDING_MAX; i++)
		if (u->pending[i].ticket != 0
			&& (first == NULL
				|| u->pending[i].ticket < first->ticket))
			first = &u->pending[i];
	return first;
}

/* Gives up what was sent to a loader that is gone, or not sent at all, up to
 * the first that may be answered yet. One that a dead loader has left and main
 * does not know of yet stands before those that could not be sent to it. */
static void
give_up(struct updater *u)
{
	const struct child *loader = u->supervisor->loader.current;
	struct timeval look = {.tv_usec = LOOK_USEC};
	struct pending *first;

	while ((first = find_first(u)) != NULL) {
		if (first->loader != 0 && loader != NULL
			&& loader->pid == first->loader) {
			event_add(u->look_event, &look);
			return;
		}
		printf("%llu %s\n", (unsigned long long)first->ticket,
			first->loader != 0 ? "loader died" : "no loader");
		first->ticket = 0;
	}
}

/* Before anything is sent, to another loader perhaps; a free place. */
static struct pending *
begin_pending(struct updater *u)
{
	struct pending *pending;

	give_up(u);
	pending = find_pending(u, 0);
	pending->ticket = ++u->ticket;
	pending->sent_usec = now_usec();
	pending->loader = 0;
	return pending;
}

static void
send_file(struct updater *u)
{
	struct pending *pending = begin_pending(u);
	struct ipc_update update = {.ticket = u->ticket, .len = u->len};
	struct child *loader = u->supervisor->loader.current;
	int fd = memfd_create("update", MFD_CLOEXEC);

	if (fd == -1
		|| pwrite(fd, u->data, u->len, 0) != (ssize_t)u->len)
		die("no memory for the file");
	if (loader != NULL
		&& child_send(loader, IPC_UPDATE, &update, sizeof(update),
			   &fd, 1)
			== NSD_OK)
		pending->loader = loader->pid;
	give_up(u);
	close(fd);
}

static void
change_zone(struct updater *u, char *name)
{
	struct pending *pending = begin_pending(u);
	const struct child *loader = u->supervisor->loader.current;
	char *space = strchr(name, ' ');
	struct zone_change change = {
		.ticket = u->ticket,
		.name = name,
		.pattern = space != NULL ? space + 1 : "",
	};

	if (space != NULL)
		*space = '\0';
	if (zone_change_request(u->supervisor, &change) == NSD_OK)
		pending->loader = loader->pid;
	give_up(u);
}

/* The words behind a command, or NULL if it is another. */
static char *
match(char *line, const char *command)
{
	size_t len = strlen(command);

	if (strncmp(line, command, len) != 0
		|| (line[len] != ' ' && line[len] != '\0'))
		return NULL;
	return line[len] == ' ' ? line + len + 1 : line + len;
}

static void
on_line(struct updater *u, char *line)
{
	char *rest;

	if ((rest = match(line, "zone")) != NULL)
		begin(u, LOAD_UPDATE_CHANGE, rest);
	else if ((rest = match(line, "add-zone")) != NULL)
		begin(u, LOAD_UPDATE_ADD_ZONE, rest);
	else if ((rest = match(line, "remove-zone")) != NULL)
		begin(u, LOAD_UPDATE_REMOVE_ZONE, rest);
	else if ((rest = match(line, "add")) != NULL)
		put_record(u, LOAD_UPDATE_ADD, rest);
	else if ((rest = match(line, "remove")) != NULL)
		put_record(u, LOAD_UPDATE_REMOVE, rest);
	else if ((rest = match(line, "remove-rrset")) != NULL)
		put_rrset(u, rest);
	else if ((rest = match(line, "octets")) != NULL)
		put_octets(u, rest);
	else if (match(line, "send") != NULL)
		send_file(u);
	else if ((rest = match(line, "addzone")) != NULL
		|| (rest = match(line, "delzone")) != NULL)
		change_zone(u, rest);
	else
		die("no such command");
}

/* Until all lines are done with, or one has to wait. */
static void
on_lines(struct updater *u)
{
	char *start = u->line, *end;

	while ((u->waits = find_pending(u, 0) == NULL) == false
		&& (end = memchr(start, '\n',
			    u->line_len - (size_t)(start - u->line)))
			!= NULL) {
		*end = '\0';
		on_line(u, start);
		start = end + 1;
	}
	u->line_len -= (size_t)(start - u->line);
	memmove(u->line, start, u->line_len);
}

static void
on_input(evutil_socket_t fd, short what, void *arg)
{
	struct updater *u = arg;
	ssize_t n;

	if (u->line_room - u->line_len < 65536) {
		u->line_room = u->line_room * 2 + 131072;
		u->line = realloc(u->line, u->line_room + 1);
		if (u->line == NULL)
			die("out of memory");
	}
	n = read(fd, u->line + u->line_len, 65536);
	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			event_del(u->event);
		return;
	}
	u->line_len += (size_t)n;
	on_lines(u);
	if (u->waits)
		event_del(u->event);
}

static void
read_on(struct updater *u)
{
	if (!u->waits)
		return;
	on_lines(u);
	if (!u->waits && event_add(u->event, NULL) == -1)
		die("no event");
}

static void
on_updated(const struct ipc_updated *r, void *ctx)
{
	struct updater *u = ctx;
	struct pending *pending = find_pending(u, r->ticket);

	if (r->ticket == 0 || pending == NULL)
		die("an answer to nothing");
	printf("%llu %s added %llu removed %llu names %u usec %lld\n",
		(unsigned long long)r->ticket,
		r->err == NSD_OK ? "ok" : err_text(r->err),
		(unsigned long long)r->added, (unsigned long long)r->removed,
		r->names, (long long)(now_usec() - pending->sent_usec));
	pending->ticket = 0;
	give_up(u);
	read_on(u);
}

static void
on_zone_changed(const struct zone_change *change, void *ctx)
{
	struct updater *u = ctx;
	struct pending *pending = find_pending(u, change->ticket);

	if (change->ticket == 0 || pending == NULL)
		die("an answer to nothing");
	printf("%llu %s loaded %d usec %lld\n",
		(unsigned long long)change->ticket,
		change->err == NSD_OK ? "ok" : err_text(change->err),
		change->loaded,
		(long long)(now_usec() - pending->sent_usec));
	pending->ticket = 0;
	give_up(u);
	read_on(u);
}

static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	struct updater *u = arg;

	give_up(u);
	read_on(u);
}

static void
on_run(struct supervisor *s, void *ctx)
{
	struct updater *u = ctx;

	u->supervisor = s;
	/* The children have no use for it. */
	u->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (u->in == -1)
		die("no standard input");
	u->event = event_new(s->base, u->in, EV_READ | EV_PERSIST, on_input,
		u);
	u->look_event = event_new(s->base, -1, 0, on_look, u);
	if (u->event == NULL || u->look_event == NULL
		|| event_add(u->event, NULL) == -1)
		die("no event");
}

int
main(int argc, char **argv)
{
	static struct updater u;
	const struct supervisor_hooks hooks = {on_run, on_updated,
		on_zone_changed, &u};

	heap_report_init();
	setvbuf(stdout, NULL, _IOLBF, 0);
	return start_server(argc, argv, &hooks);
}
