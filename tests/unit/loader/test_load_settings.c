/* test_load_settings.c - settings of a configuration, as its readers find
 * them. */
#include "config.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/one_store.h"
#include "loader/load_list.h"
#include "loader/load_settings.h"
#include "settings/acl.h"
#include "settings/update_policy.h"
#include "store/writer.h"
#include "zone/table.h"

static struct conf *
load(const char *text)
{
	struct conf *conf = NULL;

	assert_int_equal(conf_load_text("test", text, strlen(text), false,
				 NULL, &conf),
		NSD_OK);
	return conf;
}

/* Publishes settings as a loader does at its start. */
static void
publish(const struct conf *conf)
{
	struct load_zone *zones = calloc(conf->zone_count + 1,
		sizeof(*zones));
	struct load_list_result result;

	assert_non_null(zones);
	assert_int_equal(load_list_publish(s.writer, conf, zones, &result),
		NSD_OK);
	free(zones);
}

static const struct settings *
published(void)
{
	return settings_get(s.view);
}

static void
expect_text(const struct settings_text *text, const char *expected)
{
	const uint8_t *octets = settings_read_text(published(), text);

	assert_non_null(octets);
	assert_int_equal(text->len, strlen(expected));
	assert_memory_equal(octets, expected, text->len);
}

static void
options_of_the_server_are_published(void **state)
{
	struct conf *conf = load("server:\n identity: \"me\"\n"
				 " version: \"1\"\n nsid: \"0aff\"\n"
				 " ipv4-edns-size: 1400\n"
				 " ipv6-edns-size: 1300\n"
				 " minimal-responses: yes\n"
				 " tcp-count: 11\n tcp-query-count: 12\n"
				 " tcp-timeout: 13\n");
	const struct settings *p;

	publish(conf);
	p = published();
	expect_text(&p->identity, "me");
	expect_text(&p->version, "1");
	expect_text(&p->nsid, "\n\xff");
	assert_int_equal(p->udp4_size, 1400);
	assert_int_equal(p->udp6_size, 1300);
	assert_int_equal(p->tcp_count, 11);
	assert_int_equal(p->tcp_query_count, 12);
	assert_int_equal(p->tcp_timeout_sec, 13);
	assert_true(p->minimal_responses);
	conf_destroy(conf);
}

/* A boolean option sets its own field and no other. */
static void
option_that_is_yes_or_no_is_its_own(void **state)
{
	static const struct {
		const char *name;
		size_t at;
	} rows[] = {
#define ROW(name, field) {name, offsetof(struct settings, field)}
		ROW("minimal-responses", minimal_responses),
		ROW("round-robin", round_robin),
		ROW("refuse-any", refuse_any),
		ROW("confine-to-zone", confine_to_zone),
		ROW("drop-updates", drop_updates),
		ROW("tcp-reject-overflow", tcp_reject_overflow),
	};
	const size_t count = sizeof(rows) / sizeof(*rows);

	for (size_t i = 0; i < count; i++) {
		char text[100];
		struct conf *conf;

		snprintf(text, sizeof(text), "server:\n %s: yes\n",
			rows[i].name);
		conf = load(text);
		publish(conf);
		for (size_t k = 0; k < count; k++)
			assert_int_equal(*((const bool *)published()
						 + rows[k].at),
				k == i);
		conf_destroy(conf);
	}
}

static void
defaults_are_those_of_the_manual(void **state)
{
	struct conf *conf = load("server:\n");
	const struct settings *p;
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	publish(conf);
	p = published();
	expect_text(&p->identity, host);
	expect_text(&p->version, PACKAGE_STRING);
	assert_int_equal(p->nsid.at, 0);
	assert_int_equal(p->udp4_size, 1232);
	assert_int_equal(p->udp6_size, 1232);
	assert_int_equal(p->tcp_count, 100);
	assert_int_equal(p->tcp_query_count, 0);
	assert_int_equal(p->tcp_timeout_sec, 120);
	conf_destroy(conf);
	conf = load("server:\n hide-version: yes hide-identity: yes\n"
		    " identity: x version: x\n");
	publish(conf);
	assert_int_equal(published()->identity.at, 0);
	assert_int_equal(published()->version.at, 0);
	conf_destroy(conf);
}

static store_ref
options_in(store_ref pattern)
{
	return ((const struct settings_pattern *)store_get(s.view,
		pattern))->options;
}

