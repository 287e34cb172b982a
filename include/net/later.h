/*
 * later.h - a reply that comes when its batch is over: the way back to the
 * client (RFC 7766 section 7 lets replies of a connection overtake each other).
 *
 * It outlasts its socket: when that is closed, or the connection ends, the
 * reply goes nowhere. As long as a connection waits for such replies it is not
 * idle, for 30 seconds at most from the last such request on. One that waits
 * for many is not read from.
 */
#ifndef NET_LATER_H
#define NET_LATER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net_later;

/* True if a reply may still reach the client. */
bool net_later_is_wanted(const struct net_later *later);

/* Sends the reply, behind those that are being sent on its connection, and
 * releases it. Not from within a handler of net. len: up to 65535. Errors are
 * counted as those of other replies. NULL is fine. */
void net_later_send(struct net_later *later, const uint8_t *reply, size_t len);

/* Releases it without a reply. closes: its connection is read from no more, and
 * closes when its other replies are sent. Not from within a handler of net,
 * but for on_later if closes is false. NULL is fine. */
void net_later_drop(struct net_later *later, bool closes);

#endif
