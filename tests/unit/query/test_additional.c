/* test_additional.c - addresses of names that do not exist: wildcards. */
#include <stdio.h>

#include "expect.h"

static const char zone_text[] =
	"z. 60 SOA ns.z. r. 1 2 3 4 5\n"
	"z. 60 NS ns1.w.z.\n"
	"z. 60 NS ns2.w.z.\n"
	"*.w.z. 70 A 192.0.2.1\n"
	"*.w.z. 80 AAAA 2001:db8::1\n"
	"*.w.z. 80 TXT t\n"
	"*.w.z. 80 RRSIG A z.\n"
	"is.w.z. 60 TXT t\n"
	"a.ent.w.z. 60 TXT t\n"
	"*.c.z. 60 CNAME ns1.w.z.\n"
	"*.t.z. 60 TXT t\n"
	"*.cut.z. 60 A 192.0.2.9\n"
	"cut.z. 60 NS ns1.w.z.\n"
	"cut.z. 60 NS ns.cut.z.\n"
	"d.z. 60 DNAME w.z.\n"
	"a.z. 60 A 192.0.2.3\n"
	"m.z. 60 MX 1 mail.w.z.\n"
	"m.z. 60 MX 2 MAIL.w.z.\n"
	"m.z. 60 MX 3 deep.mail.w.z.\n"
	"no.z. 60 MX 1 is.w.z.\n"
	"no.z. 60 MX 2 ent.w.z.\n"
	"no.z. 60 MX 3 x.ent.w.z.\n"
	"no.z. 60 MX 4 x.c.z.\n"
	"no.z. 60 MX 5 x.t.z.\n"
	"no.z. 60 MX 6 x.cut.z.\n"
	"no.z. 60 MX 7 x.d.z.\n"
	"no.z. 60 MX 8 nowhere.z.\n"
	"s.z. 60 SRV 1 2 3 s.w.z.\n"
	"*.h.z. 60 HTTPS 1 .\n"
	"*.h.z. 60 HTTPS 2 x.h.z.\n"
	"*.h.z. 60 A 192.0.2.4\n";

static void
begin(struct world *w)
{
	world_init(w);
	world_add_zone(w, "z.", zone_text);
	world_start(w);
}

/* RFC 1034 section 4.3.3: the wildcard's addresses, under the target's name. */
static void
targets_get_the_addresses_of_a_wildcard(void **state)
{
	struct world w;
	struct reply_parts *p;

	begin(&w);
	p = ask_for(&w, "z.", TYPE_NS);
	expect_counts(p, 2, 0, 4);
	expect_rr(p, AR, "ns1.w.z. 70 A 192.0.2.1");
	expect_rr(p, AR, "ns2.w.z. 70 A 192.0.2.1");
	expect_rr(p, AR, "ns1.w.z. 80 AAAA 2001:db8::1");
	expect_rr(p, AR, "ns2.w.z. 80 AAAA 2001:db8::1");
	done(p);
	p = ask_for(&w, "m.z.", TYPE_MX);
	expect_rr(p, AR, "mail.w.z. 70 A 192.0.2.1");
	expect_rr(p, AR, "deep.mail.w.z. 80 AAAA 2001:db8::1");
	expect_counts(p, 3, 2, 8);
	done(p);
	p = ask_for(&w, "s.z.", TYPE_SRV);
	expect_rr(p, AR, "s.w.z. 70 A 192.0.2.1");
	done(p);
	/* The answer itself is not repeated. */
	p = ask_for(&w, "ns1.w.z.", TYPE_A);
	expect_counts(p, 1, 2, 3);
	done(p);
	world_fini(&w);
}

/* A name server beside a delegation may be a name that a wildcard answers. */
static void
referrals_have_the_addresses_of_a_wildcard(void **state)
{
	struct world w;
	struct reply_parts *p;

	begin(&w);
	p = ask_for(&w, "x.cut.z.", TYPE_A);
	expect_no_flag(p, MESSAGE_AA);
	expect_counts(p, 0, 2, 2);
	expect_rr(p, AR, "ns1.w.z. 70 A 192.0.2.1");
	expect_rr(p, AR, "ns1.w.z. 80 AAAA 2001:db8::1");
	done(p);
	world_fini(&w);
}

/* RFC 4592: names that exist, empty non-terminals, what is below these, below a
 * cut or a DNAME; and wildcards that have no addresses. */
static void
names_that_no_wildcard_gives_an_address(void **state)
{
	struct world w;
	struct reply_parts *p;

	begin(&w);
	p = ask_for(&w, "no.z.", TYPE_MX);
	expect_counts(p, 8, 2, 4);
	expect_rr(p, AR, "ns1.w.z. 70 A 192.0.2.1");
	done(p);
	world_fini(&w);
}

/* RFC 9460 section 2.5.2: one name as the owner and as a target. */
static void
owner_and_target_are_one_name(void **state)
{
	struct world w;
	struct reply_parts *p;

	begin(&w);
	p = ask_for(&w, "x.h.z.", TYPE_HTTPS);
	expect_rr(p, AR, "x.h.z. 60 A 192.0.2.4");
	expect_counts(p, 2, 2, 1 + 4);
	done(p);
	p = ask_for(&w, "y.h.z.", TYPE_HTTPS);
	expect_rr(p, AR, "x.h.z. 60 A 192.0.2.4");
	expect_rr(p, AR, "y.h.z. 60 A 192.0.2.4");
	done(p);
	world_fini(&w);
}

/* Asks for the MX of a name with so many targets, each with so many labels
 * below a wildcard; returns how many of them have an address. */
static size_t
count_targets_found(unsigned targets, unsigned labels)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;
	char below[2 * NAME_MAX_LABELS + 1] = "";
	size_t count;

	for (unsigned i = 2; i < labels; i++)
		strcat(below, "l.");
	world_init(&w);
	zone = world_add_zone(&w, "z.", "z. 60 SOA ns. r. 1 2 3 4 5\n"
		"z. 60 NS ns.\n*.w.z. 60 A 192.0.2.1\n");
	for (unsigned i = 0; i < targets; i++) {
		char line[512];

		snprintf(line, sizeof(line), "m.z. 60 MX 1 t%u.%sw.z.", i,
			below);
		world_add_record(zone, line);
	}
	world_start(&w);
	p = ask_for(&w, "m.z.", TYPE_MX);
	count = p->section[AR].count;
	done(p);
	world_fini(&w);
	return count;
}

/* Fault 27: the zone's author does not decide how much is looked for. */
static void
search_for_wildcards_is_bounded(void **state)
{
	assert_int_equal(count_targets_found(13, 2), 13);
	assert_int_equal(count_targets_found(32, 4), 32);
	assert_int_equal(count_targets_found(500, 2), 32);
	assert_int_equal(count_targets_found(13, 100), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_get_the_addresses_of_a_wildcard),
		cmocka_unit_test(referrals_have_the_addresses_of_a_wildcard),
		cmocka_unit_test(names_that_no_wildcard_gives_an_address),
		cmocka_unit_test(owner_and_target_are_one_name),
		cmocka_unit_test(search_for_wildcards_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
