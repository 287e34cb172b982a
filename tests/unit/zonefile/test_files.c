/*
 * test_files.c - $INCLUDE, files that are missing, change, or are none; and
 * $GENERATE.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fixture.h"
#include "lib/files.h"

#define A1 "c0000201"
#define RANGE ": expected START-STOP[/STEP]\n"

static char directory[64];

static int
make_directory(void **state)
{
	strcpy(directory, "/tmp/test_files.XXXXXX");
	return mkdtemp(directory) == NULL;
}

static int
remove_directory(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	return system(command);
}

static const char *
path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void
write_file(const char *name, const char *text)
{
	files_write(path_of(name), text);
}

static struct outcome
read_file(const char *name)
{
	struct zonefile_options options = { .apex = fixture_apex };

	return outcome_of_file(path_of(name), &options, NULL);
}

static void
expect_file(const char *name, const char *records, const char *diags)
{
	struct outcome o = read_file(name);

	assert_string_equal(o.diags, diags);
	assert_string_equal(o.text, records);
	assert_int_equal(o.err, o.errors > 0 ? NSD_E_SYNTAX : NSD_OK);
	outcome_free(&o);
}

/* ---- $INCLUDE, RFC 1035 section 5.1 ------------------------------------ */

static void
include_restores_origin_and_owner_but_not_ttl(void **state)
{
	write_file("main", "$TTL 9\na A 192.0.2.1\n$INCLUDE sub\n"
		" A 192.0.2.1\nb A 192.0.2.1\n");
	write_file("sub", " A 192.0.2.1\n$ORIGIN x.\n$TTL 5\nc A 192.0.2.1\n");
	expect_file("main", "2 a.example.org. 9 A " A1 "\n"
		"file 2 1 a.example.org. 9 A " A1 "\n"
		"file 2 4 c.x. 5 A " A1 "\n"
		"4 a.example.org. 5 A " A1 "\n"
		"5 b.example.org. 5 A " A1 "\n", "");
}

static void
include_takes_an_origin(void **state)
{
	write_file("main", "$INCLUDE \"sub\" deep ; x\n$include sub y.\n");
	write_file("sub", "c 1 A 192.0.2.1\n");
	expect_file("main", "file 2 1 c.deep.example.org. 1 A " A1 "\n"
		"file 2 1 c.y. 1 A " A1 "\n", "");
}

static void
include_is_relative_to_the_working_directory_first(void **state)
{
	char before[256];

	assert_non_null(getcwd(before, sizeof(before)));
	mkdir(path_of("dir"), 0700);
	mkdir(path_of("dir/sub"), 0700);
	write_file("dir/main", "$INCLUDE both\n$INCLUDE sub/beside\n");
	write_file("both", "here 1 A 192.0.2.1\n");
	write_file("dir/both", "beside 1 A 192.0.2.1\n");
	write_file("dir/sub/beside", "c 1 A 192.0.2.1\n$INCLUDE both\n"
		"$INCLUDE third\n");
	write_file("dir/sub/third", "d 1 A 192.0.2.1\n");
	assert_int_equal(chdir(directory), 0);
	/* Number 2 and 4 are where the third and the fifth were not. */
	expect_file("dir/main", "file 1 1 here.example.org. 1 A " A1 "\n"
		"file 3 1 c.example.org. 1 A " A1 "\n"
		"file 1 1 here.example.org. 1 A " A1 "\n"
		"file 5 1 d.example.org. 1 A " A1 "\n", "");
	/* The first that is there counts, even if it cannot be read. */
	mkdir(path_of("third"), 0700);
	write_file("sub", "a file where a folder is looked for\n");
	expect_file("dir/main", "file 1 1 here.example.org. 1 A " A1 "\n"
		"file 3 1 c.example.org. 1 A " A1 "\n"
		"file 1 1 here.example.org. 1 A " A1 "\n",
		"beside:3:10 Cannot open include file 'third': "
		"Is a directory\n");
	assert_int_equal(unlink(path_of("sub")), 0);
	assert_int_equal(rmdir(path_of("third")), 0);
	assert_int_equal(chdir(before), 0);
}

