/*
 * fuzz_query.c - any octets as requests to a server as people have them
 * (query_server.h); what comes back must be a whole message, within its limit,
 * to that request, and signed only for who has signed.
 *
 * The first octet: 1 one zone alone, 2 short chains, 4 keys, 8 limits of rates,
 * 16 other options. Then frames: 2 octets, a length of 2, so many octets. The
 * first octet of a frame: 128 a change of the server, which the second octet
 * chooses; else a request: see enum how. What is between two ends of batches is
 * a batch.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "dns/message.h"
#include "dns/rrtype.h"
#include "fuzz/mutate_dns.h"
#include "fuzz/mutate_frames.h"
#include "fuzz/query_server.h"
#include "lib/chance.h"
#include "target.h"

enum server_bits {
	ONE_ZONE = 1,
	SHORT_CHAINS = 2,
	WITH_KEYS = 4,
	WITH_LIMITS = 8,
	OTHER_OPTIONS = 16,
};

enum how {
	HOW_TRANSPORT = 3,  /* UDP, TCP, TLS, and with a certificate */
	HOW_IP6 = 4,
	HOW_PROXY = 8,
	HOW_END = 16,       /* of a batch */
	HOW_SMALL = 32,     /* little room for the reply */
	HOW_AGAIN = 64,     /* on a stream: it was put off, or answered */
	HOW_CHANGE = 128,
};

/* The second octet of a request. */
enum who {
	WHO_ADDRESS = 7,
	WHO_ANSWERED = 8,
	WHO_DATED = 16,
	WHO_IDLE = 32,
	WHO_READS = 64, /* messages of streams, before the next batch */
	WHO_ZERO = 128, /* port 0, if all of these are set */
};

#define FRAME_HEAD 4u
#define BATCH_MAX 8u
#define STREAMS_MAX 4u
#define STREAM_MESSAGES 4u
#define SMALL_ROOM 600u

static bool
is_client(const struct exchange_identity *identity, const char *name)
{
	return identity != NULL && strcmp(name, "client.example") == 0;
}

static const struct exchange_identity client = {is_client};

struct batch {
	struct server *server;
	size_t count;
	struct exchange x[BATCH_MAX];
	struct sockaddr_storage peers[BATCH_MAX];
	struct sockaddr_in proxies[BATCH_MAX];
	uint8_t replies[BATCH_MAX][MESSAGE_MAX_LEN];
	size_t stream_count;
	void *streams[STREAMS_MAX];
	uint8_t message[MESSAGE_MAX_LEN];
};

/* ---- replies ------------------------------------------------------------- */

/* A TSIG with a MAC is for who has signed the request, and is right. */
static void
check_signature(const struct server *s, const struct exchange *x)
{
	size_t at = server_find_tsig(x->reply, x->reply_len);
	struct tsig_chain chain;
	struct tsig tsig;
	enum rcode rcode;

	if (at == 0)
		return;
	MUST(tsig_read(x->reply, x->reply_len, at, &tsig) == NSD_OK);
	if (tsig.mac_len == 0) {
		MUST(tsig.error == RCODE_BADKEY || tsig.error == RCODE_BADSIG);
		MUST(server_find_tsig(x->request, x->request_len) != 0);
		return;
	}
	MUST(server_has_signed(s, x->request, x->request_len, &chain));
	rcode = tsig_check(&chain, x->reply, &tsig, tsig.time_sec);
	MUST(rcode == RCODE_NOERROR || rcode == RCODE_BADTIME);
}

static void
check_reply(const struct server *s, const struct exchange *x)
{
	MUST(x->reply_len <= x->reply_capacity);
	server_check_message(x->reply, x->reply_len);
	MUST(message_get_id(x->reply) == message_get_id(x->request));
	MUST(message_get_opcode(x->reply) == message_get_opcode(x->request)
		|| message_get_rcode(x->reply) == RCODE_FORMERR
		|| message_get_count(x->request, MESSAGE_QDCOUNT) == 0);
	check_signature(s, x);
}

/* ---- streams ------------------------------------------------------------- */

/* Reads some messages of the first stream, and ends it. */
static void
end_stream(struct batch *b)
{
	void *stream = b->streams[0];
	const struct query_unsent *unsent;
	size_t len;

	for (unsigned i = 0; i < STREAM_MESSAGES; i++) {
		len = query_stream_next(b->server->ctx, stream, b->message,
			MESSAGE_MAX_LEN);
		if (len == 0)
			break;
		server_check_message(b->message, len);
	}
	unsent = query_take_unsent(b->server->ctx);
	MUST(unsent == NULL || (len == 0 && name_len(unsent->owner) > 0));
	query_stream_end(b->server->ctx, stream);
	b->stream_count--;
	memmove(b->streams, b->streams + 1,
		b->stream_count * sizeof(*b->streams));
}

static void
read_stream(struct batch *b)
{
	size_t len;

	if (b->stream_count == 0)
		return;
	len = query_stream_next(b->server->ctx, b->streams[0], b->message,
		MESSAGE_MAX_LEN);
	if (len > 0)
		server_check_message(b->message, len);
}

/* ---- requests ------------------------------------------------------------ */

