/* test_requests.c - what is answered before a zone is looked into. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "expect.h"
#include "query/acl.h"

static const char zone_text[] =
	"example. 3600 SOA ns1.example. root.example. 9 7200 3600 86400 300\n"
	"example. 3600 NS ns1.example.\n"
	"ns1.example. 3600 A 192.0.2.1\n";

static void
start(struct world *w)
{
	world_init(w);
	world_add_zone(w, "example.", zone_text);
	world_start(w);
}

static const struct ask plain = { .qname = "example.", .type = TYPE_SOA };

/* The reply to a request of plain, changed by the caller. */
struct raw {
	uint8_t request[1024];
	size_t len;
	struct reply_parts parts;
};

static void
raw_init(struct raw *raw, const struct ask *ask)
{
	raw->len = ask_write(ask, raw->request);
}

static void
raw_send(struct world *w, struct raw *raw)
{
	raw->parts.len = send_octets(w, raw->request, raw->len,
		raw->parts.octets, sizeof(raw->parts.octets));
	if (raw->parts.len > 0) {
		reply_read(&raw->parts);
		reply_fini(&raw->parts);
	}
}

/* A header alone, with this flags word. */
static void
raw_expect_header(const struct raw *raw, uint16_t flags)
{
	assert_int_equal(raw->parts.len, 12);
	assert_memory_equal(raw->parts.octets, raw->request, 2);
	assert_int_equal(raw->parts.flags, flags);
	assert_memory_equal(raw->parts.octets + 4, "\0\0\0\0\0\0\0\0", 8);
}

/* Fault 1 and 2. */
static void
short_requests_and_replies_are_dropped(void **state)
{
	struct world w;
	struct raw raw;

	start(&w);
	raw_init(&raw, &plain);
	for (size_t len = 0; len < 12; len++)
		assert_int_equal(send_octets(&w, raw.request, len,
			raw.parts.octets, sizeof(raw.parts.octets)), 0);
	raw.request[2] |= 0x80;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.len, 0);
	assert_int_equal(w.counters.dropped, 13);
	world_fini(&w);
}

/* Fault 22. */
static void
port_zero_is_not_answered(void **state)
{
	struct world w;
	struct raw raw;
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct exchange x = { .request = raw.request,
		.reply = raw.parts.octets, .reply_capacity = 4096,
		.peer = &peer };

	start(&w);
	raw_init(&raw, &plain);
	x.request_len = (uint32_t)raw.len;
	query_answer_batch(w.ctx, store_writer_view(w.writer), &x, 1);
	assert_int_equal(x.reply_len, 0);
	((struct sockaddr_in *)&peer)->sin_port = htons(1);
	query_answer_batch(w.ctx, store_writer_view(w.writer), &x, 1);
	assert_true(x.reply_len > 0);
	world_fini(&w);
}

/* Fault 8. */
static void
other_opcodes_are_not_implemented(void **state)
{
	struct world w;
	struct raw raw;

	start(&w);
	for (unsigned opcode = 0; opcode < 16; opcode++) {
		raw_init(&raw, &plain);
		octets_put_u16(raw.request + 2, (uint16_t)(opcode << 11
			| 0x07ff));
		raw.request[3] &= 0xf0;
		raw_send(&w, &raw);
		if (opcode == OPCODE_QUERY || opcode == OPCODE_NOTIFY)
			continue;
		/* AD and CD are not copied. */
		raw_expect_header(&raw, (uint16_t)(0x8000 | opcode << 11
			| 0x07c0 | RCODE_NOTIMP));
	}
	world_fini(&w);

	world_init(&w);
	w.options.drop_updates = true;
	world_start(&w);
	raw_init(&raw, &plain);
	raw.request[2] = OPCODE_UPDATE << 3;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.len, 0);
	raw.request[2] = OPCODE_STATUS << 3;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.len, 12);
	world_fini(&w);
}