static void
pattern_is_found_by_its_name(void **state)
{
	struct conf *conf = load(
		"key: name: k algorithm: sha256 secret: AAAA\n"
		"pattern: name: b allow-query: ::1 k\n"
		"pattern: name: a zonefile: a\n"
		"pattern: name: c allow-query: ::3 NOKEY\n"
		"zone: name: z zonefile: z allow-query: ::4 NOKEY\n");
	const struct settings_options *options;
	store_ref ref;

	publish(conf);
	assert_int_equal(published()->key_count, 1);
	assert_int_equal(published()->pattern_count, 3);
	assert_true(load_settings_find(s.view, conf,
		conf_find_pattern(conf, "a"), &ref));
	assert_int_equal(ref, settings_find_pattern(s.view, "a"));
	assert_int_equal(options_in(ref), STORE_NONE);
	assert_true(load_settings_find(s.view, conf,
		conf_find_pattern(conf, "b"), &ref));
	options = store_get(s.view, options_in(ref));
	assert_int_equal(options->acl[0].address[15], 1);
	assert_int_equal(options->acl[0].key, settings_keys(published())[0]);
	assert_true(load_settings_find(s.view, conf,
		conf_find_pattern(conf, "c"), &ref));
	options = store_get(s.view, options_in(ref));
	assert_int_equal(options->acl[0].address[15], 3);
	assert_false(load_settings_find(s.view, conf,
		conf_find_zone_text(conf, "z")->options, &ref));
	conf_destroy(conf);
}

/* A client that has shown a certificate of client.example. */
static bool
is_client_example(const struct exchange_identity *identity, const char *name)
{
	return strcmp(name, "client.example") == 0;
}

/* An element of provide-xfr with tls-auth matches a client with that
 * certificate only, not one with the element's key alone. In request-xfr,
 * tls-auth says how to ask. */
static void
elements_for_tls_want_a_certificate(void **state)
{
	static const struct exchange_identity shown = {is_client_example};
	struct conf *conf = load(
		"key: name: k algorithm: sha256 secret: AAAA\n"
		"tls-auth: name: t auth-domain-name: client.example\n"
		"tls-auth: name: u auth-domain-name: other.example\n"
		"pattern: name: p provide-xfr: ::1 k t"
		" provide-xfr: ::2 NOKEY t provide-xfr: ::3 NOKEY u"
		" request-xfr: ::4 k t\n");
	struct sockaddr_storage peer = {.ss_family = AF_INET6};
	uint8_t *host = ((struct sockaddr_in6 *)&peer)->sin6_addr.s6_addr;
	struct acl_client client = {.peer = &peer, .view = s.view};
	const struct acl_element *one;
	struct acl_list list;
	uint32_t count;
	store_ref ref;

	publish(conf);
	assert_true(load_settings_find(s.view, conf,
		conf_find_pattern(conf, "p"), &ref));
	ref = options_in(ref);
	list = acl_list_get(store_get(s.view, ref), SETTINGS_PROVIDE_XFR);
	assert_int_equal(list.count, 3);
	for (host[15] = 1; host[15] <= 3; host[15]++) {
		client.key = host[15] == 1 ? list.elements[0].key : STORE_NONE;
		client.identity = NULL;
		assert_false(acl_list_allows(&list, &client));
		client.identity = &shown;
		assert_int_equal(acl_list_allows(&list, &client),
			host[15] < 3);
	}
	/* The certificate does not do without the key. */
	host[15] = 1;
	assert_int_not_equal(list.elements[0].key, STORE_NONE);
	assert_false(acl_list_allows(&list, &client));
	one = settings_options_list(store_get(s.view, ref),
		SETTINGS_REQUEST_XFR, &count);
	assert_int_equal(count, 1);
	assert_int_not_equal(one->key, STORE_NONE);
	assert_int_equal(one->identity, list.elements[0].identity);
	conf_destroy(conf);
}

static const struct settings_pattern *
pattern_named(const char *name)
{
	return store_get(s.view, settings_find_pattern(s.view, name));
}

