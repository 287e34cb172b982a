/*
 * keeps_primary.c - two primaries, and a secondary that is sent NOTIFY, in the
 * place of xfrd_ask.c: they answer, late, in part, with an error or never.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns/message.h"
#include "dns/rrtype.h"
#include "dns/serial.h"
#include "lib/failing.h"
#include "lib/fake_clock.h"
#include "sim/keeps.h"
#include "xfr/request.h"

#define SERVERS 3u       /* the last one is the target of NOTIFY */
#define MESSAGES_MAX 32u
#define KEPT 12          /* versions that a primary has differences for */

/* A message that is being made. */
struct writing {
	uint8_t *data;
	size_t len;
	uint16_t records;
};

struct xfrd_ask {
	struct xfrd_ask *next;
	const struct xfrd_ask_calls *calls;
	void *ctx;
	uint16_t id;
	unsigned server;
	bool is_sent;
	bool ends_badly; /* once the messages are delivered */
	unsigned zone;
	struct writing messages[MESSAGES_MAX];
	unsigned count, next_message;
	int64_t at_msec; /* the next message */
};

static struct xfrd_ask *asks;
static bool is_down[SERVERS];
static uint16_t last_id;

/* ---- versions ------------------------------------------------------------ */

void
primary_begin(void)
{
	asks = NULL;
	memset(is_down, 0, sizeof(is_down));
	for (unsigned i = 0; i < ZONES; i++) {
		struct zone_model *zone = &sim.zones[i];

		*zone = (struct zone_model){.file = NO_VERSION,
			.published = NO_VERSION, .has_file = i % 4 != 3};
		/* Serials go over their end. */
		zone->serials[0] = UINT32_MAX - below(60);
	}
	sim.zones[0].pads = 400;
	sim.zones[1].pads = fate.seed % 5 == 4 ? 5200 : 0;
}

void
primary_change(unsigned number)
{
	struct zone_model *zone = &sim.zones[number];
	uint32_t serial = zone->serials[zone->newest];

	/* A version that goes back is transferred first. */
	if (zone->newest + 1 == VERSIONS_MAX || zone->is_back)
		return;
	if (!sim.calm && one_in(60)) {
		zone->is_back = true;
		serial -= below(5);
		zone->first = zone->newest + 1;
	} else {
		serial += 1 + (one_in(30) ? below(1u << 30) : below(3));
	}
	zone->serials[++zone->newest] = serial;
	if (zone->newest - zone->first > KEPT)
		zone->first = zone->newest - KEPT;
	note("z%u has version %d, serial %u%s", number, zone->newest, serial,
		zone->is_back ? ", which goes back" : "");
}

/* Finds the version of a serial from which there are differences. */
static int
find_version(const struct zone_model *zone, uint32_t serial)
{
	for (int i = zone->newest; i >= zone->first; i--)
		if (zone->serials[i] == serial)
			return i;
	return NO_VERSION;
}

/* ---- messages ------------------------------------------------------------ */

static struct writing *
message_begin(struct xfrd_ask *ask, const uint8_t *request, uint16_t flags)
{
	struct writing *m = &ask->messages[ask->count];
	size_t question = name_len(request + MESSAGE_HEADER_LEN)
		+ MESSAGE_QUESTION_TAIL;

	if (ask->count++ == MESSAGES_MAX)
		fail("too many messages");
	m->data = malloc(MESSAGE_MAX_LEN);
	if (m->data == NULL)
		abort();
	memset(m->data, 0, MESSAGE_HEADER_LEN);
	memcpy(m->data, request, 2);
	octets_put_u16(m->data + MESSAGE_FLAGS, (uint16_t)(MESSAGE_QR
		| MESSAGE_AA | flags));
	octets_put_u16(m->data + MESSAGE_QDCOUNT, 1);
	memcpy(m->data + MESSAGE_HEADER_LEN, request + MESSAGE_HEADER_LEN,
		question);
	m->len = MESSAGE_HEADER_LEN + question;
	m->records = 0;
	return m;
}

