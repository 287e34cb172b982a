/* standby.c - standby processes, each of which takes over when a worker
 * dies. */
#include "config.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "main/child.h"
#include "main/service.h"
#include "main/standby.h"
#include "process/counts.h"

#define FORK_USEC 4000
#define FORK_TIMES 4
#define FORKS_AHEAD_USEC 200000

bool
standby_promote(struct service *service)
{
	struct supervisor *s = service->supervisor;
	struct child *child = service->next;

	if (child == NULL || child->told_stop || child->hung
		|| child->generation != s->serving)
		return false;
	assert(service->role == ROLE_WORKER && service->current == NULL);
	service->next = NULL;
	service->current = child;
	child->stands_by = false;
	child->started_msec = clock_now_msec();
	/* If the standby process has died as well, reap_child replaces it. */
	(void)child_send(child, IPC_SERVE, NULL, 0, NULL, 0);
	counts_set_process(s->server.counts, child->role, child->index,
		child->pid, child->started_msec);
	return true;
}

bool
standby_has_room(const struct supervisor *s, unsigned count)
{
	int *fds = malloc(count * sizeof(*fds));
	unsigned n = 0;
	bool has_room;

	if (fds == NULL)
		return false;
	while (n < count && (fds[n] = fcntl(s->signal_fd, F_DUPFD_CLOEXEC, 0))
			!= -1)
		n++;
	has_room = n == count;
	while (n > 0)
		close(fds[--n]);
	free(fds);
	return has_room;
}

unsigned
standby_wait(const struct supervisor *s, int64_t now_usec)
{
	int64_t left = s->forked_usec - FORKS_AHEAD_USEC - now_usec;

	return left > 0 ? (unsigned)((left + 999) / 1000) : 0;
}

void
standby_pay(struct supervisor *s, int64_t now_usec, int64_t took_usec)
{
	int64_t cost = FORK_TIMES * took_usec;

	assert(took_usec >= 0);
	if (s->forked_usec < now_usec)
		s->forked_usec = now_usec;
	s->forked_usec += cost > FORK_USEC ? cost : FORK_USEC;
}

void
standby_rest(struct supervisor *s, int64_t now_msec)
{
	for (unsigned i = 0; i < s->worker_count; i++) {
		struct service *service = &s->workers[i];

		if (!service->wants_next || service->current == NULL
			|| now_msec - service->current->started_msec
				<= SERVICE_LIVED_WELL_MSEC)
			continue;
		service->wants_next = false;
		if (service->next != NULL)
			child_stop(service->next);
	}
}
