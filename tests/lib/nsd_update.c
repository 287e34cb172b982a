/*
 * nsd_update.c - nsd with sources of what comes from the network later: xfrd
 * takes changes of zones on standard input and asks the loader for them, and
 * workers send NOTIFYs of their own accord.
 *
 *   nsd_update -d -c nsd.conf ...        as nsd; -d is needed
 *
 *   zone APEX                  begins a change of a zone that is served
 *   add OWNER TTL TYPE RDATA   names that do not end in a dot are below APEX
 *   remove OWNER TTL TYPE RDATA
 *   remove-rrset OWNER TYPE    TYPE ANY: all of the name
 *   octets HEX                 as they are, right or wrong
 *   whole APEX                 begins a zone as AXFR brings it
 *   diffs APEX                 begins differences as IXFR brings them
 *   offset N                   the octets begin there in their file
 *   send                       all since the beginning, as one transaction
 *   send-file PATH             the octets of a file
 *   expire APEX MSEC|never     from now; answered by "expire no error", or why
 *                              it was not sent
 *   addzone NAME PATTERN       a zone of the configuration, from its file
 *   delzone NAME               one of the configuration
 *
 * Each send is answered on standard output:
 *
 *   TICKET ok|ERROR added N removed N names N usec N serial N
 *
 * and each addzone and delzone by
 *
 *   TICKET ok|ERROR loaded 0|1 usec N
 *
 * tickets counted from 1, usec from the sending to the loader's answer. Those
 * of one zone are answered in order. "TICKET given up": loaders have died of
 * it. "TICKET too long": it was not sent. While SENT_MAX are not answered, or
 * PENDING_MAX with those that wait for verifiers, the sender waits.
 *
 * A loader that is asked to change a zone and finds the octets "die-before" or
 * "die-after" in the change dies before it has done it, or behind that; of
 * "die-third" two die before it is done, and the third behind that.
 *
 * With NSD_TAKES_NO_CHANGES in the environment, it takes of these what that of
 * nsd takes.
 *
 * A worker sends, at SIGUSR2, one NOTIFY more than it has credits for; at
 * SIGRTMIN as many as it can, credits or not. What comes is told on standard
 * output:
 *
 *   notify SERVER N            the N-th of this server, counted from 1
 *   notified ADDRESS ZONE SERIAL     by a client, through a worker; no SERIAL:
 *                              it says none
 *   notify no credit           the one more
 *   notify no more             it is not listened to
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/octets.h"
#include "dns/name.h"
#include "dns/rrbatch.h"
#include "dns/rrtype.h"
#include "lib/heap_report.h"
#include "loader/load_update.h"
#include "main/start.h"
#include "process/hooks.h"
#include "process/sandbox.h"
#include "xfr/request.h"
#include "xfrd/xfrd.h"
#include "zonefile/zonefile.h"

/* More than REQUESTS_MAX: those that wait for verifiers do not count there. */
#define PENDING_MAX 400
/* Less than REQUESTS_MAX. */
#define SENT_MAX 100
#define SERVERS_MAX 64

/* Not answered. */
struct pending {
	struct updater *updater;
	uint64_t ticket; /* 0: none */
	int64_t sent_usec;
};

struct updater {
	struct xfrd *xfrd;
	struct event *event;
	struct event *again_event; /* looks whether it may read on */
	bool waits; /* before it reads on */
	char *line;       /* unread input */
	size_t line_len, line_room;
	uint8_t apex[NAME_MAX_LEN];
	uint8_t *data;    /* the file so far */
	size_t len, room;
	uint64_t offset;  /* where it begins */
	uint64_t ticket;
	struct pending pending[PENDING_MAX];
	unsigned notifies[SERVERS_MAX];
};

static struct updater updater;

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
	u->offset = 0;
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

/* The pending change with a ticket (0 finds a free entry), or NULL. */
static struct pending *
find_pending(struct updater *u, uint64_t ticket)
{
	for (unsigned i = 0; i < PENDING_MAX; i++)
		if (u->pending[i].ticket == ticket)
			return &u->pending[i];
	return NULL;
}

