/* test_zones.c - patterns, zones, what they share, and their file names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/chroot.h"
#include "dns/answer_kind.h"
#include "dns/name.h"
#include "reader.h"

static const struct conf_zone *
zone(const struct conf *conf, const char *name)
{
	const struct conf_zone *found = conf_find_zone_text(conf, name);

	assert_non_null(found);
	return found;
}

static void
zone_name_is_kept_as_written_and_found_in_any_form(void **state)
{
	struct conf *conf = reader_accept("zone: name: Example.COM. "
		"zonefile: a\nzone: name: . zonefile: b\n"
		"zone: name: \"a\\046b\" zonefile: c");
	const uint8_t wire[] = "\7EXAMPLE\3com";

	assert_int_equal(conf->zone_count, 3);
	assert_string_equal(zone(conf, "example.com")->name, "Example.COM.");
	assert_memory_equal(zone(conf, "example.com")->wire, "\7example\3com",
		13);
	assert_ptr_equal(conf_find_zone(conf, wire),
		zone(conf, "eXample.com."));
	assert_string_equal(zone(conf, ".")->zonefile, "b");
	assert_string_equal(zone(conf, "a\\.b")->zonefile, "c");
	assert_null(conf_find_zone_text(conf, "com"));
	assert_null(conf_find_zone_text(conf, "a.b"));
	assert_null(conf_find_zone_text(conf, "a..b"));
	assert_null(conf_find_zone_text(conf, ""));
	conf_destroy(conf);
}

static void
zones_and_patterns_stand_in_order(void **state)
{
	struct conf *conf = reader_accept("zone: name: b.a zonefile: x\n"
		"pattern: name: z\npattern: name: b\nzone: name: c zonefile: "
		"x\nzone: name: a zonefile: x\nkey: name: k secret: aa==\n"
		"key: name: j secret: aa==\nzone: name: . zonefile: x");

	assert_string_equal(conf->zones[0]->name, ".");
	assert_string_equal(conf->zones[1]->name, "a");
	assert_string_equal(conf->zones[2]->name, "b.a");
	assert_string_equal(conf->zones[3]->name, "c");
	assert_int_equal(conf->zones[3]->index, 3);
	assert_string_equal(conf->patterns[0]->name, "b");
	assert_string_equal(conf->keys[0]->name, "j");
	conf_destroy(conf);
}

static void
zone_without_options_of_its_own_shares_its_patterns(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p zonefile: %s.p "
		"notify-retry: 9\nzone: name: a include-pattern: p\n"
		"zone: name: b zonefile: own include-pattern: p\n"
		"zone: name: c include-pattern: p zonefile: own\n"
		"zone: name: d zonefile: own\nzone: name: e zonefile: own\n"
		"zone: name: f include-pattern: p notify-retry: 3\n");
	const struct conf_pattern *p = conf_find_pattern(conf, "p");

	assert_ptr_equal(zone(conf, "a")->options, p);
	assert_string_equal(zone(conf, "a")->zonefile, "%s.p");
	/* a later option overwrites */
	assert_ptr_equal(zone(conf, "b")->options, p);
	assert_string_equal(zone(conf, "b")->zonefile, "%s.p");
	assert_ptr_equal(zone(conf, "c")->options, p);
	assert_string_equal(zone(conf, "c")->zonefile, "own");
	assert_ptr_equal(zone(conf, "d")->options, zone(conf, "e")->options);
	assert_int_equal(zone(conf, "d")->options->notify_retry, 5);
	assert_true(zone(conf, "f")->options != p);
	assert_int_equal(zone(conf, "f")->options->notify_retry, 3);
	assert_string_equal(zone(conf, "f")->options->name, "_implicit_f");
	assert_string_equal(zone(conf, "f")->zonefile, "%s.p");
	conf_destroy(conf);
}

