/* watch.c - finds children that hang, and kills them, so that others take their
 * services. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "main/barrier.h"
#include "main/child.h"
#include "main/children.h"
#include "main/service.h"
#include "main/standby.h"
#include "main/watch.h"

/* Longer steps count as this much: main did not look meanwhile, perhaps because
 * the whole machine stood still. */
#define STEP_MAX_MSEC (2 * ROLE_HEARTBEAT_MSEC)
/* A silence without proof of anything is told after this. */
#define SILENCE_TOLD_MSEC 10000
#define TRACED_TOLD_MSEC 1000
/* Name, state and tracer stand in the first lines. */
#define STATUS_SIZE 1024
#define NO_SIGN ", without a sign of life"

/* A worker does nothing that takes a second of processor time, or sleeps,
 * between two heartbeats. */
static const struct watch_limits watch_worker = {750, 2000, 1000};
/* Limits of a worker while none serves, and so no client is answered. */
#define LAST_STOPPED_MSEC 500
#define LAST_ASLEEP_MSEC 1000
static const struct watch_limits watch_xfrd = {750, 10000, 10000};
/* Work on a huge zone may take minutes, and a file be on a slow disk of another
 * machine. So it is for any process that has not come to its loop yet. */
static const struct watch_limits watch_patient = {750, 60000, 300000};

/* ---- judging ------------------------------------------------------------- */

/* Returns the verdict of a single look. */
static enum watch_verdict
watch_kind(const struct watch *w, const struct watch_sight *sight)
{
	if (sight->traced)
		return WATCH_TRACED;
	if (sight->state == 'T')
		return WATCH_STOPPED;
	/* A thread may work while the first one waits for it. */
	return sight->state == 'S' && sight->cpu_msec == w->cpu_msec
		? WATCH_ASLEEP
		: WATCH_WAITS;
}

enum watch_verdict
watch_check(struct watch *w, const struct watch_limits *limits,
	const struct watch_sight *sight, int64_t step_msec)
{
	enum watch_verdict kind;

	assert(w->silent_msec >= 0);
	if (w->silent_msec == 0)
		w->cpu_first_msec = w->cpu_msec = sight->cpu_msec;
	kind = watch_kind(w, sight);
	w->kind_msec = kind == w->kind && w->silent_msec > 0
		? w->kind_msec + step_msec
		: 0;
	w->silent_msec += step_msec > 0 ? step_msec : 1;
	w->kind = kind;
	w->cpu_msec = sight->cpu_msec;
	if (kind == WATCH_TRACED)
		return WATCH_TRACED;
	if (sight->cpu_msec - w->cpu_first_msec >= limits->busy_msec)
		return WATCH_BUSY;
	if (kind == WATCH_STOPPED && w->kind_msec >= limits->stopped_msec)
		return WATCH_STOPPED;
	if (kind == WATCH_ASLEEP && w->kind_msec >= limits->asleep_msec)
		return WATCH_ASLEEP;
	return WATCH_WAITS;
}

/* ---- looking ------------------------------------------------------------- */

/* Reads /proc/PID/status. False: it cannot be read. */
static bool
watch_read_status(int proc_fd, pid_t pid, struct watch_sight *sight)
{
	char path[32], text[STATUS_SIZE];
	const char *state, *tracer;
	ssize_t n;
	int fd;

	if (proc_fd <= 0)
		return false;
	snprintf(path, sizeof(path), "%ld/status", (long)pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	state = strstr(text, "\nState:\t");
	tracer = strstr(text, "\nTracerPid:\t");
	if (state == NULL || tracer == NULL)
		return false;
	sight->state = state[8];
	sight->traced = strtol(tracer + 12, NULL, 10) != 0;
	return true;
}

/* The kernel tells a parent of stops, whatever /proc shows. It tells nothing
 * of a child that is traced. */
static bool
watch_is_stopped(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info,
		       WSTOPPED | WNOHANG | WNOWAIT)
		== 0
		&& info.si_pid == pid;
}

static int64_t
watch_read_cpu(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0
		|| clock_gettime(clock, &used) != 0)
		return 0;
	return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static struct watch_sight
watch_see(const struct supervisor *s, pid_t pid)
{
	struct watch_sight sight = {.cpu_msec = watch_read_cpu(pid)};

	if (!watch_read_status(s->proc_fd, pid, &sight))
		sight.state = watch_is_stopped(pid) ? 'T' : '?';
	return sight;
}

static struct watch_limits
watch_get_limits(const struct child *child)
{
	bool starts = child->watch.heartbeat == 0;
	struct watch_limits limits = watch_patient;

	if (child->role == ROLE_WORKER && !starts)
		limits = watch_worker;
	if (child->role == ROLE_XFRD && !starts)
		limits = watch_xfrd;
	if (child->role != ROLE_WORKER || children_serve(child->supervisor))
		return limits;
	limits.stopped_msec = LAST_STOPPED_MSEC;
	if (!starts)
		limits.asleep_msec = LAST_ASLEEP_MSEC;
	return limits;
}

/* ---- acting on verdicts -------------------------------------------------- */

static void
watch_on_heartbeat(struct child *child, uint64_t heartbeat)
{
	if (child->watch.told)
		log_notice("%s (pid %ld) goes on after %lld ms",
			child_name(child), (long)child->pid,
			(long long)child->watch.silent_msec);
	child->watch = (struct watch){.heartbeat = heartbeat};
}

