/* reply.h - the frame of a reply: header, question, OPT, TSIG error. */
#ifndef QUERY_REPLY_H
#define QUERY_REPLY_H

#include "query/state.h"

/*
 * Begins a reply: the question is copied from the request as it stands (its
 * case is kept) and room for OPT is taken off the limit. False: the reply's
 * buffer is too small for that.
 */
bool reply_begin(struct query_ctx *ctx, struct query *q, bool with_question);

/* Ends it: writes the OPT record and the header, and counts. */
void reply_end(struct query_ctx *ctx, struct query *q);

#endif
