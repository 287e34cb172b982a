/* test_verify.c - signatures made here verify, anything else does not, and no
 * octets are too strange for a key or a signature. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>

#include "base/verify.h"

#define KEY_ROOM 2500u /* a signature of ML-DSA-44 has 2420 octets */

struct pair {
	enum verify_scheme scheme;
	EVP_PKEY *pkey;
	const EVP_MD *digest;
	size_t side; /* of ECDSA */
	uint8_t key[KEY_ROOM];
	uint8_t exponent[16];
	struct verify_octets octets;
};

static void
pair_read_rsa(struct pair *p)
{
	BIGNUM *n = NULL, *e = NULL;

	assert_int_equal(EVP_PKEY_get_bn_param(p->pkey, "n", &n), 1);
	assert_int_equal(EVP_PKEY_get_bn_param(p->pkey, "e", &e), 1);
	p->octets.key_len = (size_t)BN_bn2bin(n, p->key);
	p->octets.exponent_len = (size_t)BN_bn2bin(e, p->exponent);
	p->octets.exponent = p->exponent;
	BN_free(n);
	BN_free(e);
}

static void
pair_read_ec(struct pair *p)
{
	uint8_t point[200];
	size_t len;

	assert_int_equal(EVP_PKEY_get_octet_string_param(p->pkey,
		OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, point, sizeof(point),
		&len), 1);
	assert_int_equal(point[0], 4);
	memcpy(p->key, point + 1, len - 1);
	p->octets.key_len = len - 1;
	p->side = (len - 1) / 2;
}

static void
pair_make(struct pair *p, enum verify_scheme scheme)
{
	memset(p, 0, sizeof(*p));
	p->scheme = scheme;
	p->octets.key = p->key;
	switch (scheme) {
	case VERIFY_RSA_SHA1:
	case VERIFY_RSA_SHA256:
	case VERIFY_RSA_SHA512:
		p->pkey = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024);
		p->digest = scheme == VERIFY_RSA_SHA1 ? EVP_sha1()
			: scheme == VERIFY_RSA_SHA256 ? EVP_sha256()
			: EVP_sha512();
		pair_read_rsa(p);
		return;
	case VERIFY_ECDSA_P256:
		p->pkey = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
		p->digest = EVP_sha256();
		pair_read_ec(p);
		return;
	case VERIFY_ECDSA_P384:
		p->pkey = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-384");
		p->digest = EVP_sha384();
		pair_read_ec(p);
		return;
	case VERIFY_ED25519:
	case VERIFY_ED448:
	case VERIFY_ML_DSA_44:
		p->pkey = EVP_PKEY_Q_keygen(NULL, NULL,
			scheme == VERIFY_ML_DSA_44 ? "ML-DSA-44"
			: scheme == VERIFY_ED448 ? "ED448" : "ED25519");
		p->octets.key_len = sizeof(p->key);
		assert_int_equal(EVP_PKEY_get_raw_public_key(p->pkey, p->key,
			&p->octets.key_len), 1);
		return;
	}
}

/* In the form of DNSSEC; returns the length. */
static size_t
pair_sign(const struct pair *p, const char *data, uint8_t out[KEY_ROOM])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t len = KEY_ROOM;
	const uint8_t *at = out;
	ECDSA_SIG *sig;

	assert_int_equal(EVP_DigestSignInit(ctx, NULL, p->digest, NULL,
		p->pkey), 1);
	assert_int_equal(EVP_DigestSign(ctx, out, &len,
		(const uint8_t *)data, strlen(data)), 1);
	EVP_MD_CTX_free(ctx);
	if (p->side == 0)
		return len;
	sig = d2i_ECDSA_SIG(NULL, &at, (long)len);
	assert_non_null(sig);
	BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, (int)p->side);
	BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + p->side, (int)p->side);
	ECDSA_SIG_free(sig);
	return 2 * p->side;
}

