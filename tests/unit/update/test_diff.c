/* test_diff.c - differences between a zone and a file: applied, they make the
 * zone what the file says, and there are no more of them than needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/build.h"
#include "dns/name.h"
#include "lib/one_fixture.h"
#include "store/writer.h"
#include "update/diff.h"
#include "update/update.h"
#include "zone/walk.h"
#include "zonedb/release.h"
#include "zonefile/zonefile.h"

#define RECORDS_MAX 4000
#define HEAD "$TTL 60\n@ SOA ns1 h 1 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.1\n"

static const uint64_t key[2] = {0x0123456789abcdef, 0xfedcba9876543210};

/* ---- sets of records ----------------------------------------------------- */

struct records {
	char *lines[RECORDS_MAX];
	size_t count;
};

static char *
line_of(const struct zone_rr *rr)
{
	size_t owner_len = name_len(rr->owner);
	char *line = malloc(2 * (owner_len + rr->rdlen) + 32);
	int n = sprintf(line, "%u %u ", (unsigned)rr->ttl_sec, rr->type);

	for (size_t i = 0; i < owner_len; i++)
		n += sprintf(line + n, "%02x", rr->owner[i]);
	line[n++] = ' ';
	line[n] = '\0';
	for (size_t i = 0; i < rr->rdlen; i++)
		n += sprintf(line + n, "%02x", rr->rdata[i]);
	return line;
}

static enum nsd_err
records_add(void *ctx, const struct zone_rr *rr)
{
	struct records *r = ctx;

	assert_true(r->count < RECORDS_MAX);
	r->lines[r->count++] = line_of(rr);
	return NSD_OK;
}

static bool
records_remove(struct records *r, const struct zone_rr *rr)
{
	char *line = line_of(rr);

	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->lines[i], line) != 0)
			continue;
		free(r->lines[i]);
		free(line);
		r->lines[i] = r->lines[--r->count];
		return true;
	}
	free(line);
	return false;
}

static int
compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
records_assert_equal(struct records *a, struct records *b)
{
	qsort(a->lines, a->count, sizeof(*a->lines), compare_lines);
	qsort(b->lines, b->count, sizeof(*b->lines), compare_lines);
	for (size_t i = 0; i < a->count && i < b->count; i++)
		assert_string_equal(a->lines[i], b->lines[i]);
	assert_int_equal(a->count, b->count);
}

static void
records_clear(struct records *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->lines[i]);
	r->count = 0;
}

/* ---- a diff of two texts ------------------------------------------------ */

static enum nsd_err
on_sum(void *ctx, const struct rrbatch *batch)
{
	return diff_sum(ctx, batch);
}

static enum nsd_err
on_collect(void *ctx, const struct rrbatch *batch)
{
	return diff_collect(ctx, batch);
}

static enum nsd_err
read_text(struct diff *diff, const char *text,
	enum nsd_err (*on_batch)(void *, const struct rrbatch *))
{
	struct zonefile_options options = {
		.apex = zone_fixture_name("example."),
		.on_batch = on_batch,
		.batch_ctx = diff,
	};
	struct zonefile_result result;
	enum nsd_err err = zonefile_parse_text("text", text, strlen(text),
		&options, NULL, &result);

	assert_null(result.batches);
	zonefile_result_fini(&result);
	return err;
}

static const struct zone *
build(const char *text, store_ref *ref)
{
	assert_int_equal(zone_fixture_build(&f, "example.", text, ref),
		NSD_OK);
	return store_get(f.view, *ref);
}

static void
collect(const struct zone *zone, struct records *records)
{
	assert_int_equal(zone_walk(f.view, zone, zone_fixture_name("example."),
				 records_add, records),
		NSD_OK);
}

/* The changes from a zone to a text, checked against a fresh build. */
static size_t
assert_diff(const char *from, const char *to)
{
	static struct records have, want;
	const struct diff_change *changes;
	const struct zone *old, *new;
	store_ref old_ref, new_ref;
	struct diff *diff;
	size_t count = 0;
	bool equal;

	old = build(from, &old_ref);
	new = build(to, &new_ref);
	collect(old, &have);
	collect(new, &want);
	assert_int_equal(diff_create(f.view, old,
				 zone_fixture_name("example."), key, 1 << 24,
				 &diff),
		NSD_OK);
	assert_int_equal(read_text(diff, to, on_sum), NSD_OK);
	assert_int_equal(diff_compare(diff, &equal), NSD_OK);
	if (!equal) {
		assert_int_equal(read_text(diff, to, on_collect), NSD_OK);
		assert_int_equal(diff_finish(diff, &changes, &count), NSD_OK);
	}
	for (size_t i = 0; i < count; i++)
		if (!changes[i].add)
			assert_true(records_remove(&have, &changes[i].rr));
	for (size_t i = 0; i < count; i++)
		if (changes[i].add)
			records_add(&have, &changes[i].rr);
	records_assert_equal(&have, &want);
	records_clear(&have);
	records_clear(&want);
	diff_destroy(diff);
	release_zone(store_writer_heap(f.writer), old_ref);
	release_zone(store_writer_heap(f.writer), new_ref);
	return count;
}

