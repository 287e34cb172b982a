/* verifier_keeper.c - the process between the verifier and one program. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "process/sandbox.h"
#include "process/title.h"
#include "verifier/verifier_env.h"
#include "verifier/verifier_feed.h"
#include "verifier/verifier_keeper.h"

/* How long processes that were killed are waited for at most. */
#define SWEEP_MSEC 5000
#define SWEEP_STEP_USEC 1000
/* How long the end of the process that feeds a program is waited for. */
#define FEED_END_MSEC 50
/* Octets of the list of children that are looked at in one go. */
#define CHILDREN_TEXT 4096u

static void
keeper_report(const struct keeper_task *task, enum keeper_what what,
	int32_t value)
{
	const struct keeper_report report = {.what = what, .value = value};

	(void)!fs_write_all(task->report_fd, &report, sizeof(report));
}

/* ---- the program --------------------------------------------------------- */

/* Standard input, output and error of the program. The numbers of the pipes are
 * higher than these. */
static bool
keeper_set_streams(const struct keeper_task *task, int in_fd)
{
	return dup2(in_fd, 0) != -1 && dup2(task->out_fd, 1) != -1
		&& dup2(task->err_fd, 2) != -1;
}

/* Signals that the server ignores or blocks have their usual effect again. */
static void
keeper_free_signals(void)
{
	sigset_t none;

	for (int signal_number = 1; signal_number < NSIG; signal_number++)
		(void)signal(signal_number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Executes the program, which closes failed_fd. A failure is written there. */
static _Noreturn void
keeper_become_program(const struct keeper_task *task, int in_fd, int failed_fd)
{
	int32_t error;

	(void)setsid();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	keeper_free_signals();
	if (task->sandbox != NULL)
		sandbox_enter_program(task->sandbox);
	if (!verifier_env_set_zone(task->zone, task->feed != NULL)
		|| !keeper_set_streams(task, in_fd)) {
		error = errno;
	} else {
		fs_close_all_but(&failed_fd, 1);
		execvp(task->argv[0], task->argv);
		error = errno;
	}
	(void)!fs_write_all(failed_fd, &error, sizeof(error));
	_exit(127);
}

/* Starts the program; its pid. -1: errno says why not. */
static pid_t
keeper_start(const struct keeper_task *task, int in_fd)
{
	int32_t error = 0;
	int failed[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(failed, O_CLOEXEC) == -1)
		return -1;
	pid = fork();
	if (pid == 0)
		keeper_become_program(task, in_fd, failed[1]);
	if (pid == -1)
		error = errno;
	close(failed[1]);
	/* The pipe is closed once the program runs. */
	do
		n = pid == -1 ? 0 : read(failed[0], &error, sizeof(error));
	while (n == -1 && errno == EINTR);
	close(failed[0]);
	if (error == 0)
		return pid;
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	errno = error;
	return -1;
}

/* ---- feeding ------------------------------------------------------------- */

/* Opens what the program reads: *in, and of a fed one *feed, else -1. */
static bool
keeper_open_input(const struct keeper_task *task, int *in, int *feed)
{
	int ends[2];

	*feed = -1;
	if (task->feed == NULL) {
		*in = open("/dev/null", O_RDONLY | O_CLOEXEC);
		/* A chroot may have none: nothing is to be read either. */
		if (*in != -1)
			return true;
	}
	if (pipe2(ends, O_CLOEXEC) == -1)
		return false;
	*in = ends[0];
	if (task->feed == NULL)
		close(ends[1]);
	else
		*feed = ends[1];
	return true;
}

/* Starts the process that writes the zone; its pid. -1: it cannot be. */
static pid_t
keeper_start_feed(const struct keeper_task *task, int in_fd, int feed_fd)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	close(in_fd);
	close(task->report_fd);
	close(task->out_fd);
	close(task->err_fd);
	_exit(verifier_feed_write(task->feed, feed_fd) != NSD_OK);
}

/* ---- the end ------------------------------------------------------------- */

static bool
keeper_is_listed(int64_t pid, const int64_t *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i] == pid)
			return true;
	return false;
}

/* Kills the children in a text of numbers with a blank after each. */
static void
keeper_kill_listed(char *text, const int64_t *but, unsigned count)
{
	char *end;

	for (char *at = text; *at != '\0'; at = end) {
		int64_t pid = strtol(at, &end, 10);

		if (end == at)
			return;
		/* A number that is cut by the end of the text is not taken. */
		if (*end == ' ' && pid > 1
			&& !keeper_is_listed(pid, but, count))
			(void)kill((pid_t)pid, SIGKILL);
	}
}

bool
verifier_keeper_kill_children(int proc_fd, const int64_t *but, unsigned count)
{
	char path[64], text[CHILDREN_TEXT];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%ld/task/%ld/children", (long)getpid(),
		(long)getpid());
	fd = proc_fd == -1 ? -1 : openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	keeper_kill_listed(text, but, count);
	return n >= 0;
}

/* Kills what has left the program's group, and what feeds it, and waits until
 * all is gone. */
static void
keeper_sweep(const struct keeper_task *task)
{
	int64_t until = clock_now_msec() + SWEEP_MSEC;
	bool any = true;

	while (any && clock_now_msec() < until) {
		bool seen = verifier_keeper_kill_children(task->proc_fd, NULL,
			0);
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			continue;
		any = pid == 0 && seen;
		if (any)
			usleep(SWEEP_STEP_USEC);
	}
}

