/* test_findings.c - the rules of a zone, and what is reported where one is
 * broken. */
#include "built.h"
#include "compile/findings.h"

/* ---- findings ---------------------------------------------------------- */

struct counting {
	struct diag_sink sink; /* first */
	uint32_t told;
	uint32_t line; /* of the last one that has a line */
};

static void
count_diag(struct diag_sink *sink, const struct diag *d)
{
	struct counting *c = (struct counting *)sink;

	c->told++;
	assert_true(d->line == 0 || d->line > c->line);
	if (d->line > 0)
		c->line = d->line;
}

/* However many threads there are. */
static void
thousand_findings_are_told_of_all_threads(void **state)
{
	struct counting c = {.sink = {.on_diag = count_diag}};
	struct findings threads[3], *lists[3];
	struct arena arenas[3];
	struct rrbatch_rr rr = {.line = 0};

	for (unsigned i = 0; i < 3; i++) {
		arena_init(&arenas[i], NULL, 0);
		threads[i] = (struct findings){.arena = &arenas[i]};
		lists[i] = &threads[i];
	}
	for (unsigned i = 0; i < 6000; i++) {
		rr.line++;
		findings_add(&threads[i % 3], DIAG_WARNING, &rr, "x");
	}
	findings_emit(lists, 3, NULL, 0, &c.sink);
	assert_int_equal(c.told, 1001); /* and how many more there are */
	assert_int_equal(c.line, 1000);
	assert_int_equal(c.sink.warnings, 6000);
	for (unsigned i = 0; i < 3; i++)
		arena_fini(&arenas[i]);
}

/* RFC 1035 section 5.2 */
static void
zone_without_soa_is_an_error(void **state)
{
	static const char *const none[] = {"", "; nothing\n", "@ NS ns1\n",
		"sub SOA a b 1 2 3 4 5\n"};

	for (unsigned i = 0; i < 4; i++)
		for (unsigned s = 0; s < 2; s++) {
			f.secondary = s == 1;
			assert_int_equal(zone_fixture_build(&f, "example.",
				none[i], &zone), NSD_E_ZONE);
			/* Told at the end of the file. */
			assert_non_null(strstr(f.findings, "text:1: error: "
				"zone configured as 'example.' has no SOA "
				"record."));
			assert_int_equal(live(), 0);
		}
	f.secondary = false;
}

static void
second_soa_is_an_error(void **state)
{
	refuses(HEAD "@ SOA ns1 host 8 2 3 4 5\n",
		"text:5: error: this SOA record was already encountered");
	/* The first one counts, wherever it would be sorted. */
	f.secondary = true;
	build_ok(HEAD "@ SOA ns1 host 6 2 3 4 5\n");
	assert_int_equal(((const struct zone *)store_get(f.view, zone))->serial,
		7);
	f.secondary = false;
	drop();
}

/* RFC 6895 section 3.1. What has no meaning yet is served by others, too. */
static void
type_for_questions_is_served_if_it_has_no_meaning(void **state)
{
	warns(HEAD "a TYPE129 \\# 0\n", "text:5: warning: TYPE129 is a type "
		"that only questions should have");
	warns(HEAD "a TYPE248 \\# 1 00\n", "text:5: warning: TYPE248 is a "
		"type that only questions should have");
	is_silent(HEAD "a TYPE127 \\# 0\na TYPE65535 \\# 0\n");
}

/* A file in which a transfer was saved has it at both ends. */
static void
same_soa_again_is_left_out_with_a_warning(void **state)
{
	warns(HEAD "a A 192.0.2.1\n" SOA, "text:6: warning: example. "
		"duplicate SOA record is left out");
	warns(HEAD SOA SOA, "text:5: warning: example. "
		"duplicate SOA record is left out");
	/* Names are compared as DNSSEC does (RFC 4034 section 6.3). */
	warns(HEAD "@ SOA NS1 HOST 7 2 3 4 5\n", "text:5: warning: example. "
		"duplicate SOA record is left out");
	refuses(HEAD SOA "@ SOA ns1 host 7 2 3 4 6\n",
		"text:6: error: this SOA record was already encountered");
}

/* A transfer ends with the SOA it began with (RFC 5936 section 2.2). */
static void
same_soa_again_is_no_finding_for_a_secondary(void **state)
{
	f.secondary = true;
	build_ok(HEAD SOA);
	f.secondary = false;
	assert_string_equal(f.findings, "");
	drop();
}

