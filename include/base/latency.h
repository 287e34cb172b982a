/*
 * latency.h - how long answers took, counted in powers of two
 * (doc/decisions/0117).
 *
 * One process writes it without locks, others read it: each field is a word of
 * its own. Readers do not trust its contents.
 */
#ifndef BASE_LATENCY_H
#define BASE_LATENCY_H

#include <stdint.h>

/* Bucket i has what took less than 2^i us, and not less than half of that;
 * bucket 0 less than 1 us; the last one all that took longer than the others
 * have: from 2^20 us on, a second and more. */
#define LATENCY_BUCKETS 22u

struct latency {
	uint64_t count[LATENCY_BUCKETS]; /* answers; no request without one */
	uint64_t usec;                   /* of all answers */
};

/* The latencies of one worker's answers, by transport. */
struct latency_block {
	struct latency udp;
	struct latency tcp; /* TLS, too */
};

/* Counts answers that took so long. */
static inline void
latency_add(struct latency *latency, int64_t usec, uint64_t answers)
{
	unsigned bucket = usec <= 0 ? 0
		: 64 - (unsigned)__builtin_clzll((uint64_t)usec);

	if (bucket >= LATENCY_BUCKETS)
		bucket = LATENCY_BUCKETS - 1;
	latency->count[bucket] += answers;
	latency->usec += usec <= 0 ? 0 : (uint64_t)usec * answers;
}

/* sum += more. */
static inline void
latency_sum(struct latency *sum, const struct latency *more)
{
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
		sum->count[i] += more->count[i];
	sum->usec += more->usec;
}

#endif
