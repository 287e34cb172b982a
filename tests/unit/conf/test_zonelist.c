/* test_zonelist.c - the file of zones that were added at run time. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/zonelist.h"
#include "lib/files.h"
#include "reader.h"

#define HEAD "# NSD zone list\n# name pattern\n"
#define CONF "pattern: name: p zonefile: a\npattern: name: q zonefile: b\n" \
	     "zone: name: fixed zonefile: c\n"

static char folder[] = "/tmp/test_zonelist.XXXXXX";
static char path[64], temp[64];

static int
make_folder(void **state)
{
	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/zone.list", folder);
	snprintf(temp, sizeof(temp), "%s/zone.list~", folder);
	return 0;
}

static int
remove_folder(void **state)
{
	unlink(path);
	unlink(temp);
	return rmdir(folder);
}

/* ---- reading ------------------------------------------------------------- */

struct said {
	struct diag_sink sink;
	char text[4096];
};

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct said *said = (struct said *)sink;
	size_t at = strlen(said->text);

	snprintf(said->text + at, sizeof(said->text) - at, "%lu:%s\n",
		(unsigned long)d->line, d->text);
}

/* True if the list that was loaded last was cut. */
static bool was_cut;

static enum nsd_err
load(struct conf *conf, const char *text, struct said *said)
{
	*said = (struct said){.sink = {.on_diag = on_diag}};
	files_write(path, text);
	return zonelist_load(conf, path, &said->sink, &was_cut);
}

static void
zones_of_the_list_are_added_with_their_patterns(void **state)
{
	struct conf *conf = reader_accept(CONF);
	const struct conf_zone *zone;
	struct said said;

	assert_int_equal(load(conf, HEAD "add example.com p\ndel x.test q\n"
		"add b.test. q\ncat m.test p abc\n\n# more\n", &said), NSD_OK);
	assert_string_equal(said.text, "");
	assert_int_equal(conf->zone_count, 4);
	zone = conf_find_zone_text(conf, "example.com");
	assert_string_equal(zone->pattern_name, "p");
	assert_string_equal(zone->zonefile, "a");
	zone = conf_find_zone_text(conf, "b.test");
	assert_string_equal(zone->name, "b.test.");
	assert_string_equal(zone->pattern_name, "q");
	assert_string_equal(conf_find_zone_text(conf, "m.test")->pattern_name,
		"p");
	assert_null(conf_find_zone_text(conf, "x.test"));
	conf_destroy(conf);
}

static void
what_makes_no_sense_is_said_and_left_out(void **state)
{
	struct conf *conf = reader_accept(CONF);
	struct said said;

	assert_int_equal(load(conf, HEAD "add a.test nowhere\nadd a..b p\n"
		"add fixed p\nadd onlyname\nfoo\nadd  p\nadd c.test p\n"
		"add c.test q\n", &said), NSD_OK);
	assert_string_equal(said.text,
		"3:pattern does not exist for zone a.test pattern nowhere\n"
		"4:bad domain name or duplicate zone 'a..b' pattern p\n"
		"5:bad domain name or duplicate zone 'fixed' pattern p\n"
		"6:no name and pattern\n"
		"7:neither add nor del\n"
		"8:no name and pattern\n"
		"10:bad domain name or duplicate zone 'c.test' pattern q\n");
	assert_int_equal(conf->zone_count, 2);
	assert_string_equal(conf_find_zone_text(conf, "c.test")->pattern_name,
		"p");
	conf_destroy(conf);
}

static void
file_that_is_no_list_is_refused(void **state)
{
	static const char *const texts[] = {"x", "# NSD zone", "add a.test p\n",
		"# NSD zone list", "\n# NSD zone list\n"};
	struct conf *conf = reader_accept(CONF);
	struct said said;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(load(conf, texts[i], &said), NSD_E_SYNTAX);
		assert_non_null(strstr(said.text, "contains bad header"));
	}
	assert_int_equal(load(conf, "", &said), NSD_OK);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(zonelist_load(conf, path, &said.sink,
		&was_cut), NSD_OK);
	assert_int_equal(zonelist_load(conf, folder, &said.sink,
		&was_cut),
		NSD_E_SYSTEM);
	assert_int_equal(conf->zone_count, 1);
	conf_destroy(conf);
}

