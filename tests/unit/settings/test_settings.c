/* test_settings.c - settings are made, published, shared and let go. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/failing.h"
#include "lib/one_store.h"
#include "lib/table_remove.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/mark.h"
#include "zonedb/settings_edit.h"
#include "zonedb/table_edit.h"

static const uint8_t key_name[] = "\1K\7example";

static uint64_t
reclaimed(void)
{
	return store_fixture_reclaimed(s.writer);
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

	if (expected == NULL) {
		assert_null(octets);
		return;
	}
	assert_int_equal(text->len, strlen(expected));
	assert_memory_equal(octets, expected, text->len);
}

/* Lists of an element each; the last one asks for a key, and one for a
 * certificate. */
static enum nsd_err
make_options(struct settings_edit *edit, uint16_t port, store_ref key,
	store_ref *options)
{
	struct acl_element acl[3];
	const struct update_policy_line policy = {
		.key = key,
		.kind = UPDATE_POLICY_ANY,
		.name = (const uint8_t *)"",
	};
	const struct settings_lists lists = {
		.policies = &policy,
		.policy_count = 1,
		.lists = {[SETTINGS_ALLOW_QUERY] = acl,
			[SETTINGS_ALLOW_NOTIFY] = acl + 1,
			[SETTINGS_NOTIFY] = acl + 2},
		.counts = {[SETTINGS_ALLOW_QUERY] = 1,
			[SETTINGS_ALLOW_NOTIFY] = 1, [SETTINGS_NOTIFY] = 1},
	};
	enum nsd_err err;

	memset(acl, 0, sizeof(acl));
	acl[0].port = port;
	acl[2].needs_key = 1;
	acl[2].key = key;
	err = settings_edit_identity(edit, "tls.example", &acl[1].identity);
	return err != NSD_OK ? err
		: settings_edit_options(edit, &lists, options);
}

/* A pattern with two elements of request-xfr, and one of notify. */
static enum nsd_err
make_pattern(struct settings_edit *edit, const char *name, store_ref options,
	store_ref *pattern)
{
	static const struct settings_texts texts[] = {
		{"192.0.2.1", NULL, NULL}, {"192.0.2.2@53", "k", "t"},
		{"::1", "k", NULL}};
	const struct settings_pattern_setup setup = {.name = name,
		.file = "%s.zone", .options = options, .texts = texts,
		.counts = {2, 1, 0}, .storing = {.ixfr_number = 5}};

	return settings_edit_pattern(edit, &setup, pattern);
}

/* The options of a pattern that is published. */
static store_ref
options_of(const struct settings *settings, unsigned i)
{
	const struct settings_pattern *pattern = store_get(s.view,
		settings_patterns(settings)[i]);

	return pattern->options;
}

/* Settings with a key and two patterns, of which one has no lists. */
static enum nsd_err
publish(uint16_t port, const char *identity)
{
	struct settings_setup setup = {.identity = identity, .version = "",
		.udp4_size = 1400, .tcp_timeout_sec = 7, .refuse_any = true,
		.key_count = 1, .pattern_count = 2};
	store_ref key, options, patterns[2];
	struct settings_edit *edit;
	enum nsd_err err = settings_edit_begin(s.writer, &edit);

	if (err != NSD_OK)
		return err;
	err = settings_edit_key(edit, key_name, MAC_HMAC_SHA256, &key);
	if (err == NSD_OK)
		err = make_options(edit, port, key, &options);
	if (err == NSD_OK)
		err = make_pattern(edit, "a", STORE_NONE, &patterns[0]);
	if (err == NSD_OK)
		err = make_pattern(edit, "b", options, &patterns[1]);
	setup.keys = &key;
	setup.patterns = patterns;
	if (err == NSD_OK)
		err = settings_edit_publish(edit, &setup);
	settings_edit_end(edit);
	return err;
}

/* A zone that says nothing but a number says something, whichever it is. */
static void
each_number_of_a_zone_is_kept(void **state)
{
	struct settings_edit *edit;
	store_ref ref;

	assert_int_equal(settings_edit_begin(s.writer, &edit), NSD_OK);
	for (size_t i = 0; i < sizeof(struct settings_numbers); i++) {
		struct settings_lists lists = {.counts = {0}};

		((uint8_t *)&lists.numbers)[i] = 1;
		assert_int_equal(settings_edit_options(edit, &lists, &ref),
			NSD_OK);
		assert_true(ref != STORE_NONE);
		lists.numbers = (struct settings_numbers){0};
		assert_int_equal(settings_edit_options(edit, &lists, &ref),
			NSD_OK);
		assert_true(ref == STORE_NONE);
	}
	settings_edit_end(edit);
}

