/* tsig.h - signed requests (RFC 8945), as long as no key is known. */
#ifndef QUERY_TSIG_H
#define QUERY_TSIG_H

#include "query/state.h"

/* True if a TSIG record has all its fields and nothing behind them. */
bool tsig_is_well_formed(const struct message_rr *rr);

/*
 * Adds the TSIG of an error reply for the request's TSIG: BADKEY, with an
 * empty MAC (RFC 8945 section 5.2.1). Left out where there is no room.
 */
void tsig_write_badkey(struct query *q);

#endif
