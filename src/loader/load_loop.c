/* load_loop.c - calls that threads of the loader have its loop make. */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "loader/load_loop.h"

/* A thread that waits; it lies on the thread's stack. */
struct loop_call {
	struct loop_call *next;
	void (*run)(void *arg);
	void *arg;
	bool done;
};

struct load_loop {
	pthread_t thread;
	pthread_mutex_t lock; /* of calls and done */
	pthread_cond_t done;
	struct loop_call *first, **last;
	int wake_fd;
	struct event *wake_event;
	unsigned edits; /* the loop's own */
};

static void
loop_on_wake(evutil_socket_t fd, short what, void *arg)
{
	struct load_loop *loop = arg;
	struct loop_call *call;
	uint64_t count;

	assert(load_loop_is_own(loop));
	if (read(fd, &count, sizeof(count)) == -1)
		return;
	pthread_mutex_lock(&loop->lock);
	while ((call = loop->first) != NULL) {
		loop->first = call->next;
		if (loop->first == NULL)
			loop->last = &loop->first;
		pthread_mutex_unlock(&loop->lock);
		call->run(call->arg);
		pthread_mutex_lock(&loop->lock);
		call->done = true;
		pthread_cond_broadcast(&loop->done);
	}
	pthread_mutex_unlock(&loop->lock);
}

enum nsd_err
load_loop_create(struct event_base *base, struct load_loop **loop)
{
	struct load_loop *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NSD_E_MEMORY;
	l->thread = pthread_self();
	l->last = &l->first;
	l->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->done, NULL);
	if (l->wake_fd != -1)
		l->wake_event = event_new(base, l->wake_fd,
			EV_READ | EV_PERSIST, loop_on_wake, l);
	if (l->wake_event == NULL || event_add(l->wake_event, NULL) == -1) {
		enum nsd_err err = l->wake_fd == -1 ? NSD_E_SYSTEM
						    : NSD_E_MEMORY;

		load_loop_destroy(l);
		return err;
	}
	*loop = l;
	return NSD_OK;
}

void
load_loop_destroy(struct load_loop *loop)
{
	if (loop == NULL)
		return;
	assert(loop->first == NULL);
	if (loop->wake_event != NULL)
		event_free(loop->wake_event);
	if (loop->wake_fd != -1)
		close(loop->wake_fd);
	pthread_cond_destroy(&loop->done);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
}

bool
load_loop_is_own(const struct load_loop *loop)
{
	return loop == NULL || pthread_equal(loop->thread, pthread_self());
}

void
load_loop_call(struct load_loop *loop, void (*run)(void *arg), void *arg)
{
	struct loop_call call = {.run = run, .arg = arg};
	const uint64_t one = 1;

	if (load_loop_is_own(loop)) {
		run(arg);
		return;
	}
	pthread_mutex_lock(&loop->lock);
	*loop->last = &call;
	loop->last = &call.next;
	/* Fails only if the counter is full: then the loop is awake anyway. */
	if (write(loop->wake_fd, &one, sizeof(one)) == -1)
		call.done = false;
	while (!call.done)
		pthread_cond_wait(&loop->done, &loop->lock);
	pthread_mutex_unlock(&loop->lock);
}

void
load_loop_await(struct load_loop *loop, const bool *done)
{
	assert(!load_loop_is_own(loop));
	pthread_mutex_lock(&loop->lock);
	while (!*done)
		pthread_cond_wait(&loop->done, &loop->lock);
	pthread_mutex_unlock(&loop->lock);
}

void
load_loop_release(struct load_loop *loop, bool *done)
{
	assert(load_loop_is_own(loop));
	pthread_mutex_lock(&loop->lock);
	*done = true;
	pthread_cond_broadcast(&loop->done);
	pthread_mutex_unlock(&loop->lock);
}

static void
loop_begin_edit(void *arg)
{
	struct load_loop *loop = arg;

	loop->edits++;
}

static void
loop_end_edit(void *arg)
{
	struct load_loop *loop = arg;

	assert(loop->edits > 0);
	loop->edits--;
}

void
load_loop_begin_edit(struct load_loop *loop)
{
	if (loop != NULL)
		load_loop_call(loop, loop_begin_edit, loop);
}

void
load_loop_end_edit(struct load_loop *loop)
{
	if (loop != NULL)
		load_loop_call(loop, loop_end_edit, loop);
}

bool
load_loop_is_edited(const struct load_loop *loop)
{
	return loop != NULL && loop->edits > 0;
}