static void
include_is_then_relative_to_the_including_file(void **state)
{
	char text[256];

	mkdir(path_of("dir"), 0700);
	write_file("main", "$INCLUDE dir/one\n");
	write_file("dir/one", "$INCLUDE t\\wo\n");
	write_file("dir/two", "c 1 A 192.0.2.1\n");
	/* dir/one, then two: not here, but there */
	expect_file("main", "file 4 1 c.example.org. 1 A " A1 "\n", "");
	snprintf(text, sizeof(text), "$INCLUDE %s\n", path_of("dir/two"));
	write_file("dir/one", text);
	expect_file("main", "file 3 1 c.example.org. 1 A " A1 "\n", "");
}

/* Fault 44 */
static void
include_that_cannot_be_read_is_an_error_at_its_line(void **state)
{
	char want[512];

	mkdir(path_of("dir"), 0700);
	write_file("main", "\n$INCLUDE none\n$INCLUDE dir\n$INCLUDE\n"
		"$INCLUDE \"\"\n$INCLUDE a b c\n$INCLUDE a b..c\n"
		"d 1 A 192.0.2.1\n");
	snprintf(want, sizeof(want),
		"2:10 Cannot open include file 'none': No such file or "
		"directory, and there is no %s/none\n"
		"3:10 Cannot open include file '%s/dir': Is a directory\n"
		"4:1 Missing file name in $INCLUDE\n"
		"5:1 Missing file name in $INCLUDE\n"
		"6:14 Trailing data in $INCLUDE: 'c'\n"
		"7:12 Invalid origin in $INCLUDE: 'b..c': expected a name "
		"without empty labels\n", directory, directory);
	expect_file("main", "8 d.example.org. 1 A " A1 "\n", want);
}

/* Fault 44 */
static void
include_loops_are_refused(void **state)
{
	char want[256];

	write_file("main", "$INCLUDE one\na 1 A 192.0.2.1\n");
	write_file("one", "$INCLUDE main\n$INCLUDE one\nb 1 A 192.0.2.1\n");
	snprintf(want, sizeof(want),
		"one:1:10 $INCLUDE loop: file %s/main includes itself\n"
		"one:2:10 $INCLUDE loop: file %s/one includes itself\n",
		directory, directory);
	expect_file("main", "file 2 3 b.example.org. 1 A " A1 "\n"
		"2 a.example.org. 1 A " A1 "\n", want);
}

/* Fault 44 */
static void
include_depth_is_limited(void **state)
{
	char name[32], text[64];
	struct outcome o;
	int i;

	for (i = 0; i <= 12; i++) {
		snprintf(name, sizeof(name), "deep%d", i);
		snprintf(text, sizeof(text), "$INCLUDE deep%d\n", i + 1);
		write_file(name, i < 12 ? text : "a 1 A 192.0.2.1\n");
	}
	o = read_file("deep0");
	assert_int_equal(o.err, NSD_E_SYNTAX);
	assert_string_equal(o.diags,
		"deep10:1:1 $INCLUDE nested deeper than 10 files\n");
	outcome_free(&o);
	o = read_file("deep2");
	assert_int_equal(o.err, NSD_OK);
	assert_int_equal(o.rr_count, 1);
	outcome_free(&o);
}

/* Fault 44: 50 * 50 * 50 * 50 readings of the last one. */
static void
include_of_the_same_files_is_limited(void **state)
{
	char name[16], text[50 * 32];
	struct outcome o;
	size_t len;

	for (int i = 0; i < 4; i++) {
		len = 0;
		for (int j = 0; j < 50; j++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
				"$INCLUDE more%d\n", i + 1);
		snprintf(name, sizeof(name), "more%d", i);
		write_file(name, text);
	}
	write_file("more4", "; nothing\n");
	o = read_file("more0");
	assert_int_equal(o.err, NSD_E_SYNTAX);
	assert_int_equal(o.errors, 1);
	assert_non_null(strstr(o.diags, "too many files in one zone"));
	outcome_free(&o);
}

static void
findings_come_in_file_order_with_their_file(void **state)
{
	write_file("main", "x X\n$INCLUDE sub\ny Y\n");
	write_file("sub", "z Z\n\"open\n");
	expect_file("main", "",
		"1:3 Invalid type in RR: 'X': expected an RR type\n"
		"sub:1:3 Invalid type in RR: 'Z': expected an RR type\n"
		"sub:2:1 quoted string is not closed\n"
		"3:3 Invalid type in RR: 'Y': expected an RR type\n");
}

