/* test_audit.c - findings of an audit in zones made line by line: the count
 * of each kind, which does not depend on the number of threads. Signatures are
 * made up, so nothing is verified here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/audit.h"
#include "compile/build.h"
#include "dns/name.h"
#include "dns/nsec3.h"
#include "lib/failing.h"
#include "lib/one_fixture.h"
#include "store/writer.h"
#include "zonedb/release.h"

#define NOW 1700000000u
#define TEXT_ROOM (1u << 18)
#define KEY "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
#define TAG 1038 /* of "257 3 13 KEY" */

static char text[TEXT_ROOM];

static int
open_audit(void **state)
{
	text[0] = '\0';
	return open_fixture(state);
}

/* ---- text -------------------------------------------------------------- */

static void __attribute__((format(printf, 1, 2)))
add(const char *format, ...)
{
	size_t at = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + at, TEXT_ROOM - at, format, args);
	va_end(args);
	assert_true(strlen(text) < TEXT_ROOM - 1);
}

static void
add_sig(const char *owner, const char *type)
{
	const char *counted = strncmp(owner, "*.", 2) == 0 ? owner + 2 : owner;

	add("%s 60 RRSIG %s 13 %u 60 1800000000 1600000000 %d example. AAAA\n",
		owner, type,
		name_count_labels(zone_fixture_name(counted)), TAG);
}

/* Adds a record and a signature over it. */
static void
add_signed(const char *owner, const char *type, const char *rdata)
{
	add("%s 60 %s %s\n", owner, type, rdata);
	add_sig(owner, type);
}

static void
add_apex(void)
{
	add_signed("example.", "SOA", "ns.example. h.example. 1 2 3 4 60");
	add_signed("example.", "NS", "ns.example.");
	add_signed("example.", "DNSKEY", "257 3 13 " KEY);
}

/* Adds one name of each sort. */
static void
add_names(void)
{
	add_signed("a.b.example.", "A", "192.0.2.1");
	add("cut.example. 60 NS ns.cut.example.\n");
	add("ns.cut.example. 60 A 192.0.2.2\n");
	add("cut.example. 60 A 192.0.2.9\n");
	add("deep.ent.example. 60 NS ns.example.\n");
	add_signed("ns.example.", "A", "192.0.2.3");
	add("sec.example. 60 NS ns.example.\n");
	add_signed("sec.example.", "DS", "1 13 2 000102030405060708090a0b0c0d"
		"0e0f101112131415161718191a1b1c1d1e1f");
	add_signed("*.w.example.", "TXT", "x");
}

static const struct link {
	const char *name;
	const char *types; /* without those of the chain itself */
	bool optional;
	bool empty;
} links[] = {
	{"example.", "NS SOA RRSIG DNSKEY", false, false},
	{"a.b.example.", "A RRSIG", false, false},
	{"cut.example.", "NS", true, false},
	{"deep.ent.example.", "NS", true, false},
	{"ns.example.", "A RRSIG", false, false},
	{"sec.example.", "NS DS RRSIG", false, false},
	{"*.w.example.", "TXT RRSIG", false, false},
	{"b.example.", "", false, true},
	{"ent.example.", "", true, true},
	{"w.example.", "", false, true},
};

#define LINKS (sizeof(links) / sizeof(links[0]))

/* Adds the chain without one name; if that is LINKS, all of it. */
static void
add_nsec(size_t without)
{
	for (size_t i = 0; i < 7; i++) {
		char rdata[256];
		const char *rrsig = i == 2 || i == 3 ? "RRSIG" : "";

		if (i == without)
			continue;
		snprintf(rdata, sizeof(rdata), "%s %s %s NSEC",
			links[(i + 1) % 7].name, links[i].types, rrsig);
		add_signed(links[i].name, "NSEC", rdata);
	}
}

struct hashed {
	char label[NSEC3_LABEL_LEN + 1];
	const struct link *link;
};

static int
hashed_compare(const void *a, const void *b)
{
	return strcmp(((const struct hashed *)a)->label,
		((const struct hashed *)b)->label);
}

static void
hash_print(const char *name, const struct nsec3_params *params,
	char label[NSEC3_LABEL_LEN + 1])
{
	struct nsec3_job job = {.name = zone_fixture_name(name)}, *list = &job;

	nsec3_hash_batch(params, &list, 1);
	nsec3_print_label(job.hash, (uint8_t *)label);
	label[NSEC3_LABEL_LEN] = '\0';
}

/* Which records have the opt-out flag. If any have it, the records that may be
 * missing then are left out. */
enum opt_out { NONE, ALL, THOSE_THAT_NEED_IT, THE_OTHERS };