static void
list_cut_anywhere_is_read(void **state)
{
	static const char text[] = HEAD "add a.test p\ndel b.test q\n"
					"add c.test q\n";
	struct conf *conf;
	struct said said = {.sink = {.on_diag = on_diag}};

	for (size_t len = 0; len < sizeof(text); len++) {
		conf = reader_accept(CONF);
		files_write_octets(path, text, len);
		*said.text = '\0';
		assert_int_equal(zonelist_load(conf, path, &said.sink,
			&was_cut), len == 0 || len >= 16 ? NSD_OK
							 : NSD_E_SYNTAX);
		if (len == 0 || len >= 16) {
			bool torn = len == 0 || text[len - 1] != '\n';

			assert_true(was_cut == torn);
			assert_true(torn == (strstr(said.text, len == 0
				? "is empty, and has no header"
				: "the list ends within the line '") != NULL));
		}
		conf_destroy(conf);
	}
	conf = reader_accept(CONF);
	files_write_octets(path, HEAD "add a\0b p\nadd c.test p\n",
		sizeof(HEAD) + 23);
	assert_int_equal(zonelist_load(conf, path, &said.sink,
		&was_cut), NSD_OK);
	assert_int_equal(conf->zone_count, 2);
	conf_destroy(conf);
}

/* A power cut leaves NULs of a list that was just made. */
static void
list_of_nuls_counts_as_empty(void **state)
{
	static const char nuls[600];
	struct said said = {.sink = {.on_diag = on_diag}};
	struct conf *conf = reader_accept(CONF);

	files_write_octets(path, nuls, sizeof(nuls));
	assert_int_equal(zonelist_load(conf, path, &said.sink, &was_cut),
		NSD_OK);
	assert_true(was_cut);
	assert_non_null(strstr(said.text, "is empty, and has no header"));
	conf_destroy(conf);
}

/* A process that is forked later reads the list while it is written. */
static void
list_that_is_being_written_is_read(void **state)
{
	static const char text[] = HEAD "add a.test p\nadd b.test q";
	struct conf *conf = reader_accept(CONF);
	int fd;

	files_write(path, text);
	assert_int_equal(zonelist_load_again(conf, path, -1, false), NSD_OK);
	assert_non_null(conf_find_zone_text(conf, "a.test"));
	assert_null(conf_find_zone_text(conf, "b.test"));
	/* The start had read the list with its last line cut, so the line
	 * counts. */
	assert_int_equal(zonelist_load_again(conf, path, -1, true), NSD_OK);
	assert_non_null(conf_find_zone_text(conf, "b.test"));
	conf_drop_zones(conf);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_not_equal(fd, -1);
	/* A process that may not open the list uses the descriptor from the
	 * start, or there was no list. */
	if (geteuid() == 0) {
		assert_int_equal(seteuid(65534), 0);
		assert_int_equal(zonelist_load_again(conf, path, -1, false),
			NSD_OK);
		assert_int_equal(conf->zone_count, 0);
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(zonelist_load_again(conf, path, fd,
				false), NSD_OK);
			assert_int_equal(conf->zone_count, 1);
		}
		assert_int_equal(seteuid(0), 0);
	}
	close(fd);
	files_write(path, "no list");
	assert_int_equal(zonelist_load_again(conf, path, -1, false),
		NSD_E_SYNTAX);
	assert_int_equal(zonelist_load_again(conf, folder, -1, false),
		NSD_E_SYSTEM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(zonelist_load_again(conf, path, -1, false), NSD_OK);
	conf_destroy(conf);
}

/* ---- writing ------------------------------------------------------------- */

#define LINES_MAX 8u

/* The list that a test writes, and the places of its lines. */
static struct zonelist *list;
static struct line {
	char name[16], pattern[8], id[8]; /* without an ID: "" */
	uint64_t at;
} lines[LINES_MAX];
static size_t line_count;

static struct line *
find(const char *name)
{
	for (size_t i = 0; i < line_count; i++)
		if (strcmp(lines[i].name, name) == 0)
			return &lines[i];
	return NULL;
}

static enum nsd_err
note_line(void *ctx, const struct zonelist_line *line)
{
	struct line *noted = &lines[line_count++];

	assert_in_range(line_count, 1, LINES_MAX);
	snprintf(noted->name, sizeof(noted->name), "%s", line->name);
	snprintf(noted->pattern, sizeof(noted->pattern), "%s", line->pattern);
	snprintf(noted->id, sizeof(noted->id), "%s",
		line->id != NULL ? line->id : "");
	noted->at = line->offset;
	return NSD_OK;
}

static int
begin(void **state)
{
	unlink(path);
	line_count = 0;
	return 0;
}

static int
close_all(void **state)
{
	zonelist_close(list);
	list = NULL;
	return 0;
}