static void
catalog_options_are_published(void **state)
{
	struct conf *conf = load(
		"pattern: name: p catalog: consumer catalog-max: 9"
		" catalog-empty: delete catalog-member-pattern: q"
		" catalog-group-pattern: q catalog-group-pattern: r"
		" catalog-allow: Example catalog-allow: org.\n"
		"pattern: name: q zone-directory: d"
		" catalog-producer-zone: C.example\n"
		"pattern: name: r zonefile: x\n"
		"zone: name: c.example zonefile: c catalog: producer\n");
	const struct settings_pattern *p, *q, *r;
	const struct settings_catalog *c;
	const uint8_t *suffixes;

	(void)state;
	publish(conf);
	p = pattern_named("p");
	c = &p->catalog;
	assert_int_equal(c->role, CONF_CATALOG_CONSUMER);
	assert_int_equal(c->max, 9);
	assert_int_equal(c->empty_deletes, 1);
	assert_string_equal(settings_pattern_text(p, c->member_pattern_at),
		"q");
	assert_int_equal(c->group_count, 2);
	assert_memory_equal(settings_pattern_text(p, c->groups_at), "q\0r",
		4);
	assert_int_equal(c->folder_at, 0);
	assert_int_equal(c->producer_at, 0);
	assert_int_equal(c->suffix_count, 2);
	suffixes = settings_pattern_name(p, c->suffixes_at);
	assert_memory_equal(suffixes, "\7example\0\3org", 14);
	q = pattern_named("q");
	assert_int_equal(q->catalog.role, CONF_CATALOG_NONE);
	assert_string_equal(settings_pattern_text(q, q->catalog.folder_at),
		"d");
	assert_string_equal(settings_pattern_text(q, q->file_at),
		"d/%s.zone");
	assert_memory_equal(settings_pattern_name(q, q->catalog.producer_at),
		"\1c\7example", 11);
	r = pattern_named("r");
	assert_null(settings_pattern_text(r, r->catalog.folder_at));
	assert_null(settings_pattern_name(r, r->catalog.suffixes_at));
	assert_int_equal(r->catalog.suffix_count, 0);
	conf_destroy(conf);
}

/* The options of each zone; none if there is no such zone. */
static store_ref
options_of(const char *wire)
{
	store_ref ref;

	assert_int_equal(table_find_apex(s.view, (const uint8_t *)wire, &ref),
		NSD_OK);
	return ((const struct zone_entry *)store_get(s.view, ref))->options;
}

/* A loader that takes over compiles the same settings: nothing moves, and no
 * memory is lost. Another configuration moves what it changes. */
static void
next_loader_publishes_the_same_again(void **state)
{
	static const char text[] =
		"key: name: k algorithm: sha256 secret: AAAA\n"
		"tls-auth: name: t auth-domain-name: a.example\n"
		"tls-auth: name: u auth-domain-name: b.example\n"
		"pattern: name: p zonefile: p allow-query: ::1 k"
		" provide-xfr: ::1 NOKEY t update-policy: k x.* TXT\n"
		"zone: name: a include-pattern: p\n"
		"zone: name: b include-pattern: p\n"
		"zone: name: c zonefile: c allow-query: ::%u NOKEY"
		" provide-xfr: ::1 NOKEY u\n"
		"zone: name: d zonefile: c allow-query: ::%u NOKEY"
		" provide-xfr: ::1 NOKEY u\n";
	uint64_t octets = 0;
	store_ref shared = STORE_NONE;

	for (unsigned i = 0; i < 6; i++) {
		char whole[600];
		struct conf *conf;

		snprintf(whole, sizeof(whole), text, 3 + i / 3, 3 + i / 3);
		conf = load(whole);
		publish(conf);
		assert_int_equal(options_of("\1b"), options_of("\1a"));
		assert_int_equal(options_of("\1d"), options_of("\1c"));
		assert_int_equal(((const struct settings_options *)store_get(
			s.view, options_of("\1c")))->acl[0].address[15],
			3 + i / 3);
		if (i == 0) {
			octets = store_fixture_reclaimed(s.writer);
			shared = options_of("\1a");
		}
		assert_int_equal(options_of("\1a"), shared);
		assert_int_equal(store_fixture_reclaimed(s.writer), octets);
		conf_destroy(conf);
	}
}

#define UPDATE_KEYS "key: name: K.Example secret: AAAA\n" \
	"key: name: m secret: BBBB\n"

/* The options of a zone; NULL: none. */
static const struct settings_options *
zone_options(const char *apex)
{
	store_ref options = options_of(apex);

	return options == STORE_NONE ? NULL : store_get(s.view, options);
}

/* True if a key, the n-th of nsd.conf, may change records A of an owner. */
static bool
policy_allows(const char *apex, unsigned n, const char *owner)
{
	return update_policy_find(update_policy_get(zone_options(apex)),
		settings_keys(published())[n], (const uint8_t *)apex,
		(const uint8_t *)owner, 1) != 0;
}