/* Is the hash of any name that was left out between these two? */
static bool
covers_any(const struct nsec3_params *params, const char *label,
	const char *next)
{
	for (size_t i = 0; i < LINKS; i++) {
		char hash[NSEC3_LABEL_LEN + 1];

		if (!links[i].optional)
			continue;
		hash_print(links[i].name, params, hash);
		if (strcmp(label, next) < 0
			? strcmp(hash, label) > 0 && strcmp(hash, next) < 0
			: strcmp(hash, label) > 0 || strcmp(hash, next) < 0)
			return true;
	}
	return false;
}

/* Adds a chain with a salt of one octet, without one name. */
static void
add_nsec3(uint8_t salt, enum opt_out opt_out, size_t without)
{
	const struct nsec3_params params = {&salt, 1, 0};
	struct hashed hashed[LINKS];
	size_t count = 0;

	for (size_t i = 0; i < LINKS; i++) {
		if (i == without || (opt_out != NONE && links[i].optional))
			continue;
		hash_print(links[i].name, &params, hashed[count].label);
		hashed[count++].link = &links[i];
	}
	qsort(hashed, count, sizeof(*hashed), hashed_compare);
	for (size_t i = 0; i < count; i++) {
		char owner[64], rdata[256];
		bool apex = hashed[i].link == &links[0];
		const char *next = hashed[(i + 1) % count].label;
		bool needs = covers_any(&params, hashed[i].label, next);

		snprintf(owner, sizeof(owner), "%.32s.example.",
			hashed[i].label);
		snprintf(rdata, sizeof(rdata), "1 %d 0 %02x %s %s %s",
			opt_out == ALL || opt_out == (needs
				? THOSE_THAT_NEED_IT : THE_OTHERS), salt,
			next, hashed[i].link->types,
			apex ? "NSEC3PARAM" : "");
		add_signed(owner, "NSEC3", rdata);
	}
}

static void
add_param(uint8_t salt)
{
	add("example. 60 NSEC3PARAM 1 0 0 %02x\n", salt);
	if (strstr(text, "RRSIG NSEC3PARAM") == NULL)
		add_sig("example.", "NSEC3PARAM");
}

/* ---- audits ------------------------------------------------------------ */

static enum nsd_err
audit(struct audit_report *report, unsigned threads, bool strict)
{
	const struct audit_options options = {
		.apex = zone_fixture_name("example."),
		.now_sec = NOW,
		.strict = strict,
		.threads = threads,
	};
	store_ref zone;
	enum nsd_err err;

	assert_int_equal(zone_fixture_build(&f, "example.", text, &zone),
		NSD_OK);
	f.sink.errors = f.sink.warnings = 0;
	err = audit_zone(f.view, store_get(f.view, zone), &options, &f.sink,
		report);
	release_zone(store_writer_heap(f.writer), zone);
	return err;
}

/* The audit finds exactly these: pairs of kind and count, up to a negative
 * kind. */
static void
expect(int kind, ...)
{
#define NAME(kind, breaks, several) #kind,
	static const char *const names[] = {AUDIT_KINDS(NAME)};
#undef NAME
	uint64_t want[AUDIT_KIND_COUNT] = {0};
	va_list args;

	va_start(args, kind);
	for (; kind >= 0; kind = va_arg(args, int))
		want[kind] = (uint64_t)va_arg(args, int);
	va_end(args);
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct audit_report report;

		assert_int_equal(audit(&report, threads, true), NSD_OK);
		for (int i = 0; i < AUDIT_KIND_COUNT; i++)
			if (report.count[i] != want[i])
				fail_msg("%s: %u, not %u\n%s\n%s",
					names[i],
					(unsigned)report.count[i],
					(unsigned)want[i], f.findings, text);
	}
}

static void
add_nsec_zone(size_t without)
{
	add_apex();
	add_names();
	add_nsec(without);
}

static void
zone_with_nsec_has_no_findings(void **state)
{
	add_nsec_zone(LINKS);
	expect(-1);
}

/* For the signatures over an RRset 1,000 keys are looked at, of which the good
 * one takes the first. These keys, which differ in three words and have one
 * tag, may not sign. */
static void
number_of_keys_that_are_tried_is_bounded(void **state)
{
	for (unsigned last = 999; last <= 1000; last++) {
		text[0] = '\0';
		add_nsec_zone(LINKS);
		for (unsigned i = 0; i < last; i++)
			add("example. 60 DNSKEY \\# 68 0001030d%04x%04x%04x"
				"%0116d\n", i % 100, i / 100,
				0x200u - i % 100 - i / 100, 0);
		add("ns.example. 60 RRSIG A 13 2 60 1800000000 1600000000 %u "
			"example. AAAA\n", 0x50eu);
		expect(last == 999 ? AUDIT_RRSIG_NO_KEY : AUDIT_RRSIG_WRONG, 1,
			-1);
	}
}

