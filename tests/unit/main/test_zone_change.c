/* test_zone_change.c - the message that zones come or go by. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "process/zone_message.h"

static struct zone_message message;

/* A message of one change. */
static void
make(const char *name, const char *pattern, const char *reasons,
	struct ipc_message *m)
{
	const struct zone_change change = {
		.name = name,
		.pattern = pattern,
		.anew = true,
		.err = NSD_E_ZONE,
		.file = IPC_ZONE_BROKEN,
		.reasons = reasons,
	};

	memset(m, 0xee, sizeof(*m));
	zone_message_init(&message);
	assert_int_equal(zone_message_add(&message, &change), NSD_OK);
	assert_in_range(message.len, IPC_ZONE_MIN, sizeof(message.payload));
	m->len = message.len;
	memcpy(m->payload, &message.payload, m->len);
}

/* The only change of a message. */
static struct zone_change
read_one(const struct ipc_message *m)
{
	struct zone_change change, other;

	assert_int_equal(zone_message_read(&message, m), NSD_OK);
	assert_true(zone_message_next(&message, &change));
	assert_false(zone_message_next(&message, &other));
	return change;
}

/* A message without changes has those of earlier ones published. */
static void
message_may_have_no_changes(void **state)
{
	struct zone_change change;
	struct ipc_message m;

	zone_message_init(&message);
	assert_int_equal(message.payload.more, 0);
	message.payload.more = 1;
	m.len = message.len;
	memcpy(m.payload, &message.payload, m.len);
	assert_int_equal(m.len, IPC_ZONE_MIN);
	assert_int_equal(zone_message_read(&message, &m), NSD_OK);
	assert_int_equal(message.payload.more, 1);
	assert_false(zone_message_next(&message, &change));
	m.len--;
	assert_int_equal(zone_message_read(&message, &m), NSD_E_WIRE);
}

static void
message_comes_as_it_was_sent(void **state)
{
	struct zone_change change;
	struct ipc_message m;

	make("example.com.", "p", "f:1: a\nf:2: b\n", &m);
	change = read_one(&m);
	assert_int_equal(change.err, NSD_E_ZONE);
	assert_int_equal(change.file, IPC_ZONE_BROKEN);
	assert_true(change.anew);
	assert_string_equal(change.name, "example.com.");
	assert_string_equal(change.pattern, "p");
	assert_string_equal(change.reasons, "f:1: a\nf:2: b\n");
	make("x", "", NULL, &m);
	change = read_one(&m);
	assert_string_equal(change.name, "x");
	assert_string_equal(change.pattern, "");
	assert_string_equal(change.reasons, "");
}

static void
changes_come_in_their_order(void **state)
{
	static const char *const names[] = {"a", "b.example", "c"};
	struct zone_change change = {.pattern = "p"};
	struct ipc_message m;

	zone_message_init(&message);
	for (unsigned i = 0; i < 3; i++) {
		change.name = names[i];
		change.err = (enum nsd_err)i;
		change.reasons = i == 1 ? "why\n" : NULL;
		assert_int_equal(zone_message_add(&message, &change), NSD_OK);
	}
	m.len = message.len;
	memcpy(m.payload, &message.payload, m.len);
	assert_int_equal(zone_message_read(&message, &m), NSD_OK);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(zone_message_next(&message, &change));
		assert_string_equal(change.name, names[i]);
		assert_int_equal(change.err, i);
		assert_string_equal(change.reasons, i == 1 ? "why\n" : "");
	}
	assert_false(zone_message_next(&message, &change));
}

static void
message_of_any_other_length_is_refused(void **state)
{
	struct ipc_message m;
	size_t len;

	make("example", "pattern", "why\n", &m);
	len = m.len;
	/* cut behind a text, it lacks the next one */
	for (m.len = 0; m.len < len; m.len++)
		assert_int_equal(zone_message_read(&message, &m),
			m.len == IPC_ZONE_MIN ? NSD_OK : NSD_E_WIRE);
	/* no whole change behind it */
	for (m.len = len + 1; m.len < len + 6; m.len++) {
		m.payload[m.len - 1] = 0;
		assert_int_equal(zone_message_read(&message, &m), NSD_E_WIRE);
	}
	m.len = sizeof(message.payload) + 1;
	assert_int_equal(zone_message_read(&message, &m), NSD_E_WIRE);
}

static void
reasons_are_fit_for_a_terminal(void **state)
{
	struct ipc_message m;

	make("example", "p", "a\033[2J\r\tb\177\n\303\244\n", &m);
	assert_string_equal(read_one(&m).reasons, "a?[2J??b?\n\303\244\n");
}

/* Octets of a name that leave so many: a change has three, and three NULs; the
 * pattern is `p`. */
#define LEAVING(octets) (IPC_ZONE_TEXT_MAX - 3 - 1 - 2 - 1 - (octets))

static void
names_fit_or_are_refused(void **state)
{
	static char name[IPC_ZONE_TEXT_MAX + 2];
	const struct zone_change change = {.name = name, .pattern = "p"};
	struct ipc_message m;

	memset(name, 'a', sizeof(name) - 1);
	for (size_t len = sizeof(name) - 1; len > LEAVING(0); len--) {
		name[len] = '\0';
		zone_message_init(&message);
		assert_int_equal(zone_message_add(&message, &change),
			NSD_E_LIMIT);
	}
	name[LEAVING(0)] = '\0';
	make(name, "p", "no room\n", &m);
	assert_int_equal(m.len, sizeof(message.payload));
	assert_string_equal(read_one(&m).name, name);
	assert_string_equal(read_one(&m).reasons, "");
	/* The message has no room for another change. */
	assert_int_equal(zone_message_add(&message, &change), NSD_E_LIMIT);
	assert_int_equal(message.len, m.len);
}

static void
reasons_are_whole_lines_as_many_as_fit(void **state)
{
	static char name[IPC_ZONE_TEXT_MAX + 1];
	struct ipc_message m;

	/* Two lines of four octets. */
	memset(name, 'a', LEAVING(8));
	make(name, "p", "one\ntwo\n", &m);
	assert_int_equal(m.len, sizeof(message.payload));
	assert_string_equal(read_one(&m).reasons, "one\ntwo\n");
	make(name, "p", "one\ntwos\n", &m);
	assert_string_equal(read_one(&m).reasons, "one\n");
	make(name, "p", "one line too long\n", &m);
	assert_string_equal(read_one(&m).reasons, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_may_have_no_changes),
		cmocka_unit_test(message_comes_as_it_was_sent),
		cmocka_unit_test(changes_come_in_their_order),
		cmocka_unit_test(message_of_any_other_length_is_refused),
		cmocka_unit_test(names_fit_or_are_refused),
		cmocka_unit_test(reasons_are_fit_for_a_terminal),
		cmocka_unit_test(reasons_are_whole_lines_as_many_as_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
