/* test_large.c - names where pointers are scarce: RRsets that fill a message,
 * names behind the reach of pointers, and the root, which needs none. */
#include <stdio.h>

#include "expect.h"

/* RFC 1035 section 4.1.4: names are compressed as far as pointers reach, also
 * if the RRset is larger. Each of these would not fit without. */
static void
large_rrsets_are_compressed(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_many(zone, "p.z. 60 PTR host%u.some.where.else.", 1800);
	world_add_many(zone, "m.z. 60 MX %u mx%u.mail.of.z.", 1500);
	world_add_record(zone, "c.z. 60 CNAME p.z.");
	world_start(&w);
	p = ask_for(&w, "p.z.", TYPE_PTR);
	expect_no_flag(p, MESSAGE_TC);
	assert_int_equal(p->section[AN].count, 1800);
	expect_rr(p, AN, "p.z. 60 PTR host0.some.where.else.");
	expect_rr(p, AN, "p.z. 60 PTR host1799.some.where.else.");
	done(p);
	p = ask_for(&w, "c.z.", TYPE_PTR);
	expect_no_flag(p, MESSAGE_TC);
	assert_int_equal(p->section[AN].count, 1801);
	done(p);
	p = ask_for(&w, "m.z.", TYPE_MX);
	expect_no_flag(p, MESSAGE_TC);
	assert_int_equal(p->section[AN].count, 1500);
	expect_rr(p, AN, "m.z. 60 MX 1499 mx1499.mail.of.z.");
	done(p);
	world_fini(&w);
}

/* Writes a name with those of its last letters as capitals that are bits of
 * n. */
static const char *
in_some_case(const char *name, unsigned n, char out[256])
{
	strcpy(out, name);
	for (char *c = out + strlen(out); c-- > out;) {
		if (*c < 'a' || *c > 'z')
			continue;
		if ((n & 1) != 0)
			*c = (char)(*c - 'a' + 'A');
		n >>= 1;
	}
	return out;
}

#define SUFFIX "the.longer.it.is.the.sooner.the.message.is.full.z."

/* Adds count records, each with the suffix in another case. */
static void
add_in_all_cases(struct world_zone *zone, const char *format, unsigned count)
{
	char suffix[256], line[512];

	for (unsigned i = 0; i < count; i++) {
		snprintf(line, sizeof(line), format, i,
			in_some_case(SUFFIX, i, suffix));
		world_add_record(zone, line);
	}
}

/* Expects the names of the RDATA as stored, except for case. */
static void
expect_names(const struct reply_parts *p, unsigned section, unsigned at,
	unsigned count)
{
	assert_int_equal(p->section[section].count, count);
	for (unsigned i = 0; i < count; i++) {
		struct world_rr rr;
		char line[256];

		snprintf(line, sizeof(line), "x. 60 PTR h%u." SUFFIX, i);
		world_parse_record(line, &rr);
		assert_int_equal(p->section[section].rrs[i].rdlen,
			rr.rdlen + at);
		assert_true(name_equal(p->section[section].rrs[i].rdata + at,
			rr.rdata));
	}
}

/* Names keep their case as long as they fit. If they do not fit a message over
 * TCP, those that differ in case alone are compressed, too. */
static void
large_rrsets_in_all_cases_are_compressed(void **state)
{
	const struct ask udp = { .qname = "p.z.", .type = TYPE_PTR };
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	add_in_all_cases(zone, "p.z. 60 PTR h%u.%s", 1500);
	add_in_all_cases(zone, "m.z. 60 MX 1 h%u.%s", 1500);
	world_add_many(zone, "h%u." SUFFIX " 60 A 192.0.2.1", 10);
	world_add_record(zone, "c.z. 60 CNAME p.z.");
	add_in_all_cases(zone, "few.z. 60 PTR h%u.%s", 100);
	world_start(&w);
	p = ask_for(&w, "p.z.", TYPE_PTR);
	expect_rcode(p, RCODE_NOERROR);
	expect_no_flag(p, MESSAGE_TC);
	expect_flag(p, MESSAGE_AA);
	expect_names(p, AN, 0, 1500);
	assert_true(p->len < 33000);
	assert_int_equal(p->section[NS].count, 1);
	done(p);
	p = ask_for(&w, "c.z.", TYPE_PTR);
	expect_no_flag(p, MESSAGE_TC);
	assert_int_equal(p->section[AN].count, 1501);
	done(p);
	/* Additional data is found in such an RRset, too. */
	p = ask_for(&w, "m.z.", TYPE_MX);
	expect_names(p, AN, 2, 1500);
	expect_rr(p, AR, "h0." SUFFIX " 60 A 192.0.2.1");
	expect_rr(p, AR, "h9." SUFFIX " 60 A 192.0.2.1");
	done(p);
	p = ask_with(&w, &udp);
	expect_flag(p, MESSAGE_TC);
	assert_int_equal(p->section[AN].count, 0);
	done(p);
	/* The reply has room for the names uncompressed. */
	p = ask_for(&w, "few.z.", TYPE_PTR);
	expect_names(p, AN, 0, 100);
	assert_true(p->len > 100 * sizeof(SUFFIX));
	done(p);
	world_fini(&w);
}

