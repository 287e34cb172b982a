/* test_signed_keys.c - updates of the DNSKEY RRset of a signed zone, and the
 * signatures and TTLs of others. Signatures are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "batch.h"

/* Keys, which differ in flags, algorithm or last octet, and their tags. */
#define KSK "@ 300 DNSKEY 257 3 13 AQID"
#define ZSK "@ 300 DNSKEY 256 3 13 AQID"
#define NEXT_KSK "@ 300 DNSKEY 257 3 13 AQIE"
#define SIG(owner, ttl, type, rest) owner " " ttl " RRSIG " type " " rest
#define PERIOD " 20300101000000 20200101000000 "
#define KEY_SIG(tag, seed) SIG("@", "300", "DNSKEY", \
	"13 1 300" PERIOD tag " example. A" seed)
#define KSK_SIG KEY_SIG("2064", "AAA")
#define ZSK_SIG KEY_SIG("2063", "AAB")
#define A_SIG(ttl, original, seed) SIG("a", ttl, "A", \
	"13 2 " original PERIOD "2063 example. A" seed)
#define SOA_SIG(seed) SIG("@", "300", "SOA", \
	"13 1 300" PERIOD "2063 example. A" seed)
/* An SOA with the serial, and its signature in place of the one before. */
#define NEWER(serial, seed, before) "u in @ 300 SOA ns. host. " serial \
	" 2 3 4 5\nu none " SOA_SIG(before) "\nu in " SOA_SIG(seed) "\n"

/* A zone whose DNSKEY RRset is signed by both of its keys, as some signers do
 * it. */
static void
load_two_keys(void)
{
	batch_load("@ 300 SOA ns. host. 1 2 3 4 5\n" SOA_SIG("AAA") "\n"
		"@ 300 NS ns.\n" SIG("@", "300", "NS", "13 1 300" PERIOD
			"2063 example. AAAA") "\n"
		KSK "\n" ZSK "\n" KSK_SIG "\n" ZSK_SIG "\n"
		"@ 300 NSEC a.example. NS SOA RRSIG NSEC DNSKEY\n"
		SIG("@", "300", "NSEC", "13 1 300" PERIOD
			"2063 example. AAAA") "\n"
		"a 300 A 192.0.2.1\n" A_SIG("300", "300", "AAA") "\n"
		"a 300 NSEC example. A RRSIG NSEC\n"
		SIG("a", "300", "NSEC", "13 2 300" PERIOD
			"2063 example. AAAA") "\n");
}

/* Asks, and drops the batch. */
static const char *
ask_once(const char *lines)
{
	const char *outcome;

	load_two_keys();
	outcome = batch_ask(lines);
	batch_load("@ 300 SOA ns. host. 1 2 3 4 5\n@ 300 NS ns.\n");
	return outcome;
}

/* RFC 4035 section 2.2: the DS records of the parent lead to a key with the SEP
 * flag, whose signature must not be lost. */
static void
dnskeys_stay_signed_by_the_key_that_signs_keys(void **state)
{
	static const char lost[] = "example. DNSKEY: no key with the SEP flag"
				   " signs it any more";

	(void)state;
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")), "NOERROR");
	/* The signature goes, and the other key's stays. */
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u none " KSK_SIG), "REFUSED");
	assert_string_equal(batch_result.why, lost);
	/* Another takes its place. */
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u none " KSK_SIG "\nu in " KEY_SIG("2064", "AAD")),
		"NOERROR");
	/* Both signatures go. */
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u none " KSK_SIG "\nu none " ZSK_SIG), "REFUSED");
	assert_string_equal(batch_result.why,
		"example. DNSKEY: it is not signed");
	/* The key goes, and the next one does not sign. */
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u none " KSK "\nu in " NEXT_KSK "\nu none " KSK_SIG
		"\nu none " ZSK_SIG "\nu in " KEY_SIG("2063", "AAD")),
		"REFUSED");
	assert_string_equal(batch_result.why, lost);
	/* The next one signs. */
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u none " KSK "\nu in " NEXT_KSK "\nu none " KSK_SIG
		"\nu none " ZSK_SIG "\nu in " KEY_SIG("2320", "AAD")),
		"NOERROR");
	/* The zone has no such key any more. */
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u none " KSK "\nu none " KSK_SIG "\nu none " ZSK_SIG
		"\nu in " KEY_SIG("2063", "AAD")), "NOERROR");
}

