/*
 * test_scan.c - each scanner finds the words that a simple one, written octet
 * by octet, finds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "zonefile/kernel.h"
#include "zonefile/scan.h"

struct words {
	uint32_t starts[4096], ends[4096];
	size_t count;
	bool open_quote;
};

static bool
is_blank(const char *text, size_t len, size_t i)
{
	return text[i] == ' ' || text[i] == '\t' || (text[i] == '\r'
		&& (i + 1 == len || text[i + 1] == '\n'));
}

static bool
is_single(const char *text, size_t len, size_t i)
{
	char c = text[i];

	return c == '\n' || c == '(' || c == ')' || c == 0
		|| (c == '\r' && !is_blank(text, len, i));
}

static void
add(struct words *w, size_t start, size_t end)
{
	w->starts[w->count] = (uint32_t)start;
	w->ends[w->count++] = (uint32_t)end;
}

/* The place behind the closing quote of the one at i. */
static size_t
skip_quote(const char *text, size_t len, size_t i, struct words *w)
{
	for (i++; i < len; i++) {
		if (text[i] == '"')
			return i + 1;
		if (text[i] == '\\')
			i++;
	}
	w->open_quote = true;
	return len;
}

static size_t
skip_word(const char *text, size_t len, size_t i)
{
	while (i < len) {
		char c = text[i];

		if (is_blank(text, len, i) || is_single(text, len, i)
				|| c == ';' || c == '"')
			break;
		if (c == '\\' && i + 1 < len && text[i + 1] != '\n'
				&& text[i + 1] != 0)
			i += 2;
		else
			i++;
	}
	return i;
}

static void
scan_simply(const char *text, size_t len, struct words *w)
{
	size_t i = 0;

	w->count = 0;
	w->open_quote = false;
	while (i < len) {
		size_t end;

		if (is_blank(text, len, i)) {
			i++;
			continue;
		}
		if (text[i] == ';') {
			for (; i < len && text[i] != '\n'; i++) {
				if (text[i] == 0)
					add(w, i, i + 1);
			}
			continue;
		}
		if (is_single(text, len, i))
			end = i + 1;
		else if (text[i] == '"')
			end = skip_quote(text, len, i, w);
		else
			end = skip_word(text, len, i);
		add(w, i, end);
		i = end;
	}
}

/* Scans in windows of `window` octets. */
static void
scan_with(const struct kernel *kernel, const char *text, size_t len,
	size_t window, struct words *w)
{
	static uint32_t starts[4096 + SCAN_PADDING], ends[4096 + SCAN_PADDING];
	/* The padding holds what would be words, to show it is not read as
	 * such; malloc, so that a read behind it is found. */
	uint8_t *copy = malloc(len + SCAN_PADDING);
	struct scan s;

	assert_non_null(copy);
	memcpy(copy, text, len);
	memset(copy + len, 'x', SCAN_PADDING);
	scan_init(&s, copy, len);
	s.starts = starts;
	s.ends = ends;
	while (s.at < len)
		kernel->scan_run(&s, len - s.at > window ? s.at + window
			: len);
	scan_finish(&s);
	assert_int_equal(s.start_count, s.end_count);
	w->count = s.start_count;
	memcpy(w->starts, starts, w->count * sizeof(*starts));
	memcpy(w->ends, ends, w->count * sizeof(*ends));
	w->open_quote = s.in_quote;
	free(copy);
}

static void
print_text(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		fprintf(stderr, "%02x ", (uint8_t)text[i]);
	fprintf(stderr, "\n%.*s\n", (int)len, text);
}

static void
check(const char *text, size_t len)
{
	static struct words want, have;
	const struct kernel *kernel;
	unsigned n;

	scan_simply(text, len, &want);
	for (n = 0; (kernel = kernel_at(n)) != NULL; n++) {
		size_t window = n % 2 == 0 ? 64 : 4096;

		scan_with(kernel, text, len, window, &have);
		if (have.count != want.count
				|| memcmp(have.starts, want.starts,
				want.count * 4) != 0
				|| memcmp(have.ends, want.ends,
				want.count * 4) != 0
				|| have.open_quote != want.open_quote) {
			size_t i;

			print_text(text, len);
			for (i = 0; i < want.count || i < have.count; i++)
				fprintf(stderr, "%u-%u, %s %u-%u\n",
					want.starts[i], want.ends[i],
					kernel->name, have.starts[i],
					have.ends[i]);
			fail_msg("%s differs", kernel->name);
		}
	}
}

