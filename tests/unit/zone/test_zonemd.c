/* test_zonemd.c - digests of zones: the examples of RFC 8976 appendix A, and
 * what spoils them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/octets.h"
#include "dns/name.h"
#include "lib/one_fixture.h"
#include "zone/zonemd.h"

#define APEX "example."
#define HEAD                                                              \
	"@ 86400 IN SOA ns1 admin 2018031900 1800 900 604800 86400\n"     \
	"@ 86400 IN NS ns1\n@ 86400 IN NS ns2\n"

#define SIMPLE_DIGEST                                                     \
	"c68090d90a7aed716bc459f9340e3d7c1370d4d24b7e2fc3"                \
	"a1ddc0b9a87153b9a9713b3c9ae5cc27777f98b8e730044c\n"
#define SIMPLE_REST                                                       \
	"ns1 3600 IN A 203.0.113.63\nns2 3600 IN AAAA 2001:db8::63\n"
#define SHA384(serial, digest) "@ 86400 IN ZONEMD " serial " 1 1 " digest
#define SIMPLE HEAD SHA384("2018031900", SIMPLE_DIGEST) SIMPLE_REST

#define COMPLEX                                                           \
	HEAD SHA384("2018031900",                                         \
		"a3b69bad980a3504e1cffcb0fd6397f93848071c93151f55"        \
		"2ae2f6b1711d4bd2d8b39808226d7b9db71e34b72077f8fe\n")     \
	"ns1 3600 IN A 203.0.113.63\n"                                    \
	"NS2 3600 IN AAAA 2001:db8::63\n"                                 \
	"occluded.sub 7200 IN TXT \"I'm occluded but must be digested\"\n" \
	"sub 7200 IN NS ns1\n"                                            \
	"duplicate 300 IN TXT \"I must be digested just once\"\n"         \
	"duplicate 300 IN TXT \"I must be digested just once\"\n"         \
	"UPPERCASE 3600 IN TXT \"canonicalize uppercase owner names\"\n"  \
	"* 777 IN PTR dont-forget-about-wildcards\n"                      \
	"mail 3600 IN MX 20 MAIL1\n"                                      \
	"mail 3600 IN MX 10 Mail2.Example.\n"                             \
	"sortme 3600 IN AAAA 2001:db8::5:61\n"                            \
	"sortme 3600 IN AAAA 2001:db8::3:62\n"                            \
	"sortme 3600 IN AAAA 2001:db8::4:63\n"                            \
	"sortme 3600 IN AAAA 2001:db8::1:65\n"                            \
	"sortme 3600 IN AAAA 2001:db8::2:64\n"                            \
	"non-apex 900 IN ZONEMD 2018031900 1 1 "                          \
	"616c6c6f776564206275742069676e6f7265642e20616c6c"                \
	"6f776564206275742069676e6f7265642e20616c6c6f7765\n"

#define MULTIPLE_SHA384                                                   \
	"62e6cf51b02e54b9b5f967d547ce43136792901f9f88e637"                \
	"493daaf401c92c279dd10f0edb1c56f8080211f8480ee306\n"
#define MULTIPLE_SHA512                                                   \
	"08cfa1115c7b948c4163a901270395ea226a930cd2cbcf2f"                \
	"a9a5e6eb85f37c8a4e114d884e66f176eab121cb02db7d65"                \
	"2e0cc4827e7a3204f166b47e5613fd27\n"
#define UNKNOWN                                                           \
	"@ 86400 IN ZONEMD 2018031900 1 240 "                             \
	"e2d523f654b9422a96c5a8f44607bbee\n"                              \
	"@ 86400 IN ZONEMD 2018031900 241 1 "                             \
	"e1846540e33a9e4189792d18d5d131f605fc283eaaaaaaaa"                \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
#define MULTIPLE_REST                                                     \
	"ns1 3600 IN A 203.0.113.63\n"                                    \
	"ns2 86400 IN TXT \"This example has multiple digests\"\n"        \
	"NS2 3600 IN AAAA 2001:db8::63\n"
#define MULTIPLE(sha384, sha512)                                          \
	HEAD SHA384("2018031900", sha384)                                 \
	"@ 86400 IN ZONEMD 2018031900 1 2 " sha512                        \
	UNKNOWN MULTIPLE_REST

static enum zonemd_verdict
check_zone_model(const char *apex, const char *text)
{
	enum zonemd_verdict verdict;
	store_ref zone;

	assert_int_equal(zone_fixture_build(&f, apex, text, &zone), NSD_OK);
	assert_int_equal(zonemd_check(f.view, store_get(f.view, zone),
		zone_fixture_name(apex), &verdict), NSD_OK);
	return verdict;
}

static enum zonemd_verdict
check_text(const char *text)
{
	return check_zone_model(APEX, text);
}

/* A zone of tests/data, with one octet altered from a place on; place: NULL: as
 * it is. */