static bool
verify(struct verify_context *c, const char *data, const uint8_t *signature,
	size_t len)
{
	/* A copy of exact size, for the sanitizer. */
	uint8_t *copy = malloc(len > 0 ? len : 1);
	bool right;

	assert_non_null(copy);
	memcpy(copy, signature, len);
	right = verify_signature(c, (const uint8_t *)data, strlen(data), copy,
		len);
	free(copy);
	return right;
}

static const enum verify_scheme schemes[] = {VERIFY_RSA_SHA1,
	VERIFY_RSA_SHA256, VERIFY_RSA_SHA512, VERIFY_ECDSA_P256,
	VERIFY_ECDSA_P384, VERIFY_ED25519, VERIFY_ED448, VERIFY_ML_DSA_44};
#define SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

/* OpenSSL before 3.5 has no ML-DSA-44, and says so. */
static bool
is_lacking(enum verify_scheme scheme)
{
	static const uint8_t zeros[1312];
	const struct verify_octets octets = {.key = zeros,
		.key_len = sizeof(zeros)};
	struct verify_key *key;
	enum nsd_err err;

	if (scheme != VERIFY_ML_DSA_44)
		return false;
	err = verify_key_create(scheme, &octets, &key);
	assert_int_equal(err == NSD_E_NOT_FOUND,
		OPENSSL_version_major() == 3 && OPENSSL_version_minor() < 5);
	if (err == NSD_OK)
		verify_key_destroy(key);
	return err == NSD_E_NOT_FOUND;
}

/* RFC 5702 section 3, RFC 6605 section 4, RFC 8080 section 4 */
static void
right_signature_verifies_and_no_other(void **state)
{
	for (size_t i = 0; i < SCHEMES; i++) {
		struct pair p, other;
		struct verify_key *key, *other_key;
		struct verify_context *c, *other_c;
		uint8_t sig[KEY_ROOM + 1], again[KEY_ROOM];
		size_t len;

		if (is_lacking(schemes[i]))
			continue;
		pair_make(&p, schemes[i]);
		pair_make(&other, schemes[i]);
		assert_int_equal(verify_key_create(p.scheme, &p.octets, &key),
			NSD_OK);
		assert_int_equal(verify_key_create(p.scheme, &other.octets,
			&other_key), NSD_OK);
		c = verify_context_create(key);
		other_c = verify_context_create(other_key);
		assert_non_null(c);
		assert_non_null(other_c);
		len = pair_sign(&p, "the data", sig);
		sig[len] = 0;
		assert_true(verify(c, "the data", sig, len));
		assert_false(verify(c, "the date", sig, len));
		assert_false(verify(c, "", sig, len));
		assert_false(verify(other_c, "the data", sig, len));
		/* A signature with one octet too many, and cut at each
		 * length. */
		assert_false(verify(c, "the data", sig, len + 1));
		for (size_t cut = 0; cut < len; cut++)
			assert_false(verify(c, "the data", sig, cut));
		for (size_t at = 0; at < len; at++) {
			sig[at] ^= 0x10;
			assert_false(verify(c, "the data", sig, len));
			sig[at] ^= 0x10;
		}
		/* The context still works. */
		assert_true(verify(c, "the data", sig, len));
		len = pair_sign(&p, "", again);
		assert_true(verify(c, "", again, len));
		verify_context_destroy(c);
		verify_context_destroy(other_c);
		verify_key_destroy(key);
		verify_key_destroy(other_key);
		EVP_PKEY_free(p.pkey);
		EVP_PKEY_free(other.pkey);
	}
}

static enum nsd_err
try_key(enum verify_scheme scheme, const struct verify_octets *octets)
{
	struct verify_key *key = NULL;
	enum nsd_err err = verify_key_create(scheme, octets, &key);

	verify_key_destroy(key);
	return err;
}

