/*
 * rdata_rows.h - the rows of data/rrtypes.txt, and RDATA made from text and
 * hexadecimal. What fails here fails the test that calls it (cmocka).
 */
#ifndef TESTS_LIB_RDATA_ROWS_H
#define TESTS_LIB_RDATA_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "dns/rdata.h"

#define ROWS_TEXT_MAX (4 * RDATA_MAX_LEN + 1024)

/* A row of the file; the strings are valid until rows_close. */
struct rdata_row {
	unsigned line;
	char kind; /* 'k': fine, '!': refused, '?': a value breaks a rule,
		    * '~': a doubt */
	uint16_t type;
	const char *text, *third, *fourth; /* columns */
};

/* Reads the rows; returns their count. */
size_t rows_open(const struct rdata_row **rows);
void rows_close(void);

/* Parses text of a type, relative names under example.com. Each token is an
 * exact copy, so that a sanitizer sees a read past its end. */
enum nsd_err rows_parse(uint16_t type, const char *text,
	uint8_t *rdata, size_t *len, struct rdata_error *error);

/* Octets from hexadecimal, "-" or "" for none; returns their count. */
size_t rows_hex(const char *hex, uint8_t *octets);

/*
 * rdata_check on an exact copy. The octets are printed on the way, into
 * rows_printed.
 */
enum nsd_err rows_check(uint16_t type, const uint8_t *wire, size_t len);
extern char rows_printed[ROWS_TEXT_MAX];

static inline int
rows_sign(int order)
{
	return (order > 0) - (order < 0);
}

#endif
