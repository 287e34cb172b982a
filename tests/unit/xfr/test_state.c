/* test_state.c - xfrd.state is read as NSD writes it, refused as a whole when
 * wrong, and its dates are believed as far as they can be true. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "xfr/state.h"

#define ZONES_MAX 8

struct found {
	struct diag_sink sink; /* first, so that on_diag finds the rest */
	struct xfr_state_parser parser;
	struct xfr_state_zone zones[ZONES_MAX];
	unsigned count;
	uint32_t error_line;
	char error[256];
};

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct found *found = (struct found *)sink;

	found->error_line = d->line;
	snprintf(found->error, sizeof(found->error), "%s", d->text);
}

static void
on_zone(void *context, const struct xfr_state_zone *zone)
{
	struct found *found = context;

	assert_true(found->count < ZONES_MAX);
	found->zones[found->count++] = *zone;
}

static enum nsd_err
parse(struct found *found, const char *text, size_t len)
{
	enum nsd_err err;

	memset(found, 0, sizeof(*found));
	found->sink.on_diag = on_diag;
	xfr_state_parse_begin(&found->parser, "xfrd.state", &found->sink);
	found->parser.on_zone = on_zone;
	found->parser.context = found;
	err = xfr_state_parse(&found->parser, text, len);
	return err != NSD_OK ? err : xfr_state_parse_end(&found->parser);
}

static size_t
read_nsds_file(char *text, size_t size)
{
	FILE *file = fopen(TESTS_DIR "/fuzz/corpus/state/nsd", "r");
	size_t len;

	assert_non_null(file);
	len = fread(text, 1, size, file);
	fclose(file);
	assert_true(len > 0 && len < size);
	return len;
}

static void
assert_name(const uint8_t *name, const char *expected)
{
	char text[NAME_TEXT_MAX];

	name_print_text(name, text);
	assert_string_equal(text, expected);
}

/* The file was written by NSD 4.6.1. */
static void
file_of_nsd_is_read(void **state)
{
	static struct found found;
	static char text[8192];
	const struct xfr_state_zone *z = found.zones;
	size_t len = read_nsds_file(text, sizeof(text));

	assert_int_equal(parse(&found, text, len), NSD_OK);
	assert_int_equal(found.count, 4);
	assert_true(found.parser.filetime_sec == 1795367018);
	assert_name(z[0].name, ".");
	assert_int_equal(z[0].soas[XFR_STATE_DISK].serial, UINT32_MAX);
	assert_name(z[1].name, "example.com.");
	assert_int_equal(z[1].next_timeout_sec, 3402);
	assert_int_equal(z[1].next_master, -1);
	assert_true(z[1].soas[XFR_STATE_NSD].acquired_sec == 1795367014);
	assert_name(z[1].soas[XFR_STATE_NSD].rname,
		"host\\.master.example.com.");
	assert_int_equal(z[1].soas[XFR_STATE_NSD].retry_sec, 900);
	assert_int_equal(z[1].soas[XFR_STATE_DISK].minimum_sec, 300);
	assert_true(z[1].soas[XFR_STATE_NOTIFY].acquired_sec == 0);
	assert_int_equal(z[2].state, 1);
	assert_int_equal(z[2].backoff, 2);
	assert_true(z[2].soas[XFR_STATE_DISK].acquired_sec == 0);
	assert_name(z[3].name, "odd\\.lab\\032el.test.");
	assert_name(z[3].soas[XFR_STATE_NSD].mname, "a\\;b\\\"c.test.");
}

/* A cut ends the file too early, or within a required word. */
static void
file_cut_anywhere_is_refused(void **state)
{
	static struct found found;
	static char text[8192];
	size_t len = read_nsds_file(text, sizeof(text));

	while (text[len - 1] == '\n')
		len--;
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(parse(&found, text, cut), NSD_E_SYNTAX);
	assert_int_equal(parse(&found, text, len), NSD_OK);
	text[len] = 'x';
	assert_int_equal(parse(&found, text, len + 1), NSD_E_SYNTAX);
}

#define HEAD "NSDXFRD2\nfiletime: 1\nnumzones: 1\nzone: name: a\nstate: 0\n"
#define TIMES "master: 0 next_master: -1 round_num: -1 next_timeout: 0 "
#define NO_SOA "soa_nsd_acquired: 0 soa_disk_acquired: 0 " \
	"soa_notify_acquired: 0\n"
#define SOA(fields) HEAD TIMES "backoff: 0 soa_nsd_acquired: 1\nsoa_nsd: " \
	fields " soa_disk_acquired: 0 soa_notify_acquired: 0 NSDXFRD2\n"

