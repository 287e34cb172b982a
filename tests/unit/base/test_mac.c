/* test_mac.c - HMACs of the RFCs' own test cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mac.h"

static void
expect_hex(const uint8_t *octets, size_t len, const char *hex)
{
	char text[2 * MAC_LEN_MAX + 1] = "";

	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", octets[i]);
	assert_string_equal(text, hex);
}

/* RFC 2202 and RFC 4231: test cases 2, with a key shorter than the hash, and 6,
 * with one longer than a block. */
static void
macs_are_those_of_the_rfcs(void **state)
{
	static const char text2[] = "what do ya want for nothing?";
	static const char text6[] =
		"Test Using Larger Than Block-Size Key - Hash Key First";
	static const struct {
		enum mac_kind kind;
		size_t key_len; /* 0: "Jefe"; else so many octets aa */
		const char *text;
		const char *hex;
	} rows[] = {
		{MAC_HMAC_MD5, 0, text2, "750c783e6ab0b503eaa86e310a5db738"},
		{MAC_HMAC_SHA1, 0, text2,
			"effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
		{MAC_HMAC_SHA224, 0, text2, "a30e01098bc6dbbf45690f3a7e9e6d0f"
			"8bbea2a39e6148008fd05e44"},
		{MAC_HMAC_SHA256, 0, text2, "5bdcc146bf60754e6a042426089575c7"
			"5a003f089d2739839dec58b964ec3843"},
		{MAC_HMAC_SHA384, 0, text2, "af45d2e376484031617f78d2b58a6b1b"
			"9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b32"
			"39ecfab21649"},
		{MAC_HMAC_SHA512, 0, text2, "164b7a7bfcf819e2e395fbe73b56e0a3"
			"87bd64222e831fd610270cd7ea2505549758bf75c05a994a6d03"
			"4f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"},
		{MAC_HMAC_MD5, 80, text6, "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd"},
		{MAC_HMAC_SHA1, 80, text6,
			"aa4ae5e15272d00e95705637ce8a3b55ed402112"},
		{MAC_HMAC_SHA256, 131, text6, "60e431591ee0b67f0d8a26aacbf5b7"
			"7f8e0bc6213728c5140546040f0ee37f54"},
	};
	uint8_t key[131], out[MAC_LEN_MAX];

	memset(key, 0xaa, sizeof(key));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const uint8_t *text = (const uint8_t *)rows[i].text;
		size_t len = strlen(rows[i].text);
		struct mac *mac;

		assert_int_equal(mac_create(rows[i].kind,
			rows[i].key_len > 0 ? key : (const uint8_t *)"Jefe",
			rows[i].key_len > 0 ? rows[i].key_len : 4, &mac),
			NSD_OK);
		/* Twice, and what is begun and not ended is forgotten. */
		for (unsigned turn = 0; turn < 2; turn++) {
			mac_begin(mac);
			mac_add(mac, text, 3);
			mac_begin(mac);
			mac_add(mac, text, len / 2);
			mac_add(mac, text, 0);
			mac_add(mac, text + len / 2, len - len / 2);
			assert_int_equal(mac_end(mac, out), NSD_OK);
			expect_hex(out, mac_len(rows[i].kind), rows[i].hex);
		}
		mac_destroy(mac);
	}
}

static void
a_secret_may_be_empty(void **state)
{
	struct mac *mac;
	uint8_t out[MAC_LEN_MAX];

	assert_int_equal(mac_create(MAC_HMAC_SHA256, NULL, 0, &mac), NSD_OK);
	mac_begin(mac);
	assert_int_equal(mac_end(mac, out), NSD_OK);
	expect_hex(out, 32, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653"
		"c6c712144292c5ad");
	mac_destroy(mac);
	mac_destroy(NULL);
}

static void
macs_are_compared_as_a_whole(void **state)
{
	assert_true(mac_is_equal((const uint8_t *)"abc",
		(const uint8_t *)"abd", 2));
	assert_false(mac_is_equal((const uint8_t *)"abc",
		(const uint8_t *)"abd", 3));
	assert_false(mac_is_equal((const uint8_t *)"bbc",
		(const uint8_t *)"abc", 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(macs_are_those_of_the_rfcs),
		cmocka_unit_test(a_secret_may_be_empty),
		cmocka_unit_test(macs_are_compared_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
