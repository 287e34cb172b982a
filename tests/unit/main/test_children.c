/* test_children.c - main and the messages of its children: those of one do not
 * keep it from the others, and those of a dead one count. Handlers and roles
 * are this program's. */
#include "config.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "main/child.h"
#include "main/children.h"
#include "main/reap.h"
#include "main/service.h"
#include "process/counts.h"
#include "process/role.h"
#include "store/store.h"

#define TURN 64 /* messages taken from a child at a time, at the most */
#define WORKERS 2
#define WAIT_MSEC 120000 /* until one has sent all */
#define MESSAGES 150 /* of each; more than one turn, not of whole turns */

static struct supervisor s;
static struct service workers[WORKERS];
static struct generation generation;
static int written[2]; /* a pipe: a child says that all is sent */
static unsigned handed[WORKERS];

/* A worker's conduct after its last message. */
static enum { LIVES, DIES, WAITS_FOR_STOP } then;

#define TOLD_STATUS 7 /* ended by a message */

/* ---- handlers of main, and first functions of roles --------------------- */

static void
on_serving(struct supervisor *supervisor, struct child *child,
	const struct ipc_message *m)
{
	assert_int_equal(m->type, IPC_SERVING);
	handed[child->index]++;
}

/* Handlers of messages that a worker sends, by the table of messages. */
static void (*const handlers[IPC_TYPE_COUNT])(struct supervisor *s,
	struct child *child, const struct ipc_message *m) = {
	[IPC_SERVING] = on_serving,
};

/* A child that has a lot to say, and then only lives until it is killed. */
_Noreturn void
worker_main(const struct role_start *start)
{
	for (unsigned i = 0; i < MESSAGES; i++)
		if (ipc_send(&start->channel, IPC_SERVING, NULL, 0, NULL, 0)
			!= NSD_OK)
			_exit(1);
	if (write(written[1], "", 1) != 1)
		_exit(1);
	if (then == DIES)
		_exit(0);
	if (then == WAITS_FOR_STOP) {
		struct pollfd stop = {.fd = start->stop_fd, .events = POLLIN};

		_exit(poll(&stop, 1, WAIT_MSEC) == 1 ? TOLD_STATUS : 1);
	}
	for (;;)
		pause();
}

_Noreturn void
loader_main(const struct role_start *start)
{
	_exit(1);
}

_Noreturn void
xfrd_main(const struct role_start *start)
{
	_exit(1);
}

/* ---- the tests ----------------------------------------------------------- */

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
}

static int
open_children(void **state)
{
	const struct store_options options = {.reservation = 1u << 24,
		.reader_max = WORKERS + 1};
	struct pollfd sent;
	char octet;

	s.handlers = handlers;
	s.base = event_base_new();
	s.signal_fd = s.pidfile.fd = s.daemon.ready_fd = -1;
	s.workers = workers;
	s.worker_count = WORKERS;
	s.serving = &generation;
	s.stopping = false;
	if (s.base == NULL || pipe(written) != 0
		|| store_create(&options, &generation.store) != NSD_OK
		|| counts_create(&(struct counts_options){WORKERS, 1, 1, 0},
			&s.server.counts) != NSD_OK)
		return -1;
	sent = (struct pollfd){.fd = written[0], .events = POLLIN};
	for (unsigned i = 0; i < WORKERS; i++) {
		workers[i] = (struct service){.supervisor = &s,
			.role = ROLE_WORKER, .index = i,
			.timer = event_new(s.base, -1, 0, on_timer, NULL)};
		handed[i] = 0;
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		service_start(&workers[i], &generation);
		if (workers[i].current == NULL
			|| poll(&sent, 1, WAIT_MSEC) != 1
			|| read(written[0], &octet, 1) != 1)
			return -1;
	}
	return 0;
}

static int
open_dying_children(void **state)
{
	then = DIES;
	return open_children(state);
}

static int
open_deaf_children(void **state)
{
	then = WAITS_FOR_STOP;
	return open_children(state);
}

/* Leaves it for reap_children. */
static int
wait_for_end(unsigned i, siginfo_t *info)
{
	return waitid(P_PID, (id_t)workers[i].current->pid, info,
		WEXITED | WNOWAIT);
}

static int
close_children(void **state)
{
	s.stopping = true;
	children_kill_workers(&s);
	for (unsigned i = 0; i < WORKERS; i++) {
		siginfo_t info;

		if (workers[i].current == NULL)
			continue;
		if (wait_for_end(i, &info) != 0)
			return -1;
	}
	reap_children(&s);
	assert_int_equal(children_count(&s), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		event_free(workers[i].timer);
	counts_destroy(s.server.counts);
	store_destroy(generation.store);
	event_base_free(s.base);
	close(written[0]);
	close(written[1]);
	then = LIVES;
	return 0;
}

static void
child_with_much_to_say_leaves_turns_to_others(void **state)
{
	for (unsigned turn = 1; turn <= MESSAGES / TURN + 1; turn++) {
		unsigned sent = turn * TURN < MESSAGES ? turn * TURN : MESSAGES;

		/* The loop calls each child with messages once. */
		assert_int_equal(event_base_loop(s.base, EVLOOP_ONCE), 0);
		assert_int_equal(handed[0], sent);
		assert_int_equal(handed[1], sent);
	}
	event_base_loop(s.base, EVLOOP_NONBLOCK);
	assert_int_equal(handed[0], MESSAGES);
	assert_int_equal(handed[1], MESSAGES);
}

/* A dead child leaves more messages than main takes in one turn. */
static void
messages_of_a_dead_child_are_taken_before_it_is_replaced(void **state)
{
	siginfo_t info;

	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(wait_for_end(i, &info), 0);
	reap_children(&s);
	for (unsigned i = 0; i < WORKERS; i++) {
		assert_null(workers[i].current);
		assert_int_equal(handed[i], MESSAGES);
	}
}

static void
child_whose_channel_is_full_is_told_to_end(void **state)
{
	struct ipc_adopt adopt = {.server = 0};

	for (unsigned i = 0; i < WORKERS; i++) {
		struct child *child = workers[i].current;
		siginfo_t info;

		while (!link_waits(&child->link))
			assert_int_equal(child_send(child, IPC_RELEASE, &adopt,
						 sizeof(adopt), NULL, 0),
				NSD_OK);
		child_stop(child);
		assert_int_equal(wait_for_end(i, &info), 0);
		assert_int_equal(info.si_code, CLD_EXITED);
		assert_int_equal(info.si_status, TOLD_STATUS);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			child_with_much_to_say_leaves_turns_to_others,
			open_children, close_children),
		cmocka_unit_test_setup_teardown(
			messages_of_a_dead_child_are_taken_before_it_is_replaced,
			open_dying_children, close_children),
		cmocka_unit_test_setup_teardown(
			child_whose_channel_is_full_is_told_to_end,
			open_deaf_children, close_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