/* Looks whether the program has ended, and does not take its status yet; that
 * of others is dropped. True: *outcome says how it is over, KEEPER_FAILED if
 * the zone could not be written. */
static bool
keeper_has_ended(pid_t program, pid_t feed, enum keeper_what *outcome)
{
	siginfo_t info;
	int status = 0;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == -1
			|| info.si_pid == 0)
			return false;
		*outcome = KEEPER_ENDED;
		if (info.si_pid == program)
			return true;
		*outcome = KEEPER_FAILED;
		if (waitpid(info.si_pid, &status, WNOHANG) == feed
			&& status != 0)
			return true;
	}
}

/* Waits for the end of the program, of its time, or for SIGTERM. */
static enum keeper_what
keeper_wait(const struct keeper_task *task, pid_t program, pid_t feed,
	const sigset_t *signals)
{
	int64_t until = clock_now_msec() + (int64_t)task->timeout_sec * 1000;
	enum keeper_what outcome = KEEPER_FAILED;

	while (!keeper_has_ended(program, feed, &outcome)) {
		int64_t left = until - clock_now_msec();
		struct timespec wait = {.tv_sec = left / 1000,
			.tv_nsec = left % 1000 * 1000000};
		int got;

		if (task->timeout_sec > 0 && left <= 0)
			return KEEPER_TIMED_OUT;
		got = task->timeout_sec > 0
			? sigtimedwait(signals, NULL, &wait)
			: sigwaitinfo(signals, NULL);
		if (got == SIGTERM)
			return KEEPER_STOPPED;
		if (got == SIGUSR1 && feed > 0)
			(void)kill(feed, SIGUSR1);
	}
	return outcome;
}

static int
keeper_take_status(pid_t program)
{
	int status = 0;

	while (waitpid(program, &status, 0) == -1 && errno == EINTR)
		continue;
	return status;
}

/* True if the program may have read a part of the zone and taken that for all:
 * the process that fed it has failed, perhaps just now. That process ends
 * once nobody reads its pipe, so soon after the program's death. */
static bool
keeper_feed_failed(pid_t feed)
{
	int64_t until = clock_now_msec() + FEED_END_MSEC;
	int status = 0;

	while (feed > 0 && clock_now_msec() < until) {
		pid_t pid = waitpid(feed, &status, WNOHANG);

		if (pid != 0)
			return pid == feed && status != 0;
		usleep(SWEEP_STEP_USEC);
	}
	return false;
}

static void
keeper_end(const struct keeper_task *task, pid_t program, pid_t feed,
	enum keeper_what outcome)
{
	int status;

	assert(program > 1);
	if (outcome == KEEPER_TIMED_OUT)
		keeper_report(task, KEEPER_TIMED_OUT, 0);
	/* A program that has ended has its status already, and keeps its number
	 * until the status is taken: no other group has that. */
	(void)kill(program, SIGKILL);
	(void)kill(-program, SIGKILL);
	if (outcome == KEEPER_ENDED && keeper_feed_failed(feed))
		outcome = KEEPER_FAILED;
	status = keeper_take_status(program);
	keeper_sweep(task);
	if (outcome == KEEPER_TIMED_OUT)
		outcome = KEEPER_ENDED;
	keeper_report(task, outcome,
		outcome == KEEPER_FAILED ? ENOMEM : status);
}

/* ---- the keeper ---------------------------------------------------------- */

static void
keeper_init(const struct keeper_task *task, sigset_t *signals,
	int64_t verifier)
{
	int keep[5] = {task->report_fd, task->out_fd, task->err_fd};
	unsigned count = 3;

	if (task->proc_fd != -1)
		keep[count++] = task->proc_fd;
	if (task->feed != NULL)
		keep[count++] = task->feed->fed_fd;
	fs_close_all_but(keep, count);
	title_set("nsd: keeper");
	sigemptyset(signals);
	sigaddset(signals, SIGTERM);
	sigaddset(signals, SIGCHLD);
	sigaddset(signals, SIGUSR1);
	sigprocmask(SIG_SETMASK, signals, NULL);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
	if (getppid() != verifier)
		_exit(1);
}

_Noreturn void
verifier_keeper_run(const struct keeper_task *task, int64_t verifier)
{
	sigset_t signals;
	pid_t program = -1;
	pid_t feeder = 0;
	int in = -1, feed = -1;

	keeper_init(task, &signals, verifier);
	if (keeper_open_input(task, &in, &feed))
		program = keeper_start(task, in);
	if (program == -1) {
		keeper_report(task, KEEPER_FAILED, errno);
		_exit(0);
	}
	keeper_report(task, KEEPER_STARTED, (int32_t)program);
	if (feed != -1) {
		feeder = keeper_start_feed(task, in, feed);
		close(feed);
		close(task->feed->fed_fd);
	}
	close(in);
	close(task->out_fd);
	close(task->err_fd);
	/* A program that is not fed is not to think that the zone is empty. */
	keeper_end(task, program, feeder, feeder == -1 ? KEEPER_FAILED
		: keeper_wait(task, program, feeder, &signals));
	_exit(0);
}