/* Fault 3 and 18. */
static void
counts_that_do_not_fit_are_formerr(void **state)
{
	static const struct {
		unsigned at;
		uint16_t count, flags;
	} rows[] = {
		{ 4, 0, 0x8001 }, { 4, 2, 0x8001 }, { 4, 65535, 0x8001 },
		{ 6, 1, 0x8101 }, { 6, 65535, 0x8101 },
		{ 8, 1, 0x8101 }, { 8, 65535, 0x8101 },
		{ 10, 1, 0x8101 }, { 10, 65535, 0x8101 },
	};
	struct world w;
	struct raw raw;

	start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		raw_init(&raw, &plain);
		octets_put_u16(raw.request + 2, 0x07f0 & ~0x0200);
		octets_put_u16(raw.request + rows[i].at, rows[i].count);
		raw_send(&w, &raw);
		raw_expect_header(&raw, rows[i].flags);
	}
	world_fini(&w);
}

static void
requests_cut_at_each_length(void **state)
{
	const struct ask ask = { .qname = "www.example.", .type = TYPE_A,
		.edns = true, .options = "\0\3\0\0\0\23\0\0",
		.options_len = 8, .flags = MESSAGE_RD };
	struct world w;
	struct raw raw;
	size_t whole;

	start(&w);
	raw_init(&raw, &ask);
	whole = raw.len;
	for (raw.len = 12; raw.len < whole; raw.len++) {
		raw_send(&w, &raw);
		assert_int_equal(raw.parts.rcode, RCODE_FORMERR);
		raw_expect_header(&raw, 0x8101);
	}
	/* Fault 17: what follows is not looked at. */
	raw_init(&raw, &ask);
	memset(raw.request + raw.len, 0xff, 20);
	raw.len += 20;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.rcode, RCODE_NXDOMAIN);
	world_fini(&w);
}

/* Fault 4 and 5, by a request. */
static void
bad_names_are_formerr(void **state)
{
	static const uint8_t names[][8] = {
		"\xc0\x0c\0\1\0\1", "\xc0\x0e\0\1\0\1", "\xff\xff\0\1\0\1",
		"\x40\0\1\0\1", "\x80\0\1\0\1", "\1a\xc0\x0c\0\1",
	};
	struct world w;
	struct raw raw;

	start(&w);
	for (size_t i = 0; i < 6; i++) {
		raw_init(&raw, &plain);
		memcpy(raw.request + 12, names[i], 8);
		raw.len = 20;
		raw_send(&w, &raw);
		raw_expect_header(&raw, 0x8001);
	}
	world_fini(&w);
}

static void
zone_not_served_is_refused(void **state)
{
	const struct ask ask = { .qname = "WWW.elsewhere.", .type = TYPE_A,
		.edns = true, .flags = MESSAGE_RD };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8105);
	assert_true(p->has_question);
	expect_ede(p, EDE_NOT_AUTHORITATIVE, NULL);
	done(p);
	world_fini(&w);
	world_init(&w);
	world_start(&w);
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_REFUSED);
	done(p);
	world_fini(&w);
}

static void
zones_that_cannot_answer_fail(void **state)
{
	struct ask ask = { .qname = "x.unloaded.", .type = TYPE_A,
		.edns = true };
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	world_add_zone(&w, "example.", zone_text)->flags = ZONE_ENTRY_SECONDARY
		| ZONE_ENTRY_EXPIRED;
	world_add_zone(&w, "unloaded.", "")->not_loaded = true;
	world_start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8002);
	assert_true(p->has_question);
	expect_ede(p, EDE_NOT_READY, "Zone is configured but not loaded");
	done(p);
	ask.qname = "example.";
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8002);
	expect_ede(p, EDE_INVALID_DATA, "Zone has expired");
	done(p);
	world_fini(&w);
}

