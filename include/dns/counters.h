/*
 * counters.h - a worker's counters (doc/surface.md section 4), for all zones
 * and for groups of zones (zonestats).
 *
 * The counters lie in shared memory. One worker writes them without locks;
 * others read them and do not trust them: a worker may have been taken over.
 */
#ifndef DNS_COUNTERS_H
#define DNS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/rrtype.h"

#define COUNTER_TYPES 257 /* 256: types above 255 */
#define COUNTER_OPCODES 16
#define COUNTER_CLASSES 7 /* enum counter_class */
#define COUNTER_RCODES 17 /* 16: BADVERS */

enum counter_class {
	COUNTER_CLASS0,
	COUNTER_IN,
	COUNTER_CS,
	COUNTER_CH,
	COUNTER_HS,
	COUNTER_ANY,
	COUNTER_OTHER,
};

/* The counters of a worker, or of a group of zones. Each field is a uint64_t or
 * an array of them, so that the structure can be summed up as one array. */
struct counters {
	uint64_t queries;
	uint64_t type[COUNTER_TYPES];
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
	uint64_t update_received; /* but for those of zones that take none */
	uint64_t update_rcode[COUNTER_RCODES]; /* of replies to them */
} __attribute__((aligned(64)));

/* sum += more, of each counter. */
void counters_add(struct counters *sum, const struct counters *more);
/* sum -= less, of each counter; one that would become less than 0 becomes 0. */
void counters_subtract(struct counters *sum, const struct counters *less);

/* The place of a class and of a type in their arrays. */
static inline enum counter_class
counters_find_class(uint16_t rrclass)
{
	switch (rrclass) {
	case 0:
		return COUNTER_CLASS0;
	case 1:
		return COUNTER_IN;
	case 2:
		return COUNTER_CS;
	case 3:
		return COUNTER_CH;
	case 4:
		return COUNTER_HS;
	case 255:
		return COUNTER_ANY;
	default:
		return COUNTER_OTHER;
	}
}

static inline unsigned
counters_find_type(uint16_t type)
{
	return type < COUNTER_TYPES - 1 ? type : COUNTER_TYPES - 1;
}

/* Prints the name under which NSD 4 shows a type's counter, which is TYPEn for
 * many types that have a mnemonic: programs that watch it know no other name.
 * False: it is TYPEn. */
bool counters_print_type(uint16_t type, char out[RRTYPE_TEXT_MAX]);

/*
 * A counter block has the counters of one process: a row for all queries, and a
 * row for each group of zones that it was asked about. Groups have numbers from
 * 1 on. In memory, which is mostly never touched:
 *
 *   +0   used 4: rows that are taken, besides that of all
 *   +64  row_of: room + 1 of 4 octets: the row of each group; 0: none yet
 *        rows: room + 1 of struct counters, from a multiple of 64 on; the
 *        first is that of all
 */
struct counters_block {
	struct counters *rows;
	uint32_t *row_of;
	uint32_t *used;
	uint32_t room; /* groups; in memory of its reader's own */
};

/* Octets of a block for `room` groups. */
size_t counters_block_size(uint32_t room);
/* Octets of a block that are touched as long as groups are at most `groups`. */
size_t counters_block_reach(uint32_t room, uint32_t groups);
/* Lays out a block in memory that begins at a multiple of 64 and is all zeros
 * before its first use. */
void counters_block_init(struct counters_block *block, void *memory,
	uint32_t room);

/* Finds the counters of a group, for the block's writer; a group without a row
 * gets one. NULL: there is no room. */
struct counters *counters_block_open(const struct counters_block *block,
	uint32_t group);
/* Finds the counters of a group, for a reader of the block. NULL: nothing was
 * counted. For any contents of the block, they lie in it. */
const struct counters *counters_block_find(const struct counters_block *block,
	uint32_t group);

#endif
