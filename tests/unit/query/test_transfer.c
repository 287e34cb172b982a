/*
 * test_transfer.c - zone transfers: all records once, in messages that hold as
 * much as they can; who may have them.
 */
#include <netinet/in.h>
#include <stdio.h>

#include "expect.h"
#include "keep/history_edit.h"
#include "lib/history_fixture.h"
#include "query/state.h"
#include "store/writer.h"
#include "zone/history.h"

#define SMALL "z. 60 SOA ns.z. host.z. 7 2 3 4 5\nz. 60 NS ns.z.\n" \
	"ns.z. 60 A 192.0.2.1\n"

static const struct acl_element anyone = {
	.family = 4,
	.kind = ACL_MASK,
};

struct client {
	struct world w;
	struct store_reader *reader;
	struct world_zone *zone;
	void *stream;
	unsigned messages;
	size_t octets;
};

static void
client_init(struct client *c, const char *apex, const char *text)
{
	memset(c, 0, sizeof(*c));
	world_init(&c->w);
	c->zone = world_add_zone(&c->w, apex, text);
	c->zone->provide_acl = &anyone;
	c->zone->provide_acl_count = 1;
}

static void
client_start(struct client *c)
{
	world_start(&c->w);
	assert_int_equal(store_reader_open(c->w.store, 0, "test", &c->reader),
		NSD_OK);
	c->w.ctx->options.reader = c->reader;
}

static void
client_fini(struct client *c)
{
	if (c->stream != NULL)
		query_stream_end(c->w.ctx, c->stream);
	store_reader_close(c->reader);
	world_fini(&c->w);
}

/* Sends a request; the reply is empty if a stream begins. */
static struct reply_parts *
send_request(struct client *c, const uint8_t *request, size_t len,
	enum exchange_transport transport)
{
	struct reply_parts *p = calloc(1, sizeof(*p));
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	struct exchange x = {
		.request = request,
		.request_len = (uint32_t)len,
		.reply_capacity = WORLD_REPLY_MAX,
		.transport = transport,
		.peer = &peer,
	};

	assert_non_null(p);
	in->sin_port = 4000;
	x.reply = p->octets;
	store_reader_online(c->reader);
	query_answer_batch(c->w.ctx, store_reader_view(c->reader), &x, 1);
	store_reader_offline(c->reader);
	c->stream = x.stream;
	p->len = x.reply_len;
	if (c->stream != NULL)
		assert_int_equal(p->len, 0);
	if (p->len > 0)
		reply_read(p);
	return p;
}

static struct reply_parts *
ask_transfer(struct client *c, const struct ask *ask)
{
	uint8_t request[1024];
	size_t len = ask_write(ask, request);

	return send_request(c, request, len, ask->transport);
}

/* The next message; NULL: there are no more. */
static struct reply_parts *
next_message(struct client *c)
{
	struct reply_parts *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->len = query_stream_next(c->w.ctx, c->stream, p->octets,
		WORLD_REPLY_MAX);
	if (p->len == 0) {
		free(p);
		query_stream_end(c->w.ctx, c->stream);
		c->stream = NULL;
		return NULL;
	}
	reply_read(p);
	c->messages++;
	c->octets += p->len;
	return p;
}

/* Takes the whole zone, and compares it with what it was made of. */
static void
expect_zone(struct client *c, const struct ask *ask)
{
	struct world_rrs got = {0};
	struct reply_parts *p = ask_transfer(c, ask);

	assert_non_null(c->stream);
	done(p);
	while ((p = next_message(c)) != NULL) {
		expect_rcode(p, RCODE_NOERROR);
		expect_flag(p, MESSAGE_AA);
		assert_true(p->has_question);
		assert_int_equal(p->qtype, ask->type);
		assert_true(p->section[AN].count > 0);
		assert_int_equal(p->section[NS].count, 0);
		assert_int_equal(p->opt.present, ask->edns
			&& c->messages == 1);
		for (size_t i = 0; i < p->section[AN].count; i++)
			rrs_add(&got, &p->section[AN].rrs[i]);
		done(p);
	}
	assert_int_equal(got.count, c->zone->records.count + 1);
	assert_int_equal(got.rrs[0].type, TYPE_SOA);
	assert_int_equal(got.rrs[got.count - 1].type, TYPE_SOA);
	for (size_t i = 0; i < c->zone->records.count; i++)
		if (!rrs_contain(&got, &c->zone->records.rrs[i]))
			fail_msg("record %zu of type %u is missing", i,
				c->zone->records.rrs[i].type);
	for (size_t i = 1; i + 1 < got.count; i++)
		assert_int_not_equal(got.rrs[i].type, TYPE_SOA);
	rrs_fini(&got);
}