/* Anew, if it is open. */
static void
open_list(void)
{
	const struct zonelist_reader reader = {.on_zone = note_line};

	zonelist_close(list);
	line_count = 0;
	assert_int_equal(zonelist_open(path, -1, &reader, NULL, &list), NSD_OK);
}

static void
add(const char *name, const char *pattern)
{
	struct zonelist_line line = {.name = name, .pattern = pattern};

	assert_int_equal(zonelist_add(list, name, pattern, NULL,
		&line.offset), NSD_OK);
	assert_int_equal(note_line(NULL, &line), NSD_OK);
}

static void
cut(const char *name)
{
	struct line *line = find(name);

	assert_non_null(line);
	assert_int_equal(zonelist_remove(list, line->at), NSD_OK);
	zonelist_free_place(list, line->at);
	line_count--;
	memmove(line, line + 1,
		(size_t)(&lines[line_count] - line) * sizeof(*line));
}

/* Where the line is by then. */
static enum nsd_err
renew_line(struct line *line)
{
	return zonelist_renew_add(list, line->name, line->pattern,
		*line->id != '\0' ? line->id : NULL, &line->at);
}

static void
renew(void)
{
	int fd;

	assert_int_equal(zonelist_renew_begin(list), NSD_OK);
	for (size_t i = 0; i < line_count; i++)
		assert_int_equal(renew_line(&lines[i]), NSD_OK);
	assert_int_equal(zonelist_renew_end(list, &fd), NSD_OK);
	assert_int_equal(access(temp, F_OK), 0);
	assert_int_equal(zonelist_take_renewed(list), NSD_OK);
	assert_int_equal(access(temp, F_OK), -1);
}

/* There is a zone in nsd.conf, too. */
static bool
wants_renewal(void)
{
	return zonelist_wants_renewal(list, line_count + 1);
}

static void
line_is_free_for_the_next_one_of_its_length(void **state)
{
	open_list();
	add("a.test", "p");
	add("b.test", "p");
	add("long.test", "q");
	cut("a.test");
	cut("b.test");
	files_assert(path, HEAD "del a.test p\ndel b.test p\n"
				"add long.test q\n");
	add("other.test", "q");
	add("c.test", "q");
	files_assert(path, HEAD "del a.test p\nadd c.test q\nadd long.test q\n"
			 "add other.test q\n");
	/* The next writer finds the free lines again, newest first. */
	open_list();
	cut("c.test");
	add("d.test", "p");
	add("e.test", "p");
	files_assert(path, HEAD "add e.test p\nadd d.test p\n"
				"add long.test q\nadd other.test q\n");
}

static void
line_becomes_another_at_its_place(void **state)
{
	open_list();
	add("a.test", "p");
	add("b.test", "p");
	assert_int_equal(zonelist_replace(list,
		find("a.test")->at, "a.test", "q", NULL), NSD_OK);
	files_assert(path, HEAD "add a.test q\nadd b.test p\n");
}

static void
line_of_a_member_goes_with_its_id(void **state)
{
	uint64_t at;

	files_write(path, HEAD "cat a.test p id\ncat b.test q id\n");
	open_list();
	at = find("b.test")->at;
	assert_int_equal(zonelist_replace(list, at, "b.test", "p", NULL),
		NSD_E_LIMIT);
	cut("a.test");
	add("c.test", "p");
	add("dddd.test", "p");
	files_assert(path, HEAD "add dddd.test p\ncat b.test q id\n"
				"add c.test p\n");
}

static void
member_has_its_id_in_a_list_that_is_written_anew(void **state)
{
	struct line *line;
	uint64_t at;

	files_write(path, HEAD "cat a.test p id\ncat b.test q other\n"
		"add c.test q\n");
	open_list();
	line = find("a.test");
	assert_int_equal(zonelist_replace(list, line->at, "a.test", "q",
		line->id), NSD_OK);
	strcpy(line->pattern, "q");
	renew();
	files_assert(path, HEAD "cat a.test q id\ncat b.test q other\n"
		"add c.test q\n");
	/* Lines are where they are thought to be. */
	cut("b.test");
	files_assert(path, HEAD "cat a.test q id\ndel b.test q other\n"
		"add c.test q\n");
	assert_int_equal(zonelist_add(list, "d.test", "q", "again", &at),
		NSD_OK);
	files_assert(path, HEAD "cat a.test q id\ncat d.test q again\n"
		"add c.test q\n");
}

