/* test_verifier.c - the parts of the verifier: lines of output, commands, the
 * keeper of a program, and what feeds it. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/command.h"
#include "lib/zone_fixture.h"
#include "verifier/verifier_feed.h"
#include "verifier/verifier_keeper.h"
#include "verifier/verifier_lines.h"

#define PATIENCE_MSEC 60000

/* ---- lines --------------------------------------------------------------- */

static char said[4096];

static void
say_line(void *ctx, const char *line)
{
	strcat(said, line);
	strcat(said, "|");
}

/* Gives the text in parts of a size; returns the lines. */
static const char *
lines_of(const char *text, size_t len, size_t part)
{
	struct verifier_lines lines = {.len = 0};

	said[0] = '\0';
	for (size_t at = 0; at < len; at += part)
		verifier_lines_add(&lines, text + at,
			len - at < part ? len - at : part, say_line, NULL);
	verifier_lines_end(&lines, say_line, NULL);
	return said;
}

static void
output_is_given_in_lines(void **state)
{
	static const char text[] = "one\n\n two\0three\nlast";

	for (size_t part = 1; part < sizeof(text); part++)
		assert_string_equal(lines_of(text, sizeof(text) - 1, part),
			"one|| two?three|last|");
	assert_string_equal(lines_of("a\n", 2, 2), "a|");
	assert_string_equal(lines_of("", 0, 1), "");
}

static void
long_lines_are_cut(void **state)
{
	char text[2 * VERIFIER_LINE_MAX + 2], wanted[sizeof(text) + 32];
	int max = (int)VERIFIER_LINE_MAX;

	memset(text, 'x', sizeof(text));
	snprintf(wanted, sizeof(wanted), "%.*s|", max, text);
	assert_string_equal(lines_of(text, VERIFIER_LINE_MAX, 100), wanted);
	text[VERIFIER_LINE_MAX] = '\n';
	assert_string_equal(lines_of(text, VERIFIER_LINE_MAX + 1, 100),
		wanted);
	text[VERIFIER_LINE_MAX] = 'x';
	snprintf(wanted, sizeof(wanted), "%.*s ..|.. x|", max, text);
	assert_string_equal(lines_of(text, VERIFIER_LINE_MAX + 1, 100),
		wanted);
	snprintf(wanted, sizeof(wanted), "%.*s ..|.. %.*s ..|.. xx|", max,
		text, max, text);
	assert_string_equal(lines_of(text, sizeof(text), 7), wanted);
}

static unsigned lines_said;

static void
count_line(void *ctx, const char *line)
{
	lines_said++;
}

static void
octets_above_127_are_escaped(void **state)
{
	char text[VERIFIER_LINE_MAX], wanted[4 * VERIFIER_LINE_MAX + 2] = "";

	assert_string_equal(lines_of("a\x7f\x80\xff\xc3\xa9z", 7, 3),
		"a\x7f\\200\\377\\303\\251z|");
	memset(text, '\xff', sizeof(text));
	for (size_t i = 0; i < sizeof(text); i++)
		memcpy(wanted + 4 * i, "\\377", 4);
	strcat(wanted, "|");
	assert_string_equal(lines_of(text, sizeof(text), 100), wanted);
}

static void
lines_beyond_the_limit_are_counted(void **state)
{
	struct verifier_lines lines = {.len = 0};
	char text[3 * VERIFIER_LINE_MAX];

	lines_said = 0;
	for (unsigned i = 0; i < VERIFIER_LINES_MAX + 5; i++)
		verifier_lines_add(&lines, "ab\n", 3, count_line, NULL);
	assert_int_equal(lines_said, VERIFIER_LINES_MAX);
	assert_int_equal(lines.left_out, 5);
	/* A long line is one line, and the last one needs no end. */
	memset(text, 'x', sizeof(text));
	verifier_lines_add(&lines, text, sizeof(text), count_line, NULL);
	verifier_lines_add(&lines, "\nab", 3, count_line, NULL);
	verifier_lines_end(&lines, count_line, NULL);
	assert_int_equal(lines_said, VERIFIER_LINES_MAX);
	assert_int_equal(lines.left_out, 7);
}

/* ---- commands ------------------------------------------------------------ */