static void
include_pattern_appends_lists_and_overwrites_values(void **state)
{
	struct conf *conf = reader_accept(
		"pattern: name: a notify: 10.0.0.1 NOKEY notify: 10.0.0.2 "
		"NOKEY\n notify-retry: 7 zonestats: s rrl-whitelist: any\n"
		"pattern: name: b notify: 10.0.1.1 NOKEY include-pattern: a "
		"notify: 10.0.1.2 NOKEY\n store-ixfr: yes rrl-whitelist: "
		"nodata\n"
		"zone: name: x notify-retry: 3 include-pattern: b\n"
		" notify: 10.0.2.1 NOKEY zonefile: z\n"
		"zone: name: y include-pattern: b notify-retry: 3 "
		"include-pattern: a zonefile: z\n"
		"zone: name: w include-pattern: b zonefile: z");
	static const char *const x[] = { "10.0.1.1", "10.0.0.1", "10.0.0.2",
		"10.0.1.2", "10.0.2.1" };
	static const char *const y[] = { "10.0.1.1", "10.0.0.1", "10.0.0.2",
		"10.0.1.2", "10.0.0.1", "10.0.0.2" };
	const struct conf_pattern *o = zone(conf, "x")->options;
	size_t i;

	assert_int_equal(o->notify.count, 5);
	for (i = 0; i < 5; i++)
		assert_string_equal(o->notify.items[i].spec, x[i]);
	assert_int_equal(o->notify_retry, 7);
	assert_string_equal(o->zonestats, "s");
	assert_true(o->store_ixfr);
	assert_int_equal(o->rrl_whitelist, ANSWER_ANY | ANSWER_NODATA);
	o = zone(conf, "y")->options;
	assert_int_equal(o->notify.count, 6);
	for (i = 0; i < 6; i++)
		assert_string_equal(o->notify.items[i].spec, y[i]);
	assert_int_equal(o->notify_retry, 7);
	/* zones that share the pattern are not affected */
	o = zone(conf, "w")->options;
	assert_ptr_equal(o, conf_find_pattern(conf, "b"));
	assert_int_equal(o->notify.count, 4);
	assert_int_equal(conf_find_pattern(conf, "a")->notify.count, 2);
	conf_destroy(conf);
}

static void
several_patterns_of_a_zone_add_up(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p notify: ::1 NOKEY "
		"notify-retry: 7\npattern: name: q notify: ::2 NOKEY "
		"store-ixfr: yes\n"
		"zone: name: a include-pattern: p include-pattern: q");
	const struct conf_pattern *o = zone(conf, "a")->options;

	assert_int_equal(o->notify.count, 2);
	assert_string_equal(o->notify.items[1].spec, "::2");
	assert_int_equal(o->notify_retry, 7);
	assert_true(o->store_ixfr);
	conf_destroy(conf);
}

/* Room that a pattern's list has left is not the zones' to fill. */
static void
zones_that_add_to_a_list_do_not_see_each_other(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p notify: ::1 NOKEY "
		"notify: ::2 NOKEY notify: ::3 NOKEY\n"
		"zone: name: a include-pattern: p notify: ::a NOKEY\n"
		"zone: name: b include-pattern: p notify: ::b NOKEY\n"
		"pattern: name: q include-pattern: p notify: ::c NOKEY\n"
		"zone: name: c include-pattern: q notify: ::d NOKEY\n"
		"pattern: name: r include-pattern: p notify: ::e NOKEY\n");

	assert_int_equal(zone(conf, "a")->options->notify.count, 4);
	assert_string_equal(zone(conf, "a")->options->notify.items[3].spec,
		"::a");
	assert_string_equal(zone(conf, "b")->options->notify.items[3].spec,
		"::b");
	assert_string_equal(zone(conf, "c")->options->notify.items[3].spec,
		"::c");
	assert_string_equal(zone(conf, "c")->options->notify.items[4].spec,
		"::d");
	assert_string_equal(conf_find_pattern(conf, "q")->notify.items[3].spec,
		"::c");
	assert_string_equal(conf_find_pattern(conf, "r")->notify.items[3].spec,
		"::e");
	assert_int_equal(conf_find_pattern(conf, "p")->notify.count, 3);
	conf_destroy(conf);
}

static void
pattern_that_sets_a_default_overwrites_too(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p notify-retry: 5\n"
		"zone: name: x zonefile: y notify-retry: 9 include-pattern: p");

	assert_int_equal(conf->zones[0]->options->notify_retry, 5);
	conf_destroy(conf);
}

