/*
 * test_reader_names.c - owners in transfers, however they are compressed, and
 * options in replies.
 */
#include "script.h"

#include "xfr/reader.h"

struct kept {
	uint8_t octets[65536];
	size_t len;
};

static enum nsd_err
on_octets(void *ctx, const uint8_t *octets, size_t len)
{
	struct kept *kept = ctx;

	assert_true(kept->len + len <= sizeof(kept->octets));
	memcpy(kept->octets + kept->len, octets, len);
	kept->len += len;
	return NSD_OK;
}

static enum xfr_verdict
take(const struct script_message *m, bool is_first, struct kept *kept,
	struct xfr_reader *reader)
{
	static struct xfr_room room;
	struct xfr_read_setup setup = {
		.apex = SCRIPT_APEX,
		.asking = XFR_ASK_AXFR,
		.id = SCRIPT_ID,
		.sink = {on_octets, kept},
	};

	if (is_first)
		xfr_reader_init(reader, &setup);
	return xfr_reader_take(reader, m->octets, m->len, 0, &room);
}

/* The owner of the record at this place among those that were kept. */
static void
expect_owner(const struct kept *kept, unsigned place, const char *owner)
{
	struct changes changes;
	struct changes_rr rr;

	assert_int_equal(changes_open(&changes, kept->octets, kept->len),
		NSD_OK);
	for (unsigned i = 0; i <= place; i++)
		assert_int_equal(changes_read(&changes, &rr), NSD_OK);
	assert_int_equal(rr.owner_len, strlen(owner) + 1);
	assert_memory_equal(rr.owner, owner, rr.owner_len);
}

static void
add_a(struct script_message *m, const void *owner, size_t len)
{
	script_put(m, owner, len);
	script_rr(m, TYPE_A, CLASS_IN, "\xc0\0\2\1", 4);
}

/* RFC 1035 section 4.1.4 */
static void
owners_are_expanded_however_they_are_compressed(void **state)
{
	struct kept kept = {.len = 0};
	const char *script = "S7 aa";
	struct script_message m;
	struct xfr_reader reader;
	uint8_t at_a, at_b;

	assert_true(script_next(&script, TYPE_AXFR, &m));
	at_a = (uint8_t)(m.len - 18); /* where the owner of aa is */
	add_a(&m, "\001B\xc0\x0c", 4);
	at_b = (uint8_t)(m.len - 18);
	add_a(&m, (const uint8_t[]){0xc0, at_a}, 2);
	add_a(&m, (const uint8_t[]){0xc0, at_b}, 2);
	add_a(&m, (const uint8_t[]){1, 'C', 0xc0, at_b}, 4);
	add_a(&m, "\001d\001Z", 5);
	assert_int_equal(take(&m, true, &kept, &reader), XFR_READ_MORE);
	expect_owner(&kept, 1, "\001a\001z");
	expect_owner(&kept, 2, "\001b\001z");
	expect_owner(&kept, 3, "\001a\001z");
	expect_owner(&kept, 4, "\001b\001z");
	expect_owner(&kept, 5, "\001c\001b\001z");
	expect_owner(&kept, 6, "\001d\001z");
}

/* A message without a question has another name in its place. */
static void
place_of_the_question_may_hold_another_name(void **state)
{
	struct kept kept = {.len = 0};
	const char *script = "S7 | q0 Ab aa";
	struct script_message m;
	struct xfr_reader reader;

	assert_true(script_next(&script, TYPE_AXFR, &m));
	assert_int_equal(take(&m, true, &kept, &reader), XFR_READ_MORE);
	assert_true(script_next(&script, TYPE_AXFR, &m));
	assert_int_equal(take(&m, false, &kept, &reader), XFR_READ_MORE);
	expect_owner(&kept, 1, "\001b\001z");
	expect_owner(&kept, 2, "\001a\001b\001z");
}

static void
owners_of_255_octets_are_taken_and_256_refused(void **state)
{
	for (unsigned longer = 0; longer < 2; longer++) {
		struct kept kept = {.len = 0};
		const char *script = "S7";
		uint8_t owner[256];
		struct script_message m;
		struct xfr_reader reader;
		size_t len = 252 + longer; /* and "\001z\0" */

		assert_true(script_next(&script, TYPE_AXFR, &m));
		memset(owner, 'a', sizeof(owner));
		owner[0] = owner[64] = owner[128] = 63;
		owner[192] = (uint8_t)(59 + longer);
		memcpy(owner + len, "\xc0\x0c", 2);
		add_a(&m, owner, len + 2);
		assert_int_equal(take(&m, true, &kept, &reader),
			longer ? XFR_READ_FAILED : XFR_READ_MORE);
	}
}

/* RFC 7314 section 2: 4 octets, and a request has none. */
static void
expire_of_another_length_says_nothing(void **state)
{
	for (unsigned len = 0; len <= 4; len++) {
		struct kept kept = {.len = 0};
		const char *script = "S7 opt";
		struct script_message m;
		struct xfr_reader reader;

		assert_true(script_next(&script, TYPE_AXFR, &m));
		m.len -= 4 - len;
		m.octets[m.len - len - 1] = (uint8_t)len;
		m.octets[m.len - len - 5] = (uint8_t)(4 + len);
		assert_int_equal(take(&m, true, &kept, &reader),
			XFR_READ_MORE);
		assert_int_equal(reader.result.has_expire, len == 4);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			owners_are_expanded_however_they_are_compressed),
		cmocka_unit_test(place_of_the_question_may_hold_another_name),
		cmocka_unit_test(
			owners_of_255_octets_are_taken_and_256_refused),
		cmocka_unit_test(expire_of_another_length_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
