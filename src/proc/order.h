/*
 * order.h - what the operator wants of all processes, in main: does its own
 * part, has each child do theirs (errand.h), and tells xfrd when all have.
 */
#ifndef PROC_ORDER_H
#define PROC_ORDER_H

#include <stdint.h>

#include "base/err.h"

struct child;
struct ipc_message;
struct supervisor;

/* Who has given the order that is being obeyed. */
struct order {
	struct child *asker; /* an xfrd; NULL: it has died, or there is none */
	uint64_t ticket;     /* the asker's */
};

/* NSD_E_MEMORY. */
enum nsd_err order_init(struct supervisor *s) MUST_USE;

/* The message ORDER. */
void order_on_order(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m);
/* A child has died. */
void order_on_end(struct supervisor *s, const struct child *child);

#endif
