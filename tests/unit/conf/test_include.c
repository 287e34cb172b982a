/* test_include.c - include: in nsd.conf: files, globs, loops, the chroot. */
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/parser.h"
#include "reader.h"

static char dir[64];
static struct reader reader;

/* Removes all that tests make: files and one level of folders. */
static int
remove_dir(void **state)
{
	char command[128];

	if (dir[0] == '\0')
		return 0;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static int
make_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/test-conf-include-XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

/* The path, lent until the next call; DIR in the text is the folder. */
static const char *
put(const char *name, const char *text)
{
	static char path[256];
	const char *at;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	while ((at = strstr(text, "DIR")) != NULL) {
		fwrite(text, 1, (size_t)(at - text), file);
		fputs(dir, file);
		text = at + 3;
	}
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* Compares the messages, with DIR for the folder. */
static void
expect_said(const char *expected)
{
	static char said[65536];
	const char *from = reader.said, *at;

	said[0] = '\0';
	while ((at = strstr(from, dir)) != NULL) {
		strncat(said, from, (size_t)(at - from));
		strcat(said, "DIR");
		from = at + strlen(dir);
	}
	strcat(said, from);
	assert_string_equal(said, expected);
}

static struct conf *
load(const char *text)
{
	return reader_load_file(&reader, put("main", text), NULL);
}

static void
include_goes_on_inside_the_clause(void **state)
{
	struct conf *conf;

	put("a", "tcp-count: 5 include: \"DIR/b c\" tcp-timeout: 7");
	put("b c", "# nothing\nport: 8\n");
	conf = load("server: verbosity: 2 include: DIR/a tcp-mss: 9\n"
		"zone: name:\ninclude: DIR/name\n zonefile: x");
	expect_said("DIR/main:3: error: cannot open include file 'DIR/name': "
		"No such file or directory\n"
		"DIR/main:2: at 'name:': error: syntax error, expected a name "
		"behind it\n"
		"read DIR/main failed: 2 errors in configuration file\n");
	assert_null(conf);
	put("name", "x.nl\n");
	conf = load("server: verbosity: 2 include: DIR/a tcp-mss: 9\n"
		"zone: name:\ninclude: DIR/name\n zonefile: x");
	expect_said("");
	assert_int_equal(conf->server.verbosity, 2);
	assert_int_equal(conf->server.tcp_count, 5);
	assert_int_equal(conf->server.port, 8);
	assert_int_equal(conf->server.tcp_timeout, 7);
	assert_int_equal(conf->server.tcp_mss, 9);
	assert_string_equal(conf->zones[0]->name, "x.nl");
	conf_destroy(conf);
}

static void
errors_name_the_included_file_and_its_line(void **state)
{
	put("a", "\n\nport: x\ninclude: DIR/b");
	put("b", "\nfoo: 3\nzone: name: y zonefile: z\n"
		"notify: ::1 nokey");
	assert_null(load("server:\ninclude: DIR/a\n\ntcp-count: 0\n"));
	/* b ends in a zone clause, so tcp-count is none of its options */
	expect_said("DIR/a:3: error: expected a number for port, got 'x'\n"
		"DIR/b:2: at 'foo:': error: syntax error, expected a clause "
		"or an option of server:\n"
		"DIR/main:4: at 'tcp-count:': error: syntax error, expected "
		"it in server:\n"
		"DIR/b:4: error: key nokey in pattern _implicit_y could not "
		"be found\n"
		"read DIR/main failed: 4 errors in configuration file\n");
}

static void
glob_reads_files_in_order_and_none_is_fine(void **state)
{
	struct conf *conf;
	char path[128];

	snprintf(path, sizeof(path), "%s/g", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	put("g/2.conf", "tcp-count: 2\nidentity: two");
	put("g/1.conf", "tcp-count: 1\nverbosity: 1");
	put("g/3.conf", "port: 3\n");
	put("g/4.other", "x");
	conf = load("server: include: DIR/g/*.conf tcp-mss: 5\n"
		"include: \"DIR/none/*\"\ninclude: DIR/g/[x]*\n");
	expect_said("");
	assert_int_equal(conf->server.tcp_count, 2);
	assert_string_equal(conf->server.identity, "two");
	assert_int_equal(conf->server.verbosity, 1);
	assert_int_equal(conf->server.port, 3);
	assert_int_equal(conf->server.tcp_mss, 5);
	conf_destroy(conf);
#ifdef GLOB_BRACE /* not in musl */
	conf = load("server: include: DIR/g/{3,1}.conf");
	expect_said("");
	assert_int_equal(conf->server.port, 3);
	assert_int_equal(conf->server.tcp_count, 1);
	conf_destroy(conf);
#endif
	/* a folder among the matches can't be read */
	assert_null(load("server: include: DIR/?"));
	assert_non_null(strstr(reader.said, "/g': Is a directory"));
}

/* Configurations include /dev/null in place of an optional file. */
static void
nothing_may_be_included(void **state)
{
	conf_destroy(load("server:\ninclude: /dev/null\nport: 5\n"
		"include: \"/dev/null\"\n"));
	expect_said("");
}

/* Fault 74. */
static void
include_loop_is_an_error(void **state)
{
	put("a", "include: DIR/b\n");
	put("b", "include: DIR/a\nport: 5\n");
	assert_null(load("server: include: DIR/a"));
	expect_said("DIR/b:1: error: include loop: 'DIR/a' is being read "
		"already\n"
		"read DIR/main failed: 1 errors in configuration file\n");
	assert_null(load("include: DIR/*"));
	assert_non_null(strstr(reader.said, "include loop"));
	/* twice in a row is no loop */
	put("b", "port: 5\n");
	conf_destroy(load("server: include: DIR/b include: DIR/a"));
	expect_said("");
}

static void
includes_nest_to_a_limit(void **state)
{
	char name[16], text[64];
	struct conf *conf;
	unsigned i;

	for (i = 0; i < 101; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		snprintf(text, sizeof(text), "include: DIR/n%u\n", i + 1);
		put(name, text);
	}
	put("n100", "port: 77\n");
	conf = load("server: include: DIR/n1");
	expect_said("");
	assert_int_equal(conf->server.port, 77);
	conf_destroy(conf);
	assert_null(load("server: include: DIR/n0"));
	expect_said("DIR/n99:1: error: include file 'DIR/n100': nested deeper "
		"than 100\nread DIR/main failed: 1 errors in configuration "
		"file\n");
}

static void
chroot_is_stripped_and_asked_for(void **state)
{
	struct conf *conf;
	char path[256];

	/* Names that start with /nowhere are looked for without it. */
	put("a", "server: port: 9");
	put("main", "include: /nowhereDIR/a\ninclude: /nowhereDIR/no*");
	snprintf(path, sizeof(path), "/nowhere%s/main", dir);
	conf = reader_load_file(&reader, path, "/nowhere");
	expect_said("");
	assert_int_equal(conf->server.port, 9);
	conf_destroy(conf);
	put("main", "include: DIR/a\n");
	assert_null(reader_load_file(&reader, path, "/nowhere"));
	assert_non_null(strstr(reader.said, ":1: error: include file '"));
	assert_non_null(strstr(reader.said,
		"' is not relative to chroot '/nowhere'\n"));
}

static void
names_count_from_the_folder_that_was_said(void **state)
{
	struct conf_origin origin = { NULL, dir };
	char odd[128], path[160];
	struct conf *conf;

	put("a", "server: port: 9");
	put("n1", "server: tcp-count: 8");
	put("main", "include: a\ninclude: n*\n");
	snprintf(path, sizeof(path), "%s/main", dir);
	reader.len = 0;
	assert_int_equal(conf_load(path, &origin, &reader.sink, &conf),
		NSD_OK);
	assert_int_equal(conf->server.port, 9);
	assert_int_equal(conf->server.tcp_count, 8);
	conf_destroy(conf);
	/* Characters of a glob in the folder's own name stand for
	 * themselves. */
	snprintf(odd, sizeof(odd), "%s/[o]{d}", dir);
	assert_int_equal(mkdir(odd, 0700), 0);
	put("[o]{d}/n1", "server: tcp-count: 7");
	put("main", "include: n*\n");
	origin.folder = odd;
	assert_int_equal(conf_load(path, &origin, &reader.sink, &conf),
		NSD_OK);
	assert_int_equal(conf->server.tcp_count, 7);
	conf_destroy(conf);
}

/* A folder that cannot be read must not count as empty: its zones would go. */
static void
folder_that_cannot_be_looked_into_is_told(void **state)
{
	char path[128], text[256];

	snprintf(path, sizeof(path), "%s/loop", dir);
	assert_int_equal(symlink("loop", path), 0);
	assert_null(load("server: port: 9\ninclude: DIR/loop/*.conf"));
	snprintf(text, sizeof(text), "DIR/main:2: error: cannot open include"
		" file 'DIR/loop/*.conf': %s\n"
		"read DIR/main failed: 1 errors in configuration file\n",
		strerror(ELOOP));
	expect_said(text);
	unlink(path);
}

static void
file_that_cannot_be_read_is_told(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/absent", dir);
	assert_null(reader_load_file(&reader, path, NULL));
	expect_said("Could not open DIR/absent: No such file or directory\n");
	assert_null(reader_load_file(&reader, dir, NULL));
	expect_said("Could not open DIR: Is a directory\n");
}

/* Fault 74: nothing waits for a FIFO, or reads a device for ever. */
static void
what_is_no_file_is_not_read(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(reader_load_file(&reader, path, NULL));
	expect_said("Could not open DIR/fifo: not a regular file\n");
	assert_null(reader_load_file(&reader, "/dev/zero", NULL));
	expect_said("Could not open /dev/zero: not a regular file\n");
	assert_null(load("include: DIR/fifo\ninclude: /dev/zero\n"
		"include: DIR/fif*\n"));
	expect_said("DIR/main:1: error: cannot open include file 'DIR/fifo': "
		"not a regular file\n"
		"DIR/main:2: error: cannot open include file '/dev/zero': "
		"not a regular file\n"
		"DIR/main:3: error: cannot open include file 'DIR/fifo': "
		"not a regular file\n"
		"read DIR/main failed: 3 errors in configuration file\n");
	assert_int_equal(unlink(path), 0);
}

static void
a_pipe_may_be_the_first_file(void **state)
{
	struct conf *conf;
	char path[32];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "server: port: 9", 15), 15);
	close(fds[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	conf = reader_load_file(&reader, path, NULL);
	expect_said("");
	assert_int_equal(conf->server.port, 9);
	conf_destroy(conf);
	close(fds[0]);
}

/* n0 includes n1 twice, which includes n2 twice, ... */
static void
put_bomb(unsigned depth, const char *last)
{
	char name[16], text[64];
	unsigned i;

	for (i = 0; i < depth; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		snprintf(text, sizeof(text), "include: DIR/n%u\n"
			"include: DIR/n%u\n", i + 1, i + 1);
		put(name, text);
	}
	snprintf(name, sizeof(name), "n%u", depth);
	put(name, last);
}

static enum nsd_err
load_within(const struct conf_limits *limits)
{
	struct conf *conf = NULL;
	enum nsd_err err;

	reader.len = 0;
	reader.said[0] = '\0';
	reader.sink.errors = 0;
	err = parser_load_limited(put("main", "server: include: DIR/n0"), NULL,
		limits, &reader.sink, &conf);
	conf_destroy(conf);
	return err;
}

static enum nsd_err
load_limited(uint32_t includes, uint64_t octets)
{
	return load_within(&(struct conf_limits){
		.includes = includes,
		.deep = UINT32_MAX,
		.octets = octets,
	});
}

static enum nsd_err
load_deep(uint32_t deep)
{
	return load_within(&(struct conf_limits){
		.includes = UINT32_MAX,
		.deep = deep,
		.octets = UINT64_MAX,
	});
}

/* Fault 74: what they hold together has a limit, whatever the depth. */
static void
files_that_include_each_other_twice_come_to_an_end(void **state)
{
	const uint64_t no_limit = UINT64_MAX;

	put_bomb(90, "");
	assert_int_equal(load_limited(1000, no_limit), NSD_E_SYNTAX);
	assert_int_equal(reader.sink.errors, 2);
	assert_non_null(strstr(reader.said, ": error: too much is included: "
		"1000 files and "));
	/* The first one, and 2 + 4 + ... + 256. */
	put_bomb(8, "");
	assert_int_equal(load_limited(511, no_limit), NSD_OK);
	assert_string_equal(reader.said, "");
	assert_int_equal(load_limited(510, no_limit), NSD_E_SYNTAX);
	assert_non_null(strstr(reader.said, "n7:2: error: too much"));
	assert_int_equal(load_limited(511, 1000), NSD_E_SYNTAX);
	assert_non_null(strstr(reader.said, "too much is included"));
}

/* Fault 74: such files are many in the depth, and those of a folder are not. */
static void
files_in_depth_have_a_limit_of_their_own(void **state)
{
	put_bomb(90, "");
	assert_int_equal(load_deep(1000), NSD_E_SYNTAX);
	assert_int_equal(reader.sink.errors, 2);
	assert_non_null(strstr(reader.said, ": error: too much is "
		"included: 1000 files by files that are included in depth 2 "
		"or more, no more are opened\n"));
	/* n0 in depth 1, n1 twice in depth 2, then 4 + ... + 256. */
	put_bomb(8, "");
	assert_int_equal(load_deep(508), NSD_OK);
	assert_int_equal(load_deep(507), NSD_E_SYNTAX);
	assert_non_null(strstr(reader.said, "n7:2: error: too much"));
	put_bomb(1, "");
	assert_int_equal(load_deep(0), NSD_OK);
}

static enum nsd_err
load_inherited(uint32_t list, uint64_t inherited)
{
	return load_within(&(struct conf_limits){
		.includes = UINT32_MAX,
		.octets = UINT64_MAX,
		.list = list,
		.inherited = inherited,
	});
}

/* Fault 74: each has all of the one above it twice. */
static void
patterns_that_include_another_twice_come_to_an_end(void **state)
{
	struct conf *conf = NULL;
	char text[4096];
	unsigned i, len;

	len = (unsigned)sprintf(text, "pattern:\nname: p0\n"
		"notify: 192.0.2.1 NOKEY\n");
	for (i = 1; i <= 30; i++)
		len += (unsigned)sprintf(text + len, "pattern:\nname: p%u\n"
			"include-pattern: p%u\ninclude-pattern: p%u\n", i,
			i - 1, i - 1);
	put("n0", text);
	/* 2, then 4, then 8 are copied to a list. */
	assert_int_equal(load_inherited(8, UINT64_MAX), NSD_E_SYNTAX);
	assert_non_null(strstr(reader.said, "n0:19: error: too much is "
		"inherited: a list of 16 elements, at most 8 are possible\n"));
	assert_int_equal(load_inherited(UINT32_MAX, 2 + 4 + 8),
		NSD_E_SYNTAX);
	assert_non_null(strstr(reader.said, "n0:19: error: too much is "
		"inherited: lists of more than 14 elements in all\n"));
	assert_int_equal(reader.sink.errors, 2);
	/* The limits that all have. */
	reader.len = 0;
	assert_int_equal(conf_load_text("text", text, len, false, &reader.sink,
		&conf), NSD_E_SYNTAX);
	assert_non_null(strstr(reader.said, "text:71: error: too much is "
		"inherited: a list of 131072 elements, at most 65536"));
}

/* A zone that adds to its pattern's list has a copy of the list, which counts
 * too. */
static void
lists_that_are_added_to_count(void **state)
{
	put("n0", "pattern: name: p notify: 192.0.2.1 NOKEY\n"
		"notify: 192.0.2.2 NOKEY\n"
		"zone: name: a include-pattern: p notify: 192.0.2.3 NOKEY\n"
		"zone: name: b include-pattern: p\n"
		"zone: name: c include-pattern: p notify: 192.0.2.3 NOKEY\n");
	assert_int_equal(load_inherited(2, 4), NSD_OK);
	assert_int_equal(load_inherited(2, 3), NSD_E_SYNTAX);
	assert_non_null(strstr(reader.said, "n0:5: error: too much"));
	assert_int_equal(load_inherited(1, 4), NSD_E_SYNTAX);
	assert_non_null(strstr(reader.said, "n0:3: error: too much"));
	assert_non_null(strstr(reader.said, "n0:5: error: too much"));
}

static void
check_notify(const struct conf_pattern *pattern, unsigned count)
{
	char spec[32];

	assert_int_equal(pattern->notify.count, count);
	for (unsigned i = 0; i < count; i++) {
		sprintf(spec, "192.0.2.%u", i % 200 + 1);
		assert_string_equal(pattern->notify.items[i].spec, spec);
	}
}

/* Fault 74: each has all of the one above it, and one more. */
static void
chained_patterns_share_their_items(void **state)
{
	enum { CHAIN = 1024 };
	static char text[CHAIN * 80];
	struct conf *conf = NULL;
	const void *first = NULL;
	unsigned len = 0, arrays = 0;

	for (unsigned i = 0; i < CHAIN; i++) {
		len += (unsigned)sprintf(text + len, "pattern: name: p%04u\n",
			i);
		if (i > 0)
			len += (unsigned)sprintf(text + len,
				"include-pattern: p%04u\n", i - 1);
		len += (unsigned)sprintf(text + len,
			"notify: 192.0.2.%u NOKEY\n", i % 200 + 1);
	}
	/* Two that add to the same one differ. */
	len += (unsigned)sprintf(text + len, "pattern: name: q "
		"include-pattern: p0002 notify: 192.0.2.99 NOKEY\n");
	assert_int_equal(conf_load_text("text", text, len, false, &reader.sink,
		&conf), NSD_OK);
	for (unsigned i = 0; i < CHAIN; i++) {
		const struct conf_pattern *pattern = conf->patterns[i];

		check_notify(pattern, i + 1);
		arrays += pattern->notify.items != first;
		first = pattern->notify.items;
	}
	assert_in_range(arrays, 1, 11);
	assert_int_equal(conf->patterns[CHAIN]->notify.count, 4);
	assert_string_equal(conf->patterns[CHAIN]->notify.items[3].spec,
		"192.0.2.99");
	conf_destroy(conf);
}

/* Fault 74: what is refused after it has been read counts. */
static void
files_of_a_loop_count(void **state)
{
	struct stat main_file, loop;
	char path[128];

	put("n0", "include: DIR/n0\ninclude: DIR/n0\ninclude: DIR/n0\n");
	assert_int_equal(load_limited(100, UINT64_MAX), NSD_E_SYNTAX);
	assert_null(strstr(reader.said, "too much"));
	snprintf(path, sizeof(path), "%s/main", dir);
	assert_int_equal(stat(path, &main_file), 0);
	snprintf(path, sizeof(path), "%s/n0", dir);
	assert_int_equal(stat(path, &loop), 0);
	assert_int_equal(load_limited(100, (uint64_t)(main_file.st_size
		+ loop.st_size + 1)), NSD_E_SYNTAX);
	assert_non_null(strstr(reader.said, "n0:1: error: include loop"));
	assert_non_null(strstr(reader.said, "n0:2: error: too much"));
}

static void
text_that_may_not_read_files_says_so(void **state)
{
	struct diag_sink sink = { .on_diag = NULL };
	static const char text[] = "include: /etc/passwd";
	struct conf *conf;

	assert_int_equal(conf_load_text("t", text, sizeof(text) - 1, false,
		&sink, &conf), NSD_E_SYNTAX);
	assert_int_equal(sink.errors, 2);
}

#define INCLUDE_TEST(f) \
	cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		INCLUDE_TEST(include_goes_on_inside_the_clause),
		INCLUDE_TEST(errors_name_the_included_file_and_its_line),
		INCLUDE_TEST(glob_reads_files_in_order_and_none_is_fine),
		INCLUDE_TEST(nothing_may_be_included),
		INCLUDE_TEST(include_loop_is_an_error),
		INCLUDE_TEST(includes_nest_to_a_limit),
		INCLUDE_TEST(chroot_is_stripped_and_asked_for),
		INCLUDE_TEST(names_count_from_the_folder_that_was_said),
		INCLUDE_TEST(folder_that_cannot_be_looked_into_is_told),
		INCLUDE_TEST(file_that_cannot_be_read_is_told),
		INCLUDE_TEST(what_is_no_file_is_not_read),
		INCLUDE_TEST(a_pipe_may_be_the_first_file),
		INCLUDE_TEST(
			files_that_include_each_other_twice_come_to_an_end),
		INCLUDE_TEST(files_in_depth_have_a_limit_of_their_own),
		INCLUDE_TEST(patterns_that_include_another_twice_come_to_an_end),
		INCLUDE_TEST(lists_that_are_added_to_count),
		INCLUDE_TEST(chained_patterns_share_their_items),
		INCLUDE_TEST(files_of_a_loop_count),
		INCLUDE_TEST(text_that_may_not_read_files_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
