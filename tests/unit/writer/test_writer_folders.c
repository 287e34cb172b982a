/* test_writer_folders.c - which folders the writer may make files in. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/store_fixture.h"
#include "writer/writer_folders.h"
#include "zonedb/table_edit.h"

#define ZONES 200u

static char top[32];
static struct conf conf;
static struct zone_setup zones[ZONES];
static uint8_t apexes[ZONES][6];
static struct server server = {.conf = &conf};
static char names[ZONES][64];
static struct writer_folders folders;

static void
make_folder(const char *name)
{
	char path[64];

	assert_true(strlen(top) + strlen(name) + 1 < sizeof(path));
	strcpy(path, top);
	strcat(path, "/");
	strcat(path, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int
setup(void **state)
{
	strcpy(top, "/tmp/folders.XXXXXX");
	if (mkdtemp(top) == NULL)
		return -1;
	make_folder("a");
	make_folder("a/b");
	make_folder("c");
	return 0;
}

static int
teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command);
}

/* A secondary zone with a name behind that of the one before it. */
static void
set_zone(unsigned i, const char *file)
{
	snprintf((char *)apexes[i], sizeof(apexes[i]), "\4%c%03u", 'z', i);
	zones[i] = (struct zone_setup){.apex = apexes[i], .file = file,
		.id = i, .flags = ZONE_ENTRY_FROM_XFRD};
}

/* Zones with these files, in the folder unless they are absolute. */
static void
set_files(unsigned count, const char *const *files)
{
	for (unsigned i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "%s%s%s",
			*files[i] == '/' ? "" : top,
			*files[i] == '/' ? "" : "/", files[i]);
		set_zone(i, names[i]);
	}
	conf.server.xfrdir = NULL;
}

/* Publishes so many of these zones, and finds the folders. */
static void
find(unsigned count)
{
	struct store_fixture s;
	store_ref entries[ZONES];

	store_fixture_init(&s, 1);
	assert_int_equal(table_add(s.writer, zones, count, entries), NSD_OK);
	writer_folders_init(&folders, &server, s.view);
	store_fixture_fini(&s);
}

/* The folders found, without their common top, separated by blanks. */
static const char *
found(void)
{
	static char text[8192];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < folders.count; i++) {
		const char *path = folders.paths[i];

		if (strncmp(path, top, strlen(top)) == 0)
			path += strlen(top);
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"%s%s", i > 0 ? " " : "", *path != '\0' ? path : "top");
	}
	assert_null(folders.paths[folders.count]);
	return text;
}

static void
drop(void)
{
	for (size_t i = 0; i < folders.count; i++)
		free((void *)(uintptr_t)folders.paths[i]);
}

static void
check(unsigned count, const char *const *files, const char *expected)
{
	set_files(count, files);
	find(count);
	assert_string_equal(found(), expected);
	drop();
}

static void
folders_of_zone_files_are_found_once(void **state)
{
	static const char *const files[] = {"a/x", "a/y", "c/x", "a/z"};

	check(4, files, "/a /c");
}

static void
folder_within_another_is_not_listed(void **state)
{
	static const char *const files[] = {"a/b/x", "a/x", "a/b/y"};

	check(3, files, "/a");
}

static void
percent_ends_what_is_common(void **state)
{
	static const char *const files[] = {"c/%1/%s", "a/b%1/x"};

	check(2, files, "/c /a");
}

static void
parent_stands_for_what_is_not_there(void **state)
{
	static const char *const files[] = {"a/b/no/such/x"};

	check(1, files, "/a/b");
}

static void
name_that_goes_up_is_where_it_leads(void **state)
{
	static const char *const files[] = {"a/x", "a/../c/x"};

	check(2, files, "/a /c");
}

/* The folder of the literal name, a, is not allowed; the real one is. */
static void
name_that_goes_up_counts_as_in_one(void **state)
{
	static const char *const files[] = {"a/../c/x"};

	set_files(1, files);
	find(1);
	assert_string_equal(found(), "/c");
	assert_true(writer_folders_have(&folders, names[0]));
	drop();
}

static void
relative_names_lie_in_the_folder_of_zones(void **state)
{
	set_files(0, NULL);
	set_zone(0, "%s.zone");
	conf.server.xfrdir = "/tmp/";
	find(1);
	assert_string_equal(found(), ". /tmp");
	drop();
}

static void
zones_that_are_not_written_do_not_count(void **state)
{
	static const char *const files[] = {"a/x", "c/x"};

	set_files(2, files);
	zones[0].flags = 0;
	zones[1].file = NULL;
	find(2);
	assert_string_equal(found(), "");
	drop();
}

static void
too_many_give_way_to_their_parents(void **state)
{
	static char texts[ZONES][16];
	const char *files[ZONES];

	for (unsigned i = 0; i < ZONES; i++) {
		snprintf(texts[i], sizeof(texts[i]), "a/f%u", i);
		make_folder(texts[i]);
		strcat(texts[i], "/x");
		files[i] = texts[i];
	}
	files[0] = "c/x";
	set_files(ZONES, files);
	find(ZONES);
	assert_true(folders.count <= WRITER_FOLDERS_MAX);
	/* Every file is in one of the folders. */
	for (unsigned i = 0; i < ZONES; i++) {
		size_t k = 0;

		while (k < folders.count && strncmp(folders.paths[k], names[i],
				strlen(folders.paths[k])) != 0)
			k++;
		assert_true(k < folders.count);
		assert_true(writer_folders_have(&folders, names[i]));
	}
	assert_false(writer_folders_have(&folders, "/nonexistent/x"));
	for (size_t k = 0; k < folders.count; k++)
		assert_true(strlen(folders.paths[k]) >= strlen(top));
	drop();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_of_zone_files_are_found_once),
		cmocka_unit_test(folder_within_another_is_not_listed),
		cmocka_unit_test(percent_ends_what_is_common),
		cmocka_unit_test(parent_stands_for_what_is_not_there),
		cmocka_unit_test(name_that_goes_up_is_where_it_leads),
		cmocka_unit_test(name_that_goes_up_counts_as_in_one),
		cmocka_unit_test(relative_names_lie_in_the_folder_of_zones),
		cmocka_unit_test(zones_that_are_not_written_do_not_count),
		cmocka_unit_test(too_many_give_way_to_their_parents),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
