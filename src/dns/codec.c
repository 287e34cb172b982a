/* codec.c - hexadecimal, base64 and base32hex, by tables or eight digits at a
 * time. */
#include <string.h>

#include "dns/codec.h"
#include "dns/swar.h"

/* The tables have the value of a digit with this bit set, and 0 for all other
 * characters. */
#define DIGIT 0x80u

#define D2(n) DIGIT | (n), DIGIT | ((n) + 1)
#define D4(n) D2(n), D2((n) + 2)
#define D8(n) D4(n), D4((n) + 4)
#define D10(n) D8(n), D2((n) + 8)
#define D16(n) D8(n), D8((n) + 8)
#define D22(n) D16(n), D4((n) + 16), D2((n) + 20)
#define D26(n) D16(n), D8((n) + 16), D2((n) + 24)
#define Z4 0, 0, 0, 0
#define Z16 Z4, Z4, Z4, Z4

static const uint8_t base64_digits[256] = {
	Z16, Z16,
	Z4, Z4, 0, 0, 0, DIGIT | 62, 0, 0, 0, DIGIT | 63,
	D10(52), 0, 0, 0, 0, 0, 0,
	0, D26(0), 0, 0, 0, 0, 0,
	0, D26(26), 0, 0, 0, 0, 0,
};

static const uint8_t base32hex_digits[256] = {
	Z16, Z16, Z16,
	D10(0), 0, 0, 0, 0, 0, 0,
	0, D22(10), 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, D22(10), 0, 0, 0, 0, 0, 0, 0, 0, 0,
};

static int
hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 0x80 in each octet of v that is first..last, both below 0x80. */
static inline uint64_t
octets_between(uint64_t v, uint8_t first, uint8_t last)
{
	uint64_t low = v & SWAR_LOW7;
	uint64_t from = low + SWAR_ONES * (uint8_t)(0x80 - first);
	uint64_t past = low + SWAR_ONES * (uint8_t)(0x7f - last);

	return from & ~past & ~v & SWAR_HIGH;
}

/* Decodes eight digits to four octets; false if one is no digit. */
static inline bool
hex_read_eight(const char *text, uint8_t *out)
{
	uint64_t v = swar_load(text);
	uint64_t digits = octets_between(v, '0', '9');
	uint64_t letters = octets_between(v | SWAR_ONES * 0x20, 'a', 'f');

	if ((digits | letters) != SWAR_HIGH)
		return false;
	v = (v & SWAR_ONES * 0x0f) + (letters >> 7) * 9;
	v = (v << 4 | v >> 8) & UINT64_C(0x00ff00ff00ff00ff);
	v = (v | v >> 8) & UINT64_C(0x0000ffff0000ffff);
	v = v | v >> 16;
	out[0] = (uint8_t)v;
	out[1] = (uint8_t)(v >> 8);
	out[2] = (uint8_t)(v >> 16);
	out[3] = (uint8_t)(v >> 24);
	return true;
}

bool
codec_read_hex(struct codec *c, const char *text, size_t len)
{
	size_t i = 0;

	while (i < len) {
		int value;

		if (c->digits == 0 && len - i >= 8 && c->room >= 4) {
			if (!hex_read_eight(text + i, c->out))
				return false;
			c->out += 4;
			c->room -= 4;
			i += 8;
			continue;
		}
		value = hex_value((uint8_t)text[i++]);
		if (value < 0)
			return false;
		c->bits = c->bits << 4 | (uint32_t)value;
		if (++c->digits < 2)
			continue;
		if (c->room == 0)
			return false;
		*c->out++ = (uint8_t)c->bits;
		c->room--;
		c->digits = 0;
	}
	return true;
}

/* Decodes four digits to 24 bits; UINT32_MAX if one is no digit. */
static inline uint32_t
base64_read_four(const uint8_t *text)
{
	uint32_t a = base64_digits[text[0]], b = base64_digits[text[1]];
	uint32_t c = base64_digits[text[2]], d = base64_digits[text[3]];

	if (!(a & b & c & d & DIGIT))
		return UINT32_MAX;
	return (a << 18 ^ b << 12 ^ c << 6 ^ d)
		^ (DIGIT << 18 ^ DIGIT << 12 ^ DIGIT << 6 ^ DIGIT);
}

static inline void
put_three(uint8_t *out, uint32_t bits)
{
	out[0] = (uint8_t)(bits >> 16);
	out[1] = (uint8_t)(bits >> 8);
	out[2] = (uint8_t)bits;
}

/*
 * Reads an '=' of the last group: two or three digits, then '=' to make four.
 * Bits that belong to no octet must be zero (RFC 4648 section 3.5).
 */
