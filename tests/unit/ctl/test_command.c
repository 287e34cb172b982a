/* test_command.c - the line of a client, taken apart. */
#include "config.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/command.h"

/* Parses a copy of a text. */
static enum nsd_err
parse(const char *text, struct ctl_command *command, char *error)
{
	static char line[CTL_LINE_MAX];

	snprintf(line, sizeof(line), "%s", text);
	error[0] = '\0';
	return ctl_command_parse(line, strlen(line), command, error);
}

static void
words_are_found_between_blanks(void **state)
{
	static const char *const texts[] = {
		"NSDCT1  reload example.test",
		"NSDCT1 reload example.test",
		"NSDCT1\t\treload \t example.test \t",
	};
	struct ctl_command command;
	char error[CTL_ERROR_MAX];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(parse(texts[i], &command, error), NSD_OK);
		assert_int_equal(command.verb, CTL_RELOAD);
		assert_int_equal(command.count, 1);
		assert_string_equal(command.arguments[0], "example.test");
		assert_false(command.no_wait || command.json);
	}
}

static void
flags_stand_before_the_verb(void **state)
{
	struct ctl_command command;
	char error[CTL_ERROR_MAX];

	assert_int_equal(parse("NSDCT1  --no-wait -j status", &command, error),
		NSD_OK);
	assert_true(command.no_wait && command.json);
	/* Words behind the verb are names of zones. */
	assert_int_equal(parse("NSDCT1  reload -j", &command, error), NSD_OK);
	assert_false(command.json);
	assert_string_equal(command.arguments[0], "-j");
}

static void
what_is_no_command_is_told(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{"", "error version mismatch"},
		{"NSDCT", "error version mismatch"},
		{"NSDCT0 status", "error version mismatch"},
		{"NSDCT11 status", "error version mismatch"},
		{"status", "error version mismatch"},
		{"NSDCT1", "error unknown command ''"},
		{"NSDCT1 --no-wait", "error unknown command ''"},
		{"NSDCT1 STATUS", "error unknown command 'STATUS'"},
		{"NSDCT1 statu", "error unknown command 'statu'"},
		{"NSDCT1 a\x1b[mb", "error unknown command 'a?[mb'"},
		/* nsd-control itself carries out start. */
		{"NSDCT1 start", "error unknown command 'start'"},
		{"NSDCT1 status now", "error too many arguments: status"},
		{"NSDCT1 reload a b", "error too many arguments: reload"
				      " [ZONE]"},
	};
	struct ctl_command command;
	char error[CTL_ERROR_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(parse(rows[i].text, &command, error),
			NSD_E_SYNTAX);
		assert_string_equal(error, rows[i].error);
	}
}

static void
nul_in_a_line_is_an_error(void **state)
{
	char line[] = "NSDCT1 status\0 now", error[CTL_ERROR_MAX];
	struct ctl_command command;

	assert_int_equal(ctl_command_parse(line, sizeof(line) - 1, &command,
				 error),
		NSD_E_SYNTAX);
	assert_string_equal(error, "error NUL in the command");
}

static void
words_are_bounded(void **state)
{
	struct ctl_command command;
	char error[CTL_ERROR_MAX], line[CTL_LINE_MAX] = "NSDCT1 reload";

	for (unsigned i = 0; i < CTL_WORDS_MAX + 1; i++)
		strcat(line, " a");
	assert_int_equal(parse(line, &command, error), NSD_E_SYNTAX);
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	memcpy(line, "NSDCT1 ", 7);
	assert_int_equal(parse(line, &command, error), NSD_E_SYNTAX);
	assert_true(strlen(error) < CTL_ERROR_MAX);
}

static void
verbs_have_names_and_help(void **state)
{
	for (unsigned i = 0; i < CTL_VERB_COUNT; i++) {
		const struct ctl_verb_row *row = &ctl_verb_rows[i];

		assert_int_equal(ctl_verbs_find(row->word, true), i);
		assert_true(row->help[0] != '\0');
		assert_true(row->least <= row->most
			&& row->most <= CTL_WORDS_MAX);
		assert_int_equal(row->most > 0, row->arguments[0] != '\0');
		if ((row->flags & CTL_LOCAL) != 0)
			assert_int_equal(ctl_verbs_find(row->word, false),
				CTL_VERB_COUNT);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_found_between_blanks),
		cmocka_unit_test(flags_stand_before_the_verb),
		cmocka_unit_test(what_is_no_command_is_told),
		cmocka_unit_test(nul_in_a_line_is_an_error),
		cmocka_unit_test(words_are_bounded),
		cmocka_unit_test(verbs_have_names_and_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