static void
wrong_words_are_told_with_their_line(void **state)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *error;
	} rows[] = {
		{"", 1, "expected NSDXFRD2, found the end of the file"},
		{"NSDXFRD1\n", 1, "expected NSDXFRD2, found NSDXFRD1"},
		{"NSDXFRD2\n#\nfiletime: x ", 3,
			"expected a date in seconds, found x"},
		{"NSDXFRD2 filetime: 9999999999999999999 ", 1,
			"expected a date in seconds, "
			"found 9999999999999999999"},
		{"NSDXFRD2 filetime: 1 numzones: 4294967296 ", 1,
			"expected a number, found 4294967296"},
		{"NSDXFRD2 filetime: 1 numzones: 0 zone: ", 1,
			"expected NSDXFRD2, found zone:"},
		{"NSDXFRD2 filetime: 1 numzones: 1 NSDXFRD2\n", 1,
			"expected zone:, found NSDXFRD2"},
		{"NSDXFRD2 filetime: 1 numzones: 0 NSDXFRD2 more ", 1,
			"expected the end of the file, found more"},
		{"NSDXFRD2 filetime: 1 numzones: 1 zone: name: a..b\n", 1,
			"expected a domain name, found a..b"},
		{"NSDXFRD2 filetime: 1 numzones: 1 zone: name: a state: 3 ", 1,
			"expected 0, 1 or 2, found 3"},
		{HEAD "master: -1 ", 6, "expected a number, found -1"},
		{HEAD "master: 0 next_master: -2 ", 6,
			"expected a number or -1, found -2"},
		{HEAD TIMES "backoff: 0 " "soa_disk_acquired: 0 ", 6,
			"expected soa_nsd_acquired:, "
			"found soa_disk_acquired:"},
		{SOA("7 1 0 7 a. b. 1 2 3 4 5"), 7, "expected 6, found 7"},
		{SOA("6 1 0 7 a. b. 1 2 3 4"), 7,
			"expected a number, found soa_disk_acquired:"},
		{SOA("6 1 0 7 a. b. 1 2 3 4 5 6"), 7,
			"expected soa_disk_acquired:, found 6"},
	};
	static struct found found;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(parse(&found, rows[i].text,
			strlen(rows[i].text)), NSD_E_SYNTAX);
		assert_string_equal(found.error, rows[i].error);
		assert_int_equal(found.error_line, rows[i].line);
		assert_int_equal(found.sink.errors, 1);
	}
	assert_int_equal(parse(&found, SOA("6 1 0 7 a. b. 1 2 3 4 5"),
		strlen(SOA("6 1 0 7 a. b. 1 2 3 4 5"))), NSD_OK);
	assert_int_equal(found.zones[0].soas[0].minimum_sec, 5);
}

static void
nul_and_long_words_are_refused(void **state)
{
	static const char nul[] = "NSDXFRD2\0 filetime: 1 ";
	static struct found found;
	static char word[XFR_STATE_WORD_MAX + 1];

	assert_int_equal(parse(&found, nul, sizeof(nul) - 1), NSD_E_SYNTAX);
	memset(word, 'a', sizeof(word));
	assert_int_equal(parse(&found, word, sizeof(word)), NSD_E_SYNTAX);
	assert_string_equal(found.error,
		"expected a word, found one that is too long");
}

/* The words that NSD reads; its comments are not ours. */
static size_t
strip(const char *text, char *out)
{
	size_t len = 0;
	bool in_comment = false;

	for (; *text != '\0'; text++) {
		in_comment = *text == '#' || (in_comment && *text != '\n');
		if (!in_comment && (*text != '\n' || len == 0
				|| out[len - 1] != '\n'))
			out[len++] = *text;
	}
	out[len] = '\0';
	return len;
}

/* Comments of zones included, but for the date at the head. */
static void
what_is_printed_is_what_nsd_writes(void **state)
{
	static struct found found;
	static char nsds[8192], ours[8192 + 4 * XFR_STATE_TEXT_MAX];
	size_t len = read_nsds_file(nsds, sizeof(nsds)), at;
	const char *from;

	assert_int_equal(parse(&found, nsds, len), NSD_OK);
	nsds[len] = '\0';
	/* NSD has the count of fields in one order of octets, then in the
	 * other. */
	for (char *p = nsds; (p = strstr(p, " 1792 ")) != NULL;) {
		memcpy(p, " 7 ", 3);
		memmove(p + 3, p + 6, strlen(p + 6) + 1);
	}
	at = xfr_state_print_head(found.parser.filetime_sec, 4, ours);
	for (unsigned i = 0; i < 4; i++)
		at += xfr_state_print_zone(&found.zones[i],
			found.parser.filetime_sec, ours + at);
	at += xfr_state_print_tail(ours + at);
	assert_int_equal(at, strlen(ours));
	/* Names end in a dot here. */
	from = strstr(ours, "zone: \tname: .\n");
	assert_non_null(from);
	assert_int_equal(strncmp(from, strstr(nsds, "zone: \tname: .\n"),
		strstr(from, "zone: \tname: e") - from), 0);
	strip(ours, ours);
	assert_int_equal(parse(&found, ours, strlen(ours)), NSD_OK);
	assert_name(found.zones[3].soas[XFR_STATE_DISK].rname,
		"\\255x\\032y.test.");
}

