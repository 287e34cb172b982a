/* test_xfrd_client_update_check.c - UPDATEs of clients that workers pass on: a
 * worker that was taken over says what it likes, but has no keys. */
#include "config.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/octets.h"
#include "dns/rrtype.h"
#include "dns/tsig.h"
#include "fixture.h"
#include "xfrd/xfrd_client_updates.h"

#define CONF \
	"key: name: k algorithm: hmac-sha256 secret: a2traw==\n"             \
	"key: name: acme algorithm: hmac-sha256 secret: YWFhYWE=\n"          \
	"zone: name: c allow-update: 192.0.2.0/24 k\n"                       \
	"  allow-update: 192.0.2.66 BLOCKED\n"                               \
	"  allow-update: 192.0.2.7 NOKEY\n"                                  \
	"  update-policy: acme _acme-challenge.* TXT\n"                      \
	"zone: name: d\n"                                                    \
	"zone: name: e request-xfr: 192.0.2.9 NOKEY\n"                       \
	"  update-forward: 192.0.2.1 NOKEY\n"                                \
	"  update-forward: 192.0.2.2 k\n"                                    \
	"  update-forward: 192.0.2.3 BLOCKED\n"

/* A request that is made, and what becomes of it. */
static struct {
	struct client_update *update;
	struct client_update_end end;
} made;

/* ---- helpers ------------------------------------------------------------- */

/* Makes a request for a zone: adds a record of a type to a name in it, which is
 * a label. */
static void
make(const char *zone, const char *from, const char *label, uint16_t type)
{
	struct client_update *update = made.update;
	uint8_t *m = update->message;
	size_t len = MESSAGE_HEADER_LEN;

	memset(update, 0, sizeof(*update));
	((struct sockaddr_in *)&update->from)->sin_family = AF_INET;
	((struct sockaddr_in *)&update->from)->sin_port = htons(1053);
	assert_int_equal(inet_pton(AF_INET, from,
		&((struct sockaddr_in *)&update->from)->sin_addr), 1);
	memset(m, 0, MESSAGE_HEADER_LEN);
	octets_put_u16(m + MESSAGE_FLAGS, OPCODE_UPDATE << 11);
	octets_put_u16(m + MESSAGE_QDCOUNT, 1);
	octets_put_u16(m + MESSAGE_NSCOUNT, 1);
	m[len++] = 1;
	m[len++] = (uint8_t)*zone;
	m[len++] = 0;
	octets_put_u16(m + len, TYPE_SOA);
	octets_put_u16(m + len + 2, CLASS_IN);
	len += 4;
	m[len++] = (uint8_t)strlen(label);
	memcpy(m + len, label, strlen(label));
	len += strlen(label);
	octets_put_u16(m + len, 0xc000 | MESSAGE_HEADER_LEN);
	octets_put_u16(m + len + 2, type);
	octets_put_u16(m + len + 4, CLASS_IN);
	octets_put_u32(m + len + 6, 60);
	octets_put_u16(m + len + 10, 0);
	update->len = len + 12;
}

/* Signs it, in the name of a key, with a secret, some seconds ago. */
static void
sign(const char *name, const char *secret, uint64_t ago_sec)
{
	const struct tsig_stamp stamp = {
		.time_sec = (uint64_t)time(NULL) - ago_sec,
		.fudge_sec = TSIG_FUDGE_SEC,
	};
	struct tsig_key key = {.kind = MAC_HMAC_SHA256};
	struct tsig_chain chain;

	key.name[0] = (uint8_t)strlen(name);
	memcpy(key.name + 1, name, strlen(name));
	assert_int_equal(mac_create(key.kind, (const uint8_t *)secret,
		strlen(secret), &key.mac), NSD_OK);
	tsig_begin(&chain, &key);
	assert_int_equal(tsig_sign(&chain, made.update->message,
		&made.update->len, 2000, &stamp), NSD_OK);
	mac_destroy(key.mac);
}

/* True if the request is allowed, or passed on. Else made.end says why not. */
static bool
check(void)
{
	struct client_update *update = made.update;
	struct xfrd_options options;
	bool is_allowed, forwards;

	assert_true(xfrd_client_update_read_zone(update->message, update->len,
		update->apex));
	options = xfrd_options_find(&fixture.xfrd, update->apex);
	forwards = settings_options_forward_updates(
		xfrd_options_lists(&options));
	is_allowed = forwards ? xfrd_client_update_check_forward(
			&fixture.xfrd, &options, update, &made.end)
		: xfrd_client_update_check(&fixture.xfrd, &options, update,
			&made.end);
	xfrd_read_end(&fixture.xfrd);
	return is_allowed;
}

