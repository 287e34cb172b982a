/* rrl.c - the table of rate limits. */
#include "guard/rrl.h"

#include <string.h>

#define WAYS 8u /* buckets of a line */

#define LEVEL_BITS 30u
#define LEVEL_MASK ((UINT32_C(1) << LEVEL_BITS) - 1)
#define ONE 256u /* level of an answer */
#define TICK_BITS 18u
#define TICK_MASK ((UINT32_C(1) << TICK_BITS) - 1)
#define TOLD (UINT64_C(1) << (LEVEL_BITS + TICK_BITS))
#define TAG_SHIFT (LEVEL_BITS + TICK_BITS + 1)
#define TAG_BITS (64 - TAG_SHIFT)
#define TAG_MASK ((UINT64_C(1) << TAG_BITS) - 1)

/* An answer a second makes a level of two: half of it is gone when the next
 * comes. */
#define SPAN 2u
/* The highest level, in limits: a netblock that ends asking has answers again
 * after some 3 seconds. */
#define LIMITS_MAX 8u
/* The ticks by which a clock may lag behind another that was read a moment
 * before. */
#define BEHIND_MAX (10 * RRL_TICKS_PER_SEC)
/* The attempts at a word that others change; after them the answer goes
 * uncounted. */
#define TRIES 4

