/* test_compare.c - differences between two configurations. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/compare.h"
#include "conf/option.h"
#include "reader.h"

#define REST "pattern: name: p zonefile: a\nkey: name: k secret: aa==\n" \
	     "zone: name: z zonefile: b\n"

static char waiting[1024], changed[1024];

/* Lists them; with the line of those that stand in the text. */
static void
on_changed(void *ctx, const struct conf_changed *c)
{
	char *list = c->waits ? waiting : changed;
	size_t at = strlen(list);

	at += (size_t)snprintf(list + at, sizeof(waiting) - at, "%s:%s",
		c->clause, c->option);
	if (c->file != NULL)
		at += (size_t)snprintf(list + at, sizeof(waiting) - at, ":%u",
			(unsigned)c->line);
	snprintf(list + at, sizeof(waiting) - at, " ");
}

static struct conf_difference
compare(const char *old, const char *new)
{
	struct conf *a = reader_accept(old), *b = reader_accept(new);
	struct conf_difference d;

	waiting[0] = changed[0] = '\0';
	conf_compare_options(a, b, on_changed, NULL);
	conf_compare(a, b, &d);
	conf_destroy(a);
	conf_destroy(b);
	return d;
}

static void
every_row_says_what_a_change_needs(void **state)
{
	for (size_t i = 0; i < conf_option_count; i++) {
		unsigned flags = conf_options[i].flags
			& (OPTION_AT_ONCE | OPTION_RESTART);

		assert_true(flags == OPTION_AT_ONCE
			|| flags == OPTION_RESTART);
		/* Options of patterns, zones and keys cannot wait for a
		 * restart. */
		assert_true(conf_clauses[conf_options[i].clause].single
			|| flags == OPTION_AT_ONCE);
	}
}

static void
same_text_is_no_difference(void **state)
{
	struct conf_difference d = compare(REST, "# more\n" REST);

	assert_false(conf_difference_is_live(&d));
	assert_int_equal(d.waiting, 0);
}

/* A value other than the default, for each type in the server: clause. */
static const char *
other_value(const struct conf_option *o)
{
	static char text[64];

	switch ((enum conf_type)o->type) {
	case TYPE_BOOL:
		return strcmp(o->initial, "yes") == 0 ? "no" : "yes";
	case TYPE_U32:
	case TYPE_I32:
		snprintf(text, sizeof(text), "%ld",
			atol(o->initial) != (long)o->min + 1
				? (long)o->min + 1
				: (long)o->min + 2);
		return text;
	case TYPE_STRING:
		return "/some/thing";
	case TYPE_NSID:
		return "ascii_x";
	case TYPE_DOMAIN:
		return "agent.example";
	case TYPE_LOG_FORMAT:
		return "json";
	case TYPE_NUMBERS:
	case TYPE_NUMBER_EACH:
		return "7";
	case TYPE_NETBLOCK:
		return "20 8";
	case TYPE_LISTEN:
	case TYPE_INTERFACE:
		return "192.0.2.1@5300";
	case TYPE_ACL_SPEC:
		return "192.0.2.0/24";
	default:
		return NULL;
	}
}

/* By the table: each option of the server alone. */
static void
each_option_is_seen_and_told_if_it_waits(void **state)
{
	size_t count, seen = 0;
	const struct conf_option *rows = option_rows(CLAUSE_SERVER, &count);

	for (size_t i = 0; i < count; i++) {
		const char *value = other_value(&rows[i]);
		struct conf_difference d;
		char text[256];

		if (value == NULL || (rows[i].flags & OPTION_ALIAS) != 0)
			continue;
		snprintf(text, sizeof(text), "server: %s: %s\n" REST,
			rows[i].name, value);
		/* Options that need another option before them, or a number in
		 * their name, are left out. */
		if (strchr(rows[i].name, 'N') != NULL
			|| strcmp(rows[i].name, "tls-auth-xfr-only") == 0)
			continue;
		d = compare(REST, text);
		seen++;
		snprintf(text, sizeof(text), "server:%s:1 ", rows[i].name);
		if ((rows[i].flags & OPTION_NO_EFFECT) != 0) {
			assert_int_equal(d.waiting + d.options, 0);
			assert_string_equal(waiting, "");
			assert_string_equal(changed, "");
		} else if ((rows[i].flags & OPTION_RESTART) != 0) {
			assert_int_equal(d.waiting, 1);
			assert_string_equal(waiting, text);
			assert_false(conf_difference_is_live(&d));
		} else {
			assert_int_equal(d.waiting, 0);
			assert_int_equal(d.options, 1);
			assert_string_equal(changed, text);
		}
	}
	assert_true(seen > 80);
}

