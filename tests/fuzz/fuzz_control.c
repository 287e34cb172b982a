/*
 * fuzz_control.c - clients of nsd-control and of the metrics: more than there
 * are places, plain and with TLS, with a certificate and without. They send
 * commands, lines and requests of HTTP in pieces, read nothing of the answers,
 * end, leave and wait; what was asked for ends early, late or never
 * (control_server.h).
 *
 * What holds: a client gets what was printed for it, in its order, and all of
 * it if we were told so. Nobody is told of a call that has ended. After long
 * silence nothing is busy, and a newcomer is answered.
 *
 * The input: PREFIX octets (places, places for metrics), then steps: what is
 * done (enum deed, enum how), by whom, a length of 2 octets, so many octets.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/channel.h"
#include "ctl/metrics.h"
#include "ctl/tls.h"
#include "fuzz/control_server.h"
#include "fuzz/mutate_frames.h"
#include "fuzz/wire.h"
#include "fuzz/words_control.h"
#include "fuzz/world_calls.h"
#include "lib/chance.h"
#include "lib/tls_identity.h"

#define PREFIX 2u

enum deed {
	DEED_SAY,    /* a client that is not there connects first */
	DEED_PIECES, /* the same, with turns between its pieces */
	DEED_COME,
	DEED_CROWD,  /* many come, and say the same */
	DEED_HELLO,  /* with TLS, and no more than the first octets */
	DEED_HEAR,
	DEED_HEAR_ALL,
	DEED_END,
	DEED_LEAVE,
	DEED_WAIT,
	DEED_GO_ON,  /* a command goes on */
	DEED_END_ALL,
	DEED_REFUSE,
	DEED_CLOSE,  /* no connection is accepted any more */
	DEED_FAIL,   /* accepting does */
	DEED_PAGES,  /* of metrics are there, or not */
};

enum how {
	HOW_DEED = 15,
	HOW_WAY = 0x30,  /* plain, TLS, without a certificate, metrics */
	HOW_LITTLE = 64, /* little room, or little is read */
	HOW_STILL = 128, /* no turn follows */
};

enum { WAY_PLAIN, WAY_TLS, WAY_STRANGER, WAY_METRICS };

enum who { WHO_CALLER = 31, WHO_NET = 0x60, WHO_IP6 = 128 };

#define LISTENERS 3u /* plain, TLS, metrics */
#define CALLERS 32u
#define TURNS 6u
#define FLIGHTS 6u
#define LITTLE_ROOM 2304
#define LITTLE_OCTETS 100u
#define ENDLESS 100u /* waits until nobody is left */
/* Waits for an answer: the queue of a listener holds 1,024, and where there is
 * one place, the next of them is taken after two waits. */
#define UNHEARD 4096u
#define FEW 8u

struct caller {
	struct wire wire;
	bool is_http;
	bool is_unchecked;
	uint64_t heard;
	uint8_t first[ORDER_ID_LEN + 1];
};

struct control {
	struct event_base *base;
	struct ctl_metrics *metrics;
	int listeners[LISTENERS];
	bool is_closed;
	struct control_server server;
	struct caller callers[CALLERS];
};

static struct ctl_tls *tls;
static SSL_CTX *contexts[2]; /* of clients: with a certificate, without */

static void
turn(struct control *c)
{
	for (unsigned i = 0; i < TURNS; i++)
		event_base_loop(c->base, EVLOOP_NONBLOCK);
}

/* ---- receiving ----------------------------------------------------------- */

/* The number of the command whose answer begins so. */
static unsigned
find_id(const struct control *c, const struct caller *caller)
{
	unsigned id = (unsigned)strtoul((const char *)caller->first + 3, NULL,
		10);

	MUST(memcmp(caller->first, "id ", 3) == 0 && id < c->server.count);
	return id;
}

/* Octets of an answer. What the channel says itself comes at the begin, or ends
 * an answer. */
static void
check_octets(struct control *c, struct caller *caller, const uint8_t *octets,
	size_t len)
{
	uint64_t at = caller->heard;
	uint8_t right[ORDER_PART];
	const struct order *order;
	size_t same = 0;

	caller->heard += len;
	for (uint64_t i = at; i < ORDER_ID_LEN && i < caller->heard; i++)
		caller->first[i] = octets[i - at];
	if (caller->is_unchecked || caller->heard < ORDER_ID_LEN)
		return;
	if (memcmp(caller->first, "error ", 6) == 0) {
		caller->is_unchecked = true;
		return;
	}
	order = &c->server.orders[find_id(c, caller)];
	order_fill(find_id(c, caller), at, right, len);
	while (same < len && at + same < order->printed
		&& octets[same] == right[same])
		same++;
	if (same == len)
		return;
	MUST(order->is_rough || octets[same] == 'e');
	caller->is_unchecked = true;
}

