/*
 * scan.h - reads and prints numbers, addresses, times and strings, each of them
 * one word of presentation format. A function that reads returns false if the
 * word is not of its form or out of range; the result is then undefined.
 */
#ifndef DNS_SCAN_H
#define DNS_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a decimal number up to max, of up to 16 digits with leading zeros. An
 * error leaves *number untouched. */
static inline bool
scan_number(const char *text, size_t len, uint32_t max, uint32_t *number)
{
	uint64_t value = 0;
	size_t i;

	if (len - 1 > 15)
		return false;
	for (i = 0; i < len; i++) {
		unsigned digit = (unsigned)(uint8_t)text[i] - '0';

		if (digit > 9)
			return false;
		value = value * 10 + digit;
	}
	if (value > max)
		return false;
	*number = (uint32_t)value;
	return true;
}

bool scan_u64(const char *text, size_t len, uint64_t *number);

/* Reads YYYYMMDDHHMMSS, from 1900 on, or seconds since 1970
 * (RFC 4034 section 3.2). A time that 32 bits do not hold is taken modulo
 * 2^32, and *wraps is set; else it stays. */
bool scan_time(const char *text, size_t len, uint32_t *seconds, bool *wraps);
/* Prints 14 digits; no NUL. */
void scan_print_time(uint32_t seconds, char out[14]);

bool scan_ip4(const char *text, size_t len, uint8_t out[4]);
/* Reads the three forms of RFC 4291 section 2.2. */
bool scan_ip6(const char *text, size_t len, uint8_t out[16]);
/* Prints as RFC 5952 says; returns the length without the NUL. */
#define SCAN_IP6_MAX 48
size_t scan_print_ip6(const uint8_t octets[16], char out[SCAN_IP6_MAX]);

/* Prints 7 to 15 characters, no NUL; returns their count. */
size_t scan_print_ip4(const uint8_t octets[4], char *out);
/* Prints up to 20 digits, no NUL; returns the place behind them. */
char *scan_print_number(uint64_t value, char *out);

/*
 * Undoes \DDD and \X (RFC 1035 section 5.1). Returns the count of octets; -1 if
 * an escape is malformed or there is no room.
 */
ptrdiff_t scan_unescape(const char *text, size_t len, uint8_t *out,
	size_t room);

#endif
