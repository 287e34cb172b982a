/*
 * rssac.h - the figures of RSSAC002 (version 4) that struct counters lacks:
 * lengths of messages, counts of replies, and the number of clients. See
 * doc/decisions/0056.
 *
 * They lie in shared memory. One worker writes its own without locks. Main
 * reads all, and sets the sources to 0 when a day begins: a worker that counts
 * a source at that moment may lose it, or keep a source of the day before.
 */
#ifndef QUERY_RSSAC_H
#define QUERY_RSSAC_H

#include <stddef.h>
#include <stdint.h>

#include "base/exchange.h"

#define RSSAC_BIN_OCTETS 16u
/* Lengths are counted by 16 octets. The last bin is for 4096 and more. */
#define RSSAC_BINS 257u

/* Clients are not kept, only estimated, with a HyperLogLog sketch (Flajolet and
 * others, 2007). With 4096 registers its standard error is 1.04 / 64. */
#define RSSAC_REGISTER_BITS 12
#define RSSAC_REGISTERS (1u << RSSAC_REGISTER_BITS)

enum rssac_sources {
	RSSAC_IP4,
	RSSAC_IP6,
	RSSAC_IP6_NETS, /* networks of 64 bits */
	RSSAC_SOURCES,
};

enum rssac_transport { RSSAC_UDP, RSSAC_TCP, RSSAC_TRANSPORTS };

struct rssac {
	/* Random, and the same for all workers of a server: clients cannot
	 * choose addresses that count for more or less. */
	uint64_t key[2];
	uint64_t requests[RSSAC_TRANSPORTS][RSSAC_BINS]; /* by length */
	uint64_t replies[RSSAC_TRANSPORTS][RSSAC_BINS];
	uint64_t sent[RSSAC_TRANSPORTS][2]; /* replies over IPv4, IPv6 */
	uint8_t sources[RSSAC_SOURCES][RSSAC_REGISTERS];
} __attribute__((aligned(64)));

/* Counts exchanges that have been answered, each request and reply once. */
void rssac_count(struct rssac *rssac, const struct exchange *exchanges,
	size_t count);

/* Adds a worker's figures to a sum. Its sources are united with those of
 * sum. */
void rssac_add(struct rssac *sum, const struct rssac *worker);

/* Estimates the number of different sources. */
uint64_t rssac_estimate(const uint8_t registers[RSSAC_REGISTERS]);

#endif