/* An answer has ended. */
static void
check_end(const struct control *c, struct caller *caller)
{
	const struct order *order;

	if (caller->is_unchecked || caller->heard < ORDER_ID_LEN)
		return;
	order = &c->server.orders[find_id(c, caller)];
	MUST(!order->is_sent || order->is_rough
		|| caller->heard == order->printed);
	caller->is_unchecked = true;
}

static void
check_http(struct caller *caller, const uint8_t *octets, size_t len)
{
	static const char begin[] = "HTTP/1.1 ";

	for (size_t i = 0; i < len && caller->heard + i < sizeof(begin) - 1;
		i++)
		MUST(octets[i] == (uint8_t)begin[caller->heard + i]);
	caller->heard += len;
}

static void
hear(struct control *c, struct caller *caller, size_t max)
{
	uint8_t octets[ORDER_PART];

	while (wire_is_open(&caller->wire) && max > 0) {
		ssize_t got = wire_receive(&caller->wire, octets,
			max < sizeof(octets) ? max : sizeof(octets));

		if (got == 0 && !caller->is_http)
			check_end(c, caller);
		if (got <= 0)
			return;
		if (caller->is_http)
			check_http(caller, octets, (size_t)got);
		else
			check_octets(c, caller, octets, (size_t)got);
		max -= (size_t)got;
	}
}

/* ---- callers ------------------------------------------------------------- */

static void
fill_peer(struct world_peer *peer, uint8_t how, uint8_t who)
{
	struct sockaddr_in *ip4 = &peer->address.ip4;
	struct sockaddr_in6 *ip6 = &peer->address.ip6;
	unsigned net = (who & WHO_NET) >> 5;

	memset(peer, 0, sizeof(*peer));
	peer->room = how & HOW_LITTLE ? LITTLE_ROOM : 0;
	if (net == 0 && (how & HOW_WAY) >> 4 == WAY_PLAIN) {
		peer->address.sa.sa_family = AF_UNIX;
	} else if ((who & WHO_IP6) != 0) {
		ip6->sin6_family = AF_INET6;
		ip6->sin6_addr = in6addr_loopback;
		ip6->sin6_addr.s6_addr[0] = (uint8_t)net;
	} else {
		ip4->sin_family = AF_INET;
		ip4->sin_addr.s_addr = htonl(net == 0 ? INADDR_LOOPBACK
			: 0xc0000200u + 256 * net + (who & WHO_CALLER));
	}
}

static void
come(struct control *c, uint8_t how, uint8_t who, bool greets)
{
	struct caller *caller = &c->callers[who & WHO_CALLER];
	unsigned way = (how & HOW_WAY) >> 4;
	struct world_peer peer;

	wire_close(&caller->wire);
	*caller = (struct caller){.is_http = way == WAY_METRICS};
	fill_peer(&peer, how, who);
	caller->wire.fd = world_connect(c->listeners[way == WAY_STRANGER
			? WAY_TLS : way == WAY_METRICS ? 2 : way], &peer);
	if (caller->wire.fd == -1 || caller->is_http || way == WAY_PLAIN)
		return;
	wire_set_tls(&caller->wire, contexts[way == WAY_STRANGER], false);
	if (!greets)
		(void)wire_greet(&caller->wire);
	for (unsigned i = 0; i < FLIGHTS && greets; i++) {
		if (wire_greet(&caller->wire))
			break;
		turn(c);
	}
}

static void
say(struct caller *caller, const uint8_t *data, size_t len)
{
	/* The rest of a partial send is lost. */
	if (len > 0 && wire_is_open(&caller->wire))
		(void)wire_send(&caller->wire, data, len);
}

static void
do_say(struct control *c, uint8_t how, uint8_t who, const uint8_t *data,
	size_t len)
{
	struct caller *caller = &c->callers[who & WHO_CALLER];

	if (caller->wire.fd == -1)
		come(c, how, who, true);
	if ((how & HOW_DEED) == DEED_PIECES) {
		say(caller, data, len / 2);
		turn(c);
		data += len / 2;
		len -= len / 2;
	}
	say(caller, data, len);
}