static void
expect_axfr(const char *apex, const char *text)
{
	const struct ask ask = { .qname = apex, .type = TYPE_AXFR,
		.transport = TRANSPORT_TCP, .edns = true };
	struct client c;

	client_init(&c, apex, text);
	client_start(&c);
	expect_zone(&c, &ask);
	client_fini(&c);
}

/* RFC 5936 section 2.2 */
static void
all_records_are_sent_once(void **state)
{
	expect_axfr("z.", SMALL);
	expect_axfr("z.", SMALL
		"z. 60 MX 10 mail.z.\nz. 60 TXT \"a\"\n"
		"*.w.z. 60 A 192.0.2.2\n"
		"deep.er.than.z. 60 A 192.0.2.3\n"
		"er.than.z. 60 AAAA 2001:db8::1\n"
		"than.z. 60 MX 5 deep.er.than.z.\n"
		"than.z. 60 MX 6 er.than.z.\n"
		"c.z. 60 CNAME deep.er.than.z.\n"
		"sub.z. 60 NS ns.sub.z.\nsub.z. 60 NS ns.z.\n"
		"ns.sub.z. 60 A 192.0.2.4\n"
		"hidden.sub.z. 60 TXT \"not served and sent\"\n"
		"d.z. 60 DNAME other.example.\n");
}

static void
the_root_is_a_zone_too(void **state)
{
	expect_axfr(".", ". 60 SOA a.root. host.root. 1 2 3 4 5\n"
		". 60 NS a.root.\n. 60 NS b.root.\n"
		"a.root. 60 A 192.0.2.1\nb.root. 60 A 192.0.2.2\n"
		"tld. 60 NS ns.tld.\nns.tld. 60 A 192.0.2.3\n"
		"ns.tld. 60 A 192.0.2.4\nother. 60 NS ns.tld.\n");
}

static void
signatures_follow_what_they_cover(void **state)
{
	expect_axfr("z.", SMALL
		"z. 60 DNSKEY\nz. 60 RRSIG SOA z.\nz. 60 RRSIG NS z.\n"
		"z. 60 RRSIG DNSKEY z.\nns.z. 60 RRSIG A z.\n");
}

/* Of many owners, so that there are many messages. */
static void
large_zones_are_sent_in_several_messages(void **state)
{
	const struct ask ask = { .qname = "z.", .type = TYPE_AXFR,
		.transport = TRANSPORT_TCP };
	struct client c;
	char line[200];

	client_init(&c, "z.", SMALL);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "n%u.of.some.length.z. 60 %s%u",
			i, i % 3 == 0 ? "MX 5 n" : "A 192.0.2.", i % 250);
		if (i % 3 == 0)
			strcat(line, ".of.some.length.z.");
		world_add_record(c.zone, line);
	}
	client_start(&c);
	expect_zone(&c, &ask);
	/* Owners and names take a few octets each. */
	assert_in_range(c.octets / 3000, 20, 30);
	assert_in_range(c.messages, c.octets / 16384, c.octets / 16384 + 1);
	client_fini(&c);
}

/* One that needs a message beyond the reach of pointers, and one that needs
 * several messages. */
