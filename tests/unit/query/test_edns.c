/* test_edns.c - names of class CH, EDNS and its options, TSIG. */
#include <stdio.h>

#include "raw.h"

/* ---- class CH ----------------------------------------------- */

static void
chaos_names(void **state)
{
	static const struct {
		const char *name;
		uint16_t type;
		const char *text;
	} rows[] = {
		{ "id.server.", TYPE_TXT, "id" },
		{ "Hostname.BIND.", TYPE_TXT, "id" },
		{ "version.server.", TYPE_ANY, "version" },
		{ "version.bind.", TYPE_TXT, "version" },
		{ "version.bind.", TYPE_A, NULL },
		{ "authors.bind.", TYPE_TXT, NULL },
		{ "example.", TYPE_SOA, NULL },
		{ ".", TYPE_TXT, NULL },
	};
	struct world w;
	struct reply_parts *p;

	start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct ask ask = { .qname = rows[i].name, .edns = true,
			.type = rows[i].type, .rrclass = CLASS_CH };
		const struct world_rr *rr;

		p = ask_with(&w, &ask);
		expect_no_flag(p, MESSAGE_AA);
		if (rows[i].text == NULL) {
			expect_rcode(p, RCODE_REFUSED);
			expect_ede(p, EDE_NOT_SUPPORTED, NULL);
			done(p);
			continue;
		}
		expect_rcode(p, RCODE_NOERROR);
		expect_counts(p, 1, 0, 0);
		rr = p->section[AN].rrs;
		assert_int_equal(rr->type, TYPE_TXT);
		assert_int_equal(rr->rrclass, CLASS_CH);
		assert_int_equal(rr->ttl_sec, 0);
		assert_int_equal(rr->rdlen, strlen(rows[i].text) + 1);
		assert_memory_equal(rr->rdata + 1, rows[i].text,
			rr->rdlen - 1u);
		done(p);
	}
	world_fini(&w);
}

static void
hidden_chaos_names_are_refused(void **state)
{
	struct world w;

	world_init(&w);
	w.options.identity = NULL;
	w.options.version = NULL;
	world_start(&w);
	for (unsigned i = 0; i < 2; i++) {
		const struct ask ask = { .qname = i == 0 ? "id.server."
			: "version.bind.", .edns = true, .type = TYPE_TXT,
			.rrclass = CLASS_CH };
		struct reply_parts *p = ask_with(&w, &ask);

		expect_rcode(p, RCODE_REFUSED);
		expect_ede(p, EDE_PROHIBITED, NULL);
		done(p);
	}
	world_fini(&w);
}

/* ---- EDNS ----------------------------------------------- */

static void
opt_is_answered_with_opt(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA, .edns = true,
		.size = 4096, .options = "\xff\xf0\0\2xx", .options_len = 6 };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOERROR);
	assert_true(p->opt.present);
	assert_int_equal(p->opt.udp_size, 1232);
	assert_int_equal(p->opt.version, 0);
	assert_int_equal(p->opt.flags, 0);
	assert_int_equal(p->opt.options_len, 0);
	done(p);
	assert_int_equal(w.counters.edns, 1);
	world_fini(&w);
}

/* Fault 12. */
static void
other_version_is_badvers(void **state)
{
	const struct ask ask = { .qname = "example.", .type = TYPE_SOA,
		.edns = true, .version = 1, .options = "\0\3\0\7",
		.options_len = 4, .flags = MESSAGE_RD };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_BADVERS);
	assert_int_equal(p->flags, 0x8100);
	assert_true(p->has_question);
	assert_int_equal(p->opt.version, 0);
	expect_counts(p, 0, 0, 0);
	done(p);
	assert_int_equal(w.counters.rcode[16], 1);
	assert_int_equal(w.counters.edns_err, 1);
	world_fini(&w);
}