static void
assert_refused(enum rcode rcode, const char *why)
{
	assert_false(check());
	assert_int_equal(made.end.rcode, rcode);
	assert_string_equal(made.end.why, why);
}

static int
begin(void **state)
{
	struct conf *conf;
	struct key_handle handle;

	(void)fixture_begin(state);
	fixture_publish(CONF);
	conf = fixture.server.conf;
	assert_int_equal(key_store_create(2, 100, &fixture.server.key_store),
		NSD_OK);
	for (uint32_t i = 0; i < conf->key_count; i++) {
		struct conf_key *key = (struct conf_key *)conf->keys[i];

		assert_int_equal(key_store_add(fixture.server.key_store,
			key->secret_data, key->secret_len, &handle), NSD_OK);
		key->handle = handle;
	}
	fixture_republish();
	fixture_open();
	made.update = malloc(sizeof(*made.update) + 2000);
	assert_non_null(made.update);
	return 0;
}

static int
end(void **state)
{
	free(made.update);
	xfrd_client_update_drop_keys(&fixture.xfrd);
	fixture_close();
	key_store_destroy(fixture.server.key_store);
	return fixture_end(state);
}

/* ---- tests --------------------------------------------------------------- */

#define SIGNATURE "the signature is not right"
#define NOBODY "neither allow-update nor update-policy allows it"

static void
request_signed_by_its_key_is_allowed(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		make("c", "192.0.2.1", "www", TYPE_A);
		sign("k", "kkkk", 0);
		assert_true(check());
		assert_memory_equal(made.update->key, "\1k", 3);
	}
	/* The address counts, too. */
	make("c", "198.51.100.1", "www", TYPE_A);
	sign("k", "kkkk", 0);
	assert_refused(RCODE_REFUSED, NOBODY);
	make("c", "192.0.2.66", "www", TYPE_A);
	sign("k", "kkkk", 0);
	assert_refused(RCODE_REFUSED, NOBODY);
}

static void
request_that_is_not_signed_is_not_forged(void **state)
{
	make("c", "192.0.2.1", "www", TYPE_A);
	assert_refused(RCODE_REFUSED, NOBODY);
	make("c", "192.0.2.1", "www", TYPE_A);
	sign("k", "guess", 0);
	assert_refused(RCODE_REFUSED, SIGNATURE);
	make("c", "192.0.2.1", "www", TYPE_A);
	sign("absent", "kkkk", 0);
	assert_refused(RCODE_REFUSED, SIGNATURE);
	/* The key of another, with the right name. */
	make("c", "192.0.2.1", "www", TYPE_A);
	sign("k", "aaaaa", 0);
	assert_refused(RCODE_REFUSED, SIGNATURE);
}

static void
request_that_was_altered_is_refused(void **state)
{
	size_t len;

	make("c", "192.0.2.1", "www", TYPE_A);
	sign("k", "kkkk", 0);
	len = made.update->len;
	for (size_t i = MESSAGE_HEADER_LEN; i < len; i++) {
		if (i < MESSAGE_HEADER_LEN + 7)
			continue; /* zone section */
		make("c", "192.0.2.1", "www", TYPE_A);
		sign("k", "kkkk", 0);
		made.update->message[i] ^= 1;
		/* Names of keys count without case: no octet here does. */
		assert_false(check());
		assert_int_equal(made.end.rcode, RCODE_REFUSED);
	}
}

static void
request_that_waited_is_allowed_an_old_one_is_not(void **state)
{
	make("c", "192.0.2.1", "www", TYPE_A);
	sign("k", "kkkk", TSIG_FUDGE_SEC + 10);
	assert_true(check());
	make("c", "192.0.2.1", "www", TYPE_A);
	sign("k", "kkkk", TSIG_FUDGE_SEC + 60);
	assert_refused(RCODE_REFUSED, SIGNATURE);
	make("c", "192.0.2.1", "www", TYPE_A);
	sign("k", "kkkk", -(uint64_t)(TSIG_FUDGE_SEC + 60));
	assert_refused(RCODE_REFUSED, SIGNATURE);
}

