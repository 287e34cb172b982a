/* test_lifeline.c - taking over from workers whose main is gone. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/lifeline.h"

/* A main makes the lifeline and ends; its worker, which holds it, never looks
 * at it, and ends with the other end of *worker. */
static void
leave_worker(const char *key, int *worker)
{
	int ends[2], status;
	char octet;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				 ends),
		0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		close(ends[0]);
		if (lifeline_open(key) == -1)
			_exit(1);
		pid = fork();
		if (pid != 0)
			_exit(pid == -1);
		_exit(read(ends[1], &octet, 1) != 0);
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	*worker = ends[0];
}

/* Else nobody would wait for what it still has. */
static void
worker_that_does_not_end_in_time_was_there(void **state)
{
	char key[64];
	int worker;

	snprintf(key, sizeof(key), "test-lifeline-%ld", (long)getpid());
	assert_false(lifeline_take_over(key));
	leave_worker(key, &worker);
	assert_true(lifeline_take_over(key));
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
