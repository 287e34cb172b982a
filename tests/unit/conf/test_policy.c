/* test_policy.c - allow-update, update-policy and their neighbours in
 * nsd.conf. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/compare.h"
#include "conf/image.h"
#include "conf/key_edit.h"
#include "reader.h"

#define KEYS "key: name: k secret: AAAA\nkey: name: m secret: BBBB\n"
#define PATTERN KEYS "pattern: name: p\n"

/* The policies of the only pattern. */
static const struct conf_policies *
policies(const struct conf *conf)
{
	return &conf->patterns[0]->update_policy;
}

static void
expect_name(const char *text, enum conf_policy_kind kind, const char *wire)
{
	char line[256];
	struct conf *conf;
	const struct conf_policy *policy;

	snprintf(line, sizeof(line), PATTERN "update-policy: k %s\n", text);
	conf = reader_accept(line);
	assert_int_equal(policies(conf)->count, 1);
	policy = policies(conf)->items;
	assert_int_equal(policy->kind, kind);
	assert_string_equal((const char *)policy->name, wire);
	assert_string_equal(policy->text, text);
	assert_string_equal(policy->key->name, "k");
	assert_int_equal(policy->line, 4);
	conf_destroy(conf);
}

static void
name_has_five_forms(void **state)
{
	expect_name("Host.Example", CONF_POLICY_NAME, "\4host\7example");
	expect_name("host.example.", CONF_POLICY_NAME, "\4host\7example");
	expect_name(".", CONF_POLICY_NAME, "");
	expect_name("self.example", CONF_POLICY_NAME, "\4self\7example");
	expect_name("self.", CONF_POLICY_NAME, "\4self");
	expect_name("*.Host.example", CONF_POLICY_BELOW, "\4host\7example");
	expect_name("*.", CONF_POLICY_BELOW, "");
	expect_name("_Acme-challenge.*", CONF_POLICY_LABELS,
		"\17_acme-challenge");
	expect_name("a.b.*", CONF_POLICY_LABELS, "\1a\1b");
	expect_name("*", CONF_POLICY_ANY, "");
	expect_name("Self", CONF_POLICY_SELF, "");
	/* An escaped star is a label of a name. */
	expect_name("\\*.a", CONF_POLICY_NAME, "\1*\1a");
	expect_name("\\042.a", CONF_POLICY_NAME, "\1*\1a");
	expect_name("a\\.*", CONF_POLICY_NAME, "\3a.*");
	expect_name("a*", CONF_POLICY_NAME, "\2a*");
}

static void
refuse_name(const char *text, const char *why)
{
	char line[256], said[512];

	snprintf(line, sizeof(line), PATTERN "update-policy: k %s\n", text);
	snprintf(said, sizeof(said), "t:4: error: update-policy: bad name "
		"'%s': expected %s\n", text, why);
	reader_refuse(line, said);
}

static void
name_of_another_form_is_refused(void **state)
{
	static const char forms[] =
		"a domain name, *.NAME, LABELS.*, * or self";

	refuse_name("*.a.*", forms);
	refuse_name("a.*.b", forms);
	refuse_name("*.*", forms);
	refuse_name("*.*.a", forms);
	refuse_name(".*", forms);
	refuse_name("a..b", "a name without empty labels");
	refuse_name("*..b", "a name without empty labels");
}

static void
types_are_those_of_records_or_any(void **state)
{
	struct conf *conf = reader_accept(PATTERN
		"update-policy: k * txt AAAA TYPE65280 ANY\n"
		"update-policy: m *\n");
	static const uint16_t types[] = {16, 28, 65280, 255};

	assert_int_equal(policies(conf)->count, 2);
	assert_int_equal(policies(conf)->items[0].type_count, 4);
	assert_memory_equal(policies(conf)->items[0].types, types,
		sizeof(types));
	assert_int_equal(policies(conf)->items[1].type_count, 0);
	conf_destroy(conf);
	reader_refuse(PATTERN "update-policy: k * A FOO\n",
		"t:4: error: update-policy: unknown type 'FOO': expected types"
		" of records, or ANY\n");
	reader_refuse(PATTERN "update-policy: k *\nA AXFR\n"
		"update-policy: k * OPT update-policy: k * TYPE0\n"
		"update-policy: k * TYPE249\n",
		"t:5: error: update-policy: unknown type 'AXFR': expected types"
		" of records, or ANY\n"
		"t:6: error: update-policy: unknown type 'OPT': expected types"
		" of records, or ANY\n"
		"t:6: error: update-policy: unknown type 'TYPE0': expected "
		"types of records, or ANY\n"
		"t:7: error: update-policy: unknown type 'TYPE249': expected "
		"types of records, or ANY\n");
}

