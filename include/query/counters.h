/*
 * counters.h - what a worker counts (doc/surface.md section 4).
 *
 * The counters lie in shared memory. One worker writes them without locks;
 * others read them.
 */
#ifndef QUERY_COUNTERS_H
#define QUERY_COUNTERS_H

#include <stdint.h>

#define COUNTER_TYPES 256
#define COUNTER_OPCODES 16
#define COUNTER_CLASSES 5 /* IN, CH, HS, ANY, other */
#define COUNTER_RCODES 17 /* 16: BADVERS */

/* All fields are uint64_t or arrays of them: whoever sums them up goes over
 * the structure as one array. */
struct counters {
	uint64_t queries;
	uint64_t type[COUNTER_TYPES]; /* index 0: also types above 255 */
	uint64_t opcode[COUNTER_OPCODES];
	uint64_t rrclass[COUNTER_CLASSES];
	uint64_t rcode[COUNTER_RCODES];
	uint64_t edns;
	uint64_t edns_err;
	uint64_t udp, udp6, tcp, tcp6, tls, tls6;
	uint64_t answer_wo_aa;
	uint64_t rx_err, tx_err;
	uint64_t raxfr, rixfr;
	uint64_t truncated;
	uint64_t dropped;
	uint64_t lost;  /* datagrams that the kernel had no room for */
} __attribute__((aligned(64)));

#endif
