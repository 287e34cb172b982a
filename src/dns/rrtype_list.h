/*
 * rrtype_list.h - every RR type of the IANA registry, in ascending order.
 *
 * X(number, identifier, name, flags, rule, fields). A new type is a row here
 * and a row in tests/data/rrtypes.txt.
 */
#ifndef DNS_RRTYPE_LIST_H
#define DNS_RRTYPE_LIST_H

#define F1(a) { FIELD_##a }
#define F2(a, b) { FIELD_##a, FIELD_##b }
#define F3(a, b, c) { FIELD_##a, FIELD_##b, FIELD_##c }
#define F4(a, b, c, d) { FIELD_##a, FIELD_##b, FIELD_##c, FIELD_##d }
#define F5(a, b, c, d, e) \
	{ FIELD_##a, FIELD_##b, FIELD_##c, FIELD_##d, FIELD_##e }
#define F6(a, b, c, d, e, f) \
	{ FIELD_##a, FIELD_##b, FIELD_##c, FIELD_##d, FIELD_##e, FIELD_##f }
#define F7(a, b, c, d, e, f, g)                                            \
	{ FIELD_##a, FIELD_##b, FIELD_##c, FIELD_##d, FIELD_##e, FIELD_##f, \
	  FIELD_##g }
#define F9(a, b, c, d, e, f, g, h, i)                                      \
	{ FIELD_##a, FIELD_##b, FIELD_##c, FIELD_##d, FIELD_##e, FIELD_##f, \
	  FIELD_##g, FIELD_##h, FIELD_##i }

#define LOWER RR_CANON_LOWER /* names are compared in lower case */
#define NONE 0
#define ADDS RR_ADDITIONAL
#define OBS RR_OBSOLETE
#define SINGLE RR_SINGLETON
#define BESIDE RR_WITH_CNAME
#define PAST RR_PAST_CNAME
#define META RR_META

#define RRTYPE_LIST(X)                                                       \
	/* RFC 1035 */                                                       \
	X(1, A, "A", NONE, NONE, F1(IP4))                                    \
	X(2, NS, "NS", LOWER | ADDS, NONE, F1(NAME_COMPRESSED))              \
	X(3, MD, "MD", LOWER | OBS, NONE, F1(NAME_COMPRESSED))               \
	X(4, MF, "MF", LOWER | OBS, NONE, F1(NAME_COMPRESSED))               \
	X(5, CNAME, "CNAME", LOWER | SINGLE, NONE, F1(NAME_COMPRESSED))      \
	X(6, SOA, "SOA", LOWER | SINGLE, NONE,                               \
		F7(NAME_COMPRESSED, NAME_COMPRESSED, U32, PERIOD, PERIOD,    \
			PERIOD, PERIOD))                                     \
	X(7, MB, "MB", LOWER | ADDS, NONE, F1(NAME_COMPRESSED))              \
	X(8, MG, "MG", LOWER, NONE, F1(NAME_COMPRESSED))                     \
	X(9, MR, "MR", LOWER, NONE, F1(NAME_COMPRESSED))                     \
	X(10, NULL, "NULL", NONE, NONE, F1(UNKNOWN))                         \
	X(11, WKS, "WKS", NONE, NONE, F2(IP4, WKS))                          \
	X(12, PTR, "PTR", LOWER, NONE, F1(NAME_COMPRESSED))                  \
	X(13, HINFO, "HINFO", NONE, NONE, F2(STRING, STRING))                \
	X(14, MINFO, "MINFO", LOWER, NONE,                                   \
		F2(NAME_COMPRESSED, NAME_COMPRESSED))                        \
	X(15, MX, "MX", LOWER | ADDS, NONE, F2(U16, NAME_COMPRESSED))        \
	X(16, TXT, "TXT", NONE, NONE, F1(STRINGS))                           \
	/* RFC 1183 */                                                       \
	X(17, RP, "RP", LOWER, NONE, F2(NAME, NAME))                         \
	X(18, AFSDB, "AFSDB", LOWER | ADDS, NONE, F2(U16, NAME))             \
	X(19, X25, "X25", NONE, DIGITS, F1(STRING))                          \
	X(20, ISDN, "ISDN", NONE, DIGITS, F2(STRING, STRING_OPTIONAL))       \
	X(21, RT, "RT", LOWER | ADDS, NONE, F2(U16, NAME))                   \
	/* RFC 1706, RFC 1348 */                                             \
	X(22, NSAP, "NSAP", NONE, NONE, F1(NSAP))                            \
	X(23, NSAP_PTR, "NSAP-PTR", OBS, NONE, F1(NAME))                     \
	/* RFC 2536, RFC 2535 */                                             \
	X(24, SIG, "SIG", LOWER | OBS | BESIDE, NONE,                        \
		F9(TYPE, ALGORITHM, U8, U32, TIME, TIME, U16, NAME, BASE64)) \
	X(25, KEY, "KEY", PAST, NONE,                                        \
		F4(U16, U8, ALGORITHM, BASE64_OPTIONAL))                     \
	/* RFC 2163 */                                                       \
	X(26, PX, "PX", LOWER, NONE, F3(U16, NAME, NAME))                    \
	/* RFC 1712 */                                                       \
	X(27, GPOS, "GPOS", OBS, GPOS, F3(STRING, STRING, STRING))           \
	/* RFC 3596 */                                                       \
	X(28, AAAA, "AAAA", NONE, NONE, F1(IP6))                             \
	/* RFC 1876 */                                                       \
	X(29, LOC, "LOC", NONE, NONE, F1(LOC))                               \
	/* RFC 2535 */                                                       \
	X(30, NXT, "NXT", LOWER | OBS | BESIDE | PAST, NONE,                 \
		F2(NAME, NXT_BITMAP))                                        \
	/* draft-ietf-nimrod-dns */                                          \
	X(31, EID, "EID", NONE, NONE, F1(HEX))                               \
	X(32, NIMLOC, "NIMLOC", NONE, NONE, F1(HEX))                         \
	/* RFC 2782 */                                                       \
	X(33, SRV, "SRV", LOWER | ADDS, NONE, F4(U16, U16, U16, NAME))       \
	/* ATM Forum, af-dans-0152 */                                        \
	X(34, ATMA, "ATMA", NONE, NONE, F1(ATMA))                            \
	/* RFC 3403 */                                                       \
	X(35, NAPTR, "NAPTR", LOWER, NONE,                                   \
		F6(U16, U16, STRING, STRING, STRING, NAME))                  \
	/* RFC 2230 */                                                       \
	X(36, KX, "KX", LOWER | ADDS, NONE, F2(U16, NAME))                   \
	/* RFC 4398 */                                                       \
	X(37, CERT, "CERT", NONE, NONE,                                      \
		F4(CERT_TYPE, U16, ALGORITHM, BASE64))                       \
	/* RFC 2874, RFC 6563 */                                             \
	X(38, A6, "A6", LOWER | OBS, NONE, F1(A6))                           \
	/* RFC 6672 */                                                       \
	X(39, DNAME, "DNAME", LOWER | SINGLE, NONE, F1(NAME))                \
	/* draft-eastlake-kitchen-sink */                                    \
	X(40, SINK, "SINK", NONE, NONE, F4(U8, U8, U8, BASE64_OPTIONAL))     \
	/* RFC 6891 */                                                       \
	X(41, OPT, "OPT", META, NONE, F1(UNKNOWN))                           \
	/* RFC 3123 */                                                       \
	X(42, APL, "APL", NONE, NONE, F1(APL))                               \
	/* RFC 4034 */                                                       \
	X(43, DS, "DS", NONE, DIGEST, F4(U16, ALGORITHM, U8, HEX))           \
	/* RFC 4255, RFC 6594, RFC 8709 */                                   \
	X(44, SSHFP, "SSHFP", NONE, SSHFP, F3(U8, U8, HEX))                  \
	/* RFC 4025 */                                                       \
	X(45, IPSECKEY, "IPSECKEY", NONE, NONE, F1(IPSECKEY))                \
	/* RFC 4034 */                                                       \
	X(46, RRSIG, "RRSIG", LOWER | BESIDE | PAST, NONE,                   \
		F9(TYPE, ALGORITHM, U8, U32, TIME, TIME, U16, NAME, BASE64)) \
	X(47, NSEC, "NSEC", BESIDE | PAST, NSEC, F2(NAME, BITMAP))           \
	X(48, DNSKEY, "DNSKEY", NONE, NONE, F4(U16, U8, ALGORITHM, BASE64))  \
	/* RFC 4701 */                                                       \
	X(49, DHCID, "DHCID", NONE, DHCID, F1(BASE64))                       \
	/* RFC 5155 */                                                       \
	X(50, NSEC3, "NSEC3", BESIDE, NONE,                                  \
		F6(U8, U8, U16, HEX8, BASE32HEX8, BITMAP))                   \
	X(51, NSEC3PARAM, "NSEC3PARAM", NONE, NONE, F4(U8, U8, U16, HEX8))   \
	/* RFC 6698, RFC 8162 */                                             \
	X(52, TLSA, "TLSA", NONE, NONE, F4(U8, U8, U8, HEX))                 \
	X(53, SMIMEA, "SMIMEA", NONE, NONE, F4(U8, U8, U8, HEX))             \
	/* RFC 8005 */                                                       \
	X(55, HIP, "HIP", NONE, NONE, F1(HIP))                               \
	/* expired drafts with a type: zs, rkey, talink */                   \
	X(56, NINFO, "NINFO", NONE, NONE, F1(STRINGS))                       \
	X(57, RKEY, "RKEY", NONE, NONE, F4(U16, U8, ALGORITHM, BASE64))      \
	X(58, TALINK, "TALINK", NONE, NONE, F2(NAME, NAME))                  \
	/* RFC 7344, RFC 8078 */                                             \
	X(59, CDS, "CDS", NONE, DIGEST, F4(U16, ALGORITHM, U8, HEX))         \
	X(60, CDNSKEY, "CDNSKEY", NONE, NONE,                                \
		F4(U16, U8, ALGORITHM, BASE64))                              \
	/* RFC 7929 */                                                       \
	X(61, OPENPGPKEY, "OPENPGPKEY", NONE, NONE, F1(BASE64))              \
	/* RFC 7477 */                                                       \
	X(62, CSYNC, "CSYNC", NONE, NONE, F3(U32, U16, BITMAP))              \
	/* RFC 8976 */                                                       \
	X(63, ZONEMD, "ZONEMD", NONE, ZONEMD, F4(U32, U8, U8, HEX))          \
	/* RFC 9460 */                                                       \
	X(64, SVCB, "SVCB", ADDS, NONE, F3(U16, NAME, SVC_PARAMS))           \
	X(65, HTTPS, "HTTPS", ADDS, NONE, F3(U16, NAME, SVC_PARAMS))         \
	/* RFC 9859 */                                                       \
	X(66, DSYNC, "DSYNC", NONE, NONE,                                    \
		F4(TYPE, DSYNC_SCHEME, U16, NAME))                           \
	/* RFC 9886 */                                                       \
	X(67, HHIT, "HHIT", NONE, NONE, F1(BASE64))                          \
	X(68, BRID, "BRID", NONE, NONE, F1(BASE64))                          \
	/* RFC 7208 */                                                       \
	X(99, SPF, "SPF", OBS, NONE, F1(STRINGS))                            \
	/* reserved by IANA without a format */                              \
	X(100, UINFO, "UINFO", NONE, NONE, F1(UNKNOWN))                      \
	X(101, UID, "UID", NONE, NONE, F1(UNKNOWN))                          \
	X(102, GID, "GID", NONE, NONE, F1(UNKNOWN))                          \
	X(103, UNSPEC, "UNSPEC", NONE, NONE, F1(UNKNOWN))                    \
	/* RFC 6742 */                                                       \
	X(104, NID, "NID", NONE, NONE, F2(U16, ILNP64))                      \
	X(105, L32, "L32", NONE, NONE, F2(U16, IP4))                         \
	X(106, L64, "L64", NONE, NONE, F2(U16, ILNP64))                      \
	X(107, LP, "LP", NONE, NONE, F2(U16, NAME))                          \
	/* RFC 7043 */                                                       \
	X(108, EUI48, "EUI48", NONE, NONE, F1(EUI48))                        \
	X(109, EUI64, "EUI64", NONE, NONE, F1(EUI64))                        \
	/* RFC 9824 */                                                       \
	X(128, NXNAME, "NXNAME", META, NONE, F1(UNKNOWN))                    \
	/* RFC 2930, RFC 8945, RFC 1995, RFC 1035 */                         \
	X(249, TKEY, "TKEY", META, NONE, F1(UNKNOWN))                        \
	X(250, TSIG, "TSIG", META, NONE, F1(UNKNOWN))                        \
	X(251, IXFR, "IXFR", META, NONE, F1(UNKNOWN))                        \
	X(252, AXFR, "AXFR", META, NONE, F1(UNKNOWN))                        \
	X(253, MAILB, "MAILB", META, NONE, F1(UNKNOWN))                      \
	X(254, MAILA, "MAILA", META | OBS, NONE, F1(UNKNOWN))                \
	X(255, ANY, "ANY", META, NONE, F1(UNKNOWN))                          \
	/* RFC 7553, RFC 8659 */                                             \
	X(256, URI, "URI", NONE, URI, F3(U16, U16, LONG_STRING))            \
	X(257, CAA, "CAA", NONE, NONE, F3(U8, TAG, LONG_STRING))             \
	/* Cisco AVC, draft-durand-doa */                                    \
	X(258, AVC, "AVC", NONE, NONE, F1(STRINGS))                          \
	X(259, DOA, "DOA", NONE, NONE,                                       \
		F5(U32, U32, U8, STRING, BASE64_DASH))                       \
	/* RFC 8777 */                                                       \
	X(260, AMTRELAY, "AMTRELAY", NONE, NONE, F1(AMTRELAY))               \
	/* RFC 9606 */                                                       \
	X(261, RESINFO, "RESINFO", NONE, NONE, F1(STRINGS))                  \
	/* IANA expert review: templates of 2024 and 2025 */                 \
	X(262, WALLET, "WALLET", NONE, NONE, F1(STRINGS))                    \
	X(263, CLA, "CLA", NONE, NONE, F1(STRINGS))                          \
	X(264, IPN, "IPN", NONE, NONE, F1(U64))                              \
	/* DNSSEC trust authorities, RFC 4431 */                             \
	X(32768, TA, "TA", NONE, DIGEST, F4(U16, ALGORITHM, U8, HEX))        \
	X(32769, DLV, "DLV", OBS, DIGEST, F4(U16, ALGORITHM, U8, HEX))

#endif
