/*
 * test_transfer.c - zone transfers: all records once, in messages that hold as
 * much as they can; who may have them.
 */
#include <stdio.h>

#include "transfer_client.h"

static struct reply_parts *
ask_transfer(struct client *c, const struct ask *ask)
{
	uint8_t request[1024];
	size_t len = ask_write(ask, request);

	return send_request(c, request, len, ask->transport);
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

/* RFC 7314 and RFC 7828: in the first message, with everything else that a
 * client may ask for at once; a cookie among it. */
static void
options_are_answered_in_the_first_message(void **state)
{
	static const char options[] = "\0\12\0\10client__\0\11\0\0"
		"\0\13\0\0\0\3\0\0\0\14\0\1\0\0\23\0";
	const struct ask ask = { .qname = "z.", .type = TYPE_AXFR,
		.transport = TRANSPORT_TCP, .edns = true, .options = options,
		.options_len = sizeof(options) };
	static const struct cookie_secrets secrets = { 1, { "secret" } };
	struct cookie_share share = {0};
	struct reply_parts *p;
	struct client c;
	uint16_t len;

	cookie_share_write(&share, &secrets);
	client_init(&c, "z.", SMALL);
	c.w.options.answer_cookie = true;
	c.w.options.report_channel = (const uint8_t *)"\5agent";
	c.w.query_options.cookies = &share;
	client_start(&c);
	done(ask_transfer(&c, &ask));
	p = next_message(&c);
	assert_non_null(reply_option(p, EDNS_EXPIRE, &len));
	assert_int_equal(len, 4);
	assert_non_null(reply_option(p, EDNS_TCP_KEEPALIVE, &len));
	assert_non_null(reply_option(p, EDNS_COOKIE, &len));
	assert_int_equal(len, COOKIE_LEN);
	done(p);
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

/* A zone with many owners, so that there are many messages. */
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

/* An RRset beyond the reach of pointers, and one that needs several
 * messages. */
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

/* RFC 7830 section 4: over TLS, for those who pad; one that is larger than a
 * message is otherwise, too. */
static void
padding_makes_blocks_of_all_messages(void **state)
{
	struct ask ask = { .qname = "z.", .type = TYPE_AXFR, .edns = true,
		.options = "\0\14\0\5xxxxx", .options_len = 9 };
	struct reply_parts *p;
	struct client c;
	char line[400];

	client_init(&c, "z.", SMALL);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "n%u.z. 60 A 192.0.2.1", i);
		world_add_record(c.zone, line);
	}
	for (unsigned i = 0; i < 230; i++) {
		snprintf(line, sizeof(line), "big.z. 60 TXT \"%u%0240u\"", i,
			i);
		world_add_record(c.zone, line);
	}
	client_start(&c);
	for (unsigned tls = 0; tls < 2; tls++) {
		size_t count = 0, largest = 0;

		ask.transport = tls ? TRANSPORT_TLS : TRANSPORT_TCP;
		done(ask_transfer(&c, &ask));
		c.messages = 0;
		while ((p = next_message(&c)) != NULL) {
			uint16_t len;
			bool has = p->opt.present
				&& reply_option(p, EDNS_PADDING, &len) != NULL;

			assert_int_equal(p->opt.present, tls
				|| c.messages == 1);
			assert_int_equal(has, tls);
			if (tls)
				assert_int_equal(p->len % 468, 0);
			count += p->section[AN].count;
			largest = p->len > largest ? p->len : largest;
			done(p);
		}
		assert_int_equal(count, c.zone->records.count + 1);
		assert_true(c.messages > 3);
		assert_true(largest > 50000);
	}
	client_fini(&c);
}

/* ---- access ------------------------------------------------------------- */

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

/* A client with the current serial, or one over UDP, gets the SOA: RFC 1995
 * section 2. Later: RFC 1982 section 3.2. */
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

/* RFC 1995 section 3: the SOA is that of the zone that is asked for. */
static void
an_ixfr_with_another_or_a_broken_soa_is_malformed(void **state)
{
#define NUMBERS "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5"
#define ROW(rcode, octets) { rcode, sizeof(octets) - 1, octets }
	static const struct {
		enum rcode rcode;
		size_t len;
		const char *octets;
	} rows[] = {
		ROW(RCODE_NOERROR, "\1Z\0\0\6\0\1\0\0\0\0\0\31"
			"\1a\300\14\0" NUMBERS),
		ROW(RCODE_NOERROR, "\300\14\0\6\0\1\0\0\0\0\0\30"
			"\300\14\300\14" NUMBERS),
		/* of another owner, and of another class */
		ROW(RCODE_FORMERR, "\0\0\6\0\1\0\0\0\0\0\26\0\0" NUMBERS),
		ROW(RCODE_FORMERR, "\1y\0\0\6\0\1\0\0\0\0\0\26\0\0"
			NUMBERS),
		ROW(RCODE_FORMERR, "\1a\300\14\0\6\0\1\0\0\0\0\0\26\0\0"
			NUMBERS),
		ROW(RCODE_FORMERR, "\300\14\0\6\0\3\0\0\0\0\0\26\0\0"
			NUMBERS),
		/* a name too few, an octet too many, a name of another kind,
		 * a pointer forwards, and one out of the message */
		ROW(RCODE_FORMERR, "\300\14\0\6\0\1\0\0\0\0\0\25\0"
			NUMBERS),
		ROW(RCODE_FORMERR, "\300\14\0\6\0\1\0\0\0\0\0\27\0\0"
			NUMBERS "\0"),
		ROW(RCODE_FORMERR, "\300\14\0\6\0\1\0\0\0\0\0\27\101a\0"
			NUMBERS),
		ROW(RCODE_FORMERR, "\300\14\0\6\0\1\0\0\0\0\0\27\300\60\0"
			NUMBERS),
		ROW(RCODE_FORMERR, "\300\14\0\6\0\1\0\0\0\0\0\27\377\377"
			"\0" NUMBERS),
		ROW(RCODE_FORMERR, "\300\14\0\6\0\1\0\0\0\0\0\0"),
	};
	const struct ask ask = { .qname = "z.", .type = TYPE_IXFR };
	uint8_t request[1024];
	struct client c;

	client_init(&c, "z.", SMALL);
	client_start(&c);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = ask_write(&ask, request);
		struct reply_parts *p;

		octets_put_u16(request + MESSAGE_NSCOUNT, 1);
		memcpy(request + len, rows[i].octets, rows[i].len);
		p = send_request(&c, request, len + rows[i].len,
			TRANSPORT_UDP);
		if (p->rcode != rows[i].rcode)
			fail_msg("row %u: %u", i, p->rcode);
		done(p);
	}
	client_fini(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_answered_in_the_first_message),
		cmocka_unit_test(all_records_are_sent_once),
		cmocka_unit_test(the_root_is_a_zone_too),
		cmocka_unit_test(signatures_follow_what_they_cover),
		cmocka_unit_test(large_zones_are_sent_in_several_messages),
		cmocka_unit_test(large_rrsets_are_sent),
		cmocka_unit_test(padding_makes_blocks_of_all_messages),
		cmocka_unit_test(transfers_are_for_those_who_may_have_them),
		cmocka_unit_test(
			zones_that_cannot_be_served_are_not_transferred),
		cmocka_unit_test(those_who_have_the_zone_get_its_soa),
		cmocka_unit_test(an_ixfr_without_a_version_is_malformed),
		cmocka_unit_test(
			an_ixfr_with_another_or_a_broken_soa_is_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
