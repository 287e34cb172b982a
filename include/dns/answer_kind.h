/*
 * answer_kind.h - the one table of the kinds of answers that rate limits tell
 * apart: number and name in rrl-whitelist and the log (doc/surface.md 1.7, 9).
 */
#ifndef DNS_ANSWER_KIND_H
#define DNS_ANSWER_KIND_H

/*   name in C, bit, name */
#define ANSWER_KINDS(X)                                                      \
	X(NXDOMAIN, 0x01, "nxdomain")                                        \
	X(ERROR, 0x02, "error")                                              \
	X(REFERRAL, 0x04, "referral")                                        \
	X(ANY, 0x08, "any")                                                  \
	X(RRSIG, 0x100, "rrsig")                                             \
	X(WILDCARD, 0x10, "wildcard")                                        \
	X(NODATA, 0x20, "nodata")                                            \
	X(DNSKEY, 0x40, "dnskey")                                            \
	X(POSITIVE, 0x80, "positive")

#define ANSWER_ENUM(code, bit, name) ANSWER_##code = bit,
enum answer_kind { ANSWER_KINDS(ANSWER_ENUM) ANSWER_ALL = 0x1ff };
#undef ANSWER_ENUM

#endif
