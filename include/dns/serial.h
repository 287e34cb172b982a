/*
 * serial.h - serial numbers of zones, which wrap (RFC 1982).
 */
#ifndef DNS_SERIAL_H
#define DNS_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

/* RFC 1982 section 3.2: true if a comes after b. Two numbers that are half of
 * all apart are in no order: then neither comes after the other. */
static inline bool
serial_is_newer(uint32_t a, uint32_t b)
{
	return a != b && a - b < UINT32_C(1) << 31;
}

#endif
