/*
 * rrl.h - response rate limiting: the answers of one kind that go to one
 * netblock, counted.
 *
 * All workers share one table, in memory that main has made. A worker that was
 * taken over may write anything there. That spoils limits and nothing else: a
 * word of the table is a count, never a place or a length.
 *
 * A bucket is one word of 64 bits, changed by one atomic step:
 *
 *   bits 0 to 29   level: 256 for each answer, or an amount; halves each
 *                  second
 *   bits 30 to 47  when that was, in ticks modulo 2^18
 *   bit 48         its begin was told, its end not yet
 *   bits 49 to 63  tag: which subject it is of, out of those of its line
 *
 * Ticks begin anew after 16384 seconds: a bucket that rests for a multiple of
 * that looks as if it had been used just now. So a netblock that was limited
 * when the bucket was last used may be so again, for 3 seconds at most.
 *
 * A word of level 0 is free. 8 buckets are a line of the processor's cache. A
 * subject may be in any bucket of its line, which the hash chooses. If none is
 * free, the lowest level makes room: a flood of subjects that ask once pushes
 * out subjects of the flood, not those that ask often (doc/decisions/0100).
 */
#ifndef GUARD_RRL_H
#define GUARD_RRL_H

#include <endian.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fold.h"

#define RRL_KEY_LEN 32u
/* Ticks of the time that callers give: of any clock that all workers share. */
#define RRL_TICKS_PER_SEC 16u
/* A higher limit counts as this one. */
#define RRL_LIMIT_MAX 2000000u
/* A higher limit of amounts counts as this one. */
#define RRL_AMOUNT_MAX ((UINT32_C(1) << 29) - 1)

/* The table as a process has it. Copies may be made. */
struct rrl {
	uint64_t *lines;    /* 8 words each */
	uint32_t line_count;
	uint64_t key[RRL_KEY_LEN / 8];
};

/* Octets of a table with room for a number of buckets, at least 1. */
size_t rrl_octets(uint32_t buckets);
/* Makes a process's view of the table in memory, which begins at a multiple of
 * 64, and is all zeros before its first use. All processes that share it have
 * the same key, of random octets. */
void rrl_init(struct rrl *rrl, void *memory, uint32_t buckets,
	const uint8_t key[RRL_KEY_LEN]);

/* The kind and name that answers are counted by, whatever netblock they go
 * to. */
struct rrl_subject {
	uint32_t kind;       /* any number: answers of other kinds are counted
			      * apart */
	const uint8_t *name; /* any octets, which count, too */
	size_t name_len;
};

/*
 * Hashes a subject. The netblock that an answer goes to is hashed on top
 * (rrl_hash_netblock), which gives the hash of a bucket; each netblock that
 * counts adds a step to the hash of the subject.
 *
 * A multiplication for 16 octets, with words of the key (doc/decisions/0118
 * says why that will do). Without the key, subjects with the same line cannot
 * be found. Cost: linear in name_len.
 */
uint64_t rrl_hash(const struct rrl *rrl, const struct rrl_subject *subject);

/* An address as a number of 64 bits, its first bit the highest: that of IPv6 is
 * cut short, that of IPv4 has zeros behind it. */
static inline uint64_t
rrl_address(const struct sockaddr_storage *client)
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)client;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)client;
	uint64_t number;

	if (client->ss_family != AF_INET6)
		return (uint64_t)ntohl(ip4->sin_addr.s_addr) << 32;
	memcpy(&number, &ip6->sin6_addr, sizeof(number));
	return be64toh(number);
}

/* The first bits of an address, 0 to 64. */
static inline uint64_t
rrl_netblock(uint64_t address, unsigned bits)
{
	return bits == 0 ? 0 : address & ~UINT64_C(0) << (64 - bits);
}

/* Hashes a netblock on top of a subject's hash. family_and_bits: tells apart
 * netblocks of a family and length. */
static inline uint64_t
rrl_hash_netblock(const struct rrl *rrl, uint64_t hash, uint64_t netblock,
	unsigned family_and_bits)
{
	/* Twice: once leaves a pattern of neighbours. */
	return fold_words(fold_words(hash ^ netblock, rrl->key[3]),
		rrl->key[2] + family_and_bits);
}

/* The line of a hash. rrl_prefetch has it brought to the processor; rrl_count
 * comes soon. */
static inline uint64_t *
rrl_line(const struct rrl *rrl, uint64_t hash)
{
	return rrl->lines + 8
		* (size_t)((hash >> 32) * rrl->line_count >> 32);
}

static inline void
rrl_prefetch(const struct rrl *rrl, uint64_t hash)
{
	__builtin_prefetch(rrl_line(rrl, hash), 1);
}

struct rrl_verdict {
	bool limited; /* the answer exceeds the limit */
	bool begins;  /* the first limited answer, to be reported once */
	bool ends;    /* the first answer that is limited no more, to be
		       * reported once */
};

/*
 * Counts an answer, and checks whether it exceeds the limit.
 * in: hash, of rrl_hash: its upper 32 bits choose the line, its lower 15 are
 * the tag, so two subjects share a bucket if they have both in common; limit,
 * answers a second, at least 1; now: in ticks.
 * A subject that gets up to limit answers a second is never limited; at once it
 * may get twice as many. While it asks for more, all its answers are limited:
 * those that are not sent are counted, too.
 * Cost: a line of cache; no lock, and at most 4 tries.
 */
struct rrl_verdict rrl_count(const struct rrl *rrl, uint64_t hash,
	uint32_t limit, uint64_t now);

/*
 * Counts an amount of something else, such as time, that a subject has had
 * already; limit: that much a second, in the same unit. The subject is limited
 * as above: it may have twice the limit at once. The end of limiting is told
 * when half of it is left. The caller gives the subject nothing meanwhile.
 */
struct rrl_verdict rrl_spend(const struct rrl *rrl, uint64_t hash,
	uint32_t amount, uint32_t limit, uint64_t now);

/* True if a subject of amounts is limited now. Nothing is counted. Cost: a line
 * of cache. */
bool rrl_is_spent(const struct rrl *rrl, uint64_t hash, uint32_t limit,
	uint64_t now);

#endif
