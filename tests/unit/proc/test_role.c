/* test_role.c - a role's messages to main: none is lost when main does not
 * read, and then no more is taken. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/role.h"

#define COUNT 5000u

static unsigned taken;

/* Two answers for each: more than what comes in. */
static void
answer_twice(struct role *role, const struct ipc_message *m)
{
	struct ipc_updated result = {.err = 0};
	struct ipc_update update;

	memcpy(&update, m->payload, sizeof(update));
	result.ticket = update.ticket;
	role_send(role, IPC_UPDATED, &result, sizeof(result));
	result.names = 1;
	role_send(role, IPC_UPDATED, &result, sizeof(result));
	taken++;
}

static void (*const handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {[IPC_UPDATE] = answer_twice};

static unsigned
send_some(const struct ipc_channel *main_end, unsigned sent)
{
	struct ipc_update update = {.ticket = sent};

	while (sent < COUNT
		&& ipc_send(main_end, IPC_UPDATE, &update, sizeof(update),
			   NULL, 0)
			== NSD_OK)
		update.ticket = ++sent;
	return sent;
}

static void
close_role(struct role *role)
{
	event_free(role->channel_event);
	event_free(role->room_event);
	event_free(role->term_event);
	event_base_free(role->base);
	close(role->term_fd);
	ipc_channel_close(&role->channel);
}

static void
answers_wait_for_main_and_keep_their_order(void **state)
{
	struct role role = {.handlers = handlers};
	struct role_start start = {.server = NULL};
	struct ipc_channel main_end;
	struct ipc_message m;
	unsigned sent = 0, answers = 0, idle = 0;

	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_LOADER,
				 &main_end, &start.channel),
		NSD_OK);
	assert_int_equal(role_init_loop(&role, &start), NSD_OK);
	/* Main sends, and does not read: both directions fill up. */
	while (idle < 3) {
		unsigned before = taken;

		sent = send_some(&main_end, sent);
		event_base_loop(role.base, EVLOOP_NONBLOCK);
		idle = taken == before ? idle + 1 : 0;
	}
	assert_non_null(role.waiting);
	assert_true(sent < COUNT);
	while (answers < 2 * COUNT) {
		struct ipc_updated result;

		sent = send_some(&main_end, sent);
		if (ipc_receive(&main_end, &m) != NSD_OK) {
			event_base_loop(role.base, EVLOOP_NONBLOCK);
			assert_true(++idle < 1000);
			continue;
		}
		idle = 0;
		memcpy(&result, m.payload, sizeof(result));
		assert_int_equal(m.type, IPC_UPDATED);
		assert_int_equal(result.ticket, answers / 2);
		assert_int_equal(result.names, answers % 2);
		answers++;
	}
	assert_null(role.waiting);
	assert_int_equal(taken, COUNT);
	ipc_channel_close(&main_end);
	event_base_loop(role.base, EVLOOP_NONBLOCK);
	close_role(&role);
}

/* The table of messages lets RELOAD through, and this role has nothing for
 * it. */
static void
message_without_a_handler_is_refused(void **state)
{
	struct role role = {.handlers = handlers};
	struct role_start start = {.server = NULL};
	struct ipc_update update = {.ticket = 1};
	struct ipc_channel main_end;

	taken = 0;
	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_LOADER,
				 &main_end, &start.channel),
		NSD_OK);
	assert_int_equal(role_init_loop(&role, &start), NSD_OK);
	assert_int_equal(ipc_send(&main_end, IPC_RELOAD, NULL, 0, NULL, 0),
		NSD_OK);
	assert_int_equal(ipc_send(&main_end, IPC_UPDATE, &update,
				 sizeof(update), NULL, 0),
		NSD_OK);
	event_base_loop(role.base, EVLOOP_NONBLOCK);
	assert_int_equal(taken, 1);
	ipc_channel_close(&main_end);
	event_base_loop(role.base, EVLOOP_NONBLOCK);
	close_role(&role);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_wait_for_main_and_keep_their_order),
		cmocka_unit_test(message_without_a_handler_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
