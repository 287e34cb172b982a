/* test_lifeline.c - taking over from workers whose main is gone. */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/lifeline.h"

/* A main makes the lifeline and ends; its worker, which holds it, never looks
 * at it, and ends with the other end of *worker. Nobody has yet looked at the
 * main that has ended. */
static pid_t
leave_worker(const char *key, int *worker)
{
	int ends[2];
	siginfo_t info;
	char octet;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				 ends),
		0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		close(ends[0]);
		if (prctl(PR_SET_NAME, "nsd: main") == -1
			|| lifeline_open(key) == -1)
			_exit(1);
		pid = fork();
		if (pid != 0)
			_exit(pid == -1);
		_exit(read(ends[1], &octet, 1) != 0);
	}
	close(ends[1]);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(info.si_status, 0);
	*worker = ends[0];
	return pid;
}

/* A starting main must wait for the sockets of a worker that ends slowly. */
static void
worker_that_does_not_end_in_time_was_there(void **state)
{
	char key[64];
	int worker, status;
	pid_t pid;

	snprintf(key, sizeof(key), "test-lifeline-%ld", (long)getpid());
	assert_false(lifeline_take_over(key));
	pid = leave_worker(key, &worker);
	assert_true(lifeline_take_over(key));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(worker);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worker_that_does_not_end_in_time_was_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