/* Fault 9. */
static void
other_classes_are_refused(void **state)
{
	static const uint16_t classes[] = { 0, 2, CLASS_HS, CLASS_NONE, 65280 };
	struct world w;

	start(&w);
	for (size_t i = 0; i < 5; i++) {
		const struct ask ask = { .qname = "example.", .type = TYPE_A,
			.edns = true, .rrclass = classes[i] };
		uint8_t request[1024];
		struct reply_parts p;
		size_t len = ask_write(&ask, request);

		octets_put_u16(request + 12 + 9 + 2, classes[i]);
		p.len = send_octets(&w, request, len, p.octets,
			sizeof(p.octets));
		reply_read(&p);
		expect_rcode(&p, RCODE_REFUSED);
		assert_false(p.has_question);
		expect_ede(&p, EDE_NOT_SUPPORTED, NULL);
		reply_fini(&p);
	}
	world_fini(&w);
}

/* Fault 10, RFC 8906 section 3.1.4. */
static void
meta_types_are_errors(void **state)
{
	static const struct {
		uint16_t type, rcode;
	} rows[] = {
		{ 0, RCODE_FORMERR }, { TYPE_OPT, RCODE_FORMERR },
		{ TYPE_TSIG, RCODE_FORMERR }, { TYPE_TKEY, RCODE_REFUSED },
		{ 128, RCODE_FORMERR }, { 200, RCODE_FORMERR },
		{ TYPE_MAILA, RCODE_NOTIMP }, { TYPE_MAILB, RCODE_NOTIMP },
		{ 256, RCODE_NOERROR }, { 127, RCODE_NOERROR },
	};
	struct world w;

	start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct reply_parts *p = ask_for(&w, "example.", rows[i].type);

		expect_rcode(p, rows[i].rcode);
		done(p);
	}
	world_fini(&w);
}

static void
transfers(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_AXFR };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOTIMP);
	done(p);
	ask.transport = TRANSPORT_TCP;
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_REFUSED);
	done(p);
	ask.qname = "ns1.example.";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOTAUTH);
	done(p);
	ask.type = TYPE_IXFR;
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOTAUTH);
	done(p);
	assert_int_equal(w.counters.raxfr, 3);
	assert_int_equal(w.counters.rixfr, 1);
	world_fini(&w);
}

/* IXFR alone has a record in its authority section. */
static void
ixfr_with_its_soa_is_well_formed(void **state)
{
	static const uint8_t soa[] = "\xc0\x0c\0\6\0\1\0\0\0\0\0\26\0\0"
		"\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1";
	struct ask ask = plain;
	struct world w;
	struct raw raw;

	start(&w);
	for (unsigned i = 0; i < 2; i++) {
		ask.type = i == 0 ? TYPE_IXFR : TYPE_SOA;
		raw_init(&raw, &ask);
		memcpy(raw.request + raw.len, soa, sizeof(soa) - 1);
		raw.len += sizeof(soa) - 1;
		raw.request[9] = 1;
		raw_send(&w, &raw);
		assert_int_equal(raw.parts.rcode,
			i == 0 ? RCODE_REFUSED : RCODE_FORMERR);
	}
	world_fini(&w);
}

static void
notify_is_not_allowed_yet(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA,
		.flags = OPCODE_NOTIFY << 11 | MESSAGE_AA };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8000 | OPCODE_NOTIFY << 11 | MESSAGE_AA
		| RCODE_REFUSED);
	assert_int_equal(p->len, 12);
	done(p);
	ask.qname = "ns1.example.";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NXDOMAIN);
	assert_int_equal(p->len, 12);
	done(p);
	world_fini(&w);
}

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
	world_add_zone(&w, "example.", zone_text);
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

	raw.request[11] = 3; /* something behind it */
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

/* ---- who may ask ----------------------------------------------- */

