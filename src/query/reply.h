/* reply.h - the frame of a reply: header, question, OPT, TSIG error. */
#ifndef QUERY_REPLY_H
#define QUERY_REPLY_H

#include "query/state.h"

/*
 * Begins a reply. Copies the question from the request as it is (case is kept),
 * and takes the room for OPT off the limit. False: the limit is too small.
 */
bool reply_begin(struct query_ctx *ctx, struct query *q, bool with_question);

/* Ends it: writes the OPT record and the header, and counts. */
void reply_end(struct query_ctx *ctx, struct query *q);

#endif