static void
add_request(struct batch *b, uint8_t how, uint8_t who, const uint8_t *data,
	size_t len)
{
	size_t i = b->count++;
	struct exchange *x = &b->x[i];
	struct sockaddr_in *ip4 = (struct sockaddr_in *)&b->peers[i];
	struct sockaddr_in6 *ip6 = (struct sockaddr_in6 *)&b->peers[i];
	uint8_t *copy = malloc(len > 0 ? len : 1);

	MUST(copy != NULL);
	if (len > 0)
		memcpy(copy, data, len);
	memset(&b->peers[i], 0, sizeof(b->peers[i]));
	if ((how & HOW_IP6) != 0) {
		ip6->sin6_family = AF_INET6;
		ip6->sin6_port = who == 0xff ? 0 : htons(4000);
		memcpy(&ip6->sin6_addr, "\x20\1\x0d\xb8", 4);
		ip6->sin6_addr.s6_addr[15] = who & WHO_ADDRESS;
	} else {
		ip4->sin_family = AF_INET;
		ip4->sin_port = who == 0xff ? 0 : htons(4000);
		ip4->sin_addr.s_addr = htonl(0xc0000200u
			| (who & WHO_ADDRESS));
	}
	b->proxies[i] = (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons(4000),
		.sin_addr.s_addr = htonl(0xc0000200u | (who >> 4 & 7))};
	*x = (struct exchange){
		.request = copy,
		.request_len = (uint32_t)len,
		.reply = b->replies[i],
		.reply_capacity = how & HOW_SMALL ? SMALL_ROOM
			: MESSAGE_MAX_LEN,
		.transport = (how & HOW_TRANSPORT) == 3 ? TRANSPORT_TLS
			: how & HOW_TRANSPORT,
		.is_dated = (who & WHO_DATED) != 0,
		.idle_100ms = who & WHO_IDLE ? 30 : 0,
		.peer = &b->peers[i],
		.proxy = how & HOW_PROXY ? (struct sockaddr *)&b->proxies[i]
			: NULL,
		.identity = (how & HOW_TRANSPORT) == 3 ? &client : NULL,
	};
	if (x->transport != TRANSPORT_UDP && (how & HOW_AGAIN) != 0)
		x->seen = who & WHO_ANSWERED ? EXCHANGE_ANSWERED
			: EXCHANGE_PUT_OFF;
}

static void
answer(struct batch *b)
{
	struct server *s = b->server;
	size_t passed_on = 0, told;

	if (b->count == 0)
		return;
	store_reader_online(s->reader);
	told = query_answer_batch(s->ctx, store_reader_view(s->reader), b->x,
		b->count);
	store_reader_offline(s->reader);
	for (size_t i = 0; i < b->count; i++) {
		struct exchange *x = &b->x[i];

		passed_on += x->pass_on;
		MUST(!x->put_off || x->reply_len == 0);
		if (x->stream != NULL) {
			MUST(x->reply_len == 0
				&& x->transport != TRANSPORT_UDP);
			if (b->stream_count == STREAMS_MAX)
				end_stream(b);
			b->streams[b->stream_count++] = x->stream;
		}
		if (x->reply_len > 0)
			check_reply(s, x);
		free((uint8_t *)x->request);
	}
	MUST(passed_on == told);
	(void)query_blocks(s->ctx, &told);
	MUST(told <= QUERY_BLOCKS_MAX);
	(void)query_accesses(s->ctx, &told);
	MUST(told <= QUERY_ACCESSES_MAX);
	b->count = 0;
}

static void
take_frame(void *ctx, const uint8_t *head, const uint8_t *data, size_t len)
{
	struct batch *b = ctx;

	if ((head[0] & HOW_CHANGE) != 0) {
		answer(b);
		server_change(b->server, head[1], data, len);
		return;
	}
	if (b->count == 0 && (head[1] & WHO_READS) != 0)
		read_stream(b);
	add_request(b, head[0], head[1], data, len);
	if ((head[0] & HOW_END) != 0 || b->count == BATCH_MAX)
		answer(b);
}

/* ---- inputs -------------------------------------------------------------- */

/* Most are requests, from the first client, over UDP. */
static void
make_head(uint8_t *head, uint64_t *chance)
{
	if (chance_below(chance, 5) != 0) {
		head[0] = (uint8_t)(chance_next(chance) & 0x7f);
		if (chance_below(chance, 2) == 0)
			head[0] &= HOW_END | HOW_TRANSPORT;
		if (chance_below(chance, 2) == 0)
			head[1] = 0;
	} else {
		head[0] = HOW_CHANGE;
	}
}

static const struct mutate_frames frames = {
	.prefix = 1,
	.head = FRAME_HEAD,
	.make_head = make_head,
	.dns = &server_dns,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct server servers[2];
	static struct batch b;
	struct server_settings settings = {0};
	uint8_t bits;

	if (servers[0].ctx == NULL && servers[0].key_store == NULL)
		for (unsigned i = 0; i < 2; i++)
			server_init(&servers[i], i == 1);
	if (size == 0)
		return 0;
	bits = data[0];
	settings.keys = bits & WITH_KEYS ? 7 : 0;
	settings.how = bits & OTHER_OPTIONS ? 0x7f : 0;
	settings.more = bits & WITH_LIMITS ? 2 : 0;
	b.server = &servers[bits & ONE_ZONE];
	b.count = 0;
	b.stream_count = 0;
	server_begin(b.server, &settings, bits & SHORT_CHAINS ? 3 : 18);
	frames_walk(&frames, data, size, take_frame, &b);
	answer(&b);
	while (b.stream_count > 0)
		end_stream(&b);
	server_end(b.server);
	return 0;
}

FRAMES_FOR_FUZZER(&frames)
