/*
 * broadcast.h - commands of the operator to all processes, in main: does main's
 * part, has each child do theirs (barrier.h), and tells xfrd when all have.
 */
#ifndef MAIN_BROADCAST_H
#define MAIN_BROADCAST_H

#include "base/err.h"
#include "ipc/message.h"
#include "main/asker.h"

struct child;
struct ipc_message;
struct supervisor;

/* The broadcast that is being obeyed. */
struct broadcast {
	struct asker asker;
	enum ipc_broadcast_what what;
};

/* Prepares for broadcasts. NSD_E_MEMORY. */
enum nsd_err broadcast_init(struct supervisor *s) MUST_USE;

/* The message BROADCAST. One that is being obeyed is of an xfrd that has died:
 * it is dropped. */
void broadcast_on_broadcast(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m);

#endif