/* Fault 3 and 11, 13, 14. */
static void
bad_opt_is_formerr_with_opt(void **state)
{
	static const uint8_t opt[] = "\0\0\51\4\320\0\0\0\0\0\0";
	static const uint8_t owned[] = "\1a\0\0\51\4\320\0\0\0\0\0\0";
	struct ask ask = { .qname = "example.", .type = TYPE_SOA, .edns = true,
		.options = "\0\3\0\7", .options_len = 4 };
	struct world w;
	struct raw raw;

	start(&w);
	raw_init(&raw, &ask);
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.flags, 0x8001);
	assert_true(raw.parts.opt.present);
	assert_false(raw.parts.has_question);

	ask.options_len = 0; /* two of them */
	raw_init(&raw, &ask);
	memcpy(raw.request + raw.len, opt, 11);
	raw.len += 11;
	raw.request[11] = 2;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.flags, 0x8001);
	assert_true(raw.parts.opt.present);

	raw_init(&raw, &plain); /* not at the root */
	memcpy(raw.request + raw.len, owned, 13);
	raw.len += 13;
	raw.request[11] = 1;
	raw_send(&w, &raw);
	raw_expect_header(&raw, 0x8001);

	raw_init(&raw, &plain); /* OPT alone */
	memcpy(raw.request + 12, opt, 11);
	raw.len = 23;
	raw.request[5] = 0;
	raw.request[11] = 1;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.flags, 0x8001);
	assert_true(raw.parts.opt.present);

	raw_init(&raw, &plain); /* in the answer section */
	memcpy(raw.request + raw.len, opt, 11);
	raw.len += 11;
	raw.request[7] = 1;
	raw_send(&w, &raw);
	raw_expect_header(&raw, 0x8001);
	world_fini(&w);
}

static void
nsid_when_asked_and_known(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA, .edns = true,
		.options = "\0\3\0\0", .options_len = 4 };
	struct world w;
	struct reply_parts *p;
	uint16_t len;

	start(&w);
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_NSID, &len));
	done(p);
	world_fini(&w);
	world_init(&w);
	w.options.nsid = (const uint8_t *)"\1\2\3";
	w.options.nsid_len = 3;
	world_add_zone(&w, "example.", raw_zone_text);
	world_start(&w);
	p = ask_with(&w, &ask);
	assert_memory_equal(reply_option(p, EDNS_NSID, &len), "\1\2\3", 3);
	assert_int_equal(len, 3);
	done(p);
	ask.rrclass = CLASS_CH;
	p = ask_with(&w, &ask);
	assert_non_null(reply_option(p, EDNS_NSID, &len));
	done(p);
	ask.rrclass = CLASS_IN;
	ask.options_len = 0;
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_NSID, &len));
	done(p);
	world_fini(&w);
}

/* RFC 9660. */
static void
zoneversion_is_the_serial(void **state)
{
	struct ask ask = { .qname = "ns1.example.", .type = TYPE_A,
		.edns = true, .options = "\0\23\0\0", .options_len = 4 };
	struct world w;
	struct reply_parts *p;
	uint16_t len;

	start(&w);
	p = ask_with(&w, &ask);
	assert_memory_equal(reply_option(p, EDNS_ZONEVERSION, &len),
		"\1\0\0\0\0\11", 6);
	assert_int_equal(len, 6);
	done(p);
	ask.qname = "elsewhere.";
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_ZONEVERSION, &len));
	done(p);
	world_fini(&w);
}

/* RFC 7828 section 3.3.2: over TCP and TLS, for those who ask; whatever time
 * they name. */
