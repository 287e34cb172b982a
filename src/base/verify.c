/* verify.c - public-key signatures checked by OpenSSL's EVP. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "base/verify.h"

#define EC_SIDE_MAX 48u /* octets of a coordinate, P-384 */
#define ECDSA_DER_MAX (2 * (EC_SIDE_MAX + 1 + 2) + 3)

struct verify_key {
	enum verify_scheme scheme;
	EVP_PKEY *pkey;
};

struct verify_context {
	const struct verify_key *key;
	EVP_MD_CTX *fresh; /* ready for data; copied to used each time */
	EVP_MD_CTX *used;
};

/* The parameters of the schemes. */
static const struct {
	const char *type;
	const char *group;
	const EVP_MD *(*digest)(void); /* NULL: in the scheme itself */
	size_t len; /* octets of an ECDSA coordinate or of a raw key */
	int raw;    /* EVP_PKEY id of schemes with raw keys, or 0: by type */
} schemes[] = {
	[VERIFY_RSA_SHA1] = {"RSA", NULL, EVP_sha1, 0, 0},
	[VERIFY_RSA_SHA256] = {"RSA", NULL, EVP_sha256, 0, 0},
	[VERIFY_RSA_SHA512] = {"RSA", NULL, EVP_sha512, 0, 0},
	[VERIFY_ECDSA_P256] = {"EC", "prime256v1", EVP_sha256, 32, 0},
	[VERIFY_ECDSA_P384] = {"EC", "secp384r1", EVP_sha384, 48, 0},
	[VERIFY_ED25519] = {NULL, NULL, NULL, 32, EVP_PKEY_ED25519},
	[VERIFY_ED448] = {NULL, NULL, NULL, 57, EVP_PKEY_ED448},
	[VERIFY_ML_DSA_44] = {"ML-DSA-44", NULL, NULL, 1312, 0},
};

static EVP_PKEY *
pkey_from_params(const char *type, OSSL_PARAM_BLD *build)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *pkey = NULL;

	if (params == NULL || ctx == NULL || EVP_PKEY_fromdata_init(ctx) != 1
		|| EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params)
			!= 1)
		pkey = NULL;
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return pkey;
}

/* No signer has a key with an exponent of 1 (any octets would be a signature)
 * or with an even one (it has no inverse). */
static bool
rsa_is_sane(const BIGNUM *n, const BIGNUM *e)
{
	unsigned bits = (unsigned)BN_num_bits(n);

	return bits >= VERIFY_RSA_BITS_MIN && bits <= VERIFY_RSA_BITS_MAX
		&& BN_num_bits(e) <= VERIFY_RSA_EXPONENT_BITS_MAX
		&& BN_is_odd(n) && BN_is_odd(e) && !BN_is_one(e)
		&& BN_cmp(e, n) < 0;
}

static EVP_PKEY *
pkey_from_rsa(const struct verify_octets *o)
{
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	BIGNUM *n = NULL, *e = NULL;
	EVP_PKEY *pkey = NULL;

	if (o->key_len <= VERIFY_RSA_BITS_MAX / 8
		&& o->exponent_len <= VERIFY_RSA_BITS_MAX / 8) {
		n = BN_bin2bn(o->key, (int)o->key_len, NULL);
		e = BN_bin2bn(o->exponent, (int)o->exponent_len, NULL);
	}
	if (build != NULL && n != NULL && e != NULL && rsa_is_sane(n, e)
		&& OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) == 1
		&& OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e)
			== 1)
		pkey = pkey_from_params("RSA", build);
	OSSL_PARAM_BLD_free(build);
	BN_free(n);
	BN_free(e);
	return pkey;
}

static EVP_PKEY *
pkey_from_ec(enum verify_scheme scheme, const struct verify_octets *o)
{
	OSSL_PARAM_BLD *build;
	uint8_t point[1 + 2 * EC_SIDE_MAX];
	EVP_PKEY *pkey = NULL;

	if (o->key_len != 2 * schemes[scheme].len)
		return NULL;
	point[0] = POINT_CONVERSION_UNCOMPRESSED;
	memcpy(point + 1, o->key, o->key_len);
	build = OSSL_PARAM_BLD_new();
	if (build != NULL
		&& OSSL_PARAM_BLD_push_utf8_string(build,
			   OSSL_PKEY_PARAM_GROUP_NAME, schemes[scheme].group, 0)
			== 1
		&& OSSL_PARAM_BLD_push_octet_string(build,
			   OSSL_PKEY_PARAM_PUB_KEY, point, 1 + o->key_len)
			== 1)
		pkey = pkey_from_params("EC", build);
	OSSL_PARAM_BLD_free(build);
	return pkey;
}

