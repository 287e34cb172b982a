/* dnskey.h - fields of DNSKEY records (RFC 4034 section 2). */
#ifndef DNS_DNSKEY_H
#define DNS_DNSKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dnskey_flags {
	DNSKEY_SEP = 0x0001,    /* RFC 4034 section 2.1.1 */
	DNSKEY_REVOKE = 0x0080, /* RFC 5011 section 7 */
	DNSKEY_ZONE = 0x0100,
};

#define DNSKEY_PROTOCOL 3u

/* Octets of RDATA before the public key: flags, protocol, algorithm. */
#define DNSKEY_HEAD 4u

/* Computes the tag of a key (RFC 4034 appendix B). rdata: any octets. The tag
 * of algorithm 1 is computed in another way (appendix B.1), which is left out:
 * the algorithm is not in use any more. */
uint16_t dnskey_tag(const uint8_t *rdata, size_t len);

/* True if a key may sign records of its zone (RFC 4034 section 2.1). rdata:
 * DNSKEY_HEAD octets at least. */
bool dnskey_may_sign(const uint8_t *rdata);

#endif
