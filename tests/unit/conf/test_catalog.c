/* test_catalog.c - options of catalogs and of folders of zones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader.h"

#define PRODUCER "zone: name: c zonefile: c catalog: producer\n"

static void
values_are_checked(void **state)
{
	(void)state;
	reader_refuse("pattern: name: p catalog-empty: yes", "t:1: error: "
		"expected keep or delete for catalog-empty, got 'yes'\n");
	reader_refuse("pattern: name: p catalog-max: 2147483648", "t:1: error: "
		"catalog-max: '2147483648' is out of range "
		"[0..2147483647]\n");
	reader_refuse("pattern: name: p catalog-allow: a..b", "t:1: error: "
		"catalog-allow: bad domain name 'a..b': expected a name "
		"without empty labels\n");
	reader_refuse("zone: name: z zonefile: z zone-directory: d",
		"t:1: at 'zone-directory:': error: syntax error, expected "
		"it in pattern:\n");
}

static void
defaults_are_those_without_bounds(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p");
	const struct conf_pattern *p = conf->patterns[0];

	(void)state;
	assert_int_equal(p->catalog, CONF_CATALOG_NONE);
	assert_int_equal(p->catalog_max, 0);
	assert_false(p->catalog_empty_deletes);
	assert_int_equal(p->catalog_allow.count, 0);
	assert_null(p->zone_directory);
	conf_destroy(conf);
}

static void
suffixes_are_appended_to_those_of_an_included_pattern(void **state)
{
	struct conf *conf = reader_accept(
		"pattern: name: p catalog-allow: example "
		"catalog-allow: EXAMPLE.org. catalog-max: 5 "
		"catalog-empty: delete\n"
		"pattern: name: q catalog-allow: . include-pattern: p "
		"catalog-empty: keep\n"
		"zone: name: z zonefile: z include-pattern: p "
		"catalog-allow: net\n");
	const struct conf_pattern *p = conf_find_pattern(conf, "p");
	const struct conf_pattern *q = conf_find_pattern(conf, "q");
	const struct conf_pattern *z = conf->zones[0]->options;

	(void)state;
	assert_int_equal(p->catalog_allow.count, 2);
	assert_string_equal(p->catalog_allow.items[1], "EXAMPLE.org.");
	assert_true(p->catalog_empty_deletes);
	assert_int_equal(q->catalog_allow.count, 3);
	assert_string_equal(q->catalog_allow.items[0], ".");
	assert_string_equal(q->catalog_allow.items[1], "example");
	assert_int_equal(q->catalog_max, 5);
	assert_false(q->catalog_empty_deletes);
	assert_int_equal(z->catalog_allow.count, 3);
	assert_string_equal(z->catalog_allow.items[2], "net");
	conf_destroy(conf);
}

static void
folder_says_where_zone_files_are(void **state)
{
	struct conf *conf = reader_accept(
		"pattern: name: base zonefile: \"x/%s\"\n"
		"pattern: name: p include-pattern: base zone-directory: d//\n"
		"pattern: name: q zone-directory: /\n"
		"pattern: name: r include-pattern: p\n"
		"pattern: name: s zonefile: \"d/%s.zone\" zone-directory: d\n"
		"zone: name: z include-pattern: p\n");

	(void)state;
	assert_string_equal(conf_find_pattern(conf, "p")->zonefile,
		"d/%s.zone");
	assert_string_equal(conf_find_pattern(conf, "q")->zonefile,
		"/%s.zone");
	/* The folder itself is of one pattern. */
	assert_null(conf_find_pattern(conf, "r")->zone_directory);
	assert_string_equal(conf_find_pattern(conf, "r")->zonefile,
		"d/%s.zone");
	assert_string_equal(conf->zones[0]->zonefile, "d/%s.zone");
	conf_destroy(conf);
	reader_refuse("pattern: name: p zone-directory: \"\"", "t:1: error: "
		"zone-directory '': expected the name of a folder, without "
		"%\n");
	reader_refuse("pattern: name: p zone-directory: \"a%s\"",
		"t:1: error: zone-directory 'a%s': expected the name of a "
		"folder, without %\n");
	reader_refuse("pattern: name: p\nzonefile: \"%s\"\n"
		"zone-directory: d", "t:2: error: pattern p has a "
		"zone-directory: its zonefile is d/%s.zone\n");
}

