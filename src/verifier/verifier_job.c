/* verifier_job.c - a version that a program judges. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "verifier/verifier_feed.h"
#include "verifier/verifier_job.h"
#include "verifier/verifier_keeper.h"

/* Octets of output that are taken at once; and at the end at most, which is
 * more than pipes hold. */
#define OUTPUT_PART 4096u
#define OUTPUT_REST (4u << 20)
/* How much longer than its program a keeper is waited for. */
#define KEEPER_LATE_SEC 20

/* ---- output -------------------------------------------------------------- */

static void
job_on_line(void *ctx, const char *line)
{
	const struct verifier_stream *stream = ctx;

	log_write(stream->level, "verifier: %s", line);
}

static void
output_close(struct verifier_stream *stream)
{
	if (stream->event != NULL)
		event_free(stream->event);
	stream->event = NULL;
	if (stream->fd != -1)
		close(stream->fd);
	stream->fd = -1;
}

/* Takes a part of the output. False: there is none now. */
static bool
output_take(struct verifier_stream *stream)
{
	char part[OUTPUT_PART];
	ssize_t n = stream->fd == -1 ? 0
		: read(stream->fd, part, sizeof(part));

	if (n > 0)
		verifier_lines_add(&stream->lines, part, (size_t)n,
			job_on_line, stream);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		output_close(stream);
	return n > 0;
}

static void
output_on_more(evutil_socket_t fd, short what, void *arg)
{
	(void)output_take(arg);
}

/* Takes what is there, when the program has ended. */
static void
output_end(struct verifier_stream *stream)
{
	size_t left = OUTPUT_REST / OUTPUT_PART;

	while (left > 0 && output_take(stream))
		left--;
	verifier_lines_end(&stream->lines, job_on_line, stream);
	if (stream->lines.left_out > 0)
		log_write(stream->level, "verify: verifier for zone %s (pid %d)"
			" has printed too much: %llu lines are left out",
			stream->job->zone, (int)stream->job->program,
			(unsigned long long)stream->lines.left_out);
	output_close(stream);
}

static void
job_close(struct verifier_job *job)
{
	struct event **events[] = {&job->report_event, &job->late_event,
		&job->fed_event};

	output_close(&job->out);
	output_close(&job->err);
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		if (*events[i] != NULL)
			event_free(*events[i]);
		*events[i] = NULL;
	}
	if (job->report_fd != -1)
		close(job->report_fd);
	if (job->fed_fd != -1)
		close(job->fed_fd);
	job->report_fd = job->fed_fd = -1;
}

/* ---- the end ------------------------------------------------------------- */

static void
job_end(struct verifier_job *job, enum ipc_verdict verdict, int32_t status,
	int error)
{
	const struct ipc_verified verified = {
		.verdict = verdict,
		.status = (uint32_t)status,
		.error = (uint32_t)error,
	};

	job_close(job);
	job->on_end(job, &verified);
}

static void
job_end_not_run(struct verifier_job *job, int error)
{
	log_error("verify: could not start verifier for zone %s: %s",
		job->zone, strerror(error));
	job_end(job, VERDICT_NOT_RUN, 0, error);
}

/* Logs the end as NSD does. */
static void
job_on_program_end(struct verifier_job *job, int32_t status)
{
	enum ipc_verdict verdict = VERDICT_REFUSED;

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		verdict = VERDICT_ACCEPTED;
	if (job->timed_out)
		verdict = VERDICT_TIMED_OUT;
	if (WIFEXITED(status))
		log_write(WEXITSTATUS(status) == 0 ? LOG_LEVEL_INFO
						   : LOG_LEVEL_ERROR,
			"verify: verifier for zone %s (pid %d) exited with %d",
			job->zone, (int)job->program, WEXITSTATUS(status));
	else
		log_error("verify: verifier for zone %s (pid %d) exited"
			  " abnormally", job->zone, (int)job->program);
	job_end(job, verdict, status, 0);
}

