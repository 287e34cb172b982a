/* test_migrate.c - notes about a configuration of NSD 4. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/migrate.h"
#include "conf/parser.h"
#include "lib/failing.h"

/* Notes as lines `LINE KIND OPTION +MORE`. */
struct notes {
	char text[4096];
	size_t len;
};

static void
take_note(void *ctx, const struct conf_migrate_note *note)
{
	struct notes *notes = ctx;

	notes->len += (size_t)snprintf(notes->text + notes->len,
		sizeof(notes->text) - notes->len, "%u %u %s +%u\n",
		(unsigned)note->line, (unsigned)note->kind,
		note->option != NULL ? note->option : "-",
		(unsigned)note->more);
	assert_true(notes->len < sizeof(notes->text));
	assert_non_null(note->file);
	assert_non_null(note->text);
}

static enum nsd_err
migrate_text(const char *text, struct notes *notes)
{
	char path[] = "/tmp/nsd-migrate-XXXXXX";
	const struct conf_migrate_reader reader = {
		.ctx = notes, .on_note = take_note };
	struct diag_sink sink = { .on_diag = NULL };
	struct conf *conf = NULL;
	int fd = mkstemp(path);
	enum nsd_err err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	notes->len = 0;
	notes->text[0] = '\0';
	err = conf_migrate(path, &sink, &reader, &conf);
	unlink(path);
	assert_true((err == NSD_OK) == (conf != NULL));
	conf_destroy(conf);
	return err;
}

static void
rows_name_options(void **state)
{
	size_t i;

	for (i = 0; i < migrate_row_count; i++) {
		const struct migrate_row *row = &migrate_rows[i];

		assert_non_null(option_find((enum conf_clause)row->clause,
			row->name));
		assert_true(row->kind < CONF_MIGRATE_KINDS);
		assert_non_null(row->text);
	}
}

/* Options of which something is said unless they are set. */
#define LIMIT "rrl-ratelimit: 1 remote-control: control-enable: no server:\n"

static void
lines_are_told_in_their_order(void **state)
{
	struct notes notes;

	assert_int_equal(migrate_text("server: use-systemd: no\n" LIMIT
		"pattern: name: p\nsize-limit-xfr: 7\nmulti-master-check: yes\n"
		"server: reload-config: yes\ndifffile: x\n", &notes), NSD_OK);
	assert_string_equal(notes.text, "1 2 use-systemd +0\n"
		"4 3 size-limit-xfr +0\n5 3 multi-master-check +0\n"
		"6 3 reload-config +0\n7 2 difffile +0\n");
}

static void
each_line_is_told_only_where_something_is_to_do(void **state)
{
	struct notes notes;

	assert_int_equal(migrate_text("server:\n" LIMIT
		"xdp-interface: a\nxdp-interface: b\nxdp-interface: \"\"\n"
		"use-systemd: no\nuse-systemd: yes\n"
		"pattern: name: p size-limit-xfr: 0\n"
		"pattern: name: q size-limit-xfr: 1\n"
		"pattern: name: r size-limit-xfr: 0\n"
		"zone: name: z zonefile: z size-limit-xfr: 2\n", &notes),
		NSD_OK);
	assert_string_equal(notes.text, "3 2 xdp-interface +2\n"
		"6 2 use-systemd +1\n9 3 size-limit-xfr +1\n");
	assert_int_equal(migrate_text("server:\n" LIMIT
		"xdp-interface: a\n", &notes), NSD_OK);
	assert_string_equal(notes.text, "3 4 xdp-interface +0\n");
}

/* In the clause, in one that goes on, by another name, by a pattern. */
static void
lines_whose_value_is_replaced_are_left_out(void **state)
{
	struct notes notes;

	assert_int_equal(migrate_text("server:\n" LIMIT
		"reload-config: yes\nreload-config: no\ndatabase: x\n"
		"pattern: name: p size-limit-xfr: 0\n"
		"server: database: \"\"\n"
		"pattern: name: q\nmulti-master-check: yes\n"
		"multi-primary-check: no\n"
		"size-limit-xfr: 7\ninclude-pattern: p\n"
		"zone: name: z zonefile: z\nsize-limit-xfr: 8\n"
		"zone: name: y zonefile: y size-limit-xfr: 0\n", &notes),
		NSD_OK);
	assert_string_equal(notes.text, "14 3 size-limit-xfr +0\n");
}