static void
options_are_told_with_their_last_line(void **state)
{
	struct conf_difference d = compare(
		"server:\nport: 5301\nidentity: a\nversion: v\n"
		"nsid: ascii_x\nremote-control:\ncontrol-port: 7\n",
		"# one\nserver:\nport: 5302\nidentity: b\nport: 5303\n"
		"interface: 192.0.2.1\nnsid: ascii_x\nidentity: c\n");

	/* An option that was removed has no line. */
	assert_string_equal(waiting, "server:port:5 server:ip-address:6 ");
	assert_string_equal(changed, "server:identity:8 server:version "
				     "remote-control:control-port ");
	assert_int_equal(d.waiting, 2);
	assert_int_equal(d.options, 3);
}

static void
option_is_found_by_its_name(void **state)
{
	struct conf *conf = reader_accept("server:\nidentity: a\n");
	struct conf_changed c = conf_find_option(conf, "identity");

	assert_string_equal(c.clause, "server");
	assert_string_equal(c.option, "identity");
	assert_int_equal(c.line, 2);
	assert_false(c.waits);
	c = conf_find_option(conf, "port");
	assert_null(c.file);
	assert_true(c.waits);
	conf_destroy(conf);
}

static void
texts_are_kept_as_they_were(void **state)
{
	struct conf *new = reader_accept("server:\ntls-service-key: a\n"
		"tls-service-ocsp: o\nidentity: new\n");
	struct conf *old = reader_accept("server:\ntls-service-key: b\n"
		"tls-service-pem: c\nidentity: old\n");

	assert_int_equal(conf_keep_texts(new, old, "server", "tls-service-"),
		NSD_OK);
	assert_true(conf_options_are_same(new, old, "server", "tls-service-"));
	conf_destroy(old);
	assert_string_equal(new->server.tls_service_key, "b");
	assert_string_equal(new->server.tls_service_pem, "c");
	assert_null(new->server.tls_service_ocsp);
	assert_string_equal(new->server.identity, "new");
	/* The place is that of what is written there. */
	assert_int_equal(conf_find_option(new, "tls-service-key").line, 2);
	conf_destroy(new);
}

static void
places_are_printed_without_what_moves_a_cursor(void **state)
{
	char text[CONF_PLACE_MIN + 9];

	conf_print_place("a\nb", 7, text, sizeof(text));
	assert_string_equal(text, "a\\012b:7: ");
	/* The line is whole, whatever the name. */
	conf_print_place("a-long-name", UINT32_MAX, text, sizeof(text));
	assert_string_equal(text, "a-long-na:4294967295: ");
	conf_print_place("name", UINT32_MAX, text, CONF_PLACE_MIN);
	assert_string_equal(text, ":4294967295: ");
}

static void
objects_that_come_go_or_change_are_counted(void **state)
{
	struct conf_difference d = compare(REST,
		"pattern: name: p zonefile: c\npattern: name: q\n"
		"key: name: j secret: aa==\n"
		"zone: name: y zonefile: b\nzone: name: x zonefile: b");

	assert_int_equal(d.patterns, 2);
	assert_int_equal(d.keys, 2);
	assert_int_equal(d.zones_added, 2);
	assert_int_equal(d.zones_removed, 1);
	assert_int_equal(d.zones_changed, 0);
	d = compare(REST, "pattern: name: p zonefile: a\n"
		"key: name: k algorithm: sha512 secret: aa==\n"
		"zone: name: z include-pattern: p zonefile: b "
		"allow-query: 192.0.2.1 k");
	assert_int_equal(d.keys, 1);
	assert_int_equal(d.patterns, 0);
	assert_int_equal(d.zones_changed, 1);
	d = compare(REST, "pattern: name: p zonefile: a\n"
		"key: name: k secret: aa==\nzone: name: z zonefile: x");
	assert_int_equal(d.zones_changed, 1);
}

static void
zones_of_a_pattern_change_with_it(void **state)
{
	struct conf_difference d = compare(
		"pattern: name: p zonefile: a notify: 192.0.2.1 NOKEY\n"
		"zone: name: x include-pattern: p\n"
		"zone: name: y include-pattern: p\n",
		"pattern: name: p zonefile: a notify: 192.0.2.2 NOKEY\n"
		"zone: name: x include-pattern: p\n"
		"zone: name: y include-pattern: p\n");

	assert_int_equal(d.patterns, 1);
	assert_int_equal(d.zones_changed, 2);
}

