/*
 * line.h - a line of the query log, made of a record (doc/dnstap.md).
 *
 * A line has the fields of a format (dns/log_field.h) in its order: as words
 * with a blank between them, where a field without a value is "-"; or as a JSON
 * object, where it is null. Octets of names other than letters, digits and some
 * marks are written as RFC 1035 section 5.1 has them, \DDD. So whatever octets
 * clients send, a line has its fields and one end, and is ASCII that can be
 * printed.
 *
 * Pure: no clock, no files, no memory of its own.
 */
#ifndef TAP_LINE_H
#define TAP_LINE_H

#include <stddef.h>

#include "dns/log_field.h"
#include "tap/ring.h"

/* The longest line: two names of 255 octets, five characters for each, and what
 * other fields come to. */
#define TAP_LINE_MAX 4096u

/*
 * Prints a line with its '\n', and no NUL. Borrows both; the octets of the
 * record's messages may be any.
 * Returns its length, 1..TAP_LINE_MAX. Cost: linear in the octets of the
 * messages, at most.
 */
size_t tap_line_print(const struct tap_record *record,
	const struct log_format *format, char out[TAP_LINE_MAX]);

#endif