static void
the_last_value_is_told(void **state)
{
	struct notes notes;

	assert_int_equal(migrate_text("server:\n" LIMIT
		"reload-config: no\nreload-config: yes\n"
		"pattern: name: q\nsize-limit-xfr: 0\nsize-limit-xfr: 8\n"
		"allow-query: ::1-::2 NOKEY\nallow-query: ::3 NOKEY\n",
		&notes), NSD_OK);
	assert_string_equal(notes.text, "4 3 reload-config +0\n"
		"7 3 size-limit-xfr +0\n8 3 allow-query +0\n");
}

static void
a_period_of_writing_that_is_not_set_is_told(void **state)
{
	static const char written[] = "rrl-ratelimit: 1\nremote-control: "
		"control-enable: yes\npattern: name: p zonefile: %s "
		"request-xfr: ::1 NOKEY\n";
	static const char *const without[] = { "database: \"\"",
		"zonefiles-write: 0", "zonefiles-write: 7" };
	char text[512];
	struct notes notes;
	size_t i;

	snprintf(text, sizeof(text), "server:\n%s", written);
	assert_int_equal(migrate_text(text, &notes), NSD_OK);
	assert_string_equal(notes.text, "0 3 zonefiles-write +0\n");
	for (i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		snprintf(text, sizeof(text), "server: %s\n%s", without[i],
			written);
		assert_int_equal(migrate_text(text, &notes), NSD_OK);
		assert_string_equal(notes.text, "");
	}
	assert_int_equal(migrate_text("server:\n" LIMIT
		"pattern: name: p request-xfr: ::1 NOKEY\n"
		"zone: name: z zonefile: z\n", &notes), NSD_OK);
	assert_string_equal(notes.text, "");
}

static void
lines_are_told_beside_errors(void **state)
{
	struct notes notes;

	assert_int_equal(migrate_text("server:\n" LIMIT "reload-config: yes\n"
		"difffile: x\nport: x\nno-such: 1\nzone: name: a..b\n"
		"request-xfr: ::1 k\nallow-notify: ::1-::2 k\n", &notes),
		NSD_E_SYNTAX);
	assert_string_equal(notes.text, "3 3 reload-config +0\n"
		"4 2 difffile +0\n9 3 allow-notify +0\n");
}

static void
nothing_is_said_of_what_is_as_it_was(void **state)
{
	struct notes notes;

	assert_int_equal(migrate_text("server:\n" LIMIT
		"ip-address: ::1\nserver-count: 2\nreuseport: yes\n"
		"remote-control: control-enable: yes\n"
		"zone: name: z zonefile: z\n", &notes), NSD_OK);
	assert_string_equal(notes.text, "");
}

static void
without_memory_nothing_is_left(void **state)
{
	struct notes notes;
	enum nsd_err err;
	int count;

	for (count = 0; count < 10000; count++) {
		err = FAILING_FROM(count, migrate_text("server:\n" LIMIT
			"reload-config: yes\ndifffile: x\n", &notes));
		if (err == NSD_OK)
			break;
		assert_int_equal(err, NSD_E_MEMORY);
	}
	assert_true(count > 3 && count < 10000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_name_options),
		cmocka_unit_test(lines_are_told_in_their_order),
		cmocka_unit_test(
			each_line_is_told_only_where_something_is_to_do),
		cmocka_unit_test(lines_whose_value_is_replaced_are_left_out),
		cmocka_unit_test(the_last_value_is_told),
		cmocka_unit_test(a_period_of_writing_that_is_not_set_is_told),
		cmocka_unit_test(lines_are_told_beside_errors),
		cmocka_unit_test(nothing_is_said_of_what_is_as_it_was),
		cmocka_unit_test(without_memory_nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