static void
put_record(struct writing *m, const char *label, const uint8_t *apex,
	uint16_t type, const void *rdata, size_t len)
{
	size_t label_len = strlen(label), apex_len = name_len(apex);
	uint8_t *to = m->data + m->len;

	if (label_len > 0) {
		*to++ = (uint8_t)label_len;
		memcpy(to, label, label_len);
		to += label_len;
	}
	memcpy(to, apex, apex_len);
	to += apex_len;
	octets_put_u16(to, type);
	octets_put_u16(to + 2, 1);
	octets_put_u32(to + 4, 3600);
	octets_put_u16(to + 8, (uint16_t)len);
	memcpy(to + 10, rdata, len);
	m->len = (size_t)(to + 10 + len - m->data);
	octets_put_u16(m->data + MESSAGE_ANCOUNT, ++m->records);
}

static void
put_soa(struct writing *m, const uint8_t *apex, uint32_t serial)
{
	uint8_t rdata[2 + XFR_SOA_NUMBERS_LEN] = {0, 0};

	octets_put_u32(rdata + 2, serial);
	octets_put_u32(rdata + 6, REFRESH_SEC);
	octets_put_u32(rdata + 10, RETRY_SEC);
	octets_put_u32(rdata + 14, EXPIRE_SEC);
	octets_put_u32(rdata + 18, 60);
	put_record(m, "", apex, TYPE_SOA, rdata, sizeof(rdata));
}

/* Puts the record that tells the version. */
static void
put_version(struct writing *m, const uint8_t *apex, int version)
{
	char rdata[20];
	int len = snprintf(rdata + 1, sizeof(rdata) - 1, "%d", version);

	rdata[0] = (char)len;
	put_record(m, "v", apex, TYPE_TXT, rdata, (size_t)len + 1);
}

static void
answer_whole(struct xfrd_ask *ask, const uint8_t *request)
{
	const struct zone_model *zone = &sim.zones[ask->zone];
	const uint8_t *apex = zone_apex(ask->zone);
	uint32_t serial = zone->serials[zone->newest];
	struct writing *m = message_begin(ask, request, 0);
	char label[16], pad[201];

	memset(pad, 'p', sizeof(pad));
	pad[0] = (char)(sizeof(pad) - 1);
	put_soa(m, apex, serial);
	put_record(m, "", apex, TYPE_NS, apex, name_len(apex));
	put_version(m, apex, zone->newest);
	for (unsigned i = 0; i < zone->pads; i++) {
		if (m->len > MESSAGE_MAX_LEN - 300)
			m = message_begin(ask, request, 0);
		snprintf(label, sizeof(label), "p%u", i);
		put_record(m, label, apex, TYPE_TXT, pad, sizeof(pad));
	}
	put_soa(m, apex, serial);
}

/* Answers with differences: version by version, or as one. */
static void
answer_diffs(struct xfrd_ask *ask, const uint8_t *request, int from)
{
	const struct zone_model *zone = &sim.zones[ask->zone];
	const uint8_t *apex = zone_apex(ask->zone);
	struct writing *m = message_begin(ask, request, 0);
	bool is_one = one_in(2);

	put_soa(m, apex, zone->serials[zone->newest]);
	while (from < zone->newest) {
		int to = is_one ? zone->newest : from + 1;

		put_soa(m, apex, zone->serials[from]);
		put_version(m, apex, from);
		put_soa(m, apex, zone->serials[to]);
		put_version(m, apex, to);
		from = to;
	}
	put_soa(m, apex, zone->serials[zone->newest]);
}

static void
answer_soa(struct xfrd_ask *ask, const uint8_t *request)
{
	const struct zone_model *zone = &sim.zones[ask->zone];

	put_soa(message_begin(ask, request, 0), zone_apex(ask->zone),
		zone->serials[zone->newest]);
}

/* The serial in the SOA of the authority section. */
static uint32_t
read_serial(const uint8_t *request)
{
	const uint8_t *at = request + MESSAGE_HEADER_LEN;

	at += name_len(at) + MESSAGE_QUESTION_TAIL;
	at += (*at & 0xc0) == 0xc0 ? 2 : name_len(at);
	return octets_get_u32(at + 10 + octets_get_u16(at + 8)
		- XFR_SOA_NUMBERS_LEN);
}

/* True if differences lead from the served version, and nothing else is
 * given. */
static bool
is_given_in_parts(unsigned number)
{
	const struct zone_model *zone = &sim.zones[number];
	int served = loader_version(number);

	return number == ZONE_IN_PARTS && !zone->is_back
		&& served >= zone->first
		&& (served == zone->newest || serial_is_newer(
			zone->serials[zone->newest], zone->serials[served]));
}

