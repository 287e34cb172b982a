/*
 * link.h - a channel in an event loop: messages are taken in turns, messages
 * that the other side has no room for wait, and credits bound both.
 */
#ifndef PROCESS_LINK_H
#define PROCESS_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "ipc/channel.h"
#include "ipc/credits.h"

struct event;
struct event_base;
struct link;
struct link_waiting;

/* The most messages that may wait. A peer that lets so many pile up is
 * stuck. */
#define LINK_WAITING_MAX 1024

/* Messages taken in one turn, so that timers and others have turns, too. */
#define LINK_TURN 64

struct link_calls {
	/* Takes a message. Its descriptors are closed when this returns. */
	void (*on_message)(struct link *link, const struct ipc_message *m);
	/* A message has come that message.h does not allow, or that had no
	 * credit. Returns true if the next is to be taken all the same. */
	bool (*on_refused)(struct link *link);
	/* A message with descriptors is lost, as this process can take no more
	 * of them. Returns as on_refused. NULL: on_refused is called. */
	bool (*on_lost)(struct link *link);
	/* The other side is gone, and its messages are taken. May free the
	 * link. */
	void (*on_gone)(struct link *link);
	/* More can be sent: no message waits any more, credits have come, or a
	 * message was refused for want of memory and is worth another try.
	 * NULL: not called. */
	void (*on_room)(struct link *link);
};

struct link {
	/* Set by the owner. */
	struct ipc_channel channel;
	const struct link_calls *calls;
	void *owner;
	unsigned turn; /* messages taken in one turn */
	bool answers;  /* this side answers requests: while an answer waits, no
			* message is taken. So the waiting answers are bounded,
			* and a peer that does not read them has to wait,
			* too. */
	struct link *behind; /* while messages wait on that link, none is sent
			      * here. The owner calls link_go_on when that is
			      * over. NULL: none */
	/* private */
	struct ipc_credits credits;
	struct event *read_event;
	struct event *room_event;
	struct event *retry_event; /* the system had no memory */
	struct link_waiting *first, **end;
	unsigned waiting;
	bool is_short; /* a message was refused: on_room is to be called */
	bool gone;
};

/* A message to be sent; borrows payload and descriptors. */
struct link_message {
	enum ipc_type type;
	const void *payload;
	size_t len;
	const int *fds;
	unsigned fd_count;
};

/* Takes messages from now on. False: no memory. Undo with link_close in either
 * case. */
bool link_open(struct link *link, struct event_base *base) MUST_USE;
/* Closes the channel; waiting messages are lost. Closing again is fine. */
void link_close(struct link *link);

/*
 * Sends a message, or has a copy of it wait. Does not block. Messages arrive in
 * the order in which they were sent; but one without a payload takes the place
 * of another of its type that waits.
 * returns NSD_OK; NSD_E_AGAIN: there is no credit for it, on_room will tell;
 * NSD_E_PEER: the other side is gone; NSD_E_LIMIT: too many wait;
 * NSD_E_MEMORY: it would have to wait, and there is no memory, or no
 * descriptor: on_room will tell; NSD_E_SYSTEM: the system refuses it for
 * another reason (errno); NSD_E_BUG: message.h does not allow it.
 */
enum nsd_err link_send(struct link *link, const struct link_message *message)
	MUST_USE;

/* Returns the credit of a message of this kind that we have taken and are done
 * with. */
void link_return(struct link *link, enum ipc_type type);

/* Sends the messages that waited for the link `behind`, which has sent its
 * own. */
void link_go_on(struct link *link);

/* True if messages wait. */
bool link_waits(const struct link *link);
/* Drops the waiting messages, but for those of one type. */
void link_forget(struct link *link, enum ipc_type but);

/* Takes and sends nothing any more; for calls other than on_gone. */
void link_end(struct link *link);

/* Takes all messages that are there now, even while answers wait. For a side
 * that is dead, or has told us to end: it sends no more. Of the calls only
 * on_message is called. */
void link_read_out(struct link *link);

#endif