static void
pattern_over_two_sectors_is_not_written_over(void **state)
{
	char name[600];
	uint64_t at;

	for (size_t len = 440; len < 500; len++) {
		unlink(path);
		open_list();
		memset(name, 'a', len);
		name[len] = '\0';
		assert_int_equal(zonelist_add(list, name, "pp", NULL,
			&at), NSD_OK);
		at = sizeof(HEAD) - 1 + 4 + len + 1; /* the pattern's */
		assert_int_equal(zonelist_replace(list, sizeof(HEAD) - 1, name,
			"qq", NULL), at / 512 == (at + 2) / 512 ? NSD_OK
							  : NSD_E_LIMIT);
	}
}

static void
place_over_two_sectors_is_not_used_again(void **state)
{
	char first[600], second[600];
	uint64_t at, again;

	for (size_t len = 440; len < 500; len++) {
		unlink(path);
		open_list();
		memset(first, 'a', len);
		memset(second, 'b', len);
		first[len] = second[len] = '\0';
		assert_int_equal(zonelist_add(list, first, "p", NULL, &at),
			NSD_OK);
		assert_int_equal(zonelist_remove(list, at), NSD_OK);
		zonelist_free_place(list, at);
		assert_int_equal(zonelist_add(list, second, "p", NULL, &again),
			NSD_OK);
		/* Words, their spaces and the newline: 4, 1, 1, 1. */
		assert_int_equal(again == at, at / 512 == (at + len + 6) / 512);
	}
}

static void
list_with_more_free_lines_than_zones_is_written_anew(void **state)
{
	open_list();
	add("a.test", "p");
	add("bb.test", "p");
	add("ccc.test", "q");
	cut("a.test");
	assert_false(wants_renewal());
	cut("bb.test");
	assert_false(wants_renewal());
	assert_int_equal(line_count, 1);
	/* Fixed ones count. */
	cut("ccc.test");
	add("dd.test", "p");
	add("e", "q");
	cut("dd.test");
	assert_true(wants_renewal());
	renew();
	assert_false(wants_renewal());
	files_assert(path, HEAD "add e q\n");
	cut("e");
	files_assert(path, HEAD "del e q\n");
	add("f", "p");
	files_assert(path, HEAD "add f p\n");
}

static void
torn_line_is_no_head_of_another(void **state)
{
	uint64_t offset;

	files_write(path, HEAD "add a.test p\nadd b.t");
	open_list();
	assert_int_equal(zonelist_add(list, "c", "p", NULL, &offset),
		NSD_E_AGAIN);
	assert_true(wants_renewal());
	renew();
	add("c", "p");
	files_assert(path, HEAD "add a.test p\nadd c p\n");
}

/* Whole, with what it says of a zone that nobody else knows. */
static void
line_is_copied_as_it_is(void **state)
{
	uint64_t offset, none;
	int fd;

	files_write(path, HEAD "add a.test p\ncat B. q id\nadd c.t");
	open_list();
	assert_int_equal(zonelist_renew_begin(list), NSD_OK);
	assert_int_equal(zonelist_renew_copy(list, find("B.")->at, &offset),
		NSD_OK);
	assert_int_equal(offset, sizeof(HEAD) - 1);
	/* Copying a line that was cut, or one that does not exist, copies
	 * nothing. */
	assert_int_equal(zonelist_renew_copy(list, sizeof(HEAD) - 1 + 25,
		&none), NSD_OK);
	assert_int_equal(none, 0);
	assert_int_equal(zonelist_renew_copy(list, 0, &none), NSD_OK);
	assert_int_equal(none, 0);
	assert_int_equal(zonelist_renew_add(list, "d", "p", NULL, &offset),
		NSD_OK);
	assert_int_equal(zonelist_renew_end(list, &fd), NSD_OK);
	assert_int_equal(zonelist_take_renewed(list), NSD_OK);
	files_assert(path, HEAD "cat B. q id\nadd d p\n");
	assert_int_equal(zonelist_remove(list, offset), NSD_OK);
	files_assert(path, HEAD "cat B. q id\ndel d p\n");
}

/* Names too long for a line are left out; a list larger than the buffer is
 * written whole. */
