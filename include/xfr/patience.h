/*
 * patience.h - bounds the time of a transfer, by the octets that the primary
 * sends (fault 57). It begins when the transfer's turn comes. The silence of a
 * connection is another matter: tcp-timeout.
 */
#ifndef XFR_PATIENCE_H
#define XFR_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* The longest time of a transfer. */
#define XFR_TRANSFER_MSEC (2 * 3600 * 1000)
/* Octets in a while below which a transfer is too slow, if others wait for its
 * place, or if the zone could come from another primary. */
#define XFR_SLOW_MSEC (30 * 1000)
#define XFR_SLOW_OCTETS 32768u
/* Octets in a while below which any transfer counts as stopped. */
#define XFR_STEADY_OCTETS 1024u

/* private */
struct xfr_patience {
	int64_t begun;
	uint64_t received;   /* octets, at the last look */
	uint32_t first_msec; /* 0: the first message has come */
};

/* Begins a transfer. first_msec: of its action (xfr/machine.h). returns in how
 * many milliseconds to look at it. */
uint32_t xfr_patience_begin(struct xfr_patience *patience, int64_t now,
	uint32_t first_msec);

/* The state of a transfer at a look. */
struct xfr_patience_look {
	uint64_t received; /* octets, so far */
	int64_t turn_at;   /* when its turn came, if the primary answers one
			    * after the other; now, if it has not come */
	bool is_held;      /* we do not read, so silence is not the primary's */
	bool is_free;      /* the place is not wanted, and no other primary
			    * could be asked */
};

/*
 * Looks at a transfer.
 * returns in how many milliseconds the next look is due; 0: it is given up.
 */
uint32_t xfr_patience_look(struct xfr_patience *patience, int64_t now,
	const struct xfr_patience_look *look);

#endif
