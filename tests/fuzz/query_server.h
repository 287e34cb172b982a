/*
 * query_server.h - the server of fuzz_query, fuzz_net and fuzz_udp: zones,
 * keys, lists, limits and secrets of cookies, as a real server has them, and
 * changes of these.
 */
#ifndef TESTS_FUZZ_QUERY_SERVER_H
#define TESTS_FUZZ_QUERY_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/counters.h"
#include "dns/tsig.h"
#include "guard/cookie.h"
#include "guard/rrl.h"
#include "lib/zone_fixture.h"
#include "query/query.h"

#define SERVER_KEYS 3u  /* in nsd.conf, at most */
#define SERVER_ZONES 7u
#define SERVER_NOW 1700000000u
#define SERVER_BUCKETS 64u
#define SERVER_GROUPS 4u

/* The published settings. keys: a bit for each key that exists; fresh: a bit
 * for each that has its second secret. */
struct server_settings {
	uint8_t keys, fresh;
	uint8_t how, more; /* options, by their bits */
};

struct server {
	struct zone_fixture zones;
	store_ref entries[SERVER_ZONES];
	unsigned zone_count;
	struct store_reader *reader;
	struct query_ctx *ctx;
	struct counters counters;
	struct counters_block block;
	struct key_store *key_store;
	struct key_handle places[SERVER_KEYS][2];
	struct rrl limits;
	struct cookie_share cookies;
	struct server_settings now;
	bool is_changed; /* zones are not as they were */
	uint64_t now_sec, now_msec;
};

/* The names and secrets of keys: of each the first and the second secret, then
 * those of a key that no server has. */
extern const struct mutate_dns server_dns;

/* only_one: one zone alone. */
void server_init(struct server *s, bool only_one);

/* Makes all as it was before the last input, with settings and a context that
 * has answered nothing. */
void server_begin(struct server *s, const struct server_settings *settings,
	unsigned cname_max);
void server_end(struct server *s);

/* Changes something, by any octets. */
void server_change(struct server *s, uint8_t what, const uint8_t *data,
	size_t len);

/* A reply is whole: all records and names can be read, and nothing is behind
 * them. */
void server_check_message(const uint8_t *reply, size_t len);

/* Does a key that is published now have signed a request so that a reply may be
 * signed? If so, begins *chain and has the request checked. */
bool server_has_signed(const struct server *s, const uint8_t *request,
	size_t len, struct tsig_chain *chain);

/* The offset of the last record of the additional section, if it is a TSIG at
 * the end; 0: it is not. */
size_t server_find_tsig(const uint8_t *message, size_t len);

#endif
