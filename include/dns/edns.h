/*
 * edns.h - EDNS (RFC 6891): the content of a request's OPT record, and the
 * codes of options and of extended errors (RFC 8914).
 */
#ifndef DNS_EDNS_H
#define DNS_EDNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/message.h"

#define EDNS_OPT_LEN 11u /* octets of an OPT record without options */
#define EDNS_OPTION_HEAD 4u
#define EDNS_VERSION 0u
#define EDNS_DO 0x8000u  /* in the low half of the TTL field, RFC 3225 */

enum edns_option {
	EDNS_NSID = 3,          /* RFC 5001 */
	EDNS_CLIENT_SUBNET = 8, /* RFC 7871 */
	EDNS_EXPIRE = 9,        /* RFC 7314 */
	EDNS_COOKIE = 10,       /* RFC 7873 */
	EDNS_TCP_KEEPALIVE = 11,/* RFC 7828 */
	EDNS_PADDING = 12,      /* RFC 7830 */
	EDNS_EDE = 15,          /* RFC 8914 */
	EDNS_REPORT_CHANNEL = 18, /* RFC 9567 */
	EDNS_ZONEVERSION = 19,  /* RFC 9660 */
};

enum ede_code {
	EDE_OTHER = 0,
	EDE_NOT_READY = 14,
	EDE_PROHIBITED = 18,
	EDE_NOT_AUTHORITATIVE = 20,
	EDE_NOT_SUPPORTED = 21,
	EDE_INVALID_DATA = 24,
	EDE_INVALID_QUERY_TYPE = 30, /* RFC 9824 */
	EDE_NONE = 0xffff,           /* no extended error */
};

/* Length of a cookie option: client part alone, or with a server part. */
#define EDNS_COOKIE_CLIENT_LEN 8u
#define EDNS_COOKIE_SERVER_MIN 8u
#define EDNS_COOKIE_SERVER_MAX 32u

struct edns {
	bool present;
	bool dnssec_ok;
	bool any;         /* a cookie or one of the next five is there */
	bool nsid;        /* the option is there; the same with the next four */
	bool zoneversion;
	bool padding;
	bool expire;
	bool keepalive;
	uint8_t version;
	uint16_t udp_size; /* as the client says */
	uint8_t cookie_len;    /* 0: none */
	const uint8_t *cookie; /* borrowed from the message */
};

/*
 * Reads an OPT record. Skips options that it does not know, and all options of
 * an EDNS version other than EDNS_VERSION (which is no error here).
 * out: edns, with present set. After an error it holds what came before, so
 *      that the error can be answered with EDNS.
 * returns NSD_OK; NSD_E_WIRE if an option runs over the end, or has a length
 *     that its RFC forbids. Cost: linear in RDLENGTH.
 */
enum nsd_err edns_read(const struct message_rr *rr, struct edns *edns)
	MUST_USE;

/*
 * Finds the first option with a code in an OPT record. Returns its data, lent
 * from the message, with its length in *len; NULL: there is none before the
 * end, or before an option that runs over it. Cost: linear in RDLENGTH.
 */
const uint8_t *edns_find_option(const struct message_rr *rr, uint16_t code,
	uint16_t *len);

#endif