static void
commands_are_found_by_their_sums(void **state)
{
	const char *one[] = {"/bin/a", "b c"}, *other[] = {"/bin/a", "b", "c"};
	const char *third[] = {"/bin/ab c"};
	struct conf_strings all[] = {{one, 2, 2}, {other, 3, 3}, {third, 1, 1}};
	struct conf_pattern options[2] = {{.verifier = all[1]},
		{.verifier = all[2]}};
	struct conf_pattern *patterns[] = {&options[0], &options[0]};
	struct conf_zone zone = {.options = &options[1]};
	struct conf_zone *zones[] = {&zone};
	struct conf conf = {.verify.verifier = all[0], .patterns = patterns,
		.pattern_count = 2, .zones = zones, .zone_count = 1};
	struct conf_commands *commands, *fewer;

	assert_int_equal(conf_commands_collect(&conf, &commands), NSD_OK);
	assert_int_equal(commands->count, 3);
	for (size_t i = 0; i < 3; i++) {
		char *const *argv = conf_commands_find(commands,
			conf_command_sum(&all[i]));

		assert_non_null(argv);
		for (uint32_t j = 0; j < all[i].count; j++)
			assert_string_equal(argv[j], all[i].items[j]);
		assert_null(argv[all[i].count]);
		assert_null(conf_commands_find(commands,
			conf_command_sum(&all[i]) + 1));
	}
	conf.zone_count = 0;
	assert_int_equal(conf_commands_collect(&conf, &fewer), NSD_OK);
	assert_null(conf_commands_find(fewer, conf_command_sum(&all[2])));
	assert_false(conf_commands_are_same(commands, fewer));
	assert_true(conf_commands_are_same(fewer, fewer));
	assert_null(conf_commands_find(NULL, 1));
	conf_commands_destroy(commands);
	conf_commands_destroy(fewer);
}

static void
options_of_a_zone_come_before_those_of_the_clause(void **state)
{
	const char *one[] = {"/a"}, *other[] = {"/b"};
	struct conf conf = {.verify = {.enable = true, .verify_zones = true,
		.verifier_feed_zone = true, .verifier_timeout = 7,
		.verifier = {one, 1, 1}}};
	struct conf_pattern options = {.verify_zone = CONF_INHERIT,
		.verifier_feed_zone = CONF_INHERIT,
		.verifier_timeout = CONF_INHERIT_TIMEOUT};
	struct conf_judging v;

	assert_true(conf_find_judging(&conf, &options, &v));
	assert_string_equal(v.command->items[0], "/a");
	assert_true(v.feed && v.timeout_sec == 7);
	options.verifier = (struct conf_strings){other, 1, 1};
	options.verifier_feed_zone = 0;
	options.verifier_timeout = 0;
	assert_true(conf_find_judging(&conf, &options, &v));
	assert_string_equal(v.command->items[0], "/b");
	assert_true(!v.feed && v.timeout_sec == 0);
	options.verify_zone = 0;
	assert_false(conf_find_judging(&conf, &options, &v));
	options.verify_zone = 1;
	conf.verify.enable = false;
	assert_false(conf_find_judging(&conf, &options, &v));
	conf.verify = (struct conf_verify){.enable = true};
	options.verifier.count = 0; /* no program: nothing is judged */
	assert_false(conf_find_judging(&conf, &options, &v));
}

/* ---- the keeper ---------------------------------------------------------- */

/* Of the next keeper: /proc is out of its reach, as in a chroot. */
static bool lacks_proc;

/* A keeper that runs, and our ends of its pipes. */
struct kept {
	pid_t pid;
	int report_fd, out_fd;
};

static char *const *
shell(const char *script)
{
	static char *argv[4];

	argv[0] = (char *)(uintptr_t)"sh";
	argv[1] = (char *)(uintptr_t)"-c";
	argv[2] = (char *)(uintptr_t)script;
	return argv;
}

