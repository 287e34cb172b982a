/*
 * test_parallel.c - a file cut anywhere, and parsed by any number of threads,
 * has the records and findings of one pass by one thread.
 */
#include "fixture.h"
#include "zonefile/kernel.h"

static struct outcome
run(const char *text, size_t len, unsigned threads, size_t chunk,
	const struct kernel *kernel, uint32_t errors_max)
{
	struct zonefile_options options = { .apex = fixture_apex,
		.threads = threads, .errors_max = errors_max };
	struct parse_tuning tuning = { .chunk_size = chunk,
		.head_size = chunk, .parallel_size = 0,
		.generate_max = 1000, .kernel = kernel };

	return outcome_of_text(text, len, &options, &tuning);
}

static void
compare(const char *text, size_t len, const struct outcome *want,
	const struct outcome *have, unsigned threads, size_t chunk)
{
	if (strcmp(want->diags, have->diags) == 0
			&& strcmp(want->text, have->text) == 0
			&& want->err == have->err)
		return;
	fprintf(stderr, "%u threads, pieces of %zu, text:\n%.*s\n---\n"
		"%s%s--- want\n%s%s---\n", threads, chunk, (int)len, text,
		have->text, have->diags, want->text, want->diags);
	fail_msg("the result differs");
}

static void
check(const char *text, size_t len, uint32_t errors_max)
{
	static const size_t chunks[] = { 1, 2, 3, 5, 11, 23, 47, 64, 100,
		200 };
	struct outcome want = run(text, len, 1, 1 << 20, kernel_best(),
		errors_max);
	unsigned threads, k;
	size_t i;

	for (i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		for (threads = 1; threads <= 3; threads += 2) {
			struct outcome have = run(text, len, threads,
				chunks[i], kernel_best(), errors_max);

			compare(text, len, &want, &have, threads, chunks[i]);
			outcome_free(&have);
		}
	}
	for (k = 0; kernel_at(k) != NULL; k++) {
		struct outcome have = run(text, len, 1, 1 << 20, kernel_at(k),
			errors_max);

		compare(text, len, &want, &have, 1, 0);
		outcome_free(&have);
	}
	outcome_free(&want);
}