/* Prints a configuration, or an option of its first pattern. */
static char *
print(const struct conf *conf, const char *option)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	if (option == NULL)
		conf_print(conf, false, out);
	else
		assert_int_equal(conf_print_pattern_option(conf,
			conf->patterns[0], option, false, out), NSD_OK);
	fclose(out);
	return text;
}

static void
check_option(const struct conf *conf, const char *option, const char *wanted)
{
	char *text = print(conf, option);

	assert_string_equal(text, wanted);
	free(text);
}

static void
options_are_printed_and_read_again(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p zone-directory: d "
		"catalog-allow: example catalog-allow: org catalog-max: 7 "
		"catalog-empty: delete catalog: consumer "
		"catalog-member-pattern: p catalog-producer-zone: c "
		"catalog-group-pattern: p catalog-group-pattern: q\n"
		PRODUCER);
	char *first = print(conf, NULL), *second;

	(void)state;
	check_option(conf, "zone-directory", "d\n");
	check_option(conf, "catalog-allow", "example\norg\n");
	check_option(conf, "catalog-group-pattern", "p\nq\n");
	check_option(conf, "catalog-max", "7\n");
	check_option(conf, "catalog-empty", "delete\n");
	assert_non_null(strstr(first, "\tcatalog-group-pattern: \"p\"\n"
		"\tcatalog-group-pattern: \"q\"\n"));
	assert_non_null(strstr(first, "\tcatalog-allow: \"example\"\n"
		"\tcatalog-allow: \"org\"\n\tcatalog-max: 7\n"
		"\tcatalog-empty: delete\n\tzone-directory: \"d\"\n"));
	conf_destroy(conf);
	conf = reader_accept(first);
	second = print(conf, NULL);
	assert_string_equal(first, second);
	free(first);
	free(second);
	conf_destroy(conf);
	/* Without them nothing is printed of the options that NSD lacks. */
	conf = reader_accept("pattern: name: p catalog: consumer\n");
	first = print(conf, NULL);
	assert_null(strstr(first, "catalog-"));
	assert_null(strstr(first, "zone-directory"));
	free(first);
	conf_destroy(conf);
}

/* The text is read without a word, and is checked with these lines. */
static void
check(const char *text, const char *lines)
{
	static struct reader r;
	struct conf *conf = reader_load(&r, text);

	assert_string_equal(r.said, "");
	assert_int_equal(conf_check(conf, &r.sink), *lines != '\0');
	assert_string_equal(r.said, lines);
	conf_destroy(conf);
}

/* A zone that cannot be a member says so, and so does a catalog that can have
 * none: 210 octets leave room for member nodes. */
static void
catalog_has_room_for_members_and_is_none_of_its_own(void **state)
{
	static const char head[] = "zone: catalog: producer name: ";
	char name[300] = "", text[600], said[700];

	(void)state;
	for (unsigned i = 0; i < 103; i++)
		strcat(name, "a.");
	snprintf(text, sizeof(text), "%s%sab\n", head, name);
	check(text, "");
	snprintf(text, sizeof(text), "%s%sabc\n", head, name);
	snprintf(said, sizeof(said), "t:1: error: zone %sabc is a catalog "
		"producer, but its name is too long for member nodes\n", name);
	check(text, said);
	check("pattern: name: p catalog-producer-zone: c\n"
		"zone: name: C. catalog: producer include-pattern: p\n",
		"t:2: error: zone C. cannot be a member of itself: its pattern "
		"has catalog-producer-zone c\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_checked),
		cmocka_unit_test(defaults_are_those_without_bounds),
		cmocka_unit_test(
			suffixes_are_appended_to_those_of_an_included_pattern),
		cmocka_unit_test(folder_says_where_zone_files_are),
		cmocka_unit_test(options_are_printed_and_read_again),
		cmocka_unit_test(
			catalog_has_room_for_members_and_is_none_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
