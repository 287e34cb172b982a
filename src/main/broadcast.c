/* broadcast.c - commands of the operator to all processes, in main. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "main/barrier.h"
#include "main/broadcast.h"
#include "main/child.h"
#include "main/log_change.h"
#include "main/supervisor.h"

static void
broadcast_answer(struct supervisor *s, struct ipc_broadcast_done *done)
{
	done->what = s->broadcast.what;
	asker_answer(s, &s->broadcast.asker, IPC_BROADCAST, done,
		sizeof(*done));
}

static void
broadcast_on_done(struct supervisor *s, const struct child *late)
{
	struct ipc_broadcast_done done = {.err = NSD_OK};

	if (late != NULL) {
		done.err = NSD_E_AGAIN;
		done.role = late->role;
		done.index = late->index;
	}
	broadcast_answer(s, &done);
}

/* Opens both logs, whatever becomes of the first. */
static enum nsd_err
broadcast_reopen(struct supervisor *s)
{
	enum nsd_err err = log_change_reopen(s), other;
	int error = errno;

	other = sinks_reopen_log(s);
	if (err == NSD_OK)
		return other;
	errno = error;
	return err;
}

/* Does main's part of a broadcast. */
static enum nsd_err
broadcast_obey(struct supervisor *s, const struct ipc_broadcast *broadcast)
{
	switch (broadcast->what) {
	case BROADCAST_LOG_REOPEN:
		return broadcast_reopen(s);
	case BROADCAST_VERBOSITY:
		log_set_verbosity(broadcast->value);
		return NSD_OK;
	case BROADCAST_TAP:
		return sinks_switch(s, broadcast->value != 0);
	default:
		errno = EINVAL;
		return NSD_E_SYSTEM;
	}
}

void
broadcast_on_broadcast(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m)
{
	struct ipc_broadcast_done done = {.err = NSD_OK};
	struct ipc_broadcast broadcast;

	memcpy(&broadcast, m->payload, sizeof(broadcast));
	barrier_forget(s, BARRIER_BROADCAST);
	s->broadcast.asker = asker_of(xfrd, m);
	s->broadcast.what = (enum ipc_broadcast_what)broadcast.what;
	done.err = broadcast_obey(s, &broadcast);
	done.error = (uint32_t)errno;
	if (done.err == NSD_OK)
		done.err = barrier_begin(s, BARRIER_BROADCAST, &broadcast,
			ROLE_CHILDREN);
	if (done.err != NSD_OK)
		broadcast_answer(s, &done);
}

enum nsd_err
broadcast_init(struct supervisor *s)
{
	return barrier_init(s, BARRIER_BROADCAST, broadcast_on_done);
}
