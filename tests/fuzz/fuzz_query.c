/*
 * fuzz_query.c - any octets as a request; what comes back must be a whole
 * message, within its limit, to that request.
 *
 * The first octet chooses: 1 TCP, 2 IPv6, 4 options of the server, 8 one zone
 * alone, 16 the same request twice in a batch.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "dns/edns.h"
#include "dns/message.h"
#include "dns/rrtype.h"
#include "query/query.h"

#include "lib/settings_fixture.h"
#include "lib/zone_fixture.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char example_text[] =
	"$TTL 300\n"
	"@ SOA ns1 root 1 2 3 4 5\n"
	"@ NS ns1\n@ NS ns.other.\n@ MX 1 mail\n@ MX 2 mail.other.\n"
	"@ RRSIG SOA 13 1 300 20300101000000 20200101000000 1 example. AAAA\n"
	"@ DNSKEY 257 3 13 AAAA\n"
	"ns1 A 192.0.2.1\nns1 AAAA 2001:db8::1\n"
	"mail A 192.0.2.2\n"
	"mail RRSIG A 13 2 300 20300101000000 20200101000000 1 example. AAAA\n"
	"*.w TXT wild\n*.w MX 1 mail\n*.c CNAME a.b.c.d.e\n"
	"a.b.c.d.e A 192.0.2.3\n"
	"cut NS ns.cut\ncut NS ns1\nns.cut A 192.0.2.4\n"
	"cut DS 1 13 2 0000000000000000000000000000000000000000000000000000000"
	"000000000\n"
	"sub NS ns.sub\nns.sub A 192.0.2.5\n"
	"loop1 CNAME loop2\nloop2 CNAME loop1\n"
	"far CNAME www.other.\nout CNAME www.nowhere.\n"
	"dn DNAME deep.w\ndx DNAME dn\ndl DNAME a.dl.other.\n"
	"svc HTTPS 1 . alpn=h2\nsvc A 192.0.2.9\nsvc2 SVCB 1 mail\n"
	"txt TXT aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
	"txt TXT bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
	"txt TXT ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
	"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\n"
	"txt TXT ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
	"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd\n"
	"srv SRV 1 2 3 mail\nsrv SRV 1 2 4 mail.other.\n";
static const char sub_text[] =
	"$TTL 300\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 192.0.2.5\n"
	"x CNAME y.example.\nd DNAME dn.example.\n";
static const char other_text[] =
	"$TTL 300\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 192.0.2.6\n"
	"www A 192.0.2.7\nmail A 192.0.2.8\nback CNAME far.example.\n"
	"*.dl DNAME dl.example.\n";

struct server {
	struct zone_fixture zones;
	struct counters counters;
	struct query_ctx *ctx;
};

static void
check(bool condition)
{
	if (!condition)
		abort();
}

static void
server_init(struct server *s, bool many, bool odd)
{
	static const uint8_t nsid[] = "nsid";
	const struct settings_setup settings[2] = {
		{ .identity = "id", .version = "v", .udp4_size = 1232,
			.udp6_size = 1220 },
		{ .version = "v", .nsid = nsid, .nsid_len = 4,
			.udp4_size = 4096, .udp6_size = 4096,
			.drop_updates = true, .round_robin = true,
			.minimal_responses = true, .confine_to_zone = true,
			.refuse_any = true },
	};
	const struct query_options options = { .cname_max = odd ? 3 : 18 };

	zone_fixture_init(&s->zones);
	check(zone_fixture_load(&s->zones, "example.", example_text, NULL)
		== NSD_OK);
	if (many) {
		check(zone_fixture_load(&s->zones, "sub.example.", sub_text,
			NULL) == NSD_OK);
		check(zone_fixture_load(&s->zones, "other.", other_text, NULL)
			== NSD_OK);
	}
	settings_fixture_publish(s->zones.writer, &settings[odd]);
	check(query_ctx_create(&options, &s->counters, &s->ctx) == NSD_OK);
}

/* All records and names can be read, and nothing is behind them. */
static void
check_reply(const struct exchange *x)
{
	struct message_question question;
	struct message_name name;
	struct message_rr rr;
	struct cursor c;
	unsigned records = 0;

	cursor_init(&c, x->reply, x->reply_len);
	check(x->reply_len >= MESSAGE_HEADER_LEN);
	check(message_get_id(x->reply) == message_get_id(x->request));
	check((message_get_flags(x->reply) & MESSAGE_QR) != 0);
	check(message_get_opcode(x->reply) == message_get_opcode(x->request)
		|| message_get_rcode(x->reply) == RCODE_FORMERR);
	c.at += MESSAGE_HEADER_LEN;
	check(message_get_count(x->reply, MESSAGE_QDCOUNT) <= 1);
	if (message_get_count(x->reply, MESSAGE_QDCOUNT) == 1)
		check(message_read_question(&c, &question) == NSD_OK);
	for (unsigned at = MESSAGE_ANCOUNT; at <= MESSAGE_ARCOUNT; at += 2)
		records += octets_get_u16(x->reply + at);
	while (records-- > 0) {
		check(message_read_rr(&c, &rr) == NSD_OK);
		check(message_expand_name(x->reply, x->reply_len, rr.owner_at,
			&name) == NSD_OK);
		if (rr.type == TYPE_NS || rr.type == TYPE_CNAME)
			check(message_expand_name(x->reply, x->reply_len,
				(size_t)(rr.rdata - x->reply), &name)
				== NSD_OK);
	}
	check(cursor_left(&c) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct server servers[4];
	static bool ready;
	static uint8_t replies[2][MESSAGE_MAX_LEN];
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct exchange x[2];
	struct server *s;
	uint8_t how;
	size_t count;

	if (!ready) {
		for (unsigned i = 0; i < 4; i++)
			server_init(&servers[i], (i & 1) == 0, (i & 2) != 0);
		ready = true;
	}
	if (size == 0)
		return 0;
	how = data[0];
	s = &servers[(how & 8) / 8 | (how & 4) / 2];
	count = (how & 16) != 0 ? 2 : 1;
	if ((how & 2) != 0)
		peer.ss_family = AF_INET6;
	((struct sockaddr_in *)&peer)->sin_port = htons(53);
	memset(x, 0, sizeof(x));
	for (size_t i = 0; i < count; i++) {
		x[i].request = data + 1;
		x[i].request_len = (uint32_t)size - 1;
		x[i].reply = replies[i];
		x[i].reply_capacity = (how & 1) != 0 ? MESSAGE_MAX_LEN : 4096;
		x[i].transport = (how & 1) != 0 ? TRANSPORT_TCP
			: TRANSPORT_UDP;
		x[i].peer = &peer;
	}
	query_answer_batch(s->ctx, s->zones.view, x, count);
	for (size_t i = 0; i < count; i++) {
		if (x[i].reply_len == 0)
			continue;
		check(x[i].reply_len <= x[i].reply_capacity);
		check_reply(&x[i]);
	}
	if (count == 2)
		check(x[0].reply_len == x[1].reply_len);
	return 0;
}