static void
line_names_a_key(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p\n"
		"update-policy: later self\nkey: name: later secret: AAAA\n");

	assert_ptr_equal(policies(conf)->items[0].key, conf->keys[0]);
	conf_destroy(conf);
	reader_refuse("pattern: name: p\nupdate-policy: k self\n"
		"zone: name: a zonefile: a update-policy: k self\n"
		"update-policy: m self\n",
		"t:2: error: key k in pattern p could not be found\n"
		"t:3: error: key k in pattern _implicit_a could not be found\n"
		"t:4: error: key m in pattern _implicit_a could not be "
		"found\n");
	reader_refuse(PATTERN "update-policy: NOKEY *\n"
		"update-policy: BLOCKED *\n",
		"t:4: error: update-policy: expected the name of a key, got "
		"'NOKEY'\n"
		"t:5: error: update-policy: expected the name of a key, got "
		"'BLOCKED'\n");
	reader_refuse(PATTERN "update-policy: k\n",
		"t:4: at 'update-policy:': error: syntax error, expected a "
		"key, a name and types behind it\n");
}

static void
lines_of_an_included_pattern_are_added(void **state)
{
	struct conf *conf = reader_accept(PATTERN "update-policy: k a\n"
		"zone: name: y zonefile: z include-pattern: p\n"
		"update-policy: m b TXT\n"
		"zone: name: z zonefile: z update-policy: m b TXT\n"
		"include-pattern: p\n");

	for (unsigned i = 0; i < 2; i++) {
		const struct conf_policies *list =
			&conf->zones[i]->options->update_policy;

		assert_int_equal(list->count, 2);
		assert_string_equal(list->items[i].text, "a");
		assert_string_equal(list->items[1 - i].text, "b");
	}
	assert_int_equal(policies(conf)->count, 1);
	conf_destroy(conf);
}

/* ---- zones that take updates --------------------------------------------- */

static void
zone_that_takes_updates_has_its_versions_from_xfrd(void **state)
{
	struct conf *conf = reader_accept(KEYS
		"zone: name: a zonefile: f allow-update: ::1 NOKEY\n"
		"zone: name: b zonefile: f update-policy: k self\n"
		"zone: name: c request-xfr: ::1 NOKEY\n"
		" update-forward: ::/0 NOKEY\n"
		"zone: name: d zonefile: f serial-policy: unixtime\n");

	for (unsigned i = 0; i < 4; i++) {
		const struct conf_pattern *o = conf->zones[i]->options;

		assert_int_equal(conf_takes_updates(o), i < 2);
		assert_int_equal(conf_is_from_xfrd(o), i < 3);
	}
	assert_int_equal(conf->zones[3]->options->serial_policy,
		CONF_SERIAL_UNIXTIME);
	assert_int_equal(conf->zones[0]->options->serial_policy,
		CONF_SERIAL_INCREMENT);
	assert_false(conf->zones[0]->options->update_unchecked);
	conf_destroy(conf);
}

static void
secondaries_and_catalogs_take_no_updates(void **state)
{
	reader_refuse(KEYS "zone: name: a request-xfr: ::1 NOKEY\n"
		"allow-update: ::1 NOKEY\n",
		"t:4: error: zone a has allow-update and request-xfr: a "
		"secondary takes no updates, expected update-forward\n");
	reader_refuse(PATTERN "request-xfr: ::1 NOKEY\n"
		"update-policy: k *\n",
		"t:5: error: pattern p has update-policy and request-xfr: a "
		"secondary takes no updates, expected update-forward\n");
	reader_refuse(KEYS "zone: name: a catalog: producer zonefile: a\n"
		"update-policy: k *\nzone: name: b catalog: consumer\n"
		"zonefile: a allow-update: ::1 BLOCKED",
		"t:4: error: zone a has update-policy and catalog: a catalog "
		"takes no updates\n"
		"t:6: error: zone b has allow-update and catalog: a catalog "
		"takes no updates\n");
}

static void
forwarding_wants_a_primary(void **state)
{
	static struct reader r;
	struct conf *conf = reader_load(&r, "pattern: name: p\n"
		"update-forward: ::/0 NOKEY\n"
		"zone: name: a zonefile: a include-pattern: p\n"
		"zone: name: b include-pattern: p request-xfr: ::1 NOKEY\n");

	assert_non_null(conf);
	assert_int_equal(conf_check(conf, &r.sink), 1);
	assert_string_equal(r.said, "t:2: error: zone a has update-forward but"
		" no request-xfr items. Where can updates be passed on to?\n");
	conf_destroy(conf);
}

