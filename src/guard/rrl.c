/* rrl.c - the table of rate limits. */
#include "guard/rrl.h"

#include <netinet/in.h>
#include <string.h>

#include "base/octets.h"
#include "guard/siphash.h"

#define WAYS 8u /* buckets of a line */

#define LEVEL_BITS 30u
#define LEVEL_MASK ((UINT32_C(1) << LEVEL_BITS) - 1)
#define ONE 256u /* level of an answer */
#define TICK_BITS 18u
#define TICK_MASK ((UINT32_C(1) << TICK_BITS) - 1)
#define TOLD (UINT64_C(1) << (LEVEL_BITS + TICK_BITS))
#define TAG_SHIFT (LEVEL_BITS + TICK_BITS + 1)
#define TAG_MASK ((UINT64_C(1) << (64 - TAG_SHIFT)) - 1)

/* An answer a second makes a level of two: half of it is gone when the next
 * comes. */
#define SPAN 2u
/* Levels go no higher than so many limits: who ends asking has answers again
 * after some 3 seconds. */
#define LIMITS_MAX 8u
/* A clock that is read a moment later than another may be so far behind. */
#define BEHIND_MAX (10 * RRL_TICKS_PER_SEC)
/* Who loses a race so often goes on without counting. */
#define TRIES 4

_Static_assert(LEVEL_MASK / ONE > RRL_LIMIT_MAX * SPAN,
	"the highest limit can be reached");

size_t
rrl_octets(uint32_t buckets)
{
	return ((size_t)buckets + WAYS - 1) / WAYS * WAYS * sizeof(uint64_t);
}

void
rrl_init(struct rrl *rrl, void *memory, uint32_t buckets,
	const uint8_t key[RRL_KEY_LEN])
{
	rrl->lines = memory;
	rrl->line_count = (uint32_t)(((size_t)buckets + WAYS - 1) / WAYS);
	memcpy(rrl->key, key, sizeof(rrl->key));
}

/* ---- subjects ------------------------------------------------------------ */

/* The first bits of a number. */
static uint64_t
keep_bits(uint64_t number, unsigned bits)
{
	return bits == 0 ? 0 : number & ~UINT64_C(0) << (64 - bits);
}

/* The part of an address that counts, from the highest bit on. */
static uint64_t
netblock(const struct rrl_subject *subject)
{
	const struct sockaddr_storage *client = subject->client;
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)client;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)client;
	uint64_t number;

	if (client->ss_family != AF_INET6)
		return keep_bits((uint64_t)ntohl(ip4->sin_addr.s_addr) << 32,
			subject->ip4_bits);
	memcpy(&number, &ip6->sin6_addr, sizeof(number));
	return keep_bits(be64toh(number), subject->ip6_bits);
}

void
rrl_netblock(const struct rrl_subject *subject, uint8_t address[16])
{
	uint64_t number = htobe64(netblock(subject));

	memset(address, 0, 16);
	memcpy(address, &number, sizeof(number));
}

uint64_t
rrl_hash(const struct rrl *rrl, const struct rrl_subject *subject)
{
	/* All but the last 1 to 8 octets, in whole words. */
	size_t whole = subject->name_len > 0
		? (subject->name_len - 1) & ~(size_t)7
		: 0;
	uint64_t rest = 0;
	struct siphash s;

	siphash_begin(&s, rrl->key);
	siphash_add(&s, (uint64_t)subject->kind << 32
		| (uint64_t)subject->client->ss_family << 16
		| subject->name_len, 1);
	siphash_add(&s, netblock(subject), 1);
	for (size_t i = 0; i < whole; i += 8)
		siphash_add(&s, siphash_word(subject->name + i), 1);
	/* The last octets, some of them twice: the length is in the hash. */
	if (subject->name_len >= 8)
		rest = siphash_word(subject->name + subject->name_len - 8);
	else if (subject->name_len > 0)
		memcpy(&rest, subject->name, subject->name_len);
	siphash_add(&s, rest, 1);
	return siphash_end(&s, 3);
}

/* ---- buckets ------------------------------------------------------------- */

static uint32_t
word_level(uint64_t word)
{
	return (uint32_t)word & LEVEL_MASK;
}

static uint64_t
word_tag(uint64_t word)
{
	return word >> TAG_SHIFT;
}

static uint32_t
word_tick(uint64_t word)
{
	return (uint32_t)(word >> LEVEL_BITS) & TICK_MASK;
}