/* The zone could not be written to the program. */
static void
job_on_failed(struct verifier_job *job, int error)
{
	if (job->program == 0) {
		job_end_not_run(job, error);
		return;
	}
	log_error("verify: verifier for zone %s (pid %d) could not be given"
		  " the zone: %s", job->zone, (int)job->program,
		strerror(error));
	job_end(job, VERDICT_NOT_RUN, 0, error);
}

/* Has the keeper's descendants die with it: they become children of this
 * process, which kills them (verifier.c). */
static void
job_on_keeper_lost(struct verifier_job *job)
{
	(void)kill(job->keeper, SIGKILL);
	log_error("verify: verifier for zone %s (pid %d): the process that"
		  " watches it was killed", job->zone, (int)job->program);
	job_end(job, VERDICT_NOT_RUN, 0, ECHILD);
}

static void
job_on_late(evutil_socket_t fd, short what, void *arg)
{
	job_on_keeper_lost(arg);
}

/* ---- reports of the keeper ----------------------------------------------- */

static void
job_on_started(struct verifier_job *job, int32_t program)
{
	const uint32_t timeout_sec = job->what.timeout_sec;

	job->program = program;
	if (timeout_sec > 0)
		log_info("verify: started verifier for zone %s (pid %d),"
			 " timeout is %u seconds", job->zone, (int)program,
			(unsigned)timeout_sec);
	else
		log_info("verify: started verifier for zone %s (pid %d)",
			job->zone, (int)program);
	if (event_add(job->out.event, NULL) == -1
		|| event_add(job->err.event, NULL) == -1)
		log_error("out of memory for the output of a verifier");
}

/* Takes a report; false: the job is over. */
static bool
job_take_report(struct verifier_job *job, const struct keeper_report *report)
{
	if (report->what != KEEPER_STARTED
		&& report->what != KEEPER_TIMED_OUT) {
		output_end(&job->out);
		output_end(&job->err);
	}
	switch (report->what) {
	case KEEPER_STARTED:
		job_on_started(job, report->value);
		return true;
	case KEEPER_TIMED_OUT:
		log_error("verify: verifier for zone %s (pid %d) timed out",
			job->zone, (int)job->program);
		job->timed_out = true;
		return true;
	case KEEPER_FAILED:
		job_on_failed(job, report->value);
		return false;
	case KEEPER_STOPPED:
		job_end(job, VERDICT_AGAIN, report->value, 0);
		return false;
	default:
		job_on_program_end(job, report->value);
		return false;
	}
}

static void
job_on_report(evutil_socket_t fd, short what, void *arg)
{
	struct verifier_job *job = arg;
	struct keeper_report report;
	ssize_t n;

	do {
		n = read(fd, &report, sizeof(report));
	} while (n == (ssize_t)sizeof(report) && job_take_report(job, &report)
		&& job->report_fd != -1);
	if (n == (ssize_t)sizeof(report))
		return; /* the job is over, and may be freed */
	if (n != -1 || (errno != EAGAIN && errno != EINTR))
		job_on_keeper_lost(job);
}

static void
job_on_fed(evutil_socket_t fd, short what, void *arg)
{
	struct verifier_job *job = arg;

	event_free(job->fed_event);
	job->fed_event = NULL;
	close(job->fed_fd);
	job->fed_fd = -1;
	job->on_fed(job);
}

/* ---- the start ----------------------------------------------------------- */

/* Our ends of pipes, and the keeper's. */
struct job_pipes {
	int ours[4], theirs[4];
};
enum { PIPE_REPORT, PIPE_OUT, PIPE_ERR, PIPE_FED };

static void
pipes_close(const int fds[4])
{
	for (int i = 0; i < 4; i++)
		if (fds[i] != -1)
			close(fds[i]);
}

static bool
pipes_open(struct job_pipes *pipes)
{
	int ends[2];

	for (int i = 0; i < 4; i++)
		pipes->ours[i] = pipes->theirs[i] = -1;
	for (int i = 0; i < 4; i++) {
		if (pipe2(ends, O_CLOEXEC) == -1)
			return false;
		pipes->ours[i] = ends[0];
		pipes->theirs[i] = ends[1];
		if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1)
			return false;
	}
	return true;
}

