/*
 * xfrd_forward.h - passes UPDATEs of clients on to the primaries of a secondary
 * zone (RFC 2136 section 6), and the answer back. The client's message stays as
 * it is, and its TSIG with it.
 */
#ifndef XFRD_XFRD_FORWARD_H
#define XFRD_XFRD_FORWARD_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/list.h"

struct client_update;
struct event;
struct xfrd;

/* Requests whose end is remembered. */
#define FORWARDS_ENDED 256u

/* A request that was passed on. */
struct forward_ended {
	uint64_t hash;  /* of its octets */
	int64_t at_msec;
	struct sockaddr_storage from;
};

struct xfrd_forwards {
	struct cds_list_head all;     /* struct forward */
	struct cds_list_head waiting; /* struct forward without a connection */
	uint32_t count;               /* of those that have one */
	struct event *event;          /* requests that wait have room */
	struct forward_ended ended[FORWARDS_ENDED];
	uint32_t next_ended;
};

/* NSD_E_MEMORY. */
enum nsd_err xfrd_forward_init(struct xfrd *xfrd) MUST_USE;

/* Passes a request on. Takes it, and answers it later: with the message of the
 * first primary that answers; SERVFAIL, if none does, if too many are under
 * way, or if it is one of those and comes back. */
void xfrd_forward(struct xfrd *xfrd, struct client_update *update);

#endif
