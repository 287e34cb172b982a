/*
 * xfrd_forward.c - passes UPDATEs of clients on to primaries: each on a
 * connection of its own, as the message keeps its ID. One primary after the
 * other is asked, in the order of request-xfr, until one answers.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fold.h"
#include "net/client.h"
#include "net/socket.h"
#include "tls/client.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"
#include "xfrd/xfrd_forward.h"

/* Connections at a time, of all zones and of one. */
#define FORWARDS_MAX 64u
#define FORWARDS_ZONE_MAX 32u
/* Requests under way, with those that wait for a connection. Primaries that are
 * silent hold them for long, and with each a worker's credit: other credits are
 * for zones that are updated here. */
#define UNDER_WAY_MAX 192u
#define UNDER_WAY_ZONE_MAX 128u
/* The time for which a request is remembered that is under way no more. */
#define ENDED_MSEC 30000
/* The time that a primary has to answer, at most. */
#define PRIMARY_SEC 10u
/* The time of a request, for all of its primaries and the wait for a
 * connection. A worker forgets requests after 30 s (CLIENT_UPDATES_MSEC), and
 * clients of these get no reply. */
#define FORWARD_MSEC 25000
/* A request that waits, and has less time left, gets no connection. */
#define LEAST_MSEC 1000

/* A request on its way. */
struct forward {
	struct cds_list_head node;    /* of forwards.waiting, or of none */
	struct cds_list_head all_node; /* of forwards.all */
	struct xfrd *xfrd;
	struct client_update *update;
	struct net_client *client;    /* NULL: no connection */
	struct event *event;          /* the primary's time is over, or the
				       * request's; or the next one is to be
				       * asked */
	int64_t end_msec;             /* of clock_now_msec: its time is over */
	uint32_t next;                /* index of the primary behind that one */
	bool uses_tls;
	struct sockaddr_storage to;   /* address of the primary */
	char why[CLIENT_UPDATE_WHY_MAX]; /* failures so far */
};

/* A primary, by the options that are published. */
struct forward_primary {
	struct sockaddr_storage to;
	struct sockaddr_storage from;    /* family 0: the system's choice */
	const char *tls_auth;            /* NULL: none; lent as the options */
	uint32_t left;                   /* count of primaries from it on */
};

/* Finds a primary. False: there are fewer. */
static bool
forward_find_primary(const struct xfrd_options *options, uint32_t index,
	struct forward_primary *primary)
{
	const struct settings_options *lists = xfrd_options_lists(options);
	const struct acl_element *elements, *ours;
	uint32_t count = 0;

	if (lists == NULL)
		return false;
	elements = settings_options_list(lists, SETTINGS_REQUEST_XFR, &count);
	/* More than these are never asked. */
	if (count > xfrd_options_count(options, SETTINGS_REQUEST_XFR))
		count = xfrd_options_count(options, SETTINGS_REQUEST_XFR);
	if (index >= count)
		return false;
	primary->left = count - index;
	primary->tls_auth = xfrd_options_texts(options, SETTINGS_REQUEST_XFR,
		index).tls_auth;
	elements += index;
	xfrd_whom_make_address(elements->family, elements->address,
		xfrd_whom_get_port(elements->port, primary->tls_auth != NULL),
		&primary->to);
	memset(&primary->from, 0, sizeof(primary->from));
	ours = settings_options_list(lists, SETTINGS_OUTGOING_INTERFACE,
		&count);
	for (uint32_t i = 0; i < count; i++)
		if (ours[i].family == elements->family) {
			xfrd_whom_make_address(ours[i].family, ours[i].address,
				ours[i].port, &primary->from);
			break;
		}
	return true;
}

/* ---- requests that come back --------------------------------------------- */

/* Hashes the octets of a request. */
static uint64_t
forward_hash(const struct xfrd *xfrd, const struct client_update *update)
{
	uint64_t hash = xfrd->updates.seed ^ update->len;

	for (size_t i = 0; i < update->len; i++)
		hash = fold_words(hash ^ update->message[i],
			UINT64_C(0x9e3779b97f4a7c15)) + i;
	return hash;
}