/* RFC 4035 section 5.2: the key that a DS names signs the RRset of the apex. */
static void
key_that_signs_other_keys_does_not_sign_those_of_the_zone(void **state)
{
	add_signed("example.", "SOA", "ns.example. h.example. 1 2 3 4 60");
	add_signed("example.", "NS", "ns.example.");
	add("example. 60 DNSKEY 257 3 13 " KEY "\n");
	add("example. 60 DNSKEY 256 3 13 " KEY "\n");
	add("example. 60 RRSIG DNSKEY 13 1 60 1800000000 1600000000 %d "
		"example. AAAA\n", TAG - 1);
	add_names();
	add_nsec(LINKS);
	expect(AUDIT_KEY_SEP, 1, -1);
	add_signed("ns.example.", "DNSKEY", "257 3 13 " KEY);
	expect(AUDIT_KEY_SEP, 1, AUDIT_KEY_PLACE, 1, AUDIT_NSEC_BITMAP, 1, -1);
}

/* RFC 5155 section 7.1 */
static void
zone_with_nsec3_has_no_findings(void **state)
{
	add_apex();
	add_names();
	add_param(0xab);
	add_nsec3(0xab, NONE, LINKS);
	expect(-1);
}

static void
opt_out_may_leave_out_insecure_names(void **state)
{
	add_apex();
	add_names();
	add_param(0xab);
	add_nsec3(0xab, ALL, LINKS);
	expect(-1);
}

static void
opt_out_leaves_out_nothing_else(void **state)
{
	for (size_t i = 0; i < LINKS; i++) {
		text[0] = '\0';
		add_apex();
		add_names();
		add_param(0xab);
		add_nsec3(0xab, ALL, i);
		if (links[i].optional)
			expect(-1);
		else
			expect(AUDIT_NSEC3_MISSING, 1, -1);
	}
}

/* There are many salts, so that the last record, which covers both ends, is
 * among those that need the flag. */
static void
record_that_covers_has_the_flag(void **state)
{
	for (unsigned salt = 0; salt < 48; salt++) {
		text[0] = '\0';
		add_apex();
		add_names();
		add_param((uint8_t)salt);
		add_nsec3((uint8_t)salt, THOSE_THAT_NEED_IT, LINKS);
		expect(-1);
		text[0] = '\0';
		add_apex();
		add_names();
		add_param((uint8_t)salt);
		add_nsec3((uint8_t)salt, THE_OTHERS, LINKS);
		expect(AUDIT_NSEC3_MISSING, 3, -1);
	}
}

static void
without_opt_out_no_name_may_lack_its_record(void **state)
{
	for (size_t i = 0; i < LINKS; i++) {
		text[0] = '\0';
		add_apex();
		add_names();
		add_param(0xab);
		add_nsec3(0xab, NONE, i);
		expect(AUDIT_NSEC3_MISSING, 1, -1);
	}
}

/* RFC 5155 section 4: each NSEC3PARAM stands for a whole chain */
static void
each_of_several_chains_is_looked_at(void **state)
{
	add_apex();
	add_names();
	add_param(0xab);
	add_param(0xcd);
	add_nsec3(0xab, NONE, LINKS);
	add_nsec3(0xcd, ALL, 4);
	expect(AUDIT_NSEC3_MISSING, 1, -1);
}

static void
chain_without_parameters_is_not_used(void **state)
{
	add_apex();
	add_names();
	add_param(0xab);
	add_nsec3(0xab, NONE, LINKS);
	add_nsec3(0xcd, NONE, 3);
	expect(AUDIT_NSEC3_UNUSED, 1, -1);
}

static void
parameters_without_chain_are_told(void **state)
{
	add_apex();
	add_names();
	add_param(0xab);
	add_param(0xcd);
	add_nsec3(0xab, NONE, LINKS);
	expect(AUDIT_NO_DENIAL, 1, -1);
}

/* RFC 4035 section 2.3 */
static void
name_without_nsec_is_told(void **state)
{
	/* Also without the NSEC of the apex, the zone has a chain. */
	for (size_t i = 0; i < 7; i++) {
		text[0] = '\0';
		add_nsec_zone(i);
		expect(AUDIT_NSEC_MISSING, 1, -1);
	}
}

/* RFC 6672 section 2.4, RFC 5155 section 7.1: names below a DNAME, which a
 * secondary may be sent, are not looked at */
static void
names_below_a_dname_are_hidden(void **state)
{
	add_apex();
	add_signed("d.example.", "DNAME", "other.");
	add("x.d.example. 60 A 192.0.2.1\n");
	add_signed("example.", "NSEC", "d.example. NS SOA RRSIG NSEC DNSKEY");
	add_signed("d.example.", "NSEC", "example. DNAME RRSIG NSEC");
	f.secondary = true;
	expect(-1);
}

