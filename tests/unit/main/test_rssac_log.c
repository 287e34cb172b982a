/* test_rssac_log.c - the figures of RSSAC002 of a period, in the log. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "lib/log_folder.h"
#include "main/rssac_log.h"
#include "process/counts.h"

#define DAY 86400

/* Two workers. */
struct fixture {
	struct server server;
	struct rssac_log log;
	char text[400000];
};

static struct fixture *
fixture_make(void)
{
	struct fixture *f = aligned_alloc(64, (sizeof(*f) + 63) & ~63u);

	assert_non_null(f);
	memset(f, 0, sizeof(*f));
	assert_int_equal(counts_create(&(struct counts_options){2, 0, 1, 0},
		&f->server.counts), NSD_OK);
	return f;
}

/* Writes the figures and reads the lines. */
static void
fixture_write(struct fixture *f, time_t now)
{
	FILE *file;
	size_t len;

	assert_int_equal(ftruncate(log_fd(), 0), 0);
	rssac_log_write(&f->log, &f->server, now);
	file = fopen("log", "r");
	assert_non_null(file);
	len = fread(f->text, 1, sizeof(f->text) - 1, file);
	f->text[len] = '\0';
	fclose(file);
}

static void
expect_line(const struct fixture *f, const char *line)
{
	if (strstr(f->text, line) == NULL)
		fail_msg("no \"%s\" in\n%s", line, f->text);
}

static void
count_some(struct fixture *f)
{
	for (unsigned i = 0; i < 2; i++) {
		struct rssac *rssac = counts_get_rssac(f->server.counts, i);
		struct counters_block block;

		counts_get_block(f->server.counts, i, &block);
		block.rows->udp += 10;
		block.rows->tcp6 += 1;
		block.rows->rcode[3] += 4;
		rssac->requests[RSSAC_UDP][2] += 10;
		rssac->replies[RSSAC_UDP][RSSAC_BINS - 1] += 3;
		rssac->replies[RSSAC_TCP][RSSAC_BINS - 2] += 1;
		rssac->sent[RSSAC_UDP][0] += 9;
		rssac->sources[RSSAC_IP4][5] = 1;
		rssac->sources[RSSAC_IP4][6 + i] = 1;
	}
}

static void
figures_are_sums_of_a_period(void **state)
{
	struct fixture *f = fixture_make();

	count_some(f); /* before it, so not in it */
	rssac_log_begin(&f->log, &f->server, 1000);
	fixture_write(f, 2000);
	expect_line(f, "RSSAC002 2000 1000 udp-request-sizes\n");
	expect_line(f, "num-sources-ipv4=0 num-sources-ipv6=0"
		" num-sources-ipv6-aggregate=0\n");
	count_some(f);
	fixture_write(f, 3000);
	expect_line(f, "RSSAC002 3000 1000 traffic-volume"
		" dns-udp-queries-received-ipv4=20"
		" dns-udp-queries-received-ipv6=0"
		" dns-tcp-queries-received-ipv4=0"
		" dns-tcp-queries-received-ipv6=2"
		" dns-udp-responses-sent-ipv4=18 ");
	expect_line(f, " udp-request-sizes 32-47=20\n");
	expect_line(f, " udp-response-sizes 4096-=6\n");
	expect_line(f, " tcp-request-sizes\n");
	expect_line(f, " tcp-response-sizes 4080-4095=2\n");
	expect_line(f, " rcode-volume 3=8\n");
	expect_line(f, " unique-sources num-sources-ipv4=3 ");
	rssac_log_begin(&f->log, &f->server, 3000);
	fixture_write(f, 3001);
	expect_line(f, "RSSAC002 3001 3000 rcode-volume\n");
	expect_line(f, " num-sources-ipv4=0 ");
	counts_destroy(f->server.counts);
	free(f);
}

/* More than a line of the log holds goes on in the next. */
static void
long_lines_are_continued(void **state)
{
	struct fixture *f = fixture_make();
	unsigned lines = 0, fields = 0;

	rssac_log_begin(&f->log, &f->server, 0);
	for (unsigned i = 0; i < RSSAC_BINS; i++)
		counts_get_rssac(f->server.counts, 0)
			->requests[RSSAC_UDP][i] = UINT64_MAX;
	fixture_write(f, 1);
	for (const char *at = f->text;
		(at = strstr(at, "udp-request-sizes ")) != NULL; at++)
		lines++;
	for (const char *at = f->text;
		(at = strstr(at, "=18446744073709551615")) != NULL; at++)
		fields++;
	assert_true(lines > 1);
	assert_int_equal(fields, RSSAC_BINS);
	counts_destroy(f->server.counts);
	free(f);
}

static void
day_ends_at_midnight(void **state)
{
	assert_int_equal(rssac_log_seconds_left(0), DAY);
	assert_int_equal(rssac_log_seconds_left(1), DAY - 1);
	assert_int_equal(rssac_log_seconds_left(DAY - 1), 1);
	assert_int_equal(rssac_log_seconds_left(20000 * (time_t)DAY), DAY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_sums_of_a_period),
		cmocka_unit_test(long_lines_are_continued),
		cmocka_unit_test(day_ends_at_midnight),
	};

	return cmocka_run_group_tests(tests, log_folder_setup,
		log_folder_teardown);
}
