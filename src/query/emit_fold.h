/* emit_fold.h - compresses the names of an RRset as it is written, as if they
 * were in lower case. */
#ifndef QUERY_EMIT_FOLD_H
#define QUERY_EMIT_FOLD_H

#include <stdint.h>

#include "dns/message.h"

#define EMIT_FOLD_BITS 13

/*
 * The suffixes of names in a message. Each is known by its first label and the
 * place of what is above that, so that only labels are compared. Most names end
 * as the one before them does, so that one is compared first.
 */
struct emit_fold {
	const uint8_t *out; /* the message */
	/* The name that was written last, in lower case; then the one before
	 * it. The labels of the last are counted from the root down. */
	uint8_t *last, *before;
	uint8_t names[2][NAME_MAX_LEN];
	unsigned count;
	unsigned known;     /* labels that were in the message before it */
	uint8_t label_at[NAME_MAX_LABELS];
	uint16_t places[NAME_MAX_LABELS]; /* of the suffixes that begin with
					   * them; 0: in no pointer's reach */
	struct {
		uint16_t at;    /* of the label in the message; 0: free */
		uint16_t above; /* the place of its parent; 0: the root */
	} slots[1u << EMIT_FOLD_BITS];
};

/* Begins without any name. out: kept. */
void emit_fold_init(struct emit_fold *fold, const uint8_t *out);

/* Adds the suffixes of a name that is in the message, as far as pointers reach
 * them and there is room. */
void emit_fold_add(struct emit_fold *fold, uint32_t at);

/* Writes a whole name, its longest known suffix as a pointer. to: has room for
 * NAME_MAX_LEN octets. Returns the length. */
uint32_t emit_fold_write(struct emit_fold *fold, const uint8_t *name,
	uint8_t *to);

/* The name that was written last is in the message now: adds its suffixes. */
void emit_fold_place(struct emit_fold *fold, uint32_t at);

#endif