static void
name_that_begins_like_a_comment_is_escaped(void **state)
{
	static const struct xfr_state_zone zone = {.name = "\2#a"};
	static struct found found;
	static char text[3 * XFR_STATE_TEXT_MAX];
	size_t len = xfr_state_print_head(5, 1, text);

	len += xfr_state_print_zone(&zone, 5, text + len);
	len += xfr_state_print_tail(text + len);
	assert_int_equal(parse(&found, text, len), NSD_OK);
	assert_name(found.zones[0].name, "#a.");
	assert_non_null(strstr(text, "# when it starts, and writes them once a"
		" minute"));
}

/* The longest names and numbers. */
static void
longest_zone_has_room(void **state)
{
	static struct xfr_state_zone zone;
	static char text[XFR_STATE_TEXT_MAX];
	uint8_t name[NAME_MAX_LEN];

	memset(name, 1, sizeof(name));
	name[0] = name[64] = name[128] = 63;
	name[192] = 61;
	name[254] = 0;
	zone = (struct xfr_state_zone){.state = 2, .master = UINT32_MAX,
		.next_master = INT32_MAX, .round_num = INT32_MAX,
		.next_timeout_sec = UINT32_MAX, .backoff = UINT32_MAX};
	memcpy(zone.name, name, sizeof(name));
	for (unsigned i = 0; i < XFR_STATE_SOAS; i++) {
		struct xfr_state_soa *soa = &zone.soas[i];

		*soa = (struct xfr_state_soa){.acquired_sec = INT64_MAX / 4096,
			.ttl_sec = UINT32_MAX, .serial = UINT32_MAX,
			.refresh_sec = UINT32_MAX, .retry_sec = UINT32_MAX,
			.expire_sec = UINT32_MAX, .minimum_sec = UINT32_MAX};
		memcpy(soa->mname, name, sizeof(name));
		memcpy(soa->rname, name, sizeof(name));
	}
	assert_true(xfr_state_print_zone(&zone, INT64_MAX / 4096 + 1, text)
		< sizeof(text));
}

/* ---- dates -------------------------------------------------------------- */

static const struct xfr_soa served = {.serial = 7, .refresh_sec = 3600,
	.retry_sec = 600, .expire_sec = 604800};

/* A zone whose SOA was fresh `age_sec` ago. */
static struct xfr_state_zone
zone_of_age(int64_t real_sec, int64_t age_sec)
{
	struct xfr_state_zone zone = {.state = XFR_STATE_REFRESHING,
		.next_timeout_sec = 1000, .backoff = 3};

	zone.soas[XFR_STATE_DISK].acquired_sec = real_sec - age_sec;
	zone.soas[XFR_STATE_DISK].serial = 7;
	return zone;
}

static void
times_are_those_of_the_file_moved_to_the_clock(void **state)
{
	const struct xfr_state_clocks clocks = {1800000000, 50000};
	struct xfr_state_zone zone = zone_of_age(clocks.real_sec, 300);
	struct xfr_start start;

	xfr_state_to_start(&zone, clocks.real_sec - 100, &clocks, &served,
		&start);
	assert_true(start.has_data);
	assert_true(start.acquired_at == 50000 - 300000);
	assert_true(start.check_at == 50000 + 900000);
	assert_true(start.expire_at == XFR_NEVER);
	assert_int_equal(start.failed_rounds, 3);
	zone.state = XFR_STATE_EXPIRED;
	xfr_state_to_start(&zone, clocks.real_sec - 2000, &clocks, &served,
		&start);
	assert_true(start.expire_at == 50000);
	assert_true(start.check_at == 50000);
}

