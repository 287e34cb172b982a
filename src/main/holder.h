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

/* Who has been told to let go, and has beaten at so many looks of main since,
 * has had the message. */
#define HOLDER_LOOKS 8u

/* Looks of the loader. Who has kept no more than it may at so many, one after
 * the other, is as one that was told nothing. */
#define HOLDER_QUIET_LOOKS 2u

/* What a child was told to let go of. */
struct holder_told {
	uint64_t epoch; /* up to this; 0: nothing */
	uint64_t more;  /* epochs beyond its oldest one that go next time, if it
			 * keeps too much then */
	uint64_t look;  /* of the loader, which was the last to find it */
	unsigned looks; /* of main, at which it had beaten since it was told */
	bool given_up;  /* it was said that it does not */
};

enum holder_verdict {
	HOLDER_WAITS,   /* it may not have had the message yet */
	HOLDER_TELL,    /* is to be told to let go up to told->epoch */
	HOLDER_REPLACE, /* does not let go */
};

/* What becomes of a child that keeps more than it may. */
enum holder_verdict holder_judge(struct holder_told *told,
	const struct ipc_holder *holder);

/* In main: the message HOLDER of a loader. */
void holder_on_holder(struct supervisor *s, struct child *loader,
	const struct ipc_message *m);

#endif
