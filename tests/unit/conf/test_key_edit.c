/* test_key_edit.c - TSIG keys come, go and change while the server runs, and
 * where their secrets are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/compare.h"
#include "conf/key_edit.h"
#include "conf/parser.h"
#include "conf/secret_keys.h"
#include "reader.h"

#define KEYS "key: name: m secret: AAAA\nkey: name: k secret: BBBB\n"
#define LISTS(key) "\nprovide-xfr: 192.0.2.1 " key \
	"\nprovide-xfr: 192.0.2.9 BLOCKED\nnotify: 192.0.2.2 NOKEY" \
	"\nrequest-xfr: 192.0.2.3 " key "\nallow-notify: 192.0.2.4 NOKEY" \
	"\nallow-query: 192.0.2.5 NOKEY\n"

static const struct conf_zone *
zone(const struct conf *conf, const char *name)
{
	const struct conf_zone *found = conf_find_zone_text(conf, name);

	assert_non_null(found);
	return found;
}

static enum nsd_err
edit(struct conf *conf, enum key_edit_what what, const char *key,
	const char *other)
{
	const struct key_edit e = {
		.what = what,
		.key = key,
		.algorithm = other,
		.zone = other,
		.handle = {7, 9},
	};
	enum nsd_err checked = key_edit_check(conf, &e);
	enum nsd_err err = key_edit_apply(conf, &e);

	assert_int_equal(checked, err);
	return err;
}

static void
check_order(const struct conf *conf, const char *names)
{
	assert_int_equal(conf->key_count, strlen(names));
	for (size_t i = 0; i < conf->key_count; i++) {
		assert_int_equal(conf->keys[i]->name[0], names[i]);
		assert_ptr_equal(conf_find_key(conf, conf->keys[i]->name),
			conf->keys[i]);
	}
}

static void
keys_come_and_go_in_order(void **state)
{
	struct conf *conf = reader_accept(KEYS);
	const struct conf_key *key;

	assert_int_equal(edit(conf, KEY_EDIT_ADD, "z", "sha512"), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "a", "hmac-md5"), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "l", "sha1"), NSD_OK);
	check_order(conf, "aklmz");
	key = conf_find_key(conf, "z");
	assert_string_equal(key->algorithm_name, "hmac-sha512");
	assert_memory_equal(key->wire, "\1z", 3);
	assert_int_equal(key->handle.id, 9);
	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "l", ""), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "m", ""), NSD_OK);
	check_order(conf, "akz");
	assert_null(conf_find_key(conf, "m"));
	assert_int_equal(edit(conf, KEY_EDIT_SECRET, "k", ""), NSD_OK);
	assert_int_equal(conf_find_key(conf, "k")->handle.at, 7);
	conf_destroy(conf);
}

static void
wrong_edits_change_nothing(void **state)
{
	struct conf *conf = reader_accept(KEYS "zone: name: z zonefile: f"
		LISTS("k"));

	assert_int_equal(edit(conf, KEY_EDIT_ADD, "k", "sha1"), NSD_E_DENIED);
	/* Names that are equal in DNS are the same key. */
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "K", "sha1"), NSD_E_DENIED);
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "k.", "sha1"), NSD_E_DENIED);
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "\\107", "sha1"),
		NSD_E_DENIED);
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "n", "sha3"), NSD_E_LIMIT);
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "a..b", "sha1"),
		NSD_E_SYNTAX);
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "", "sha1"), NSD_E_SYNTAX);
	assert_int_equal(edit(conf, KEY_EDIT_SECRET, "n", ""),
		NSD_E_NOT_FOUND);
	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "n", ""),
		NSD_E_NOT_FOUND);
	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "k", ""), NSD_E_DENIED);
	assert_string_equal(key_edit_find_user(conf, conf_find_key(conf,
				    "k"), NULL)->name, "z");
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "k", "y"), NSD_E_ZONE);
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "n", "z"),
		NSD_E_NOT_FOUND);
	check_order(conf, "km");
	conf_destroy(conf);
}

/* Which keys its lists have; - is none. */
static void
check_keys(const struct conf_zone *z, const char *keys)
{
	const struct conf_pattern *o = z->options;
	const struct conf_acls *const lists[] = {&o->provide_xfr, &o->notify,
		&o->request_xfr, &o->allow_notify, &o->allow_query};

	for (unsigned l = 0; l < sizeof(lists) / sizeof(*lists); l++)
		for (uint32_t i = 0; i < lists[l]->count; i++) {
			const struct conf_acl *acl = &lists[l]->items[i];

			assert_int_equal(acl->key != NULL ? acl->key->name[0]
							  : '-', *keys);
			assert_int_equal(acl->key_name != NULL
					? acl->key_name[0] : '-', *keys++);
		}
	assert_int_equal(*keys, '\0');
}