static void
nonsense_is_fresh_now_and_checked_soon(void **state)
{
	const struct xfr_state_clocks clocks = {1800000000, 50000};
	struct xfr_state_zone zone;
	struct xfr_start start;

	/* A date of the future. */
	zone = zone_of_age(clocks.real_sec, -100);
	xfr_state_to_start(&zone, clocks.real_sec, &clocks, &served, &start);
	assert_true(start.acquired_at == 50000 && start.check_at == 50000);
	assert_true(start.expire_at == XFR_NEVER);
	/* A zone that had expired is not revived by a clock. */
	zone.state = XFR_STATE_EXPIRED;
	xfr_state_to_start(&zone, clocks.real_sec, &clocks, &served, &start);
	assert_true(start.check_at == 50000 && start.expire_at == 50000);
	/* A file of the future. */
	zone = zone_of_age(clocks.real_sec, 300);
	xfr_state_to_start(&zone, clocks.real_sec + 100, &clocks, &served,
		&start);
	assert_true(start.acquired_at == 50000 - 300000);
	assert_true(start.check_at == 50000);
	/* A serial other than that of the data. */
	zone.soas[XFR_STATE_DISK].serial = 8;
	xfr_state_to_start(&zone, clocks.real_sec, &clocks, &served, &start);
	assert_true(start.acquired_at == 50000 && start.check_at == 50000);
	/* A clock that begins in 1970, dates of the end of time. */
	zone = zone_of_age(0, -(INT64_MAX / 4096));
	xfr_state_to_start(&zone, INT64_MAX / 4096,
		&(struct xfr_state_clocks){0, 0}, &served, &start);
	assert_true(start.acquired_at == 0 && start.check_at == 0);
	zone = zone_of_age(INT64_MAX / 4096, INT64_MAX / 4096 - 1);
	xfr_state_to_start(&zone, 0,
		&(struct xfr_state_clocks){INT64_MAX / 4096, 0}, &served,
		&start);
	assert_true(start.acquired_at < 0 && start.check_at == 0);
	/* A zone that the file does not have; a zone without data. */
	xfr_state_to_start(NULL, 0, &clocks, &served, &start);
	assert_true(start.has_data && start.acquired_at == 50000);
	xfr_state_to_start(&zone, 0, &clocks, NULL, &start);
	assert_false(start.has_data);
}

/* NSD 4 leaves such a backoff in zones that it has refreshed. */
static void
backoff_of_a_zone_that_is_well_is_no_failure(void **state)
{
	const struct xfr_state_clocks clocks = {1800000000, 50000};
	struct xfr_state_zone zone = zone_of_age(clocks.real_sec, 300);
	struct xfr_start start;

	zone.state = XFR_STATE_OK;
	xfr_state_to_start(&zone, clocks.real_sec, &clocks, &served, &start);
	assert_int_equal(start.failed_rounds, 0);
	zone.state = XFR_STATE_EXPIRED;
	xfr_state_to_start(&zone, clocks.real_sec, &clocks, &served, &start);
	assert_int_equal(start.failed_rounds, 3);
}

static void
status_goes_through_the_file_and_back(void **state)
{
	const struct xfr_state_clocks clocks = {1800000000, 5000000};
	const struct xfr_status status = {.state = XFR_STATE_REFRESHING,
		.has_data = true, .soa = served, .acquired_at = 4000000,
		.served_at = 1000000, .check_at = 5600000,
		.expire_at = 9000000000, .failed_rounds = 2,
		.next_primary = 1};
	struct xfr_state_zone zone;
	struct xfr_start start;

	xfr_state_from_status(&status, &clocks, &zone);
	assert_true(zone.soas[XFR_STATE_NSD].acquired_sec == 1799996000);
	assert_true(zone.soas[XFR_STATE_NOTIFY].acquired_sec == 0);
	assert_int_equal(zone.master, 1);
	/* Ten seconds later, by another clock. */
	xfr_state_to_start(&zone, clocks.real_sec,
		&(struct xfr_state_clocks){1800000010, 77000}, &served,
		&start);
	assert_true(start.acquired_at == 77000 - 1010000);
	assert_true(start.check_at == 77000 + 590000);
	assert_int_equal(start.failed_rounds, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_of_nsd_is_read),
		cmocka_unit_test(file_cut_anywhere_is_refused),
		cmocka_unit_test(wrong_words_are_told_with_their_line),
		cmocka_unit_test(nul_and_long_words_are_refused),
		cmocka_unit_test(what_is_printed_is_what_nsd_writes),
		cmocka_unit_test(name_that_begins_like_a_comment_is_escaped),
		cmocka_unit_test(longest_zone_has_room),
		cmocka_unit_test(
			times_are_those_of_the_file_moved_to_the_clock),
		cmocka_unit_test(nonsense_is_fresh_now_and_checked_soon),
		cmocka_unit_test(backoff_of_a_zone_that_is_well_is_no_failure),
		cmocka_unit_test(status_goes_through_the_file_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
