/* syncer.c - has a thread flush files to the disk. */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ctl/syncer.h"

struct syncer {
	pthread_mutex_t lock;
	pthread_cond_t asked_cond;
	uint64_t asked, done; /* numbers */
	int fd, folder;       /* of the latest that was asked for */
	int error;            /* errno, since the loop looked last; or 0 */
	int event_fd;
	struct event *event;
	syncer_on_done *on_done;
	void *ctx;
};

static void *
syncer_run(void *arg)
{
	struct syncer *s = arg;
	uint64_t one = 1, number;
	int fd, folder, error;

	for (;;) {
		pthread_mutex_lock(&s->lock);
		while (s->asked == s->done)
			pthread_cond_wait(&s->asked_cond, &s->lock);
		number = s->asked;
		fd = s->fd;
		folder = s->folder;
		s->fd = s->folder = -1;
		pthread_mutex_unlock(&s->lock);
		error = fd != -1 && fdatasync(fd) == -1 ? errno : 0;
		if (folder != -1 && fsync(folder) == -1 && error == 0)
			error = errno;
		pthread_mutex_lock(&s->lock);
		s->done = number;
		/* An error stays until the loop has seen it. */
		if (error != 0)
			s->error = error;
		pthread_mutex_unlock(&s->lock);
		/* The eventfd cannot be full: the loop takes all of it at
		 * once. */
		while (write(s->event_fd, &one, sizeof(one)) == -1
			&& errno == EINTR)
			;
	}
	return NULL;
}

static void
syncer_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct syncer *s = arg;
	uint64_t count, number;
	int error;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return;
	pthread_mutex_lock(&s->lock);
	number = s->done;
	error = s->error;
	s->error = 0;
	pthread_mutex_unlock(&s->lock);
	s->on_done(s->ctx, number, error);
}

uint64_t
syncer_ask(struct syncer *s, int fd, int folder)
{
	uint64_t number;

	pthread_mutex_lock(&s->lock);
	if (fd != -1)
		s->fd = fd;
	if (folder != -1)
		s->folder = folder;
	number = ++s->asked;
	pthread_cond_signal(&s->asked_cond);
	pthread_mutex_unlock(&s->lock);
	return number;
}

/* Starts the thread, with all signals blocked: they are for the loop. */
static enum nsd_err
syncer_start(struct syncer *s)
{
	pthread_t thread;
	sigset_t all, old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, NULL, syncer_run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error != 0)
		return NSD_E_SYSTEM;
	pthread_detach(thread);
	return NSD_OK;
}

enum nsd_err
syncer_create(struct event_base *base, syncer_on_done *on_done, void *ctx,
	struct syncer **made)
{
	struct syncer *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NSD_E_MEMORY;
	s->fd = s->folder = -1;
	s->on_done = on_done;
	s->ctx = ctx;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->asked_cond, NULL);
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event_fd == -1)
		goto free_syncer;
	s->event = event_new(base, s->event_fd, EV_READ | EV_PERSIST,
		syncer_on_event, s);
	if (s->event == NULL || event_add(s->event, NULL) != 0
		|| syncer_start(s) != NSD_OK)
		goto free_event;
	*made = s;
	return NSD_OK;
free_event:
	if (s->event != NULL)
		event_free(s->event);
	close(s->event_fd);
free_syncer:
	free(s);
	return NSD_E_SYSTEM;
}
