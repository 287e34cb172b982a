/*
 * holder.h - readers that keep old versions of zones in the store for too long,
 * or too much of them: doc/decisions/0148. The loader finds them
 * (loader_holders.c). Main tells them to let go, and replaces one that does
 * not.
 */
#ifndef MAIN_HOLDER_H
#define MAIN_HOLDER_H

#include <stdint.h>

#include "ipc/message.h"

struct child;
struct ipc_message;
struct supervisor;

/* Main's looks, with a heartbeat of the child at each, after which a child that
 * was told to let go must have had the message. */
#define HOLDER_LOOKS 8u

/* The loader's looks in a row without a complaint after which a child counts as
 * one that was told nothing. */
#define HOLDER_QUIET_LOOKS 2u

/* Versions that a child was told to let go of. */
struct holder_told {
	uint64_t epoch; /* up to this; 0: nothing */
	uint64_t more;  /* epochs beyond its oldest one that go next time, if it
			 * keeps too much then */
	uint64_t look;  /* of the loader, which was the last to find it */
	unsigned looks; /* of main, with a heartbeat since it was told */
	bool given_up;  /* the log says that it does not let go */
};

enum holder_verdict {
	HOLDER_WAITS,   /* nothing to do: the message may still be on its way */
	HOLDER_TELL,    /* is to be told to let go up to told->epoch */
	HOLDER_REPLACE, /* does not let go */
};

/* Decides what to do about a child that keeps more than it may. */
enum holder_verdict holder_check(struct holder_told *told,
	const struct ipc_holder *holder);

/* In main: the message HOLDER of a loader. */
void holder_on_holder(struct supervisor *s, struct child *loader,
	const struct ipc_message *m);

#endif