/* Remembers a request that is under way no more: it may still go round. */
static void
forward_note_ended(const struct forward *f)
{
	struct xfrd_forwards *forwards = &f->xfrd->updates.forwards;

	forwards->ended[forwards->next_ended++ % FORWARDS_ENDED]
		= (struct forward_ended){
			.hash = forward_hash(f->xfrd, f->update),
			.at_msec = clock_now_msec(),
			.from = f->update->from,
		};
}

static bool
forward_is_from(const struct client_update *update,
	const struct sockaddr_storage *from)
{
	return memcmp(&update->from, from, sizeof(*from)) == 0;
}

/* The same without regard to the port, which a client that repeats its request
 * may have another of. */
static bool
forward_is_of_host(const struct client_update *update,
	const struct sockaddr_storage *from)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
	const void *ours = &update->from;

	if (update->from.ss_family != from->ss_family)
		return false;
	if (from->ss_family == AF_INET)
		return ((const struct sockaddr_in *)ours)->sin_addr.s_addr
			== v4->sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(
		&((const struct sockaddr_in6 *)ours)->sin6_addr,
		&v6->sin6_addr);
}

/* True if a request is that of another, octet by octet, and from elsewhere: a
 * primary has passed it on to us. */
static bool
forward_comes_back(struct xfrd *xfrd, const struct client_update *update)
{
	const struct xfrd_forwards *forwards = &xfrd->updates.forwards;
	uint64_t hash = forward_hash(xfrd, update);
	int64_t since = clock_now_msec() - ENDED_MSEC;
	const struct forward *f;

	cds_list_for_each_entry(f, &forwards->all, all_node)
		if (f->update->len == update->len
			&& memcmp(f->update->message, update->message,
				   update->len)
				== 0
			&& !forward_is_from(update, &f->update->from))
			return true;
	for (unsigned i = 0; i < FORWARDS_ENDED; i++)
		if (forwards->ended[i].hash == hash
			&& forwards->ended[i].at_msec > since
			&& !forward_is_of_host(update,
				&forwards->ended[i].from))
			return true;
	return false;
}

/* ---- the end of a request ------------------------------------------------ */

static void
forward_close(struct forward *f)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct xfrd_forwards *forwards = &f->xfrd->updates.forwards;

	if (f->client == NULL)
		return;
	net_client_close(f->client);
	f->client = NULL;
	assert(forwards->count > 0);
	forwards->count--;
	if (!cds_list_empty(&forwards->waiting))
		event_add(forwards->event, &at_once);
}

static void
forward_free(struct forward *f)
{
	forward_close(f);
	cds_list_del(&f->node);
	cds_list_del(&f->all_node);
	event_free(f->event);
	free(f);
}

/* Ends a request that no primary has answered. */
static void
forward_fail(struct forward *f, enum rcode rcode, uint16_t ede, const char *why)
{
	struct client_update_end end = {.rcode = rcode, .ede = ede};

	snprintf(end.why, sizeof(end.why), "%s", why);
	xfrd_client_update_log_refused(f->xfrd, f->update, &end);
	forward_note_ended(f);
	xfrd_client_update_answer(f->xfrd, f->update, &end);
	forward_free(f);
}

/* The primary at hand does not answer: the next one is asked in another turn of
 * the loop. */
static void
forward_go_on(struct forward *f, const char *why)
{
	static const struct timeval at_once = {.tv_sec = 0};
	char address[NET_ADDRESS_TEXT_MAX];
	size_t at = strlen(f->why);

	net_print_address(&f->to, true, address);
	snprintf(f->why + at, sizeof(f->why) - at, "%s%s: %s",
		at > 0 ? "; " : "", address, why);
	forward_close(f);
	event_add(f->event, &at_once);
}

/* ---- time ---------------------------------------------------------------- */

/* Returns the time that a request has left; 0: none. */
static int64_t
forward_left_msec(const struct forward *f)
{
	int64_t left = f->end_msec - clock_now_msec();

	return left > 0 ? left : 0;
}

static void
forward_wait(struct forward *f, int64_t msec)
{
	struct timeval wait = {.tv_sec = msec / 1000,
		.tv_usec = msec % 1000 * 1000};

	event_add(f->event, &wait);
}