static struct kept
keep(char *const *argv, uint32_t timeout_sec)
{
	struct kept kept;
	int report[2], out[2];
	pid_t self = getpid();

	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	kept.pid = fork();
	assert_true(kept.pid >= 0);
	if (kept.pid == 0) {
		const struct keeper_task task = {
			.argv = argv,
			.zone = "example",
			.timeout_sec = timeout_sec,
			.report_fd = report[1],
			.out_fd = out[1],
			.err_fd = out[1],
			.proc_fd = lacks_proc ? -1 : open("/proc",
				O_PATH | O_DIRECTORY | O_CLOEXEC),
		};

		verifier_keeper_run(&task, self);
	}
	close(report[1]);
	close(out[1]);
	kept.report_fd = report[0];
	kept.out_fd = out[0];
	return kept;
}

static struct keeper_report
next_report(const struct kept *kept)
{
	struct pollfd poll_fd = {.fd = kept->report_fd, .events = POLLIN};
	struct keeper_report report = {.what = UINT32_MAX};

	assert_int_equal(poll(&poll_fd, 1, PATIENCE_MSEC), 1);
	assert_int_equal(read(kept->report_fd, &report, sizeof(report)),
		sizeof(report));
	return report;
}

/* The keeper has ended, and with it all that has the program's output. */
static void
end_kept(const struct kept *kept)
{
	char text[256];
	ssize_t n;

	assert_int_equal(waitpid(kept->pid, NULL, 0), kept->pid);
	while ((n = read(kept->out_fd, text, sizeof(text))) > 0)
		continue;
	assert_int_equal(n, 0);
	close(kept->report_fd);
	close(kept->out_fd);
}

static void
keeper_reports_start_and_end(void **state)
{
	struct kept kept = keep(shell("test \"$VERIFY_ZONE\" = example"
		" && test -z \"$(cat)\" && exit 5"), 0);
	struct keeper_report report = next_report(&kept);

	assert_int_equal(report.what, KEEPER_STARTED);
	assert_true(report.value > 1 && report.value != kept.pid);
	report = next_report(&kept);
	assert_int_equal(report.what, KEEPER_ENDED);
	assert_true(WIFEXITED(report.value));
	assert_int_equal(WEXITSTATUS(report.value), 5);
	end_kept(&kept);
}

static void
keeper_reports_what_cannot_be_started(void **state)
{
	static char name[] = "/no/such/program";
	char *argv[] = {name, NULL};
	struct kept kept = keep(argv, 0);
	struct keeper_report report = next_report(&kept);

	assert_int_equal(report.what, KEEPER_FAILED);
	assert_int_equal(report.value, ENOENT);
	end_kept(&kept);
}

/* Programs that hold the output open when they are not killed: end_kept would
 * wait for them. */
#define LEFT "sleep 1000 & setsid sleep 1000 & (setsid sleep 1000 &) ; "

static void
keeper_kills_what_a_program_leaves(void **state)
{
	struct kept kept = keep(shell(LEFT "exit 0"), 0);

	assert_int_equal(next_report(&kept).what, KEEPER_STARTED);
	assert_int_equal(next_report(&kept).what, KEEPER_ENDED);
	end_kept(&kept);
}

/* Daemons are not found then, but the program's group is. */
static void
keeper_kills_the_group_without_proc(void **state)
{
	struct kept kept;

	lacks_proc = true;
	kept = keep(shell("sleep 1000 & sleep 1000 & exit 0"), 0);
	lacks_proc = false;
	assert_int_equal(next_report(&kept).what, KEEPER_STARTED);
	assert_int_equal(next_report(&kept).what, KEEPER_ENDED);
	end_kept(&kept);
}

static void
keeper_ends_a_program_at_its_time(void **state)
{
	struct kept kept = keep(shell("trap '' TERM; " LEFT "sleep 1000"), 1);
	struct keeper_report report;

	assert_int_equal(next_report(&kept).what, KEEPER_STARTED);
	assert_int_equal(next_report(&kept).what, KEEPER_TIMED_OUT);
	report = next_report(&kept);
	assert_int_equal(report.what, KEEPER_ENDED);
	assert_true(WIFSIGNALED(report.value));
	end_kept(&kept);
}

static void
keeper_ends_a_program_when_it_is_told_to(void **state)
{
	struct kept kept = keep(shell(LEFT "sleep 1000"), 0);

	assert_int_equal(next_report(&kept).what, KEEPER_STARTED);
	kill(kept.pid, SIGTERM);
	assert_int_equal(next_report(&kept).what, KEEPER_STOPPED);
	end_kept(&kept);
}

