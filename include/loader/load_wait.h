/*
 * load_wait.h - keeps the changes of a zone while the zone is compared with its
 * file, or hashed anew. They are applied to the version that comes of it.
 */
#ifndef LOADER_LOAD_WAIT_H
#define LOADER_LOAD_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/name.h"
#include "loader/load_text.h"

/* Limits of the changes that wait. A change beyond is refused: its sender has
 * to send it again. */
#define LOAD_WAIT_MAX 1000
#define LOAD_WAIT_OCTETS (64u << 20)

/* A change of a zone, with its sender. */
struct load_change {
	uint64_t channel; /* of the asker: struct ipc_message */
	uint64_t ticket;
	uint8_t kind;          /* enum load_update_kind */
	bool is_late;          /* UPDATE_WAITS was sent */
	uint64_t len;
	uint8_t *data;         /* octets of IPC_UPDATE; NULL: the octets are
				* still in the file of text */
	struct load_text text; /* a zone or differences to be read as a text:
				* the octets are in data or in a file, whose
				* descriptor is the change's. fd -1: no file;
				* len 0: not a text */
};

/* True if the change is read as a text; else data is applied. */
static inline bool
load_change_is_text(const struct load_change *change)
{
	return change->text.len > 0;
}

struct load_waiting {
	struct load_waiting *next;
	struct load_change change;
	uint8_t apex[NAME_MAX_LEN]; /* of the zone; in lower case */
};

/* In order of arrival. Zeroed: empty. */
struct load_wait {
	struct load_waiting *first, *last;
	size_t count;
	uint64_t octets;
	bool trying; /* the changes behind `passed` are to be tried */
	struct load_waiting *passed; /* NULL: try from the first */
};

/* Frees what a change owns. */
void load_wait_free(const struct load_change *change);

/* Has a change wait. True: its data is taken. False: there is no room, or no
 * memory. apex: in lower case. */
bool load_wait_add(struct load_wait *wait, const uint8_t *apex,
	const struct load_change *change);

/* True if a change of this zone waits: later ones have to wait behind it. Cost:
 * a look at all waiting changes. */
bool load_wait_has(const struct load_wait *wait, const uint8_t *apex);

/* Has all changes tried again, from the first on, as a zone is no longer
 * busy. */
void load_wait_restart(struct load_wait *wait);

/*
 * Works for a turn (load_turn.h): calls try for one change after another. If
 * try returns true the change is done with and freed; else it stays. False: all
 * have been tried.
 */
bool load_wait_step(struct load_wait *wait,
	bool (*try)(void *ctx, const struct load_waiting *one), void *ctx);

#endif
