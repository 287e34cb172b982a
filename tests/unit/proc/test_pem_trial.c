/* test_pem_trial.c - what tries keys and certificates is confined, and cannot
 * hold main up. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "role/pem_trial.h"
#include "role/sandbox_landlock.h"
#include "role/server.h"

static const struct sandbox calls_only = {.calls = true};
static int ours; /* a descriptor of main */

/* What the sink was told. */
struct told {
	struct diag_sink sink; /* first */
	unsigned count;
	char text[2048];
};

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct told *told = (struct told *)sink;

	assert_int_equal(d->severity, DIAG_ERROR);
	told->count++;
	snprintf(told->text, sizeof(told->text), "%s", d->text);
}

static enum nsd_err
try(const struct sandbox *sandbox, pem_trial_fn *fn, struct told *told)
{
	const struct server server = {.sandbox = *sandbox};

	*told = (struct told){.sink.on_diag = on_diag};
	return pem_trial_run(&server, fn, NULL, &told->sink);
}

static enum nsd_err
look_around(const struct secrets *texts, struct diag_sink *sink)
{
	const char *found = NULL;

	if (open("/etc/passwd", O_RDONLY) != -1)
		found = "a file";
	else if (socket(AF_INET, SOCK_DGRAM, 0) != -1)
		found = "a socket";
	else if (kill(getppid(), 0) != -1)
		found = "main";
	else if (fcntl(ours, F_GETFL) != -1)
		found = "a descriptor";
	if (found == NULL)
		return NSD_OK;
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "there is %s", found);
	return NSD_E_SYNTAX;
}

static void
it_reaches_nothing(void **state)
{
	struct sandbox all = {.calls = true,
		.landlock = sandbox_landlock_version()};
	struct told told;

	ours = open("/dev/null", O_RDONLY);
	assert_int_not_equal(ours, -1);
	assert_int_equal(try(&calls_only, look_around, &told), NSD_OK);
	assert_int_equal(try(&all, look_around, &told), NSD_OK);
	assert_int_equal(told.count, 0);
	/* There is something to be reached. */
	all = (struct sandbox){.calls = false};
	assert_int_equal(try(&all, look_around, &told), NSD_E_SYNTAX);
	assert_string_equal(told.text, "there is a file");
	close(ours);
}

static enum nsd_err
look_who(const struct secrets *texts, struct diag_sink *sink)
{
	int on_death = 0;

	(void)prctl(PR_GET_PDEATHSIG, &on_death, 0, 0, 0);
	if (getuid() == 12345 && geteuid() == 12345 && getegid() == 12346
		&& getgroups(0, NULL) == 0 && setuid(0) == -1
		&& on_death == SIGKILL)
		return NSD_OK;
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "user %d", (int)geteuid());
	return NSD_E_SYNTAX;
}

static void
it_is_no_root_before_main_is_another_user(void **state)
{
	const struct privilege_user user = {.change = true, .uid = 12345,
		.gid = 12346};
	struct server server = {.user_to_be = &user};
	struct told told = {.sink.on_diag = on_diag};

	if (geteuid() != 0)
		return; /* nobody else starts as another user */
	assert_int_equal(pem_trial_run(&server, look_who, NULL, &told.sink),
		NSD_OK);
	server.user_to_be = NULL;
	assert_int_equal(pem_trial_run(&server, look_who, NULL, &told.sink),
		NSD_E_SYNTAX);
	assert_string_equal(told.text, "user 0");
}

static enum nsd_err
run_a_program(const struct secrets *texts, struct diag_sink *sink)
{
	(void)syscall(SYS_execve, "/bin/true", NULL, NULL);
	return NSD_OK;
}

static void
one_that_was_taken_over_is_killed(void **state)
{
	struct told told;

	assert_int_equal(try(&calls_only, run_a_program, &told), NSD_E_SYSTEM);
	assert_int_equal(told.count, 1);
	assert_string_equal(told.text, "keys and certificates could not be"
				       " tried: who tried them has died");
}

static enum nsd_err
find_two_faults(const struct secrets *texts, struct diag_sink *sink)
{
	diag_emit(sink, DIAG_WARNING, NULL, 0, 0, "nothing");
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "first");
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "second");
	return NSD_E_SYNTAX;
}

static enum nsd_err
find_no_memory(const struct secrets *texts, struct diag_sink *sink)
{
	return NSD_E_MEMORY;
}

static void
the_first_error_is_told(void **state)
{
	struct told told;

	assert_int_equal(try(&calls_only, find_two_faults, &told),
		NSD_E_SYNTAX);
	assert_int_equal(told.count, 1);
	assert_string_equal(told.text, "first");
	assert_int_equal(try(&calls_only, find_no_memory, &told),
		NSD_E_MEMORY);
	assert_int_equal(told.count, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_reaches_nothing),
		cmocka_unit_test(it_is_no_root_before_main_is_another_user),
		cmocka_unit_test(one_that_was_taken_over_is_killed),
		cmocka_unit_test(the_first_error_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
