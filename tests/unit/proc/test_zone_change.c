/* test_zone_change.c - the message that a zone comes or goes by. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "role/zone_message.h"

static void
make(const char *name, const char *pattern, const char *reasons,
	struct ipc_message *m)
{
	struct zone_change change = {
		.ticket = 77,
		.again = true,
		.name = name,
		.pattern = pattern,
		.err = NSD_E_ZONE,
		.file = IPC_ZONE_BROKEN,
		.reasons = reasons,
	};
	struct ipc_zone payload;

	memset(m, 0xee, sizeof(*m));
	assert_int_equal(zone_message_write(&change, &payload, &m->len),
		NSD_OK);
	assert_in_range(m->len, IPC_ZONE_MIN, sizeof(payload));
	memcpy(m->payload, &payload, m->len);
}

static void
message_comes_as_it_was_sent(void **state)
{
	struct zone_change change;
	struct ipc_zone payload;
	struct ipc_message m;

	make("example.com.", "p", "f:1: a\nf:2: b\n", &m);
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_OK);
	assert_int_equal(change.ticket, 77);
	assert_true(change.again);
	assert_int_equal(change.err, NSD_E_ZONE);
	assert_int_equal(change.file, IPC_ZONE_BROKEN);
	assert_string_equal(change.name, "example.com.");
	assert_string_equal(change.pattern, "p");
	assert_string_equal(change.reasons, "f:1: a\nf:2: b\n");
	make("x", "", NULL, &m);
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_OK);
	assert_string_equal(change.name, "x");
	assert_string_equal(change.pattern, "");
	assert_string_equal(change.reasons, "");
}

static void
message_of_any_other_length_is_refused(void **state)
{
	struct zone_change change;
	struct ipc_zone payload;
	struct ipc_message m;
	size_t len;

	make("example", "pattern", "why\n", &m);
	len = m.len;
	/* cut behind a text, it lacks the next one */
	for (m.len = 0; m.len < len; m.len++)
		assert_int_equal(zone_message_read(&m, &payload, &change),
			NSD_E_WIRE);
	m.len = len + 1;
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_E_WIRE);
	m.payload[len] = 0;
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_E_WIRE);
	m.len = sizeof(payload) + 1;
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_E_WIRE);
}

static void
reasons_are_fit_for_a_terminal(void **state)
{
	struct zone_change change;
	struct ipc_zone payload;
	struct ipc_message m;

	make("example", "p", "a\033[2J\r\tb\177\n\303\244\n", &m);
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_OK);
	assert_string_equal(change.reasons, "a?[2J??b?\n\303\244\n");
}

static void
names_fit_or_are_refused(void **state)
{
	static char name[IPC_ZONE_TEXT_MAX + 1];
	struct zone_change change = {.name = name, .pattern = "p"};
	struct ipc_zone payload;
	struct ipc_message m;
	size_t len;

	memset(name, 'a', IPC_ZONE_TEXT_MAX);
	assert_int_equal(zone_message_write(&change, &payload, &len),
		NSD_E_LIMIT);
	name[IPC_ZONE_TEXT_MAX - 1] = '\0';
	assert_int_equal(zone_message_write(&change, &payload, &len),
		NSD_E_LIMIT);
	name[IPC_ZONE_TEXT_MAX - 2] = '\0';
	assert_int_equal(zone_message_write(&change, &payload, &len),
		NSD_E_LIMIT);
	name[IPC_ZONE_TEXT_MAX - 3] = '\0';
	assert_int_equal(zone_message_write(&change, &payload, &len),
		NSD_E_LIMIT);
	name[IPC_ZONE_TEXT_MAX - 4] = '\0';
	make(name, "p", "no room\n", &m);
	assert_int_equal(m.len, sizeof(payload));
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_OK);
	assert_string_equal(change.name, name);
	assert_string_equal(change.reasons, "");
}

static void
reasons_are_whole_lines_as_many_as_fit(void **state)
{
	static char name[IPC_ZONE_TEXT_MAX + 1];
	struct zone_change change;
	struct ipc_zone payload;
	struct ipc_message m;

	/* Two lines of four octets, and the NUL. */
	memset(name, 'a', IPC_ZONE_TEXT_MAX - 2 - 1 - 9);
	make(name, "p", "one\ntwo\n", &m);
	assert_int_equal(m.len, sizeof(payload));
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_OK);
	assert_string_equal(change.reasons, "one\ntwo\n");
	make(name, "p", "one\ntwos\n", &m);
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_OK);
	assert_string_equal(change.reasons, "one\n");
	make(name, "p", "one line too long\n", &m);
	assert_int_equal(zone_message_read(&m, &payload, &change), NSD_OK);
	assert_string_equal(change.reasons, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_comes_as_it_was_sent),
		cmocka_unit_test(message_of_any_other_length_is_refused),
		cmocka_unit_test(names_fit_or_are_refused),
		cmocka_unit_test(reasons_are_fit_for_a_terminal),
		cmocka_unit_test(reasons_are_whole_lines_as_many_as_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