/* There is a free place: else no line is read. */
static struct pending *
begin_pending(struct updater *u)
{
	struct pending *pending = find_pending(u, 0);

	pending->updater = u;
	pending->ticket = ++u->ticket;
	pending->sent_usec = now_usec();
	return pending;
}

static void read_on(struct updater *u);

static void
end_pending(struct pending *pending)
{
	pending->ticket = 0;
	read_on(pending->updater);
}

static void
on_updated(void *ctx, const struct ipc_message *answer)
{
	struct pending *pending = ctx;
	struct ipc_updated r;

	if (answer == NULL) {
		printf("%llu given up\n", (unsigned long long)pending->ticket);
		end_pending(pending);
		return;
	}
	xfrd_loader_read_updated(answer, &r);
	printf("%llu %s added %llu removed %llu names %u usec %lld"
		" serial %u%s\n",
		(unsigned long long)pending->ticket,
		r.err == NSD_OK ? "ok" : err_text((enum nsd_err)r.err),
		(unsigned long long)r.added, (unsigned long long)r.removed,
		r.names, (long long)(now_usec() - pending->sent_usec),
		r.serial, r.loaded != 0 ? "" : " not loaded");
	end_pending(pending);
}

static void
on_zone_changed(void *ctx, const struct ipc_message *answer)
{
	struct pending *pending = ctx;
	struct zone_message message;
	struct zone_change change;

	if (answer == NULL) {
		printf("%llu given up\n", (unsigned long long)pending->ticket);
		end_pending(pending);
		return;
	}
	if (zone_message_read(&message, answer) != NSD_OK
		|| !zone_message_next(&message, &change))
		die("a wrong answer");
	/* The loader is reading the zone's file: ask again. */
	if (change.err == NSD_E_AGAIN
		&& xfrd_loader_change_zones(pending->updater->xfrd, &message,
			   on_zone_changed, pending)
			== NSD_OK)
		return;
	printf("%llu %s loaded %d usec %lld\n",
		(unsigned long long)pending->ticket,
		change.err == NSD_OK ? "ok" : err_text(change.err),
		change.file == IPC_ZONE_SERVED,
		(long long)(now_usec() - pending->sent_usec));
	end_pending(pending);
}

static void
send_file(struct updater *u)
{
	struct pending *pending = begin_pending(u);
	const struct load_text text = {
		.fd = memfd_create("update", MFD_CLOEXEC),
		.offset = u->offset,
		.len = u->len,
	};

	if (text.fd == -1 || pwrite(text.fd, u->data, u->len,
			(off_t)u->offset) != (ssize_t)u->len)
		die("no memory for the file");
	if (xfrd_loader_update(u->xfrd, &text, on_updated, pending) != NSD_OK)
		die("an update was refused");
	close(text.fd);
}

static void
change_zone(struct updater *u, char *name)
{
	struct pending *pending = begin_pending(u);
	char *space = strchr(name, ' ');
	struct zone_change change = {
		.name = name,
		.pattern = space != NULL ? space + 1 : "",
	};
	struct zone_message message;

	if (space != NULL)
		*space = '\0';
	zone_message_init(&message);
	if (zone_message_add(&message, &change) != NSD_OK) {
		printf("%llu too long\n", (unsigned long long)pending->ticket);
		pending->ticket = 0;
		return;
	}
	if (xfrd_loader_change_zones(u->xfrd, &message, on_zone_changed,
		    pending) != NSD_OK)
		die("a change of a zone was refused");
}

/* A zone expires so many milliseconds from now. */
static void
expire(struct updater *u, char *name)
{
	uint8_t apex[NAME_MAX_LEN];
	char *space = strchr(name, ' ');
	const char *why;
	size_t len;

	if (space == NULL)
		die("expire without a time");
	*space = '\0';
	if (name_parse_text(name, strlen(name), (const uint8_t *)"", apex,
		    &len, &why)
		!= NSD_OK)
		die(why);
	printf("expire %s\n", err_text(xfrd_loader_expire(u->xfrd, apex,
		strcmp(space + 1, "never") == 0
			? IPC_EXPIRY_NEVER : strtoull(space + 1, NULL, 10))));
}