static enum zonemd_verdict
check_file(const char *apex, const char *path, const char *place, char with)
{
	static char text[16384];
	FILE *file = fopen(path, "r");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	assert_true(len > 0 && len < sizeof(text) - 1);
	text[len] = '\0';
	fclose(file);
	if (place != NULL) {
		char *at = strstr(text, place);

		assert_non_null(at);
		*at = with;
	}
	return check_zone_model(apex, text);
}

/* A copy of the text with one octet altered, from a place on. */
static enum zonemd_verdict
check_altered(const char *text, const char *place, char with)
{
	char *copy = strdup(text), *at = strstr(copy, place);
	enum zonemd_verdict verdict;

	assert_non_null(at);
	*at = with;
	verdict = check_text(copy);
	free(copy);
	return verdict;
}

/* RFC 8976 appendices A.1 to A.3 */
static void
examples_of_the_rfc_are_good(void **state)
{
	assert_int_equal(check_text(SIMPLE), ZONEMD_GOOD);
	assert_int_equal(check_text(COMPLEX), ZONEMD_GOOD);
	assert_int_equal(check_text(MULTIPLE(MULTIPLE_SHA384, MULTIPLE_SHA512)),
		ZONEMD_GOOD);
}

/* RFC 8976 appendices A.4 and A.5: a zone with signatures, and a larger one */
static void
zones_of_the_rfc_are_good(void **state)
{
	static const struct {
		const char *apex, *path, *place;
	} rows[] = {
		{"uri.arpa.", TESTS_DIR "/data/zonemd-a4.zone", "/urn:"},
		{"uri.arpa.", TESTS_DIR "/data/zonemd-a4.zone", "pechora"},
		{"root-servers.net.", TESTS_DIR "/data/zonemd-a5.zone",
			"8.41.0.4"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(check_file(rows[i].apex, rows[i].path, NULL,
			0), ZONEMD_GOOD);
		assert_int_equal(check_file(rows[i].apex, rows[i].path,
			rows[i].place, '2'), ZONEMD_DIFFERS);
	}
}

static void
any_other_octet_is_noticed(void **state)
{
	assert_int_equal(check_altered(SIMPLE, "1800", '2'), ZONEMD_DIFFERS);
	assert_int_equal(check_altered(SIMPLE, "3600", '4'), ZONEMD_DIFFERS);
	assert_int_equal(check_altered(SIMPLE, "203.0", '1'), ZONEMD_DIFFERS);
	assert_int_equal(check_altered(SIMPLE, "c68090", 'd'), ZONEMD_DIFFERS);
	assert_int_equal(check_altered(COMPLEX, "occluded.sub", 'p'),
		ZONEMD_DIFFERS);
	/* RFC 8976 section 2: a digest below the apex is a record as others */
	assert_int_equal(check_altered(COMPLEX, "616c6c", '7'),
		ZONEMD_DIFFERS);
	assert_int_equal(check_text(SIMPLE "more 3600 IN A 192.0.2.1\n"),
		ZONEMD_DIFFERS);
}

/* RFC 4034 section 6.2 */
static void
letter_case_does_not_count(void **state)
{
	assert_int_equal(check_altered(SIMPLE, "ns1 admin", 'N'), ZONEMD_GOOD);
	assert_int_equal(check_altered(SIMPLE, "admin", 'A'), ZONEMD_GOOD);
	assert_int_equal(check_altered(COMPLEX, "sortme", 'S'), ZONEMD_GOOD);
}

/* RFC 8976 section 4: a single digest that can be used and is right is
 * enough. */
static void
one_good_digest_is_enough(void **state)
{
	assert_int_equal(check_text(MULTIPLE(SIMPLE_DIGEST, MULTIPLE_SHA512)),
		ZONEMD_GOOD);
	assert_int_equal(check_altered(MULTIPLE(MULTIPLE_SHA384,
		MULTIPLE_SHA512), "08cfa", '1'), ZONEMD_GOOD);
	assert_int_equal(check_altered(MULTIPLE(SIMPLE_DIGEST,
		MULTIPLE_SHA512), "08cfa", '1'), ZONEMD_DIFFERS);
}

/* RFC 8976 section 4 */
static void
digests_that_cannot_be_used_are_bad(void **state)
{
	assert_int_equal(check_text(HEAD SIMPLE_REST), ZONEMD_ABSENT);
	assert_int_equal(check_text(HEAD UNKNOWN MULTIPLE_REST),
		ZONEMD_UNKNOWN);
	assert_int_equal(check_text(HEAD SHA384("2018031901", SIMPLE_DIGEST)
		SIMPLE_REST), ZONEMD_SERIAL);
	assert_int_equal(check_text(SIMPLE SHA384("2018031900",
		MULTIPLE_SHA384)), ZONEMD_TWICE);
	assert_int_equal(check_text(SIMPLE SHA384("2018031901", SIMPLE_DIGEST)),
		ZONEMD_TWICE);
	assert_false(zonemd_is_bad(ZONEMD_GOOD));
	assert_false(zonemd_is_bad(ZONEMD_ABSENT));
	assert_true(zonemd_is_bad(ZONEMD_DIFFERS));
	assert_true(zonemd_is_bad(ZONEMD_UNKNOWN));
}

#define ONE(serial, scheme, hash, digest)                                 \
	"@ 86400 IN ZONEMD " serial " " scheme " " hash " " digest
#define SHORT "c68090d90a7aed716bc459f9\n"

/* RFC 8976 section 4 step 4: of several with one scheme and hash none counts,
 * whatever else is wrong with one of them. */
static void
digests_that_come_twice_do_not_count(void **state)
{
	static const char *const others[] = {
		ONE("2018031900", "1", "1", SHORT),
		ONE("2018031901", "1", "1", SHORT),
		ONE("2018031900", "1", "1", MULTIPLE_SHA384),
		ONE("2018031900", "1", "1", MULTIPLE_SHA384)
		ONE("2018031901", "1", "1", MULTIPLE_SHA384),
	};
	char text[3000];

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		snprintf(text, sizeof(text), "%s%s", SIMPLE, others[i]);
		assert_int_equal(check_text(text), ZONEMD_TWICE);
		/* The other hash counts as ever. */
		snprintf(text, sizeof(text), "%s%s", MULTIPLE(MULTIPLE_SHA384,
			MULTIPLE_SHA512), others[i]);
		assert_int_equal(check_text(text), ZONEMD_GOOD);
	}
	/* The same record twice is one. */
	assert_int_equal(check_text(SIMPLE SHA384("2018031900",
		SIMPLE_DIGEST)), ZONEMD_GOOD);
}