static void
large_rrsets_are_sent(void **state)
{
	static const unsigned counts[] = { 100, 230, 600 };
	const struct ask ask = { .qname = "z.", .type = TYPE_AXFR,
		.transport = TRANSPORT_TCP, .edns = true };

	for (size_t n = 0; n < sizeof(counts) / sizeof(*counts); n++) {
		struct client c;
		char line[400];

		client_init(&c, "z.", SMALL "a.b.z. 60 A 192.0.2.1\n"
			"y.big.z. 60 A 192.0.2.1\n");
		for (unsigned i = 0; i < counts[n]; i++) {
			snprintf(line, sizeof(line),
				"big.z. 60 TXT \"%u%0240u\"", i, i);
			world_add_record(c.zone, line);
			snprintf(line, sizeof(line), "mx.z. 60 MX %u "
				"n%u.%060u.%060u.z.", i, i, i / 3, i);
			world_add_record(c.zone, line);
		}
		client_start(&c);
		expect_zone(&c, &ask);
		client_fini(&c);
	}
}

/* ---- who may ------------------------------------------------------------ */

static void
expect_refusal(struct client *c, const struct ask *ask, enum rcode rcode)
{
	struct reply_parts *p = ask_transfer(c, ask);

	assert_null(c->stream);
	expect_rcode(p, rcode);
	expect_counts(p, 0, 0, 0);
	done(p);
}

/* RFC 5936 section 5 */
static void
transfers_are_for_those_who_may_have_them(void **state)
{
	static const struct acl_element other = {
		.family = 4,
		.kind = ACL_SINGLE,
		.address = {192, 0, 2, 1},
	};
	struct ask ask = { .qname = "z.", .type = TYPE_AXFR,
		.transport = TRANSPORT_TCP };
	struct client c;

	for (unsigned turn = 0; turn < 2; turn++) {
		client_init(&c, "z.", SMALL);
		c.zone->provide_acl = &other;
		c.zone->provide_acl_count = turn;
		client_start(&c);
		expect_refusal(&c, &ask, RCODE_REFUSED);
		client_fini(&c);
	}
	client_init(&c, "z.", SMALL);
	client_start(&c);
	ask.qname = "ns.z.";
	expect_refusal(&c, &ask, RCODE_NOTAUTH);
	ask.qname = "elsewhere.";
	expect_refusal(&c, &ask, RCODE_NOTAUTH);
	ask.qname = "z.";
	ask.transport = TRANSPORT_UDP;
	expect_refusal(&c, &ask, RCODE_NOTIMP);
	client_fini(&c);
}

static void
zones_that_cannot_be_served_are_not_transferred(void **state)
{
	const struct ask ask = { .qname = "z.", .type = TYPE_AXFR,
		.transport = TRANSPORT_TCP };
	struct client c;

	for (unsigned turn = 0; turn < 2; turn++) {
		client_init(&c, "z.", SMALL);
		c.zone->not_loaded = turn == 0;
		c.zone->expires_sec = turn == 0 ? 0 : 7;
		client_start(&c);
		query_set_time(c.w.ctx, 0, 7);
		expect_refusal(&c, &ask, RCODE_SERVFAIL);
		client_fini(&c);
	}
}

/* ---- IXFR --------------------------------------------------------------- */

static size_t
write_ixfr(uint8_t *out, const char *qname, uint32_t serial)
{
	const struct ask ask = { .qname = qname, .type = TYPE_IXFR };
	static const uint8_t soa[] = {0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 0, 0, 22,
		0, 0};
	size_t len = ask_write(&ask, out);

	octets_put_u16(out + MESSAGE_NSCOUNT, 1);
	memcpy(out + len, soa, sizeof(soa));
	len += sizeof(soa);
	memset(out + len, 0, 20);
	octets_put_u32(out + len, serial);
	return len + 20;
}

/* And so do those who ask over UDP: RFC 1995 section 2. Later: RFC 1982 section
 * 3.2. */