static void
errors_of_included_files_count_to_the_limit(void **state)
{
	struct zonefile_options options = { .apex = fixture_apex,
		.errors_max = 3 };
	struct outcome o;

	write_file("main", "x X\n$INCLUDE sub\ny Y\ny Y\n");
	write_file("sub", "z Z\n");
	o = outcome_of_file(path_of("main"), &options, NULL);
	assert_int_equal(o.errors, 3);
	outcome_free(&o);
	write_file("sub", "z Z\nz Z\nz Z\n");
	o = outcome_of_file(path_of("main"), &options, NULL);
	assert_int_equal(o.errors, 3);
	outcome_free(&o);
}

static void
include_is_refused_in_text(void **state)
{
	expect("$INCLUDE x\na 1 A 192.0.2.1\n",
		"2 a.example.org. 1 A " A1 "\n",
		"1:1 $INCLUDE is not allowed here\n");
}

/* ---- files ------------------------------------------------------------ */

static void
file_that_cannot_be_read_says_why(void **state)
{
	struct outcome o = read_file("absent");
	char want[128];

	assert_int_equal(o.err, NSD_E_SYSTEM);
	snprintf(want, sizeof(want), "0:0 cannot open '%s/absent': "
		"No such file or directory\n", directory);
	assert_string_equal(o.diags, want);
	assert_int_equal(o.sources, 1);
	outcome_free(&o);
	mkdir(path_of("dir"), 0700);
	o = read_file("dir");
	assert_int_equal(o.err, NSD_E_SYSTEM);
	snprintf(want, sizeof(want), "0:0 cannot open '%s/dir': "
		"Is a directory\n", directory);
	assert_string_equal(o.diags, want);
	outcome_free(&o);
}

static void
sources_tell_what_was_read(void **state)
{
	struct zonefile_options options = { .apex = fixture_apex };
	struct diag_sink sink = { NULL, 0, 0 };
	struct zonefile_result result;
	struct stat st;

	write_file("main", "$INCLUDE sub\n$INCLUDE none\n");
	write_file("sub", "c 1 A 192.0.2.1\n");
	assert_int_equal(zonefile_parse(path_of("main"), &options, &sink,
		&result), NSD_E_SYNTAX);
	assert_int_equal(result.source_count, 5);
	assert_string_equal(result.sources[2].path, path_of("sub"));
	/* The place looked in first is noted, so that a new file there is
	 * noticed. */
	assert_string_equal(result.sources[1].path, "sub");
	assert_int_equal(result.sources[1].inode, 0);
	assert_int_equal(stat(path_of("sub"), &st), 0);
	assert_int_equal(result.sources[2].size, st.st_size);
	assert_int_equal(result.sources[2].inode, st.st_ino);
	assert_int_equal(result.sources[2].mtime.tv_sec, st.st_mtim.tv_sec);
	assert_int_equal(result.sources[2].mtime.tv_nsec, st.st_mtim.tv_nsec);
	assert_string_equal(result.sources[4].path, path_of("none"));
	assert_int_equal(result.sources[4].inode, 0);
	zonefile_result_fini(&result);
}

