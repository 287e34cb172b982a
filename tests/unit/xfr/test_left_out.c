/*
 * test_left_out.c - records of a transfer that are outside the zone, and
 * messages of pointers: how much of them counts (doc/faults.md, 55 and 57).
 */
#include "script.h"

#include "xfr/reader.h"

struct run {
	struct xfr_reader reader;
	struct xfr_room room;
	uint8_t kept[1u << 21]; /* octets passed on */
	size_t kept_len;
};

static enum nsd_err
on_octets(void *ctx, const uint8_t *octets, size_t len)
{
	struct run *run = ctx;

	assert_true(run->kept_len + len <= sizeof(run->kept));
	memcpy(run->kept + run->kept_len, octets, len);
	run->kept_len += len;
	return NSD_OK;
}

/* 0: no limit. */
static void
run_init(struct run *run, uint64_t octets_max)
{
	const struct xfr_read_setup setup = {
		.apex = SCRIPT_APEX,
		.asking = XFR_ASK_AXFR,
		.id = SCRIPT_ID,
		.octets_max = octets_max,
		.sink = {on_octets, run},
	};

	run->kept_len = 0;
	xfr_reader_init(&run->reader, &setup);
}

/* Takes all messages of a script; the last verdict is the one expected. */
static void
run_script(struct run *run, const char *script, enum xfr_verdict expected)
{
	enum xfr_verdict verdict = XFR_READ_MORE;
	struct script_message m;

	run_init(run, 0);
	while (script_next(&script, TYPE_AXFR, &m)) {
		assert_int_equal(verdict, XFR_READ_MORE);
		verdict = xfr_reader_take(&run->reader, m.octets, m.len, 0,
			&run->room);
	}
	assert_int_equal(verdict, expected);
}

/* Takes a copy of just that size, so that a sanitizer sees an over-read. */
static enum xfr_verdict
run_take(struct run *run, const uint8_t *octets, size_t len)
{
	uint8_t *copy = malloc(len);
	enum xfr_verdict verdict;

	assert_non_null(copy);
	memcpy(copy, octets, len);
	verdict = xfr_reader_take(&run->reader, copy, len, 0, &run->room);
	free(copy);
	return verdict;
}

static void
result_tells_of_what_is_left_out(void **state)
{
	struct run *run = malloc(sizeof(*run));
	const struct xfr_left_out *left_out = &run->reader.result.left_out;

	assert_non_null(run);
	run_script(run, "S7 n aa S7", XFR_READ_DONE);
	assert_int_equal(left_out->records, 0);
	run_script(run, "S7 n oB p | oc aa S7", XFR_READ_DONE);
	assert_int_equal(left_out->records, 3);
	assert_int_equal(left_out->octets, 3 * (1 + 3 + 8 + 4));
	assert_int_equal(left_out->type, TYPE_A);
	assert_memory_equal(left_out->owner, "\001b", 3);
	assert_int_equal(run->reader.result.records, 7);
	assert_int_equal(run->reader.result.octets, run->kept_len);
	free(run);
}

/* S7, then NS records whose owner and target are one name of 255 octets, by
 * pointers. end: what follows 3 labels of 63 octets in it. Returns the octets
 * of the message, *count: the NS records. */
static size_t
make_compressed(uint8_t *octets, const void *end, size_t end_len,
	uint16_t *count)
{
	struct script_message *m = malloc(sizeof(*m));
	const char *script = "S7";
	uint8_t at;
	size_t len;

	assert_non_null(m);
	script_next(&script, TYPE_AXFR, m);
	memcpy(octets, m->octets, len = m->len);
	at = (uint8_t)len;
	free(m);
	for (unsigned i = 0; i < 3; i++) {
		octets[len] = 63;
		memset(octets + len + 1, 'a', 63);
		len += 64;
	}
	memcpy(octets + len, end, end_len);
	len += end_len;
	memcpy(octets + len, "\0\2\0\1\0\0\0\1\0\2\xc0", 11);
	octets[len + 11] = at;
	len += 12;
	for (*count = 1; len + 14 <= 40000; len += 14, ++*count) {
		memcpy(octets + len, "\xc0\0\0\2\0\1\0\0\0\1\0\2\xc0\0", 14);
		octets[len + 1] = octets[len + 13] = at;
		octets[len + 9] = (uint8_t)(*count + 1);
	}
	octets_put_u16(octets + MESSAGE_ANCOUNT, (uint16_t)(*count + 1));
	return len;
}

/* 57: records that are left out of a message of pointers count as if they were
 * kept. */
static void
left_out_counts_against_the_limit(void **state)
{
	struct run *run = malloc(sizeof(*run));
	uint8_t *octets = calloc(1, MESSAGE_MAX_LEN), end[63] = {61};
	uint16_t count;
	uint64_t all;
	size_t len;

	assert_true(run != NULL && octets != NULL);
	memset(end + 1, 'b', 61);
	len = make_compressed(octets, end, sizeof(end), &count);
	run_init(run, 0);
	assert_int_equal(run_take(run, octets, len), XFR_READ_MORE);
	assert_int_equal(run->reader.result.left_out.records, count);
	assert_int_equal(run->reader.result.octets, run->kept_len);
	assert_true(run->kept_len < 200);
	all = run->reader.result.octets
		+ run->reader.result.left_out.octets;
	assert_int_equal(all, run->kept_len
		+ count * (1ull + 255 + 8 + 255));
	run_init(run, all);
	assert_int_equal(run_take(run, octets, len), XFR_READ_MORE);
	run_init(run, all - 1);
	assert_int_equal(run_take(run, octets, len), XFR_READ_FAILED);
	assert_int_equal(run->reader.result.fault, XFR_FAULT_OCTETS);
	free(octets);
	free(run);
}

/* A message of pointers brings 40 times its octets, and more than the room:
 * they are given on in parts. */
static void
compressed_message_is_given_on_in_parts(void **state)
{
	struct run *run = malloc(sizeof(*run));
	uint8_t *octets = calloc(1, MESSAGE_MAX_LEN), end[62] = {59};
	struct changes changes;
	struct changes_rr rr;
	uint16_t count;
	size_t len;

	assert_true(run != NULL && octets != NULL);
	memset(end + 1, 'a', 59);
	memcpy(end + 60, "\xc0\x0c", 2);
	len = make_compressed(octets, end, sizeof(end), &count);
	run_init(run, 0);
	assert_int_equal(run_take(run, octets, len), XFR_READ_MORE);
	assert_true(run->kept_len > 20 * len);
	assert_int_equal(changes_open(&changes, run->kept,
		run->kept_len), NSD_OK);
	while (changes_read(&changes, &rr) == NSD_OK)
		if (rr.type == TYPE_NS) {
			assert_int_equal(rr.owner_len, 255);
			assert_int_equal(rr.rdlen, 255);
			assert_memory_equal(rr.owner, rr.rdata, 255);
		}
	assert_int_equal(changes.records, count + 1u);
	free(octets);
	free(run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(result_tells_of_what_is_left_out),
		cmocka_unit_test(left_out_counts_against_the_limit),
		cmocka_unit_test(compressed_message_is_given_on_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
