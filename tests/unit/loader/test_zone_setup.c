/* test_zone_setup.c - the zones of a configuration as the store takes them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/one_store.h"
#include "loader/zone_setup.h"

static struct conf *
load(const char *text)
{
	struct conf *conf = NULL;

	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &conf),
		NSD_OK);
	return conf;
}

static void
expect_key(const struct acl_element *e, const char *name,
	enum mac_kind algorithm)
{
	const struct settings_key *key = store_get(s.view, e->key);

	assert_true(e->needs_key);
	assert_int_not_equal(e->key, STORE_NONE);
	assert_int_equal(key->name_len, strlen(name) + 1);
	assert_memory_equal(key->name, name, key->name_len);
	assert_int_equal(key->algorithm, algorithm);
}

static void
acl_of_each_kind_is_converted(void **state)
{
	struct conf *conf = load(
		"key: name: K0 algorithm: md5 secret: \"AAAA\"\n"
		"key: name: k1 algorithm: sha256 secret: \"AAAA\"\n"
		"zone: name: Example zonefile: f\n"
		" allow-query: 192.0.2.1@53 NOKEY\n"
		" allow-query: 192.0.2.0/24 BLOCKED\n"
		" allow-query: 192.0.2.0&255.0.255.0 k1\n"
		" allow-query: 192.0.2.1-192.0.2.9 NOKEY\n"
		" allow-query: 2001:db8::/32 NOKEY\n"
		" provide-xfr: ::1 K0\n"
		" allow-notify: ::2 BLOCKED\n"
		" request-xfr: AXFR ::3 NOKEY\n"
		" request-xfr: UDP ::4 NOKEY\n"
		" notify: ::5@5300 NOKEY\n");
	static const uint8_t low[4] = {192, 0, 2, 1}, high[4] = {192, 0, 2, 9},
			     mask24[4] = {255, 255, 255, 0},
			     odd[4] = {255, 0, 255, 0};
	const struct settings_options *options;
	const struct acl_element *a;
	struct zone_setups setups;
	uint32_t count;

	assert_int_equal(zone_setups_init(&setups, s.writer, conf), NSD_OK);
	assert_memory_equal(setups.items[0].apex, "\7example", 9);
	assert_int_equal(setups.items[0].flags, ZONE_ENTRY_FROM_XFRD);
	options = store_get(s.view, setups.items[0].options);
	a = settings_options_list(options, SETTINGS_ALLOW_QUERY, &count);
	assert_int_equal(count, 5);
	assert_int_equal(a[0].kind, ACL_SINGLE);
	assert_int_equal(a[0].family, 4);
	assert_int_equal(a[0].port, 53);
	assert_memory_equal(a[0].address, low, 4);
	assert_false(a[0].blocked || a[0].needs_key);
	assert_int_equal(a[1].kind, ACL_MASK);
	assert_true(a[1].blocked);
	assert_memory_equal(a[1].other, mask24, 4);
	assert_int_equal(a[2].kind, ACL_MASK);
	assert_memory_equal(a[2].other, odd, 4);
	expect_key(&a[2], "\2k1", MAC_HMAC_SHA256);
	assert_int_equal(a[3].kind, ACL_RANGE);
	assert_memory_equal(a[3].address, low, 4);
	assert_memory_equal(a[3].other, high, 4);
	assert_int_equal(a[4].family, 6);
	a = settings_options_list(options, SETTINGS_PROVIDE_XFR, &count);
	assert_int_equal(count, 1);
	expect_key(&a[0], "\2k0", MAC_HMAC_MD5);
	a = settings_options_list(options, SETTINGS_ALLOW_NOTIFY, &count);
	assert_int_equal(count, 1);
	assert_true(a[0].blocked);
	a = settings_options_list(options, SETTINGS_REQUEST_XFR, &count);
	assert_int_equal(count, 2);
	assert_true(a[0].axfr_only && !a[0].allow_udp);
	assert_true(!a[1].axfr_only && a[1].allow_udp);
	a = settings_options_list(options, SETTINGS_NOTIFY, &count);
	assert_int_equal(count, 1);
	assert_int_equal(a[0].port, 5300);
	zone_setups_fini(&setups);
	conf_destroy(conf);
}

static void
what_xfrd_needs_is_there_with_primaries_or_targets(void **state)
{
	struct conf *conf = load(
		"pattern: name: bounds notify-retry: 1"
		" min-refresh-time: 2 max-refresh-time: 3"
		" min-retry-time: 4 max-retry-time: 5 min-expire-time: 6"
		" allow-axfr-fallback: no multi-primary-check: yes"
		" outgoing-interface: 192.0.2.8@53\n"
		"zone: name: a zonefile: f include-pattern: bounds"
		" request-xfr: 192.0.2.1 NOKEY\n"
		"zone: name: b zonefile: f include-pattern: bounds"
		" allow-query: ::1 NOKEY\n"
		"zone: name: c zonefile: f notify: 192.0.2.1 NOKEY"
		" min-expire-time: refresh+retry+1\n");
	static const struct settings_xfr bounds = {1, 2, 3, 4, 5, 6, 0, 1};
	const struct settings_options *options;
	const struct acl_element *ours;
	struct zone_setups setups;
	uint32_t count;

	assert_int_equal(zone_setups_init(&setups, s.writer, conf), NSD_OK);
	options = store_get(s.view, setups.items[0].options);
	assert_memory_equal(settings_options_xfr(options), &bounds,
		sizeof(bounds));
	ours = settings_options_list(options, SETTINGS_OUTGOING_INTERFACE,
		&count);
	assert_int_equal(count, 1);
	assert_int_equal(ours->family, 4);
	assert_int_equal(ours->port, 53);
	options = store_get(s.view, setups.items[1].options);
	assert_null(settings_options_xfr(options));
	(void)settings_options_list(options, SETTINGS_OUTGOING_INTERFACE,
		&count);
	assert_int_equal(count, 0);
	options = store_get(s.view, setups.items[2].options);
	assert_true(settings_options_xfr(options)->axfr_fallback);
	assert_int_equal(settings_options_xfr(options)->expire_min_sec,
		SETTINGS_EXPIRE_FROM_SOA);
	zone_setups_fini(&setups);
	conf_destroy(conf);
}

static void
zones_with_the_same_lists_share_them(void **state)
{
	struct conf *conf = load(
		"pattern: name: p zonefile: f allow-query: ::1 NOKEY\n"
		"pattern: name: s zonefile: f"
		" request-xfr: 192.0.2.1 NOKEY\n"
		"zone: name: a include-pattern: p\n"
		"zone: name: b include-pattern: p\n"
		"zone: name: c include-pattern: s\n"
		"zone: name: d include-pattern: p\n"
		"zone: name: e zonefile: e allow-query: ::1 NOKEY\n");
	uint64_t octets = store_fixture_reclaimed(s.writer);
	struct zone_setups setups;
	const struct settings_options *options;

	assert_int_equal(zone_setups_init(&setups, s.writer, conf), NSD_OK);
	assert_int_equal(conf->zone_count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(setups.items[i].id, i);
		assert_ptr_equal(setups.items[i].apex, conf->zones[i]->wire);
		assert_int_equal(setups.items[i].flags,
			i == 2 ? ZONE_ENTRY_FROM_XFRD : 0);
	}
	options = store_get(s.view, setups.items[0].options);
	assert_int_equal(options->ends[SETTINGS_ALLOW_QUERY], 1);
	assert_int_equal(setups.items[1].options, setups.items[0].options);
	assert_int_not_equal(setups.items[2].options,
		setups.items[0].options);
	assert_int_equal(setups.items[3].options, setups.items[0].options);
	/* A zone with equal options of its own shares them. */
	assert_int_equal(setups.items[4].options, setups.items[0].options);
	zone_setups_fini(&setups);
	assert_int_equal(store_fixture_reclaimed(s.writer), octets);
	conf_destroy(conf);
}