static void
policy_allows_what_it_says(void **state)
{
	make("c", "198.51.100.1", "_acme-challenge", TYPE_TXT);
	sign("acme", "aaaaa", 0);
	assert_true(check());
	make("c", "198.51.100.1", "_acme-challenge", TYPE_A);
	sign("acme", "aaaaa", 0);
	assert_refused(RCODE_REFUSED, NOBODY);
	make("c", "198.51.100.1", "www", TYPE_TXT);
	sign("acme", "aaaaa", 0);
	assert_refused(RCODE_REFUSED, NOBODY);
	make("c", "198.51.100.1", "_acme-challenge", TYPE_TXT);
	sign("k", "kkkk", 0);
	assert_refused(RCODE_REFUSED, NOBODY);
	make("c", "198.51.100.1", "_acme-challenge", TYPE_TXT);
	assert_refused(RCODE_REFUSED, NOBODY);
	make("c", "192.0.2.66", "_acme-challenge", TYPE_TXT);
	sign("acme", "aaaaa", 0);
	assert_refused(RCODE_REFUSED, NOBODY);
}

static void
address_is_enough_without_a_key(void **state)
{
	make("c", "192.0.2.7", "www", TYPE_A);
	assert_true(check());
	assert_int_equal(made.update->key[0], 0);
}

static void
zone_that_takes_none_refuses(void **state)
{
	make("d", "192.0.2.7", "www", TYPE_A);
	assert_refused(RCODE_REFUSED, "the zone takes no updates any more");
	make("z", "192.0.2.7", "www", TYPE_A);
	assert_refused(RCODE_NOTAUTH, "the zone is not here any more");
}

static void
request_is_passed_on_by_update_forward(void **state)
{
	make("e", "192.0.2.1", "www", TYPE_A);
	assert_true(check());
	make("e", "192.0.2.1", "www", TYPE_A);
	sign("absent", "x", 0);
	assert_true(check());
	make("e", "192.0.2.1", "www", TYPE_A);
	sign("k", "kkkk", 0);
	assert_true(check());
	make("e", "192.0.2.2", "www", TYPE_A);
	sign("k", "kkkk", 0);
	assert_true(check());
	make("e", "192.0.2.2", "www", TYPE_A);
	sign("k", "x", 0);
	assert_refused(RCODE_REFUSED, "update-forward does not allow it");
	make("e", "192.0.2.2", "www", TYPE_A);
	assert_refused(RCODE_REFUSED, "update-forward does not allow it");
	make("e", "192.0.2.3", "www", TYPE_A);
	sign("k", "kkkk", 0);
	assert_refused(RCODE_REFUSED, "update-forward does not allow it");
}

static void
message_is_an_update_of_a_zone(void **state)
{
	uint8_t apex[NAME_MAX_LEN];
	struct client_update *update = made.update;
	uint8_t *m = update->message;

	make("C", "192.0.2.1", "www", TYPE_A);
	assert_true(xfrd_client_update_read_zone(m, update->len, apex));
	assert_memory_equal(apex, "\1c", 3);
	for (size_t len = 0; len < MESSAGE_HEADER_LEN + 7; len++)
		assert_false(xfrd_client_update_read_zone(m, len, apex));
	m[MESSAGE_FLAGS] ^= 0x80;
	assert_false(xfrd_client_update_read_zone(m, update->len, apex));
	m[MESSAGE_FLAGS] = OPCODE_NOTIFY << 3;
	assert_false(xfrd_client_update_read_zone(m, update->len, apex));
	m[MESSAGE_FLAGS] = OPCODE_UPDATE << 3;
	m[MESSAGE_QDCOUNT + 1] = 2;
	assert_false(xfrd_client_update_read_zone(m, update->len, apex));
	m[MESSAGE_QDCOUNT + 1] = 1;
	m[MESSAGE_HEADER_LEN + 4] = TYPE_A;
	assert_false(xfrd_client_update_read_zone(m, update->len, apex));
}

/* Messages that are cut anywhere, and whose counts say more. */
static void
message_that_is_cut_is_refused(void **state)
{
	size_t whole;

	make("c", "192.0.2.1", "www", TYPE_A);
	sign("k", "kkkk", 0);
	whole = made.update->len;
	for (size_t len = MESSAGE_HEADER_LEN + 7; len < whole; len++) {
		made.update->len = len;
		assert_false(check());
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(request_signed_by_its_key_is_allowed),
		TEST(request_that_is_not_signed_is_not_forged),
		TEST(request_that_was_altered_is_refused),
		TEST(request_that_waited_is_allowed_an_old_one_is_not),
		TEST(policy_allows_what_it_says),
		TEST(address_is_enough_without_a_key),
		TEST(zone_that_takes_none_refuses),
		TEST(request_is_passed_on_by_update_forward),
		TEST(message_is_an_update_of_a_zone),
		TEST(message_that_is_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
