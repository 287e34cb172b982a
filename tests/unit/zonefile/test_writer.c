/*
 * test_writer.c - zone files as NSD writes them; what is written reads back
 * as the same records.
 */
#include "fixture.h"
#include "zonefile/writer.h"

/* Parses text and writes its records; free the result. */
static char *
rewrite(const char *text, const uint8_t *apex)
{
	struct zonefile_options options = { .apex = apex };
	struct diag_sink sink = { NULL, 0, 0 };
	struct zonefile_result result;
	struct zonefile_writer w;
	const struct rrbatch *b;
	const uint8_t *owner = NULL;
	size_t size;
	char *out;
	FILE *f = open_memstream(&out, &size);

	assert_non_null(f);
	assert_int_equal(zonefile_parse_text("test", text, strlen(text),
		&options, &sink, &result), NSD_OK);
	assert_int_equal(zonefile_writer_init(&w, f, apex), NSD_OK);
	for (b = result.batches; b != NULL; b = b->next) {
		const struct rrbatch_rr *rr = rrbatch_first(b);
		size_t i;

		for (i = 0; i < b->count; i++, rr = rrbatch_next(rr)) {
			if (rr->owner_len > 0)
				owner = rr->data;
			assert_int_equal(zonefile_writer_rr(&w, owner,
				rr->ttl_sec, rr->type, rrbatch_rr_rdata(rr),
				rr->rdlen), NSD_OK);
		}
	}
	zonefile_writer_fini(&w);
	zonefile_result_fini(&result);
	assert_int_equal(fclose(f), 0);
	return out;
}

static void
expect_written(const char *text, const uint8_t *apex, const char *want)
{
	char *out = rewrite(text, apex);

	assert_string_equal(out, want);
	free(out);
}

/* Compared with what nsd-checkzone -p of NSD 4.6.1 prints for these records. */
static void
written_as_nsd_writes(void **state)
{
	expect_written(
		"@ 3600 SOA ns hostmaster 2024010101 3600 600 86400 300\n"
		" NS ns\n NS ns.sub\n MX 10 mail\n"
		" TXT \"hello world\" \"x;y\" a\\\"b\n"
		"_sip._tcp SRV 1 2 3 ns\nb.c TXT q\na.b.c A 192.0.2.3\n"
		"c.b.c 7200 A 192.0.2.4\n 1W TXT foo\nns 3600 A 192.0.2.1\n"
		" AAAA 2001:db8::1\ns SVCB 1 . alpn=\"h2,h3\" port=53\n"
		"ns.sub A 192.0.2.2\n*.w CNAME ns\nx\\.y A 192.0.2.5\n"
		"z TYPE65280 \\# 3 010203\n", fixture_apex,
		"$ORIGIN org.\n"
		"example\t3600\tIN\tSOA\tns.example.org. "
			"hostmaster.example.org. (\n"
		"\t\t2024010101 3600 600 86400 300 )\n"
		"\t3600\tIN\tNS\tns.example.org.\n"
		"\t3600\tIN\tNS\tns.sub.example.org.\n"
		"\t3600\tIN\tMX\t10 mail.example.org.\n"
		"\t3600\tIN\tTXT\t\"hello world\" \"x;y\" \"a\\\"b\"\n"
		"$ORIGIN _tcp.example.org.\n"
		"_sip\t3600\tIN\tSRV\t1 2 3 ns.example.org.\n"
		"$ORIGIN c.example.org.\n"
		"b\t3600\tIN\tTXT\t\"q\"\n"
		"$ORIGIN b.c.example.org.\n"
		"a\t3600\tIN\tA\t192.0.2.3\n"
		"c\t7200\tIN\tA\t192.0.2.4\n"
		"\t604800\tIN\tTXT\t\"foo\"\n"
		"$ORIGIN example.org.\n"
		"ns\t3600\tIN\tA\t192.0.2.1\n"
		"\t3600\tIN\tAAAA\t2001:db8::1\n"
		"s\t3600\tIN\tSVCB\t1 . alpn=\"h2,h3\" port=53\n"
		"$ORIGIN sub.example.org.\n"
		"ns\t3600\tIN\tA\t192.0.2.2\n"
		"$ORIGIN w.example.org.\n"
		"*\t3600\tIN\tCNAME\tns.example.org.\n"
		"$ORIGIN example.org.\n"
		"x\\.y\t3600\tIN\tA\t192.0.2.5\n"
		"z\t3600\tIN\tTYPE65280\t\\# 3 010203\n");
}