static void
do_crowd(struct control *c, uint8_t how, uint8_t who, const uint8_t *data,
	size_t len)
{
	bool hello = (how & HOW_DEED) == DEED_HELLO;
	unsigned count = 1 + (len > 0 ? data[0] % (hello ? FEW : CALLERS) : 4u);

	/* Hands are shaken with few. */
	if (hello)
		how = (uint8_t)((how & ~HOW_WAY) | WAY_TLS << 4);
	else if ((how & HOW_WAY) >> 4 != WAY_METRICS)
		how &= (uint8_t)~HOW_WAY;
	for (unsigned i = 0; i < count; i++) {
		uint8_t next = (uint8_t)((who & ~WHO_CALLER)
			| ((who + i) & WHO_CALLER));

		come(c, how, next, !hello);
		if (len > 1)
			say(&c->callers[next & WHO_CALLER], data + 1, len - 1);
	}
}

/* ---- the server ---------------------------------------------------------- */

static void
begin(void)
{
	static struct tls_identity own, strange;
	const struct tls_identity *shown[2] = {&own, &strange};

	tls_identity_make(&own, "nsd");
	tls_identity_make(&strange, "nsd");
	MUST(ctl_tls_create_server((struct tls_text){own.key, own.key_len},
		(struct tls_text){own.cert, own.cert_len}, NULL, &tls)
		== NSD_OK);
	for (unsigned i = 0; i < 2; i++) {
		contexts[i] = SSL_CTX_new(TLS_client_method());
		MUST(contexts[i] != NULL);
		tls_identity_use(contexts[i], shown[i]);
	}
	signal(SIGPIPE, SIG_IGN);
}

static void
open_server(struct control *c, const uint8_t *places)
{
	struct ctl_channel_options options = {
		.on_call = control_server_on_call,
		.ctx = &c->server,
		.conns_max = places[0] % 16u == 0 ? 0
			: 1 + places[0] % 16u, /* 0: as many as usual */
		.seed = 1,
	};
	struct ctl_metrics_options metrics = {
		.path = "/metrics",
		.open = control_server_open_page,
		.print = control_server_print_page,
		.close = control_server_close_page,
		.ctx = &c->server,
		.conns_max = places[1] % 8u,
	};

	memset(c, 0, sizeof(*c));
	for (unsigned i = 0; i < CALLERS; i++)
		c->callers[i].wire.fd = -1;
	for (unsigned i = 0; i < LISTENERS; i++)
		c->listeners[i] = world_listen();
	c->base = options.base = metrics.base = event_base_new();
	MUST(c->base != NULL);
	MUST(ctl_channel_create(&options, &c->server.channel) == NSD_OK);
	MUST(ctl_channel_listen(c->server.channel, c->listeners[0], NULL)
		== NSD_OK);
	MUST(ctl_channel_listen(c->server.channel, c->listeners[1], tls)
		== NSD_OK);
	MUST(ctl_metrics_create(&metrics, &c->metrics) == NSD_OK);
	MUST(ctl_metrics_listen(c->metrics, c->listeners[2]) == NSD_OK);
}

/* ---- steps --------------------------------------------------------------- */

static void
do_fail(uint8_t who, size_t len)
{
	static const int errors[] = {EMFILE, ECONNABORTED, EINTR, ENOBUFS};

	world_fail_accept(errors[who % 4], (unsigned)len % 4);
}

/* Does what needs no caller. */
static void
do_other(struct control *c, uint8_t how, uint8_t who, size_t len)
{
	struct control_server *s = &c->server;

	switch (how & HOW_DEED) {
	case DEED_HEAR_ALL:
		for (unsigned i = 0; i < CALLERS; i++)
			hear(c, &c->callers[i], SIZE_MAX);
		break;
	case DEED_WAIT:
		world_pass((uint64_t)who * who * (how & HOW_LITTLE ? 1 : 10));
		break;
	case DEED_GO_ON:
		if (s->count > 0)
			order_go_on(&s->orders[who % s->count],
				(uint8_t)len);
		break;
	case DEED_END_ALL:
		control_server_end_all(s);
		break;
	case DEED_REFUSE:
		ctl_channel_refuse(s->channel, "error it is refused");
		break;
	case DEED_CLOSE:
		c->is_closed = true;
		ctl_channel_close(s->channel);
		break;
	case DEED_PAGES:
		s->refuses_pages = (who & 1) != 0;
		break;
	default:
		do_fail(who, len);
	}
}

