/* cpu_limit.h - how much time of the processor the connections of a netblock
 * may take: tcp-cpu-limit and tcp-cpu-whitelist of nsd.conf. */
#ifndef WORKER_CPU_LIMIT_H
#define WORKER_CPU_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "guard/rrl.h"
#include "settings/acl.h"
#include "settings/settings.h"

/* The limit as a worker applies it. Workers share the table. */
struct cpu_limit {
	const struct rrl *table;
	uint64_t subject; /* the hash of the subject */
	uint32_t usec;    /* a second; 0: there is no limit */
	struct settings_netblocks ip4; /* as for the limits of answers */
	struct settings_netblocks ip6;
	struct acl_list whitelist;
};

/* No limit yet. The table is lent from now on, and may be filled in later. */
void cpu_limit_init(struct cpu_limit *limit, const struct rrl *table);

/* Applies settings; the table is there. NSD_E_MEMORY: the limit is as it
 * was. */
enum nsd_err cpu_limit_set(struct cpu_limit *limit,
	const struct settings *settings) MUST_USE;

/* A netblock that the limit begins or ceases to hold back. */
struct cpu_limit_block {
	struct sockaddr_storage client;
	unsigned bits; /* of the address: the netblock */
	bool begins;   /* held back from now on; false: no longer */
};

/*
 * Charges a client for nsec of processor time; now_msec: of clock_coarse_msec.
 * It counts for each of its netblocks, also for limited ones. Returns the count
 * of netblocks that begin or cease to be held back.
 * out: as many blocks. Cost: a line of cache for each netblock, and acl.h's.
 */
unsigned cpu_limit_spend(const struct cpu_limit *limit,
	const struct sockaddr_storage *client, int64_t nsec, uint64_t now_msec,
	struct cpu_limit_block blocks[SETTINGS_NETBLOCKS_MAX]);

/* True if one of a client's netblocks has had too much time. Cost: as above. */
bool cpu_limit_bars(const struct cpu_limit *limit,
	const struct sockaddr_storage *client, uint64_t now_msec);

#endif