/* A warning for each line, not for each zone. */
static void
anybody_without_a_key_is_a_warning(void **state)
{
	static struct reader r;
	struct conf *conf = reader_load(&r, PATTERN
		"allow-update: 0.0.0.0/0 NOKEY\n"
		"allow-update: 0.0.0.0/0 k\n"
		"allow-update: ::/0 BLOCKED allow-update: ::/1 NOKEY\n"
		"update-forward: ::/0 NOKEY\n"
		"allow-update: ::&:: NOKEY\n"
		"zone: name: a zonefile: a include-pattern: p\n"
		"zone: name: b zonefile: a include-pattern: p\n"
		"allow-update: ::1 NOKEY\n");

	assert_non_null(conf);
	assert_string_equal(r.said, "t:4: warning: allow-update 0.0.0.0/0 "
		"NOKEY: anybody may change the zone, without a key\n"
		"t:8: warning: allow-update ::&:: NOKEY: anybody may change "
		"the zone, without a key\n");
	conf_destroy(conf);
}

static void
words_of_serial_policy_and_update_signed(void **state)
{
	struct conf *conf = reader_accept("pattern: name: p "
		"serial-policy: dateserial update-signed: no-check\n"
		"pattern: name: q include-pattern: p serial-policy: increment "
		"update-signed: check\n");

	assert_int_equal(conf->patterns[0]->serial_policy,
		CONF_SERIAL_DATESERIAL);
	assert_true(conf->patterns[0]->update_unchecked);
	assert_int_equal(conf->patterns[1]->serial_policy,
		CONF_SERIAL_INCREMENT);
	assert_false(conf->patterns[1]->update_unchecked);
	conf_destroy(conf);
	reader_refuse("pattern: name: p serial-policy: date\n"
		"update-signed: yes\n",
		"t:1: error: expected increment, unixtime or dateserial for "
		"serial-policy, got 'date'\n"
		"t:2: error: expected check or no-check for update-signed, got"
		" 'yes'\n");
}

/* ---- the same elsewhere -------------------------------------------------- */

static const char whole[] = PATTERN
	"update-policy: k _acme-challenge.* TXT\n"
	"update-policy: m self A AAAA TYPE65280\nupdate-policy: m *\n"
	"allow-update: ::1 k update-forward: ::2 m\n"
	"serial-policy: unixtime update-signed: no-check\n"
	"zone: name: a zonefile: a include-pattern: p\n"
	"update-policy: k *.b ANY allow-update: ::3 NOKEY\n";

static char *
print_whole(const struct conf *conf)
{
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	conf_print(conf, false, out);
	fclose(out);
	return text;
}

static void
options_of_updates_are_printed_as_they_can_be_read(void **state)
{
	struct conf *conf = reader_accept(whole), *again;
	char *text = print_whole(conf), *other;
	char alone[256] = "";
	FILE *out = fmemopen(alone, sizeof(alone), "w");

	assert_non_null(strstr(text,
		"\tupdate-policy: m self A AAAA TYPE65280\n"));
	assert_non_null(strstr(text, "\tserial-policy: unixtime\n"
		"\tupdate-signed: no-check\n"));
	again = reader_accept(text);
	other = print_whole(again);
	assert_string_equal(text, other);
	assert_non_null(out);
	assert_int_equal(conf_print_zone_option(conf, conf->zones[0],
		"update-policy", false, out), NSD_OK);
	fclose(out);
	assert_string_equal(alone, "k _acme-challenge.* TXT\n"
		"m self A AAAA TYPE65280\nm *\nk *.b ANY\n");
	free(text);
	free(other);
	conf_destroy(conf);
	conf_destroy(again);
}

static void
image_has_the_options_of_updates(void **state)
{
	struct conf *conf = reader_accept(whole), *again;
	struct conf_difference d;
	const struct conf_policy *policy;
	int options, zones;

	conf_wipe_secrets(conf);
	assert_int_equal(conf_image_write(conf, &options), NSD_OK);
	assert_int_equal(conf_image_write_zones(conf, &zones), NSD_OK);
	assert_int_equal(conf_image_read(options, &again), NSD_OK);
	assert_int_equal(conf_image_read_zones(zones, again), NSD_OK);
	conf_compare(conf, again, &d);
	assert_false(conf_difference_is_live(&d));
	conf_destroy(conf); /* pointers into it are found by sanitizers */
	policy = &again->zones[0]->options->update_policy.items[3];
	assert_string_equal((const char *)policy->name, "\1b");
	assert_ptr_equal(policy->key, conf_find_key(again, "k"));
	assert_int_equal(policy->types[0], 255);
	assert_ptr_equal(policies(again)->items[1].key,
		conf_find_key(again, "m"));
	assert_int_equal(policies(again)->items[1].types[2], 65280);
	conf_destroy(again);
	close(options);
	close(zones);
}

