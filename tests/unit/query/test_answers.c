/* test_answers.c - answers from zones, rule by rule. */
#include <stdio.h>

#include "expect.h"

static const char example_zone[] =
	"example. 3600 SOA ns1.example. root.example. 9 7200 3600 86400 300\n"
	"example. 3600 NS ns1.example.\n"
	"example. 3600 NS ns2.example.\n"
	"example. 3600 RRSIG SOA example.\n"
	"example. 3600 DNSKEY\n"
	"example. 3600 RRSIG DNSKEY example.\n"
	"example. 3600 MX 10 mail.example.\n"
	"ns1.example. 3600 A 192.0.2.1\n"
	"ns1.example. 3600 AAAA 2001:db8::1\n"
	"ns2.example. 3600 A 192.0.2.2\n"
	"mail.example. 60 A 192.0.2.3\n"
	"mail.example. 60 RRSIG A example.\n"
	"mail.example. 60 TXT hello\n"
	"alias.example. 60 CNAME mail.example.\n"
	"out.example. 60 CNAME www.elsewhere.\n"
	"a.b.c.example. 60 A 192.0.2.4\n"
	"svc.example. 60 HTTPS 1 .\n"
	"svc.example. 60 A 192.0.2.6\n"
	"alias-mode.example. 60 HTTPS 0 .\n"
	"alias-mode.example. 60 A 192.0.2.6\n"
	"null.example. 60 MX 0 .\n"
	"cut.example. 3600 NS ns.cut.example.\n"
	"cut.example. 3600 NS ns1.example.\n"
	"cut.example. 3600 DS 17\n"
	"cut.example. 3600 RRSIG DS example.\n"
	"ns.cut.example. 3600 A 192.0.2.5\n"
	"plain.example. 3600 NS ns.elsewhere.\n";

static void
start(struct world *w)
{
	world_init(w);
	world_add_zone(w, "example.", example_zone);
	world_start(w);
}

static void
positive_answer(void **state)
{
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_for(&w, "MaIl.Example.", TYPE_A);
	expect_rcode(p, RCODE_NOERROR);
	expect_flag(p, MESSAGE_AA);
	expect_counts(p, 1, 2, 3);
	expect_rr(p, AN, "mail.example. 60 A 192.0.2.3");
	expect_rr(p, NS, "example. 3600 NS ns1.example.");
	expect_rr(p, NS, "example. 3600 NS ns2.example.");
	expect_rr(p, AR, "ns1.example. 3600 A 192.0.2.1");
	expect_rr(p, AR, "ns1.example. 3600 AAAA 2001:db8::1");
	expect_rr(p, AR, "ns2.example. 3600 A 192.0.2.2");
	/* Fault 7: the question keeps the client's case. */
	assert_memory_equal(p->qname, "\4MaIl\7Example", 14);
	/* Names point to the question. */
	assert_memory_equal(p->octets + 30, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4",
		12);
	/* A before AAAA */
	assert_int_equal(p->section[AR].rrs[2].type, TYPE_AAAA);
	assert_false(p->opt.present);
	done(p);
	world_fini(&w);
}

static void
header_flags_of_an_answer(void **state)
{
	const struct ask ask = { .qname = "mail.example.", .type = TYPE_A,
		.flags = MESSAGE_RD | MESSAGE_AD | MESSAGE_CD | MESSAGE_Z
			| MESSAGE_RA | MESSAGE_AA | MESSAGE_TC };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, MESSAGE_QR | MESSAGE_AA | MESSAGE_RD);
	done(p);
	world_fini(&w);
}

