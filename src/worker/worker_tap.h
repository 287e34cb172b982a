/*
 * worker_tap.h - a worker's records of queries and answers, for the collector
 * (tap/ring.h).
 *
 * A batch is told at its begin and at its end. Requests of a sample are chosen
 * at the begin, by random numbers that clients cannot foresee; a record has
 * query and response, so these go together.
 */
#ifndef WORKER_WORKER_TAP_H
#define WORKER_WORKER_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/exchange.h"
#include "query/query.h"
#include "tap/ring.h"

/* Random numbers that are asked for at once. */
#define WORKER_TAP_RANDOM 32u

struct worker_tap {
	const struct tap_switch *wanted;
	struct tap_writer writer;
	/* Of the batch at hand: */
	uint32_t wants;
	uint64_t chosen; /* bit i: request i */
	int64_t query_nsec;
	uint8_t zone_len[EXCHANGE_BATCH_MAX];
	/* Of the sample: */
	uint32_t sample; /* of so many queries one */
	uint32_t gap;    /* queries until the next one that is chosen */
	double log_left; /* the logarithm of the share that is not chosen */
	unsigned random_count;
	uint32_t random[WORKER_TAP_RANDOM];
};

_Static_assert(EXCHANGE_BATCH_MAX <= 64, "chosen has a bit for each");

/* Takes the ring over from the worker that served before. */
void worker_tap_serve(struct worker_tap *tap, const struct tap_switch *wanted,
	struct tap_ring *ring, const struct tap_cursor *cursor);

bool worker_tap_choose(struct worker_tap *tap, uint32_t wants, size_t count);

/* A batch begins: true if records of it are to be written. Cost: one load, if
 * nobody wants any. */
static inline bool
worker_tap_begin(struct worker_tap *tap, size_t count)
{
	uint32_t wants = __atomic_load_n(&tap->wanted->wants,
		__ATOMIC_RELAXED);

	return __builtin_expect(wants != 0, 0)
		&& worker_tap_choose(tap, wants, count);
}

/* Notes the zones of the batch, and leaves out what is of none that are wanted;
 * the caller is still online as a reader. */
void worker_tap_note_zones(struct worker_tap *tap,
	const struct query_ctx *query, const struct exchange *exchanges,
	size_t count);

/* Writes the records of a batch; its replies are final. */
void worker_tap_write(struct worker_tap *tap,
	const struct exchange *exchanges, size_t count);

/* Fills a record for the response to request i of the batch, which is made
 * later; query of the record is the request's. False: none is to be written. */
bool worker_tap_keep(const struct worker_tap *tap,
	const struct exchange *exchanges, size_t i, struct tap_record *record);
/* Writes such a record, with its response. */
void worker_tap_write_later(struct worker_tap *tap, struct tap_record *record,
	const uint8_t *response, size_t len);

/* The first message of a stream is made: writes the record that goes with it,
 * if there is one. */
void worker_tap_write_stream(struct worker_tap *tap, void *stream,
	const uint8_t *response, size_t len);
/* A stream ends: frees the record that goes with it. */
void worker_tap_end_stream(void *stream);

#endif