/* Returns the time for the primary at hand. With many of them it is short, so
 * that silent ones leave time for the last. primaries: count of those from
 * this one on, not 0. */
static int64_t
forward_share_msec(const struct forward *f, uint32_t primaries)
{
	int64_t share = forward_left_msec(f) / primaries;

	return share < PRIMARY_SEC * 1000 ? share : PRIMARY_SEC * 1000;
}

/* ---- a primary ----------------------------------------------------------- */

static void
forward_on_message(void *ctx, const uint8_t *message, size_t len)
{
	struct forward *f = ctx;
	const uint8_t *request = f->update->message;

	if (len < MESSAGE_HEADER_LEN
		|| message_get_id(message) != message_get_id(request)
		|| (message_get_flags(message) & MESSAGE_QR) == 0
		|| message_get_opcode(message) != OPCODE_UPDATE) {
		forward_go_on(f, "a message that is no answer");
		return;
	}
	if (len > IPC_CLIENT_UPDATED_MAX) {
		forward_go_on(f, "an answer that is too long");
		return;
	}
	xfrd_client_update_log_forwarded(f->xfrd, f->update, &f->to,
		(enum rcode)message_get_rcode(message));
	forward_note_ended(f);
	xfrd_client_update_pass_back(f->xfrd, f->update, message, len);
	forward_free(f);
}

static void
forward_on_end(void *ctx, int error)
{
	struct forward *f = ctx;
	char text[TLS_FAILURE_MAX];
	const char *why = !f->uses_tls ? NULL : tls_client_print_failure(
		net_client_get_stream(f->client), text);

	if (why == NULL)
		why = error != 0 ? strerror(error) : "connection closed";
	forward_go_on(f, why);
}

static const struct net_client_calls forward_calls = {
	.on_message = forward_on_message,
	.on_end = forward_on_end,
};

static struct bufferevent *
forward_open_tls(void *ctx, struct event_base *base, int fd)
{
	return tls_client_open(ctx, base, fd);
}

/* Connects to a primary, and sends the request. Returns why that fails; NULL:
 * it does not. */
static const char *
forward_open(struct forward *f, const struct forward_primary *primary)
{
	struct xfrd *xfrd = f->xfrd;
	const struct tls_client *tls = primary->tls_auth == NULL ? NULL
		: xfrd_tls_find(&xfrd->tls, primary->tls_auth);
	const struct net_client_stream stream = {
		.open = forward_open_tls,
		.ctx = (void *)tls,
	};
	const struct net_client_options options = {
		.to = &f->to,
		.from = primary->from.ss_family != 0 ? &primary->from : NULL,
		.tcp = true,
		.stream = tls != NULL ? &stream : NULL,
		.tcp_mss = xfrd->asks.tcp_mss,
		.timeout_sec = PRIMARY_SEC,
	};
	enum nsd_err err;

	f->uses_tls = tls != NULL;
	if (primary->tls_auth != NULL && tls == NULL)
		return "its tls-auth cannot be used";
	err = net_client_open(xfrd->role.base, &options, &forward_calls, f,
		&f->client);
	if (err != NSD_OK)
		return err_reason(err);
	xfrd->updates.forwards.count++;
	err = net_client_send(f->client, f->update->message, f->update->len);
	if (err != NSD_OK)
		return err_reason(err);
	forward_wait(f, forward_share_msec(f, primary->left));
	return NULL;
}

/* Asks the next primary. */
static void
forward_next(struct forward *f)
{
	struct xfrd_options options = xfrd_options_find(f->xfrd,
		f->update->apex);
	struct forward_primary primary;
	struct client_update_end end = {.ede = EDE_NONE};
	const char *why = NULL;
	bool may, has;

	may = xfrd_client_update_check_forward(f->xfrd, &options, f->update,
		&end);
	has = may && forward_find_primary(&options, f->next++, &primary);
	if (has) {
		f->to = primary.to;
		why = forward_open(f, &primary);
	}
	xfrd_read_end(f->xfrd);
	if (!may)
		forward_fail(f, end.rcode, end.ede, end.why);
	else if (!has)
		forward_fail(f, RCODE_SERVFAIL, EDE_OTHER, f->why);
	else if (why != NULL)
		forward_go_on(f, why);
}

