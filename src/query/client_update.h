/* client_update.h - UPDATEs of clients (RFC 2136): who may send them. */
#ifndef QUERY_CLIENT_UPDATE_H
#define QUERY_CLIENT_UPDATE_H

#include "query/state.h"

/*
 * Decides about an UPDATE whose zone was looked for: it is passed on
 * (STEP_LATER), or its reply is chosen. With ctx->outcome the reply says that.
 * Cost: a TSIG at most, and with update-policy a search for each record.
 */
void client_update_take(struct query_ctx *ctx, struct query *q);

#endif