static void
a_pipe_is_read_to_its_end(void **state)
{
	static const char text[] = "a 1 A 192.0.2.1\n";
	struct zonefile_options options = { .apex = fixture_apex };
	struct outcome o;
	char path[64];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], text, sizeof(text) - 1),
		sizeof(text) - 1);
	close(fds[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	o = outcome_of_file(path, &options, NULL);
	close(fds[0]);
	assert_int_equal(o.err, NSD_OK);
	assert_string_equal(o.text, "1 a.example.org. 1 A " A1 "\n");
	outcome_free(&o);
}

static void
expect_no_file(const char *path, bool only_files)
{
	struct zonefile_options options = { .apex = fixture_apex,
		.only_files = only_files };
	struct outcome o = outcome_of_file(path, &options, NULL);
	char want[256];

	snprintf(want, sizeof(want), "0:0 cannot open '%s': not a regular"
		" file\n", path);
	assert_string_equal(o.diags, want);
	assert_int_equal(o.err, NSD_E_SYSTEM);
	outcome_free(&o);
}

/* Fault 44: nothing waits for a FIFO, or reads a device for ever. */
static void
what_is_no_file_is_not_read(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char want[512];

	assert_true(strlen(path_of("socket")) < sizeof(address.sun_path));
	strcpy(address.sun_path, path_of("socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
		sizeof(address)), 0);
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	for (int only_files = 0; only_files < 2; only_files++) {
		expect_no_file(path_of("fifo"), only_files);
		expect_no_file(path_of("socket"), only_files);
		expect_no_file("/dev/zero", only_files);
	}
	expect_no_file("/dev/null", true);
	write_file("main", "$INCLUDE fifo\n$INCLUDE socket\n"
		"$INCLUDE /dev/zero\n$INCLUDE .\n");
	snprintf(want, sizeof(want),
		"1:10 Cannot open include file '%s/fifo': not a regular file\n"
		"2:10 Cannot open include file '%s/socket': not a regular "
		"file\n"
		"3:10 Cannot open include file '/dev/zero': not a regular "
		"file\n"
		"4:10 Cannot open include file '.': Is a directory\n",
		directory, directory);
	expect_file("main", "", want);
	close(fd);
	assert_int_equal(unlink(path_of("fifo")), 0);
	assert_int_equal(unlink(path_of("socket")), 0);
}

struct meddler {
	void (*meddle)(void);
	unsigned calls;
};

static void
on_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct meddler *m = ctx;

	assert_true(done <= total);
	if (m->calls++ == 0)
		m->meddle();
}

static void
append_line(void)
{
	int fd = open(path_of("main"), O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, "b 1 A 192.0.2.1\n", 16), 16);
	close(fd);
}

static void
truncate_file(void)
{
	assert_int_equal(truncate(path_of("main"), 20000), 0);
}

static void
replace_file(void)
{
	char path[128];

	strcpy(path, path_of("other"));
	assert_int_equal(rename(path, path_of("main")), 0);
}

static void
remove_file(void)
{
	assert_int_equal(unlink(path_of("main")), 0);
}

/* Fault 49 */
static void
file_that_changes_while_it_is_read_must_be_read_again(void **state)
{
	static void (*const meddle[])(void) = { append_line, truncate_file,
		replace_file, remove_file };
	struct parse_tuning tuning = parse_tuning_default;
	char *text = malloc(100001);
	size_t i;
	unsigned threads;

	assert_non_null(text);
	for (i = 0; i < 100000; i += 10)
		memcpy(text + i, "a A 1.2.3\n", 10);
	for (i = 0; i < 100000; i += 20)
		memcpy(text + i, "a 1 A 1.2.3.4 ;    \n", 20);
	text[100000] = '\0';
	tuning.chunk_size = 10000;
	tuning.head_size = 1000;
	tuning.parallel_size = 10000;
	for (i = 0; i < 4; i++) {
		for (threads = 1; threads < 4; threads++) {
			struct meddler m = { meddle[i], 0 };
			struct zonefile_options options = {
				.apex = fixture_apex,
				.threads = threads,
				.on_progress = on_progress,
				.progress_ctx = &m,
			};
			struct outcome o;

			write_file("main", text);
			write_file("other", text);
			o = outcome_of_file(path_of("main"), &options,
				&tuning);
			assert_int_equal(o.err, NSD_E_AGAIN);
			assert_string_equal(o.diags, "");
			assert_true(m.calls >= 1);
			outcome_free(&o);
		}
	}
	free(text);
}

/* ---- $GENERATE --------------------------------------------------------- */

static void
generate_makes_a_record_a_number(void **state)
{
	expect("$GENERATE 1-3 h$ 5 IN A 192.0.2.1 ; $ x\n",
		"1 h1.example.org. 5 A " A1 "\n1 h2.example.org. 5 A " A1 "\n"
		"1 h3.example.org. 5 A " A1 "\n", "");
	expect("\n$GENERATE 8-12/4 $ 5 NS (\n$.x. )\n"
		"$generate 0-0 y 1 TXT \"$ $\" $;\nz 1 A 192.0.2.1\n",
		"2 8.example.org. 5 NS 0138017800\n"
		"2 12.example.org. 5 NS 023132017800\n"
		"4 y.example.org. 1 TXT 033020300130\n"
		"5 z.example.org. 1 A " A1 "\n", "");
}

