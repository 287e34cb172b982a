/* test_chains.c - answers that go on at another name: CNAME and DNAME. */
#include <stdio.h>

#include "expect.h"

/* Fault 24: chains and loops end. */
static void
cname_chains_end(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\n"
		"z. 60 NS ns.z.\nself.z. 60 CNAME self.z.\n"
		"a.z. 60 CNAME b.z.\nb.z. 60 CNAME a.z.\n"
		"*.w.z. 60 CNAME x.w.z.\n");
	for (unsigned i = 0; i < 40; i++) {
		char line[64];

		snprintf(line, sizeof(line), "l%u.z. 60 CNAME l%u.z.", i,
			i + 1);
		world_add_record(zone, line);
	}
	world_start(&w);
	p = ask_for(&w, "l0.z.", TYPE_A);
	expect_rcode(p, RCODE_NOERROR);
	expect_counts(p, 19, 0, 0);
	done(p);
	p = ask_for(&w, "l25.z.", TYPE_A);
	expect_rcode(p, RCODE_NXDOMAIN);
	expect_counts(p, 15, 1, 0);
	done(p);
	expect_reply(&w, "self.z.", TYPE_A, 1, 0, 0);
	expect_reply(&w, "b.z.", TYPE_A, 2, 0, 0);
	expect_reply(&w, "y.w.z.", TYPE_A, 2, 0, 0);
	world_fini(&w);
}

/* RFC 4035 section 2.5. Zones may have SIG and NSEC3 there, too, and no KEY. */
static void
question_for_a_type_beside_a_cname_stays_there(void **state)
{
	static const uint16_t stay[] = {TYPE_RRSIG, TYPE_NSEC, TYPE_NXT,
		TYPE_KEY};
	static const uint16_t go_on[] = {TYPE_NSEC3, TYPE_SIG, TYPE_TXT};
	struct world w;

	world_init(&w);
	world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\nz. 60 NS ns.z.\n"
		"c.z. 60 CNAME t.z.\nt.z. 60 A 192.0.2.1\n");
	world_start(&w);
	for (unsigned i = 0; i < sizeof(stay) / sizeof(*stay); i++)
		expect_reply(&w, "c.z.", stay[i], 0, 1, 0);
	for (unsigned i = 0; i < sizeof(go_on) / sizeof(*go_on); i++)
		expect_reply(&w, "c.z.", go_on[i], 1, 1, 0);
	world_fini(&w);
}

/* Chains of DNAMEs, each with the CNAME made from it, and chains of both. */
static void
dname_chains_end(void **state)
{
	struct world w;
	struct world_zone *zone;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\n"
		"z. 60 NS ns.z.\na.z. 60 DNAME b.z.\nb.z. 60 DNAME a.z.\n"
		"in.z. 60 DNAME x.in.z.\n"
		"m.z. 60 CNAME x.n.z.\nn.z. 60 DNAME o.z.\n"
		"x.o.z. 60 CNAME m.z.\n");
	for (unsigned i = 0; i < 40; i++) {
		char line[64];

		snprintf(line, sizeof(line), "l%u.z. 60 DNAME l%u.z.", i,
			i + 1);
		world_add_record(zone, line);
	}
	world_start(&w);
	expect_reply(&w, "x.l0.z.", TYPE_A, 38, 0, 0);
	expect_reply(&w, "x.a.z.", TYPE_A, 4, 0, 0);
	expect_reply(&w, "x.in.z.", TYPE_A, 20, 0, 0);
	expect_reply(&w, "m.z.", TYPE_A, 4, 0, 0);
	world_fini(&w);
}