static void
long_list_is_written_anew(void **state)
{
	static char name[ZONELIST_LINE_MAX];
	uint64_t offset, end = sizeof(HEAD) - 1;
	int fd;

	open_list();
	assert_int_equal(zonelist_renew_begin(list), NSD_OK);
	for (size_t i = 0; i < 1000; i++) {
		size_t len = 1 + i % (ZONELIST_LINE_MAX - 1);
		bool fits = 4 + len + 3 <= ZONELIST_LINE_MAX;

		memset(name, 'a', len);
		name[len] = '\0';
		assert_int_equal(zonelist_renew_add(list, name, "p", NULL,
			&offset), NSD_OK);
		assert_int_equal(offset, fits ? end : 0);
		end += fits ? 4 + len + 3 : 0;
	}
	memset(name, 'a', sizeof(name) - 1);
	assert_int_equal(zonelist_renew_add(list, name, "p", NULL, &offset),
		NSD_OK);
	assert_int_equal(offset, 0);
	assert_int_equal(zonelist_renew_end(list, &fd), NSD_OK);
	assert_int_equal(lseek(fd, 0, SEEK_END), end);
	assert_int_equal(zonelist_take_renewed(list), NSD_OK);
	assert_int_equal(list->end, end);
}

/* RLIMIT_FSIZE stands for a full disk. */
static void
full_disk_changes_nothing(void **state)
{
	struct rlimit limit, old;
	uint64_t offset;
	int fd;

	signal(SIGXFSZ, SIG_IGN);
	open_list();
	add("a.test", "p");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = sizeof(HEAD) - 1 + 13 + 5;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(zonelist_add(list, "b.test", "p", NULL, &offset),
		NSD_E_SYSTEM);
	assert_int_equal(errno, EFBIG);
	limit.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(zonelist_renew_begin(list), NSD_OK);
	assert_int_equal(zonelist_renew_end(list, &fd), NSD_E_SYSTEM);
	assert_int_equal(access(temp, F_OK), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	files_assert(path, HEAD "add a.test p\n####\n");
	add("c.test", "p");
	files_assert(path, HEAD "add a.test p\n####\nadd c.test p\n");
}

static void
word_with_a_newline_is_refused(void **state)
{
	char name[ZONELIST_LINE_MAX];
	uint64_t offset;

	open_list();
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(zonelist_add(list, "a\nadd b p", "p", NULL,
		&offset),
		NSD_E_LIMIT);
	assert_int_equal(zonelist_add(list, "a", "p\nadd", NULL, &offset),
		NSD_E_LIMIT);
	assert_int_equal(zonelist_add(list, "a", "p q", NULL, &offset),
		NSD_E_LIMIT);
	assert_int_equal(zonelist_add(list, "a", "p", "i d", &offset),
		NSD_E_LIMIT);
	assert_int_equal(zonelist_add(list, name, "p", NULL, &offset),
		NSD_E_LIMIT);
	assert_int_equal(access(path, F_OK), -1);
}

/* CVE-2020-28935. */
static void
link_in_the_place_of_the_list_is_not_followed(void **state)
{
	const struct zonelist_reader reader = {.on_zone = note_line};
	char other[80];
	int fd;

	snprintf(other, sizeof(other), "%s/other", folder);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(zonelist_open(path, -1, &reader, NULL, &list),
		NSD_E_SYSTEM);
	unlink(path);
	open_list();
	assert_int_equal(symlink(other, temp), 0);
	assert_int_equal(zonelist_renew_begin(list), NSD_OK);
	assert_int_equal(zonelist_renew_end(list, &fd), NSD_OK);
	assert_int_equal(access(other, F_OK), -1);
	zonelist_drop_renewed(list);
	assert_int_equal(access(temp, F_OK), -1);
}

int
main(void)
{
#define WRITING(name) cmocka_unit_test_setup_teardown(name, begin, \
	close_all)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			zones_of_the_list_are_added_with_their_patterns),
		cmocka_unit_test(what_makes_no_sense_is_said_and_left_out),
		cmocka_unit_test(file_that_is_no_list_is_refused),
		cmocka_unit_test(list_cut_anywhere_is_read),
		cmocka_unit_test(list_of_nuls_counts_as_empty),
		cmocka_unit_test(list_that_is_being_written_is_read),
		WRITING(line_is_free_for_the_next_one_of_its_length),
		WRITING(line_becomes_another_at_its_place),
		WRITING(line_of_a_member_goes_with_its_id),
		WRITING(member_has_its_id_in_a_list_that_is_written_anew),
		WRITING(pattern_over_two_sectors_is_not_written_over),
		WRITING(place_over_two_sectors_is_not_used_again),
		WRITING(list_with_more_free_lines_than_zones_is_written_anew),
		WRITING(torn_line_is_no_head_of_another),
		WRITING(line_is_copied_as_it_is),
		WRITING(long_list_is_written_anew),
		WRITING(full_disk_changes_nothing),
		WRITING(word_with_a_newline_is_refused),
		WRITING(link_in_the_place_of_the_list_is_not_followed),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