static void
root_is_a_dot_behind_its_origin(void **state)
{
	expect_written(". 3600 SOA a. b. 1 2 3 4 5\n NS a.\na A 192.0.2.1\n"
		"b.a A 192.0.2.1\norg NS ns.org\nns.org A 192.0.2.1\n",
		(const uint8_t *)"",
		"$ORIGIN .\n.\t3600\tIN\tSOA\ta. b. (\n\t\t1 2 3 4 5 )\n"
		"\t3600\tIN\tNS\ta.\na\t3600\tIN\tA\t192.0.2.1\n"
		"$ORIGIN a.\nb\t3600\tIN\tA\t192.0.2.1\n"
		"$ORIGIN .\norg\t3600\tIN\tNS\tns.org.\n"
		"$ORIGIN org.\nns\t3600\tIN\tA\t192.0.2.1\n");
}

/* Names that would mean something else at the start of a line. */
static void
owners_that_look_like_syntax_are_escaped(void **state)
{
	expect_written("\\@ 1 A 192.0.2.1\n\\$ORIGIN 1 A 192.0.2.1\n"
		"\\;\\\"\\032\\( 1 A 192.0.2.1\n"
		"\\009 1 SOA \\032 a\\ b 1 2 3 4 5\n",
		(const uint8_t *)"",
		"$ORIGIN .\n\\@\t1\tIN\tA\t192.0.2.1\n"
		"\\$origin\t1\tIN\tA\t192.0.2.1\n"
		"\\;\\\"\\032\\(\t1\tIN\tA\t192.0.2.1\n"
		"\\009\t1\tIN\tSOA\t\\032. a\\032b. (\n\t\t1 2 3 4 5 )\n");
}

static void
the_longest_owner_and_rdata_are_written(void **state)
{
	static char text[400000], want[400000];
	char *p = text, *out;
	int i;

	for (i = 0; i < 3; i++)
		p += sprintf(p, "%s\\%03d%062d", i > 0 ? "." : "", 200, i);
	p += sprintf(p, ".%061d. 1 TYPE65280 \\# 65535 ", 7);
	for (i = 0; i < 65535; i++)
		p += sprintf(p, "%02x", i & 255);
	sprintf(p, "\n");
	out = rewrite(text, (const uint8_t *)"");
	assert_int_equal(strncmp(out, "$ORIGIN \\200", 12), 0);
	assert_int_equal(strlen(strstr(out, "\\# 65535 ")), 9 + 131070 + 1);
	strcpy(want, out);
	free(out);
	out = rewrite(want, (const uint8_t *)"");
	assert_string_equal(out, want);
	free(out);
}

/* Fault 50: told, not lost. */
static void
full_disk_is_an_error(void **state)
{
	static const uint8_t rdata[4] = { 192, 0, 2, 1 };
	FILE *f = fopen("/dev/full", "w");
	struct zonefile_writer w;
	enum nsd_err err = NSD_OK;
	int i;

	assert_non_null(f);
	assert_int_equal(zonefile_writer_init(&w, f, fixture_apex), NSD_OK);
	for (i = 0; i < 100000 && err == NSD_OK; i++)
		err = zonefile_writer_rr(&w, fixture_apex, 1, TYPE_A, rdata,
			4);
	assert_int_equal(err, NSD_E_SYSTEM);
	zonefile_writer_fini(&w);
	fclose(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_as_nsd_writes),
		cmocka_unit_test(root_is_a_dot_behind_its_origin),
		cmocka_unit_test(owners_that_look_like_syntax_are_escaped),
		cmocka_unit_test(the_longest_owner_and_rdata_are_written),
		cmocka_unit_test(full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