static void
cname_is_followed_into_other_zones(void **state)
{
	static const char other[] =
		"other. 60 SOA other. r. 1 2 3 4 7\n"
		"other. 60 NS ns.other.\n"
		"ns.other. 60 A 192.0.2.9\n"
		"www.other. 60 A 192.0.2.10\n";
	for (unsigned confined = 0; confined < 2; confined++) {
		struct world w;
		struct reply_parts *p;

		world_init(&w);
		w.options.confine_to_zone = confined;
		world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\n"
			"z. 60 NS ns.other.\nx.z. 60 CNAME www.other.\n"
			"n.z. 60 CNAME no.other.\n"
			"m.z. 60 MX 1 www.other.\n");
		world_add_zone(&w, "other.", other);
		world_start(&w);
		p = ask_for(&w, "x.z.", TYPE_A);
		if (confined) {
			expect_counts(p, 1, 0, 0);
		} else {
			expect_rr(p, AN, "www.other. 60 A 192.0.2.10");
			expect_rr(p, NS, "other. 60 NS ns.other.");
			expect_rr(p, AR, "ns.other. 60 A 192.0.2.9");
		}
		done(p);
		p = ask_for(&w, "n.z.", TYPE_A);
		expect_rcode(p, confined ? RCODE_NOERROR : RCODE_NXDOMAIN);
		done(p);
		p = ask_for(&w, "m.z.", TYPE_MX);
		/* Addresses only come from the zone itself. */
		expect_counts(p, 1, 1, 0);
		done(p);
		world_fini(&w);
	}
}

static void
dname_is_synthesised(void **state)
{
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\nz. 60 NS ns.z.\n"
		"d.z. 70 DNAME t.z.\nd.z. 80 TXT own\nx.t.z. 60 A 192.0.2.1\n"
		"long.z. 60 DNAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
		"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb."
		"ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc."
		"dddddddddddddddddddddddddddddddddddddddddddddddddddddddd.z.\n");
	world_start(&w);
	p = ask_for(&w, "X.d.z.", TYPE_A);
	expect_flag(p, MESSAGE_AA);
	assert_int_equal(p->section[AN].count, 3);
	expect_rr(p, AN, "d.z. 70 DNAME t.z.");
	expect_rr(p, AN, "x.d.z. 70 CNAME x.t.z.");
	expect_rr(p, AN, "x.t.z. 60 A 192.0.2.1");
	done(p);
	/* RFC 6672 section 2.3: the owner itself is not redirected. */
	p = ask_for(&w, "d.z.", TYPE_TXT);
	expect_rr(p, AN, "d.z. 80 TXT own");
	assert_int_equal(p->section[AN].count, 1);
	done(p);
	p = ask_for(&w, "y.d.z.", TYPE_A);
	expect_rcode(p, RCODE_NXDOMAIN);
	done(p);
	/* Fault 25. */
	p = ask_dnssec(&w, "ok.long.z.", TYPE_A);
	expect_rcode(p, RCODE_NXDOMAIN);
	done(p);
	p = ask_dnssec(&w, "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee."
		"long.z.", TYPE_A);
	expect_rcode(p, RCODE_YXDOMAIN);
	assert_int_equal(p->section[AN].count, 1);
	assert_int_equal(p->section[AN].rrs[0].type, TYPE_DNAME);
	expect_ede(p, EDE_OTHER, "DNAME expansion became too large");
	done(p);
	world_fini(&w);
}

/* In the reply, the apex of the second zone has a pointer inside. So a cell
 * that points into the apex must not become its start plus an offset. */
static void
names_behind_a_dname_are_whole(void **state)
{
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\nz. 60 NS ns.z.\n"
		"d.z. 70 DNAME a.z.\n");
	world_add_zone(&w, "b.a.z.", "b.a.z. 60 SOA z. z. 1 2 3 4 5\n"
		"b.a.z. 60 NS ns.z.\nb.a.z. 60 MX 1 c.z.\n"
		"b.a.z. 60 MX 2 m.b.a.z.\nm.b.a.z. 60 A 192.0.2.1\n");
	world_start(&w);
	p = ask_for(&w, "b.d.z.", TYPE_MX);
	expect_rr(p, AN, "b.d.z. 70 CNAME b.a.z.");
	expect_rr(p, AN, "b.a.z. 60 MX 1 c.z.");
	expect_rr(p, AN, "b.a.z. 60 MX 2 m.b.a.z.");
	expect_rr(p, NS, "b.a.z. 60 NS ns.z.");
	expect_rr(p, AR, "m.b.a.z. 60 A 192.0.2.1");
	done(p);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cname_chains_end),
		cmocka_unit_test(
			question_for_a_type_beside_a_cname_stays_there),
		cmocka_unit_test(dname_chains_end),
		cmocka_unit_test(cname_is_followed_into_other_zones),
		cmocka_unit_test(dname_is_synthesised),
		cmocka_unit_test(names_behind_a_dname_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
