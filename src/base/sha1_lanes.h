/*
 * sha1_lanes.h - SHA-1 with a message in each 32-bit lane of vectors. A file
 * that has chosen the vectors includes it, after it has defined:
 *
 *   VECTOR, LANES, TARGET, INLINE
 *   add, exclusive_or, xor_three, sha_choose (x ? y : z), sha_majority,
 *     rotate_left: on lanes
 *   fill_words(word): the word in each lane
 *   load_quads(at, offset): 16 octets of messages 0, 4, 8 and so on, one
 *     behind the other
 *   to_native: octets to words; unpack32_low and so on: within 128 bits
 *   keep_words(counts, block, new, old): new in lanes whose count is above
 *     block
 *   store_words(words, vector)
 */

/* Two, so that one works while the other waits for its last round. */
#define VECTORS_MAX 2u

struct lanes {
	VECTOR h[SHA1_WORDS];
	VECTOR w[SHA1_BLOCK_WORDS];
};

INLINE VECTOR
mix(VECTOR b, VECTOR c, VECTOR d, unsigned t)
{
	switch (t / 20) {
	case 0:
		return sha_choose(b, c, d);
	case 2:
		return sha_majority(b, c, d);
	default:
		return xor_three(b, c, d);
	}
}

INLINE uint32_t
constant(unsigned t)
{
	static const uint32_t k[4] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc,
		0xca62c1d6 };

	return k[t / 20];
}

/* Does round t. s holds A to E, whose places move by one with each round. */
INLINE void
do_round(VECTOR *s, VECTOR *w, unsigned t)
{
	VECTOR *a = &s[(80 - t) % 5], *b = &s[(81 - t) % 5];
	VECTOR *c = &s[(82 - t) % 5], *d = &s[(83 - t) % 5];
	VECTOR *e = &s[(84 - t) % 5];
	VECTOR x;

	if (t >= 16)
		w[t % 16] = rotate_left(exclusive_or(w[t % 16],
			xor_three(w[(t + 2) % 16], w[(t + 8) % 16],
			w[(t + 13) % 16])), 1);
	x = add(*e, add(w[t % 16], fill_words(constant(t))));
	x = add(x, mix(*b, *c, *d, t));
	/* A is known last. The compiler must not add it earlier. */
	__asm__("" : "+v"(x));
	*e = add(x, rotate_left(*a, 5));
	*b = rotate_left(*b, 30);
}

/*
 * Hashes one block, which is in w of each vector. The words stay in memory and
 * the rounds load them from there. There are too few registers for them: a
 * compiler that tries to hold them all spills the state, and every round waits
 * for the state.
 */
INLINE void
do_rounds(struct lanes *l, unsigned vectors)
{
	VECTOR s[VECTORS_MAX][SHA1_WORDS];
	VECTOR *first = l[0].w, *second = l[vectors - 1].w;
	unsigned t, i, v;

	__asm__("" : "+r"(first), "+r"(second) : : "memory");
	SHA1_UNROLL
	for (v = 0; v < vectors; v++)
		SHA1_UNROLL
		for (i = 0; i < SHA1_WORDS; i++)
			s[v][i] = l[v].h[i];
	SHA1_UNROLL
	for (t = 0; t < 80; t++) {
		do_round(s[0], first, t);
		if (vectors == 2)
			do_round(s[1], second, t);
	}
	SHA1_UNROLL
	for (v = 0; v < vectors; v++)
		SHA1_UNROLL
		for (i = 0; i < SHA1_WORDS; i++)
			l[v].h[i] = add(l[v].h[i], s[v][i]);
}

/* Not inlined, as the code is long. */
TARGET static __attribute__((noinline)) void
compress_one(struct lanes *l)
{
	do_rounds(l, 1);
}

TARGET static __attribute__((noinline)) void
compress_two(struct lanes *l)
{
	do_rounds(l, 2);
}

INLINE void
compress(struct lanes *l, unsigned vectors)
{
	if (vectors == 2)
		compress_two(l);
	else
		compress_one(l);
}

