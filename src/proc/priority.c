/* priority.c - answering comes before reading and changing zones. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc/priority.h"

#define LOAD_NICE 5
/* The kernel's own slice is some 3 ms, and who is in one may finish it before
 * others that are woken, unless their slice is shorter. A batch takes less. */
#define ANSWER_SLICE_NS 200000

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

void
priority_answer(void)
{
#ifdef SYS_sched_setattr
	struct priority_attr attr = {
		.size = sizeof(attr),
		.policy = SCHED_OTHER,
		.slice_ns = ANSWER_SLICE_NS,
	};

	/* Whoever started us may have chosen others. */
	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	errno = 0;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	if (errno == 0)
		(void)syscall(SYS_sched_setattr, 0, &attr, 0u);
#endif
}

void
priority_load(void)
{
	struct sched_param param = {.sched_priority = 0};

	(void)setpriority(PRIO_PROCESS, 0, LOAD_NICE);
	if (sched_getscheduler(0) == SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_BATCH, &param);
}
