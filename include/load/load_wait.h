/*
 * load_wait.h - changes of zones that are being compared with their files:
 * they wait, and are applied to what comes of that.
 */
#ifndef LOAD_LOAD_WAIT_H
#define LOAD_LOAD_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/name.h"

/* One more has to be sent again by whoever sent it. */
#define LOAD_WAIT_MAX 1000
#define LOAD_WAIT_OCTETS (64u << 20)

struct load_waiting {
	struct load_waiting *next;
	uint64_t ticket;
	uint64_t len;
	uint8_t *data; /* the file of IPC_UPDATE */
	uint8_t apex[NAME_MAX_LEN]; /* of the zone; in lower case */
};

/* In order of arrival. Zeroed: empty. */
struct load_wait {
	struct load_waiting *first, *last;
	size_t count;
	uint64_t octets;
	bool trying; /* those behind passed, or all if that is NULL, are */
	struct load_waiting *passed;
};

/* Takes data if there is room for it (true). */
bool load_wait_add(struct load_wait *wait, const uint8_t *apex,
	uint64_t ticket, uint8_t *data, uint64_t len);

/* True if a change of this zone waits: later ones have to come behind it. Cost:
 * a look at those that wait. */
bool load_wait_has(const struct load_wait *wait, const uint8_t *apex);

/* A zone has been compared: all are to be tried again, from the first on. */
void load_wait_restart(struct load_wait *wait);

/*
 * Takes a turn (load_turn.h): calls try for one after another; those that it
 * returns true for are done with and freed, the others stay. False: all have
 * been tried.
 */
bool load_wait_step(struct load_wait *wait,
	bool (*try)(void *ctx, const struct load_waiting *one), void *ctx);

#endif
