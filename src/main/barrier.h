/*
 * barrier.h - waits until all children have done what main has told them by the
 * message OBEY, and have said so.
 *
 * A child that has died counts as done: its successor is forked from main,
 * where the change is made. So does a child that is killed because it takes no
 * message (watch.h). The end of a barrier reports any other child that does not
 * answer. Only BARRIER_SAVE is for what a child does, not for what it knows:
 * there the successor is told, and waited for.
 */
#ifndef MAIN_BARRIER_H
#define MAIN_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/message.h"

struct child;
struct event;
struct ipc_message;
struct supervisor;

/* Kinds of barriers. At most one of each kind is under way. */
enum barrier_kind {
	BARRIER_BROADCAST, /* the operator: broadcast.h */
	BARRIER_SETTINGS,  /* a reconfig, for workers and xfrd: reconfig.h */
	BARRIER_SECRETS,   /* old secrets of keys, to be wiped: key_change.h */
	BARRIER_SAVE,      /* zones that take UPDATEs are written: hup.h */
	BARRIER_COUNT
};

/* A barrier. Zeroed: barrier_init is to follow. */
struct barrier {
	struct supervisor *supervisor;
	enum barrier_kind kind;
	uint64_t number; /* of this one alone */
	unsigned left;   /* children that have not done it; 0: there is none */
	unsigned lost;   /* of them: those that have died, and whose successors
			  * are to be told; kept behind the end */
	bool is_late;    /* waits a second time, for an unresponsive child */
	struct ipc_broadcast broadcast;
	unsigned roles;
	struct event *late_event;
	/* late: a child that has not answered; NULL: children are all done. */
	void (*on_end)(struct supervisor *s, const struct child *late);
};

/* Sets the function that ends barriers of this kind. NSD_E_MEMORY. */
enum nsd_err barrier_init(struct supervisor *s, enum barrier_kind kind,
	void (*on_end)(struct supervisor *s, const struct child *late))
	MUST_USE;

/*
 * Tells all children of these roles (ROLE_*, or-ed); the ticket of the
 * broadcast is not looked at. on_end is called once: from within this call, if
 * there is nobody to tell. A barrier of this kind that is under way is
 * forgotten.
 * returns NSD_OK; NSD_E_MEMORY: nobody has been told.
 */
enum nsd_err barrier_begin(struct supervisor *s, enum barrier_kind kind,
	const struct ipc_broadcast *broadcast, unsigned roles) MUST_USE;
/* Ends the barrier of this kind without a call of on_end. */
void barrier_forget(struct supervisor *s, enum barrier_kind kind);

/* The message OBEYED of a child. */
void barrier_on_obeyed(struct supervisor *s, struct child *child,
	const struct ipc_message *m);
/* A child has died. */
void barrier_lose(struct supervisor *s, struct child *child);
/* A child has been forked, and serves. */
void barrier_join(struct supervisor *s, struct child *child);

#endif