/* As BIND has it. */
static void
generate_takes_rdata_in_quotes(void **state)
{
	expect("$GENERATE 1-1 h$ 5 IN MX \"10 m$\"\n"
		"$GENERATE 1-1 h$ IN 5 TXT \"a \\\"b $\\\" \\\\\\010\"\n"
		"$GENERATE 1-1 h$ TXT \"$\" \"a b\"\n"
		"$GENERATE 1-1 h$ TXT \"a\n$\"\n"
		"$GENERATE 1-1 h$ SVCB 1 . alpn=\"h$\" port=\"5$\"\n"
		"$GENERATE 1-1 h$ TXT a=\"$\"b\n",
		"1 h1.example.org. 5 MX 000a026d31076578616d706c65036f726700"
		"\n2 h1.example.org. 5 TXT 01610362203102" "5c0a\n"
		"3 h1.example.org. 5 TXT 01310361" "2062\n"
		"4 h1.example.org. 5 TXT 03610a31\n"
		"6 h1.example.org. 5 SVCB 000100000100030268310003000200" "33\n"
		"7 h1.example.org. 5 TXT 02613d01310162\n", "");
}

static void
generate_modifiers_shift_pad_and_convert(void **state)
{
	expect("$GENERATE 10-10 a${1}b${-10}c${0,4}d${0,4,x}e${0,1,X}f${0,0,o} "
		"1 A 192.0.2.1\n",
		"1 a11b0c0010d000aeaf12.example.org. 1 A " A1 "\n", "");
	expect("$GENERATE 19-19 ${0,0,n}.x${0,7,n}.y${12,0,N}.z 1 A "
		"192.0.2.1\n",
		"1 3.1.x3.1.0.0.yf.1.z.example.org. 1 A " A1 "\n", "");
	/* With an even width BIND ends with a dot. */
	expect("$GENERATE 19-19 ${0,2,n}a.${0,4,n}b.${0,6,N}c.${0,8,n}d 1 A "
		"192.0.2.1\n", "1 3.1a.3.1.b.3.1.0.c.3.1.0.0.d.example.org. "
		"1 A " A1 "\n", "");
	expect("$GENERATE 1-1 a\\$b$$c\\\\$ 1 A 192.0.2.1\n",
		"1 a\\$b\\$c\\\\1.example.org. 1 A " A1 "\n", "");
}

static void
generate_faults_are_told_at_its_line(void **state)
{
	expect("$GENERATE\n$GENERATE 1 a A 192.0.2.1\n"
		"$GENERATE 2-1 a A 192.0.2.1\n$GENERATE 1-2/0 a A 192.0.2.1\n"
		"$GENERATE 1-x a A 192.0.2.1\n$GENERATE 1-2 a${x} A 192.0.2.1\n"
		"$GENERATE 1-2 a${1,2,z} A 192.0.2.1\n"
		"$GENERATE 1-2 a${1 A 192.0.2.1\n"
		"$GENERATE 1-2 a${-5} A 192.0.2.1\n"
		"$GENERATE 0-2147483647 a A 192.0.2.1\n"
		"$GENERATE 1-2 a$ A x$\n"
		"$GENERATE 0-99999999999999999999 a A 192.0.2.1\n"
		"$GENERATE 1-2 a${1,256} A 192.0.2.1\nb 1 A 192.0.2.1\n",
		"14 b.example.org. 1 A " A1 "\n",
		"1:1 Missing fields in $GENERATE: range, owner, type and "
			"rdata expected\n"
		"2:11 Invalid range in $GENERATE: '1'" RANGE
		"3:11 Invalid range in $GENERATE: '2-1'" RANGE
		"4:11 Invalid range in $GENERATE: '1-2/0'" RANGE
		"5:11 Invalid range in $GENERATE: '1-x'" RANGE
		"6:15 Invalid modifier in $GENERATE: expected "
			"${OFFSET[,WIDTH[,BASE]]}\n"
		"7:15 Invalid modifier in $GENERATE: expected "
			"${OFFSET[,WIDTH[,BASE]]}\n"
		"8:15 Invalid modifier in $GENERATE: expected "
			"${OFFSET[,WIDTH[,BASE]]}\n"
		"9:11 Invalid offset in $GENERATE: negative number\n"
		"10:11 Invalid range in $GENERATE, more than 16777216 "
			"records: '0-2147483647'\n"
		"11:0 Invalid rdata in A: 'x1': expected an IPv4 address\n"
		"11:0 Invalid rdata in A: 'x2': expected an IPv4 address\n"
		"12:11 Invalid range in $GENERATE: "
			"'0-99999999999999999999'" RANGE
		"13:15 Invalid modifier in $GENERATE: expected "
			"${OFFSET[,WIDTH[,BASE]]}\n");
}

