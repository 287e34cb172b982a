/*
 * transfer.h - zone transfers out: AXFR (RFC 5936), and IXFR (RFC 1995)
 * answered with what the store has of differences (zone/history.h), one behind
 * the other, or the whole zone or, if the client has it, its SOA.
 *
 * A transfer over a stream pins the version of the zone that it begins with.
 * Its messages are made one by one, when the client takes them.
 */
#ifndef QUERY_TRANSFER_H
#define QUERY_TRANSFER_H

#include "query/state.h"

struct transfer;

/* Begins to answer a request for a transfer of q->search.entry, whose zone is
 * q->zone and whose client may have it. Sets exchange->stream, and returns
 * false; or composes the whole reply, which may be an error: reply_end is due.
 */
bool transfer_begin(struct query_ctx *ctx, struct query *q);

/* See query_stream_next. */
size_t transfer_next(struct query_ctx *ctx, struct transfer *transfer,
	uint8_t *out, size_t capacity);
void transfer_end(struct query_ctx *ctx, struct transfer *transfer);
/* See query_stream_note. */
void **transfer_note(struct transfer *transfer);
/* See query_stream_find_pinned. */
const uint8_t *transfer_find_pinned(const struct query_ctx *ctx,
	const struct transfer *transfer, uint64_t epoch);

#endif