INLINE void
start(struct lanes *l)
{
	l->h[0] = fill_words(SHA1_H0);
	l->h[1] = fill_words(SHA1_H1);
	l->h[2] = fill_words(SHA1_H2);
	l->h[3] = fill_words(SHA1_H3);
	l->h[4] = fill_words(SHA1_H4);
}

/* Loads four words of each message, from the offset on; transposes 4 by 4
 * within 128 bits. */
INLINE void
load_words(VECTOR *w, const uint8_t *const *at, size_t offset)
{
	VECTOR a = load_quads(at, offset), b = load_quads(at + 1, offset);
	VECTOR c = load_quads(at + 2, offset), d = load_quads(at + 3, offset);
	VECTOR ab = unpack32_low(a, b), cd = unpack32_low(c, d);

	w[0] = to_native(unpack64_low(ab, cd));
	w[1] = to_native(unpack64_high(ab, cd));
	ab = unpack32_high(a, b);
	cd = unpack32_high(c, d);
	w[2] = to_native(unpack64_low(ab, cd));
	w[3] = to_native(unpack64_high(ab, cd));
}

/* The first hash. Messages have any number of blocks, not all the same. */
INLINE void
hash_messages(struct lanes *l, const struct sha1_message *m, size_t count)
{
	const uint8_t *at[LANES];
	uint32_t counts[LANES], most = 0, block;
	VECTOR old[SHA1_WORDS];
	unsigned i;

	for (i = 0; i < LANES; i++) {
		const struct sha1_message *from = &m[i < count ? i : 0];

		at[i] = from->blocks;
		counts[i] = from->block_count;
		if (counts[i] > most)
			most = counts[i];
	}
	start(l);
	for (block = 0; block < most; block++) {
		for (i = 0; i < SHA1_BLOCK_WORDS; i += 4)
			load_words(l->w + i, at, (size_t)4 * i);
		for (i = 0; i < SHA1_WORDS; i++)
			old[i] = l->h[i];
		compress(l, 1);
		for (i = 0; block > 0 && i < SHA1_WORDS; i++)
			l->h[i] = keep_words(counts, block, l->h[i], old[i]);
		/* A message that has ended stays at its last block. */
		for (i = 0; i < LANES; i++)
			if (block + 1 < counts[i])
				at[i] += SHA1_BLOCK;
	}
}

/* Hashes the digests, each followed by the suffix. */
INLINE void
hash_suffix(struct lanes *l, unsigned vectors, const struct sha1_suffix *suffix)
{
	const uint32_t *words = suffix->words;
	unsigned i, v;
	uint32_t block;

	for (v = 0; v < vectors; v++) {
		for (i = 0; i < SHA1_WORDS; i++)
			l[v].w[i] = l[v].h[i];
		for (; i < SHA1_BLOCK_WORDS; i++)
			l[v].w[i] = fill_words(words[i]);
		start(&l[v]);
	}
	compress(l, vectors);
	for (block = 1; block < suffix->block_count; block++) {
		words += SHA1_BLOCK_WORDS;
		for (v = 0; v < vectors; v++)
			for (i = 0; i < SHA1_BLOCK_WORDS; i++)
				l[v].w[i] = fill_words(words[i]);
		compress(l, vectors);
	}
}

INLINE void
hash_lanes(struct sha1_message *m, size_t count, unsigned vectors,
	const struct sha1_suffix *suffix, unsigned repeat)
{
	struct lanes l[VECTORS_MAX];
	uint32_t words[SHA1_WORDS][LANES];
	unsigned i, v;
	size_t k;

	for (v = 0; v < vectors; v++) {
		k = (size_t)LANES * v;
		if (k < count)
			hash_messages(&l[v], m + k, count - k);
		else
			hash_messages(&l[v], m, 1); /* lanes not needed */
	}
	for (; repeat > 0; repeat--)
		hash_suffix(l, vectors, suffix);
	for (k = 0; k < count; k++) {
		if (k % LANES == 0)
			for (i = 0; i < SHA1_WORDS; i++)
				store_words(words[i], l[k / LANES].h[i]);
		for (i = 0; i < SHA1_WORDS; i++)
			m[k].digest[i] = words[i][k % LANES];
	}
}
