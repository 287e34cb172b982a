/* tsig.h - requests signed with TSIG (RFC 8945). No key is known yet. */
#ifndef QUERY_TSIG_H
#define QUERY_TSIG_H

#include "query/state.h"

/* True if a TSIG record has all its fields, and nothing behind them. */
bool tsig_is_well_formed(const struct message_rr *rr);

/*
 * Adds a TSIG to the error reply, if there is room: BADKEY, with an empty MAC
 * (RFC 8945 section 5.2.1).
 */
void tsig_write_badkey(struct query *q);

#endif