/* RFC 9471 section 2.1, where even the list of the name servers is not known as
 * a whole. Signatures count, too. */
static void
what_goes_beside_rrsets_in_all_cases(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	add_in_all_cases(zone, "full.z. 60 NS h%u.%s", 1500);
	add_in_all_cases(zone, "out.z. 60 NS h%u.%s", 1500);
	add_in_all_cases(zone, "s.z. 60 PTR h%u.%s", 1020);
	world_add_many(zone, "s.z. 60 RRSIG PTR z%u.", 130);
	world_start(&w);
	p = ask_for(&w, "www.full.z.", TYPE_A);
	expect_names(p, NS, 0, 1500);
	expect_flag(p, MESSAGE_TC);
	done(p);
	p = ask_for(&w, "www.out.z.", TYPE_A);
	expect_names(p, NS, 0, 1500);
	expect_no_flag(p, MESSAGE_TC);
	done(p);
	p = ask_for(&w, "s.z.", TYPE_PTR);
	assert_true(p->len > 60000);
	expect_names(p, AN, 0, 1020);
	done(p);
	p = ask_dnssec(&w, "s.z.", TYPE_PTR);
	expect_rcode(p, RCODE_NOERROR);
	assert_int_equal(p->section[AN].count, 1020 + 130);
	assert_true(p->len < 50000);
	done(p);
	world_fini(&w);
}

/* A zone's author must not decide how long compression takes: names that are
 * suffixes of each other, as long as possible, more than fit in any case. */
static void
names_of_many_parts_are_given_up(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;
	char name[256] = "z.", line[512];

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	for (unsigned i = 0; i < 119; i++) {
		char longer[300];

		snprintf(longer, sizeof(longer), "%c.%s", 'a' + (int)i % 26,
			name);
		strcpy(name, longer);
		snprintf(line, sizeof(line), "d.z. 60 PTR %s", name);
		world_add_record(zone, line);
	}
	for (unsigned i = 0; i < 4000; i++) {
		snprintf(line, sizeof(line), "d.z. 60 PTR x%u.%s", i, name);
		world_add_record(zone, line);
	}
	world_start(&w);
	p = ask_for(&w, "d.z.", TYPE_PTR);
	expect_rcode(p, RCODE_SERVFAIL);
	expect_counts(p, 0, 0, 0);
	done(p);
	world_fini(&w);
}

/* RFC 9471 section 2.1: all glue in the child goes over TCP, or TC says that
 * some is missing. */
static void
large_referrals_have_their_glue(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;
	char line[64];

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_many(zone, "in.z. 60 NS n%u.in.z.", 900);
	world_add_many(zone, "n%u.in.z. 60 A 192.0.2.1", 900);
	world_add_many(zone, "n%u.in.z. 60 AAAA 2001:db8::1", 900);
	world_add_many(zone, "more.z. 60 NS n%u.more.z.", 1100);
	world_add_many(zone, "n%u.more.z. 60 A 192.0.2.1", 1100);
	world_add_many(zone, "n%u.more.z. 60 AAAA 2001:db8::1", 1100);
	world_start(&w);
	p = ask_for(&w, "www.in.z.", TYPE_A);
	expect_no_flag(p, MESSAGE_TC);
	expect_counts(p, 0, 900, 1800);
	for (unsigned i = 0; i < 900; i++) {
		snprintf(line, sizeof(line), "n%u.in.z. 60 A 192.0.2.1", i);
		expect_rr(p, AR, line);
	}
	done(p);
	p = ask_for(&w, "www.more.z.", TYPE_A);
	expect_flag(p, MESSAGE_TC);
	assert_int_equal(p->section[NS].count, 1100);
	done(p);
	world_fini(&w);
}

/* A referral whose name servers are on both sides of the reach of pointers:
 * signatures of the links before it push it there. */