/* ---- layout -------------------------------------------------------------- */

static void
defaults_are_there_before_the_first_publish(void **state)
{
	assert_int_equal(published()->udp4_size, 1232);
	assert_int_equal(published()->udp6_size, 1232);
	assert_int_equal(published()->tcp_count, 100);
	assert_int_equal(published()->tcp_timeout_sec, 120);
	assert_int_equal(published()->key_count, 0);
	assert_int_equal(published()->pattern_count, 0);
	expect_text(&published()->identity, NULL);
	expect_text(&published()->version, NULL);
	expect_text(&published()->nsid, NULL);
}

static void
settings_are_read_as_they_were_made(void **state)
{
	const struct settings_options *options;
	const struct settings_key *key;
	const struct acl_element *list;
	uint32_t count;

	assert_int_equal(publish(53, "who"), NSD_OK);
	assert_int_equal(published()->udp4_size, 1400);
	assert_int_equal(published()->udp6_size, 0);
	assert_int_equal(published()->tcp_timeout_sec, 7);
	assert_true(published()->refuse_any);
	assert_false(published()->round_robin);
	expect_text(&published()->identity, "who");
	expect_text(&published()->version, "");
	expect_text(&published()->nsid, NULL);
	assert_int_equal(published()->key_count, 1);
	key = store_get(s.view, settings_keys(published())[0]);
	assert_int_equal(key->name_len, 11);
	assert_memory_equal(key->name, "\1k\7example", 11);
	assert_int_equal(key->algorithm, MAC_HMAC_SHA256);
	assert_int_equal(published()->pattern_count, 2);
	assert_int_equal(options_of(published(), 0), STORE_NONE);
	options = store_get(s.view, options_of(published(), 1));
	list = settings_options_list(options, SETTINGS_ALLOW_QUERY, &count);
	assert_int_equal(count, 1);
	assert_int_equal(list->port, 53);
	(void)settings_options_list(options, SETTINGS_PROVIDE_XFR, &count);
	assert_int_equal(count, 0);
	list = settings_options_list(options, SETTINGS_NOTIFY, &count);
	assert_int_equal(count, 1);
	assert_int_equal(list->key, settings_keys(published())[0]);
	assert_int_equal(update_policy_find(update_policy_get(options),
		list->key, (const uint8_t *)"\1a", (const uint8_t *)"\1a", 1),
		1);
	/* The settings, an element and the policy of the options hold the
	 * key. */
	assert_int_equal(key->refs, 3);
	assert_int_equal(options->refs, 1);
}

static void
expect_texts(const struct settings_pattern *pattern, enum settings_list list,
	uint32_t index, const struct settings_texts *expected)
{
	struct settings_texts texts = settings_pattern_texts(pattern, list,
		index);

	assert_string_equal(texts.spec, expected->spec);
	assert_true((texts.key_name == NULL) == (expected->key_name == NULL));
	if (texts.key_name != NULL)
		assert_string_equal(texts.key_name, expected->key_name);
	assert_true((texts.tls_auth == NULL) == (expected->tls_auth == NULL));
	if (texts.tls_auth != NULL)
		assert_string_equal(texts.tls_auth, expected->tls_auth);
}

static void
pattern_is_found_and_read(void **state)
{
	const struct settings_pattern *pattern;
	store_ref ref;

	assert_int_equal(settings_find_pattern(s.view, "a"), STORE_NONE);
	assert_int_equal(publish(53, "who"), NSD_OK);
	assert_int_equal(settings_find_pattern(s.view, "0"), STORE_NONE);
	assert_int_equal(settings_find_pattern(s.view, "aa"), STORE_NONE);
	assert_int_equal(settings_find_pattern(s.view, "c"), STORE_NONE);
	ref = settings_find_pattern(s.view, "a");
	assert_int_equal(ref, settings_patterns(published())[0]);
	ref = settings_find_pattern(s.view, "b");
	assert_int_equal(ref, settings_patterns(published())[1]);
	pattern = store_get(s.view, ref);
	assert_string_equal(settings_pattern_text(pattern, pattern->name_at),
		"b");
	assert_string_equal(settings_pattern_text(pattern, pattern->file_at),
		"%s.zone");
	assert_int_equal(pattern->storing.ixfr_number, 5);
	expect_texts(pattern, SETTINGS_REQUEST_XFR, 0,
		&(struct settings_texts){"192.0.2.1", NULL, NULL});
	expect_texts(pattern, SETTINGS_REQUEST_XFR, 1,
		&(struct settings_texts){"192.0.2.2@53", "k", "t"});
	expect_texts(pattern, SETTINGS_NOTIFY, 0,
		&(struct settings_texts){"::1", "k", NULL});
	assert_int_equal(pattern->counts[SETTINGS_OUTGOING_INTERFACE
				 - SETTINGS_CLIENT_LISTS],
		0);
}