static void
those_who_have_the_zone_get_its_soa(void **state)
{
	static const struct {
		uint32_t serial;
		enum exchange_transport transport;
		bool whole;
	} rows[] = {
		{ 6, TRANSPORT_TCP, true },
		{ 7, TRANSPORT_TCP, false },
		{ 8, TRANSPORT_TCP, false },
		{ 0x80000006, TRANSPORT_TCP, false },
		{ 0x80000008, TRANSPORT_TCP, true },
		{ 6, TRANSPORT_UDP, false },
		{ 7, TRANSPORT_UDP, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t request[1024];
		struct reply_parts *p;
		struct client c;

		client_init(&c, "z.", SMALL);
		client_start(&c);
		p = send_request(&c, request, write_ixfr(request, "z.",
			rows[i].serial), rows[i].transport);
		assert_int_equal(c.stream != NULL, rows[i].whole);
		if (!rows[i].whole) {
			expect_rcode(p, RCODE_NOERROR);
			expect_flag(p, MESSAGE_AA);
			expect_counts(p, 1, 0, 0);
			expect_rr(p, AN, "z. 60 SOA ns.z. host.z. 7 2 3 4 5");
		}
		done(p);
		client_fini(&c);
	}
}

/* RFC 1995 section 3 */
static void
an_ixfr_without_a_version_is_malformed(void **state)
{
	const struct ask ask = { .qname = "z.", .type = TYPE_IXFR,
		.transport = TRANSPORT_TCP };
	uint8_t request[1024];
	struct client c;
	size_t len;

	client_init(&c, "z.", SMALL);
	client_start(&c);
	expect_refusal(&c, &ask, RCODE_FORMERR);
	/* An authority section of something else, and a short SOA. */
	for (unsigned turn = 0; turn < 2; turn++) {
		struct reply_parts *p;

		len = write_ixfr(request, "z.", 1);
		if (turn == 0)
			request[len - 22 - 9] = TYPE_A;
		else
			request[len - 22 - 1] = 19;
		len -= turn == 0 ? 0 : 3;
		p = send_request(&c, request, len, TRANSPORT_TCP);
		expect_rcode(p, RCODE_FORMERR);
		done(p);
	}
	client_fini(&c);
}

/* ---- differences -------------------------------------------------------- */

/* The steps from version 4 to that of SMALL, 7. Each line of the list is a
 * record as it is sent, from version 4 on. */
static const char *const steps[][2] = {
	{"@ 60 SOA ns host 4 2 3 4 5\nold 60 A 192.0.2.9\nold 60 MX 1 ns\n",
		"@ 60 SOA ns host 5 2 3 4 5\nns 60 A 192.0.2.2\n"},
	{"@ 60 SOA ns host 5 2 3 4 5\n", "@ 60 SOA ns host 6 2 3 4 5\n"},
	{"@ 60 SOA ns host 6 2 3 4 5\nns 60 A 192.0.2.2\n",
		"@ 60 SOA ns host 7 2 3 4 5\nns 60 A 192.0.2.1\n"
		"a.ns 60 CNAME b.ns\n"},
};

static const char *const sent[] = {
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	"z. 60 SOA ns.z. host.z. 4 2 3 4 5",
	"old.z. 60 A 192.0.2.9",
	"old.z. 60 MX 1 ns.z.",
	"z. 60 SOA ns.z. host.z. 5 2 3 4 5",
	"ns.z. 60 A 192.0.2.2",
	"z. 60 SOA ns.z. host.z. 5 2 3 4 5",
	"z. 60 SOA ns.z. host.z. 6 2 3 4 5",
	"z. 60 SOA ns.z. host.z. 6 2 3 4 5",
	"ns.z. 60 A 192.0.2.2",
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	"ns.z. 60 A 192.0.2.1",
	"a.ns.z. 60 CNAME b.ns.z.",
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
};
#define SENT (sizeof(sent) / sizeof(*sent))

static void
push_steps(struct client *c)
{
	const struct history_limits limits = {5, 0};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		history_fixture_push(c->w.writer, c->zone->entry, &limits,
			steps[i][0], steps[i][1]);
}

/* These records in this order, after the first SOA. */
static void
expect_sent(const struct world_rrs *got, size_t from)
{
	assert_int_equal(got->count, SENT - from + 1);
	for (size_t i = 0; i < got->count; i++) {
		struct world_rr want;

		world_parse_record(sent[i == 0 ? 0 : from + i - 1], &want);
		assert_int_equal(got->rrs[i].type, want.type);
		assert_int_equal(got->rrs[i].ttl_sec, want.ttl_sec);
		assert_true(name_equal(got->rrs[i].owner, want.owner));
		assert_int_equal(got->rrs[i].rdlen, want.rdlen);
		assert_memory_equal(got->rrs[i].rdata, want.rdata, want.rdlen);
	}
}

/* Asks for what is new since a version; gives the records. */
static struct world_rrs
ask_ixfr(struct client *c, uint32_t serial, enum exchange_transport transport)
{
	struct world_rrs got = {0};
	uint8_t request[1024];
	struct reply_parts *p = send_request(c, request,
		write_ixfr(request, "z.", serial), transport);

	for (; p != NULL; p = c->stream != NULL ? next_message(c) : NULL) {
		if (p->len > 0) {
			expect_rcode(p, RCODE_NOERROR);
			expect_flag(p, MESSAGE_AA);
			assert_int_equal(p->qtype, TYPE_IXFR);
		}
		for (size_t i = 0; i < p->section[AN].count; i++)
			rrs_add(&got, &p->section[AN].rrs[i]);
		done(p);
	}
	return got;
}

/* RFC 1995 section 4 */
static void
differences_are_sent_one_behind_the_other(void **state)
{
	static const struct {
		uint32_t serial;
		size_t from; /* first of the list; 0: the whole zone */
	} rows[] = {{4, 1}, {5, 6}, {6, 8}, {3, 0}, {2, 0}};
	struct client c;

	client_init(&c, "z.", SMALL);
	client_start(&c);
	push_steps(&c);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world_rrs got = ask_ixfr(&c, rows[i].serial,
			TRANSPORT_TCP);

		if (rows[i].from > 0)
			expect_sent(&got, rows[i].from);
		else
			assert_int_equal(got.count, 4);
		rrs_fini(&got);
		got = ask_ixfr(&c, rows[i].serial, TRANSPORT_UDP);
		if (rows[i].from > 0)
			expect_sent(&got, rows[i].from);
		else
			assert_int_equal(got.count, 1);
		rrs_fini(&got);
	}
	client_fini(&c);
}