/* RFC 8976 section 4 step 5d */
static void
digests_of_a_wrong_length_do_not_count(void **state)
{
	assert_int_equal(check_text(HEAD SHA384("2018031900", SHORT)
		SIMPLE_REST), ZONEMD_LENGTH);
	assert_int_equal(check_text(HEAD SHA384("2018031900", MULTIPLE_SHA512)
		SIMPLE_REST), ZONEMD_LENGTH);
	assert_int_equal(check_text(HEAD ONE("2018031900", "1", "2",
		SIMPLE_DIGEST) SIMPLE_REST), ZONEMD_LENGTH);
	assert_int_equal(check_text(SIMPLE ONE("2018031900", "1", "2",
		SIMPLE_DIGEST)), ZONEMD_GOOD);
	assert_true(zonemd_is_bad(ZONEMD_LENGTH));
}

/* RFC 8976 section 4 steps 5b and 5c: what is not known is passed over. */
static void
digests_that_are_not_known_do_not_count(void **state)
{
	assert_int_equal(check_text(SIMPLE UNKNOWN), ZONEMD_GOOD);
	assert_int_equal(check_text(SIMPLE ONE("2018031900", "1", "0", SHORT)
		ONE("2018031900", "0", "1", SHORT)
		ONE("2018031900", "1", "3", SHORT)), ZONEMD_GOOD);
	assert_int_equal(check_text(HEAD UNKNOWN SHA384("2018031900",
		MULTIPLE_SHA384) SIMPLE_REST), ZONEMD_DIFFERS);
	assert_int_equal(check_text(HEAD ONE("2018031900", "1", "3", SHORT)
		SIMPLE_REST), ZONEMD_UNKNOWN);
}

