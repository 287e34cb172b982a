/* trial.c - has something tried by a process of its own. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/trial.h"

static _Noreturn void
trial_main(trial_fn *fn, void *arg, int to, pid_t parent)
{
	const struct rlimit no_core = {0, 0};
	struct trial_report report = {.err = NSD_OK};

	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* The parent may have died before prctl. */
	if (getppid() != parent)
		_exit(1);
	fs_close_all_but(&to, 1);
	report.err = fn(arg, report.text);
	_exit(fs_write_all(to, &report, sizeof(report)) == NSD_OK ? 0 : 1);
}

enum nsd_err
trial_read(const struct trial_report *report, char text[TRIAL_TEXT_MAX])
{
	size_t i = 0;

	for (; i < TRIAL_TEXT_MAX - 1 && report->text[i] != '\0'; i++)
		text[i] = (unsigned char)report->text[i] < ' '
				|| report->text[i] == 0x7f
			? ' '
			: report->text[i];
	text[i] = '\0';
	return report->err <= NSD_E_BUG ? (enum nsd_err)report->err
					: NSD_E_PEER;
}

/* Reads the child's report until it is whole, the child ends, or the time is
 * over. */
enum nsd_err
trial_hear(int from, int limit_msec, char text[TRIAL_TEXT_MAX])
{
	int64_t until_msec = clock_now_msec() + limit_msec;
	struct pollfd wait = {.fd = from, .events = POLLIN};
	struct trial_report report;
	size_t len = 0;

	*text = '\0';
	while (len < sizeof(report)) {
		int64_t left = until_msec - clock_now_msec();
		ssize_t got = -1;

		if (left <= 0)
			return NSD_E_AGAIN;
		if (poll(&wait, 1, (int)left) == 1)
			got = read(from, (uint8_t *)&report + len,
				sizeof(report) - len);
		if (got == 0)
			return NSD_E_PEER;
		if (got > 0)
			len += (size_t)got;
	}
	return trial_read(&report, text);
}

/* Kills the child, whose report is all that counts. */
static void
trial_end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
}

enum nsd_err
trial_run(trial_fn *fn, void *arg, int limit_msec, char text[TRIAL_TEXT_MAX])
{
	enum nsd_err err;
	int fds[2], error;
	pid_t parent = getpid(), pid;

	*text = '\0';
	if (pipe2(fds, O_CLOEXEC) == -1)
		return NSD_E_SYSTEM;
	pid = fork();
	if (pid == 0)
		trial_main(fn, arg, fds[1], parent);
	error = errno;
	close(fds[1]);
	if (pid == -1) {
		close(fds[0]);
		errno = error;
		return NSD_E_SYSTEM;
	}
	err = trial_hear(fds[0], limit_msec, text);
	close(fds[0]);
	trial_end(pid);
	return err;
}

struct trial_call {
	void (*call)(void);
};

static enum nsd_err
trial_call(void *arg, char text[TRIAL_TEXT_MAX])
{
	((const struct trial_call *)arg)->call();
	return NSD_OK;
}

bool
trial_may_call(void (*call)(void))
{
	struct trial_call arg = {call};
	char text[TRIAL_TEXT_MAX];

	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0
		|| trial_run(trial_call, &arg, TRIAL_MSEC, text) == NSD_OK;
}