static void
verifier_of_the_zone_or_inherited(void **state)
{
	struct conf *conf = reader_accept("zone: name: a zonefile: a\n"
		"verifier: x y verifier-timeout: 3 verify-zone: no\n"
		"zone: name: b zonefile: b");
	const struct conf_pattern *a = zone(conf, "a")->options;
	const struct conf_pattern *b = zone(conf, "b")->options;

	assert_int_equal(a->verifier.count, 2);
	assert_string_equal(a->verifier.items[1], "y");
	assert_int_equal(a->verifier_timeout, 3);
	assert_int_equal(a->verify_zone, 0);
	assert_int_equal(a->verifier_feed_zone, CONF_INHERIT);
	assert_int_equal(b->verify_zone, CONF_INHERIT);
	assert_true(b->verifier_timeout == CONF_INHERIT_TIMEOUT);
	conf_destroy(conf);
}

static void
min_expire_time_may_come_from_the_soa(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p "
		"min-expire-time: refresh+retry+1\npattern: name: q "
		"min-expire-time: 77");

	assert_true(conf->patterns[0]->min_expire_time ==
		CONF_EXPIRE_FROM_SOA);
	assert_int_equal(conf->patterns[1]->min_expire_time, 77);
	conf_destroy(conf);
}

/* ---- zones added at run time ------------------------------------------- */

static void
zone_can_be_added_and_removed(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p zonefile: %s.z\n"
		"zone: name: a zonefile: a\nzone: name: b zonefile: b");
	const struct conf_zone *added = NULL;

	assert_int_equal(conf_add_zone(conf, "C.", "p", &added), NSD_OK);
	assert_string_equal(added->name, "C.");
	assert_string_equal(added->pattern_name, "p");
	assert_string_equal(added->zonefile, "%s.z");
	assert_ptr_equal(conf_find_zone_text(conf, "c"), added);
	assert_int_equal(conf->zone_count, 3);
	assert_int_equal(conf_add_zone(conf, "c", "p", &added), NSD_E_ZONE);
	assert_int_equal(conf_add_zone(conf, "A", "p", &added), NSD_E_ZONE);
	assert_int_equal(conf_add_zone(conf, "d", "q", &added),
		NSD_E_NOT_FOUND);
	assert_int_equal(conf_add_zone(conf, "d..", "p", &added),
		NSD_E_SYNTAX);
	assert_int_equal(conf_remove_zone(conf, (const uint8_t *)"\1A"),
		NSD_OK);
	assert_int_equal(conf_remove_zone(conf, (const uint8_t *)"\1a"),
		NSD_E_NOT_FOUND);
	assert_int_equal(conf->zone_count, 2);
	assert_null(conf_find_zone_text(conf, "a"));
	assert_string_equal(conf->zones[0]->name, "C.");
	assert_int_equal(conf->zones[0]->index, 0);
	assert_int_equal(zone(conf, "b")->index, 1);
	conf_destroy(conf);
}

/* Zones are found while others are added and removed. */
static void
many_zones_come_and_go(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p zonefile: x");
	const struct conf_zone *added;
	uint8_t wire[16] = { 5, 'n', 0, 0, 0, 0, 0 };
	char name[16];
	unsigned i, k;

	for (i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "n%04u", i);
		assert_int_equal(conf_add_zone(conf, name, "p", &added),
			NSD_OK);
	}
	for (i = 0; i < 2000; i += 3) {
		snprintf(name, sizeof(name), "%04u", i);
		memcpy(wire + 2, name, 4);
		assert_int_equal(conf_remove_zone(conf, wire), NSD_OK);
		for (k = i > 40 ? i - 40 : 0; k < i + 40 && k < 2000; k++) {
			snprintf(name, sizeof(name), "n%04u", k);
			assert_int_equal(conf_find_zone_text(conf, name) !=
				NULL, k > i || k % 3 != 0);
		}
	}
	for (i = 0; i < conf->zone_count; i++)
		assert_int_equal(conf->zones[i]->index, i);
	conf_destroy(conf);
}

static void
zones_that_come_and_go_leave_no_memory(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p zonefile: x\n"
		"zone: name: a zonefile: a");
	const struct conf_zone *added;
	size_t size = 0;
	unsigned i;

	for (i = 0; i < 100000; i++) {
		assert_int_equal(conf_add_zone(conf, "some.name.", "p",
			&added), NSD_OK);
		assert_int_equal(conf_remove_zone(conf, added->wire), NSD_OK);
		if (i == 0)
			size = conf_memory_size(conf);
	}
	assert_int_equal(conf_memory_size(conf), size);
	conf_destroy(conf);
}

