/*
 * xfrd_said.h - failures of questions that the log has, so that each is logged
 * once: for each zone and other server, each way in which they fail, until the
 * server answers well again.
 *
 * Each zone has a list of its own, which is NULL as long as nothing was logged.
 */
#ifndef XFRD_XFRD_SAID_H
#define XFRD_XFRD_SAID_H

#include <stdbool.h>
#include <stdint.h>

#include "xfr/machine.h"

struct xfrd_said_way {
	struct xfrd_said_way *next; /* of the zone; the newest is first */
	uint32_t server;     /* index of the primary, or of the target */
	uint32_t reason;     /* of struct xfr_reply */
	uint16_t rcode;
	uint8_t outcome;     /* enum xfr_outcome */
	bool is_notify;      /* NOTIFY to a target; else a check */
	bool is_final;       /* an error: nothing else was tried with it */
	int64_t since_msec;
};

/* The limit of ways of a server: one with more makes up RCODEs and extended
 * errors, of which there are 2^28. */
#define XFRD_SAID_MAX 32u

/* Notes a way, copied. False: it is there already, or the server has
 * XFRD_SAID_MAX. Without memory it is logged once more. */
bool xfrd_said_add(struct xfrd_said_way **said,
	const struct xfrd_said_way *way);
/* The server has answered well: forgets its ways. True: one was an error. */
bool xfrd_said_clear(struct xfrd_said_way **said, bool is_notify,
	uint32_t server);
/* Forgets all of a zone. */
void xfrd_said_forget(struct xfrd_said_way **said);

#endif