static void
zone_alone_gets_the_key(void **state)
{
	struct conf *conf = reader_accept(KEYS "pattern: name: p zonefile: f"
		LISTS("k") "zone: name: a include-pattern: p\n"
		"zone: name: b include-pattern: p\n");
	const struct conf_zone *added;

	assert_int_equal(conf_add_zone(conf, "c", "p", &added), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "m", "b"), NSD_OK);
	check_keys(zone(conf, "a"), "k--k--");
	/* BLOCKED elements and allow-query do not change. */
	check_keys(zone(conf, "b"), "m-mmm-");
	check_keys(added, "k--k--");
	conf_destroy(conf);
}

static void
zones_with_the_same_key_share(void **state)
{
	struct conf *conf = reader_accept(KEYS "pattern: name: p zonefile: f"
		LISTS("k") "zone: name: a include-pattern: p\n"
		"zone: name: b include-pattern: p\n");
	const struct conf_pattern *first;

	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "m", "a"), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "m", "b"), NSD_OK);
	first = zone(conf, "a")->options;
	assert_ptr_equal(first, zone(conf, "b")->options);
	/* Back and forth takes no memory each time. */
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "k", "a"), NSD_OK);
	assert_ptr_not_equal(first, zone(conf, "a")->options);
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "m", "a"), NSD_OK);
	assert_ptr_equal(first, zone(conf, "a")->options);
	conf_destroy(conf);
}

static void
key_of_a_zone_stays_until_it_has_another(void **state)
{
	struct conf *conf = reader_accept(KEYS "zone: name: z zonefile: f"
		LISTS("k"));

	assert_int_equal(edit(conf, KEY_EDIT_ADD, "n", "sha1"), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "n", "z"), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "n", ""), NSD_E_DENIED);
	/* A key that no zone has any more can be removed. */
	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "k", ""), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "m", "z"), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "n", ""), NSD_OK);
	/* A new key with the same name. */
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "n", "sha256"), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "n", "z"), NSD_OK);
	assert_ptr_equal(zone(conf, "z")->options->notify.items[0].key,
		conf_find_key(conf, "n"));
	conf_destroy(conf);
}

/* A key comes, a zone gets it, and another one again, and it goes. */
static void
go_round(struct conf *conf, const char *key)
{
	assert_int_equal(edit(conf, KEY_EDIT_ADD, key, "sha256"), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, key, "z"), NSD_OK);
	check_keys(zone(conf, "z"), "r-rrr-");
	assert_string_equal(zone(conf, "z")->options->notify.items[0].key_name,
		key);
	assert_int_equal(edit(conf, KEY_EDIT_ASSOC, "m", "z"), NSD_OK);
	check_keys(zone(conf, "z"), "m-mmm-");
	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, key, ""), NSD_OK);
	check_keys(zone(conf, "z"), "m-mmm-");
}

static void
keys_that_come_and_go_take_no_memory(void **state)
{
	struct conf *conf = reader_accept(KEYS "zone: name: z zonefile: f"
		LISTS("k"));
	struct conf_assoc *spare;
	char key[64];

	for (unsigned i = 0; i < 3000; i++) {
		snprintf(key, sizeof(key), "r%.*s%u", (int)i % 40,
			"ooooooooooooooooooooooooooooooooooooooooooo", i);
		go_round(conf, key);
	}
	/* One spare entry serves all 3000 keys; another is m's. */
	spare = ((struct conf_owner *)conf)->spare_assocs;
	assert_non_null(spare);
	assert_null(spare->next);
	assert_null(((struct conf_owner *)conf)->assocs->next);
	conf_destroy(conf);
}

/* A removed key leaves no trace in a pattern. */
static void
pattern_forgets_a_key_that_goes(void **state)
{
	struct conf *conf = reader_accept(KEYS "pattern: name: p zonefile: f"
		LISTS("k"));
	const struct conf_zone *added;

	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "k", ""), NSD_OK);
	assert_int_equal(conf_add_zone(conf, "c", "p", &added), NSD_OK);
	assert_null(added->options->provide_xfr.items[0].key);
	assert_string_equal(added->options->provide_xfr.items[0].key_name,
		"k");
	conf_destroy(conf);
}

/* A key of this name that comes later is in all places where the other was,
 * also of zones that came meanwhile. */