/* ---- sizes ------------------------------------------------------------- */

static char *
write_zones(size_t count)
{
	char *text = malloc(count * 100 + 100), *at = text;
	size_t i;

	at += sprintf(at, "pattern: name: p allow-query: 10.0.0.0/8 NOKEY\n");
	for (i = 0; i < count; i++)
		at += sprintf(at, "zone:\n\tname: example%zu.com\n\tzonefile: "
			"master/example%zu.com.zone\n\tinclude-pattern: p\n",
			i * 7919 % count, i);
	return text;
}

static void
hundred_thousand_zones_cost_less_than_240_octets_each(void **state)
{
	char *text = write_zones(100000);
	struct conf *conf = reader_accept(text);

	free(text);
	assert_int_equal(conf->zone_count, 100000);
	assert_true(conf_memory_size(conf) < 100000 * 240);
	assert_string_equal(zone(conf, "example99999.com")->options->name,
		"p");
	conf_destroy(conf);
}

/* ---- file names -------------------------------------------------------- */

static void
expect_name(const char *zonefile, const char *name, const char *expected)
{
	char text[256], out[256];
	struct conf *conf;
	size_t len, size;

	snprintf(text, sizeof(text), "zone: name: \"%s\" zonefile: \"%s\"",
		name, zonefile);
	conf = reader_accept(text);
	assert_int_equal(conf_zone_file_name(conf->zones[0], out, sizeof(out),
		&len), NSD_OK);
	assert_string_equal(out, expected);
	assert_int_equal(len, strlen(expected));
	/* exactly enough room, and each room that is too small */
	for (size = 0; size <= len; size++)
		assert_int_equal(conf_zone_file_name(conf->zones[0], out, size,
			&len), NSD_E_LIMIT);
	assert_int_equal(conf_zone_file_name(conf->zones[0], out, size, &len),
		NSD_OK);
	conf_destroy(conf);
}

static void
file_name_has_parts_of_the_zones_name(void **state)
{
	static const char all[] = "/z/%1/%2/%3/%z/%y/%x/%s.zone";

	expect_name(all, "Example.COM.",
		"/z/E/x/a/com/example/./Example.COM..zone");
	expect_name(all, ".", "/z/././././././..zone");
	expect_name(all, "nl", "/z/n/l/./nl/././nl.zone");
	expect_name(all, "a\\.b.nl", "/z/a/\\/./nl/a\\.b/./a\\.b.nl.zone");
	expect_name("%x-%y-%z", "one.two.three.four", "two-three-four");
	/* a slash in a name never becomes one of the path */
	expect_name(all, "a/b.nl",
		"/z/a/\\047/b/nl/a\\047b/./a\\047b.nl.zone");
	/* other percent signs stay */
	expect_name("%s%%s%q%s%", "q", "q%q%qq%");
	expect_name("plain", "q", "plain");
	expect_name("", "q", "");
}

static void
zone_without_file_has_no_file_name(void **state)
{
	struct conf *conf = reader_accept("zone: name: x");
	char out[8];
	size_t len;

	assert_int_equal(conf_zone_file_name(conf->zones[0], out, sizeof(out),
		&len), NSD_E_NOT_FOUND);
	conf_destroy(conf);
}

static void
path_in_chroot_loses_it(void **state)
{
	assert_string_equal(conf_path_in_chroot(NULL, "/a/b"), "/a/b");
	assert_string_equal(conf_path_in_chroot("", "/a/b"), "/a/b");
	assert_string_equal(conf_path_in_chroot("/a", "/a/b"), "/b");
	assert_string_equal(conf_path_in_chroot("/a/", "/a/b"), "/b");
	assert_string_equal(conf_path_in_chroot("/a", "/ab"), "/ab");
	assert_string_equal(conf_path_in_chroot("/a", "/a"), "/");
	assert_string_equal(conf_path_in_chroot("/a", "b"), "b");
	assert_string_equal(conf_path_in_chroot("/", "/b"), "/b");
}

/* ---- semantic checks --------------------------------------------------- */