static void
nasty_files_give_the_same_in_any_pieces(void **state)
{
	static const char *const files[] = {
		"a 1 A 192.0.2.1\n",
		"\xef\xbb\xbf" "a 1 A 192.0.2.1\n b A 192.0.2.1\n",
		/* quotes and parentheses over many pieces */
		"a 1 TXT \"x\ny 1 A 192.0.2.1\n$ORIGIN z.\nb\" c\n"
			"d 1 A 192.0.2.2\n",
		"a 1 TXT ( x\ny 1 A 192.0.2.1\n$ORIGIN z.\nb ) \n"
			"d 1 A 192.0.2.2\n",
		"a 1 TXT ( x ; ) \" \ny \"\n) ;\" \n(\n\") ; c\nb ) \n"
			"d 1 A 192.0.2.2\n",
		/* directives in the middle */
		"$TTL 1\na A 192.0.2.1\n$TTL 2\nb A 192.0.2.1\nb A 192.0.2.1\n"
			"$ORIGIN x.\nc NS d\nc NS d\n$ORIGIN y\ne MX 1 f\n"
			"g MX 1 h\n$TTL 3\n A 192.0.2.1\n",
		/* an owner that ends in an escaped dot is not absolute */
		"a.x. 1 A 192.0.2.1\nb.x. 1 A 192.0.2.1\n$ORIGIN y.\n"
			"c.x. 1 A 192.0.2.1\nd.x. 1 A 192.0.2.1\n"
			"e\\. 1 A 192.0.2.1\nf\\. 1 A 192.0.2.1\n",
		/* blank owners and stated TTLs far back */
		"a 1 A 192.0.2.1\n A 192.0.2.2\n A 192.0.2.3\n A 192.0.2.4\n"
			" A 192.0.2.5\n 7 A 192.0.2.6\n A 192.0.2.7\n",
		"@ SOA a b 1 2 3 4 5\n NS a\n NS b\n NS c\nd 1 A 192.0.2.1\n"
			" A 192.0.2.2\n A 192.0.2.3\n",
		"; one\n; two\n; three\na.x. A 192.0.2.1\n"
			"@ SOA a. b. 1 2 3 4 5\nd.x. A 192.0.2.1\n"
			"e.x. A 192.0.2.1\nf.x. A 192.0.2.1\n"
			"g.x. A 192.0.2.1\nh.x. A 192.0.2.1\n",
		/* a bad owner with lines that would repeat it */
		"a 1 A 192.0.2.1\nb..c A 192.0.2.2\n A 192.0.2.3\n; x\n"
			" A 192.0.2.4\nd A 192.0.2.5\n",
		/* comments with quotes, and quotes with comments */
		"; \"\na 1 A 192.0.2.1 ; \"x\n; (\nb 1 TXT \"; x\n;y\" ; \"\n"
			"c 1 A 192.0.2.1\n",
		/* errors in between, with their lines */
		"x X\n\n\na 1 A 192.0.2.1\ny Y\n(\n z )\n)\nb A 192.0.2.1\n",
		"a 1 A 192.0.2.1\n\n\n\nb 1 TXT \"\n\n\n",
		"a 1 A 192.0.2.1\n\n( \n ( b ) ( \n\n\n",
		/* $GENERATE and a refused $INCLUDE */
		"$GENERATE 1-9 a$ 1 A 192.0.2.$\n A 192.0.2.1\n$INCLUDE x\n"
			"$GENERATE 1-2 x TXT (\n\"$\n$\" )\nb 2 A 192.0.2.1\n",
		/* escapes at the end of lines */
		"a\\\n 1 A 192.0.2.1\nb 1 TXT \"x\\\ny\\\"\n\"\\\\\n"
			"c 1 A 1\\.2\n",
		"\n\n\n\n \n;\n;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;"
			";;;;;\n"
			"a 1 A 192.0.2.1\n\r\n\r\n \r\nb 1 A 192.0.2.1\r",
		"a 1 SVCB 1 . alpn=\"h2\n b\" key6=\"\nx\"\nb 1 A 192.0.2.1\n",
	};
	size_t i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		check(files[i], strlen(files[i]), 50);
		check(files[i], strlen(files[i]), 2);
	}
}

static void
nul_octets_give_the_same_in_any_pieces(void **state)
{
	static const char text[] = "a 1 A 192.0.2.1\nb 1 A\0 1\n; \0\n"
		"c 1 TXT \"x\n\0\ny\"\nd 1 A 192.0.2.1\n( \0\n\n ) x\n";

	check(text, sizeof(text) - 1, 50);
}

/* Lines of which each may be what the next one depends on. */
static const char *const lines[] = {
	"a 1 A 192.0.2.1\n", "b A 192.0.2.2\n", " A 192.0.2.3\n",
	"\t60 IN NS c\n", "$ORIGIN sub\n", "$ORIGIN example.org.\n",
	"$ORIGIN x.\n", "$TTL 5\n", "$TTL 1h\n", "c TXT \"a\nb\"\n",
	" TXT \"a;b\" ; \"c\n", "d ( A\n 192.0.2.4 )\n", "; comment ( \"\n",
	"\n", " \n", "e..f A 192.0.2.5\n", "g X\n", "h TXT (\n\"x\"\n\n)\n",
	"$GENERATE 1-3 i$ A 192.0.2.$\n", "j 2 MX 1 @\n", "@ NS @\n",
	"k SOA a b 1 2 3 4 9\n", "l.x. 5 NS m\n", " TYPE65280 \\# 1 00\n",
	"m NS n.x.\n", "a\\\n", "n A 192.0.2.6 )\n", "$x\n", "\"o\" A 1\n",
	"p 1 RRSIG A 13 2 60 20300101000000 20200101000000 1 q AAAA\n",
	"r 1 AAAA 2001:db8::1\n", "s 1 DS 1 13 1 "
	"0123456789abcdef0123456789abcdef01234567\n",
	"2vptu5timamqttgl4luu9kg21e0aor3s 1 NSEC3 1 0 0 - "
	"2vptu5timamqttgl4luu9kg21e0aor3t A RRSIG\n",
};
/* Rare, as they change all that follows. */
static const char *const openers[] = { "\"", "(", "t TXT \"\n", "u NS (\n" };