/* RFC 1995 section 2; and a version that is about to be published. */
static void
differences_that_do_not_fit_a_datagram_are_asked_for_again(void **state)
{
	const struct history_limits limits = {5, 0};
	struct client c;
	struct world_rrs got;
	char added[2000] = "@ 60 SOA ns host 7 2 3 4 5\n";
	size_t len = strlen(added);

	client_init(&c, "z.", SMALL);
	client_start(&c);
	for (unsigned i = 0; i < 30; i++)
		len += (size_t)sprintf(added + len,
			"n%u 60 A 192.0.2.%u\n", i, i);
	history_fixture_push(c.w.writer, c.zone->entry, &limits, steps[2][0],
		added);
	history_fixture_push(c.w.writer, c.zone->entry, &limits,
		"@ 60 SOA ns host 7 2 3 4 5\n",
		"@ 60 SOA ns host 8 2 3 4 5\n");
	got = ask_ixfr(&c, 6, TRANSPORT_UDP);
	assert_int_equal(got.count, 1);
	assert_int_equal(got.rrs[0].type, TYPE_SOA);
	rrs_fini(&got);
	got = ask_ixfr(&c, 6, TRANSPORT_TCP);
	assert_int_equal(got.count, 1 + 2 + 1 + 30 + 1);
	rrs_fini(&got);
	client_fini(&c);
}

/* RFC 1995 section 4: the SOA before and behind them is alone, whatever signs
 * it. */
