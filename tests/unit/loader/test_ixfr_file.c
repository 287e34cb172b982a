/* test_ixfr_file.c - files of what versions of a zone differ by: what is
 * written is read again; what is broken, or does not fit, is refused. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "lib/history_fixture.h"
#include "lib/one_fixture.h"
#include "loader/ixfr_file.h"
#include "store/writer.h"
#include "zone/history.h"

#define APEX "z.example."

static const struct history_limits limits = {5, 1u << 20};

/* A file made by Debian's NSD 4.6.1. */
static const char of_nsd[] =
	"; IXFR data file\n"
	"; zone z.example\n"
	"; from_serial 1\n"
	"; to_serial 2\n"
	"; data_size 514\n"
	"; IXFR created by NSD 4.6.1 for z.example. 1 to 2 of 514 bytes at time"
	" Thu Jan  1 00:00:01 1970\n"
	"z.example.\t300\tIN\tSOA\tns.z.example. h.z.example. 2 2 3 4 5\n"
	"z.example.\t300\tIN\tSOA\tns.z.example. h.z.example. 1 2 3 4 5\n"
	"ns.z.example.\t300\tIN\tA\t192.0.2.1\n"
	"www.z.example.\t300\tIN\tTXT\t\"a b\" \"c\"\n"
	"z.example.\t300\tIN\tSOA\tns.z.example. h.z.example. 2 2 3 4 5\n"
	"zz.z.example.\t400\tIN\tA\t192.0.2.2\n"
	"zz.z.example.\t300\tIN\tTYPE999\t\\# 3 010203\n"
	"z.example.\t300\tIN\tSOA\tns.z.example. h.z.example. 2 2 3 4 5\n";

static const struct ixfr_text *
comments(void)
{
	static struct ixfr_text text = {.name = "z.example",
		.version = "4.6.1", .time_sec = 1};

	text.apex = zone_fixture_name(APEX);
	setenv("TZ", "UTC", 1);
	return &text;
}

static enum nsd_err
parse(const char *text, size_t len, struct history_draft *draft,
	const struct history_limits *most)
{
	const char *why = NULL;
	enum nsd_err err;

	history_draft_init(draft, zone_fixture_name(APEX), most);
	err = ixfr_file_parse(text, len, draft, &why);
	assert_int_equal(err == NSD_E_WIRE, why != NULL);
	return err;
}

/* ---- text ---------------------------------------------------------------- */

/* Octet for octet. */
static void
a_file_of_nsd_is_read_and_written(void **state)
{
	struct history_draft draft;
	struct ixfr_octets octets;
	char *text;
	size_t len;
	FILE *out;

	assert_int_equal(parse(of_nsd, strlen(of_nsd), &draft, &limits),
		NSD_OK);
	assert_int_equal(draft.from, 1);
	assert_int_equal(draft.to, 2);
	octets = (struct ixfr_octets){1, 2, draft.octets, draft.len};
	out = open_memstream(&text, &len);
	assert_non_null(out);
	assert_int_equal(ixfr_file_print(out, comments(), &octets), NSD_OK);
	fclose(out);
	assert_string_equal(text, of_nsd);
	free(text);
	history_draft_fini(&draft);
}

/* A file cut anywhere before its last newline is refused. */
static void
what_is_cut_is_refused(void **state)
{
	struct history_draft draft;
	size_t len = strlen(of_nsd);
	char text[2000];

	for (size_t i = 0; i < len - 1; i++) {
		enum nsd_err err = parse(of_nsd, i, &draft, &limits);

		/* A number may be cut and be one. */
		if (err == NSD_OK)
			assert_true(i == len - 2 || of_nsd[i] != '5');
		history_draft_fini(&draft);
	}
	snprintf(text, sizeof(text), "%sx A 192.0.2.1\n", of_nsd);
	assert_int_equal(parse(text, strlen(text), &draft, &limits),
		NSD_E_WIRE);
	history_draft_fini(&draft);
}

