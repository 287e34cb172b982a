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
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/failing.h"
#include "process/role.h"

#define COUNT 5000u

static unsigned taken, taken_at_stop;
static int stop_fd; /* main's word to end */

/* Two answers for each: more than what comes in. */
static void
answer_twice(struct role *role, const struct ipc_message *m)
{
	struct ipc_load_result result = {.zones = taken};

	role_send(role, IPC_RELOADED, &result, sizeof(result));
	result.read = 1;
	role_send(role, IPC_RELOADED, &result, sizeof(result));
	taken++;
}

static void (*const handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {[IPC_RELOAD] = answer_twice};

static unsigned
send_some(const struct ipc_channel *main_end, unsigned sent)
{
	while (sent < COUNT
		&& ipc_send(main_end, IPC_RELOAD, NULL, 0, NULL, 0) == NSD_OK)
		sent++;
	return sent;
}

static void
open_role(struct role *role, struct ipc_channel *main_end)
{
	struct role_start start = {.stop_fd = eventfd(0, EFD_NONBLOCK)};

	stop_fd = start.stop_fd;
	taken = 0;
	assert_int_not_equal(stop_fd, -1);
	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_LOADER,
				 main_end, &start.channel),
		NSD_OK);
	assert_int_equal(role_init_loop(role, &start), NSD_OK);
}

static void
close_role(struct role *role, struct ipc_channel *main_end)
{
	ipc_channel_close(main_end);
	event_base_loop(role->base, EVLOOP_NONBLOCK);
	link_close(&role->link);
	event_free(role->stop_event);
	event_free(role->term_event);
	event_base_free(role->base);
	close(role->term_fd);
	close(stop_fd);
}

static void
answers_wait_for_main_and_keep_their_order(void **state)
{
	struct role role = {.handlers = handlers};
	struct ipc_channel main_end;
	struct ipc_message m;
	unsigned sent = 0, answers = 0, idle = 0;

	open_role(&role, &main_end);
	/* Main sends, and does not read: both directions fill up. */
	while (idle < 3) {
		unsigned before = taken;

		sent = send_some(&main_end, sent);
		event_base_loop(role.base, EVLOOP_NONBLOCK);
		idle = taken == before ? idle + 1 : 0;
	}
	assert_true(link_waits(&role.link));
	assert_true(sent < COUNT);
	while (answers < 2 * COUNT) {
		struct ipc_load_result result;

		sent = send_some(&main_end, sent);
		if (ipc_receive(&main_end, &m) != NSD_OK) {
			event_base_loop(role.base, EVLOOP_NONBLOCK);
			assert_true(++idle < 1000);
			continue;
		}
		idle = 0;
		memcpy(&result, m.payload, sizeof(result));
		assert_int_equal(m.type, IPC_RELOADED);
		assert_int_equal(result.zones, answers / 2);
		assert_int_equal(result.read, answers % 2);
		answers++;
	}
	assert_false(link_waits(&role.link));
	assert_int_equal(taken, COUNT);
	close_role(&role, &main_end);
}

/* Main would wait for it for ever: the next process is asked again. */
static void
process_that_cannot_send_ends(void **state)
{
	struct role role = {.handlers = handlers};
	struct ipc_channel main_end;
	int status;
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		const struct ipc_load_result result = {.zones = 1};

		open_role(&role, &main_end);
		while (!link_waits(&role.link))
			role_send(&role, IPC_RELOADED, &result, sizeof(result));
		failing_from(0);
		role_send(&role, IPC_RELOADED, &result, sizeof(result));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

/* The table of messages lets STATISTICS through, and this role has nothing for
 * it. */
static void
message_without_a_handler_is_refused(void **state)
{
	struct role role = {.handlers = handlers};
	struct ipc_channel main_end;

	open_role(&role, &main_end);
	assert_int_equal(ipc_send(&main_end, IPC_STATISTICS, NULL, 0, NULL,
				 0),
		NSD_OK);
	assert_int_equal(ipc_send(&main_end, IPC_RELOAD, NULL, 0, NULL, 0),
		NSD_OK);
	event_base_loop(role.base, EVLOOP_NONBLOCK);
	assert_int_equal(taken, 1);
	close_role(&role, &main_end);
}

static void
count_when_stopped(struct role *role)
{
	taken_at_stop = taken;
	role_stop(role);
}

/* In whatever order the events come. */
static void
role_that_is_told_to_end_takes_what_was_sent_before(void **state)
{
	struct role role = {.handlers = handlers,
		.on_stop = count_when_stopped};
	const uint64_t one = 1;
	struct ipc_channel main_end;
	unsigned sent;

	open_role(&role, &main_end);
	sent = send_some(&main_end, 0);
	assert_in_range(sent, LINK_TURN + 1, COUNT);
	assert_int_equal(write(stop_fd, &one, sizeof(one)), sizeof(one));
	role_run(&role);
	assert_int_equal(taken_at_stop, sent);
	close_role(&role, &main_end);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_wait_for_main_and_keep_their_order),
		cmocka_unit_test(process_that_cannot_send_ends),
		cmocka_unit_test(message_without_a_handler_is_refused),
		cmocka_unit_test(
			role_that_is_told_to_end_takes_what_was_sent_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