static void
unsigned_zone_is_left_alone(void **state)
{
	struct audit_report report;

	add("example. 60 SOA ns.example. h.example. 1 2 3 4 60\n"
		"example. 60 NS ns.example.\nns.example. 60 A 192.0.2.1\n"
		"ns.example. 60 NSEC example. A\n");
	assert_int_equal(audit(&report, 1, false), NSD_OK);
	assert_int_equal(f.sink.warnings, 0);
	expect(AUDIT_UNSIGNED, 1, -1);
	assert_int_equal(f.sink.errors, 1);
}

static void
names_with_nothing_signed_are_told_and_counted(void **state)
{
	struct audit_report report;

	add_apex();
	for (unsigned i = 0; i < 500; i++)
		add("n%03u.example. 60 A 192.0.2.1\n", i);
	add_signed("example.", "NSEC",
		"n000.example. NS SOA RRSIG NSEC DNSKEY");
	expect(AUDIT_RRSIG_MISSING, 500, AUDIT_NSEC_MISSING, 500, -1);
	/* 20 of each kind, and a line that counts the rest. */
	assert_int_equal(f.sink.errors, 42);
	assert_int_equal(audit(&report, 2, false), NSD_OK);
	assert_int_equal(f.sink.errors, 0);
	assert_int_equal(f.sink.warnings, 42);
	assert_non_null(strstr(f.findings,
		"480 more names without NSEC are not shown"));
}

/* RFC 4034 section 3.1.5 */
static void
period_has_its_first_and_last_second(void **state)
{
	static const struct {
		const char *period; /* expiration, inception */
		int kind;
	} rows[] = {
		{"1700000000 1600000000", -1},
		{"1699999999 1600000000", AUDIT_RRSIG_EXPIRED},
		{"1800000000 1700000000", -1},
		{"1800000000 1700000001", AUDIT_RRSIG_EARLY},
		{"1700000000 1700000000", -1},
		{"1600000000 1800000000", AUDIT_RRSIG_PERIOD},
		/* Serial arithmetic: half of the numbers are in the future. */
		{"3847483647 1700000000", -1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		text[0] = '\0';
		add_nsec_zone(LINKS);
		add("ns.example. 60 AAAA 2001:db8::1\n"
			"ns.example. 60 RRSIG AAAA 13 2 60 %s %d example. "
			"AAAA\n", rows[i].period, TAG);
		/* The bitmap of ns does not have AAAA. */
		if (rows[i].kind < 0)
			expect(AUDIT_NSEC_BITMAP, 1, -1);
		else
			expect(AUDIT_NSEC_BITMAP, 1, rows[i].kind, 1, -1);
	}
}

/* Wherever memory runs out, the audit ends with that error or tells less. */
static void
memory_may_run_out_anywhere(void **state)
{
	struct audit_options options = {
		.apex = zone_fixture_name("example."),
		.now_sec = NOW,
		.strict = true,
	};
	struct audit_report report;
	unsigned failed = 0, done = 0;
	store_ref zone;

	add_apex();
	add_names();
	add_param(0xab);
	add_nsec3(0xab, NONE, 3);
	for (unsigned i = 0; i < 100; i++)
		add("n%03u.example. 60 A 192.0.2.1\n", i);
	assert_int_equal(zone_fixture_build(&f, "example.", text, &zone),
		NSD_OK);
	for (int at = 0; at < 300; at++) {
		enum nsd_err err;

		options.threads = 1 + (unsigned)at % 3;
		err = FAILING_FROM(at,
			audit_zone(f.view, store_get(f.view, zone), &options,
				&f.sink, &report));
		if (err == NSD_OK) {
			assert_int_equal(report.count[AUDIT_RRSIG_MISSING],
				100);
			done++;
		} else {
			assert_int_equal(err, NSD_E_MEMORY);
			failed++;
		}
	}
	assert_true(failed >= 5);
	assert_true(done >= 5);
	release_zone(store_writer_heap(f.writer), zone);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_audit, \
	close_fixture)
		TEST(zone_with_nsec_has_no_findings),
		TEST(number_of_keys_that_are_tried_is_bounded),
		TEST(key_that_signs_other_keys_does_not_sign_those_of_the_zone),
		TEST(zone_with_nsec3_has_no_findings),
		TEST(opt_out_may_leave_out_insecure_names),
		TEST(opt_out_leaves_out_nothing_else),
		TEST(record_that_covers_has_the_flag),
		TEST(without_opt_out_no_name_may_lack_its_record),
		TEST(each_of_several_chains_is_looked_at),
		TEST(chain_without_parameters_is_not_used),
		TEST(parameters_without_chain_are_told),
		TEST(name_without_nsec_is_told),
		TEST(names_below_a_dname_are_hidden),
		TEST(unsigned_zone_is_left_alone),
		TEST(names_with_nothing_signed_are_told_and_counted),
		TEST(period_has_its_first_and_last_second),
		TEST(memory_may_run_out_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