static void
who_may_change_a_zone_is_published(void **state)
{
	struct conf *conf = load(UPDATE_KEYS
		"zone: name: a zonefile: a allow-update: ::1 m\n"
		" serial-policy: dateserial update-signed: no-check\n"
		"zone: name: example zonefile: e update-policy: K.Example self\n"
		" update-policy: m h.* A update-policy: m *.b.example\n"
		" update-policy: m n.example\n"
		"zone: name: f request-xfr: ::1 NOKEY\n"
		" update-forward: ::2 m\n"
		"zone: name: c zonefile: c\n");
	const struct settings_options *a;
	struct acl_list list;

	publish(conf);
	assert_true(published()->takes_updates);
	a = zone_options("\1a");
	assert_int_equal(a->numbers.serial_policy, SETTINGS_SERIAL_DATESERIAL);
	assert_int_equal(a->numbers.update_unchecked, 1);
	list = acl_list_get(a, SETTINGS_ALLOW_UPDATE);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.elements->key, settings_keys(published())[1]);
	list = acl_list_get(zone_options("\1f"), SETTINGS_UPDATE_FORWARD);
	assert_int_equal(list.count, 1);
	assert_true(settings_options_take_updates(a));
	assert_true(settings_options_take_updates(zone_options("\7example")));
	assert_false(settings_options_take_updates(zone_options("\1f")));
	assert_false(settings_options_take_updates(zone_options("\1c")));
	assert_true(settings_options_forward_updates(zone_options("\1f")));
	assert_false(settings_options_forward_updates(a));
	assert_false(settings_options_forward_updates(zone_options("\1c")));
	/* self: the name of the key, in lower case. */
	assert_true(policy_allows("\7example", 0, "\1k\7example"));
	assert_false(policy_allows("\7example", 0, "\1n\7example"));
	assert_false(policy_allows("\7example", 1, "\1k\7example"));
	assert_true(policy_allows("\7example", 1, "\1n\7example"));
	assert_true(policy_allows("\7example", 1, "\1x\1b\7example"));
	assert_false(policy_allows("\7example", 1, "\1b\7example"));
	assert_true(policy_allows("\7example", 1, "\1h\1b\7example"));
	conf_destroy(conf);
}

/* Patterns count, too: zones of them may come while the server runs. */
static void
server_takes_updates_if_some_zone_or_pattern_does(void **state)
{
	static const struct {
		const char *text;
		bool takes;
	} rows[] = {
		{"zone: name: a zonefile: a\n", false},
		{"zone: name: a zonefile: a serial-policy: unixtime\n", false},
		{"zone: name: a zonefile: a allow-update: ::1 NOKEY\n", true},
		{"zone: name: a zonefile: a update-policy: m *\n", true},
		{"zone: name: a request-xfr: ::1 NOKEY update-forward: ::1 m\n",
			true},
		{"pattern: name: p allow-update: ::1 BLOCKED\n", true},
		{"pattern: name: p update-policy: m *\n", true},
		{"pattern: name: p update-forward: ::1 m\n", true},
		{"pattern: name: p allow-notify: ::1 m\n", false},
	};
	char text[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct conf *conf;

		snprintf(text, sizeof(text), UPDATE_KEYS "%s", rows[i].text);
		conf = load(text);
		publish(conf);
		assert_int_equal(published()->takes_updates, rows[i].takes);
		conf_destroy(conf);
	}
}

/* Zones by the thousand have the options of few patterns: no octet for them
 * but the reference that each entry has anyway. */
static void
zones_by_the_thousand_share(void **state)
{
	enum { COUNT = 20000, ROOM = COUNT * 64 + 1000 };
	char *text = malloc(ROOM), *at;
	uint64_t octets[2];

	assert_non_null(text);
	for (unsigned round = 0; round < 2; round++) {
		struct conf *conf;

		at = text;
		for (unsigned i = 0; i < 3; i++)
			at += sprintf(at, "pattern: name: p%u zonefile: %%s\n"
				" %s\n", i, round == 0 ? ""
				: "allow-query: 10.0.0.0/8 NOKEY"
				  " allow-query: ::1 NOKEY");
		for (unsigned i = 0; i < COUNT; i++)
			at += sprintf(at, "zone: name: z%05u.example"
				" include-pattern: p%u\n", i, i % 3);
		assert_true(at < text + ROOM);
		store_fixture_fini(&s);
		store_fixture_init(&s, 1);
		conf = load(text);
		publish(conf);
		octets[round] = store_fixture_reclaimed(s.writer);
		conf_destroy(conf);
	}
	assert_in_range(octets[1] - octets[0], 1, 1000);
	free(text);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, open_store, close_store)
	const struct CMUnitTest tests[] = {
		TEST(options_of_the_server_are_published),
		TEST(option_that_is_yes_or_no_is_its_own),
		TEST(defaults_are_those_of_the_manual),
		TEST(pattern_is_found_by_its_name),
		TEST(catalog_options_are_published),
		TEST(elements_for_tls_want_a_certificate),
		TEST(next_loader_publishes_the_same_again),
		TEST(who_may_change_a_zone_is_published),
		TEST(server_takes_updates_if_some_zone_or_pattern_does),
		TEST(zones_by_the_thousand_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