static void
random_files_give_the_same_in_any_pieces(void **state)
{
	unsigned seed = 20261121, round;
	const char *rounds = getenv("NSD_TEST_ROUNDS");
	unsigned max = rounds != NULL ? (unsigned)atoi(rounds) : 150;

	for (round = 0; round < max; round++) {
		char text[4096] = "";
		unsigned n = (unsigned)rand_r(&seed) % 40;

		while (n-- > 0) {
			size_t i = (size_t)rand_r(&seed);

			if (rand_r(&seed) % 40 == 0)
				strcat(text, openers[i % (sizeof(openers)
					/ sizeof(openers[0]))]);
			else
				strcat(text, lines[i % (sizeof(lines)
					/ sizeof(lines[0]))]);
		}
		if (rand_r(&seed) % 4 == 0 && text[0] != '\0')
			text[(size_t)rand_r(&seed) % strlen(text)] = '\0';
		check(text, strlen(text), 1 + (unsigned)rand_r(&seed) % 12);
	}
}

static char *
make_plain(size_t lines_count, size_t *len)
{
	char *text = malloc(lines_count * 64), *p = text;
	size_t i;

	assert_non_null(text);
	p += sprintf(p, "$TTL 60\n@ SOA a b 1 2 3 4 5\n");
	for (i = 0; i < lines_count; i++)
		p += sprintf(p, "host%zu.example.org. IN A 192.0.2.%zu\n", i,
			i % 256);
	*len = (size_t)(p - text);
	return text;
}

static void
note_progress(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *last = ctx;

	assert_true(done >= *last);
	assert_true(done <= total);
	*last = done;
}

static void
progress_reaches_the_total(void **state)
{
	struct parse_tuning tuning = parse_tuning_default;
	unsigned threads;
	size_t len;
	char *text = make_plain(3000, &len);

	tuning.chunk_size = 5000;
	tuning.head_size = 1000;
	tuning.parallel_size = 0;
	for (threads = 1; threads <= 4; threads++) {
		uint64_t last = 0;
		struct zonefile_options options = { .apex = fixture_apex,
			.threads = threads, .on_progress = note_progress,
			.progress_ctx = &last };
		struct outcome o = outcome_of_text(text, len, &options,
			&tuning);

		assert_int_equal(last, len);
		assert_int_equal(o.rr_count, 3001);
		outcome_free(&o);
	}
	free(text);
}

static void
a_large_file_by_many_threads_is_as_by_one(void **state)
{
	size_t len;
	char *text = make_plain(100000, &len);
	struct outcome want = run(text, len, 1, 1 << 20, kernel_best(), 50);
	struct outcome have = run(text, len, 4, 64 << 10, kernel_best(), 50);

	assert_int_equal(want.rr_count, 100001);
	assert_string_equal(want.text, have.text);
	outcome_free(&want);
	outcome_free(&have);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nasty_files_give_the_same_in_any_pieces),
		cmocka_unit_test(nul_octets_give_the_same_in_any_pieces),
		cmocka_unit_test(random_files_give_the_same_in_any_pieces),
		cmocka_unit_test(progress_reaches_the_total),
		cmocka_unit_test(a_large_file_by_many_threads_is_as_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