/* RFC 2308 section 3 and 5: SOA with the lesser of its TTL and MINIMUM. */
static void
negative_answers_have_soa(void **state)
{
	static const struct {
		const char *name;
		uint16_t type, rcode;
	} rows[] = {
		{ "nothing.example.", TYPE_A, RCODE_NXDOMAIN },
		{ "x.mail.example.", TYPE_A, RCODE_NXDOMAIN },
		{ "mail.example.", TYPE_AAAA, RCODE_NOERROR },
		{ "c.example.", TYPE_A, RCODE_NOERROR }, /* ENT, RFC 8020 */
		{ "b.c.example.", TYPE_A, RCODE_NOERROR },
		{ "x.c.example.", TYPE_A, RCODE_NXDOMAIN },
		{ "example.", 65280, RCODE_NOERROR },
		{ "example.", TYPE_DS, RCODE_NOERROR }, /* fault 29 */
		{ "mail.example.", TYPE_DS, RCODE_NOERROR },
		{ "mail.example.", TYPE_NS, RCODE_NOERROR },
	};
	struct world w;

	start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct reply_parts *p = ask_for(&w, rows[i].name,
			rows[i].type);

		expect_rcode(p, rows[i].rcode);
		expect_flag(p, MESSAGE_AA);
		expect_counts(p, 0, 1, 0);
		expect_rr(p, NS, "example. 300 SOA ns1.example. "
			"root.example. 9 7200 3600 86400 300");
		done(p);
	}
	world_fini(&w);
}

static void
dnssec_records_only_with_do(void **state)
{
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_for(&w, "mail.example.", TYPE_A);
	expect_no_type(p, AN, TYPE_RRSIG);
	done(p);
	p = ask_dnssec(&w, "mail.example.", TYPE_A);
	expect_rr(p, AN, "mail.example. 60 RRSIG A example.");
	assert_int_equal(p->section[AN].count, 2);
	assert_int_equal(p->opt.flags, EDNS_DO);
	done(p);
	/* RFC 4034 section 3: the signature has the SOA's TTL in this reply. */
	p = ask_dnssec(&w, "nothing.example.", TYPE_A);
	expect_rr(p, NS, "example. 300 RRSIG SOA example.");
	done(p);
	p = ask_for(&w, "mail.example.", TYPE_RRSIG);
	expect_rr(p, AN, "mail.example. 60 RRSIG A example.");
	assert_int_equal(p->section[AN].count, 1);
	done(p);
	expect_reply(&w, "cut.example.", TYPE_A, 0, 2, 3);
	p = ask_dnssec(&w, "cut.example.", TYPE_A);
	expect_rr(p, NS, "cut.example. 3600 DS 17");
	expect_rr(p, NS, "cut.example. 3600 RRSIG DS example.");
	done(p);
	world_fini(&w);
}

static void
referral_with_glue(void **state)
{
	static const char *const names[] = { "cut.example.",
		"ns.cut.example.", "x.y.cut.example." };
	struct world w;

	start(&w);
	for (size_t i = 0; i < 3; i++) {
		struct reply_parts *p = ask_for(&w, names[i], TYPE_A);

		expect_rcode(p, RCODE_NOERROR);
		expect_no_flag(p, MESSAGE_AA);
		expect_counts(p, 0, 2, 3);
		expect_rr(p, NS, "cut.example. 3600 NS ns.cut.example.");
		expect_rr(p, NS, "cut.example. 3600 NS ns1.example.");
		expect_rr(p, AR, "ns.cut.example. 3600 A 192.0.2.5");
		/* The records that must be there come first. */
		assert_true(name_equal(p->section[AR].rrs[0].owner,
			(const uint8_t *)"\2ns\3cut\7example"));
		expect_rr(p, AR, "ns1.example. 3600 A 192.0.2.1");
		done(p);
	}
	world_fini(&w);
}

/* RFC 4035 section 3.1.4.1: DS is the parent's. */
static void
ds_at_a_cut_is_answered(void **state)
{
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_for(&w, "cut.example.", TYPE_DS);
	expect_flag(p, MESSAGE_AA);
	expect_rr(p, AN, "cut.example. 3600 DS 17");
	done(p);
	p = ask_for(&w, "plain.example.", TYPE_DS);
	expect_flag(p, MESSAGE_AA);
	expect_counts(p, 0, 1, 0);
	assert_int_equal(p->section[NS].rrs[0].type, TYPE_SOA);
	done(p);
	p = ask_for(&w, "below.cut.example.", TYPE_DS);
	expect_no_flag(p, MESSAGE_AA);
	assert_int_equal(p->section[NS].rrs[0].type, TYPE_NS);
	done(p);
	world_fini(&w);
}