static void
keepalive_is_the_idle_time_out(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA, .edns = true,
		.options = "\0\13\0\0", .options_len = 4,
		.transport = TRANSPORT_TCP, .idle_100ms = 0x4b0 };
	struct world w;
	struct reply_parts *p;
	uint16_t len;

	start(&w);
	for (unsigned i = 0; i < 3; i++) {
		p = ask_with(&w, &ask);
		assert_memory_equal(reply_option(p, EDNS_TCP_KEEPALIVE, &len),
			"\4\260", 2);
		assert_int_equal(len, 2);
		done(p);
		ask.transport = TRANSPORT_TLS;
		if (i == 1) {
			ask.options = "\0\13\0\2\1\2";
			ask.options_len = 6;
		}
	}
	ask.transport = TRANSPORT_UDP;
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_TCP_KEEPALIVE, &len));
	done(p);
	/* The connection is to close. */
	ask.transport = TRANSPORT_TCP;
	ask.idle_100ms = 0;
	p = ask_with(&w, &ask);
	assert_memory_equal(reply_option(p, EDNS_TCP_KEEPALIVE, &len),
		"\0\0", 2);
	done(p);
	ask.options_len = 0;
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_TCP_KEEPALIVE, &len));
	done(p);
	world_fini(&w);
}

/* RFC 7314: the time in the SOA, or the time left until the zone expires,
 * rounded down: both times are whole seconds. */
static void
expire_is_what_is_left(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA, .edns = true,
		.options = "\0\11\0\0", .options_len = 4 };
	struct world_zone *zone;
	struct world w;
	struct reply_parts *p;
	uint32_t soa_sec;
	uint16_t len;

	world_init(&w);
	zone = world_add_zone(&w, "example.", raw_zone_text);
	zone->expires_sec = 100000;
	world_add_apex(world_add_zone(&w, "z.", ""));
	world_start(&w);
	query_set_time(w.ctx, 1, 400);
	p = ask_with(&w, &ask);
	assert_int_equal(octets_get_u32(reply_option(p, EDNS_EXPIRE, &len)),
		99598);
	assert_int_equal(len, 4);
	done(p);
	/* The time at the end is 0, so that secondaries get no time. */
	query_set_time(w.ctx, 1, 99999);
	p = ask_with(&w, &ask);
	assert_int_equal(octets_get_u32(reply_option(p, EDNS_EXPIRE, &len)),
		0);
	soa_sec = octets_get_u32(p->section[AN].rrs[0].rdata
		+ p->section[AN].rrs[0].rdlen - 8);
	done(p);
	/* The value is never that of a zone without a primary. */
	query_set_time(w.ctx, 1, 100000 - 2 - soa_sec);
	p = ask_with(&w, &ask);
	assert_int_equal(octets_get_u32(reply_option(p, EDNS_EXPIRE, &len)),
		soa_sec - 1);
	done(p);
	query_set_time(w.ctx, 1, 400);
	/* Other types and names have no EXPIRE. */
	ask.type = TYPE_NS;
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_EXPIRE, &len));
	done(p);
	ask.type = TYPE_SOA;
	ask.qname = "ns1.example.";
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_EXPIRE, &len));
	done(p);
	ask.qname = "elsewhere.";
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_EXPIRE, &len));
	done(p);
	/* A zone that does not expire. */
	ask.qname = "z.";
	p = ask_with(&w, &ask);
	assert_int_equal(octets_get_u32(reply_option(p, EDNS_EXPIRE, &len)),
		octets_get_u32(p->section[AN].rrs[0].rdata
			+ p->section[AN].rrs[0].rdlen - 8));
	done(p);
	/* An expired zone. */
	ask.qname = "example.";
	query_set_time(w.ctx, 1, 100000);
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_SERVFAIL);
	assert_null(reply_option(p, EDNS_EXPIRE, &len));
	done(p);
	world_fini(&w);
}

/* RFC 9567: in all replies with EDNS, but for names of the agent itself. */
static void
report_channel_is_told_to_all(void **state)
{
	static const uint8_t agent[] = "\5agent\7example";
	struct ask ask = { .qname = "ns1.example.", .type = TYPE_A,
		.edns = true };
	struct world w;
	struct reply_parts *p;
	uint16_t len;

	world_init(&w);
	w.options.report_channel = agent;
	world_add_zone(&w, "example.", raw_zone_text);
	world_start(&w);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const names[] = { "ns1.example.",
			"no.example.", "elsewhere." };

		ask.qname = names[i];
		p = ask_with(&w, &ask);
		assert_memory_equal(reply_option(p, EDNS_REPORT_CHANNEL,
			&len), agent, sizeof(agent));
		assert_int_equal(len, sizeof(agent));
		done(p);
	}
	ask.edns = false;
	p = ask_with(&w, &ask);
	assert_false(p->opt.present);
	done(p);
	ask.edns = true;
	ask.qname = "_er.1.x.7._er.AGENT.example.";
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_REPORT_CHANNEL, &len));
	done(p);
	world_fini(&w);
}