static void
key_of_wrong_length_is_none(void **state)
{
	for (size_t i = 3; i < SCHEMES; i++) {
		struct pair p;
		uint8_t *exact;

		if (is_lacking(schemes[i]))
			continue;
		pair_make(&p, schemes[i]);
		for (size_t len = 0; len <= p.octets.key_len + 1; len++) {
			struct verify_octets cut = {.key_len = len};

			exact = malloc(len > 0 ? len : 1);
			memcpy(exact, p.key, len);
			cut.key = exact;
			assert_int_equal(try_key(p.scheme, &cut),
				len == p.octets.key_len ? NSD_OK : NSD_E_WIRE);
			free(exact);
		}
		EVP_PKEY_free(p.pkey);
	}
}

static void
point_off_the_curve_is_no_key(void **state)
{
	static const uint8_t zeros[96];
	const struct verify_octets p256 = {zeros, 64, NULL, 0};
	const struct verify_octets p384 = {zeros, 96, NULL, 0};

	assert_int_equal(try_key(VERIFY_ECDSA_P256, &p256), NSD_E_WIRE);
	assert_int_equal(try_key(VERIFY_ECDSA_P384, &p384), NSD_E_WIRE);
}

/* ECDSA with r or s of zero is no signature of anything. */
static void
signature_of_zeros_is_wrong(void **state)
{
	static const uint8_t zeros[512];

	for (size_t i = 0; i < SCHEMES; i++) {
		struct pair p;
		struct verify_key *key;
		struct verify_context *c;

		if (is_lacking(schemes[i]))
			continue;
		pair_make(&p, schemes[i]);
		assert_int_equal(verify_key_create(p.scheme, &p.octets, &key),
			NSD_OK);
		c = verify_context_create(key);
		for (size_t len = 0; len <= sizeof(zeros); len++)
			assert_false(verify(c, "x", zeros, len));
		verify_context_destroy(c);
		verify_key_destroy(key);
		EVP_PKEY_free(p.pkey);
	}
}

/* RFC 3110 sections 2 and 3 */
static void
rsa_keys_have_bounds(void **state)
{
	static uint8_t ones[65535];
	static const struct {
		size_t key_len;
		size_t exponent_len;
		uint8_t first; /* octet of the exponent, the rest is 0xff */
		enum nsd_err err;
	} rows[] = {
		{0, 1, 3, NSD_E_WIRE}, {64, 0, 0, NSD_E_WIRE},
		{63, 1, 3, NSD_E_WIRE}, {64, 1, 3, NSD_OK},
		{512, 1, 3, NSD_OK}, {513, 1, 3, NSD_E_WIRE},
		{65535, 1, 3, NSD_E_WIRE}, {128, 1, 0, NSD_E_WIRE},
		{128, 1, 1, NSD_E_WIRE}, {128, 1, 2, NSD_E_WIRE},
		{128, 8, 0xff, NSD_OK}, {128, 9, 1, NSD_E_WIRE},
		{128, 127, 3, NSD_E_WIRE}, {128, 129, 3, NSD_E_WIRE},
		{128, 65000, 3, NSD_E_WIRE},
	};
	uint8_t *exponent = malloc(65535);

	assert_non_null(exponent);
	memset(ones, 0xff, sizeof(ones));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct verify_octets octets = {ones, rows[i].key_len,
			exponent, rows[i].exponent_len};

		memset(exponent, 0xff, 65535);
		exponent[0] = rows[i].first;
		for (enum verify_scheme s = VERIFY_RSA_SHA1;
			s <= VERIFY_RSA_SHA512; s++)
			assert_int_equal(try_key(s, &octets), rows[i].err);
	}
	free(exponent);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_signature_verifies_and_no_other),
		cmocka_unit_test(key_of_wrong_length_is_none),
		cmocka_unit_test(point_off_the_curve_is_no_key),
		cmocka_unit_test(signature_of_zeros_is_wrong),
		cmocka_unit_test(rsa_keys_have_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
