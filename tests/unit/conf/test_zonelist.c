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

static void
write_file(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void
assert_file(const char *text)
{
	char got[65536];
	FILE *f = fopen(path, "r");
	size_t len;

	assert_non_null(f);
	len = fread(got, 1, sizeof(got) - 1, f);
	got[len] = '\0';
	fclose(f);
	assert_string_equal(got, text);
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

static enum nsd_err
load(struct conf *conf, const char *text, struct said *said)
{
	*said = (struct said){.sink = {.on_diag = on_diag}};
	write_file(text, strlen(text));
	return zonelist_load(conf, path, &said->sink);
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
	assert_int_equal(zonelist_load(conf, path, &said.sink), NSD_OK);
	assert_int_equal(zonelist_load(conf, folder, &said.sink),
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
		write_file(text, len);
		assert_int_equal(zonelist_load(conf, path, &said.sink),
			len == 0 || len >= 16 ? NSD_OK : NSD_E_SYNTAX);
		conf_destroy(conf);
	}
	conf = reader_accept(CONF);
	write_file(HEAD "add a\0b p\nadd c.test p\n", sizeof(HEAD) + 23);
	assert_int_equal(zonelist_load(conf, path, &said.sink), NSD_OK);
	assert_int_equal(conf->zone_count, 2);
	conf_destroy(conf);
}

/* ---- writing ------------------------------------------------------------- */

static enum nsd_err
note_line(void *ctx, const struct zonelist_line *line)
{
	struct conf *conf = ctx;
	const struct conf_zone *zone = conf_find_zone_text(conf, line->name);

	if (zone != NULL)
		conf_note_listed(conf, zone, line->offset);
	return NSD_OK;
}

static struct zonelist *
open_list(struct conf *conf)
{
	const struct zonelist_reader reader = {conf, note_line, NULL};
	struct zonelist *list;

	assert_int_equal(zonelist_open(path, &reader, NULL, &list), NSD_OK);
	return list;
}

static void
add(struct zonelist *list, struct conf *conf, const char *name,
	const char *pattern)
{
	const struct conf_zone *zone;
	uint64_t offset;

	assert_int_equal(conf_add_zone(conf, name, pattern, &zone), NSD_OK);
	assert_int_equal(zonelist_add(list, name, pattern, &offset), NSD_OK);
	conf_note_listed(conf, zone, offset);
}

static void
cut(struct zonelist *list, struct conf *conf, const char *name)
{
	const struct conf_zone *zone = conf_find_zone_text(conf, name);

	assert_non_null(zone);
	assert_int_equal(zonelist_remove(list, zone->listed_at), NSD_OK);
	assert_int_equal(conf_remove_zone(conf, zone->wire), NSD_OK);
}

static void
line_is_free_for_the_next_one_of_its_length(void **state)
{
	struct conf *conf = reader_accept(CONF);
	struct zonelist *list;

	unlink(path);
	list = open_list(conf);
	add(list, conf, "a.test", "p");
	add(list, conf, "b.test", "p");
	add(list, conf, "long.test", "q");
	cut(list, conf, "a.test");
	cut(list, conf, "b.test");
	assert_file(HEAD "del a.test p\ndel b.test p\nadd long.test q\n");
	add(list, conf, "other.test", "q");
	add(list, conf, "c.test", "q");
	assert_file(HEAD "del a.test p\nadd c.test q\nadd long.test q\n"
			 "add other.test q\n");
	zonelist_close(list);
	/* The next one finds them again, newest first. */
	list = open_list(conf);
	cut(list, conf, "c.test");
	add(list, conf, "d.test", "p");
	add(list, conf, "e.test", "p");
	assert_file(HEAD "add e.test p\nadd d.test p\nadd long.test q\n"
			 "add other.test q\n");
	zonelist_close(list);
	conf_destroy(conf);
}

static void
line_becomes_another_at_its_place(void **state)
{
	struct conf *conf = reader_accept(CONF);
	struct zonelist *list;

	unlink(path);
	list = open_list(conf);
	add(list, conf, "a.test", "p");
	add(list, conf, "b.test", "p");
	assert_int_equal(zonelist_replace(list,
		conf_find_zone_text(conf, "a.test")->listed_at, "a.test", "q"),
		NSD_OK);
	assert_file(HEAD "add a.test q\nadd b.test p\n");
	zonelist_close(list);
	conf_destroy(conf);
}

static void
line_of_a_member_goes_with_its_id(void **state)
{
	struct conf *conf = reader_accept(CONF);
	struct zonelist *list;
	uint64_t at;

	write_file(HEAD "cat a.test p id\ncat b.test q id\n",
		sizeof(HEAD) - 1 + 32);
	assert_int_equal(zonelist_load(conf, path, NULL), NSD_OK);
	list = open_list(conf);
	at = conf_find_zone_text(conf, "b.test")->listed_at;
	assert_int_equal(zonelist_replace(list, at, "b.test", "p"),
		NSD_E_LIMIT);
	cut(list, conf, "a.test");
	add(list, conf, "c.test", "p");
	add(list, conf, "dddd.test", "p");
	assert_file(HEAD "add dddd.test p\ncat b.test q id\nadd c.test p\n");
	zonelist_close(list);
	conf_destroy(conf);
}

static void
pattern_over_two_sectors_is_not_written_over(void **state)
{
	struct conf *conf = reader_accept(
		"pattern: name: pp zonefile: a\n"
		"pattern: name: qq zonefile: b\n");
	char name[600];
	struct zonelist *list;
	uint64_t at;

	for (size_t len = 440; len < 500; len++) {
		unlink(path);
		list = open_list(conf);
		memset(name, 'a', len);
		name[len] = '\0';
		assert_int_equal(zonelist_add(list, name, "pp", &at), NSD_OK);
		at = sizeof(HEAD) - 1 + 4 + len + 1; /* the pattern's */
		assert_int_equal(zonelist_replace(list, sizeof(HEAD) - 1, name,
			"qq"), at / 512 == (at + 2) / 512 ? NSD_OK
							  : NSD_E_LIMIT);
		zonelist_close(list);
	}
	conf_destroy(conf);
}

static void
list_with_more_free_lines_than_zones_is_written_anew(void **state)
{
	struct conf *conf = reader_accept(CONF);
	struct zonelist *list;
	int fd;

	unlink(path);
	list = open_list(conf);
	add(list, conf, "a.test", "p");
	add(list, conf, "bb.test", "p");
	add(list, conf, "ccc.test", "q");
	cut(list, conf, "a.test");
	assert_false(zonelist_wants_renewal(list, conf));
	cut(list, conf, "bb.test");
	assert_false(zonelist_wants_renewal(list, conf));
	assert_int_equal(conf->zone_count, 2);
	/* Fixed ones count. */
	cut(list, conf, "ccc.test");
	add(list, conf, "dd.test", "p");
	add(list, conf, "e", "q");
	cut(list, conf, "dd.test");
	assert_true(zonelist_wants_renewal(list, conf));
	assert_int_equal(zonelist_renew(list, conf, &fd), NSD_OK);
	assert_int_equal(access(temp, F_OK), 0);
	assert_int_equal(zonelist_take_renewed(list, conf, fd), NSD_OK);
	assert_int_equal(access(temp, F_OK), -1);
	assert_false(zonelist_wants_renewal(list, conf));
	assert_file(HEAD "add e q\n");
	cut(list, conf, "e");
	assert_file(HEAD "del e q\n");
	add(list, conf, "f", "p");
	assert_file(HEAD "add f p\n");
	zonelist_close(list);
	conf_destroy(conf);
}

static void
torn_line_is_no_head_of_another(void **state)
{
	struct conf *conf = reader_accept(CONF);
	struct zonelist *list;
	uint64_t offset;
	int fd;

	write_file(HEAD "add a.test p\nadd b.t", sizeof(HEAD) - 1 + 20);
	assert_int_equal(zonelist_load(conf, path, NULL), NSD_OK);
	list = open_list(conf);
	assert_int_equal(zonelist_add(list, "c", "p", &offset), NSD_E_AGAIN);
	assert_true(zonelist_wants_renewal(list, conf));
	assert_int_equal(zonelist_renew(list, conf, &fd), NSD_OK);
	assert_int_equal(zonelist_take_renewed(list, conf, fd), NSD_OK);
	add(list, conf, "c", "p");
	assert_file(HEAD "add a.test p\nadd c p\n");
	zonelist_close(list);
	conf_destroy(conf);
}

/* RLIMIT_FSIZE stands for a full disk. */
static void
full_disk_changes_nothing(void **state)
{
	struct rlimit limit, old;
	struct conf *conf = reader_accept(CONF);
	struct zonelist *list;
	uint64_t offset;
	int fd;

	signal(SIGXFSZ, SIG_IGN);
	unlink(path);
	list = open_list(conf);
	add(list, conf, "a.test", "p");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = sizeof(HEAD) - 1 + 13 + 5;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(zonelist_add(list, "b.test", "p", &offset),
		NSD_E_SYSTEM);
	assert_int_equal(errno, EFBIG);
	limit.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(zonelist_renew(list, conf, &fd), NSD_E_SYSTEM);
	assert_int_equal(access(temp, F_OK), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_file(HEAD "add a.test p\n####\n");
	add(list, conf, "c.test", "p");
	assert_file(HEAD "add a.test p\n####\nadd c.test p\n");
	zonelist_close(list);
	conf_destroy(conf);
}

static void
word_with_a_newline_is_refused(void **state)
{
	struct conf *conf = reader_accept(CONF);
	struct zonelist *list;
	char name[ZONELIST_LINE_MAX];
	uint64_t offset;

	unlink(path);
	list = open_list(conf);
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(zonelist_add(list, "a\nadd b p", "p", &offset),
		NSD_E_LIMIT);
	assert_int_equal(zonelist_add(list, "a", "p\nadd", &offset),
		NSD_E_LIMIT);
	assert_int_equal(zonelist_add(list, "a", "p q", &offset), NSD_E_LIMIT);
	assert_int_equal(zonelist_add(list, name, "p", &offset), NSD_E_LIMIT);
	assert_int_equal(access(path, F_OK), -1);
	zonelist_close(list);
	conf_destroy(conf);
}

/* CVE-2020-28935. */
static void
link_in_the_place_of_the_list_is_not_followed(void **state)
{
	struct conf *conf = reader_accept(CONF);
	const struct zonelist_reader reader = {conf, note_line, NULL};
	struct zonelist *list;
	char other[80];
	int fd;

	snprintf(other, sizeof(other), "%s/other", folder);
	unlink(path);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(zonelist_open(path, &reader, NULL, &list),
		NSD_E_SYSTEM);
	unlink(path);
	list = open_list(conf);
	assert_int_equal(symlink(other, temp), 0);
	assert_int_equal(zonelist_renew(list, conf, &fd), NSD_OK);
	assert_int_equal(access(other, F_OK), -1);
	zonelist_drop_renewed(list, fd);
	assert_int_equal(access(temp, F_OK), -1);
	zonelist_close(list);
	conf_destroy(conf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			zones_of_the_list_are_added_with_their_patterns),
		cmocka_unit_test(what_makes_no_sense_is_said_and_left_out),
		cmocka_unit_test(file_that_is_no_list_is_refused),
		cmocka_unit_test(list_cut_anywhere_is_read),
		cmocka_unit_test(line_is_free_for_the_next_one_of_its_length),
		cmocka_unit_test(line_becomes_another_at_its_place),
		cmocka_unit_test(line_of_a_member_goes_with_its_id),
		cmocka_unit_test(pattern_over_two_sectors_is_not_written_over),
		cmocka_unit_test(
			list_with_more_free_lines_than_zones_is_written_anew),
		cmocka_unit_test(torn_line_is_no_head_of_another),
		cmocka_unit_test(full_disk_changes_nothing),
		cmocka_unit_test(word_with_a_newline_is_refused),
		cmocka_unit_test(link_in_the_place_of_the_list_is_not_followed),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
