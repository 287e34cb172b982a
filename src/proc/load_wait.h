/*
 * load_wait.h - changes of zones that are being compared with their files:
 * they wait, and are applied to what comes of that.
 */
#ifndef PROC_LOAD_WAIT_H
#define PROC_LOAD_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One more has to be sent again by whoever sent it. */
#define LOAD_WAIT_MAX 1000
#define LOAD_WAIT_OCTETS (64u << 20)

struct load_waiting {
	struct load_waiting *next;
	uint64_t ticket;
	uint64_t len;
	uint8_t *data; /* the file of IPC_UPDATE */
};

/* In order of arrival. Zeroed: empty. */
struct load_wait {
	struct load_waiting *first, *last;
	size_t count;
	uint64_t octets;
};

/* Takes data if there is room for it (true). */
bool load_wait_add(struct load_wait *wait, uint64_t ticket, uint8_t *data,
	uint64_t len);

/* Calls try for each in order; those that it returns true for are done with
 * and freed, the others stay. */
void load_wait_retry(struct load_wait *wait,
	bool (*try)(void *ctx, const struct load_waiting *one), void *ctx);

#endif