/* A file of octets that lies somewhere, sent as it is. */
static void
send_octets(struct updater *u, const char *path)
{
	struct pending *pending = begin_pending(u);
	struct load_text text = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	struct stat st;

	if (text.fd == -1 || fstat(text.fd, &st) == -1)
		die("no such file");
	text.len = (uint64_t)st.st_size;
	if (xfrd_loader_update(u->xfrd, &text, on_updated, pending) != NSD_OK)
		die("an update was refused");
	close(text.fd);
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
	else if ((rest = match(line, "whole")) != NULL)
		begin(u, LOAD_UPDATE_WHOLE, rest);
	else if ((rest = match(line, "diffs")) != NULL)
		begin(u, LOAD_UPDATE_DIFFS, rest);
	else if ((rest = match(line, "offset")) != NULL)
		u->offset = strtoull(rest, NULL, 10);
	else if ((rest = match(line, "expire")) != NULL)
		expire(u, rest);
	else if ((rest = match(line, "send-file")) != NULL)
		send_octets(u, rest);
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

/* Carries out lines, until all are done or one has to wait. */
static void
on_lines(struct updater *u)
{
	char *start = u->line, *end;

	while (!(u->waits = u->xfrd->requests.count >= SENT_MAX
			|| find_pending(u, 0) == NULL)
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
on_again(evutil_socket_t fd, short what, void *arg)
{
	read_on(arg);
}

/* ---- in xfrd ------------------------------------------------------------- */

static void
on_xfrd(struct xfrd *xfrd)
{
	static const struct timeval again = {.tv_usec = 10000};
	struct updater *u = &updater;

	u->xfrd = xfrd;
	u->event = event_new(xfrd->role.base, STDIN_FILENO,
		EV_READ | EV_PERSIST, on_input, u);
	u->again_event = event_new(xfrd->role.base, -1, EV_PERSIST, on_again,
		u);
	if (u->event == NULL || u->again_event == NULL
		|| event_add(u->event, NULL) == -1
		|| event_add(u->again_event, &again) == -1)
		die("no event");
}

/* Prints a NOTIFY that a client sent. */
static void
print_notify(const struct ipc_notify *notify, size_t len)
{
	struct xfr_notified notified;
	struct sockaddr_storage peer = {0};
	char name[NAME_TEXT_MAX], host[64], serial[16] = "";

	memcpy(&peer, notify->address, sizeof(notify->address));
	if (!xfr_notify_read(notify->message,
		len - offsetof(struct ipc_notify, message), &notified)
		|| getnameinfo((struct sockaddr *)&peer,
			sizeof(notify->address), host, sizeof(host), NULL, 0,
			NI_NUMERICHOST) != 0)
		die("a wrong NOTIFY");
	if (notified.has_serial)
		snprintf(serial, sizeof(serial), " %u", notified.serial);
	name_print_text(notified.apex, name);
	printf("notified %s %s%s\n", host, name, serial);
}

static void
on_notify(unsigned server, const struct ipc_notify *notify, size_t len)
{
	if (server >= SERVERS_MAX)
		die("a wrong NOTIFY");
	if (memcmp(notify->message, "notify", 6) != 0) {
		print_notify(notify, len);
		return;
	}
	printf("notify %u %u\n", server + 1, ++updater.notifies[server]);
}

/* ---- in a worker --------------------------------------------------------- */

static struct ipc_notify example = {.message = "notify"};

/* Finds xfrd; a worker may be there first. NULL: call is called again. */
static struct peer *
await_xfrd(struct role *role, event_callback_fn call)
{
	static const struct timeval soon = {.tv_usec = 20000};
	struct peer *xfrd = peers_find_role(&role->peers, ROLE_XFRD);

	if (xfrd == NULL
		&& event_base_once(role->base, -1, EV_TIMEOUT, call, role,
			&soon) == -1)
		die("no event");
	return xfrd;
}

static void
on_usr2(evutil_socket_t fd, short what, void *arg)
{
	struct role *role = arg;
	struct peer *xfrd = await_xfrd(role, on_usr2);
	const struct link_message message = {
		.type = IPC_NOTIFY,
		.payload = &example,
		.len = IPC_NOTIFY_MIN,
	};
	enum nsd_err err = NSD_OK;

	while (xfrd != NULL && err == NSD_OK)
		err = link_send(&xfrd->link, &message);
	if (err == NSD_E_AGAIN)
		printf("notify no credit\n");
}

/* Acts as a worker that was taken over: reads nothing, and sends until the
 * channel is full. */
static void
on_rtmin(evutil_socket_t fd, short what, void *arg)
{
	struct role *role = arg;
	const struct peer *xfrd = await_xfrd(role, on_rtmin);
	enum nsd_err err = NSD_OK;

	if (xfrd == NULL)
		return;
	while (err == NSD_OK || err == NSD_E_AGAIN)
		err = ipc_send(&xfrd->link.channel, IPC_NOTIFY, &example,
			IPC_NOTIFY_MIN, NULL, 0);
	printf("notify no more\n");
}

static void
on_worker(struct role *role)
{
	static struct event *events[2];

	events[0] = evsignal_new(role->base, SIGUSR2, on_usr2, role);
	events[1] = evsignal_new(role->base, SIGRTMIN, on_rtmin, role);
	for (int i = 0; i < 2; i++)
		if (events[i] == NULL || event_add(events[i], NULL) == -1)
			die("no event");
}

/* ---- in the loader ------------------------------------------------------- */

/* Loaders that have found "die-third", of the server. */
static unsigned *thirds;

static bool
has_word(const uint8_t *data, uint64_t len, const char *word)
{
	return memmem(data, len, word, strlen(word)) != NULL;
}

static void
on_update(const uint8_t *data, uint64_t len, bool applied)
{
	if (has_word(data, len, applied ? "die-after" : "die-before"))
		raise(SIGKILL);
	if (!has_word(data, len, "die-third"))
		return;
	if (!applied)
		++*thirds;
	if (applied == (*thirds == 3))
		raise(SIGKILL);
}

/* ---- in all -------------------------------------------------------------- */

enum nsd_err __real_sandbox_enter(const struct sandbox *sandbox,
	enum ipc_role role, const char *const *folders);
enum nsd_err __wrap_sandbox_enter(const struct sandbox *sandbox,
	enum ipc_role role, const char *const *folders);

/* xfrd and workers do here what those of nsd do not do, and so do all that are
 * to report of their heaps (lib/heap_report.h). */
enum nsd_err
__wrap_sandbox_enter(const struct sandbox *sandbox, enum ipc_role role,
	const char *const *folders)
{
	return role == ROLE_LOADER && getenv("NSD_HEAP_REPORTS") == NULL
		? __real_sandbox_enter(sandbox, role, folders)
		: NSD_OK;
}

/* The steps of xfrd. */
enum nsd_err __wrap_sandbox_enter_folders(const struct sandbox *sandbox,
	enum ipc_role role, const char *const *folders);
enum nsd_err __wrap_sandbox_enter_calls(const struct sandbox *sandbox,
	enum ipc_role role);

enum nsd_err
__wrap_sandbox_enter_folders(const struct sandbox *sandbox,
	enum ipc_role role, const char *const *folders)
{
	return NSD_OK;
}

enum nsd_err
__wrap_sandbox_enter_calls(const struct sandbox *sandbox, enum ipc_role role)
{
	return NSD_OK;
}

int
main(int argc, char **argv)
{
	const struct role_hooks hooks = {
		.on_xfrd = on_xfrd,
		.on_notify = on_notify,
		.on_worker = on_worker,
		.on_update = on_update,
		.takes_changes = getenv("NSD_TAKES_NO_CHANGES") == NULL,
	};

	heap_report_init();
	thirds = mmap(NULL, sizeof(*thirds), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (thirds == MAP_FAILED)
		die("no memory");
	setvbuf(stdout, NULL, _IOLBF, 0);
	return start_server(argc, argv, &hooks);
}