static void
check_says(const char *text, const char *expected)
{
	static struct reader r;
	struct conf *conf = reader_load(&r, text);
	unsigned errors;

	assert_non_null(conf);
	errors = conf_check(conf, &r.sink);
	assert_int_equal(errors, r.sink.errors);
	assert_string_equal(r.said, expected);
	assert_int_equal(conf_check(conf, NULL), errors);
	conf_destroy(conf);
}

static void
semantic_errors_are_found(void **state)
{
	static const char chroot[] = "server: chroot: /c zonesdir: /c/z "
		"pidfile: run/x xfrdfile: /c/x zonelistfile: /c/y xfrdir: /c ";
	char text[1024];

	check_says("\nzone: name: x", "t:2: error: zone x is a primary zone "
		"but has no zonefile. Where can the data come from?\n");
	check_says("zone: name: x zonefile: \"\"", "t:1: error: zone x is a "
		"primary zone but has no zonefile. Where can the data come "
		"from?\n");
	check_says("zone: name: x catalog: producer", "");
	check_says("zone: name: x request-xfr: ::1 NOKEY", "");
	check_says("zone: name: X. zonefile: y\nallow-notify: ::1 NOKEY",
		"t:2: error: zone X. has allow-notify but no request-xfr items. Where "
		"can it get a zone transfer when a notify is received?\n");
	check_says("server:\nport: 0",
		"t:2: error: port number '0' is not a positive number.\n");
	check_says("tls-auth: name: t auth-domain-name: a\n"
		"zone: name: x zonefile: y\nprovide-xfr: ::1 NOKEY t",
		"t:3: warning: zone x has provide-xfr with tls-auth t but there is no "
		"tls-auth-port\n");
	check_says("tls-auth: name: t auth-domain-name: a\n"
		"server: tls-auth-port: 8853\n"
		"zone: name: x zonefile: y provide-xfr: ::1 NOKEY t", "");
	check_says(chroot, "");
	snprintf(text, sizeof(text), "%s\nzonesdir: z\nxfrdfile: /x\n"
		"zonelistfile: /cc\npidfile: /p\nxfrdir: /tmp\ndatabase: /d",
		chroot);
	check_says(text,
		"t:2: error: zonesdir z/ has to be an absolute path that starts with "
		"the chroot path /c/\n"
		"t:5: error: pidfile /p is not relative to chroot /c/.\n"
		"t:7: error: database /d is not relative to chroot /c/.\n"
		"t:3: error: xfrdfile /x is not relative to chroot /c/.\n"
		"t:4: error: zonelistfile /cc is not relative to chroot /c/.\n"
		"t:6: error: xfrdir /tmp/ is not relative to chroot /c/.\n");
}

/* Said of the pattern, not of each zone that includes it. */
static void
what_is_left_out_of_long_lists_is_said(void **state)
{
	char text[8192], *end = text;

	end += sprintf(end, "pattern: name: p zonefile: y\n");
	for (unsigned i = 0; i < CONF_REQUEST_XFR_MAX; i++)
		end += sprintf(end, "request-xfr: ::1@%u NOKEY\n", i + 1);
	strcpy(end, "zone: name: x include-pattern: p\n");
	check_says(text, "");
	end += sprintf(end, "request-xfr: ::2 NOKEY request-xfr: ::3 NOKEY\n");
	strcpy(end, "zone: name: x include-pattern: p\n");
	check_says(text, "t:66: warning: request-xfr in pattern p: only the "
		"first 64 are used\n");
}

static void
identity_and_version_fit_a_txt_string(void **state)
{
	char text[600];

	snprintf(text, sizeof(text), "server: identity: %0255d version: "
		"%0255d", 1, 1);
	check_says(text, "");
	snprintf(text, sizeof(text), "server: identity: %0256d\nversion: "
		"%0300d", 1, 1);
	check_says(text, "t:1: error: server identity too long (256 "
		"characters), expected at most 255\n"
		"t:2: error: server version too long (300 characters), "
		"expected at most 255\n");
}

