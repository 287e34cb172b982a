/*
 * order.h - what the operator wants of all processes, in main: does its own
 * part, has each child do theirs, and tells xfrd when all have.
 *
 * A child that has died is one that has obeyed: its successor is forked from
 * main, where it is done. One that does not answer is told of.
 */
#ifndef PROC_ORDER_H
#define PROC_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct child;
struct event;
struct ipc_message;
struct supervisor;

/* The order that is being obeyed; zeroed: none. */
struct order {
	struct child *asker; /* an xfrd; NULL: it has died, or there is none */
	uint64_t number;     /* of it, ours */
	uint64_t ticket;     /* the asker's */
	unsigned left;       /* children that have not obeyed; 0: there is no
			      * order */
	struct event *late_event;
};

/* NSD_E_MEMORY. */
enum nsd_err order_init(struct supervisor *s) MUST_USE;

/* The messages ORDER and OBEYED of a child. */
void order_on_order(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m);
void order_on_obeyed(struct supervisor *s, struct child *child,
	const struct ipc_message *m);
/* A child has died. */
void order_on_end(struct supervisor *s, struct child *child);

#endif