static struct acl_element
element(const char *address, enum acl_kind kind, const char *other)
{
	struct acl_element e = { .kind = (uint8_t)kind, .family = 4 };

	if (strchr(address, ':') != NULL)
		e.family = 6;
	assert_int_equal(inet_pton(e.family == 4 ? AF_INET : AF_INET6,
		address, e.address), 1);
	if (other != NULL)
		assert_int_equal(inet_pton(e.family == 4 ? AF_INET : AF_INET6,
			other, e.other), 1);
	return e;
}

static bool
allows(const struct acl_element *elements, uint32_t count, const char *from,
	uint16_t port)
{
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer;

	if (strchr(from, ':') != NULL) {
		peer.ss_family = AF_INET6;
		inet_pton(AF_INET6, from, &in6->sin6_addr);
		in6->sin6_port = htons(port);
	} else {
		inet_pton(AF_INET, from, &in->sin_addr);
		in->sin_port = htons(port);
	}
	return acl_allows(elements, count, &peer);
}

static void
acl_elements_match(void **state)
{
	struct acl_element e = element("192.0.2.1", ACL_SINGLE, NULL);

	assert_true(allows(&e, 1, "192.0.2.1", 53));
	assert_false(allows(&e, 1, "192.0.2.2", 53));
	assert_false(allows(&e, 1, "::ffff:192.0.2.1", 53));
	assert_false(allows(&e, 0, "192.0.2.1", 53));
	e.port = 53;
	assert_true(allows(&e, 1, "192.0.2.1", 53));
	assert_false(allows(&e, 1, "192.0.2.1", 54));
	e = element("192.0.2.0", ACL_MASK, "255.255.255.240");
	assert_true(allows(&e, 1, "192.0.2.15", 1));
	assert_false(allows(&e, 1, "192.0.2.16", 1));
	e = element("192.0.2.9", ACL_RANGE, "192.0.3.1");
	assert_true(allows(&e, 1, "192.0.2.9", 1));
	assert_true(allows(&e, 1, "192.0.2.200", 1));
	assert_true(allows(&e, 1, "192.0.3.1", 1));
	assert_false(allows(&e, 1, "192.0.2.8", 1));
	assert_false(allows(&e, 1, "192.0.3.2", 1));
	e = element("2001:db8::", ACL_MASK, "ffff:ffff::");
	assert_true(allows(&e, 1, "2001:db8:1::1", 1));
	assert_false(allows(&e, 1, "2001:db9::1", 1));
	assert_false(allows(&e, 1, "32.1.13.184", 1));
	e = element("192.0.2.1", ACL_SINGLE, NULL);
	e.needs_key = 1;
	assert_false(allows(&e, 1, "192.0.2.1", 53));
}

static void
acl_blocked_wins(void **state)
{
	struct acl_element list[2] = {
		element("192.0.2.0", ACL_MASK, "255.255.255.0"),
		element("192.0.2.7", ACL_SINGLE, NULL),
	};

	list[1].blocked = 1;
	assert_true(allows(list, 2, "192.0.2.6", 1));
	assert_false(allows(list, 2, "192.0.2.7", 1));
	assert_false(allows(list, 2, "192.0.3.7", 1));
}

static void
queries_are_refused_by_the_zones_list(void **state)
{
	const struct acl_element query = element("192.0.2.1", ACL_SINGLE,
		NULL);
	const struct acl_element provide = element("192.0.2.2", ACL_SINGLE,
		NULL);
	struct ask ask = { .qname = "example.", .type = TYPE_NS, .edns = true };
	struct world_zone *zone;
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "example.", zone_text);
	zone->query_acl = &query;
	zone->query_acl_count = 1;
	zone->provide_acl = &provide;
	zone->provide_acl_count = 1;
	world_start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8005);
	assert_true(p->has_question);
	expect_ede(p, EDE_PROHIBITED, NULL);
	done(p);
	ask.from = "192.0.2.1";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOERROR);
	done(p);
	/* Who may have the zone may ask for its SOA, and no more. */
	ask.from = "192.0.2.2";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_REFUSED);
	done(p);
	ask.type = TYPE_SOA;
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOERROR);
	done(p);
	ask.qname = "ns1.example.";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_REFUSED);
	done(p);
	world_fini(&w);
}