static _Noreturn void
job_run_keeper(const struct verifier_job *job,
	const struct verifier_tools *tools, const struct job_pipes *pipes,
	pid_t verifier)
{
	const struct verifier_feed feed = {
		.view = tools->view,
		.zone = job->version,
		.apex = job->what.apex,
		.fed_fd = pipes->theirs[PIPE_FED],
	};
	const struct keeper_task task = {
		.argv = tools->argv,
		.zone = job->zone,
		.timeout_sec = job->what.timeout_sec,
		.report_fd = pipes->theirs[PIPE_REPORT],
		.out_fd = pipes->theirs[PIPE_OUT],
		.err_fd = pipes->theirs[PIPE_ERR],
		.proc_fd = tools->proc_fd,
		.sandbox = tools->sandbox,
		.feed = job->is_pinned ? &feed : NULL,
	};

	verifier_keeper_run(&task, verifier);
}

static void
job_take_pipes(struct verifier_job *job, const struct job_pipes *pipes)
{
	job->report_fd = pipes->ours[PIPE_REPORT];
	job->out.fd = pipes->ours[PIPE_OUT];
	job->err.fd = pipes->ours[PIPE_ERR];
	job->fed_fd = pipes->ours[PIPE_FED];
}

static bool
job_watch(struct verifier_job *job, struct event_base *base)
{
	const struct timeval late = {
		.tv_sec = (time_t)job->what.timeout_sec + KEEPER_LATE_SEC};

	job->report_event = event_new(base, job->report_fd,
		EV_READ | EV_PERSIST, job_on_report, job);
	job->out.event = event_new(base, job->out.fd, EV_READ | EV_PERSIST,
		output_on_more, &job->out);
	job->err.event = event_new(base, job->err.fd, EV_READ | EV_PERSIST,
		output_on_more, &job->err);
	job->fed_event = event_new(base, job->fed_fd, EV_READ, job_on_fed,
		job);
	job->late_event = event_new(base, -1, 0, job_on_late, job);
	return job->report_event != NULL && job->out.event != NULL
		&& job->err.event != NULL && job->fed_event != NULL
		&& job->late_event != NULL
		&& event_add(job->report_event, NULL) == 0
		&& event_add(job->fed_event, NULL) == 0
		&& (job->what.timeout_sec == 0
			|| event_add(job->late_event, &late) == 0);
}

static void
job_init_streams(struct verifier_job *job)
{
	job->out = (struct verifier_stream){
		.job = job,
		.level = LOG_LEVEL_INFO,
	};
	job->err = (struct verifier_stream){
		.job = job,
		.level = LOG_LEVEL_ERROR,
	};
}

void
verifier_job_start(struct verifier_job *job,
	const struct verifier_tools *tools)
{
	struct job_pipes pipes;
	pid_t self = getpid();

	assert(job->keeper == 0);
	job_init_streams(job);
	if (!pipes_open(&pipes)) {
		pipes_close(pipes.theirs);
		job_take_pipes(job, &pipes);
		job_end_not_run(job, errno);
		return;
	}
	job_take_pipes(job, &pipes);
	if (job_watch(job, tools->base))
		job->keeper = fork();
	if (job->keeper == 0 && getpid() != self)
		job_run_keeper(job, tools, &pipes, self);
	pipes_close(pipes.theirs);
	if (job->keeper > 0)
		return;
	job->keeper = 0;
	job_end_not_run(job, ENOMEM);
}

void
verifier_job_stop(const struct verifier_job *job)
{
	if (job->keeper > 0)
		(void)kill(job->keeper, SIGTERM);
}

void
verifier_job_hurry(const struct verifier_job *job)
{
	if (job->keeper > 0)
		(void)kill(job->keeper, SIGUSR1);
}