/* Fault 29. */
static void
ds_at_an_apex_is_from_the_parent_if_served(void **state)
{
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	world_add_zone(&w, "example.", example_zone);
	world_add_zone(&w, "cut.example.",
		"cut.example. 60 SOA ns.cut.example. r. 1 2 3 4 5\n"
		"cut.example. 60 NS ns.cut.example.\n"
		"ns.cut.example. 60 A 192.0.2.5\n");
	world_add_zone(&w, "lone.test.",
		"lone.test. 60 SOA ns1.example. r. 1 2 3 4 5\n"
		"lone.test. 60 NS ns1.example.\n");
	world_start(&w);
	p = ask_for(&w, "cut.example.", TYPE_DS);
	expect_flag(p, MESSAGE_AA);
	expect_rr(p, AN, "cut.example. 3600 DS 17");
	expect_counts(p, 1, 0, 0);
	done(p);
	p = ask_for(&w, "cut.example.", TYPE_A);
	expect_flag(p, MESSAGE_AA);
	expect_rr(p, NS, "cut.example. 5 SOA ns.cut.example. r. 1 2 3 4 5");
	done(p);
	p = ask_for(&w, "lone.test.", TYPE_DS);
	expect_rcode(p, RCODE_NOERROR);
	expect_rr(p, NS, "lone.test. 5 SOA ns1.example. r. 1 2 3 4 5");
	done(p);
	world_fini(&w);
}

/* Fault 23. The zone and the questions of RFC 4592 section 2.2.1. */
static void
wildcards_of_rfc4592(void **state)
{
	static const char text[] =
		"example. 3600 SOA ns.example.com. r. 1 2 3 4 5\n"
		"example. 3600 NS ns.example.com.\n"
		"*.example. 3600 TXT this-is-a-wildcard\n"
		"*.example. 3600 MX 10 host1.example.\n"
		"sub.*.example. 3600 TXT this-is-not-a-wildcard\n"
		"host1.example. 3600 A 192.0.2.1\n"
		"_ssh._tcp.host1.example. 3600 SRV 0 0 22 host1.example.\n"
		"_ssh._tcp.host2.example. 3600 SRV 0 0 22 host1.example.\n"
		"subdel.example. 3600 NS ns.example.com.\n";
	static const struct {
		const char *name;
		uint16_t type, rcode, answers;
	} rows[] = {
		{ "host3.example.", TYPE_MX, RCODE_NOERROR, 1 },
		{ "host3.example.", TYPE_A, RCODE_NOERROR, 0 },
		{ "foo.bar.example.", TYPE_TXT, RCODE_NOERROR, 1 },
		{ "host1.example.", TYPE_MX, RCODE_NOERROR, 0 },
		{ "sub.*.example.", TYPE_MX, RCODE_NOERROR, 0 },
		{ "_telnet._tcp.host1.example.", TYPE_SRV, RCODE_NXDOMAIN, 0 },
		{ "host.subdel.example.", TYPE_A, RCODE_NOERROR, 0 },
		{ "ghost.*.example.", TYPE_MX, RCODE_NXDOMAIN, 0 },
		{ "*.example.", TYPE_MX, RCODE_NOERROR, 1 },
		{ "x.host2.example.", TYPE_MX, RCODE_NXDOMAIN, 0 },
	};
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	world_add_zone(&w, "example.", text);
	world_start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		p = ask_for(&w, rows[i].name, rows[i].type);
		expect_rcode(p, rows[i].rcode);
		assert_int_equal(p->section[AN].count, rows[i].answers);
		done(p);
	}
	p = ask_for(&w, "foo.bar.example.", TYPE_TXT);
	expect_rr(p, AN, "foo.bar.example. 3600 TXT this-is-a-wildcard");
	done(p);
	p = ask_for(&w, "host.subdel.example.", TYPE_A);
	expect_no_flag(p, MESSAGE_AA);
	done(p);
	world_fini(&w);
}

/* RFC 4592 section 4.2 leaves it open; doc/decisions/0041. */
static void
wildcard_that_is_a_cut(void **state)
{
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	world_add_zone(&w, "example.",
		"example. 60 SOA ns.else. r. 1 2 3 4 5\n"
		"example. 60 NS ns.else.\n"
		"*.example. 60 NS ns.child.else.\n");
	world_start(&w);
	p = ask_for(&w, "a.*.example.", TYPE_A);
	expect_no_flag(p, MESSAGE_AA);
	expect_rr(p, NS, "*.example. 60 NS ns.child.else.");
	done(p);
	p = ask_for(&w, "a.example.", TYPE_A);
	expect_flag(p, MESSAGE_AA);
	expect_counts(p, 0, 1, 0);
	done(p);
	p = ask_for(&w, "a.example.", TYPE_NS);
	expect_rr(p, AN, "a.example. 60 NS ns.child.else.");
	done(p);
	world_fini(&w);
}