void
watch_replace(struct child *child)
{
	assert(!child->reaped && !child->hung);
	child->hung = true;
	child_kill(child);
}

static void
watch_on_hung(struct child *child, enum watch_verdict verdict)
{
	static const char *const why[] = {
		[WATCH_STOPPED] = "it is stopped" NO_SIGN,
		[WATCH_ASLEEP] = "it sleeps and does not wake up" NO_SIGN,
		[WATCH_BUSY] = "it works and comes to no end" NO_SIGN,
		[WATCH_UNRESPONSIVE] =
			"it beats and does not do what it is told",
	};
	bool replace = child->supervisor->server.conf->server.replace_hung;

	assert(verdict < sizeof(why) / sizeof(*why) && why[verdict] != NULL);
	if (replace || !child->watch.told)
		log_error("%s (pid %ld) hangs: %s for %lld ms%s",
			child_name(child), (long)child->pid, why[verdict],
			verdict == WATCH_UNRESPONSIVE
				? (long long)WATCH_UNRESPONSIVE_LOOKS
					* ROLE_HEARTBEAT_MSEC
				: (long long)child->watch.silent_msec,
			replace ? "; killing it" : "");
	child->watch.told = true;
	if (replace)
		watch_replace(child);
}

static void
watch_on_silence(struct child *child, const struct watch_sight *sight)
{
	struct watch *w = &child->watch;

	if (w->told
		|| w->silent_msec < (sight->traced ? TRACED_TOLD_MSEC
						   : SILENCE_TOLD_MSEC))
		return;
	w->told = true;
	if (sight->traced)
		log_warning("%s (pid %ld) is being traced: it is left alone,"
			    " whatever becomes of it",
			child_name(child), (long)child->pid);
	else
		log_warning("%s (pid %ld) gives no sign of life for %lld ms;"
			    " it seems to wait for a disk or a processor"
			    " (state %c)",
			child_name(child), (long)child->pid,
			(long long)w->silent_msec, sight->state);
}

/* True if a child has to come to a barrier soon. xfrd may have many zones to
 * look at, or to have written. */
static bool
watch_is_pressing(const struct child *child, enum barrier_kind kind)
{
	return child->pending[kind] != 0 && (child->role != ROLE_XFRD
		|| (kind != BARRIER_SETTINGS && kind != BARRIER_SAVE));
}

/* A child that has a heartbeat and a pressing barrier pending has to have come
 * to it after WATCH_UNRESPONSIVE_LOOKS. */
static void
watch_on_unresponsive(struct child *child)
{
	bool pending = false;

	for (unsigned i = 0; i < BARRIER_COUNT; i++)
		pending |= watch_is_pressing(child, (enum barrier_kind)i);
	if (!pending || child->told_stop || child->supervisor->stopping
		|| (child->role & (ROLE_WORKER | ROLE_XFRD)) == 0) {
		child->unresponsive_looks = 0;
		return;
	}
	if (++child->unresponsive_looks != WATCH_UNRESPONSIVE_LOOKS)
		return;
	watch_on_hung(child, WATCH_UNRESPONSIVE);
	/* An unresponsive child keeps its heartbeat: its next silence is a new
	 * one. */
	child->watch.told = false;
}

static void
watch_child(struct child *child, void *arg)
{
	const int64_t *step_msec = arg;
	uint64_t heartbeat = __atomic_load_n(&child->page->heartbeat,
		__ATOMIC_RELAXED);
	bool ends = child->told_stop || child->supervisor->stopping;
	enum watch_verdict verdict;
	struct watch_limits limits;
	struct watch_sight sight;

	assert(!child->reaped);
	if (child->hung)
		return;
	if (heartbeat != child->watch.heartbeat) {
		watch_on_heartbeat(child, heartbeat);
		watch_on_unresponsive(child);
		child->told.looks++;
		return;
	}
	sight = watch_see(child->supervisor, child->pid);
	limits = watch_get_limits(child);
	verdict = watch_check(&child->watch, &limits, &sight, *step_msec);
	/* A child that was told to end has time of its own for that
	 * (child_stop), and work without heartbeats; but not while it is
	 * stopped. */
	if (verdict >= WATCH_HANGS && (!ends || verdict == WATCH_STOPPED))
		watch_on_hung(child, verdict);
	else if (!ends)
		watch_on_silence(child, &sight);
}

static void
watch_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;
	int64_t now = clock_now_msec(), step_msec = now - s->watched_msec;

	assert(step_msec >= 0);
	s->watched_msec = now;
	if (step_msec > STEP_MAX_MSEC)
		step_msec = STEP_MAX_MSEC;
	children_walk(s, watch_child, &step_msec);
	service_hurry(s);
	standby_rest(s, now);
	ends_tell(&s->ends, now);
	log_tell_lost();
}

enum nsd_err
watch_open(struct supervisor *s)
{
	struct timeval period = {.tv_usec = ROLE_HEARTBEAT_MSEC * 1000};

	s->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->watched_msec = clock_now_msec();
	s->watch_event = event_new(s->base, -1, EV_PERSIST, watch_on_timer, s);
	return s->watch_event != NULL
			&& event_add(s->watch_event, &period) == 0
		? NSD_OK
		: NSD_E_MEMORY;
}
