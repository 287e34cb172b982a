/*
 * scan.h - numbers, addresses, times and strings of presentation format, one
 * word each. Each returns false if the word is not what it reads.
 */
#ifndef DNS_SCAN_H
#define DNS_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number up to max; leading zeros are fine. */
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

/* Seconds, or "1w2d3h4m5s" (any order, any case); 1h30 is 3630. */
bool scan_period(const char *text, size_t len, uint32_t *seconds);

/* YYYYMMDDHHMMSS or seconds since 1970 (RFC 4034 section 3.2). */
bool scan_time(const char *text, size_t len, uint32_t *seconds);
/* Prints 14 digits; no NUL. */
void scan_print_time(uint32_t seconds, char out[14]);

bool scan_ip4(const char *text, size_t len, uint8_t out[4]);
/* RFC 4291 section 2.2, its three forms. */
bool scan_ip6(const char *text, size_t len, uint8_t out[16]);
/* RFC 5952; returns the length without the NUL. */
#define SCAN_IP6_MAX 48
size_t scan_print_ip6(const uint8_t octets[16], char out[SCAN_IP6_MAX]);

/* 7 to 15 characters, no NUL. */
size_t scan_print_ip4(const uint8_t octets[4], char *out);
/* Up to 20 digits, no NUL; returns the place behind them. */
char *scan_print_number(uint64_t value, char *out);

/*
 * Undoes \DDD and \X (RFC 1035 section 5.1). Returns the octets, or -1 if an
 * escape is malformed or there is no room.
 */
ptrdiff_t scan_unescape(const char *text, size_t len, uint8_t *out,
	size_t room);

#endif