#define SIG "RRSIG A 8 2 60 20300101000000 20200101000000 1 example. "

static void
differences_are_found_and_nothing_else(void **state)
{
	static const struct {
		const char *from, *to;
		size_t changes;
	} rows[] = {
		{"", "", 0},
		{"a A 192.0.2.1\nb A 192.0.2.2\n",
			"b A 192.0.2.2\na A 192.0.2.1\n", 0},
		{"a A 192.0.2.1\n", "a A 192.0.2.2\n", 2},
		{"a A 192.0.2.1\n", "", 1},
		{"", "a A 192.0.2.1\nb.c.d MX 5 a\n", 2},
		{"a A 192.0.2.1\na A 192.0.2.2\na A 192.0.2.3\n",
			"a A 192.0.2.1\na A 192.0.2.3\na TXT x\n", 2},
		/* a TTL is of the whole RRset */
		{"a A 192.0.2.1\na A 192.0.2.2\n",
			"a 61 A 192.0.2.1\na 61 A 192.0.2.2\n", 4},
		{"a A 192.0.2.1\na A 192.0.2.2\n",
			"a 90 A 192.0.2.1\na 60 A 192.0.2.2\n", 0},
		{"a A 192.0.2.1\na A 192.0.2.2\n",
			"a 60 A 192.0.2.1\na 50 A 192.0.2.2\n", 4},
		/* duplicates are left out */
		{"a A 192.0.2.1\n", "a A 192.0.2.1\na A 192.0.2.1\n", 0},
		{"a MX 1 x\n", "a MX 1 x\na MX 1 X\n", 0},
		{"a MX 1 x\n", "a MX 1 X\na MX 1 x\n", 2},
		{"a MX 1 ns1.EXAMPLE.\n", "a MX 1 ns1.EXAMPLE.\n", 0},
		{"A A 192.0.2.1\n", "a A 192.0.2.1\n", 0},
		/* signatures of one name are several RRsets */
		{"a A 192.0.2.1\na " SIG "AAAA\n",
			"a A 192.0.2.1\na " SIG "AAAA\n", 0},
		{"a A 192.0.2.1\na " SIG "AAAA\n",
			"a A 192.0.2.1\na " SIG "AAAB\n", 2},
		{"a A 192.0.2.1\na " SIG "AAAA\n",
			"a A 192.0.2.1\na 30 " SIG "AAAA\n", 2},
		{"a NS b.a\nb.a A 192.0.2.1\nb.a AAAA ::1\n",
			"a NS c.a\nc.a A 192.0.2.1\n", 5},
	};
	char from[2000], to[2000];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(from, sizeof(from), HEAD "%s", rows[i].from);
		snprintf(to, sizeof(to), HEAD "%s", rows[i].to);
		print_message("row %zu\n", i);
		assert_int_equal(assert_diff(from, to), rows[i].changes);
	}
}

/* RFC 5155: records of the chain in use, and of one that is not. */
static void
nsec3_records_are_compared_as_well(void **state)
{
#define HASHES(a, b, types)                                                 \
	HEAD "@ NSEC3PARAM 1 0 0 -\n"                                        \
	"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom NSEC3 1 0 0 - " a " A RRSIG\n"     \
	"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom RRSIG NSEC3 8 2 60 20300101000000" \
	" 20200101000000 1 example. AAAA\n"                                  \
	"35mthgpgcu1qg68fab165klnsnk3dpvl NSEC3 1 0 0 - " b types "\n"       \
	"1avvqn74sg75ukfvf25dgcethgq638ek NSEC3 1 0 7 aa "                   \
	"2vptu5timamqttgl4luu9kg21e0aor3s TXT\n"
#define A "35mthgpgcu1qg68fab165klnsnk3dpvl"
#define B "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"
	assert_int_equal(assert_diff(HASHES(A, B, " A"), HASHES(A, B, " A")),
		0);
	assert_int_equal(assert_diff(HASHES(A, B, " A"),
				 HASHES(A, B, " A TXT")), 2);
	assert_int_equal(assert_diff(HASHES(A, B, " A"), HASHES(A, A, " A")),
		2);
	assert_int_equal(assert_diff(HASHES(A, B, " A"), HEAD), 6 - 1);
}