static void
glue_behind_the_reach_of_pointers(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;
	char line[128];

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_many(zone, "a.b.in.z. 60 NS n%u.of.a.b.in.z.", 40);
	world_add_many(zone, "n%u.of.a.b.in.z. 60 A 192.0.2.%u", 40);
	for (unsigned i = 0; i < 30; i++) {
		snprintf(line, sizeof(line), "l%u.z. 60 CNAME x.a.b.in.z.", i);
		world_add_record(zone, line);
		snprintf(line, sizeof(line), "l%u.z. 60 RRSIG CNAME s%%u.z.",
			i);
		world_add_many(zone, line, 265 + i);
	}
	world_start(&w);
	for (unsigned i = 0; i < 30; i++) {
		snprintf(line, sizeof(line), "l%u.z.", i);
		p = ask_dnssec(&w, line, TYPE_A);
		expect_no_flag(p, MESSAGE_TC);
		expect_counts(p, 266 + i, 40, 40);
		for (unsigned n = 0; n < 40; n++) {
			snprintf(line, sizeof(line),
				"a.b.in.z. 60 NS n%u.of.a.b.in.z.", n);
			expect_rr(p, NS, line);
			snprintf(line, sizeof(line),
				"n%u.of.a.b.in.z. 60 A 192.0.2.%u", n, n);
			expect_rr(p, AR, line);
		}
		done(p);
	}
	world_fini(&w);
}

/* RFC 1035 section 3.1: the root is one octet, so a pointer would only make it
 * longer. */
static void
root_as_an_owner_takes_one_octet(void **state)
{
	static const char soa[] =
		". 60 SOA a.root-servers.net. nstld.verisign-grs.com. 1 2 3 4 5";
	struct world_rr nsec = { .rrclass = CLASS_IN, .ttl_sec = 5,
		.type = TYPE_NSEC, .rdlen = 6, .rdata = "\1x\0\0\1\100" };
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	w.options.minimal_responses = true;
	zone = world_add_zone(&w, ".", "");
	world_add_record(zone, soa);
	world_add_record(zone, ". 60 RRSIG SOA .");
	world_add_record(zone, ". 60 DNSKEY");
	world_add_record(zone, ". 60 NS a.root-servers.net.");
	world_add_record(zone, ". 60 NS b.root-servers.net.");
	world_add_record(zone, ". 60 NS c.c.root-servers.net.");
	world_add_record(zone, ". 60 NS d.c.root-servers.net.");
	world_add_record(zone, "a.root-servers.net. 60 A 192.0.2.1");
	world_add_record(zone, "d.c.root-servers.net. 60 A 192.0.2.4");
	world_add_record(zone, ". 60 A 192.0.2.5");
	world_add_record(zone, ". 60 HTTPS 1 .");
	world_add_record(zone, "d. 60 DNAME .");
	rrs_add(&zone->records, &nsec);
	world_start(&w);

	p = ask_for(&w, ".", TYPE_NS);
	expect_rr(p, AN, ". 60 NS a.root-servers.net.");
	expect_rr(p, AN, ". 60 NS b.root-servers.net.");
	expect_rr(p, AN, ". 60 NS c.c.root-servers.net.");
	expect_rr(p, AN, ". 60 NS d.c.root-servers.net.");
	expect_rr(p, AR, "a.root-servers.net. 60 A 192.0.2.1");
	expect_rr(p, AR, "d.c.root-servers.net. 60 A 192.0.2.4");
	/* The names point to earlier ones. */
	assert_int_equal(p->len, 12 + 5 + 4 * 11 + 20 + 4 + 6 + 4 + 2 * 16);
	done(p);
	p = ask_for(&w, ".", TYPE_SOA);
	assert_int_equal(p->len, 12 + 5 + 11 + 20 + 24 + 20);
	done(p);
	p = ask_for(&w, ".", TYPE_HTTPS);
	assert_int_equal(p->len, 12 + 5 + 11 + 3);
	done(p);
	p = ask_for(&w, ".", TYPE_A);
	assert_int_equal(p->len, 12 + 5 + 11 + 4);
	done(p);
	/* SOA, NSEC, and the signature of the SOA. */
	p = ask_dnssec(&w, ".", TYPE_MX);
	expect_rr(p, NS, ". 5 SOA a.root-servers.net."
		" nstld.verisign-grs.com. 1 2 3 4 5");
	assert_int_equal(p->section[NS].count, 3);
	assert_int_equal(p->len, 12 + 5 + 11 + 64 + 11 + 43 + 11 + 6 + 11);
	done(p);
	p = ask_for(&w, "x.d.", TYPE_CNAME);
	expect_rr(p, AN, "x.d. 60 CNAME x.");
	assert_int_equal(p->len, 12 + 9 + 12 + 1 + 12 + 3);
	done(p);
	world_fini(&w);
}

