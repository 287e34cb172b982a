/* queries.h - a zone made up, and queries for its names, for what measures the
 * query engine alone. All functions end the program on failure. */
#ifndef BENCH_QUERIES_H
#define BENCH_QUERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/name.h"
#include "query/query.h"
#include "store/writer.h"
#include "zone/table.h"

struct rrbatch;

#define QUERIES_REPLY_ROOM 2048

/* Says what, and why, and ends the program. */
void queries_fail(const char *what, enum nsd_err err);
/* CPU time of this process. */
double queries_cpu_sec(void);
/* The same numbers in each run. */
uint32_t queries_random_below(uint32_t n);
/* Returns the length of the name. */
size_t queries_parse_name(const char *text, uint8_t *name);

/* A record at the end of a list of batches, whose last one *batch is. */
void queries_add_record(struct rrbatch **batch, const char *owner,
	uint16_t type, const uint8_t *rdata, size_t rdlen);
/* SOA and NS. */
void queries_add_apex(struct rrbatch **batch, const char *apex);
/* "example.", like a TLD: of ten names six are delegations to a few hosters,
 * two have servers (with glue) below themselves, two are hosts. */
struct rrbatch *queries_generate_zone(unsigned names);
/* path: of the file that the batches are from, or NULL. */
store_ref queries_build_zone(struct store_writer *writer, const uint8_t *apex,
	const struct rrbatch *batches, const char *path);
/* Adds the zone to the table. */
void queries_serve(struct store_writer *writer, const uint8_t *apex,
	store_ref zone);

/* A list of names; all zeros is an empty one. */
struct queries_names {
	size_t count;
	size_t room;
	uint8_t (*names)[NAME_MAX_LEN];
};

/* Adds one of so many names of a zone. */
void queries_collect(const struct store_view *view,
	const struct zone_entry *entry, struct queries_names *n,
	unsigned one_in);

struct queries_request {
	uint8_t from[16]; /* the sender; queries_make: 0.0.0.0 */
	bool ip6;         /* from is an IPv6 address */
	uint16_t len;
	uint8_t octets[12 + NAME_MAX_LEN + 64 + 15];
};

/* The kinds of query, and a mix of all. */
enum queries_kind {
	QUERIES_EXISTING,
	QUERIES_ABSENT,
	QUERIES_BELOW,
	QUERIES_MIX,
	QUERIES_COUNT,
};

/* Asks for the address of a name, with DO or without EDNS. */
void queries_make(struct queries_request *r, const uint8_t *name,
	enum queries_kind kind, bool dnssec);
/* Answers whole batches, and returns the octets of the replies. */
uint64_t queries_answer(struct query_ctx *ctx, const struct store_view *view,
	const struct queries_request *requests, size_t count, size_t batch);

#endif
