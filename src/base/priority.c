/* priority.c - sets the scheduler's policy, nice value and slice. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/priority.h"
#include "base/trial.h"

#define NICE_MIN (-20)
#define LOAD_NICE 5
#define WRITE_NICE 15
/* ioprio_set(2), for which C libraries have no function: of this process, the
 * lowest of those that get a turn in any case. */
#define IOPRIO_OF_PROCESS 1
#define IOPRIO_LAST (2 << 13 | 7)
/* The kernel's own slice is some 3 ms. A thread may finish its slice before one
 * that is woken gets the processor, unless the latter's slice is shorter. A
 * batch of queries takes less than this. */
#define ANSWER_SLICE_NS 200000
/* About a turn of the loader's loop (load_turn.h). */
#define PUBLISH_SLICE_NS 300000

/* struct sched_attr of the kernel, which not all C libraries have. */
struct priority_attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice_ns; /* "runtime" */
	uint64_t deadline;
	uint64_t period;
};

/* False: a process that asks for a priority is killed, see priority_probe. */
static bool priority_may_ask = true;

static void
priority_ask(const struct priority_attr *attr)
{
#ifdef SYS_sched_setattr
	(void)syscall(SYS_sched_setattr, 0, attr, 0u);
#else
	(void)attr;
#endif
}

static void
priority_ask_for_nothing(void)
{
	const struct priority_attr attr = {.size = sizeof(attr)};

	priority_ask(&attr);
	(void)syscall(SYS_ioprio_set, IOPRIO_OF_PROCESS, 0, IOPRIO_LAST);
}

void
priority_probe(void)
{
	priority_may_ask = trial_may_call(priority_ask_for_nothing);
}

/* Sets at least this nice value. Keeps a policy or a higher nice value that the
 * process was started with. */
static void
priority_set(int policy, int nice, uint64_t slice_ns)
{
	/* Not by the C library: that of musl fails. */
	int now = (int)syscall(SYS_sched_getscheduler, 0), nice_now;
	struct priority_attr attr = {
		.size = sizeof(attr),
		.policy = (uint32_t)policy,
		.slice_ns = slice_ns,
	};

	errno = 0;
	nice_now = getpriority(PRIO_PROCESS, 0);
	if (errno != 0 || (now != SCHED_OTHER && now != SCHED_BATCH))
		return;
	attr.nice = nice_now > nice ? nice_now : nice;
	if (priority_may_ask)
		priority_ask(&attr);
}

void
priority_answer(void)
{
	priority_set(SCHED_OTHER, NICE_MIN, ANSWER_SLICE_NS);
}

void
priority_publish(void)
{
	priority_set(SCHED_OTHER, LOAD_NICE, PUBLISH_SLICE_NS);
}

void
priority_load(void)
{
	priority_set(SCHED_BATCH, LOAD_NICE, 0);
}

void
priority_write(void)
{
	priority_set(SCHED_BATCH, WRITE_NICE, 0);
	if (priority_may_ask)
		(void)syscall(SYS_ioprio_set, IOPRIO_OF_PROCESS, 0,
			IOPRIO_LAST);
}