static void
answer_ixfr(struct xfrd_ask *ask, const uint8_t *request)
{
	const struct zone_model *zone = &sim.zones[ask->zone];
	uint32_t serial = read_serial(request);
	int from = find_version(zone, serial);

	if (!serial_is_newer(zone->serials[zone->newest], serial))
		answer_soa(ask, request);
	else if (from == NO_VERSION
		|| (ask->zone != ZONE_IN_PARTS && one_in(20)))
		answer_whole(ask, request);
	else
		answer_diffs(ask, request, from);
}

/* A secondary is told of a version. */
static void
answer_notify(struct xfrd_ask *ask, const uint8_t *request, size_t len)
{
	const struct zone_model *zone = &sim.zones[ask->zone];
	struct xfr_notified notified;
	bool is_known = false;

	if (!xfr_notify_read(request, len, &notified))
		fail("a NOTIFY cannot be read");
	for (int i = 0; i <= zone->published; i++)
		is_known |= zone->serials[i] == notified.serial;
	if (notified.has_serial && !is_known)
		fail("z%u: NOTIFY with serial %u, which was not published",
			ask->zone, notified.serial);
	/* The version is known outside. */
	disk_note();
	(void)message_begin(ask, request, OPCODE_NOTIFY << 11);
}

static void
answer_make(struct xfrd_ask *ask, const uint8_t *request, size_t len)
{
	uint16_t flags = octets_get_u16(request + MESSAGE_FLAGS);
	const uint8_t *apex = request + MESSAGE_HEADER_LEN;
	uint16_t type = octets_get_u16(apex + name_len(apex));

	ask->zone = zone_number(apex);
	if ((flags & MESSAGE_OPCODE_MASK) == OPCODE_NOTIFY << 11)
		answer_notify(ask, request, len);
	else if (!sim.calm && one_in(15))
		(void)message_begin(ask, request, one_in(2) ? RCODE_REFUSED
							    : RCODE_SERVFAIL);
	else if (type == TYPE_AXFR && is_given_in_parts(ask->zone))
		(void)message_begin(ask, request, RCODE_REFUSED);
	else if (type == TYPE_AXFR)
		answer_whole(ask, request);
	else if (type == TYPE_IXFR)
		answer_ixfr(ask, request);
	else
		answer_soa(ask, request);
}

void
primary_fill_notify(unsigned number, struct ipc_notify *notify, size_t *len)
{
	const struct zone_model *zone = &sim.zones[number];
	const struct xfr_ask ask = {.asking = XFR_TELL_NOTIFY, .id = 7,
		.apex = zone_apex(number),
		.serial = zone->serials[zone->newest]};
	struct sockaddr_in from = {.sin_family = AF_INET};
	uint8_t message[XFR_ASK_MAX];

	memset(notify, 0, sizeof(*notify));
	from.sin_addr.s_addr = htonl(0xc0000201u + below(2));
	memcpy(notify->address, &from, sizeof(from));
	if (xfr_ask_write(&ask, 0, message, len) != NSD_OK
		|| *len > sizeof(notify->message))
		fail("a NOTIFY cannot be made");
	memcpy(notify->message, message, *len);
	*len += offsetof(struct ipc_notify, message);
}

/* ---- questions: the functions of xfrd_ask.h ------------------------------ */

void
xfrd_asks_init(struct xfrd_asks *xfrd_asks)
{
	CDS_INIT_LIST_HEAD(&xfrd_asks->waiting);
	xfrd_asks->is_told = false;
}

void
xfrd_asks_follow(struct xfrd_asks *xfrd_asks, const struct conf_server *o)
{
	xfrd_asks->pool.conns_max = xfrd_asks->pool.per_conn = 4;
}

void
xfrd_asks_forget_tls(struct xfrd_asks *xfrd_asks, const struct tls_client *tls)
{
}

void
xfrd_asks_pause(struct xfrd_asks *xfrd_asks, bool pause)
{
	xfrd_asks->pool.is_paused = pause;
}

void
xfrd_asks_tell_room(struct xfrd_asks *xfrd_asks)
{
	static const struct timeval soon = {.tv_usec = 1000};

	xfrd_asks->is_told = true;
	event_add(xfrd_asks->room_event, &soon);
}