static void
additional_data_of_answers(void **state)
{
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_for(&w, "example.", TYPE_MX);
	expect_rr(p, AR, "mail.example. 60 A 192.0.2.3");
	done(p);
	/* Records of the answer are not added again. */
	expect_reply(&w, "ns1.example.", TYPE_A, 1, 2, 2);
	/* RFC 9460 section 2.5.2: in ServiceMode, "." stands for the owner. */
	p = ask_for(&w, "svc.example.", TYPE_HTTPS);
	expect_rr(p, AR, "svc.example. 60 A 192.0.2.6");
	done(p);
	expect_reply(&w, "alias-mode.example.", TYPE_HTTPS, 1, 2, 3);
	expect_reply(&w, "null.example.", TYPE_MX, 1, 2, 3);
	/* NS is not repeated in the authority section. */
	expect_reply(&w, "example.", TYPE_NS, 2, 0, 3);
	world_fini(&w);
}

static void
minimal_responses_leave_out_extras(void **state)
{
	struct world w;

	world_init(&w);
	w.options.minimal_responses = true;
	world_add_zone(&w, "example.", example_zone);
	world_start(&w);
	expect_reply(&w, "example.", TYPE_MX, 1, 0, 0);
	expect_reply(&w, "nothing.example.", TYPE_MX, 0, 1, 0);
	expect_reply(&w, "cut.example.", TYPE_MX, 0, 2, 3);
	/* RFC 9609: but not what priming is after. */
	expect_reply(&w, "example.", TYPE_NS, 2, 0, 3);
	world_fini(&w);
}

static void
cname_is_followed_in_the_zone(void **state)
{
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_for(&w, "alias.example.", TYPE_TXT);
	expect_flag(p, MESSAGE_AA);
	expect_counts(p, 2, 2, 3);
	expect_rr(p, AN, "alias.example. 60 CNAME mail.example.");
	expect_rr(p, AN, "mail.example. 60 TXT hello");
	done(p);
	p = ask_for(&w, "alias.example.", TYPE_CNAME);
	assert_int_equal(p->section[AN].count, 1);
	done(p);
	p = ask_for(&w, "alias.example.", TYPE_AAAA);
	assert_int_equal(p->section[AN].count, 1);
	expect_counts(p, 1, 1, 0);
	done(p);
	p = ask_for(&w, "out.example.", TYPE_A);
	expect_rcode(p, RCODE_NOERROR);
	expect_counts(p, 1, 0, 0);
	done(p);
	world_fini(&w);
}

/* Fault 28. RFC 8482 section 4.1. */
static void
any_is_one_rrset(void **state)
{
	static const struct ask udp = { .qname = "example.", .type = TYPE_ANY };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_for(&w, "mail.example.", TYPE_ANY);
	expect_flag(p, MESSAGE_AA);
	expect_counts(p, 1, 0, 0);
	done(p);
	p = ask_dnssec(&w, "mail.example.", TYPE_ANY);
	expect_rr(p, AN, "mail.example. 60 A 192.0.2.3");
	expect_rr(p, AN, "mail.example. 60 RRSIG A example.");
	assert_int_equal(p->section[AN].count, 2);
	assert_int_equal(p->section[NS].count, 0);
	done(p);
	expect_reply(&w, "c.example.", TYPE_ANY, 0, 1, 0);
	p = ask_with(&w, &udp);
	assert_true(p->section[AN].count > 0);
	assert_int_equal(p->section[AR].count, 0);
	done(p);
	world_fini(&w);

	world_init(&w);
	w.options.refuse_any = true;
	world_add_zone(&w, "example.", example_zone);
	world_start(&w);
	p = ask_with(&w, &udp);
	expect_flag(p, MESSAGE_TC);
	expect_rcode(p, RCODE_NOERROR);
	expect_counts(p, 0, 0, 0);
	done(p);
	p = ask_for(&w, "example.", TYPE_ANY);
	assert_true(p->section[AN].count > 0);
	expect_no_flag(p, MESSAGE_TC);
	done(p);
	world_fini(&w);
}

