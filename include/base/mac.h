/*
 * mac.h - keyed hashes (HMAC, RFC 2104), by OpenSSL.
 */
#ifndef BASE_MAC_H
#define BASE_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MAC_LEN_MAX 64u

enum mac_kind {
	MAC_HMAC_MD5,
	MAC_HMAC_SHA1,
	MAC_HMAC_SHA224,
	MAC_HMAC_SHA256,
	MAC_HMAC_SHA384,
	MAC_HMAC_SHA512,
	MAC_KIND_COUNT,
};

/* Octets of a MAC. */
size_t mac_len(enum mac_kind kind);

struct mac;

/*
 * Makes the context that computes MACs with a key, one after another; for one
 * thread. The secret (any octets, 0 as well) is borrowed; a copy lives in
 * OpenSSL's memory until mac_destroy, which wipes it.
 * returns NSD_OK and gives *mac; NSD_E_MEMORY; NSD_E_NOT_FOUND: this OpenSSL
 *     does not offer the hash.
 */
enum nsd_err mac_create(enum mac_kind kind, const uint8_t *secret, size_t len,
	struct mac **mac) MUST_USE;
void mac_destroy(struct mac *mac);

/*
 * Computes a MAC: begin, any number of adds, end. Without memory it fails,
 * which mac_end reports.
 * returns, of mac_end: NSD_OK with mac_len octets in out; NSD_E_MEMORY.
 * Cost: linear in the octets added.
 */
void mac_begin(struct mac *mac);
void mac_add(struct mac *mac, const uint8_t *octets, size_t len);
enum nsd_err mac_end(struct mac *mac, uint8_t out[MAC_LEN_MAX]) MUST_USE;

/* Compares in a time that depends on len alone. */
bool mac_is_equal(const uint8_t *a, const uint8_t *b, size_t len);

#endif