/* What another zone's list hides is not shown behind a CNAME either. */
static void
lists_hold_for_what_is_followed(void **state)
{
	const struct acl_element query = element("192.0.2.1", ACL_SINGLE,
		NULL);
	struct ask ask = { .qname = "a.z.", .type = TYPE_A };
	struct world_zone *zone;
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "example.", zone_text);
	zone->query_acl = &query;
	zone->query_acl_count = 1;
	world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\n"
		"z. 60 NS ns1.example.\na.z. 60 CNAME ns1.example.\n");
	world_start(&w);
	p = ask_with(&w, &ask);
	expect_counts(p, 1, 0, 0);
	done(p);
	ask.from = "192.0.2.1";
	p = ask_with(&w, &ask);
	assert_int_equal(p->section[AN].count, 2);
	done(p);
	world_fini(&w);
}

static void
counters_count(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA };
	struct world w;

	start(&w);
	done(ask_with(&w, &ask));
	ask.from = "::1";
	done(ask_with(&w, &ask));
	ask.transport = TRANSPORT_TCP;
	ask.type = 65280;
	done(ask_with(&w, &ask));
	ask.qname = "elsewhere.";
	ask.transport = TRANSPORT_TLS;
	ask.from = NULL;
	done(ask_with(&w, &ask));
	assert_int_equal(w.counters.queries, 4);
	assert_int_equal(w.counters.udp, 1);
	assert_int_equal(w.counters.udp6, 1);
	assert_int_equal(w.counters.tcp6, 1);
	assert_int_equal(w.counters.tls, 1);
	assert_int_equal(w.counters.type[TYPE_SOA], 2);
	assert_int_equal(w.counters.type[0], 2);
	assert_int_equal(w.counters.rrclass[0], 4);
	assert_int_equal(w.counters.opcode[0], 4);
	assert_int_equal(w.counters.rcode[RCODE_NOERROR], 3);
	assert_int_equal(w.counters.rcode[RCODE_REFUSED], 1);
	assert_int_equal(w.counters.answer_wo_aa, 0);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_requests_and_replies_are_dropped),
		cmocka_unit_test(port_zero_is_not_answered),
		cmocka_unit_test(other_opcodes_are_not_implemented),
		cmocka_unit_test(counts_that_do_not_fit_are_formerr),
		cmocka_unit_test(requests_cut_at_each_length),
		cmocka_unit_test(bad_names_are_formerr),
		cmocka_unit_test(zone_not_served_is_refused),
		cmocka_unit_test(zones_that_cannot_answer_fail),
		cmocka_unit_test(other_classes_are_refused),
		cmocka_unit_test(meta_types_are_errors),
		cmocka_unit_test(transfers),
		cmocka_unit_test(ixfr_with_its_soa_is_well_formed),
		cmocka_unit_test(notify_is_not_allowed_yet),
		cmocka_unit_test(chaos_names),
		cmocka_unit_test(hidden_chaos_names_are_refused),
		cmocka_unit_test(opt_is_answered_with_opt),
		cmocka_unit_test(other_version_is_badvers),
		cmocka_unit_test(bad_opt_is_formerr_with_opt),
		cmocka_unit_test(nsid_when_asked_and_known),
		cmocka_unit_test(zoneversion_is_the_serial),
		cmocka_unit_test(tsig_of_an_unknown_key),
		cmocka_unit_test(acl_elements_match),
		cmocka_unit_test(acl_blocked_wins),
		cmocka_unit_test(queries_are_refused_by_the_zones_list),
		cmocka_unit_test(lists_hold_for_what_is_followed),
		cmocka_unit_test(counters_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
