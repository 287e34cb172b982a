/*
 * errand.h - waits until all children have done what main has told them by the
 * message OBEY, and have said so.
 *
 * A child that has died counts as done: its successor is forked from main,
 * where the change is made. So does a child that is killed because it takes no
 * message (watch.h). The end of an errand reports any other child that does not
 * answer.
 */
#ifndef MAIN_ERRAND_H
#define MAIN_ERRAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/message.h"

struct child;
struct event;
struct supervisor;

/* Kinds of errands. At most one of each kind is under way. */
enum errand_kind {
	ERRAND_ORDER,    /* the operator: order.h */
	ERRAND_SETTINGS, /* a reconfig, for workers and xfrd: reconfig.h */
	ERRAND_SECRETS,  /* old secrets of keys, to be wiped: key_change.h */
	ERRAND_COUNT
};

/* An errand. Zeroed: errand_init is to follow. */
struct errand {
	struct supervisor *supervisor;
	enum errand_kind kind;
	uint64_t number; /* of this one alone */
	unsigned left;   /* children that have not done it; 0: there is none */
	bool is_late;    /* waits a second time, for a deaf child */
	struct event *late_event;
	/* late: one that has not answered; NULL: all have done it. */
	void (*on_end)(struct supervisor *s, const struct child *late);
};

/* Sets the function that ends errands of this kind. NSD_E_MEMORY. */
enum nsd_err errand_init(struct supervisor *s, enum errand_kind kind,
	void (*on_end)(struct supervisor *s, const struct child *late))
	MUST_USE;

/*
 * Tells all children of these roles (ROLE_*, or-ed); the ticket of the order is
 * not looked at. on_end is called once: from within this call, if there is
 * nobody to tell. An errand of this kind that is under way is forgotten.
 * returns NSD_OK; NSD_E_MEMORY: nobody has been told.
 */
enum nsd_err errand_begin(struct supervisor *s, enum errand_kind kind,
	const struct ipc_order *order, unsigned roles) MUST_USE;
/* Ends the errand of this kind without a call of on_end. */
void errand_forget(struct supervisor *s, enum errand_kind kind);

/* The message OBEYED of a child. */
void errand_on_obeyed(struct supervisor *s, struct child *child,
	const struct ipc_message *m);
/* A child has died. */
void errand_lose(struct supervisor *s, struct child *child);

#endif