/* ---- versions ------------------------------------------------------------ */

static void
what_stays_the_same_is_the_same_object(void **state)
{
	store_ref key, options, root;
	uint64_t octets;

	assert_int_equal(publish(53, "who"), NSD_OK);
	octets = reclaimed();
	key = settings_keys(published())[0];
	options = options_of(published(), 1);
	root = store_root(s.view, STORE_ROOT_SETTINGS);
	assert_int_equal(publish(53, "him"), NSD_OK);
	assert_int_not_equal(store_root(s.view, STORE_ROOT_SETTINGS), root);
	assert_int_equal(settings_keys(published())[0], key);
	assert_int_equal(options_of(published(), 1), options);
	assert_int_equal(reclaimed(), octets);
	assert_int_equal(publish(54, "who"), NSD_OK);
	assert_int_equal(settings_keys(published())[0], key);
	assert_int_not_equal(options_of(published(), 1), options);
	assert_int_equal(reclaimed(), octets);
}

static void
zones_of_a_pattern_share_its_options(void **state)
{
	struct zone_setup setups[2] = {{.apex = (const uint8_t *)"\1a"},
		{.apex = (const uint8_t *)"\1b"}};
	const struct settings_options *options;
	struct settings_edit *edit;
	store_ref entries[2], ref;
	uint64_t octets;

	assert_int_equal(table_add(s.writer, setups, 2, entries), NSD_OK);
	octets = reclaimed();
	assert_int_equal(settings_edit_begin(s.writer, &edit), NSD_OK);
	assert_int_equal(make_options(edit, 1, STORE_NONE, &ref), NSD_OK);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(make_options(edit, 1, STORE_NONE,
					 &setups[i].options),
			NSD_OK);
		assert_int_equal(setups[i].options, ref);
		table_set_options(s.writer, entries[i], ref);
	}
	settings_edit_end(edit);
	options = store_get(s.view, ref);
	assert_int_equal(options->refs, 2);
	assert_true(reclaimed() > octets);
	table_set_options(s.writer, entries[0], STORE_NONE);
	assert_int_equal(options->refs, 1);
	table_set_options(s.writer, entries[1], STORE_NONE);
	assert_int_equal(reclaimed(), octets);
}

static void
what_nobody_holds_goes_with_the_edit(void **state)
{
	struct settings_edit *edit;
	uint64_t octets = reclaimed();
	store_ref key, options;

	assert_int_equal(settings_edit_begin(s.writer, &edit), NSD_OK);
	for (uint16_t i = 0; i < 500; i++) {
		assert_int_equal(settings_edit_key(edit, key_name,
					 MAC_HMAC_SHA256, &key),
			NSD_OK);
		assert_int_equal(make_options(edit, i, key, &options),
			NSD_OK);
	}
	settings_edit_end(edit);
	assert_int_equal(reclaimed(), octets);
}

/* A reader keeps the version that it has found until it is quiescent. */
static void
reader_keeps_the_version_it_has_found(void **state)
{
	struct store_reader *reader;
	const struct store_view *view;
	const struct settings *found;

	assert_int_equal(publish(53, "who"), NSD_OK);
	assert_int_equal(store_reader_open(s.store, 0, "test", &reader),
		NSD_OK);
	view = store_reader_view(reader);
	store_reader_online(reader);
	found = settings_get(view);
	for (uint16_t i = 0; i < 50; i++) {
		assert_int_equal(publish(i, "him"), NSD_OK);
		(void)store_reclaim(s.writer);
		assert_memory_equal(settings_read_text(found,
					    &found->identity), "who", 3);
		assert_int_equal(((const struct settings_options *)store_get(
			view, options_of(found, 1)))->acl[0].port, 53);
	}
	store_reader_quiescent(reader);
	found = settings_get(view);
	assert_memory_equal(settings_read_text(found, &found->identity),
		"him", 3);
	store_reader_close(reader);
}