/* RFC 8467 section 4.1: blocks of 468 octets, over TLS, when asked for. */
static void
padding_makes_blocks(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA, .edns = true,
		.options = "\0\14\0\2\0\0", .options_len = 6,
		.transport = TRANSPORT_TLS };
	struct world w;
	struct reply_parts *p;
	uint16_t len;

	start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->len, 468);
	assert_non_null(reply_option(p, EDNS_PADDING, &len));
	done(p);
	ask.qname = "elsewhere.";
	p = ask_with(&w, &ask);
	assert_int_equal(p->len, 468);
	done(p);
	for (unsigned i = 0; i < 2; i++) {
		ask.transport = i == 0 ? TRANSPORT_TCP : TRANSPORT_UDP;
		p = ask_with(&w, &ask);
		assert_null(reply_option(p, EDNS_PADDING, &len));
		done(p);
	}
	ask.transport = TRANSPORT_TLS;
	ask.options_len = 0;
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_PADDING, &len));
	done(p);
	world_fini(&w);
}

/* Fault 15: options that are not for us are ignored, whatever they contain. */
static void
other_options_of_any_length_are_ignored(void **state)
{
	static const struct {
		const char *options;
		uint16_t len;
	} rows[] = {
		{ "\0\14\0\3abc", 7 },  /* padding */
		{ "\0\13\0\1a", 5 },    /* keepalive */
		{ "\0\10\0\0", 4 },     /* client subnet: nothing, */
		{ "\0\10\0\4\0\0\0\0", 8 },          /* no family, */
		{ "\0\10\0\4\0\3\0\0", 8 },          /* a third one, */
		{ "\0\10\0\11\0\1\41\0\1\2\3\4\5", 13 }, /* 33 bits, */
		{ "\0\10\0\4\0\1\40\0", 8 },         /* none of 32 */
		{ "\377\377\0\0", 4 },
	};
	struct world w;
	struct raw raw;

	start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct ask ask = { .qname = "example.",
			.type = TYPE_SOA, .edns = true,
			.options = rows[i].options,
			.options_len = rows[i].len };

		raw_init(&raw, &ask);
		raw_send(&w, &raw);
		assert_int_equal(raw.parts.flags, 0x8400);
		assert_true(raw.parts.opt.present);
	}
	world_fini(&w);
}

/* Fault 21: SIG(0) (RFC 2931), TKEY and what else stands in the additional
 * section are not looked into. */
static void
other_additional_records_are_ignored(void **state)
{
	static const char *const records[] = {
		"\0\0\30\0\377\0\0\0\0\0\2ab",   /* SIG(0) */
		"\0\0\371\0\377\0\0\0\0\0\2ab",  /* TKEY */
		"\0\0\1\0\1\0\0\0\0\0\2ab",      /* A */
		"\0\377\0\0\1\0\0\0\0\0\2ab",    /* of no known type */
	};
	const struct ask edns = { .qname = "example.", .type = TYPE_SOA,
		.edns = true };
	struct world w;
	struct raw raw;

	start(&w);
	for (size_t i = 0; i < 4; i++)
		for (unsigned count = 1; count < 70; count += 34) {
			raw_init(&raw, i % 2 == 0 ? &plain : &edns);
			for (unsigned j = 0; j < count; j++) {
				memcpy(raw.request + raw.len, records[i], 13);
				raw.len += 13;
			}
			raw.request[11] += (uint8_t)count;
			raw_send(&w, &raw);
			assert_int_equal(raw.parts.flags, 0x8400);
			assert_int_equal(raw.parts.opt.present, i % 2 != 0);
			/* A count of one record more than there are. */
			raw.request[11]++;
			raw_send(&w, &raw);
			assert_int_equal(raw.parts.flags, 0x8001);
		}
	world_fini(&w);
}

