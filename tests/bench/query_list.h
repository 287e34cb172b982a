/* query_list.h - queries from lines "NAME TYPE". All functions end the program
 * on failure. */
#ifndef BENCH_QUERY_LIST_H
#define BENCH_QUERY_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most octets of a query that is made here. */
#define QUERY_LIST_MAX 600

struct query_edns {
	uint16_t size; /* the UDP payload size; 0: no EDNS */
	bool dnssec;   /* the DO bit */
	bool cookie;   /* a cookie of the client (RFC 7873) */
};

/* Called for each line; name and type are lent during the call. */
typedef void query_list_line(void *ctx, const char *name, uint16_t type);

void query_list_read(const char *file, query_list_line *line, void *ctx);

/* Writes a query with the id 0, of QUERY_LIST_MAX octets at most, and sets the
 * length of its question. Returns the query's length. */
size_t query_list_write(uint8_t *at, const char *name, uint16_t type,
	const struct query_edns *edns, uint16_t *question_len);

#endif