/* Served, changed, and printed: as if it were loaded from the new text. */
static void
assert_update(const char *from, const char *to)
{
	static struct records have, want;
	const struct zone_update_options options = {.threads = 1};
	const struct diff_change *changes;
	const struct zone_entry *entry;
	const struct zone *new;
	store_ref ref, new_ref;
	struct zone_update *update;
	struct diff *diff;
	size_t count = 0;
	bool equal;

	assert_int_equal(zone_fixture_load(&f, "example.", from, &ref),
		NSD_OK);
	entry = store_get(f.view, ref);
	new = build(to, &new_ref);
	collect(new, &want);
	assert_int_equal(diff_create(f.view, store_get(f.view, entry->zone),
				 zone_fixture_name("example."), key, 1 << 24,
				 &diff),
		NSD_OK);
	assert_int_equal(read_text(diff, to, on_sum), NSD_OK);
	assert_int_equal(diff_compare(diff, &equal), NSD_OK);
	assert_int_equal(read_text(diff, to, on_collect), NSD_OK);
	assert_int_equal(diff_finish(diff, &changes, &count), NSD_OK);
	assert_int_equal(update_begin(f.writer, ref, &options, &update),
		NSD_OK);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(changes[i].add
				? update_add(update, &changes[i].rr)
				: update_remove(update, &changes[i].rr),
			NSD_OK);
	assert_int_equal(update_commit(update, NULL, NULL), NSD_OK);
	collect(store_get(f.view, entry->zone), &have);
	assert_int_equal(have.count, want.count);
	for (size_t i = 0; i < have.count; i++)
		assert_string_equal(have.lines[i], want.lines[i]);
	records_clear(&have);
	records_clear(&want);
	diff_destroy(diff);
	release_zone(store_writer_heap(f.writer), new_ref);
}

static size_t
random_text(char *out, size_t size, unsigned *rng, unsigned names)
{
	static const char *const rdata[] = {"A 192.0.2.1", "A 192.0.2.2",
		"TXT a", "TXT \"b\" c", "AAAA 2001:db8::1", "MX 10 a",
		"MX 10 A", "TYPE65280 \\# 2 1234"};
	size_t n = (size_t)snprintf(out, size, "%s", HEAD);

	for (unsigned i = 0; i < names; i++) {
		unsigned what = (unsigned)rand_r(rng);

		n += (size_t)snprintf(out + n, size - n, "n%u%s %u %s\n",
			what % 40, (what >> 8) % 3 == 0 ? ".sub" : "",
			(what >> 10) % 8 == 0 ? 30u : 60u,
			rdata[(what >> 16) % 8]);
	}
	return n;
}

static void
random_zones_become_each_other(void **state)
{
	static char from[64000], to[64000];

	for (unsigned seed = 1; seed <= 300; seed++) {
		unsigned rng = seed;
		size_t n;

		print_message("seed %u\n", seed);
		random_text(from, sizeof(from), &rng, seed % 100);
		n = random_text(to, sizeof(to), &rng, seed % 7 * 20);
		assert_diff(from, to);
		assert_update(from, to);
		assert_diff(from, from);
		/* Mostly the same, and a bit more. */
		memcpy(to, from, sizeof(to));
		n = strlen(to);
		snprintf(to + n, sizeof(to) - n, "n1 TXT %u\n", seed);
		assert_diff(from, to);
	}
}

static void
too_much_is_refused(void **state)
{
	static char text[64000];
	const struct diff_change *changes;
	store_ref ref;
	const struct zone *zone = build(HEAD, &ref);
	struct diff *diff;
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", HEAD), count;
	bool equal;

	for (unsigned i = 0; i < 1000; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
			"n%u TXT %u\n", i, i);
	assert_int_equal(diff_create(f.view, zone,
				 zone_fixture_name("example."), key, 10000,
				 &diff), NSD_OK);
	assert_int_equal(read_text(diff, text, on_sum), NSD_OK);
	assert_int_equal(diff_compare(diff, &equal), NSD_E_LIMIT);
	diff_destroy(diff);
	/* Found out later only. */
	assert_int_equal(diff_create(f.view, zone,
				 zone_fixture_name("example."), key, 70000,
				 &diff), NSD_OK);
	assert_int_equal(read_text(diff, text, on_sum), NSD_OK);
	assert_int_equal(diff_compare(diff, &equal), NSD_OK);
	assert_int_equal(read_text(diff, text, on_collect), NSD_E_LIMIT);
	diff_destroy(diff);
	/* Errors that the build has to report. */
	assert_int_equal(diff_create(f.view, zone,
				 zone_fixture_name("example."), key, 1 << 20,
				 &diff), NSD_OK);
	assert_int_equal(read_text(diff, HEAD "a.other. A 192.0.2.1\n",
				 on_sum), NSD_E_ZONE);
	diff_destroy(diff);
	assert_int_equal(diff_create(f.view, zone,
				 zone_fixture_name("example."), key, 1 << 20,
				 &diff), NSD_OK);
	snprintf(text, sizeof(text), "%s@ SOA ns1 h 2 2 3 4 5\n", HEAD);
	assert_int_equal(read_text(diff, text, on_sum), NSD_OK);
	assert_int_equal(diff_compare(diff, &equal), NSD_OK);
	assert_false(equal);
	assert_int_equal(read_text(diff, text, on_collect), NSD_OK);
	assert_int_equal(diff_finish(diff, &changes, &count), NSD_E_ZONE);
	diff_destroy(diff);
	release_zone(store_writer_heap(f.writer), ref);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_found_and_nothing_else),
		cmocka_unit_test(nsec3_records_are_compared_as_well),
		cmocka_unit_test(random_zones_become_each_other),
		cmocka_unit_test(too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
