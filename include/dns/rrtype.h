/*
 * rrtype.h - the table of RR types. The row of a type says how its RDATA is
 * parsed, printed, checked, compressed and compared, and which additional data
 * it has. Tests walk it, too.
 *
 * Source: IANA "Resource Record (RR) TYPEs" and the RFC named in each row.
 */
#ifndef DNS_RRTYPE_H
#define DNS_RRTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum rr_class { CLASS_IN = 1, CLASS_CH = 3, CLASS_HS = 4, CLASS_NONE = 254,
	CLASS_ANY = 255 };

/* Types that the code names. Every other type is in the table alone. */
enum rr_type {
	TYPE_A = 1, TYPE_NS = 2, TYPE_MD = 3, TYPE_MF = 4, TYPE_CNAME = 5,
	TYPE_SOA = 6, TYPE_MB = 7, TYPE_MG = 8, TYPE_MR = 9, TYPE_NULL = 10,
	TYPE_WKS = 11, TYPE_PTR = 12, TYPE_HINFO = 13, TYPE_MINFO = 14,
	TYPE_MX = 15, TYPE_TXT = 16, TYPE_RP = 17, TYPE_AFSDB = 18,
	TYPE_RT = 21, TYPE_SIG = 24, TYPE_KEY = 25, TYPE_PX = 26,
	TYPE_AAAA = 28, TYPE_NXT = 30, TYPE_SRV = 33, TYPE_NAPTR = 35,
	TYPE_KX = 36, TYPE_DNAME = 39, TYPE_OPT = 41, TYPE_DS = 43,
	TYPE_RRSIG = 46, TYPE_NSEC = 47, TYPE_DNSKEY = 48, TYPE_NSEC3 = 50,
	TYPE_NSEC3PARAM = 51, TYPE_CDS = 59, TYPE_CDNSKEY = 60,
	TYPE_ZONEMD = 63, TYPE_SVCB = 64, TYPE_HTTPS = 65,
	TYPE_NXNAME = 128, TYPE_TKEY = 249, TYPE_TSIG = 250,
	TYPE_IXFR = 251, TYPE_AXFR = 252, TYPE_MAILB = 253, TYPE_MAILA = 254,
	TYPE_ANY = 255,
};

/* The form of one field of RDATA in text and on the wire. */
enum rdata_field {
	FIELD_END = 0,
	FIELD_NAME_COMPRESSED, /* name that a sender may compress, RFC 1035 */
	FIELD_NAME,            /* name never compressed when sent */
	FIELD_U8,
	FIELD_U16,
	FIELD_U32,
	FIELD_U64,
	FIELD_PERIOD,          /* 32 bits, TTL units allowed in text */
	FIELD_TIME,            /* 32 bits, YYYYMMDDHHMMSS or seconds */
	FIELD_TYPE,            /* 16 bits, a type's name */
	FIELD_IP4,
	FIELD_IP6,
	FIELD_STRING,          /* one <character-string> */
	FIELD_STRING_OPTIONAL, /* at most one (ISDN's sub-address) */
	FIELD_STRINGS,         /* at least one, to the end */
	FIELD_LONG_STRING,     /* to the end, one quoted string (CAA, URI) */
	FIELD_HEX,             /* hex to the end, may be split by blanks */
	FIELD_HEX8,            /* length, hex, "-" for none (NSEC3 salt) */
	FIELD_BASE64,          /* base64 to the end, may be split */
	FIELD_BASE64_OPTIONAL, /* as FIELD_BASE64, may be absent (KEY without a
				* key) */
	FIELD_BASE64_DASH,     /* as FIELD_BASE64, "-" for none (DOA) */
	FIELD_BASE32HEX8,      /* length, base32hex (NSEC3 next hash) */
	FIELD_BITMAP,          /* type bitmap to the end, RFC 4034 4.1.2 */
	FIELD_ALGORITHM,       /* 8 bits, DNSSEC mnemonic or number */
	FIELD_CERT_TYPE,       /* 16 bits, CERT mnemonic or number */
	FIELD_DSYNC_SCHEME,    /* 8 bits, mnemonic or number, RFC 9859 */
	FIELD_LOC,
	FIELD_APL,
	FIELD_WKS,             /* protocol and service bitmap */
	FIELD_NXT_BITMAP,
	FIELD_A6,              /* prefix length, suffix, name, RFC 2874 */
	FIELD_NSAP,            /* 0x hex */
	FIELD_ATMA,
	FIELD_EUI48,
	FIELD_EUI64,
	FIELD_ILNP64,          /* four groups of hex, RFC 6742 */
	FIELD_TAG,             /* length octet, letters and digits (CAA) */
	FIELD_HIP,             /* lengths, algorithm, HIT, key */
	FIELD_IPSECKEY,        /* gateway by gateway type, then key */
	FIELD_AMTRELAY,
	FIELD_SVC_PARAMS,      /* RFC 9460 2.1 */
	FIELD_UNKNOWN,         /* only RFC 3597 form */
};