/* The name and the file as nsd.conf has them, whatever form they have. */
static void
names_and_files_are_as_written(void **state)
{
	static const struct {
		const char *name, *file;
		bool keeps_name, keeps_file;
	} rows[] = {
		{"A.Example.", "own", true, true},
		{"b.example", "own/%s", false, true},
		{"c.example.", "p/%s", false, false},
		{"d\\046x.example", "own", true, true},
		{"e\\.x.example", "own", false, true},
	};
	struct conf *conf = load("pattern: name: p zonefile: p/%s\n"
		"zone: name: A.Example. zonefile: own\n"
		"zone: name: b.example zonefile: own/%s\n"
		"zone: name: c.example. include-pattern: p\n"
		"zone: name: d\\046x.example zonefile: own\n"
		"zone: name: e\\.x.example zonefile: own\n");
	store_ref entries[sizeof(rows) / sizeof(*rows)];
	struct zone_setups setups;
	char text[NAME_TEXT_MAX];

	assert_int_equal(conf->zone_count, 5);
	assert_int_equal(zone_setups_init(&setups, s.writer, conf), NSD_OK);
	assert_int_equal(table_add(s.writer, setups.items, 5, entries),
		NSD_OK);
	for (unsigned i = 0; i < 5; i++) {
		const struct zone_entry *entry = store_get(s.view, entries[i]);
		const struct conf_zone *zone = conf->zones[i];

		assert_string_equal(zone->name, rows[i].name);
		assert_string_equal(zone_entry_name(s.view, entry, text),
			rows[i].name);
		assert_string_equal(zone_entry_file(s.view, entry),
			rows[i].file);
		assert_int_equal(setups.items[i].name != NULL,
			rows[i].keeps_name);
		assert_int_equal(setups.items[i].file != NULL,
			rows[i].keeps_file);
	}
	zone_setups_fini(&setups);
	conf_destroy(conf);
}

static void
zone_without_lists_has_no_options(void **state)
{
	struct conf *conf = load("zone: name: a zonefile: a\n");
	uint64_t octets = store_fixture_reclaimed(s.writer);
	struct zone_setups setups;

	assert_int_equal(zone_setups_init(&setups, s.writer, conf), NSD_OK);
	assert_int_equal(setups.items[0].options, STORE_NONE);
	zone_setups_fini(&setups);
	assert_int_equal(store_fixture_reclaimed(s.writer), octets);
	conf_destroy(conf);
}

static void
no_zones_are_no_setups(void **state)
{
	struct conf *conf = load("server:");
	struct zone_setups setups;

	assert_int_equal(zone_setups_init(&setups, s.writer, conf), NSD_OK);
	zone_setups_fini(&setups);
	conf_destroy(conf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acl_of_each_kind_is_converted),
		cmocka_unit_test(zones_with_the_same_lists_share_them),
		cmocka_unit_test(
			what_xfrd_needs_is_there_with_primaries_or_targets),
		cmocka_unit_test(names_and_files_are_as_written),
		cmocka_unit_test(zone_without_lists_has_no_options),
		cmocka_unit_test(no_zones_are_no_setups),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}