static void
what_is_no_such_file_is_refused(void **state)
{
#define SOA(n) "z.example. 300 SOA ns.z.example. h.z.example. " n " 2 3 4 5\n"
	static const char *const texts[] = {
		"", "\n", "; IXFR data file\n",
		SOA("2"), SOA("2") SOA("1"), SOA("2") SOA("1") SOA("2"),
		SOA("2") SOA("1") SOA("2") SOA("3"),
		SOA("2") SOA("1") SOA("3") SOA("2"),
		SOA("2") SOA("2") SOA("2") SOA("2"),
		SOA("2") SOA("1") SOA("2") SOA("2") SOA("2"),
		SOA("2") "a 60 A 192.0.2.1\n" SOA("1") SOA("2") SOA("2"),
		"a 60 A 192.0.2.1\n" SOA("2") SOA("1") SOA("2") SOA("2"),
		SOA("2") SOA("1") "other. 60 A 192.0.2.1\n" SOA("2") SOA("2"),
		SOA("2") SOA("1") "a 60 SOA n. h. 2 3 4 5 6\n" SOA("2")
			SOA("2"),
		SOA("2") SOA("1") "a 60 A 192.0.2.256\n" SOA("2") SOA("2"),
		SOA("2") SOA("1") "$INCLUDE /dev/null\n" SOA("2") SOA("2"),
		SOA("2") SOA("1") "a 60 CH A 192.0.2.1\n" SOA("2") SOA("2"),
	};
	struct history_draft draft;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (parse(texts[i], strlen(texts[i]), &draft, &limits)
			!= NSD_E_WIRE)
			fail_msg("text %zu is taken", i);
		history_draft_fini(&draft);
	}
	/* A difference of the SOA alone is valid. */
	assert_int_equal(parse(SOA("2") SOA("1") SOA("2") SOA("2"),
		strlen(SOA("2")) * 4, &draft, &limits), NSD_OK);
	history_draft_fini(&draft);
}

/* A few octets of text may stand for more records than there is memory for. */
static void
what_is_larger_than_the_limits_is_given_up(void **state)
{
	static const char text[] = SOA("2") SOA("1")
		"$GENERATE 1-65000 a$ 60 A 192.0.2.1\n" SOA("2") SOA("2");
	struct history_draft draft;

	assert_int_equal(parse(text, strlen(text), &draft, &limits),
		NSD_E_LIMIT);
	assert_in_range(draft.room, 0, 4u << 20);
	history_draft_fini(&draft);
	assert_int_equal(parse(of_nsd, strlen(of_nsd), &draft,
		&(struct history_limits){5, 100}), NSD_E_LIMIT);
	history_draft_fini(&draft);
}

/* ---- files --------------------------------------------------------------- */

static store_ref entry;
static char folder[100], path[200];
static char said[1000];

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	snprintf(said, sizeof(said), "%s", d->text);
}

static void
changeset(uint32_t from, unsigned records)
{
	char *text = malloc(200 + records * 50), old[200];
	size_t len;

	assert_non_null(text);
	sprintf(old, "@ 300 SOA ns h %u 2 3 4 5\n", (unsigned)from);
	len = (size_t)sprintf(text, "@ 300 SOA ns h %u 2 3 4 5\n",
		(unsigned)from + 1);
	for (unsigned i = 0; i < records; i++)
		len += (size_t)sprintf(text + len, "n%u 60 A 192.0.2.1\n", i);
	history_fixture_push(f.writer, entry, &limits, old, text);
	free(text);
	sprintf(old, "@ 300 SOA ns h %u 2 3 4 5\n@ 300 NS ns\n"
		"ns 300 A 192.0.2.1\n", (unsigned)from + 1);
	assert_int_equal(zone_fixture_load(&f, APEX, old, &entry), NSD_OK);
	history_prune(f.writer, entry, &limits);
}

static size_t
write_files(uint32_t serial)
{
	struct diag_sink sink = {.on_diag = on_diag};
	struct history_path history;

	assert_int_equal(history_list(f.view, store_get(f.view, entry),
		serial, &history), NSD_OK);
	assert_int_equal(ixfr_file_write(f.view, &history, path, comments(),
		&sink), NSD_OK);
	assert_int_equal(sink.errors, 0);
	free(history.changesets);
	return history.count;
}

static size_t
read_files_since(const struct timespec *since, uint32_t serial,
	const struct history_limits *most, const char *expect)
{
	const struct ixfr_wanted wanted = {
		.apex = zone_fixture_name(APEX),
		.serial = serial,
		.limits = most,
		.since = since,
	};
	struct diag_sink sink = {.on_diag = on_diag};
	struct ixfr_drafts drafts;
	size_t count;

	ixfr_file_read(path, &wanted, &sink, &drafts);
	count = drafts.count;
	for (size_t i = 0; i < count; i++)
		assert_int_equal(drafts.items[i].to, serial - i);
	assert_int_equal(drafts.stale,
		expect != NULL && strstr(expect, "not newer") != NULL);
	ixfr_file_release(&drafts);
	assert_int_equal(sink.warnings, expect != NULL);
	if (expect != NULL)
		assert_non_null(strstr(said, expect));
	return count;
}

static size_t
read_files(uint32_t serial, const struct history_limits *most,
	const char *expect)
{
	return read_files_since(NULL, serial, most, expect);
}

static bool
exists(unsigned index)
{
	char name[300];

	ixfr_file_print_name(path, index, name);
	return access(name, F_OK) == 0;
}