/* The verifier finds what a keeper has left that was killed. */
static void
strays_are_killed(void **state)
{
	struct kept kept;
	int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	pid_t spared = fork();
	int64_t but[1] = {spared};
	char octet;

	if (spared == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	kept = keep(shell("setsid sleep 1000 & sleep 1000"), 0);
	assert_int_equal(next_report(&kept).what, KEEPER_STARTED);
	kill(kept.pid, SIGKILL);
	fcntl(kept.out_fd, F_SETFL, O_NONBLOCK);
	while (read(kept.out_fd, &octet, 1) != 0) {
		assert_true(verifier_keeper_kill_children(proc_fd, but, 1));
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		usleep(1000);
	}
	assert_int_equal(kill(spared, SIGKILL), 0);
	assert_int_equal(waitpid(spared, NULL, 0), spared);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
	close(proc_fd);
	close(kept.report_fd);
	close(kept.out_fd);
}

/* ---- feeding ------------------------------------------------------------- */

#define HOSTS 20000u

static struct zone_fixture fixture;
static const struct zone *zone;

static void
build_zone(void)
{
	char *text = malloc(HOSTS * 64), *at = text;
	store_ref ref;

	at += sprintf(at, "$TTL 300\n@ SOA ns h 1 2 3 4 5\n@ NS ns\n");
	for (unsigned i = 0; i < HOSTS; i++)
		at += sprintf(at, "h%u A 192.0.2.1\n", i);
	zone_fixture_init(&fixture);
	assert_int_equal(zone_fixture_build(&fixture, "example.", text, &ref),
		NSD_OK);
	zone = store_get(fixture.view, ref);
	free(text);
}

/* Feeds a reader that waits until all is read from the store, if it hurries;
 * returns the octets and a sum of them. */
static size_t
feed(bool hurries, unsigned *sum)
{
	char part[4096], octet;
	int ends[2], fed[2], status;
	size_t octets = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(pipe2(fed, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct verifier_feed what = {
			.view = fixture.view,
			.zone = zone,
			.apex = zone_fixture_name("example."),
			.fed_fd = fed[1],
		};

		close(ends[0]);
		close(fed[0]);
		_exit(verifier_feed_write(&what, ends[1]) != NSD_OK);
	}
	close(ends[1]);
	close(fed[1]);
	/* The signal is blocked until it is waited for. */
	if (hurries) {
		assert_int_equal(kill(pid, SIGUSR1), 0);
		assert_int_equal(read(fed[0], &octet, 1), 0);
	}
	*sum = 0;
	while ((n = read(ends[0], part, sizeof(part))) > 0)
		for (ssize_t i = 0; i < n; i++, octets++)
			*sum = *sum * 31 + (uint8_t)part[i];
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ends[0]);
	close(fed[0]);
	return octets;
}

static void
feed_in_a_hurry_is_whole(void **state)
{
	sigset_t block;
	unsigned sum, hurried_sum;
	size_t octets, hurried;

	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, NULL); /* as in the keeper */
	build_zone();
	octets = feed(false, &sum);
	assert_true(octets > 256u << 10); /* more than a pipe holds */
	hurried = feed(true, &hurried_sum);
	assert_int_equal(hurried, octets);
	assert_int_equal(hurried_sum, sum);
	zone_fixture_fini(&fixture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_is_given_in_lines),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(octets_above_127_are_escaped),
		cmocka_unit_test(lines_beyond_the_limit_are_counted),
		cmocka_unit_test(commands_are_found_by_their_sums),
		cmocka_unit_test(
			options_of_a_zone_come_before_those_of_the_clause),
		cmocka_unit_test(keeper_reports_start_and_end),
		cmocka_unit_test(keeper_reports_what_cannot_be_started),
		cmocka_unit_test(keeper_kills_what_a_program_leaves),
		cmocka_unit_test(keeper_kills_the_group_without_proc),
		cmocka_unit_test(keeper_ends_a_program_at_its_time),
		cmocka_unit_test(keeper_ends_a_program_when_it_is_told_to),
		cmocka_unit_test(strays_are_killed),
		cmocka_unit_test(feed_in_a_hurry_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