_Static_assert(LEVEL_MASK / ONE > RRL_LIMIT_MAX * SPAN
		&& LEVEL_MASK > UINT64_C(1) * RRL_AMOUNT_MAX * SPAN,
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

static uint64_t
rrl_read_word(const uint8_t *octets)
{
	uint64_t word;

	memcpy(&word, octets, sizeof(word));
	return word;
}

static uint32_t
read_half(const uint8_t *octets)
{
	uint32_t half;

	memcpy(&half, octets, sizeof(half));
	return half;
}

/* Adds 0 to 16 octets to a hash. Octets may be read twice: their number is in
 * the hash already. */
static uint64_t
hash_last(const struct rrl *rrl, uint64_t hash, const uint8_t *octets,
	size_t len)
{
	uint64_t a = 0, b = 0;

	if (len >= 8) {
		a = rrl_read_word(octets);
		b = rrl_read_word(octets + len - 8);
	} else if (len >= 4) {
		a = read_half(octets);
		b = read_half(octets + len - 4);
	} else if (len > 0) {
		a = (uint64_t)octets[0] << 16 | (uint64_t)octets[len / 2] << 8
			| octets[len - 1];
	}
	return fold_words(a ^ rrl->key[1], b ^ hash);
}

uint64_t
rrl_hash(const struct rrl *rrl, const struct rrl_subject *subject)
{
	const uint8_t *at = subject->name;
	size_t left = subject->name_len;
	/* Kind and length have a step of their own: no name makes up for
	 * another kind. */
	uint64_t hash = fold_words(rrl->key[0] ^ ((uint64_t)subject->kind << 32
		| left), rrl->key[2]);

	for (; left > 16; at += 16, left -= 16)
		hash = fold_words(rrl_read_word(at) ^ rrl->key[1],
			rrl_read_word(at + 8) ^ hash);
	return hash_last(rrl, hash, at, left);
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
 * The level after a number of ticks. It halves in a second, and falls in a line
 * within one: so n questions a second, for any n, come to a level of 2n.
 */
static uint32_t
level_decay(uint32_t level, uint32_t passed)
{
	uint32_t seconds = passed / RRL_TICKS_PER_SEC;

	if (seconds >= LEVEL_BITS)
		return 0;
	level >>= seconds;
	return level - (uint32_t)((uint64_t)level
		* (passed % RRL_TICKS_PER_SEC) / (2 * RRL_TICKS_PER_SEC));
}

/* The level of a word by now. *tick: now, or the word's, if that is a moment
 * later. A level is ONE at least, of which a tick takes some: so nothing that
 * should have been lost is kept by coming often. */
static uint32_t
word_decay(uint64_t word, uint32_t now, uint32_t *tick)
{
	uint32_t passed = (now - word_tick(word)) & TICK_MASK;

	if (passed > TICK_MASK - BEHIND_MAX) {
		*tick = word_tick(word);
		return word_level(word);
	}
	*tick = now;
	return level_decay(word_level(word), passed);
}

/* The level of a word by now, or up to twice that. It is enough to find the
 * lowest, and takes a third of the time. */
static uint32_t
word_rough_level(uint64_t word, uint32_t now)
{
	uint32_t passed = (now - word_tick(word)) & TICK_MASK;
	uint32_t seconds = passed / RRL_TICKS_PER_SEC;

	if (passed > TICK_MASK - BEHIND_MAX)
		return word_level(word);
	return seconds < LEVEL_BITS ? word_level(word) >> seconds : 0;
}

/* The bucket that a new subject gets where none is free: that of the lowest
 * level. first: where to begin, so that those that come in turn do not push out
 * each other while others are as low. */
static __attribute__((noinline)) unsigned
line_find_lowest(const uint64_t *line, uint32_t now, unsigned first,
	uint64_t *word)
{
	uint32_t lowest = UINT32_MAX;
	unsigned found = 0;

	for (unsigned i = 0; i < WAYS; i++) {
		unsigned way = (first + i) % WAYS;
		uint64_t at_hand = __atomic_load_n(&line[way],
			__ATOMIC_RELAXED);
		uint32_t level = word_rough_level(at_hand, now);

		if (level < lowest) {
			lowest = level;
			found = way;
			*word = at_hand;
		}
	}
	return found;
}

/*
 * The bucket of a tag and its word; or, with *is_new set, the bucket to give to
 * the tag. The search begins at a bucket that the hash names: mostly the tag's.
 * Behind a free bucket the tag cannot be, since no bucket becomes free.
 */
static inline __attribute__((always_inline)) unsigned
line_find(const uint64_t *line, uint64_t hash, uint32_t now, uint64_t *word,
	bool *is_new)
{
	const uint64_t tag = hash & TAG_MASK;
	unsigned first = (unsigned)(hash >> TAG_BITS);

	*is_new = false;
	for (unsigned i = 0; i < WAYS; i++) {
		unsigned way = (first + i) % WAYS;

		*word = __atomic_load_n(&line[way], __ATOMIC_RELAXED);
		*is_new = word_level(*word) == 0;
		if (*is_new || word_tag(*word) == tag)
			return way;
	}
	*is_new = true;
	return line_find_lowest(line, now, first + now, word);
}

/* The levels of a count. */
struct rrl_step {
	uint64_t add;  /* at least 1 */
	uint64_t full; /* above it, answers are limited */
	uint64_t calm; /* below it, limiting ends. Less than `full`: at the
			* limit it would go to and fro */
};

/* Counts a step in a word, and checks it. */
static uint64_t
word_count(uint64_t word, const struct rrl_step *step, uint32_t now,
	struct rrl_verdict *verdict)
{
	uint64_t most = step->full * LIMITS_MAX;
	bool told = (word & TOLD) != 0;
	uint32_t tick;
	uint64_t level = (uint64_t)word_decay(word, now, &tick) + step->add;

	if (most > LEVEL_MASK)
		most = LEVEL_MASK;
	verdict->limited = level > step->full;
	verdict->begins = verdict->limited && !told;
	verdict->ends = told && level < step->calm;
	if (level > most)
		level = most;
	return word_make(word_tag(word), (told || verdict->begins)
			&& !verdict->ends, tick, (uint32_t)level);
}

/*
 * The usual case with half the steps: the bucket that the hash names first is
 * the subject's, and stays below the limit. False: it is not so, or a race was
 * lost; nothing is counted.
 */
static inline bool
count_usual(uint64_t *line, uint64_t hash, uint32_t limit, uint32_t now)
{
	uint64_t *bucket = &line[(hash >> TAG_BITS) % WAYS];
	uint64_t old = __atomic_load_n(bucket, __ATOMIC_RELAXED), new;
	uint64_t tag = hash & TAG_MASK;
	uint32_t tick, level;

	if (old / TOLD != tag * 2 || word_level(old) == 0)
		return false;
	level = word_decay(old, now, &tick) + ONE;
	if (level > (uint64_t)limit * SPAN * ONE)
		return false;
	new = word_make(tag, false, tick, level);
	return __atomic_compare_exchange_n(bucket, &old, new, false,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) struct rrl_verdict
count_any(uint64_t *line, uint64_t hash, const struct rrl_step *step,
	uint32_t tick)
{
	struct rrl_verdict verdict = {false, false, false};

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t old, from, new;
		bool is_new;
		unsigned way = line_find(line, hash, tick, &old, &is_new);

		from = is_new ? word_make(hash & TAG_MASK, false, tick, 0)
			: old;
		new = word_count(from, step, tick, &verdict);
		/* A netblock far beyond its limit changes no word, so no other
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

struct rrl_verdict
rrl_count(const struct rrl *rrl, uint64_t hash, uint32_t limit, uint64_t now)
{
	uint64_t *line = rrl_line(rrl, hash);
	uint32_t tick = (uint32_t)now & TICK_MASK;

	uint64_t full;

	if (limit > RRL_LIMIT_MAX)
		limit = RRL_LIMIT_MAX;
	if (__builtin_expect(count_usual(line, hash, limit, tick), 1))
		return (struct rrl_verdict){false, false, false};
	full = (uint64_t)limit * SPAN * ONE;
	return count_any(line, hash, &(struct rrl_step){.add = ONE,
		.full = full, .calm = full - full / 8}, tick);
}

static uint64_t
amount_full(uint32_t limit)
{
	return (uint64_t)(limit < RRL_AMOUNT_MAX ? limit : RRL_AMOUNT_MAX)
		* SPAN;
}

struct rrl_verdict
rrl_spend(const struct rrl *rrl, uint64_t hash, uint32_t amount,
	uint32_t limit, uint64_t now)
{
	const uint64_t full = amount_full(limit);

	return count_any(rrl_line(rrl, hash), hash, &(struct rrl_step){
		.add = amount > 0 ? amount : 1, .full = full, .calm = full / 2},
		(uint32_t)now & TICK_MASK);
}

bool
rrl_is_spent(const struct rrl *rrl, uint64_t hash, uint32_t limit,
	uint64_t now)
{
	const uint64_t *line = rrl_line(rrl, hash);
	uint32_t tick = (uint32_t)now & TICK_MASK;

	for (unsigned i = 0; i < WAYS; i++) {
		uint64_t word = __atomic_load_n(
			&line[((hash >> TAG_BITS) + i) % WAYS],
			__ATOMIC_RELAXED);

		if (word_level(word) == 0)
			return false;
		if (word_tag(word) == (hash & TAG_MASK))
			return word_decay(word, tick, &tick)
				> amount_full(limit);
	}
	return false;
}