static void
what_waits_keeps_its_value(void **state)
{
	struct conf *a = reader_accept("server: port: 5301 identity: a "
		"ip-address: 192.0.2.1 xdp-force-copy: no\n"
		"verify: port: 1 verifier-count: 1\n");
	struct conf *b = reader_accept("server: port: 5302 identity: b "
		"ip-address: 192.0.2.2 ip-address: 192.0.2.3\n"
		"xdp-force-copy: yes\nverify: port: 2 verifier-count: 2\n");

	conf_keep_waiting(b, a);
	assert_int_equal(b->server.port, 5301);
	assert_int_equal(b->server.ip_address.count, 1);
	assert_string_equal(b->server.identity, "b");
	assert_int_equal(b->verify.port, 1);
	assert_int_equal(b->verify.verifier_count, 2);
	/* Options without effect do not wait for a restart. */
	assert_true(b->server.xdp_force_copy);
	conf_destroy(b);
	conf_destroy(a);
}

static void
options_of_a_prefix_are_compared_alone(void **state)
{
	struct conf *a = reader_accept("server: metrics-port: 1 port: 1\n"
		"remote-control: control-port: 7\n");
	struct conf *b = reader_accept("server: metrics-port: 1 port: 2\n"
		"remote-control: control-port: 8\n");

	assert_true(conf_options_are_same(a, b, "server", "metrics-"));
	assert_false(conf_options_are_same(a, b, "server", ""));
	assert_false(conf_options_are_same(a, b, "remote-control",
		"control-"));
	assert_true(conf_options_are_same(a, b, "remote-control", "server-"));
	conf_destroy(b);
	conf_destroy(a);
}

#define NO_EFFECT " has no effect in this program"

/* before: the configuration of the server that reads the text. */
static void
list_new_without_effect(const char *before, const char *text, const char *said)
{
	static struct reader r;
	struct conf *conf = reader_load(&r, text);
	struct conf *running = reader_accept(before);

	assert_non_null(conf);
	conf_list_without_effect(conf, running, &r.sink);
	assert_string_equal(r.said, said);
	conf_destroy(conf);
	conf_destroy(running);
}

static void
option_without_effect_is_new_if_another_clause_has_it(void **state)
{
#define PATTERN(name) "pattern: name: " name " rrl-whitelist: any\n"
/* Without rate limits it is the one option of zones without effect. */
#define UNLIMITED(text) (RATELIMIT ? "" : (text))
	list_new_without_effect("server:", PATTERN("p"), UNLIMITED(
		"t:1: warning: pattern p: rrl-whitelist" NO_EFFECT "\n"));
	list_new_without_effect(PATTERN("p"), PATTERN("p"), "");
	list_new_without_effect(PATTERN("p"), PATTERN("p") PATTERN("q"),
		UNLIMITED("t:1: warning: pattern p: rrl-whitelist" NO_EFFECT
		", nor has it in 1 more clause\n"));
	list_new_without_effect(PATTERN("p") PATTERN("q"), PATTERN("p"), "");
	list_new_without_effect(PATTERN("p"), PATTERN("q"), UNLIMITED(
		"t:1: warning: pattern q: rrl-whitelist" NO_EFFECT "\n"));
	list_new_without_effect(PATTERN("p"), "pattern: name: p\n", "");
#undef PATTERN
}

static void
option_without_effect_is_new_if_its_value_is(void **state)
{
#define BPFFS "server: xdp-bpffs-path: "
	list_new_without_effect(BPFFS "/a", BPFFS "/a", "");
	list_new_without_effect(BPFFS "/a", BPFFS "/b",
		"t:1: warning: server: xdp-bpffs-path" NO_EFFECT "\n");
	list_new_without_effect(BPFFS "/a", BPFFS "/sys/fs/bpf", "");
#undef BPFFS
	list_new_without_effect("server: reuseport: yes server-count: 2",
		"server: reuseport: yes",
		"t:1: warning: server: reuseport has no effect with "
		"server-count: 1\n");
	list_new_without_effect("server: reuseport: yes",
		"server: reuseport: yes", "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_says_what_a_change_needs),
		cmocka_unit_test(same_text_is_no_difference),
		cmocka_unit_test(each_option_is_seen_and_told_if_it_waits),
		cmocka_unit_test(options_are_told_with_their_last_line),
		cmocka_unit_test(option_is_found_by_its_name),
		cmocka_unit_test(texts_are_kept_as_they_were),
		cmocka_unit_test(
			places_are_printed_without_what_moves_a_cursor),
		cmocka_unit_test(objects_that_come_go_or_change_are_counted),
		cmocka_unit_test(zones_of_a_pattern_change_with_it),
		cmocka_unit_test(what_waits_keeps_its_value),
		cmocka_unit_test(
			option_without_effect_is_new_if_another_clause_has_it),
		cmocka_unit_test(option_without_effect_is_new_if_its_value_is),
		cmocka_unit_test(options_of_a_prefix_are_compared_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
