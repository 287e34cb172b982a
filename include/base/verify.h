/*
 * verify.h - checks of public-key signatures, by OpenSSL.
 *
 * Keys and signatures are untrusted octets: for any octets the answer is
 * whether the signature is right.
 */
#ifndef BASE_VERIFY_H
#define BASE_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum verify_scheme {
	VERIFY_RSA_SHA1, /* PKCS #1 v1.5, as the next two */
	VERIFY_RSA_SHA256,
	VERIFY_RSA_SHA512,
	VERIFY_ECDSA_P256, /* with SHA-256 */
	VERIFY_ECDSA_P384, /* with SHA-384 */
	VERIFY_ED25519,
	VERIFY_ED448,
	VERIFY_ML_DSA_44, /* since OpenSSL 3.5 */
};

#define VERIFY_RSA_BITS_MIN 512u /* RFC 3110 section 3 */
#define VERIFY_RSA_BITS_MAX 4096u
/* OpenSSL has this bound for the exponents of keys of over 3,072 bits. Signers
 * have 65537; each bit of a longer one takes time whenever a signature is
 * verified. */
#define VERIFY_RSA_EXPONENT_BITS_MAX 64

struct verify_key;

/* The octets of a public key, borrowed. */
struct verify_octets {
	/* RSA: the modulus without zeros in front. ECDSA: x and y, each of
	 * full length. The others: the key as their RFC has it. */
	const uint8_t *key;
	size_t key_len;
	const uint8_t *exponent; /* RSA alone */
	size_t exponent_len;
};

/*
 * Makes a key. It may be used by several threads at once.
 * returns NSD_OK with *key (release with verify_key_destroy); NSD_E_WIRE if
 *     the octets are no key of the scheme, or an RSA key out of the bounds
 *     above or with an exponent that is even or below 3; NSD_E_MEMORY;
 *     NSD_E_NOT_FOUND if this OpenSSL does not offer the scheme.
 */
enum nsd_err verify_key_create(enum verify_scheme scheme,
	const struct verify_octets *octets, struct verify_key **key) MUST_USE;
void verify_key_destroy(struct verify_key *key);

/*
 * A thread's context for checking signatures of a key. Made once, used for many
 * signatures. verify_context_create returns NULL if there is no memory, or if
 * OpenSSL refuses the key. The key must outlive the context.
 */
struct verify_context;
struct verify_context *verify_context_create(const struct verify_key *key);
void verify_context_destroy(struct verify_context *context);

/* True if the signature, in the form DNSSEC gives it (ECDSA: r and s of full
 * length each), is that of the key over the data. Microseconds of CPU. */
bool verify_signature(struct verify_context *context, const uint8_t *data,
	size_t len, const uint8_t *signature, size_t signature_len);

#endif