/* No pointer reaches behind 16383 octets: names are written in full. */
static void
names_behind_the_reach_of_pointers(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_many(zone, "z. 60 NS ns%u.deep.below.z.", 20);
	world_add_many(zone, "ns%u.deep.below.z. 60 A 192.0.2.%u", 20);
	world_add_many(zone, "z. 60 MX %u mail.deep.below.z.", 3);
	world_add_record(zone, "mail.deep.below.z. 60 A 192.0.2.200");
	for (unsigned size = 10; size < 60; size++) {
		/* The authority section starts a little before that offset or
		 * behind it. */
		char line[1024], text[256];

		memset(text, 'x', sizeof(text));
		snprintf(line, sizeof(line), "t%u.z. 60 TXT %.*s-%%u", size,
			(int)size, text);
		for (unsigned i = 0;
			i < (16300 + 2 * size) / (size + 18); i++) {
			char record[2048];

			snprintf(record, sizeof(record), line, i + 1000);
			world_add_record(zone, record);
		}
	}
	world_start(&w);
	for (unsigned size = 10; size < 60; size++) {
		char name[32];

		snprintf(name, sizeof(name), "t%u.z.", size);
		p = ask_for(&w, name, TYPE_TXT);
		expect_no_flag(p, MESSAGE_TC);
		assert_int_equal(p->section[NS].count, 21);
		expect_rr(p, NS, "z. 60 NS ns0.deep.below.z.");
		expect_rr(p, NS, "z. 60 NS ns19.deep.below.z.");
		assert_int_equal(p->section[AR].count, 21);
		expect_rr(p, AR, "ns19.deep.below.z. 60 A 192.0.2.19");
		done(p);
	}
	world_fini(&w);
}

/* A chain has so many signatures that its later owners are that far behind. */
static void
chains_go_on_behind_the_reach_of_pointers(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	for (unsigned i = 0; i < 9; i++) {
		char line[128];

		snprintf(line, sizeof(line), "l%u.z. 60 CNAME l%u.z.", i,
			i + 1);
		world_add_record(zone, line);
		snprintf(line, sizeof(line),
			"l%u.z. 60 RRSIG CNAME signer-with-a-name-%%u.z.", i);
		world_add_many(zone, line, 40);
	}
	world_add_record(zone, "l9.z. 60 CNAME x.d.z.");
	world_add_record(zone, "d.z. 60 DNAME t.z.");
	world_add_many(zone, "d.z. 60 RRSIG DNAME s%u.z.", 3);
	world_add_record(zone, "x.t.z. 60 CNAME y.t.z.");
	world_add_record(zone, "y.t.z. 60 MX 1 m.t.z.");
	world_add_record(zone, "y.t.z. 60 MX 1 mm.t.z.");
	world_add_record(zone, "y.t.z. 60 RRSIG MX z.");
	world_add_record(zone, "m.t.z. 60 A 192.0.2.7");
	world_start(&w);
	p = ask_dnssec(&w, "l0.z.", TYPE_MX);
	expect_no_flag(p, MESSAGE_TC);
	assert_true(p->len > 20000);
	assert_int_equal(p->section[AN].count, 9 * 41 + 1 + 4 + 1 + 1 + 3);
	expect_rr(p, AN, "l8.z. 60 CNAME l9.z.");
	expect_rr(p, AN, "l8.z. 60 RRSIG CNAME signer-with-a-name-39.z.");
	expect_rr(p, AN, "d.z. 60 DNAME t.z.");
	expect_rr(p, AN, "x.d.z. 60 CNAME x.t.z.");
	expect_rr(p, AN, "x.t.z. 60 CNAME y.t.z.");
	expect_rr(p, AN, "y.t.z. 60 MX 1 m.t.z.");
	expect_rr(p, AN, "y.t.z. 60 MX 1 mm.t.z.");
	expect_rr(p, NS, "z. 60 NS ns.z.");
	done(p);
	p = ask_dnssec(&w, "l0.z.", TYPE_TXT);
	expect_rr(p, NS, "z. 5 SOA ns.z. r. 1 2 3 4 5");
	done(p);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_rrsets_are_compressed),
		cmocka_unit_test(large_rrsets_in_all_cases_are_compressed),
		cmocka_unit_test(what_goes_beside_rrsets_in_all_cases),
		cmocka_unit_test(names_of_many_parts_are_given_up),
		cmocka_unit_test(large_referrals_have_their_glue),
		cmocka_unit_test(glue_behind_the_reach_of_pointers),
		cmocka_unit_test(root_as_an_owner_takes_one_octet),
		cmocka_unit_test(names_behind_the_reach_of_pointers),
		cmocka_unit_test(chains_go_on_behind_the_reach_of_pointers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