static void
differences_are_sent_without_other_signatures(void **state)
{
	struct world_rrs got;
	struct client c;

	client_init(&c, "z.", SMALL "z. 60 DNSKEY\nz. 60 RRSIG SOA z.\n"
		"z. 60 RRSIG NS z.\nz. 60 RRSIG DNSKEY z.\n"
		"ns.z. 60 RRSIG A z.\n");
	client_start(&c);
	push_steps(&c);
	for (unsigned i = 0; i < 2; i++) {
		got = ask_ixfr(&c, 4, i == 0 ? TRANSPORT_TCP : TRANSPORT_UDP);
		expect_sent(&got, 1);
		rrs_fini(&got);
	}
	client_fini(&c);
}

/* In messages as those of a whole zone; what was begun goes on to its end,
 * whatever is kept meanwhile. */
static void
many_differences_take_several_messages(void **state)
{
	const struct history_limits limits = {5, 0};
	char *added = malloc(200000);
	struct reply_parts *p;
	uint8_t request[1024];
	struct client c;
	size_t len, records = 0;

	assert_non_null(added);
	client_init(&c, "z.", SMALL);
	client_start(&c);
	len = (size_t)sprintf(added, "@ 60 SOA ns host 7 2 3 4 5\n");
	for (unsigned i = 0; i < 4000; i++)
		len += (size_t)sprintf(added + len,
			"n%u.of.some.length 60 A 192.0.2.%u\n", i, i % 250);
	history_fixture_push(c.w.writer, c.zone->entry, &limits, steps[2][0],
		added);
	p = send_request(&c, request, write_ixfr(request, "z.", 6),
		TRANSPORT_TCP);
	done(p);
	assert_non_null(c.stream);
	history_clear(c.w.writer, c.zone->entry);
	while ((p = next_message(&c)) != NULL) {
		(void)store_reclaim(c.w.writer);
		records += p->section[AN].count;
		done(p);
	}
	assert_int_equal(records, 1 + 2 + 1 + 4000 + 1);
	/* Owners take a few octets each. */
	assert_in_range(c.octets / 4000, 20, 26);
	assert_in_range(c.messages, c.octets / 16384, c.octets / 16384 + 1);
	client_fini(&c);
	free(added);
}

/* Nobody can send it. */
static void
a_difference_too_large_for_a_message_ends_in_an_error(void **state)
{
	const struct history_limits limits = {5, 0};
	char *added = malloc(140000);
	struct reply_parts *p;
	uint8_t request[1024];
	struct client c;

	assert_non_null(added);
	client_init(&c, "z.", SMALL);
	client_start(&c);
	sprintf(added, "@ 60 SOA ns host 7 2 3 4 5\n"
		"big 60 TYPE999 \\# 65530 %0131060d\n", 0);
	history_fixture_push(c.w.writer, c.zone->entry, &limits, steps[2][0],
		added);
	p = send_request(&c, request, write_ixfr(request, "z.", 6),
		TRANSPORT_TCP);
	done(p);
	p = next_message(&c);
	expect_rcode(p, RCODE_NOERROR);
	done(p);
	p = next_message(&c);
	expect_rcode(p, RCODE_SERVFAIL);
	done(p);
	assert_null(next_message(&c));
	client_fini(&c);
	free(added);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_records_are_sent_once),
		cmocka_unit_test(the_root_is_a_zone_too),
		cmocka_unit_test(signatures_follow_what_they_cover),
		cmocka_unit_test(large_zones_are_sent_in_several_messages),
		cmocka_unit_test(large_rrsets_are_sent),
		cmocka_unit_test(transfers_are_for_those_who_may_have_them),
		cmocka_unit_test(
			zones_that_cannot_be_served_are_not_transferred),
		cmocka_unit_test(those_who_have_the_zone_get_its_soa),
		cmocka_unit_test(an_ixfr_without_a_version_is_malformed),
		cmocka_unit_test(differences_are_sent_one_behind_the_other),
		cmocka_unit_test(
			differences_that_do_not_fit_a_datagram_are_asked_for_again),
		cmocka_unit_test(differences_are_sent_without_other_signatures),
		cmocka_unit_test(many_differences_take_several_messages),
		cmocka_unit_test(
			a_difference_too_large_for_a_message_ends_in_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