/* True if a request may have a connection. */
static bool
forward_has_room(const struct forward *f)
{
	const struct xfrd_forwards *forwards = &f->xfrd->updates.forwards;
	const struct forward *other;
	unsigned count = 0;

	cds_list_for_each_entry(other, &forwards->all, all_node)
		count += other->client != NULL
			&& name_equal(other->update->apex, f->update->apex);
	return forwards->count < FORWARDS_MAX && count < FORWARDS_ZONE_MAX;
}

static void
forward_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct forward *f = arg;
	bool has_waited = !cds_list_empty(&f->node);

	cds_list_del_init(&f->node);
	if (f->client != NULL) {
		forward_go_on(f, "no answer in time");
	} else if (has_waited || forward_left_msec(f) == 0) {
		forward_fail(f, RCODE_SERVFAIL, EDE_OTHER, f->why[0] != '\0'
			? f->why : "no connection was free in time");
	} else if (forward_has_room(f)) {
		forward_next(f);
	} else {
		cds_list_add_tail(&f->node, &f->xfrd->updates.forwards.waiting);
		forward_wait(f, forward_left_msec(f));
	}
}

/* There is room for requests that wait. */
static void
forward_on_room(evutil_socket_t fd, short what, void *arg)
{
	struct xfrd *xfrd = arg;
	struct xfrd_forwards *forwards = &xfrd->updates.forwards;
	struct forward *f, *next;

	cds_list_for_each_entry_safe(f, next, &forwards->waiting, node)
		if (forward_left_msec(f) >= LEAST_MSEC && forward_has_room(f)) {
			cds_list_del_init(&f->node);
			event_del(f->event);
			forward_next(f);
		}
}

/* ---- interface ----------------------------------------------------------- */

/* Returns why a request is not taken; NULL: it is. */
static const char *
forward_refuse(struct xfrd *xfrd, const struct client_update *update)
{
	unsigned count = 0, of_zone = 0;
	const struct forward *f;

	if (forward_comes_back(xfrd, update))
		return "the update comes back: primaries pass it on to each"
		       " other";
	cds_list_for_each_entry(f, &xfrd->updates.forwards.all, all_node) {
		count++;
		of_zone += name_equal(f->update->apex, update->apex);
	}
	return count >= UNDER_WAY_MAX || of_zone >= UNDER_WAY_ZONE_MAX
		? "too many updates are being passed on" : NULL;
}

void
xfrd_forward(struct xfrd *xfrd, struct client_update *update)
{
	struct client_update_end end = {.rcode = RCODE_SERVFAIL,
		.ede = EDE_OTHER};
	const char *why = forward_refuse(xfrd, update);
	struct forward *f = why == NULL ? calloc(1, sizeof(*f)) : NULL;

	if (f != NULL)
		f->event = event_new(xfrd->role.base, -1, 0, forward_on_event,
			f);
	if (f == NULL || f->event == NULL) {
		free(f);
		snprintf(end.why, sizeof(end.why), "%s", why != NULL ? why
			: err_text(NSD_E_MEMORY));
		xfrd_client_update_log_refused(xfrd, update, &end);
		xfrd_client_update_answer(xfrd, update, &end);
		return;
	}
	f->xfrd = xfrd;
	f->update = update;
	f->end_msec = clock_now_msec() + FORWARD_MSEC;
	CDS_INIT_LIST_HEAD(&f->node);
	cds_list_add_tail(&f->all_node, &xfrd->updates.forwards.all);
	event_active(f->event, EV_TIMEOUT, 0);
}

enum nsd_err
xfrd_forward_init(struct xfrd *xfrd)
{
	struct xfrd_forwards *forwards = &xfrd->updates.forwards;

	CDS_INIT_LIST_HEAD(&forwards->waiting);
	CDS_INIT_LIST_HEAD(&forwards->all);
	forwards->event = event_new(xfrd->role.base, -1, 0, forward_on_room,
		xfrd);
	return forwards->event != NULL ? NSD_OK : NSD_E_MEMORY;
}
