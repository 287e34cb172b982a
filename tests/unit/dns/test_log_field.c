/* test_log_field.c - the fields of a line of the query log, chosen by name. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dns/log_field.h"

/* The fields of a format, as the text that would choose them. */
static const char *
read_back(const char *text)
{
	static char out[1024];
	struct log_format format;
	size_t len;

	if (log_field_parse(text, &format) != NSD_OK)
		return NULL;
	len = (size_t)sprintf(out, "%s", format.json ? "json" : "words");
	for (unsigned i = 0; i < format.count; i++)
		len += (size_t)sprintf(out + len, " %s",
			log_field_name((enum log_field)format.fields[i]));
	return out;
}

static void
fields_keep_their_order(void **state)
{
	assert_string_equal(read_back("qname time"), "words qname time");
	assert_string_equal(read_back("time qname"), "words time qname");
	assert_string_equal(read_back(" \t size\n rcode "),
		"words size rcode");
}

static void
json_stands_before_the_fields_alone(void **state)
{
	assert_string_equal(read_back("json qname"), "json qname");
	assert_null(read_back("qname json"));
	assert_null(read_back("json json"));
}

static void
format_without_fields_has_the_default(void **state)
{
	assert_string_equal(read_back(""), "words " LOG_FIELD_DEFAULT);
	assert_string_equal(read_back(" "), "words " LOG_FIELD_DEFAULT);
	assert_string_equal(read_back("json"), "json " LOG_FIELD_DEFAULT);
}

static void
other_words_are_refused(void **state)
{
	assert_null(read_back("qnam"));
	assert_null(read_back("qnames"));
	assert_null(read_back("QNAME"));
	assert_null(read_back("qname,time"));
	assert_null(read_back("qname time qname")); /* twice */
}

static void
every_field_fits_one_format(void **state)
{
	char all[1024] = "";
	char same[1024 + 8];

	for (unsigned i = 0; i < LOG_FIELD_COUNT; i++) {
		strcat(all, " ");
		strcat(all, log_field_name((enum log_field)i));
	}
	snprintf(same, sizeof(same), "words%s", all);
	assert_string_equal(read_back(all), same);
	strcat(all, " time");
	assert_null(read_back(all));
}

/* A format that is refused leaves what the caller has. */
static void
format_is_set_on_success_alone(void **state)
{
	struct log_format format = {.count = 7, .json = true};

	assert_int_equal(log_field_parse("time x", &format), NSD_E_SYNTAX);
	assert_int_equal(format.count, 7);
	assert_true(format.json);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_keep_their_order),
		cmocka_unit_test(json_stands_before_the_fields_alone),
		cmocka_unit_test(format_without_fields_has_the_default),
		cmocka_unit_test(other_words_are_refused),
		cmocka_unit_test(every_field_fits_one_format),
		cmocka_unit_test(format_is_set_on_success_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