static void
settings_stay_as_they_were_wherever_memory_runs_out(void **state)
{
	enum nsd_err err = NSD_E_MEMORY;
	store_ref root;
	uint64_t octets;
	int n;

	assert_int_equal(publish(53, "who"), NSD_OK);
	root = store_root(s.view, STORE_ROOT_SETTINGS);
	octets = reclaimed();
	for (n = 0; err != NSD_OK; n++) {
		err = FAILING_ONCE(n, publish(54, "him"));
		if (err == NSD_OK)
			break;
		assert_int_equal(err, NSD_E_MEMORY);
		assert_int_equal(store_root(s.view, STORE_ROOT_SETTINGS),
			root);
		assert_int_equal(reclaimed(), octets);
	}
	assert_true(n >= 4);
}

/* ---- a loader dies ------------------------------------------------------- */

/* Published settings stay, with the right holders; unfinished ones, and those
 * just replaced, are swept. */
static void
sweep_keeps_what_is_published_and_no_more(void **state)
{
	struct zone_setup setup = {.apex = (const uint8_t *)"\1c",
		.name = "C", .file = "c"};
	struct settings_options *options;
	struct settings_pattern *pattern;
	struct settings_key *key;
	struct settings_edit *edit;
	struct store_sweep *sweep;
	uint64_t octets, swept;
	store_ref entry, lost;

	assert_int_equal(publish(53, "who"), NSD_OK);
	assert_int_equal(settings_edit_begin(s.writer, &edit), NSD_OK);
	assert_int_equal(make_options(edit, 53,
				 settings_keys(published())[0],
				 &setup.options),
		NSD_OK);
	assert_int_equal(make_pattern(edit, "b", setup.options,
				 &setup.pattern),
		NSD_OK);
	assert_int_equal(table_add(s.writer, &setup, 1, &entry), NSD_OK);
	settings_edit_end(edit);
	octets = reclaimed();
	/* The loader dies in the middle of an edit. */
	assert_non_null(store_alloc(s.heap, sizeof(*options), &lost));
	options = store_edit(s.heap, options_of(published(), 1));
	pattern = store_edit(s.heap, settings_patterns(published())[1]);
	key = store_edit(s.heap, settings_keys(published())[0]);
	assert_int_equal(options->refs, 2);
	options->refs++;
	pattern->refs++;
	key->refs += 2;
	assert_int_equal(store_sweep_begin(s.writer, &sweep), NSD_OK);
	mark_roots(s.writer, sweep);
	assert_int_equal(store_sweep_end(sweep, &swept), NSD_OK);
	assert_true(swept > 0);
	assert_int_equal(reclaimed(), octets);
	assert_int_equal(options->refs, 2);
	assert_int_equal(pattern->refs, 2);
	assert_int_equal(key->refs, 3);
	expect_text(&published()->identity, "who");
	assert_int_equal(table_remove(s.writer, setup.apex), NSD_OK);
	assert_int_equal(options->refs, 1);
	assert_int_equal(pattern->refs, 1);
}

/* A reference that leads out of the store is told of, and not followed. */
static void
damaged_settings_are_found_by_the_sweep(void **state)
{
	struct store_sweep *sweep;
	struct settings *settings;
	uint64_t swept;

	assert_int_equal(publish(53, "who"), NSD_OK);
	settings = store_edit(s.heap,
		store_root(s.view, STORE_ROOT_SETTINGS));
	for (unsigned i = 0; i < 3; i++) {
		struct settings was = *settings;
		store_ref key = settings->refs[0];

		if (i == 0)
			settings->refs[0] = 0x7fffffff;
		else if (i == 1)
			settings->pattern_count = 0x7fffffff;
		else
			settings->len = 0x7fffffff;
		assert_int_equal(store_sweep_begin(s.writer, &sweep), NSD_OK);
		mark_roots(s.writer, sweep);
		assert_int_equal(store_sweep_end(sweep, &swept), NSD_E_BUG);
		*settings = was;
		settings->refs[0] = key;
	}
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, open_store, close_store)
	const struct CMUnitTest tests[] = {
		TEST(defaults_are_there_before_the_first_publish),
		TEST(each_number_of_a_zone_is_kept),
		TEST(settings_are_read_as_they_were_made),
		TEST(pattern_is_found_and_read),
		TEST(what_stays_the_same_is_the_same_object),
		TEST(zones_of_a_pattern_share_its_options),
		TEST(what_nobody_holds_goes_with_the_edit),
		TEST(reader_keeps_the_version_it_has_found),
		TEST(settings_stay_as_they_were_wherever_memory_runs_out),
		TEST(sweep_keeps_what_is_published_and_no_more),
		TEST(damaged_settings_are_found_by_the_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