static void
secondary_zones_are_counted(void **state)
{
	struct conf *conf = reader_accept("pattern: name: s zonefile: f "
		"request-xfr: 192.0.2.1 NOKEY\npattern: name: p zonefile: f\n"
		"zone: name: a include-pattern: s\nzone: name: b zonefile: f\n"
		"zone: name: c request-xfr: 192.0.2.1 NOKEY\n");
	const struct conf_zone *added;

	assert_int_equal(conf->secondary_count, 2);
	assert_int_equal(conf_add_zone(conf, "d", "s", &added), NSD_OK);
	assert_int_equal(conf_add_zone(conf, "e", "p", &added), NSD_OK);
	assert_int_equal(conf->secondary_count, 3);
	assert_int_equal(conf_change_zone(conf, added->wire, "s"), NSD_OK);
	assert_int_equal(conf->secondary_count, 4);
	assert_int_equal(conf_change_zone(conf, added->wire, "p"), NSD_OK);
	assert_int_equal(conf_remove_zone(conf, zone(conf, "d")->wire),
		NSD_OK);
	assert_int_equal(conf_remove_zone(conf, zone(conf, "b")->wire),
		NSD_OK);
	assert_int_equal(conf_remove_zone(conf, zone(conf, "a")->wire),
		NSD_OK);
	assert_int_equal(conf->secondary_count, 1);
	assert_int_equal(conf->zone_count, 2);
	conf_destroy(conf);
}

/* By another pattern, and by another configuration. */
static void
zone_that_was_a_secondary_is_known(void **state)
{
	static const char texts[2][200] = {
		"pattern: name: s request-xfr: 192.0.2.1 NOKEY\n"
			"pattern: name: p zonefile: f\n"
			"zone: name: a include-pattern: s\n"
			"zone: name: b include-pattern: p\n",
		"zone: name: a zonefile: f\nzone: name: b zonefile: f\n"};
	struct conf *conf = reader_accept(texts[0]);
	struct conf *second = reader_accept(texts[1]);
	struct conf *third = reader_accept(texts[1]);
	const struct conf_zone *added;

	assert_int_equal(conf_add_zone(conf, "c", "s", &added), NSD_OK);
	assert_false(added->was_from_xfrd);
	assert_int_equal(conf_change_zone(conf, added->wire, "p"), NSD_OK);
	assert_true(added->was_from_xfrd);
	assert_int_equal(conf_change_zone(conf, added->wire, "p"), NSD_OK);
	assert_true(added->was_from_xfrd);
	assert_int_equal(conf_change_zone(conf, added->wire, "s"), NSD_OK);
	assert_false(added->was_from_xfrd);
	conf_keep_roles(second, conf);
	conf_keep_roles(third, second);
	assert_true(zone(second, "a")->was_from_xfrd);
	assert_true(zone(third, "a")->was_from_xfrd);
	assert_false(zone(third, "b")->was_from_xfrd);
	conf_keep_roles(conf, third);
	assert_false(zone(conf, "a")->was_from_xfrd);
	conf_destroy(third);
	conf_destroy(second);
	conf_destroy(conf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			zone_name_is_kept_as_written_and_found_in_any_form),
		cmocka_unit_test(zones_and_patterns_stand_in_order),
		cmocka_unit_test(
			zone_without_options_of_its_own_shares_its_patterns),
		cmocka_unit_test(
			include_pattern_appends_lists_and_overwrites_values),
		cmocka_unit_test(several_patterns_of_a_zone_add_up),
		cmocka_unit_test(
			zones_that_add_to_a_list_do_not_see_each_other),
		cmocka_unit_test(pattern_that_sets_a_default_overwrites_too),
		cmocka_unit_test(verifier_of_the_zone_or_inherited),
		cmocka_unit_test(min_expire_time_may_come_from_the_soa),
		cmocka_unit_test(zone_can_be_added_and_removed),
		cmocka_unit_test(many_zones_come_and_go),
		cmocka_unit_test(zones_that_come_and_go_leave_no_memory),
		cmocka_unit_test(
			hundred_thousand_zones_cost_less_than_240_octets_each),
		cmocka_unit_test(file_name_has_parts_of_the_zones_name),
		cmocka_unit_test(zone_without_file_has_no_file_name),
		cmocka_unit_test(path_in_chroot_loses_it),
		cmocka_unit_test(secondary_zones_are_counted),
		cmocka_unit_test(zone_that_was_a_secondary_is_known),
		cmocka_unit_test(semantic_errors_are_found),
		cmocka_unit_test(what_is_left_out_of_long_lists_is_said),
		cmocka_unit_test(identity_and_version_fit_a_txt_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
