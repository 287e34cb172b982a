/*
 * asker.h - the xfrd that has asked something of main, and waits for the answer
 * (process/requests.h).
 *
 * The table of messages gives it a credit for each kind of request, which comes
 * back with the answer: so there is one of a kind at a time. An xfrd that dies
 * waits no more; its request goes on, unless its successor makes another one.
 */
#ifndef MAIN_ASKER_H
#define MAIN_ASKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/channel.h"

struct child;
struct supervisor;

/* A sender of a request that has no answer yet. Zeroed: nobody waits. */
struct asker {
	uint64_t child; /* child.number of the sender */
	uint64_t ticket;
};

/* The sender of this request of xfrd. */
struct asker asker_of(const struct child *xfrd, const struct ipc_message *m);

/* True if an xfrd waits, though it may have died. */
static inline bool
asker_waits(const struct asker *asker)
{
	return asker->child != 0;
}

/* Answers the request that waits, if there is one. The payload is the answer
 * that the table has for a request of this kind; its ticket is set here. */
void asker_answer(struct supervisor *s, struct asker *asker,
	enum ipc_type request, void *payload, size_t len);

#endif
