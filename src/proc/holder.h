/*
 * holder.h - readers that keep old versions of zones in the store for too long,
 * or too much of them: doc/decisions/0148. The loader finds them
 * (loader_holders.c). Main tells them to let go, and replaces one that does
 * not.
 */
#ifndef PROC_HOLDER_H
#define PROC_HOLDER_H

#include <stdint.h>

#include "ipc/message.h"

struct child;
struct ipc_message;
struct supervisor;

/* Octets a second of a transfer: who takes less holds a version of its zone for
 * longer than the slowest line explains. */
#define HOLDER_STREAM_RATE 8192u

/* Who has been told to let go, and has beaten at so many looks of main since,
 * has had the message. */
#define HOLDER_LOOKS 8u

/* What a reader may keep. */
struct holder_bounds {
	uint64_t octets;
	int64_t age_msec;
};

/* Of a store in which so many octets are served: the more, the more. */
void holder_get_bounds(uint64_t served, struct holder_bounds *bounds);

/* What a child was told to let go of. */
struct holder_told {
	uint64_t epoch; /* up to this; 0: nothing */
	unsigned looks; /* at which it had beaten since then */
	bool given_up;  /* it was said that it does not */
};

/* In main: the message HOLDER of a loader. */
void holder_on_holder(struct supervisor *s, struct child *loader,
	const struct ipc_message *m);

#endif