/* An OPT counts wherever it stands among them; a TSIG must still be last. */
static void
additional_records_stand_around_opt_and_tsig(void **state)
{
	static const char sig[] = "\0\0\30\0\377\0\0\0\0\0\2ab";
	static const char opt[] = "\0\0\51\4\320\0\0\0\0\0\0";
	static const char tsig[] = "\1k\0\0\372\0\377\0\0\0\0\0\23"
		"\1h\0\0\0\0\0\0\0\1\54\0\0\x47\x11\0\0\0\0";
	struct world w;
	struct raw raw;

	start(&w);
	raw_init(&raw, &plain);
	memcpy(raw.request + raw.len, sig, 13);
	memcpy(raw.request + raw.len + 13, opt, 11);
	memcpy(raw.request + raw.len + 24, sig, 13);
	raw.len += 37;
	raw.request[11] = 3;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.flags, 0x8400);
	assert_true(raw.parts.opt.present);
	memcpy(raw.request + raw.len, tsig, sizeof(tsig) - 1);
	raw.len += sizeof(tsig) - 1;
	raw.request[11] = 4;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.flags, 0x8009);
	memcpy(raw.request + raw.len, sig, 13);
	raw.len += 13;
	raw.request[11] = 5;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.flags, 0x8001);
	world_fini(&w);
}

/* Fault 19 and 20: no key is known. */
static void
tsig_of_an_unknown_key(void **state)
{
	static const uint8_t tsig[] = "\3key\0\0\372\0\377\0\0\0\0\0\42"
		"\13hmac-sha256\0\0\0\1\2\3\4\1\54\0\4mac!\x47\x11\0\0\0\0";
	const struct ask edns = { .qname = "example.", .type = TYPE_SOA,
		.edns = true };
	struct world w;
	struct raw raw;
	size_t len = sizeof(tsig) - 1;

	start(&w);
	raw_init(&raw, &edns);
	memcpy(raw.request + raw.len, tsig, len);
	octets_put_u16(raw.request + raw.len + 13, (uint16_t)(len - 15));
	raw.len += len;
	raw.request[11] = 2;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.flags, 0x8009);
	assert_false(raw.parts.has_question);
	assert_true(raw.parts.opt.present);
	assert_int_equal(raw.parts.tsig_error, RCODE_BADKEY);

	raw.request[11] = 3; /* a record behind it */
	memcpy(raw.request + raw.len, "\0\0\51\4\320\0\0\0\0\0\0", 11);
	raw.len += 11;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.flags, 0x8001);

	raw_init(&raw, &plain); /* cut in its RDATA */
	memcpy(raw.request + raw.len, tsig, len);
	raw.len += len;
	raw.request[11] = 1;
	for (uint16_t rdlen = 0; rdlen < len - 15; rdlen++) {
		octets_put_u16(raw.request + 12 + 13 + 13, rdlen);
		raw_send(&w, &raw);
		assert_int_equal(raw.parts.flags, 0x8001);
	}
	world_fini(&w);
}

/* Adds a TSIG of key "key" to the section whose count is at that octet. */
static size_t
put_tsig(struct raw *raw, unsigned count_at, const void *rdata, size_t len)
{
	static const uint8_t head[] = "\3key\0\0\372\0\377\0\0\0\0";
	size_t at = raw->len;

	memcpy(raw->request + at, head, 13);
	octets_put_u16(raw->request + at + 13, (uint16_t)len);
	memcpy(raw->request + at + 15, rdata, len);
	raw->len += 15 + len;
	raw->request[count_at]++;
	return at;
}