static bool
scheme_is_offered(enum verify_scheme scheme)
{
	EVP_PKEY_CTX *ctx = schemes[scheme].raw != 0
		? EVP_PKEY_CTX_new_id(schemes[scheme].raw, NULL)
		: EVP_PKEY_CTX_new_from_name(NULL, schemes[scheme].type, NULL);
	bool offered = ctx != NULL;

	EVP_PKEY_CTX_free(ctx);
	return offered;
}

enum nsd_err
verify_key_create(enum verify_scheme scheme,
	const struct verify_octets *octets, struct verify_key **key)
{
	struct verify_key *k;
	EVP_PKEY *pkey = NULL;

	assert((size_t)scheme < sizeof(schemes) / sizeof(schemes[0]));
	if (!scheme_is_offered(scheme)) {
		ERR_clear_error();
		return NSD_E_NOT_FOUND;
	}
	if (schemes[scheme].raw != 0)
		pkey = octets->key_len != schemes[scheme].len ? NULL
			: EVP_PKEY_new_raw_public_key(schemes[scheme].raw,
				NULL, octets->key, octets->key_len);
	else if (schemes[scheme].group != NULL)
		pkey = pkey_from_ec(scheme, octets);
	else if (schemes[scheme].digest == NULL)
		pkey = octets->key_len != schemes[scheme].len ? NULL
			: EVP_PKEY_new_raw_public_key_ex(NULL,
				schemes[scheme].type, NULL, octets->key,
				octets->key_len);
	else
		pkey = pkey_from_rsa(octets);
	ERR_clear_error();
	if (pkey == NULL)
		return NSD_E_WIRE;
	k = malloc(sizeof(*k));
	if (k == NULL) {
		EVP_PKEY_free(pkey);
		return NSD_E_MEMORY;
	}
	k->scheme = scheme;
	k->pkey = pkey;
	*key = k;
	return NSD_OK;
}

void
verify_key_destroy(struct verify_key *key)
{
	if (key == NULL)
		return;
	EVP_PKEY_free(key->pkey);
	free(key);
}

struct verify_context *
verify_context_create(const struct verify_key *key)
{
	struct verify_context *c = calloc(1, sizeof(*c));
	const EVP_MD *digest = schemes[key->scheme].digest == NULL ? NULL
		: schemes[key->scheme].digest();

	if (c == NULL)
		return NULL;
	c->key = key;
	c->fresh = EVP_MD_CTX_new();
	c->used = EVP_MD_CTX_new();
	if (c->fresh != NULL && c->used != NULL
		&& EVP_DigestVerifyInit(c->fresh, NULL, digest, NULL,
			   key->pkey) == 1)
		return c;
	ERR_clear_error();
	verify_context_destroy(c);
	return NULL;
}

void
verify_context_destroy(struct verify_context *context)
{
	if (context == NULL)
		return;
	EVP_MD_CTX_free(context->fresh);
	EVP_MD_CTX_free(context->used);
	free(context);
}

/* Writes r and s as the DER that OpenSSL reads. Returns its octets, 0 if r and
 * s are no signature. */
static size_t
ecdsa_to_der(size_t side, const uint8_t *signature, size_t len,
	uint8_t der[ECDSA_DER_MAX])
{
	ECDSA_SIG *sig;
	BIGNUM *r, *s;
	int size = 0;

	if (len != 2 * side)
		return 0;
	sig = ECDSA_SIG_new();
	r = BN_bin2bn(signature, (int)side, NULL);
	s = BN_bin2bn(signature + side, (int)side, NULL);
	if (sig != NULL && r != NULL && s != NULL
		&& ECDSA_SIG_set0(sig, r, s) == 1) {
		r = s = NULL; /* taken */
		size = i2d_ECDSA_SIG(sig, &der);
	}
	ECDSA_SIG_free(sig);
	BN_free(r);
	BN_free(s);
	return size > 0 ? (size_t)size : 0;
}

bool
verify_signature(struct verify_context *context, const uint8_t *data,
	size_t len, const uint8_t *signature, size_t signature_len)
{
	enum verify_scheme scheme = context->key->scheme;
	uint8_t der[ECDSA_DER_MAX];
	bool right;

	if (schemes[scheme].group != NULL) {
		signature_len = ecdsa_to_der(schemes[scheme].len, signature,
			signature_len, der);
		signature = der;
	}
	if (signature_len == 0)
		return false;
	right = EVP_MD_CTX_copy_ex(context->used, context->fresh) == 1
		&& EVP_DigestVerify(context->used, signature, signature_len,
			   data, len) == 1;
	/* OpenSSL's queue of errors would grow: the reasons are not used. */
	if (!right)
		ERR_clear_error();
	return right;
}