static void
every_scanner_of_this_machine_is_tried(void **state)
{
	unsigned n = 0;

	while (kernel_at(n) != NULL)
		print_message("scanner %s\n", kernel_at(n++)->name);
	assert_true(n >= 1);
	assert_string_equal(kernel_at(n - 1)->name, "generic");
}

/* RFC 1035 section 5.1: each construct, at each place in a block. */
static void
words_end_at_blanks_and_punctuation_anywhere(void **state)
{
	static const char *const samples[] = {
		"a", "abc def\n", "a\tb\r\nc", "(a)", "a(b)c", "a;c\nb",
		"\"q\"", "\"a b\" c", "\"a;b\"", "\"a\nb\"", "a\"b\"c",
		"k=\"a b\" x", "k=\"a\"z", "\"a=\"b\"", ";\"\na", "; ( \nx",
		"a\\ b", "a\\;b", "a\\\"b", "a\\(b", "a\\\\ b", "a\\\\\\ b",
		"a\\\nb", "\"a\\\"b\" c", "\"a\\\\\" c", "\"open", "k=\"open",
		"\"open\\", "open\\", "\"\"", "\"\" \"\"", "\"a\"\"b\"",
		"; c\\\nd", "\\", "\\\\", "(\n)\n", "a\\\tb", "=\"x\"",
		"a\rb", "a\r", "a \r", "a\r\rb", "a\r\r\nb", "\r\n\r\n", "\r;a",
		"(\r)\r\n", "\"a\rb\"\r", "k=\"a\rb\"\r", "; a\rb\r\nc",
		"; a\r", "a\\\rb", "a\\\r\nb", "a\\\r", "a\\\\\rb", "a\r\\b",
	};
	char text[512];
	size_t i, at;

	for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		size_t len = strlen(samples[i]);

		for (at = 0; at < 140; at++) {
			memset(text, ' ', sizeof(text));
			memcpy(text + at, samples[i], len);
			check(text, at + len);
			memcpy(text + at + len, " z\n", 3);
			check(text, at + len + 3);
			memset(text, 'w', at);
			check(text, at + len + 3);
		}
	}
}

static void
every_cut_of_a_text_scans_the_same(void **state)
{
	static const char text[] = "\ra\rb\r\nc\r\r\"\r\" d;\r\ne\\\rf\r(\r"
		"\ng\r)h a \"b \\\" c\" ( d ; \"e\n) f=\"g h\"i "
		"\\\"j\\\\ k \"\n\" l;m\"n\"\no\tp\r\nq \"r;\\\\\"s ; \\\n"
		"t\\;u \\( v\\ w (x)y\n; \"z\n\"0;1\n2\" 3\\\n4";
	size_t len;

	for (len = 0; len < sizeof(text); len++)
		check(text, len);
}

static void
newlines_are_counted(void **state)
{
	char text[300];
	size_t start, len, i;
	unsigned n, seed = 1;

	for (i = 0; i < sizeof(text); i++)
		text[i] = rand_r(&seed) % 3 == 0 ? '\n' : 'x';
	for (n = 0; kernel_at(n) != NULL; n++) {
		for (start = 0; start < 70; start += 7) {
			uint32_t want = 0;

			for (len = 0; start + len < sizeof(text); len++) {
				assert_int_equal(kernel_at(n)->count_newlines(
					text + start, len), want);
				want += text[start + len] == '\n';
			}
		}
	}
}

static void
random_texts_scan_the_same(void **state)
{
	static const char octets[] = "ab \t\r\n\n\";;()\\\\=\".xyz";
	char text[600];
	unsigned seed = 20260101, round;

	for (round = 0; round < 60000; round++) {
		size_t i, len = (size_t)rand_r(&seed) % sizeof(text);
		/* Texts with few special characters, so that long regions come
		 * up. */
		unsigned plain = (unsigned)rand_r(&seed) % 8;

		for (i = 0; i < len; i++) {
			if ((unsigned)rand_r(&seed) % 8 < plain)
				text[i] = 'p';
			else
				text[i] = octets[(size_t)rand_r(&seed)
					% sizeof(octets)];
		}
		check(text, len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_scanner_of_this_machine_is_tried),
		cmocka_unit_test(
			words_end_at_blanks_and_punctuation_anywhere),
		cmocka_unit_test(every_cut_of_a_text_scans_the_same),
		cmocka_unit_test(newlines_are_counted),
		cmocka_unit_test(random_texts_scan_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