/* Fault 19: the contents of the record. */
static void
tsig_that_is_malformed(void **state)
{
	static const struct {
		const char *rdata;
		size_t len;
		uint16_t flags;
	} rows[] = {
		{ "\1h\0\0\0\0\0\0\0\1\54\0\0\x47\x11\0\0\0\0", 19,
			0x8009 }, /* no MAC */
		{ "\1h\0\0\0\0\0\0\0\1\54\0\1m\x47\x11\0\22\0\0", 20,
			0x8009 }, /* of one octet, error BADTIME */
		{ "\1h\0\0\0\0\0\0\0\1\54\377\377m\x47\x11\0\0\0\0", 20,
			0x8001 }, /* a MAC of 65535 */
		{ "\1h\0\0\0\0\0\0\0\1\54\0\0\x47\x11\0\0\0\6abcdef",
			25, 0x8009 },
		{ "\1h\0\0\0\0\0\0\0\1\54\0\0\x47\x11\0\0\0\7abcdefg",
			26, 0x8001 }, /* more than a time behind it */
		{ "\1h\0\0\0\0\0\0\0\1\54\0\0\x47\x11\0\0\377\377", 19,
			0x8001 },
	};
	struct world w;
	struct raw raw;

	start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		raw_init(&raw, &plain);
		put_tsig(&raw, 11, rows[i].rdata, rows[i].len);
		raw_send(&w, &raw);
		assert_int_equal(raw.parts.flags, rows[i].flags);
		assert_int_equal(raw.parts.tsig_error,
			rows[i].flags == 0x8009 ? RCODE_BADKEY : 0xffff);
	}
	for (size_t i = 7; i < 13; i++) { /* the TSIG's class and TTL */
		raw_init(&raw, &plain);
		raw.request[put_tsig(&raw, 11, rows[0].rdata, rows[0].len) + i]
			^= 1;
		raw_send(&w, &raw);
		assert_int_equal(raw.parts.flags, 0x8001);
	}
	world_fini(&w);
}

/* Fault 20: two TSIG records, and one where none may be. */
static void
tsig_in_wrong_places(void **state)
{
	static const uint8_t tsig[] = "\1h\0\0\0\0\0\0\0\1\54\0\0"
		"\x47\x11\0\0\0\0";
	struct world w;
	struct raw raw;

	start(&w);
	raw_init(&raw, &plain);
	put_tsig(&raw, 11, tsig, sizeof(tsig) - 1);
	put_tsig(&raw, 11, tsig, sizeof(tsig) - 1);
	raw_send(&w, &raw);
	raw_expect_header(&raw, 0x8001);
	for (unsigned count_at = 7; count_at < 11; count_at += 2) {
		raw_init(&raw, &plain);
		put_tsig(&raw, count_at, tsig, sizeof(tsig) - 1);
		raw_send(&w, &raw);
		raw_expect_header(&raw, 0x8001);
	}
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chaos_names),
		cmocka_unit_test(hidden_chaos_names_are_refused),
		cmocka_unit_test(opt_is_answered_with_opt),
		cmocka_unit_test(other_version_is_badvers),
		cmocka_unit_test(bad_opt_is_formerr_with_opt),
		cmocka_unit_test(nsid_when_asked_and_known),
		cmocka_unit_test(zoneversion_is_the_serial),
		cmocka_unit_test(keepalive_is_the_idle_time_out),
		cmocka_unit_test(expire_is_what_is_left),
		cmocka_unit_test(report_channel_is_told_to_all),
		cmocka_unit_test(padding_makes_blocks),
		cmocka_unit_test(other_options_of_any_length_are_ignored),
		cmocka_unit_test(other_additional_records_are_ignored),
		cmocka_unit_test(additional_records_stand_around_opt_and_tsig),
		cmocka_unit_test(tsig_of_an_unknown_key),
		cmocka_unit_test(tsig_that_is_malformed),
		cmocka_unit_test(tsig_in_wrong_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
