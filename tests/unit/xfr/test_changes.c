/*
 * test_changes.c - octets of changes.h: at once and in pieces, cut anywhere,
 * with each rule broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/rrtype.h"
#include "xfr/changes.h"

/* An SOA of z., and what stands before its serial. */
#define SOA(action, serial) action "\001z\0\0\6\0\0\0\x3c\0\x16\0\0" \
	"\0\0\0" serial "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4"
#define A(action, label) action "\001" label "\001z\0\0\1\0\0\0\x3c\0\4\1\2\3\4"
#define WHOLE "\3\001z\0"
#define DIFFS "\4\001z\0"

static const char whole[] = WHOLE SOA("\1", "\7") A("\1", "a") A("\1", "b");
static const char diffs[] = DIFFS SOA("\0", "\6") A("\0", "a")
	SOA("\1", "\7") A("\1", "b") SOA("\0", "\7") SOA("\1", "\x9")
	A("\1", "c");

/* Reads all, in a copy of just that size. Returns NSD_OK if it is sound. */
static enum nsd_err
read_all(const void *octets, size_t len, uint64_t *records)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct changes changes;
	struct changes_rr rr;
	enum nsd_err err;

	assert_non_null(copy);
	memcpy(copy, octets, len);
	err = changes_open(&changes, copy, len);
	while (err == NSD_OK)
		err = changes_read(&changes, &rr);
	if (err == NSD_E_AGAIN)
		err = changes_close(&changes, NULL);
	*records = changes.records;
	free(copy);
	return err;
}

static void
parts_and_serials_are_told(void **state)
{
	static const struct {
		enum changes_action action;
		enum changes_part part;
		uint32_t serial;
	} expected[] = {
		{XFR_REMOVE, CHANGES_OLD_SOA, 6},
		{XFR_REMOVE, CHANGES_RECORD, 0},
		{XFR_ADD, CHANGES_NEW_SOA, 7},
		{XFR_ADD, CHANGES_RECORD, 0},
		{XFR_REMOVE, CHANGES_OLD_SOA, 7},
		{XFR_ADD, CHANGES_NEW_SOA, 9},
		{XFR_ADD, CHANGES_RECORD, 0},
	};
	struct changes changes;
	struct changes_rr rr;
	uint32_t to = 0;

	assert_int_equal(changes_open(&changes, (const uint8_t *)diffs,
		sizeof(diffs) - 1), NSD_OK);
	assert_int_equal(changes.kind, XFR_DIFFS);
	assert_int_equal(changes.apex_len, 3);
	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(changes_read(&changes, &rr), NSD_OK);
		assert_int_equal(rr.action, expected[i].action);
		assert_int_equal(rr.part, expected[i].part);
		assert_int_equal(rr.serial, expected[i].serial);
		assert_int_equal(rr.ttl_sec, 60);
	}
	assert_int_equal(rr.owner_len, 5);
	assert_memory_equal(rr.owner, "\001c\001z", 5);
	assert_int_equal(rr.rdlen, 4);
	assert_memory_equal(rr.rdata, "\1\2\3\4", 4);
	assert_int_equal(changes_read(&changes, &rr), NSD_E_AGAIN);
	assert_int_equal(changes_close(&changes, &to), NSD_OK);
	assert_int_equal(to, 9);
}

static void
what_is_cut_is_not_sound_but_between_records(void **state)
{
	const struct { const char *octets; size_t len; } texts[] = {
		{whole, sizeof(whole) - 1}, {diffs, sizeof(diffs) - 1}};
	uint64_t records;

	for (unsigned i = 0; i < 2; i++) {
		unsigned sound = 0;

		for (size_t len = 0; len < texts[i].len; len++)
			sound += read_all(texts[i].octets, len, &records)
				== NSD_OK;
		/* The sound ends: behind a new SOA, and behind additions. */
		assert_int_equal(sound, i == 0 ? 2 : 3);
		assert_int_equal(read_all(texts[i].octets, texts[i].len,
			&records), NSD_OK);
		assert_int_equal(records, i == 0 ? 3 : 7);
		/* A text with one octet too many is refused: whole and diffs
		 * end in a NUL. */
		assert_int_equal(read_all(texts[i].octets, texts[i].len + 1,
			&records), NSD_E_WIRE);
	}
}

static void
pieces_are_as_the_whole(void **state)
{
	const uint8_t *octets = (const uint8_t *)diffs;
	size_t len = sizeof(diffs) - 1;

	for (size_t split = 4; split <= len; split++) {
		uint8_t *first = malloc(split);
		struct changes changes;
		struct changes_rr rr;
		size_t left;

		assert_non_null(first);
		memcpy(first, octets, split);
		assert_int_equal(changes_open(&changes, first, split),
			NSD_OK);
		while (changes_read(&changes, &rr) == NSD_OK)
			;
		left = changes_left(&changes);
		/* The reader keeps no pointer into a piece that it has read. */
		memset(first, 0xff, split);
		free(first);
		changes_feed(&changes, octets + split - left,
			len - split + left);
		while (changes_read(&changes, &rr) == NSD_OK)
			;
		assert_int_equal(changes.records, 7);
		assert_int_equal(changes_close(&changes, NULL), NSD_OK);
	}
}

