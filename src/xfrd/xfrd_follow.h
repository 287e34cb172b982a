/* xfrd_follow.h - follows another configuration, once it is published. */
#ifndef XFRD_XFRD_FOLLOW_H
#define XFRD_XFRD_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/name.h"

struct event;
struct xfrd;

/* A walk over the zones that are published, in their order: xfrd_walk. */
struct xfrd_walk {
	bool has_last;
	bool is_over;
	uint8_t last[NAME_MAX_LEN]; /* apex that was looked at */
};

/* The change to another configuration: see xfrd_follow.c. */
struct xfrd_follow {
	enum {
		XFRD_FOLLOW_NONE,
		XFRD_FOLLOW_WANTED,  /* when a batch of changes has ended; from
				      * the next one on turns are taken */
		XFRD_FOLLOW_ZONES,   /* zones of the table, by number */
		XFRD_FOLLOW_ENTRIES, /* zones of the store, in its order */
	} step;
	struct event *event;        /* the next turn */
	uint64_t ticket;            /* of the broadcast, for the answer */
	uint32_t next;              /* number */
	struct xfrd_walk walk;
	size_t gone;
	uint32_t releases;          /* of updates of clients, at the end */
	struct event *release_event; /* or then, if there is no end */
};

/* NSD_E_MEMORY. */
enum nsd_err xfrd_follow_init(struct xfrd *xfrd) MUST_USE;
/* Another configuration is published. Follows it, once no batch of changes is
 * under way, and sends OBEYED with the ticket; from the start, if it does so
 * already. */
void xfrd_follow(struct xfrd *xfrd, uint64_t ticket);
/* Has xfrd_client_update_release of all zones called once another configuration
 * is followed. */
void xfrd_follow_release_later(struct xfrd *xfrd);
/* Begins to follow if that is wanted: no batch of changes is under way. */
void xfrd_follow_begin(struct xfrd *xfrd);

#endif
