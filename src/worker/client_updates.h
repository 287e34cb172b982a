/*
 * client_updates.h - a worker's way to xfrd and back for UPDATEs of clients
 * that are allowed (RFC 2136).
 *
 * Credits bound what xfrd may be sent. Beyond them an UPDATE waits here, as
 * long as there are not too many: their count and their octets are bounded, and
 * so is their time. An UPDATE whose outcome is not known gets no reply, and its
 * connection closes: it may have been made. That is so of all that an xfrd had
 * when it died; those that it had not been sent go to its successor.
 */
#ifndef WORKER_CLIENT_UPDATES_H
#define WORKER_CLIENT_UPDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/exchange.h"
#include "base/list.h"
#include "ipc/channel.h"
#include "net/later.h"
#include "process/peers.h"
#include "query/query.h"
#include "worker/worker_tap.h"

/* The most UPDATEs of a worker, and the octets of all of them. */
#define CLIENT_UPDATES_MAX 4096u
#define CLIENT_UPDATES_OCTETS ((size_t)16 * 1024 * 1024)
/* Time after which nothing is waited for any more. */
#define CLIENT_UPDATES_MSEC 30000u

struct pending_update;

/* All zeros at first, but for the fields that its owner sets. */
struct client_updates {
	/* Set by the owner. */
	struct query_ctx *query;
	struct store_reader *reader;
	struct counters *counters;
	struct peers *peers;
	struct worker_tap *tap;
	/* private */
	bool is_ready;
	uint64_t ticket; /* the last one */
	uint64_t missed; /* UPDATEs that there was no room for */
	unsigned count;
	size_t octets;
	struct cds_list_head waiting; /* for a credit, in the order of coming */
	struct cds_list_head sent;    /* the same, of those that an xfrd has */
	struct pending_update *slots[CLIENT_UPDATES_MAX]; /* by ticket, modulo
							  * their number */
	uint8_t reply[65535];
};

/* The time of a batch. */
struct client_updates_now {
	uint64_t sec;  /* since 1970 */
	uint64_t msec; /* of clock_coarse_msec */
};

/*
 * Takes a request that query has found to be an UPDATE to be passed on: sets
 * exchange.later, and pass_on to false. Does not block. Without room, or
 * memory, pass_on is true, and there is no reply over UDP, and SERVFAIL over
 * TCP.
 */
void client_updates_take(struct client_updates *updates, struct exchange *x,
	const struct client_updates_now *now);

/* Notes the record that is to be written with the reply: copies it; its query
 * is that of the request. later: exchange.later. */
void client_updates_note(void *later, const struct tap_record *record);

/* The way to the client of such a request: on_later of net/server.h. */
void client_updates_on_later(struct client_updates *updates, void *later,
	struct net_later *reply);

/* Takes an outcome from xfrd, and replies. */
void client_updates_on_updated(struct client_updates *updates,
	const struct ipc_message *m);

/* Sends the waiting UPDATEs: xfrd is new, or has room for more. */
void client_updates_go_on(struct client_updates *updates);

/* The process at the other end of a channel is dead. */
void client_updates_on_gone(struct client_updates *updates, uint64_t channel);

/* Gives up what has waited for too long. */
void client_updates_on_time(struct client_updates *updates, uint64_t now_msec);

#endif