static enum nsd_err
compute_on_rr(void *ctx, const struct zone_rr *rr)
{
	return zonemd_take(ctx, rr);
}

static bool
compute_is(const char *text, enum digest_kind kind, const char *hex,
	enum zonemd_verdict wanted)
{
	const uint8_t *apex = zone_fixture_name(APEX);
	enum zonemd_verdict verdict;
	struct zonemd_record record;
	char found[2 * DIGEST_LEN_MAX + 2] = "";
	struct zonemd *z;
	store_ref zone;

	assert_int_equal(zone_fixture_build(&f, APEX, text, &zone), NSD_OK);
	assert_int_equal(zonemd_create(apex, &z), NSD_OK);
	zonemd_compute(z, kind);
	assert_int_equal(zone_walk(f.view, store_get(f.view, zone), apex,
		compute_on_rr, z), NSD_OK);
	assert_int_equal(zonemd_finish(z, &verdict), NSD_OK);
	assert_int_equal(verdict, wanted);
	assert_true(zonemd_get_record(z, kind, &record));
	zonemd_destroy(z);
	assert_int_equal(record.kind, kind);
	assert_int_equal(record.serial, 2018031900);
	assert_int_equal(record.ttl_sec, 86400);
	for (size_t i = 0; i < digest_len(kind); i++)
		snprintf(found + 2 * i, 3, "%02x", record.digest[i]);
	return strncmp(found, hex, 2 * digest_len(kind)) == 0;
}

/* RFC 8976 section 3: ZONEMD records at the apex are not part of a digest. */
static void
digests_are_computed_when_asked_for(void **state)
{
	assert_true(compute_is(HEAD SIMPLE_REST, DIGEST_SHA384, SIMPLE_DIGEST,
		ZONEMD_ABSENT));
	assert_true(compute_is(SIMPLE, DIGEST_SHA384, SIMPLE_DIGEST,
		ZONEMD_GOOD));
	assert_true(compute_is(HEAD SHA384("2018031900", MULTIPLE_SHA384)
		SIMPLE_REST, DIGEST_SHA384, SIMPLE_DIGEST, ZONEMD_DIFFERS));
	assert_true(compute_is(HEAD SHA384("7", SHORT) SIMPLE_REST,
		DIGEST_SHA384, SIMPLE_DIGEST, ZONEMD_SERIAL));
	assert_true(compute_is(HEAD UNKNOWN MULTIPLE_REST, DIGEST_SHA512,
		MULTIPLE_SHA512, ZONEMD_UNKNOWN));
	assert_true(compute_is(HEAD SHA384("2018031900", MULTIPLE_SHA384)
		MULTIPLE_REST, DIGEST_SHA512, MULTIPLE_SHA512, ZONEMD_GOOD));
}

/* The signatures of the digest come after it: RFC 8976 section 3.3.1. */
static void
signatures_of_the_digest_do_not_count(void **state)
{
#define SIG(covered)                                                      \
	"@ 86400 IN RRSIG " covered " 8 1 86400 20300101000000 "          \
	"20200101000000 1 example. AAAA\n"
	assert_int_equal(check_text(SIMPLE SIG("ZONEMD")), ZONEMD_GOOD);
	assert_int_equal(check_text(SIMPLE SIG("NS")), ZONEMD_DIFFERS);
}