#define RDATA_FIELDS_MAX 10

enum rr_flags {
	RR_META = 1,         /* QTYPE or pseudo type: never in a zone */
	RR_ADDITIONAL = 2,   /* A and AAAA of the name field are additional
			      * data */
	RR_SINGLETON = 4,    /* one RR of it at a name (SOA, CNAME, DNAME) */
	RR_WITH_CNAME = 8,   /* a zone may have it beside a CNAME */
	RR_OBSOLETE = 16,
	RR_CANON_LOWER = 32, /* canonical form lower-cases its names (RFC 4034
			      * section 6.2) */
	RR_PAST_CNAME = 64,  /* a question for it does not follow a CNAME. KEY
			      * once stood beside them, too; NSEC3 never does,
			      * as its owner is a hash */
};

struct rrtype {
	uint16_t number;
	uint16_t flags;   /* enum rr_flags */
	const char *name; /* "NSEC3PARAM" */
	uint8_t fields[RDATA_FIELDS_MAX]; /* enum rdata_field, FIELD_END ends */
	uint8_t rule;     /* enum rdata_rule */
};

/* Rules on values that the kinds of fields do not imply. They are checked in
 * text and on the wire alike. */
enum rdata_rule {
	RULE_NONE = 0,
	RULE_DIGEST,       /* DS: digest length by digest type, octet 3 */
	RULE_SSHFP,        /* fingerprint length by its type */
	RULE_ZONEMD,       /* RFC 8976 section 2.2.4: 12 octets or more */
	RULE_NSEC,         /* the bitmap has a type */
	RULE_DHCID,        /* RFC 4701 section 3.1: 3 octets or more */
	RULE_DIGITS,       /* X25, ISDN: an address of digits */
	RULE_GPOS,         /* RFC 1712 section 3: ranges of the angles */
	RULE_URI,          /* RFC 7553 section 4.4: the target is not empty */
};

/* The row of a type, never NULL. An unknown type gets a row with FIELD_UNKNOWN
 * and a NULL name. Constant time. */
const struct rrtype *rrtype_get(uint16_t type);

/* The n-th row of the table in ascending order, NULL behind the last. */
const struct rrtype *rrtype_at(size_t n);

/* Reads "NS", "ns", "TYPE65280". Returns NSD_E_SYNTAX, with *type untouched, if
 * it is no type. */
enum nsd_err rrtype_parse(const char *text, size_t len, uint16_t *type)
	MUST_USE;

/* Prints the mnemonic or TYPEn, NUL-terminated; returns the length. */
#define RRTYPE_TEXT_MAX 16
size_t rrtype_print(uint16_t type, char out[RRTYPE_TEXT_MAX]);

/* Reads "IN", "CLASS3". Returns NSD_E_SYNTAX, with *rrclass untouched, if it is
 * no class. */
enum nsd_err rrtype_parse_class(const char *text, size_t len,
	uint16_t *rrclass) MUST_USE;

/* True for types that only a query or a pseudo record carries. */
static inline bool
rrtype_is_meta(uint16_t type)
{
	return (rrtype_get(type)->flags & RR_META) != 0;
}

#endif