static void
pattern_finds_a_key_that_comes_back(void **state)
{
	struct conf *conf = reader_accept(KEYS "pattern: name: p zonefile: f"
		LISTS("k") "update-forward: ::1 k\n"
		"pattern: name: u zonefile: g allow-update: ::1 k\n"
		"update-policy: k self A\nupdate-policy: m self TXT\n");
	const struct conf_zone *p, *u, *late;
	const struct conf_key *key;

	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "k", ""), NSD_OK);
	assert_int_equal(conf_add_zone(conf, "c", "p", &p), NSD_OK);
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "n", "sha256"), NSD_OK);
	assert_null(p->options->provide_xfr.items[0].key);
	assert_int_equal(edit(conf, KEY_EDIT_ADD, "k", "sha256"), NSD_OK);
	assert_int_equal(conf_add_zone(conf, "d", "p", &late), NSD_OK);
	assert_int_equal(conf_add_zone(conf, "u", "u", &u), NSD_OK);
	key = conf_find_key(conf, "k");
	assert_non_null(key);
	check_keys(p, "k--k--");
	check_keys(late, "k--k--");
	assert_ptr_equal(p->options->request_xfr.items[0].key, key);
	assert_ptr_equal(p->options->update_forward.items[0].key, key);
	assert_ptr_equal(u->options->allow_update.items[0].key, key);
	assert_ptr_equal(u->options->update_policy.items[0].key, key);
	assert_string_equal(u->options->update_policy.items[1].key->name, "m");
	assert_ptr_equal(key_edit_find_user(conf, key, NULL), p);
	assert_ptr_equal(key_edit_find_user(conf, key, p), late);
	assert_ptr_equal(key_edit_find_user(conf, key, late), u);
	assert_null(key_edit_find_user(conf, key, u));
	assert_int_equal(edit(conf, KEY_EDIT_REMOVE, "k", ""), NSD_E_DENIED);
	conf_destroy(conf);
}

/* ---- secrets ------------------------------------------------------------- */

static void
secrets_that_stay_keep_their_place(void **state)
{
	struct conf *old = reader_accept(KEYS);
	struct conf *new = reader_accept("key: name: k secret: BBBB\n"
		"key: name: m secret: CCCC\nkey: name: n secret: AAAA\n");
	struct conf_difference d;
	struct key_handle k, m;
	struct key_store *key_store;
	size_t len;

	assert_int_equal(secret_keys_create(old, &key_store), NSD_OK);
	assert_int_equal(secret_keys_move(old, NULL, key_store), NSD_OK);
	k = conf_find_key(old, "k")->handle;
	m = conf_find_key(old, "m")->handle;
	assert_int_equal(secret_keys_move(new, old, key_store), NSD_OK);
	/* The texts are wiped: m has another secret by its place. n is new. */
	conf_compare(old, new, &d);
	assert_int_equal(d.keys, 2);
	conf_compare(old, old, &d);
	assert_int_equal(d.keys, 0);
	assert_true(key_handle_is_same(k, conf_find_key(new, "k")->handle));
	assert_false(key_handle_is_same(m, conf_find_key(new, "m")->handle));
	/* The new configuration is discarded: only the secrets that it added
	 * go. */
	secret_keys_remove(new, old, key_store);
	assert_non_null(key_store_get(key_store, k, &len));
	assert_non_null(key_store_get(key_store, m, &len));
	assert_null(key_store_get(key_store, conf_find_key(new, "m")->handle,
		&len));
	assert_null(key_store_get(key_store, conf_find_key(new, "n")->handle,
		&len));
	secret_keys_sweep(old, key_store);
	assert_non_null(key_store_get(key_store, m, &len));
	secret_keys_sweep(new, key_store);
	assert_null(key_store_get(key_store, m, &len));
	assert_non_null(key_store_get(key_store, k, &len));
	conf_destroy(old);
	conf_destroy(new);
	key_store_destroy(key_store);
}

static void
secrets_are_decoded_from_base64(void **state)
{
	uint32_t len;
	uint8_t *secret = key_edit_decode("AAECAw==", &len);

	assert_non_null(secret);
	assert_int_equal(len, 4);
	assert_memory_equal(secret, "\0\1\2\3", 4);
	free(secret);
	assert_null(key_edit_decode("AAECAw=", &len));
	assert_null(key_edit_decode("%%%%", &len));
	assert_null(key_edit_decode("", &len));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_come_and_go_in_order),
		cmocka_unit_test(wrong_edits_change_nothing),
		cmocka_unit_test(zone_alone_gets_the_key),
		cmocka_unit_test(zones_with_the_same_key_share),
		cmocka_unit_test(key_of_a_zone_stays_until_it_has_another),
		cmocka_unit_test(keys_that_come_and_go_take_no_memory),
		cmocka_unit_test(pattern_forgets_a_key_that_goes),
		cmocka_unit_test(pattern_finds_a_key_that_comes_back),
		cmocka_unit_test(secrets_that_stay_keep_their_place),
		cmocka_unit_test(secrets_are_decoded_from_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