static void
expect_difference(const char *line, const char *other, bool different)
{
	char a[256], b[256];
	struct conf *old, *new;
	struct conf_difference d;

	snprintf(a, sizeof(a), PATTERN "%s\n", line);
	snprintf(b, sizeof(b), PATTERN "%s\n", other);
	old = reader_accept(a);
	new = reader_accept(b);
	conf_compare(old, new, &d);
	assert_int_equal(d.patterns, different);
	conf_destroy(old);
	conf_destroy(new);
}

static void
each_part_of_a_line_is_a_difference(void **state)
{
	expect_difference("update-policy: k a A", "update-policy: k a A",
		false);
	expect_difference("update-policy: k a A", "update-policy: m a A",
		true);
	expect_difference("update-policy: k a A", "update-policy: k b A",
		true);
	expect_difference("update-policy: k a A", "update-policy: k a TXT",
		true);
	expect_difference("update-policy: k a A", "update-policy: k a", true);
	expect_difference("update-policy: k a A", "", true);
	expect_difference("serial-policy: unixtime",
		"serial-policy: dateserial", true);
	expect_difference("update-signed: check", "update-signed: no-check",
		true);
	expect_difference("allow-update: ::1 k", "allow-update: ::1 m", true);
	expect_difference("update-forward: ::1 k", "update-forward: ::2 k",
		true);
}

static enum nsd_err
remove_key(struct conf *conf, const char *name)
{
	const struct key_edit edit = {.what = KEY_EDIT_REMOVE, .key = name};

	return key_edit_apply(conf, &edit);
}

static void
each_option_of_updates_uses_its_keys(void **state)
{
	static const char *const lines[] = {"update-policy: k a",
		"allow-update: ::1 k",
		"request-xfr: ::1 NOKEY update-forward: ::1 k"};
	char text[256];

	for (unsigned i = 0; i < 3; i++) {
		struct conf *conf;

		snprintf(text, sizeof(text), PATTERN "%s\n"
			"zone: name: z zonefile: z include-pattern: p\n",
			lines[i]);
		conf = reader_accept(text);
		assert_int_equal(remove_key(conf, "k"), NSD_E_DENIED);
		assert_int_equal(remove_key(conf, "m"), NSD_OK);
		conf_destroy(conf);
	}
}

/* No zone has the pattern: the key goes, and no line of the pattern leads to
 * where it was. */
static void
pattern_forgets_a_key_that_goes(void **state)
{
	struct conf *conf = reader_accept(PATTERN "update-policy: k a\n"
		"allow-update: ::1 k\n");

	assert_int_equal(remove_key(conf, "k"), NSD_OK);
	assert_null(policies(conf)->items[0].key);
	assert_null(conf->patterns[0]->allow_update.items[0].key);
	conf_destroy(conf);
}

/* assoc_tsig is about transfers: who may change the zone stays. */
static void
assoc_leaves_the_options_of_updates(void **state)
{
	struct conf *conf = reader_accept(PATTERN "update-policy: k a\n"
		"allow-update: ::1 k provide-xfr: ::1 NOKEY\n"
		"zone: name: z zonefile: z include-pattern: p\n");
	const struct key_edit edit = {.what = KEY_EDIT_ASSOC, .key = "m",
		.zone = "z"};
	const struct conf_pattern *options;

	assert_int_equal(key_edit_apply(conf, &edit), NSD_OK);
	options = conf->zones[0]->options;
	assert_string_equal(options->provide_xfr.items[0].key->name, "m");
	assert_string_equal(options->allow_update.items[0].key->name, "k");
	assert_string_equal(options->update_policy.items[0].key->name, "k");
	assert_int_equal(remove_key(conf, "k"), NSD_E_DENIED);
	conf_destroy(conf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_has_five_forms),
		cmocka_unit_test(name_of_another_form_is_refused),
		cmocka_unit_test(types_are_those_of_records_or_any),
		cmocka_unit_test(line_names_a_key),
		cmocka_unit_test(lines_of_an_included_pattern_are_added),
		cmocka_unit_test(
			zone_that_takes_updates_has_its_versions_from_xfrd),
		cmocka_unit_test(secondaries_and_catalogs_take_no_updates),
		cmocka_unit_test(forwarding_wants_a_primary),
		cmocka_unit_test(anybody_without_a_key_is_a_warning),
		cmocka_unit_test(words_of_serial_policy_and_update_signed),
		cmocka_unit_test(
			options_of_updates_are_printed_as_they_can_be_read),
		cmocka_unit_test(image_has_the_options_of_updates),
		cmocka_unit_test(each_part_of_a_line_is_a_difference),
		cmocka_unit_test(each_option_of_updates_uses_its_keys),
		cmocka_unit_test(pattern_forgets_a_key_that_goes),
		cmocka_unit_test(assoc_leaves_the_options_of_updates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
