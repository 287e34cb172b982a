/*
 * credits.h - how many messages of each kind may be sent on a channel.
 *
 * At first a side may send as many of a kind as its row in message.h has
 * credits. Each message takes one. The receiver gives it back with CREDIT, once
 * it is done with the message. A sender without credit waits. A receiver to
 * which more is sent has a peer that is broken, or not ours any more. So what
 * is in a channel and in the receiver's hands is bounded, whoever the sender
 * is.
 */
#ifndef IPC_CREDITS_H
#define IPC_CREDITS_H

#include <stdbool.h>

#include "ipc/channel.h"

/* Of one end of a channel; by enum ipc_type. */
struct ipc_credits {
	uint16_t left[IPC_TYPE_COUNT];    /* may be sent by us */
	uint16_t granted[IPC_TYPE_COUNT]; /* may be sent to us */
	uint16_t due[IPC_TYPE_COUNT];     /* done with, not given back yet */
};

void ipc_credits_init(struct ipc_credits *credits,
	const struct ipc_channel *channel);

/* ---- the sender --------------------------------------------------------- */

/* True if another message of this kind may be sent. */
bool ipc_credits_has(const struct ipc_credits *credits, enum ipc_type type);
/* Spends a credit: a message is sent, or waits to be. */
void ipc_credits_spend(struct ipc_credits *credits, enum ipc_type type);
/* The message CREDIT. False: it gives more than was taken. */
bool ipc_credits_add(struct ipc_credits *credits, const struct ipc_message *m)
	MUST_USE;

/* ---- the receiver ------------------------------------------------------- */

/* A message has come. False: it had no credit. */
bool ipc_credits_take(struct ipc_credits *credits, enum ipc_type type)
	MUST_USE;
/* A message that was taken is done with. */
void ipc_credits_return(struct ipc_credits *credits, enum ipc_type type);
/* Gets the next CREDIT to be sent. It is not worth one before half of a row's
 * credits are due. False: there is none. */
bool ipc_credits_next(const struct ipc_credits *credits,
	struct ipc_credit *credit);
/* Subtracts a CREDIT that was sent from the credits that are due. */
void ipc_credits_give(struct ipc_credits *credits,
	const struct ipc_credit *credit);

#endif