/* Fault 48: with or without threads, and over files. */
static void
generate_is_limited_over_a_whole_zone(void **state)
{
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		struct zonefile_options options = { .apex = fixture_apex,
			.threads = threads };
		struct parse_tuning tuning = parse_tuning_default;
		struct outcome o;

		tuning.generate_max = 10;
		tuning.parallel_size = 0;
		tuning.chunk_size = tuning.head_size = 40;
		write_file("sub", "$GENERATE 1-4 b$ 1 A 192.0.2.1\n");
		write_file("main", "$GENERATE 1-4 a$ 1 A 192.0.2.1\n"
			"$INCLUDE sub\n$GENERATE 1-3 c$ 1 A 192.0.2.1\n"
			"$GENERATE 1-2 d$ 1 A 192.0.2.1\n");
		o = outcome_of_file(path_of("main"), &options, &tuning);
		assert_string_equal(o.diags, "3:11 Invalid range in $GENERATE,"
			" more than 10 records: '1-3'\n");
		assert_int_equal(o.rr_count, 10);
		outcome_free(&o);
		write_file("main", "$GENERATE 1-9 ${0,250} 1 TXT ${0,250}"
			" ${0,250}\n");
		o = outcome_of_file(path_of("main"), &options, &tuning);
		assert_string_equal(o.diags, "1:11 $GENERATE makes too much"
			" text\n");
		outcome_free(&o);
	}
}

static void
generate_over_many_blocks_keeps_owner_and_line(void **state)
{
	static const char text[] = "$TTL 1\na A 192.0.2.1\n$GENERATE 0-4999 "
		"h$ A 192.0.2.1\n A 192.0.2.1\n";
	struct zonefile_options options = { .apex = fixture_apex };
	struct outcome o = outcome_of_text(text, sizeof(text) - 1, &options,
		NULL);

	assert_int_equal(o.err, NSD_OK);
	assert_int_equal(o.rr_count, 5002);
	assert_non_null(strstr(o.text, "3 h4999.example.org. 1 A " A1 "\n"
		"4 a.example.org. 1 A " A1 "\n"));
	outcome_free(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(include_restores_origin_and_owner_but_not_ttl),
		cmocka_unit_test(include_takes_an_origin),
		cmocka_unit_test(
			include_is_relative_to_the_working_directory_first),
		cmocka_unit_test(
			include_is_then_relative_to_the_including_file),
		cmocka_unit_test(
			include_that_cannot_be_read_is_an_error_at_its_line),
		cmocka_unit_test(include_loops_are_refused),
		cmocka_unit_test(include_depth_is_limited),
		cmocka_unit_test(include_of_the_same_files_is_limited),
		cmocka_unit_test(findings_come_in_file_order_with_their_file),
		cmocka_unit_test(errors_of_included_files_count_to_the_limit),
		cmocka_unit_test(include_is_refused_in_text),
		cmocka_unit_test(file_that_cannot_be_read_says_why),
		cmocka_unit_test(sources_tell_what_was_read),
		cmocka_unit_test(a_pipe_is_read_to_its_end),
		cmocka_unit_test(what_is_no_file_is_not_read),
		cmocka_unit_test(
			file_that_changes_while_it_is_read_must_be_read_again),
		cmocka_unit_test(generate_makes_a_record_a_number),
		cmocka_unit_test(generate_takes_rdata_in_quotes),
		cmocka_unit_test(generate_modifiers_shift_pad_and_convert),
		cmocka_unit_test(generate_faults_are_told_at_its_line),
		cmocka_unit_test(generate_is_limited_over_a_whole_zone),
		cmocka_unit_test(
			generate_over_many_blocks_keeps_owner_and_line),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
