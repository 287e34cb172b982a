/* test_trial.c - work that is tried in a process of its own, whatever
 * becomes of the process. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/trial.h"

/* A trial that is to end by itself is given this time. */
#define ENOUGH_MSEC 60000
/* The limit of a trial that does not end by itself. */
#define LITTLE_MSEC 100

static int here; /* is not altered by what a trial does */

static void
assert_nobody_is_left(void)
{
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static enum nsd_err
run(trial_fn *fn, void *arg, int limit_msec, char text[TRIAL_TEXT_MAX])
{
	enum nsd_err err = trial_run(fn, arg, limit_msec, text);

	assert_nobody_is_left();
	return err;
}

static enum nsd_err
say(void *arg, char text[TRIAL_TEXT_MAX])
{
	here = 1;
	snprintf(text, TRIAL_TEXT_MAX, "%s", (const char *)arg);
	return NSD_E_SYNTAX;
}

static enum nsd_err
find(void *arg, char text[TRIAL_TEXT_MAX])
{
	return *(const enum nsd_err *)arg;
}

static void
what_it_finds_and_says_comes_back(void **state)
{
	char text[TRIAL_TEXT_MAX];
	enum nsd_err found = NSD_OK;

	assert_int_equal(run(say, (char *)"not so", ENOUGH_MSEC, text),
		NSD_E_SYNTAX);
	assert_string_equal(text, "not so");
	assert_int_equal(here, 0);
	assert_int_equal(run(find, &found, ENOUGH_MSEC, text), NSD_OK);
	assert_string_equal(text, "");
	found = NSD_E_BUG;
	assert_int_equal(run(find, &found, ENOUGH_MSEC, text), NSD_E_BUG);
	found = (enum nsd_err)(NSD_E_BUG + 1);
	assert_int_equal(run(find, &found, ENOUGH_MSEC, text), NSD_E_PEER);
}

static void
it_is_heard_though_nobody_waits_for_children(void **state)
{
	char text[TRIAL_TEXT_MAX];

	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(run(say, (char *)"no", ENOUGH_MSEC, text),
		NSD_E_SYNTAX);
	signal(SIGCHLD, SIG_DFL);
}

static enum nsd_err
say_much(void *arg, char text[TRIAL_TEXT_MAX])
{
	memset(text, 'x', TRIAL_TEXT_MAX);
	memcpy(text, "a\nb\tc\177d\033e", 9);
	return NSD_OK;
}

static void
it_is_one_line_with_an_end(void **state)
{
	char text[TRIAL_TEXT_MAX];

	assert_int_equal(run(say_much, NULL, ENOUGH_MSEC, text), NSD_OK);
	assert_int_equal(strlen(text), TRIAL_TEXT_MAX - 1);
	assert_memory_equal(text, "a b c d e", 9);
}

static enum nsd_err
die(void *arg, char text[TRIAL_TEXT_MAX])
{
	int number = *(const int *)arg;

	if (number != 0) {
		signal(number, SIG_DFL); /* the test program's is another */
		(void)raise(number);
	}
	_exit(0);
}

static void
one_that_dies_says_nothing(void **state)
{
	static const int numbers[] = {SIGKILL, SIGSEGV, SIGSYS, 0};
	char text[TRIAL_TEXT_MAX];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int number = numbers[i];

		assert_int_equal(run(die, &number, ENOUGH_MSEC, text),
			NSD_E_PEER);
		assert_string_equal(text, "");
	}
}

static enum nsd_err
hang(void *arg, char text[TRIAL_TEXT_MAX])
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	while (pause() == -1)
		;
	return NSD_OK;
}

static void
one_that_hangs_is_killed(void **state)
{
	int64_t began_msec = clock_now_msec();
	char text[TRIAL_TEXT_MAX];

	assert_int_equal(run(hang, NULL, LITTLE_MSEC, text), NSD_E_AGAIN);
	assert_true(clock_now_msec() - began_msec >= LITTLE_MSEC);
}

/* A process that was taken over has one descriptor beside 0 to 2, the pipe, and
 * can do this with it. */
struct liar {
	size_t len; /* octets that it writes */
	bool closes;
	bool hangs;
};

static enum nsd_err
lie(void *arg, char text[TRIAL_TEXT_MAX])
{
	const struct liar *liar = arg;
	static const uint8_t octets[4096];
	int fd = 3;

	while (fcntl(fd, F_GETFD) == -1)
		fd++;
	for (size_t left = liar->len; left > 0;) {
		size_t len = left < sizeof(octets) ? left : sizeof(octets);

		if (write(fd, octets, len) != (ssize_t)len)
			_exit(1);
		left -= len;
	}
	if (liar->closes)
		close(fd);
	if (liar->hangs)
		hang(NULL, text);
	_exit(0);
}

static void
half_a_word_and_too_many_hold_nobody_up(void **state)
{
	static const struct {
		struct liar liar;
		int limit_msec;
		enum nsd_err err;
	} rows[] = {
		{{10, false, false}, ENOUGH_MSEC, NSD_E_PEER},
		{{10, true, true}, ENOUGH_MSEC, NSD_E_PEER},
		{{10, false, true}, LITTLE_MSEC, NSD_E_AGAIN},
		{{0, true, true}, ENOUGH_MSEC, NSD_E_PEER},
		{{1 << 24, false, true}, ENOUGH_MSEC, NSD_OK},
	};
	char text[TRIAL_TEXT_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct liar liar = rows[i].liar;

		assert_int_equal(run(lie, &liar, rows[i].limit_msec, text),
			rows[i].err);
		assert_string_equal(text, "");
	}
}

static enum nsd_err
count_descriptors(void *arg, char text[TRIAL_TEXT_MAX])
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) != -1;
	/* 0, 1, 2 and the pipe. */
	return count <= 4 ? NSD_OK : NSD_E_LIMIT;
}

static void
it_has_no_descriptors_of_ours(void **state)
{
	char text[TRIAL_TEXT_MAX];
	int fds[8];

	for (int i = 0; i < 8; i++)
		fds[i] = open("/dev/null", O_RDONLY);
	assert_int_equal(run(count_descriptors, NULL, ENOUGH_MSEC, text),
		NSD_OK);
	for (int i = 0; i < 8; i++)
		assert_int_equal(close(fds[i]), 0);
}

static void
die_at_once(void)
{
	raise(SIGKILL);
}

/* Where there is no filter, calls are not tried. */
static void
without_a_filter_calls_may_be_made(void **state)
{
	assert_true(trial_may_call(die_at_once));
	assert_nobody_is_left();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_finds_and_says_comes_back),
		cmocka_unit_test(it_is_heard_though_nobody_waits_for_children),
		cmocka_unit_test(it_is_one_line_with_an_end),
		cmocka_unit_test(one_that_dies_says_nothing),
		cmocka_unit_test(one_that_hangs_is_killed),
		cmocka_unit_test(half_a_word_and_too_many_hold_nobody_up),
		cmocka_unit_test(it_has_no_descriptors_of_ours),
		cmocka_unit_test(without_a_filter_calls_may_be_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