/* Of few types and of many, with signatures and without. */
static void
each_type_is_found_among_many(void **state)
{
	static const unsigned counts[] = { 1, 7, 8, 9, 15, 16, 17, 18, 33,
		300 };
	struct world_zone *zone;
	struct reply_parts *p;
	struct world w;
	char line[64];

	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		world_init(&w);
		zone = world_add_zone(&w, "example.", example_zone);
		for (unsigned n = 0; n < counts[i]; n++) {
			snprintf(line, sizeof(line),
				"n.example. 60 TYPE%u x", 1000 + 3 * n);
			world_add_record(zone, line);
			snprintf(line, sizeof(line),
				"n.example. 60 RRSIG TYPE%u example.",
				1000 + 3 * n + n % 2);
			world_add_record(zone, line);
		}
		world_start(&w);
		for (unsigned n = 0; n < 3 * counts[i]; n++) {
			p = ask_dnssec(&w, "n.example.", (uint16_t)(999 + n));
			assert_int_equal(p->section[AN].count, n % 3 != 1 ? 0
				: n / 3 % 2 == 0 ? 2 : 1);
			done(p);
		}
		p = ask_for(&w, "n.example.", TYPE_ANY);
		assert_int_equal(p->section[AN].count, 1);
		done(p);
		/* Fault 27: of very many types, some. */
		p = ask_for(&w, "n.example.", TYPE_RRSIG);
		expect_no_flag(p, MESSAGE_TC);
		assert_in_range(p->section[AN].count,
			counts[i] <= 32 ? counts[i] : 32,
			counts[i] <= 32 ? counts[i] : 64);
		done(p);
		world_fini(&w);
	}
}

static void
round_robin_rotates_answers(void **state)
{
	struct world w;
	uint8_t first[3];

	world_init(&w);
	w.options.round_robin = true;
	world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\nz. 60 NS ns.z.\n"
		"a.z. 60 A 192.0.2.1\na.z. 60 A 192.0.2.2\n"
		"a.z. 60 A 192.0.2.3\n");
	world_start(&w);
	for (unsigned i = 0; i < 3; i++) {
		struct reply_parts *p = ask_for(&w, "a.z.", TYPE_A);

		assert_int_equal(p->section[AN].count, 3);
		first[i] = p->section[AN].rrs[0].rdata[3];
		done(p);
	}
	assert_int_equal(first[0] + first[1] + first[2], 6);
	assert_int_not_equal(first[0], first[1]);
	assert_int_not_equal(first[1], first[2]);
	world_fini(&w);
}

static uint8_t
first_octet(struct world *w, const char *name, uint16_t type)
{
	struct reply_parts *p = ask_for(w, name, type);
	const struct world_rr *rr = &p->section[AN].rrs[0];
	uint8_t last;

	assert_int_equal(p->section[AN].count, 2);
	last = rr->rdata[rr->rdlen - 1];
	done(p);
	return last;
}

/* RRsets asked for in turn rotate each on their own. */
static void
round_robin_rotates_rrsets_asked_for_in_turn(void **state)
{
	static const struct {
		const char *name;
		uint16_t type;
	} rows[] = {
		{ "a.z.", TYPE_A }, { "a.z.", TYPE_AAAA },
		{ "b.z.", TYPE_A }, /* the contents of another */
		{ "x.w.z.", TYPE_A }, { "y.w.z.", TYPE_A },
		{ "c.z.", TYPE_TXT },
	};
	struct world w;

	world_init(&w);
	w.options.round_robin = true;
	world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\nz. 60 NS ns.z.\n"
		"a.z. 60 A 192.0.2.1\na.z. 60 A 192.0.2.2\n"
		"a.z. 60 AAAA 2001:db8::1\na.z. 60 AAAA 2001:db8::2\n"
		"b.z. 60 A 192.0.2.1\nb.z. 60 A 192.0.2.2\n"
		"*.w.z. 60 A 192.0.2.1\n*.w.z. 60 A 192.0.2.2\n"
		"c.z. 60 TXT 1\nc.z. 60 TXT 2\n");
	world_start(&w);
	for (size_t turn = 2; turn <= 6; turn++) {
		uint8_t before[6];

		for (size_t i = 0; i < 4 * turn; i++) {
			size_t at = i % turn;
			uint8_t first = first_octet(&w, rows[at].name,
				rows[at].type);

			if (i >= turn)
				assert_int_not_equal(first, before[at]);
			before[at] = first;
		}
	}
	world_fini(&w);
}

