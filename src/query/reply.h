/* reply.h - the frame of a reply: header, question, OPT, TSIG error. */
#ifndef QUERY_REPLY_H
#define QUERY_REPLY_H

#include "query/state.h"

/*
 * Begins a reply. Copies the question from the request as it is (case is kept),
 * and takes the room for OPT off the limit. False: the limit is too small.
 */
bool reply_begin(struct query_ctx *ctx, struct query *q, bool with_question);

/* The block size that padded messages, with their TSIG, are a multiple of: RFC
 * 8467 section 4.1. */
#define REPLY_BLOCK 468u

/*
 * Writes the option that pads, with room octets for all of it at most, which
 * are EDNS_OPTION_HEAD or more: RFC 7830 section 4. before: the octets of the
 * message up to here, and of the TSIG that follows. Returns the octets that it
 * has.
 */
size_t reply_pad(uint8_t *out, size_t room, size_t before);

/* Ends a reply: writes the OPT record and the header, and counts. */
void reply_end(struct query_ctx *ctx, struct query *q);

#endif
