/*
 * credits.h - counts the messages of each kind that may be sent on a channel.
 *
 * At first a side may send as many messages of a kind as its row in message.h
 * has credits. Each message takes one. The receiver gives it back with CREDIT,
 * once it is done with the message. A sender without credit waits. A peer that
 * sends more is broken or taken over. So the messages in a channel and in the
 * receiver's hands are bounded, for any sender.
 */
#ifndef IPC_CREDITS_H
#define IPC_CREDITS_H

#include <stdbool.h>

#include "ipc/channel.h"

/* The credits of one end of a channel, by enum ipc_type. */
struct ipc_credits {
	uint16_t left[IPC_TYPE_COUNT];    /* messages that we may send */
	uint16_t granted[IPC_TYPE_COUNT]; /* messages that we may still get */
	uint16_t due[IPC_TYPE_COUNT];     /* messages done with, whose credits
					   * are not given back yet */
};

void ipc_credits_init(struct ipc_credits *credits,
	const struct ipc_channel *channel);

/* ---- the sender --------------------------------------------------------- */

/* True if another message of this kind may be sent. */
bool ipc_credits_has(const struct ipc_credits *credits, enum ipc_type type);
/* Spends a credit: a message is sent, or waits to be. */
void ipc_credits_spend(struct ipc_credits *credits, enum ipc_type type);
/* Adds the credits of a message CREDIT. False: it gives more than was taken. */
bool ipc_credits_add(struct ipc_credits *credits, const struct ipc_message *m)
	MUST_USE;

/* ---- the receiver ------------------------------------------------------- */

/* Takes the credit of a message that has come. False: it had no credit. */
bool ipc_credits_take(struct ipc_credits *credits, enum ipc_type type)
	MUST_USE;
/* Gives back the credit of a message that we are done with, by a later
 * CREDIT. */
void ipc_credits_return(struct ipc_credits *credits, enum ipc_type type);
/* Gets the next CREDIT to be sent. It waits until half of a row's credits are
 * due. False: there is none. */
bool ipc_credits_next(const struct ipc_credits *credits,
	struct ipc_credit *credit);
/* Subtracts a CREDIT that was sent from the credits that are due. */
void ipc_credits_give(struct ipc_credits *credits,
	const struct ipc_credit *credit);

#endif