/* A name whose last octets equal the apex, but begin inside a label. */
static void
apex_begins_where_a_label_does(void **state)
{
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	world_add_zone(&w, "a.example.",
		"a.example. 60 SOA ns. r. 1 2 3 4 5\n"
		"a.example. 60 NS ns.\n");
	world_start(&w);
	p = ask_for(&w, "\\001a.example.", TYPE_SOA);
	expect_rcode(p, RCODE_REFUSED);
	done(p);
	p = ask_for(&w, "x.a.example.", TYPE_SOA);
	expect_rcode(p, RCODE_NXDOMAIN);
	done(p);
	world_fini(&w);
}

/* Asks for the root where it is a zone, and where it is none (fault 6). */
static void
root_zone(void **state)
{
	static const uint16_t types[] = { TYPE_NS, TYPE_SOA, TYPE_A, TYPE_DS,
		TYPE_ANY, TYPE_RRSIG };
	struct world w;
	struct reply_parts *p;

	start(&w);
	for (size_t i = 0; i < 6; i++) {
		p = ask_for(&w, ".", types[i]);
		expect_rcode(p, RCODE_REFUSED);
		done(p);
	}
	world_fini(&w);
	world_init(&w);
	world_add_zone(&w, ".", ". 60 SOA a.root. r. 1 2 3 4 5\n"
		". 60 NS a.root.\nroot. 60 NS a.root.\na.root. 60 A 192.0.2.1\n"
		"*. 60 TXT wild\n");
	world_start(&w);
	p = ask_for(&w, ".", TYPE_NS);
	expect_counts(p, 1, 0, 1);
	expect_rr(p, AN, ". 60 NS a.root.");
	expect_rr(p, AR, "a.root. 60 A 192.0.2.1");
	done(p);
	expect_reply(&w, ".", TYPE_DS, 0, 1, 0);
	p = ask_for(&w, "x.y.", TYPE_TXT);
	expect_rr(p, AN, "x.y. 60 TXT wild");
	done(p);
	p = ask_for(&w, "www.root.", TYPE_TXT);
	expect_no_flag(p, MESSAGE_AA);
	expect_counts(p, 0, 1, 1);
	done(p);
	world_fini(&w);
}

static void
class_any_is_not_authoritative(void **state)
{
	const struct ask ask = { .qname = "mail.example.", .type = TYPE_A,
		.rrclass = CLASS_ANY };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	expect_no_flag(p, MESSAGE_AA);
	expect_rr(p, AN, "mail.example. 60 A 192.0.2.3");
	done(p);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(positive_answer),
		cmocka_unit_test(header_flags_of_an_answer),
		cmocka_unit_test(negative_answers_have_soa),
		cmocka_unit_test(dnssec_records_only_with_do),
		cmocka_unit_test(referral_with_glue),
		cmocka_unit_test(ds_at_a_cut_is_answered),
		cmocka_unit_test(ds_at_an_apex_is_from_the_parent_if_served),
		cmocka_unit_test(wildcards_of_rfc4592),
		cmocka_unit_test(wildcard_that_is_a_cut),
		cmocka_unit_test(additional_data_of_answers),
		cmocka_unit_test(minimal_responses_leave_out_extras),
		cmocka_unit_test(cname_is_followed_in_the_zone),
		cmocka_unit_test(any_is_one_rrset),
		cmocka_unit_test(each_type_is_found_among_many),
		cmocka_unit_test(round_robin_rotates_answers),
		cmocka_unit_test(round_robin_rotates_rrsets_asked_for_in_turn),
		cmocka_unit_test(apex_begins_where_a_label_does),
		cmocka_unit_test(root_zone),
		cmocka_unit_test(class_any_is_not_authoritative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