static bool
base64_read_padding(struct codec *c)
{
	if (c->padding == 0 && c->digits < 2)
		return false;
	c->padding++;
	if (c->digits + c->padding < 4)
		return true;
	if (c->digits == 3) {
		if (c->room < 2 || (c->bits & 3) != 0)
			return false;
		c->out[0] = (uint8_t)(c->bits >> 10);
		c->out[1] = (uint8_t)(c->bits >> 2);
	} else {
		if (c->room < 1 || (c->bits & 15) != 0)
			return false;
		c->out[0] = (uint8_t)(c->bits >> 4);
	}
	c->out += c->digits - 1;
	c->room -= c->digits - 1;
	c->digits = 0;
	return true;
}

static bool
base64_read_digit(struct codec *c, uint8_t digit)
{
	if (digit == '=')
		return (c->padding == 0 || c->digits != 0)
			&& base64_read_padding(c);
	if (c->padding != 0 || !(base64_digits[digit] & DIGIT))
		return false;
	c->bits = c->bits << 6 | (base64_digits[digit] ^ DIGIT);
	if (++c->digits < 4)
		return true;
	if (c->room < 3)
		return false;
	put_three(c->out, c->bits);
	c->out += 3;
	c->room -= 3;
	c->digits = 0;
	c->bits = 0;
	return true;
}

bool
codec_read_base64(struct codec *c, const char *text, size_t len)
{
	const uint8_t *at = (const uint8_t *)text, *end = at + len;

	while (at < end) {
		/* Padding ends a value: nothing may follow it. */
		if (c->padding != 0 && c->digits == 0)
			return false;
		if (c->digits == 0 && end - at >= 4 && c->room >= 3) {
			uint32_t bits = base64_read_four(at);

			if (bits != UINT32_MAX) {
				put_three(c->out, bits);
				c->out += 3;
				c->room -= 3;
				at += 4;
				continue;
			}
		}
		if (!base64_read_digit(c, *at++))
			return false;
	}
	return true;
}

size_t
codec_decode_base32hex(const char *text, size_t len, uint8_t *out,
	size_t room)
{
	/* Octets in 0..7 digits. No value ends in 1, 3 or 6 digits. */
	static const uint8_t octets_of[8] = { 0, 0, 1, 0, 2, 3, 0, 4 };
	size_t rest = len % 8, octets = len / 8 * 5 + octets_of[rest], i, k;

	if ((rest != 0 && octets_of[rest] == 0) || octets > room)
		return 0;
	for (i = 0; i < len; i += 8) {
		size_t digits = len - i < 8 ? rest : 8;
		size_t count = digits == 8 ? 5 : octets_of[rest];
		uint32_t all = DIGIT;
		uint64_t bits = 0;

		for (k = 0; k < digits; k++) {
			uint32_t d = base32hex_digits[(uint8_t)text[i + k]];

			all &= d;
			bits = bits << 5 | (d & 31);
		}
		if (all == 0)
			return 0;
		bits <<= 5 * (8 - digits);
		/* Bits that belong to no octet must be zero. */
		if ((bits & ((UINT64_C(1) << (40 - 8 * count)) - 1)) != 0)
			return 0;
		for (k = 0; k < count; k++)
			*out++ = (uint8_t)(bits >> (32 - 8 * k));
	}
	return octets;
}

size_t
codec_print_hex(const uint8_t *octets, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len; i++) {
		*out++ = digits[octets[i] >> 4];
		*out++ = digits[octets[i] & 15];
	}
	return 2 * len;
}

size_t
codec_print_base64(const uint8_t *octets, size_t len, char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = out;

	for (; len > 0; octets += 3) {
		uint32_t bits = (uint32_t)octets[0] << 16;

		if (len > 1)
			bits |= (uint32_t)octets[1] << 8;
		if (len > 2)
			bits |= octets[2];
		*at++ = digits[bits >> 18];
		*at++ = digits[bits >> 12 & 63];
		*at++ = len > 1 ? digits[bits >> 6 & 63] : '=';
		*at++ = len > 2 ? digits[bits & 63] : '=';
		len -= len < 3 ? len : 3;
	}
	return (size_t)(at - out);
}

size_t
codec_print_base32hex(const uint8_t *octets, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
	uint32_t bits = 0;
	unsigned have = 0;
	char *at = out;
	size_t i;

	for (i = 0; i < len; i++) {
		bits = bits << 8 | octets[i];
		for (have += 8; have >= 5; have -= 5)
			*at++ = digits[bits >> (have - 5) & 31];
	}
	if (have > 0)
		*at++ = digits[bits << (5 - have) & 31];
	return (size_t)(at - out);
}