bool
xfrd_asks_know_silent(const struct xfrd_asks *xfrd_asks,
	const struct xfrd_ask_server *server, int64_t since)
{
	return false;
}

enum nsd_err
xfrd_ask_open(struct xfrd_asks *xfrd_asks,
	const struct xfrd_ask_server *server, const struct xfrd_ask_how *how,
	const struct xfrd_ask_calls *calls, void *ctx, struct xfrd_ask **made)
{
	const struct sockaddr_in *to = (const struct sockaddr_in *)&server->to;
	struct xfrd_ask *ask;

	may_die(100);
	if (!sim.calm && one_in(50)) {
		errno = one_in(2) ? ENETUNREACH : EMFILE;
		return server->tcp && one_in(2) ? NSD_E_AGAIN : NSD_E_SYSTEM;
	}
	failing_spare(true);
	ask = calloc(1, sizeof(*ask));
	failing_spare(false);
	if (ask == NULL)
		abort();
	ask->calls = calls;
	ask->ctx = ctx;
	ask->id = ++last_id;
	ask->server = (ntohl(to->sin_addr.s_addr) & 0xff) - 1;
	if (ask->server >= SERVERS)
		fail("an unknown server is asked");
	ask->next = asks;
	asks = ask;
	*made = ask;
	return NSD_OK;
}

uint16_t
xfrd_ask_id(const struct xfrd_ask *ask)
{
	return ask->id;
}

bool
xfrd_ask_is_open(const struct xfrd_ask *ask)
{
	return !is_down[ask->server];
}

int64_t
xfrd_ask_get_turn(const struct xfrd_ask *ask, int64_t now)
{
	return now;
}

enum nsd_err
xfrd_ask_send(struct xfrd_ask *ask, const uint8_t *message, size_t len)
{
	may_die(100);
	ask->is_sent = true;
	ask->at_msec = fake_clock_msec + below(!sim.calm && one_in(20) ? 4000
								       : 20);
	failing_spare(true);
	if (!is_down[ask->server] && (sim.calm || !one_in(20)))
		answer_make(ask, message, len);
	failing_spare(false);
	/* Parts of an answer, or none. */
	ask->ends_badly = is_down[ask->server] ? one_in(2)
		: !sim.calm && one_in(20);
	if (ask->ends_badly && ask->count > 0)
		ask->count = below(ask->count);
	return NSD_OK;
}

void
xfrd_ask_close(struct xfrd_ask *ask)
{
	struct xfrd_ask **at = &asks;

	if (ask == NULL)
		return;
	while (*at != ask)
		at = &(*at)->next;
	*at = ask->next;
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		free(ask->messages[i].data);
	free(ask);
}

/* ---- turns --------------------------------------------------------------- */

/* The question that something arrives for. */
static struct xfrd_ask *heard;

static void
ask_deliver(void)
{
	struct xfrd_ask *ask = heard;
	const struct writing *m = &ask->messages[ask->next_message++];

	ask->at_msec = fake_clock_msec + below(10);
	if (octets_get_u16(m->data + MESSAGE_FLAGS) % 16 == 0)
		zone_hear(ask->zone);
	if (ask->calls->on_message(ask->ctx, m->data, m->len)
		!= XFRD_ASK_MORE)
		xfrd_ask_close(ask);
}

static void
ask_break(void)
{
	struct xfrd_ask *ask = heard;

	ask->calls->on_fail(ask->ctx, one_in(2) ? ECONNRESET : ETIMEDOUT, NULL);
	xfrd_ask_close(ask);
}

void
primary_turn(void)
{
	struct xfrd_ask *ask = asks;

	if (sim.xfrd == NULL || sim.xfrd->asks.pool.is_paused)
		return;
	while (ask != NULL && (!ask->is_sent
			|| ask->at_msec > fake_clock_msec
			|| (ask->next_message == ask->count
				&& !ask->ends_badly)))
		ask = ask->next;
	if (ask == NULL)
		return;
	heard = ask;
	(void)xfrd_call(ask->next_message < ask->count ? ask_deliver
						       : ask_break);
}

void
primary_trouble(void)
{
	for (unsigned i = 0; i < SERVERS; i++)
		is_down[i] = !sim.calm && one_in(3);
}

bool
primary_is_idle(void)
{
	return asks == NULL;
}

void
primary_lose_xfrd(void)
{
	while (asks != NULL)
		xfrd_ask_close(asks);
}
