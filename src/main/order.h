/*
 * order.h - orders of the operator to all processes, in main: does main's part,
 * has each child do theirs (barrier.h), and tells xfrd when all have.
 */
#ifndef MAIN_ORDER_H
#define MAIN_ORDER_H

#include "base/err.h"
#include "ipc/message.h"
#include "main/asker.h"

struct child;
struct ipc_message;
struct supervisor;

/* The order that is being obeyed. */
struct order {
	struct asker asker;
	enum ipc_order_what what;
};

/* Prepares for orders. NSD_E_MEMORY. */
enum nsd_err order_init(struct supervisor *s) MUST_USE;

/* The message ORDER. An order that is being obeyed is of an xfrd that has died:
 * it is dropped. */
void order_on_order(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m);

#endif