/* RFC 4034 section 2.1.1: a key without the zone flag signs no records. */
static void
keys_without_the_zone_flag_do_not_count(void **state)
{
	(void)state;
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u in @ 300 DNSKEY 0 3 13 AQID\nu none " KSK_SIG
		"\nu none " ZSK_SIG "\nu in " KEY_SIG("1807", "AAD")),
		"REFUSED");
	assert_string_equal(batch_result.why, "example. DNSKEY: it is not"
		" signed by a key of the zone");
}

/* Asks for a zone with so many keys more than its two. */
static const char *
ask_for_keys(unsigned more)
{
	char *lines = malloc(500 + more * 50u), *at = lines;
	const char *outcome;

	assert_non_null(lines);
	at += sprintf(at, "%s", NEWER("2", "AAC", "AAA"));
	for (unsigned i = 0; i < more; i++)
		at += sprintf(at, "u in @ 300 DNSKEY 256 3 13 %06uAA\n", i);
	outcome = ask_once(lines);
	free(lines);
	return outcome;
}

/* Keys are compared with signatures, each with each. */
static void
keys_have_an_end(void **state)
{
	(void)state;
	assert_string_equal(ask_for_keys(998), "REFUSED");
	assert_string_equal(batch_result.why, "example. DNSKEY: a signature of"
		" its former records remains");
	assert_string_equal(ask_for_keys(999), "REFUSED");
	assert_string_equal(batch_result.why, "example. DNSKEY: the zone has"
		" too many keys");
}

/* RFC 4035 section 2.2: all RRSIG records of an RRset */
static void
no_rrset_loses_its_signatures(void **state)
{
	(void)state;
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u none " A_SIG("300", "300", "AAA")), "REFUSED");
	assert_string_equal(batch_result.why, "a.example. A: it is not signed");
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u any a.example. RRSIG"), "REFUSED");
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u none " A_SIG("300", "300", "AAA")
		"\nu in " SIG("a", "300", "A", "13 1 300" PERIOD
			"2063 example. AAAD")), "REFUSED");
	assert_string_equal(batch_result.why, "a.example. A: no signature has"
		" the zone's name and as many labels as its owner");
}

/* RFC 4034 section 3.1.4, RFC 4035 section 2.2: the original TTL is that of the
 * RRset, and so is the TTL of the signature. */
static void
ttls_are_those_of_signatures(void **state)
{
	static const char other[] = "a.example. A: no signature has its TTL of"
				    " now, as original TTL and as TTL";

	(void)state;
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u in a 3600 A 192.0.2.1"), "REFUSED");
	assert_string_equal(batch_result.why, other);
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u in a 60 A 192.0.2.1"), "REFUSED");
	assert_string_equal(batch_result.why, other);
	/* The signature has the TTL, and was made for another. */
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u in a 3600 A 192.0.2.1\nu none "
		A_SIG("300", "300", "AAA") "\nu in "
		A_SIG("3600", "300", "AAD")), "REFUSED");
	assert_string_equal(batch_result.why, other);
	/* The signature was made for this TTL, and has another. */
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u in a 3600 A 192.0.2.1\nu in "
		A_SIG("300", "3600", "AAD")), "REFUSED");
	assert_string_equal(batch_result.why, other);
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u in " A_SIG("3600", "300", "AAA")), "REFUSED");
	assert_string_equal(batch_result.why, other);
	/* The former signature may stay beside. */
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u in a 3600 A 192.0.2.1\nu in "
		A_SIG("3600", "3600", "AAD")), "NOERROR");
	assert_string_equal(ask_once(NEWER("2", "AAC", "AAA")
		"u in a 60 A 192.0.2.1\nu none " A_SIG("300", "300", "AAA")
		"\nu in " A_SIG("60", "60", "AAD")), "NOERROR");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			dnskeys_stay_signed_by_the_key_that_signs_keys),
		cmocka_unit_test(keys_without_the_zone_flag_do_not_count),
		cmocka_unit_test(keys_have_an_end),
		cmocka_unit_test(no_rrset_loses_its_signatures),
		cmocka_unit_test(ttls_are_those_of_signatures),
	};

	return cmocka_run_group_tests(tests, batch_setup, batch_teardown);
}