static void
written_records_are_read(void **state)
{
	uint8_t out[CHANGES_HEAD_MAX + 2 * CHANGES_RECORD_MAX];
	uint8_t soa[22] = {0}, rdata[RDATA_MAX_LEN] = {0};
	struct changes_rr rr = {
		.action = XFR_ADD,
		.type = TYPE_SOA,
		.owner = (const uint8_t *)"\001z",
		.owner_len = 3,
		.rdata = soa,
		.rdlen = sizeof(soa),
	};
	uint64_t records;
	size_t len = changes_write_head(out, XFR_WHOLE, rr.owner, 3);

	len += changes_write(out + len, &rr);
	rr.type = 65280;
	rr.ttl_sec = INT32_MAX;
	rr.rdata = rdata;
	rr.rdlen = RDATA_MAX_LEN;
	len += changes_write(out + len, &rr);
	assert_int_equal(read_all(out, len, &records), NSD_OK);
	assert_int_equal(records, 2);
}

static void
broken_rules_are_refused(void **state)
{
#define X60 "012345678901234567890123456789012345678901234567890123456789"
#define ROW(octets) {octets, sizeof(octets) - 1}
	static const struct { const char *octets; size_t len; } rows[] = {
		ROW(""), ROW("\3"), ROW("\0\001z\0"), ROW("\2\001z\0"),
		ROW("\5\001z\0"), ROW("\3\001Z\0"), ROW("\3\xc0\0"),
		ROW(WHOLE),
		ROW(WHOLE A("\1", "a")),
		ROW(WHOLE SOA("\0", "\7")),
		ROW(WHOLE SOA("\1", "\7") SOA("\1", "\7")),
		ROW(WHOLE SOA("\1", "\7") A("\0", "a")),
		ROW(WHOLE SOA("\1", "\7") A("\2", "a")),
		ROW(WHOLE SOA("\1", "\7") A("\1", "A")),
		ROW(DIFFS),
		ROW(DIFFS A("\1", "a")),
		ROW(DIFFS SOA("\1", "\7")),
		ROW(DIFFS SOA("\0", "\7")),
		ROW(DIFFS SOA("\0", "\7") A("\1", "a")),
		ROW(DIFFS SOA("\0", "\7") SOA("\0", "\7")),
		ROW(DIFFS SOA("\0", "\7") SOA("\1", "\7")),
		ROW(DIFFS SOA("\0", "\7") SOA("\1", "\6")),
		ROW(DIFFS SOA("\0", "\7") SOA("\1", "\x8") A("\0", "a")),
		ROW(DIFFS SOA("\0", "\7") SOA("\1", "\x8") SOA("\1", "\x9")),
		ROW(DIFFS SOA("\0", "\7") SOA("\1", "\x8") SOA("\0", "\7")
			SOA("\1", "\x9")),
		ROW(DIFFS SOA("\0", "\7") SOA("\0", "\7") SOA("\1", "\x8")),
		ROW(DIFFS SOA("\0", "\7") A("\1", "a") SOA("\1", "\x8")),
		ROW(DIFFS SOA("\0", "\7") "\1\001a\001z\0\0\6\0\0\0\x3c"
			"\0\x16\0\0\0\0\0\x9\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4"),
		/* a label of 64 octets, a name of 256 */
		ROW(WHOLE SOA("\1", "\7") "\1\100" X60 "0123\001z\0"
			"\0\1\0\0\0\x3c\0\4\1\2\3\4"),
		ROW(WHOLE SOA("\1", "\7") "\1\077" X60 "012\077" X60 "012\077"
			X60 "012\074" X60 "\001z\0"
			"\0\1\0\0\0\x3c\0\4\1\2\3\4"),
		/* not in the zone; an SOA below the apex */
		ROW(WHOLE SOA("\1", "\7") "\1\001a\0\0\1\0\0\0\x3c\0\4\1\2\3\4"),
		ROW(WHOLE SOA("\1", "\7") "\1\001a\001z\0\0\6\0\0\0\x3c"
			"\0\x16\0\0\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4"),
		/* a pointer, a TTL beyond 2^31-1 */
		ROW(WHOLE SOA("\1", "\7") "\1\xc0\1\0\1\0\0\0\x3c\0\4\1\2\3\4"),
		ROW(WHOLE SOA("\1", "\7")
			"\1\001z\0\0\1\x80\0\0\0\0\4\1\2\3\4"),
		/* RDATA of the wrong length; types that no zone has */
		ROW(WHOLE SOA("\1", "\7")
			"\1\001z\0\0\1\0\0\0\x3c\0\3\1\2\3"),
		ROW(WHOLE SOA("\1", "\7") "\1\001z\0\0\x29\0\0\0\x3c\0\0"),
		ROW(WHOLE SOA("\1", "\7") "\1\001z\0\0\0\0\0\0\x3c\0\0"),
		ROW(WHOLE SOA("\1", "\7") "\1\001z\0\0\xff\0\0\0\x3c\0\0"),
	};
	uint64_t records;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (read_all(rows[i].octets, rows[i].len, &records)
			!= NSD_E_WIRE)
			fail_msg("row %u is not refused", i);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_and_serials_are_told),
		cmocka_unit_test(what_is_cut_is_not_sound_but_between_records),
		cmocka_unit_test(pieces_are_as_the_whole),
		cmocka_unit_test(written_records_are_read),
		cmocka_unit_test(broken_rules_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