static void
take(struct zonemd *z, struct digest *digest, const struct zone_rr *rr)
{
	uint8_t head[10];

	assert_int_equal(zonemd_take(z, rr), NSD_OK);
	if (digest == NULL)
		return;
	octets_put_u16(head, rr->type);
	octets_put_u16(head + 2, 1);
	octets_put_u32(head + 4, rr->ttl_sec);
	octets_put_u16(head + 8, rr->rdlen);
	digest_add(digest, rr->owner, name_len(rr->owner));
	digest_add(digest, head, sizeof(head));
	digest_add(digest, rr->rdata, rr->rdlen);
}

/* Records nearly as large as a block, and names with more than a block. */
static void
large_records_are_whole(void **state)
{
	static uint8_t rdata[5][65535], soa[22], zonemd[6 + DIGEST_LEN_MAX];
	const uint8_t *apex = zone_fixture_name(APEX);
	struct zone_rr rr = {.owner = zone_fixture_name("large.example."),
		.type = TYPE_TXT};
	struct digest *digest;

	zonemd[4] = 1;
	zonemd[5] = 2;
	for (unsigned pass = 0; pass < 2; pass++) {
		enum zonemd_verdict verdict;
		struct zonemd *z;

		assert_int_equal(digest_create(DIGEST_SHA512, &digest),
			NSD_OK);
		assert_int_equal(zonemd_create(apex, &z), NSD_OK);
		take(z, digest, &(struct zone_rr){.owner = apex,
			.type = TYPE_SOA, .rdlen = sizeof(soa), .rdata = soa});
		take(z, NULL, &(struct zone_rr){.owner = apex,
			.type = TYPE_ZONEMD, .rdlen = sizeof(zonemd),
			.rdata = zonemd});
		for (unsigned i = 0; i < 5; i++) {
			rdata[i][0] = (uint8_t)i;
			rr.rdata = rdata[i];
			rr.rdlen = (uint16_t)(sizeof(rdata[i]) - i * 100);
			take(z, digest, &rr);
		}
		assert_int_equal(zonemd_finish(z, &verdict), NSD_OK);
		assert_int_equal(verdict, pass == 0 ? ZONEMD_DIFFERS
						    : ZONEMD_GOOD);
		zonemd_destroy(z);
		assert_int_equal(digest_end(digest, zonemd + 6), NSD_OK);
		digest_destroy(digest);
	}
}

/* Without a digest no more than the apex is looked at. */
static void
apex_decides_if_there_is_none(void **state)
{
	const struct zone_rr rr = {
		.owner = zone_fixture_name(APEX),
		.type = TYPE_NS,
		.rdlen = 1,
		.rdata = (const uint8_t *)"",
	};
	struct zone_rr next = rr;
	enum zonemd_verdict verdict;
	struct zonemd *z;

	assert_int_equal(zonemd_create(rr.owner, &z), NSD_OK);
	assert_int_equal(zonemd_take(z, &rr), NSD_OK);
	next.owner = zone_fixture_name("a.example.");
	assert_int_equal(zonemd_take(z, &next), NSD_E_NOT_FOUND);
	assert_int_equal(zonemd_finish(z, &verdict), NSD_OK);
	assert_int_equal(verdict, ZONEMD_ABSENT);
	zonemd_destroy(z);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_of_the_rfc_are_good),
		cmocka_unit_test(zones_of_the_rfc_are_good),
		cmocka_unit_test(any_other_octet_is_noticed),
		cmocka_unit_test(letter_case_does_not_count),
		cmocka_unit_test(one_good_digest_is_enough),
		cmocka_unit_test(digests_that_cannot_be_used_are_bad),
		cmocka_unit_test(digests_that_come_twice_do_not_count),
		cmocka_unit_test(digests_of_a_wrong_length_do_not_count),
		cmocka_unit_test(digests_that_are_not_known_do_not_count),
		cmocka_unit_test(digests_are_computed_when_asked_for),
		cmocka_unit_test(signatures_of_the_digest_do_not_count),
		cmocka_unit_test(large_records_are_whole),
		cmocka_unit_test(apex_decides_if_there_is_none),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
