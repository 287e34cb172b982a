/* threads.c - starts threads and waits for them. */
#include "base/threads.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct thread_slot {
	void (*run)(void *arg, unsigned number);
	void *arg;
	unsigned number;
	pthread_t thread;
};

static void *
thread_main(void *arg)
{
	const struct thread_slot *slot = arg;

	slot->run(slot->arg, slot->number);
	return NULL;
}

static bool
thread_start(struct thread_slot *slot, unsigned number,
	void (*run)(void *arg, unsigned number), void *arg)
{
	slot->run = run;
	slot->arg = arg;
	slot->number = number;
	return pthread_create(&slot->thread, NULL, thread_main, slot) == 0;
}

static void
thread_join(struct thread_slot *slot)
{
	int failed = pthread_join(slot->thread, NULL);

	assert(failed == 0);
	(void)failed;
}

void
threads_run(unsigned count, void (*run)(void *arg, unsigned number), void *arg)
{
	struct thread_slot slots[THREADS_RUN_MAX];
	unsigned here = 1;

	assert(count > 0);
	while (here < count && here < THREADS_RUN_MAX
		&& thread_start(&slots[here], here, run, arg))
		here++;
	run(arg, 0);
	for (unsigned i = here; i < count; i++)
		run(arg, i);
	for (unsigned i = 1; i < here; i++)
		thread_join(&slots[i]);
}

enum nsd_err
threads_init(struct threads *threads, unsigned max,
	void (*run)(void *arg, unsigned number), void *arg)
{
	*threads = (struct threads){.run = run, .arg = arg};
	if (max == 0)
		return NSD_OK;
	threads->slots = calloc(max, sizeof(*threads->slots));
	if (threads->slots == NULL)
		return NSD_E_MEMORY;
	threads->max = max;
	return NSD_OK;
}

bool
threads_start(struct threads *threads)
{
	unsigned at = threads->started;

	if (at == threads->max)
		return false;
	if (!thread_start(&threads->slots[at], at + 1, threads->run,
		    threads->arg)) {
		threads->max = at;
		return false;
	}
	threads->started++;
	return true;
}

void
threads_join(struct threads *threads)
{
	for (unsigned i = 0; i < threads->started; i++)
		thread_join(&threads->slots[i]);
	free(threads->slots);
	threads->slots = NULL;
	threads->started = 0;
	threads->max = 0;
}