static void
soa_may_stand_anywhere_in_the_file(void **state)
{
	is_silent("$TTL 3600\nns1 A 192.0.2.1\n@ NS ns1\n" SOA);
}

static void
soa_below_the_apex_is_an_error(void **state)
{
	refuses(HEAD "sub SOA ns1 host 7 2 3 4 5\n",
		"text:5: error: SOA record with invalid domain name, "
		"'sub.example.' is not 'example.'");
}

static void
zone_without_ns_is_warned_of(void **state)
{
	warns("$TTL 3600\n" SOA "a A 192.0.2.1\n",
		"warning: zone 'example.' has no NS record");
}

static void
record_out_of_the_zone_is_an_error(void **state)
{
	refuses(HEAD "foo.org. A 192.0.2.1\n",
		"text:5: error: out of zone data: foo.org. is outside the zone "
		"for fqdn example.");
	/* The same octets at the end are not the same labels. */
	refuses(HEAD "a\\007example. A 192.0.2.1\n",
		"text:5: error: out of zone data: a\\007example. is outside "
		"the zone for fqdn example.");
	/* Two records outside the zone are two errors. */
	assert_int_equal(zone_fixture_build(&f, "example.", HEAD
		"foo.org. A 192.0.2.1\n A 192.0.2.2\n", &zone), NSD_E_ZONE);
	assert_int_equal(f.sink.errors, 2);
}

/* RFC 1034 section 3.6.2 */
static void
cname_beside_other_data_is_an_error(void **state)
{
	refuses(HEAD "a CNAME b\na A 192.0.2.1\n",
		"text:6: error: CNAME and other data at the same name");
	refuses(HEAD "a A 192.0.2.1\nb A 192.0.2.1\na CNAME b\n",
		"text:7: error: CNAME and other data at the same name");
	refuses(HEAD "a CNAME b\na DNAME c\n",
		"text:6: error: DNAME and CNAME at the same name");
	refuses(HEAD "a CNAME ns1\na KEY 49152 3 3\n",
		"text:6: error: CNAME and other data at the same name");
	is_silent(HEAD "a CNAME ns1\na NSEC b CNAME RRSIG NSEC\n"
		"a RRSIG CNAME 8 2 3600 20300101000000 20200101000000 1 example. AAAA\n");
	build_ok(HEAD "a CNAME ns1\na NSEC3 1 0 0 - "
		"0123456789abcdefghijklmnopqrstuv CNAME\n");
	drop();
	is_silent(HEAD "a CNAME ns1\na NXT b CNAME SIG NXT\n"
		"a SIG CNAME 8 2 3600 20300101000000 20200101000000 1 "
		"example. AAAA\n");
}

/* RFC 2181 section 10.1, RFC 6672 section 2.4 */
static void
two_cnames_or_dnames_are_an_error(void **state)
{
	refuses(HEAD "a CNAME b\na CNAME c\n",
		"text:6: error: multiple CNAMEs at the same name");
	refuses(HEAD "a DNAME b\na DNAME c\n",
		"text:6: error: multiple DNAMEs at the same name");
	warns(HEAD "a CNAME b\na CNAME b\n",
		"text:6: warning: a.example. duplicate CNAME record");
}

/* RFC 6672 section 2.4 */
static void
data_below_a_dname_is_an_error(void **state)
{
	refuses(HEAD "a DNAME b\nx.a A 192.0.2.1\n",
		"text:6: error: DNAME at a.example. has data below it. This is "
		"not allowed (RFC 6672 section 2.4)");
	is_silent(HEAD "a DNAME b\nx.b A 192.0.2.1\n");
}

/* RFC 2181 section 5.2 */
static void
ttls_that_differ_are_warned_of_and_the_lowest_used(void **state)
{
	warns(HEAD "a 300 A 192.0.2.1\na 200 A 192.0.2.2\n",
		"text:6: warning: a.example. TTL 200 does not match the TTL "
		"300 of the A RRset");
	build_ok(HEAD "a 300 A 192.0.2.1\na 200 A 192.0.2.2\n");
	assert_int_equal(rrset("a.example.", TYPE_A)->ttl_sec, 200);
	drop();
}