static void
spoil(unsigned index, const char *text)
{
	char name[300];
	FILE *out;

	ixfr_file_print_name(path, index, name);
	out = fopen(name, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void
changesets_are_written_and_read(void **state)
{
	assert_int_equal(zone_fixture_load(&f, APEX,
		"@ 300 SOA ns h 1 2 3 4 5\n@ 300 NS ns\nns 300 A 192.0.2.1\n",
		&entry), NSD_OK);
	assert_int_equal(read_files(1, &limits, NULL), 0);
	for (uint32_t i = 1; i < 10; i++)
		changeset(i, i * 10);
	assert_int_equal(write_files(10), 5);
	assert_true(exists(4) && !exists(5));
	assert_int_equal(read_files(10, &limits, NULL), 5);
	assert_int_equal(read_files(10, &(struct history_limits){2, 0}, NULL),
		2);
	/* 90 and 80 records, of some 19 octets. */
	assert_int_equal(read_files(10,
		&(struct history_limits){5, 4000}, NULL), 2);
	/* A zone file that is not as far, or further. */
	assert_int_equal(read_files(9, &limits, "leads to another serial"), 0);
	/* A broken file ends the chain. */
	spoil(2, "; IXFR data file\n");
	assert_int_equal(read_files(10, &limits, "ends too early"), 2);
	/* Fewer changesets leave fewer files. */
	history_prune(f.writer, entry, &(struct history_limits){2, 0});
	assert_int_equal(write_files(10), 2);
	assert_true(exists(1) && !exists(2) && !exists(3));
	/* Changesets to a version that is not the one that is written. */
	assert_int_equal(write_files(9), 1);
	history_clear(f.writer, entry);
	assert_int_equal(write_files(10), 0);
	assert_false(exists(0));
}

static struct timespec
time_of(unsigned index)
{
	char name[300];
	struct stat st;

	ixfr_file_print_name(path, index, name);
	assert_int_equal(stat(name, &st), 0);
	return st.st_ctim;
}

/* A file that was replaced counts as new. */
static void
put_again(unsigned index, const struct timespec *after)
{
	struct timespec now = {.tv_sec = 0};
	char name[300];

	ixfr_file_print_name(path, index, name);
	while (!fs_is_later(&now, after)) {
		assert_int_equal(chmod(name, 0644), 0);
		now = time_of(index);
	}
}

static void
what_is_not_newer_than_a_moment_is_left_out(void **state)
{
	struct timespec moment;

	assert_int_equal(zone_fixture_load(&f, APEX,
		"@ 300 SOA ns h 1 2 3 4 5\n@ 300 NS ns\nns 300 A 192.0.2.1\n",
		&entry), NSD_OK);
	changeset(1, 1);
	changeset(2, 1);
	assert_int_equal(write_files(3), 2);
	assert_int_equal(read_files_since(&(struct timespec){0, 0}, 3, &limits,
		NULL), 2);
	moment = time_of(1); /* the newest is written first */
	assert_int_equal(read_files_since(&moment, 3, &limits,
		"zone.ixfr is not used, nor are older ones: it is not newer"),
		0);
	put_again(0, &moment);
	assert_int_equal(read_files_since(&moment, 3, &limits,
		"zone.ixfr.2 is not used, nor are older ones: it is not newer"),
		1);
	put_again(1, &moment);
	assert_int_equal(read_files_since(&moment, 3, &limits, NULL), 2);
}

/* A folder that cannot be written to, and a disk that is full. */
static void
what_cannot_be_written_is_said(void **state)
{
	struct diag_sink sink = {.on_diag = on_diag};
	struct history_path history;
	char old[300];

	assert_int_equal(zone_fixture_load(&f, APEX,
		"@ 300 SOA ns h 1 2 3 4 5\n@ 300 NS ns\nns 300 A 192.0.2.1\n",
		&entry), NSD_OK);
	changeset(1, 1);
	snprintf(old, sizeof(old), "%s/none/zone", folder);
	assert_int_equal(history_list(f.view, store_get(f.view, entry), 2,
		&history), NSD_OK);
	assert_int_equal(ixfr_file_write(f.view, &history, old, comments(),
		&sink), NSD_E_SYSTEM);
	free(history.changesets);
	assert_int_equal(sink.errors, 1);
	assert_non_null(strstr(said, "No such file"));
}

static int
begin(void **state)
{
	strcpy(folder, "/tmp/nsd-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/zone", folder);
	return open_fixture(state);
}

static int
end(void **state)
{
	char name[300];

	for (unsigned i = 0; i < 10; i++) {
		ixfr_file_print_name(path, i, name);
		unlink(name);
	}
	assert_int_equal(rmdir(folder), 0);
	return close_fixture(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_of_nsd_is_read_and_written),
		TEST(what_is_cut_is_refused),
		TEST(what_is_no_such_file_is_refused),
		TEST(what_is_larger_than_the_limits_is_given_up),
		TEST(changesets_are_written_and_read),
		TEST(what_is_not_newer_than_a_moment_is_left_out),
		TEST(what_cannot_be_written_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
