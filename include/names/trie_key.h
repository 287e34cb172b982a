/*
 * trie_key.h - keys and entries of the trie; for trie*.c and mark.c only.
 *
 * The key of a name is its labels from the last to the first. Each octet is one
 * or two symbols. A symbol 0 closes each label, and one more 0 the key. So keys
 * compare as names do in canonical order, and no key is a prefix of another.
 * An ancestor's key has its last 0 where the keys of the names below it begin
 * another label.
 *
 *   mail.a1.example.    in the zone example.:   a 1 0 m a i l 0 0
 *                                               ^     ^         ^
 * TRIE_KEY_START marks each place where a label begins or could begin (^).
 */
#ifndef NAMES_TRIE_KEY_H
#define NAMES_TRIE_KEY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "dns/name.h"
#include "names/trie.h"
#include "store/store.h"

#define TRIE_SYMBOLS 48u
#define TRIE_KEY_START 0x80u
#define TRIE_KEY_SYMBOL 0x3fu
/* Room for a key and the octets that trie_key_diff reads behind its end. */
#define TRIE_KEY_ROOM (TRIE_KEY_MAX + 8)

extern const uint16_t trie_symbols[256];

/* Writes the key of a name. key has room for TRIE_KEY_MAX octets. returns its
 * length, at most 506. */
static inline __attribute__((always_inline)) unsigned
trie_key_make(const struct trie_name *name, uint8_t *key)
{
	uint8_t *k = key;

	for (unsigned i = name->count; i-- > 0;) {
		const uint8_t *p = name->labels + name->label_at[i];
		const uint8_t *end = p + 1 + *p;
		uint8_t *start = k;

		for (p++; p < end; p++) {
			unsigned symbol = trie_symbols[*p];
			unsigned both = symbol & 0x3fff;

			k[0] = (uint8_t)both;
			k[1] = (uint8_t)(both >> 8);
			k += 1 + (symbol >> 15);
		}
		*start |= TRIE_KEY_START;
		*k++ = 0;
	}
	*k++ = TRIE_KEY_START;
	return (unsigned)(k - key);
}

/* Writes the key of a leaf's name. returns its length. */
unsigned trie_key_of_leaf(const struct trie_leaf *leaf,
	uint8_t key[TRIE_KEY_ROOM]);

/* The first place where two keys differ; their length if they are equal. Both
 * have room for TRIE_KEY_ROOM octets. */
unsigned trie_key_diff(const uint8_t *a, unsigned a_len, const uint8_t *b,
	unsigned b_len);

/* Index of the first octet in memory that is not 0; x is not 0. */
static inline unsigned
trie_first_octet(uint64_t x)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return (unsigned)__builtin_ctzll(x) / 8;
#else
	return (unsigned)__builtin_clzll(x) / 8;
#endif
}

/*
 * The first 8 octets of an entry, as one integer:
 *
 *   bit  0        1: branch, 0: leaf
 *   bits 1 to 48  symbols that are present, 0 first
 *   bits 49 to 57 offset in the key of the symbol to look at
 */
#define TRIE_BRANCH UINT64_C(1)
#define TRIE_BITMAP_SHIFT 1
#define TRIE_BITMAP ((UINT64_C(1) << 49) - 2)
#define TRIE_OFFSET_SHIFT 49

static inline uint64_t
entry_word(const struct trie_entry *entry)
{
	uint64_t word;

	memcpy(&word, entry->word, sizeof(word));
	return word;
}

static inline struct trie_entry
entry_make(uint64_t word, store_ref ref)
{
	struct trie_entry entry;

	memcpy(entry.word, &word, sizeof(word));
	entry.word[2] = ref;
	return entry;
}

static inline bool
word_is_branch(uint64_t word)
{
	return (word & TRIE_BRANCH) != 0;
}

/* An empty trie is a leaf that leads nowhere. */
static inline bool
trie_is_empty(const struct trie *trie)
{
	return !word_is_branch(entry_word(&trie->root))
		&& trie->root.word[2] == STORE_NONE;
}

static inline unsigned
word_offset(uint64_t word)
{
	return (unsigned)(word >> TRIE_OFFSET_SHIFT);
}

/* key: with or without TRIE_KEY_START. */
static inline uint64_t
symbol_bit(unsigned key)
{
	return UINT64_C(2) << (key & TRIE_KEY_SYMBOL);
}

/* The count of symbols of a branch that are less than the symbol of bit: the
 * index of its entry. */
static inline unsigned
word_index(uint64_t word, uint64_t bit)
{
	return (unsigned)__builtin_popcountll(word & (bit - 1) & TRIE_BITMAP);
}

static inline unsigned
word_count(uint64_t word)
{
	return (unsigned)__builtin_popcountll(word & TRIE_BITMAP);
}

/* Octets of the entries of a branch. */
static inline uint32_t
branch_size(uint64_t word)
{
	return (uint32_t)(word_count(word) * sizeof(struct trie_entry));
}

static inline const struct trie_entry *
entry_children(const struct store_view *view, const struct trie_entry *entry)
{
	return store_get(view, entry->word[2]);
}

static inline const struct trie_leaf *
entry_leaf(const struct store_view *view, const struct trie_entry *entry)
{
	return store_get(view, entry->word[2]);
}

/*
 * Goes down as far as the key leads, then along first children to a leaf. No
 * name in the trie shares more of the key than this leaf. root must not be
 * empty.
 */
void trie_path_find(struct trie_path *path, const struct store_view *view,
	const struct trie_entry *root, const uint8_t *key, unsigned key_len);

#endif