/* RFC 2181 section 5 */
static void
duplicates_are_left_out(void **state)
{
	build_ok(HEAD "a MX 1 Ns1\na MX 1 ns1\na MX 1 nS1\nA mx 1 ns1\n");
	assert_int_equal(f.sink.warnings, 3);
	assert_int_equal(rrset("a.example.", TYPE_MX)->count, 1);
	drop();
}

static void
name_servers_without_addresses_are_warned_of(void **state)
{
	warns(HEAD "@ NS nope\n", "text:5: warning: example. NS nope.example. "
		"has no address");
	warns(HEAD "sub NS ns.sub\n", "text:5: warning: sub.example. NS "
		"ns.sub.example. has no glue address");
	warns(HEAD "@ NS alias\nalias CNAME ns1\n", "text:5: warning: example. "
		"NS alias.example. is a CNAME");
	/* Another zone's matter. */
	is_silent(HEAD "sub NS ns.sub\nother NS x.sub\nns.sub A 192.0.2.1\n");
	is_silent(HEAD "sub NS ns1.example.org.\n");
	is_silent(HEAD "sub NS any.wild\n*.wild A 192.0.2.1\n");
}

/* RFC 4035 section 2.4 */
static void
ds_without_ns_is_warned_of(void **state)
{
	warns(HEAD "a DS 1 8 2 000102030405060708090a0b0c0d0e0f"
		"101112131415161718191a1b1c1d1e1f\n",
		"text:5: warning: a.example. has DS but no NS");
}

/* RFC 4592 section 4.2 */
static void
ns_at_a_wildcard_is_warned_of(void **state)
{
	warns(HEAD "*.a NS ns1.example.org.\n", "text:5: warning: *.a.example. "
		"has NS, but delegates none of the names that it stands for");
	is_silent(HEAD "a.* NS ns1.example.org.\n");
	/* Another zone's matter. */
	is_silent(HEAD "a NS ns1.example.org.\n*.a NS ns1.example.org.\n");
}

/* RFC 5155 section 3: a hash is a label of 32 octets below the apex. */
static void
nsec3_without_room_for_a_hash_is_warned_of(void **state)
{
	char apex[300], text[300];

	for (unsigned last = 28; last <= 29; last++) {
		/* 3 x 64 + last + 1 + the root label */
		snprintf(apex, sizeof(apex), "%063u.%063u.%063u.%0*u.", 1, 2,
			3, (int)last, 4);
		snprintf(text, sizeof(text), SOA "@ NS ns1.example.org.\n"
			"@ NSEC3PARAM 1 0 0 -\n");
		assert_int_equal(zone_fixture_build(&f, apex, text, &zone),
			NSD_OK);
		assert_int_equal(strstr(f.findings,
			"is too long a name for NSEC3 records") != NULL,
			last == 29);
		drop();
	}
}

static void
findings_come_in_file_order(void **state)
{
	assert_int_equal(zone_fixture_build(&f, "example.", HEAD
		"z CNAME a\nz A 192.0.2.1\na.org. A 192.0.2.1\nb CNAME a\n"
		"b A 192.0.2.1\n", &zone), NSD_E_ZONE);
	assert_string_equal(f.findings,
		"text:6: error: CNAME and other data at the same name\n"
		"text:7: error: out of zone data: a.org. is outside the zone "
		"for fqdn example.\n"
		"text:9: error: CNAME and other data at the same name\n");
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(thousand_findings_are_told_of_all_threads),
		T(zone_without_soa_is_an_error),
		T(second_soa_is_an_error),
		T(type_for_questions_is_served_if_it_has_no_meaning),
		T(same_soa_again_is_left_out_with_a_warning),
		T(same_soa_again_is_no_finding_for_a_secondary),
		T(soa_may_stand_anywhere_in_the_file),
		T(soa_below_the_apex_is_an_error),
		T(zone_without_ns_is_warned_of),
		T(record_out_of_the_zone_is_an_error),
		T(cname_beside_other_data_is_an_error),
		T(two_cnames_or_dnames_are_an_error),
		T(data_below_a_dname_is_an_error),
		T(ttls_that_differ_are_warned_of_and_the_lowest_used),
		T(duplicates_are_left_out),
		T(name_servers_without_addresses_are_warned_of),
		T(ds_without_ns_is_warned_of),
		T(ns_at_a_wildcard_is_warned_of),
		T(nsec3_without_room_for_a_hash_is_warned_of),
		T(findings_come_in_file_order),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
