/* scan.c - single words of presentation format. */
#include <string.h>

#include "dns/scan.h"
#include "dns/swar.h"
#include "dns/token.h"

bool
scan_u64(const char *text, size_t len, uint64_t *number)
{
	uint64_t value = 0;
	size_t i;

	if (len - 1 > 19)
		return false;
	for (i = 0; i < len; i++) {
		unsigned digit = (unsigned)(uint8_t)text[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(value, 10, &value)
			|| __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*number = value;
	return true;
}

static uint64_t
unit_seconds(char unit)
{
	switch (unit | 0x20) {
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return 3600;
	case 'd':
		return 86400;
	case 'w':
		return 7 * 86400;
	}
	return 0;
}

bool
token_parse_period(const char *text, size_t len, uint32_t *seconds)
{
	uint64_t sum = 0, number = 0;
	bool has_digits = false;
	size_t i;

	if (scan_number(text, len, UINT32_MAX, seconds))
		return true;
	for (i = 0; i < len; i++) {
		unsigned digit = (unsigned)(uint8_t)text[i] - '0';

		if (digit <= 9) {
			number = number * 10 + digit;
			has_digits = true;
		} else {
			uint64_t unit = unit_seconds(text[i]);

			if (unit == 0 || !has_digits)
				return false;
			sum += number * unit;
			number = 0;
			has_digits = false;
		}
		if (number > UINT32_MAX || sum > UINT32_MAX)
			return false;
	}
	sum += number;
	if (len == 0 || sum > UINT32_MAX)
		return false;
	*seconds = (uint32_t)sum;
	return true;
}

/* The number of count digits at text; UINT32_MAX if one is no digit. */
static inline uint32_t
read_digits(const char *text, unsigned count)
{
	uint32_t value = 0;

	while (count-- > 0) {
		unsigned digit = (unsigned)(uint8_t)*text++ - '0';

		if (digit > 9)
			return UINT32_MAX;
		value = value * 10 + digit;
	}
	return value;
}

static const uint16_t days_before[13] = { 0, 31, 59, 90, 120, 151, 181, 212,
	243, 273, 304, 334, 365 };

static inline bool
is_leap_year(uint32_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days from 1 January 1970 to 1 January of the year, modulo 2^32 for a year
 * before. */
static inline uint32_t
days_to_year(uint32_t year)
{
	uint32_t y = year - 1;

	return 365 * (year - 1970) + (y / 4 - y / 100 + y / 400)
		- (1969 / 4 - 1969 / 100 + 1969 / 400);
}

bool
scan_time(const char *text, size_t len, uint32_t *seconds, bool *wraps)
{
	uint32_t year, month, day, hour, minute, second, days;
	uint64_t sum;

	if (len != 14)
		return len <= 10
			&& scan_number(text, len, UINT32_MAX, seconds);
	year = read_digits(text, 4);
	month = read_digits(text + 4, 2) - 1;
	day = read_digits(text + 6, 2) - 1;
	hour = read_digits(text + 8, 2);
	minute = read_digits(text + 10, 2);
	second = read_digits(text + 12, 2);
	/* A leap second is the next minute's first. */
	if (year < 1900 || year > 9999 || month > 11 || hour > 23
		|| minute > 59 || second > 60)
		return false;
	days = days_before[month + 1] - days_before[month];
	if (month == 1 && is_leap_year(year))
		days++;
	if (day >= days)
		return false;
	days = days_to_year(year) + days_before[month] + day;
	if (month > 1 && is_leap_year(year))
		days++;
	/* 32 bits end in 2106. */
	sum = (uint64_t)days * 86400 + hour * 3600 + minute * 60 + second;
	if (sum > UINT32_MAX)
		*wraps = true;
	*seconds = (uint32_t)sum;
	return true;
}

static void
put_digits(char *out, uint32_t value, unsigned count)
{
	while (count-- > 0) {
		out[count] = (char)('0' + value % 10);
		value /= 10;
	}
}

void
scan_print_time(uint32_t seconds, char out[14])
{
	uint32_t days = seconds / 86400, rest = seconds % 86400;
	uint32_t year = 1970 + days / 366, month = 1;

	while (days_to_year(year + 1) <= days)
		year++;
	days -= days_to_year(year);
	for (; month < 12; month++) {
		uint32_t before = days_before[month];

		if (month > 1 && is_leap_year(year))
			before++;
		if (before > days)
			break;
	}
	days -= days_before[month - 1];
	if (month > 2 && is_leap_year(year))
		days--;
	put_digits(out, year, 4);
	put_digits(out + 4, month, 2);
	put_digits(out + 6, days + 1, 2);
	put_digits(out + 8, rest / 3600, 2);
	put_digits(out + 10, rest / 60 % 60, 2);
	put_digits(out + 12, rest % 60, 2);
}

static inline uint32_t
load_four(const char *text)
{
	uint32_t v;

	memcpy(&v, text, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap32(v);
#endif
	return v;
}

/* Reads a decimal octet. Its one to three digits are on top of the word. */
static inline uint32_t
read_ip4_octet(uint32_t word, unsigned len)
{
	unsigned above = 8 * (4 - len);
	uint32_t digits = (word ^ 0x30303030u) & UINT32_MAX << above;

	if (((digits + 0x76767676u) | digits) & 0x80808080u)
		return UINT32_MAX;
	/* No leading zero: 010 is 8 to some readers and 10 to others. */
	if (len > 1 && (digits >> above & 0xff) == 0)
		return UINT32_MAX;
	return (digits >> 24) + 10 * (digits >> 16 & 0xff)
		+ 100 * (digits >> 8 & 0xff);
}

/* A bit for each dot in a text of 7 to 15 octets. */
static inline unsigned
find_dots(const char *text, size_t len)
{
	uint64_t low, high = 0;

	if (len >= 8) {
		low = swar_load(text);
		if (len > 8)
			high = swar_load(text + len - 8) >> (8 * (16 - len));
	} else {
		low = swar_load_part(text, len);
	}
	/* The multiplication gathers the bits, one from each octet. */
	low = (swar_equals(low, '.') >> 7) * UINT64_C(0x0102040810204080);
	high = (swar_equals(high, '.') >> 7) * UINT64_C(0x0102040810204080);
	return (unsigned)(low >> 56) | (unsigned)(high >> 56) << 8;
}

/*
 * No octet waits for the one before, and no branch depends on the count of
 * digits: addresses differ too much for branches to be predicted. The first two
 * octets are loaded from their front and the last two from their end: there are
 * always four characters to load.
 */
bool
scan_ip4(const char *text, size_t len, uint8_t out[4])
{
	unsigned first, second, third, a, b, c, d;
	uint32_t value[4];

	if (len < 7 || len > 15)
		return false;
	first = find_dots(text, len);
	second = first & (first - 1);
	third = second & (second - 1);
	if (third == 0 || (third & (third - 1)) != 0)
		return false;
	first = (unsigned)__builtin_ctz(first);
	second = (unsigned)__builtin_ctz(second);
	third = (unsigned)__builtin_ctz(third);
	a = first;
	b = second - first - 1;
	c = third - second - 1;
	d = (unsigned)len - third - 1;
	if (a - 1 > 2 || b - 1 > 2 || c - 1 > 2 || d - 1 > 2)
		return false;
	value[0] = read_ip4_octet(load_four(text) << 8 * (4 - a), a);
	value[1] = read_ip4_octet(load_four(text + first + 1) << 8 * (4 - b),
		b);
	value[2] = read_ip4_octet(load_four(text + third - 4), c);
	value[3] = read_ip4_octet(load_four(text + len - 4), d);
	if ((value[0] | value[1] | value[2] | value[3]) > 255)
		return false;
	out[0] = (uint8_t)value[0];
	out[1] = (uint8_t)value[1];
	out[2] = (uint8_t)value[2];
	out[3] = (uint8_t)value[3];
	return true;
}

static inline unsigned
read_hex_digit(uint8_t c)
{
	unsigned digit = c - (unsigned)'0';

	if (digit <= 9)
		return digit;
	digit = (c | 0x20u) - 'a';
	return digit <= 5 ? digit + 10 : 16;
}

/* Moves the octets behind the "::" to the end and puts zeros between. */
static void
gap_spread(uint8_t out[16], size_t gap, size_t len)
{
	size_t tail = len - gap;

	memmove(out + 16 - tail, out + gap, tail);
	memset(out + gap, 0, 16 - len);
}

bool
scan_ip6(const char *text, size_t len, uint8_t out[16])
{
	size_t i = 0, at = 0, gap = 17;

	if (len < 2)
		return false;
	if (text[0] == ':') {
		if (text[1] != ':')
			return false;
		gap = 0;
		i = 2;
	}
	while (i < len) {
		size_t start = i;
		unsigned value = 0, digit = 16;

		while (i < len && i - start < 4
			&& (digit = read_hex_digit((uint8_t)text[i])) < 16) {
			value = value << 4 | digit;
			i++;
		}
		if (i < len && text[i] == '.') {
			/* The last 32 bits as an IPv4 address. */
			if (at > 12 || !scan_ip4(text + start, len - start,
				out + at))
				return false;
			at += 4;
			break;
		}
		if (i == start || at > 14)
			return false;
		out[at++] = (uint8_t)(value >> 8);
		out[at++] = (uint8_t)value;
		if (i == len)
			break;
		if (text[i] != ':' || ++i == len)
			return false;
		if (text[i] == ':') {
			if (gap <= 16)
				return false;
			gap = at;
			i++;
		}
	}
	if (gap > 16)
		return at == 16;
	if (at > 14)
		return false;
	gap_spread(out, gap, at);
	return true;
}

/* Prints a group of 16 bits without leading zeros. */
static char *
print_group(unsigned value, char *out)
{
	static const char digits[] = "0123456789abcdef";
	int shift = value > 0xfff ? 12 : value > 0xff ? 8 : value > 0xf ? 4 : 0;

	for (; shift >= 0; shift -= 4)
		*out++ = digits[value >> shift & 15];
	return out;
}

char *
scan_print_number(uint64_t value, char *out)
{
	char digits[20];
	unsigned count = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	while (count > 0)
		*out++ = digits[--count];
	return out;
}

size_t
scan_print_ip4(const uint8_t octets[4], char *out)
{
	char *at = out;
	int i;

	for (i = 0; i < 4; i++) {
		if (i > 0)
			*at++ = '.';
		at = scan_print_number(octets[i], at);
	}
	return (size_t)(at - out);
}

size_t
scan_print_ip6(const uint8_t octets[16], char out[SCAN_IP6_MAX])
{
	unsigned i, run = 0, best = 8, best_len = 1;
	char *at = out;

	/* The longest run of two or more zero groups, the first of equals. */
	for (i = 0; i < 8; i++) {
		run = (octets[2 * i] | octets[2 * i + 1]) == 0 ? run + 1 : 0;
		if (run > best_len) {
			best_len = run;
			best = i + 1 - run;
		}
	}
	for (i = 0; i < 8; i++) {
		if (i == best) {
			*at++ = ':';
			if (best + best_len == 8)
				*at++ = ':';
			i += best_len - 1;
			continue;
		}
		if (i > 0)
			*at++ = ':';
		/* RFC 5952 section 5: ::192.0.2.1 and ::ffff:192.0.2.1 */
		if (i == 6 && best == 0 && (best_len == 6
			|| (best_len == 5 && octets[10] == 0xff
				&& octets[11] == 0xff))) {
			at += scan_print_ip4(octets + 12, at);
			break;
		}
		at = print_group((unsigned)octets[2 * i] << 8
			| octets[2 * i + 1], at);
	}
	*at = '\0';
	return (size_t)(at - out);
}

ptrdiff_t
scan_unescape(const char *text, size_t len, uint8_t *out, size_t room)
{
	size_t i = 0, at = 0;

	while (i < len) {
		unsigned octet = (uint8_t)text[i++];

		if (at >= room)
			return -1;
		if (octet == '\\') {
			if (i >= len)
				return -1;
			octet = (uint8_t)text[i++];
			if (octet - '0' <= 9) {
				if (len - i < 2)
					return -1;
				octet = read_digits(text + i - 1, 3);
				if (octet > 255)
					return -1;
				i += 2;
			}
		}
		out[at++] = (uint8_t)octet;
	}
	return (ptrdiff_t)at;
}