static uint64_t
word_make(uint64_t tag, bool told, uint32_t tick, uint32_t level)
{
	return tag << TAG_SHIFT | (told ? TOLD : 0)
		| (uint64_t)tick << LEVEL_BITS | level;
}

/*
 * The level of a word by now. It halves in a second, and falls in a line within
 * one: so whoever asks n times a second, at any n, comes to a level of 2n.
 * *tick: since when that is so, which lies before now as long as nothing has
 * been lost.
 */
static uint32_t
word_decay(uint64_t word, uint32_t now, uint32_t *tick)
{
	uint32_t level = word_level(word), since = word_tick(word);
	uint32_t passed = (now - since) & TICK_MASK;
	uint32_t seconds = passed / RRL_TICKS_PER_SEC, less;

	if (passed > TICK_MASK - BEHIND_MAX) {
		*tick = since;
		return level;
	}
	*tick = now;
	if (seconds >= LEVEL_BITS)
		return 0;
	level >>= seconds;
	less = (uint32_t)((uint64_t)level * (passed % RRL_TICKS_PER_SEC)
		/ (2 * RRL_TICKS_PER_SEC));
	if (seconds == 0 && less == 0)
		*tick = since;
	return level - less;
}

/* The bucket to give to a new subject: a free one, or the lowest level. first:
 * where to begin, so that those that come in turn do not push out each other
 * while others are as low. */
static unsigned
line_find_lowest(const uint64_t *line, uint32_t now, unsigned first,
	uint64_t *word)
{
	uint32_t lowest = UINT32_MAX, tick;
	unsigned found = 0;

	for (unsigned i = 0; i < WAYS; i++) {
		unsigned way = (first + i) % WAYS;
		uint64_t at_hand = __atomic_load_n(&line[way],
			__ATOMIC_RELAXED);
		uint32_t level = 0;

		if (word_level(at_hand) > 0)
			level = word_decay(at_hand, now, &tick);
		if (level < lowest) {
			lowest = level;
			found = way;
			*word = at_hand;
		}
		if (word_level(at_hand) == 0)
			break;
	}
	return found;
}

/* The bucket of a tag, and its word; WAYS: there is none. */
static unsigned
line_find(const uint64_t *line, uint64_t tag, uint64_t *word)
{
	for (unsigned i = 0; i < WAYS; i++) {
		*word = __atomic_load_n(&line[i], __ATOMIC_RELAXED);
		if (word_tag(*word) == tag && word_level(*word) > 0)
			return i;
	}
	return WAYS;
}

/* Counts an answer more in a word, and judges it. */
static uint64_t
word_count(uint64_t word, uint32_t limit, uint32_t now,
	struct rrl_verdict *verdict)
{
	const uint64_t full = (uint64_t)limit * SPAN * ONE;
	uint64_t most = full * LIMITS_MAX;
	bool told = (word & TOLD) != 0;
	uint32_t tick;
	uint64_t level = (uint64_t)word_decay(word, now, &tick) + ONE;

	if (most > LEVEL_MASK)
		most = LEVEL_MASK;
	verdict->limited = level > full;
	verdict->begins = verdict->limited && !told;
	/* Not at once: at the limit it would go to and fro. */
	verdict->ends = told && level < full - full / 8;
	if (level > most)
		level = most;
	return word_make(word_tag(word), (told || verdict->begins)
			&& !verdict->ends, tick, (uint32_t)level);
}

struct rrl_verdict
rrl_count(const struct rrl *rrl, uint64_t hash, uint32_t limit, uint64_t now)
{
	uint64_t *line = rrl_line(rrl, hash);
	uint64_t tag = hash & TAG_MASK;
	uint32_t tick = (uint32_t)now & TICK_MASK;
	struct rrl_verdict verdict = {false, false, false};

	if (limit > RRL_LIMIT_MAX)
		limit = RRL_LIMIT_MAX;
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t old, new;
		unsigned way = line_find(line, tag, &old);

		if (way < WAYS) {
			new = word_count(old, limit, tick, &verdict);
		} else {
			way = line_find_lowest(line, tick,
				(unsigned)(hash >> 16) + tick, &old);
			new = word_count(word_make(tag, false, tick, 0), limit,
				tick, &verdict);
		}
		/* One that asks far too much changes nothing: no other
		 * processor has to fetch the line anew. */
		if (new == old
			|| __atomic_compare_exchange_n(&line[way], &old, new,
				false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return verdict;
	}
	verdict.begins = false;
	verdict.ends = false;
	return verdict;
}
