/*
 * swar.h - eight octets at a time in a 64-bit word: loads that do not overrun,
 * and masks of the octets that equal a value or are letters.
 *
 * The first octet of memory is the lowest of the word on every machine. So the
 * position of a set bit gives the position in the text.
 */
#ifndef DNS_SWAR_H
#define DNS_SWAR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"

#define SWAR_ONES UINT64_C(0x0101010101010101)
#define SWAR_LOW7 UINT64_C(0x7f7f7f7f7f7f7f7f)
#define SWAR_HIGH UINT64_C(0x8080808080808080)

static inline uint64_t
swar_load(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static inline void
swar_store(void *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	memcpy(p, &v, sizeof(v));
}

/* Loads 0..7 octets, with zeros above them; reads no octet behind them. */
static inline uint64_t
swar_load_part(const void *p, size_t len)
{
	const uint8_t *o = p;
	uint64_t v = 0;

	ASSERT_HOT(len < 8);
	if (len >= 4) {
		uint32_t low, high;

		memcpy(&low, o, sizeof(low));
		memcpy(&high, o + len - 4, sizeof(high));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		low = __builtin_bswap32(low);
		high = __builtin_bswap32(high);
#endif
		return low | (uint64_t)high << (8 * (len - 4));
	}
	if (len > 0) {
		v = o[0];
		v |= (uint64_t)o[len / 2] << (8 * (len / 2));
		v |= (uint64_t)o[len - 1] << (8 * (len - 1));
	}
	return v;
}

/* 0x80 in each octet of v that is zero; 0 in all others. */
static inline uint64_t
swar_zeros(uint64_t v)
{
	return ~(((v & SWAR_LOW7) + SWAR_LOW7) | v | SWAR_LOW7);
}

/* 0x80 in each octet of v that equals c; 0 in all others. */
static inline uint64_t
swar_equals(uint64_t v, uint8_t c)
{
	return swar_zeros(v ^ (SWAR_ONES * c));
}

/* 0x20 in each octet of v from first to last, which are ASCII letters. */
static inline uint64_t
swar_letters(uint64_t v, uint8_t first, uint8_t last)
{
	uint64_t low = v & SWAR_LOW7;
	uint64_t from = low + SWAR_ONES * (uint8_t)(0x80 - first);
	uint64_t past = low + SWAR_ONES * (uint8_t)(0x7f - last);

	return ((from & ~past & ~v) & SWAR_HIGH) >> 2;
}

static inline uint64_t
swar_lower(uint64_t v)
{
	return v | swar_letters(v, 'A', 'Z');
}

static inline uint64_t
swar_upper(uint64_t v)
{
	return v & ~swar_letters(v, 'a', 'z');
}

#endif