static void
take_step(void *ctx, const uint8_t *head, const uint8_t *data, size_t len)
{
	struct control *c = ctx;
	struct caller *caller = &c->callers[head[1] & WHO_CALLER];

	switch (head[0] & HOW_DEED) {
	case DEED_SAY:
	case DEED_PIECES:
		do_say(c, head[0], head[1], data, len);
		break;
	case DEED_COME:
		come(c, head[0], head[1], true);
		say(caller, data, len);
		break;
	case DEED_CROWD:
	case DEED_HELLO:
		do_crowd(c, head[0], head[1], data, len);
		break;
	case DEED_HEAR:
		hear(c, caller, head[0] & HOW_LITTLE ? LITTLE_OCTETS
			: SIZE_MAX);
		break;
	case DEED_END:
		if (caller->wire.fd != -1)
			shutdown(caller->wire.fd, SHUT_WR);
		break;
	case DEED_LEAVE:
		wire_close(&caller->wire);
		break;
	default:
		do_other(c, head[0], head[1], len);
	}
	if ((head[0] & HOW_STILL) == 0)
		turn(c);
	(void)ctl_channel_is_busy(c->server.channel);
}

static void
put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	if (chance_below(chance, 4) == 0)
		http_put_word(out, chance);
	else
		control_put_word(out, chance);
}

/* Few shake hands: that takes long. */
static void
make_head(uint8_t *head, uint64_t *chance)
{
	unsigned way = chance_below(chance, 8);

	head[0] = (uint8_t)(chance_below(chance, 3) == 0 ? DEED_SAY
		: chance_below(chance, 16));
	head[0] |= (uint8_t)((way > 3 ? 0 : way) << 4);
	if (chance_below(chance, 3) == 0)
		head[0] |= HOW_LITTLE;
	if (chance_below(chance, 4) == 0)
		head[0] |= HOW_STILL;
	head[1] = (uint8_t)chance_next(chance);
	if (chance_below(chance, 2) == 0)
		head[1] = (uint8_t)chance_below(chance, 8);
}

static const struct mutate_text text = {
	.put_word = put_word,
	.put_first = control_put_first,
};
static const struct mutate_frames frames = {
	.prefix = PREFIX,
	.head = 4,
	.make_head = make_head,
	.text = &text,
};

/* ---- an input ------------------------------------------------------------ */

/* A new client is answered, whatever happened before. */
static void
ask_anew(struct control *c, uint8_t way, const char *request)
{
	struct caller *caller = &c->callers[0];

	come(c, (uint8_t)(way << 4), 0, true);
	say(caller, (const uint8_t *)request, strlen(request));
	for (unsigned i = 0; i < UNHEARD && caller->heard == 0; i++) {
		turn(c);
		world_pass(50);
		hear(c, caller, SIZE_MAX);
	}
	MUST(caller->heard > 0);
}

static void
end(struct control *c)
{
	struct control_server *s = &c->server;

	world_fail_accept(0, 0);
	turn(c);
	/* Clients still in the listen queue are accepted now. */
	for (unsigned i = 0; i < ENDLESS
		&& (i < FEW || ctl_channel_is_busy(s->channel)); i++) {
		control_server_end_all(s);
		world_pass(20000);
		turn(c);
	}
	MUST(!ctl_channel_is_busy(s->channel));
	if (!c->is_closed)
		ask_anew(c, WAY_PLAIN, "NSDCT1 status\n");
	ask_anew(c, WAY_METRICS, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
	for (unsigned i = 0; i < ORDERS_MAX; i++)
		s->orders[i].call = NULL;
	ctl_channel_destroy(s->channel);
	ctl_metrics_destroy(c->metrics);
	for (unsigned i = 0; i < CALLERS; i++)
		wire_close(&c->callers[i].wire);
	for (unsigned i = 0; i < LISTENERS; i++)
		close(c->listeners[i]);
	event_base_free(c->base);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct control c;

	if (tls == NULL)
		begin();
	if (size < PREFIX)
		return 0;
	world_begin();
	open_server(&c, data);
	frames_walk(&frames, data, size, take_step, &c);
	end(&c);
	return 0;
}

FRAMES_FOR_FUZZER(&frames)
