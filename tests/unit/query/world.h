/*
 * world.h - for tests: zones from text that the query layer serves, and the
 * same zones as plain lists of records, for the reference to search.
 */
#ifndef TESTS_QUERY_WORLD_H
#define TESTS_QUERY_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "dns/edns.h"
#include "dns/message.h"
#include "dns/name.h"
#include "dns/rrtype.h"
#include "query/query.h"
#include "store/store.h"
#include "zone/zone.h"
#include "zonedb/settings_edit.h"

struct store_writer;

#define WORLD_ZONES_MAX 4
#define WORLD_RDATA_MAX 512
#define WORLD_REPLY_MAX 65535

struct world_rr {
	uint8_t owner[NAME_MAX_LEN];
	uint16_t type;
	uint16_t rrclass;
	uint32_t ttl_sec;
	uint16_t rdlen;
	uint32_t sum; /* of type and RDATA, in a list */
	uint8_t rdata[WORLD_RDATA_MAX]; /* names in full, as in the zone */
};

struct world_rrs {
	size_t count, room;
	struct world_rr *rrs;
};

struct world_zone {
	uint8_t apex[NAME_MAX_LEN];
	struct world_rrs records;
	bool not_loaded; /* configured, but has no data */
	uint32_t flags;  /* enum zone_entry_flags */
	uint32_t expires_sec;
	const struct acl_element *query_acl;
	uint32_t query_acl_count;
	const struct acl_element *provide_acl;
	uint32_t provide_acl_count;
	store_ref entry;
};

struct world {
	struct settings_setup options; /* set before world_start */
	struct query_options query_options;
	size_t zone_count;
	struct world_zone zones[WORLD_ZONES_MAX];
	struct store *store;
	struct store_writer *writer;
	struct query_ctx *ctx;
	struct counters counters;
};

/* Makes an empty world with the defaults of doc/surface.md. */
void world_init(struct world *w);
void world_fini(struct world *w);

/*
 * Adds a zone; call before world_start. Records are lines of "owner TTL TYPE
 * rdata", all names absolute, types A AAAA NS CNAME DNAME PTR MX SOA TXT DS
 * SRV HTTPS SVCB DNSKEY (without rdata) and RRSIG (with the covered type and
 * the signer alone).
 */
struct world_zone *world_add_zone(struct world *w, const char *apex,
	const char *text);
void world_add_record(struct world_zone *zone, const char *line);
/* Adds count records, with their number for each %u of the line, at most
 * two. */
void world_add_many(struct world_zone *zone, const char *format,
	unsigned count);
/* Adds what the zone "z." needs at least. */
void world_add_apex(struct world_zone *zone);
void world_parse_record(const char *line, struct world_rr *rr);

/* Builds the zones and publishes them. Fails the test if one is refused. */
void world_start(struct world *w);

/* Finds a record by owner and type (0: any type). NULL: there is none. */
const struct world_rr *world_find(const struct world_zone *zone,
	const uint8_t *owner, uint16_t type);

void rrs_add(struct world_rrs *rrs, const struct world_rr *rr);
bool rrs_contain(const struct world_rrs *rrs, const struct world_rr *rr);
void rrs_fini(struct world_rrs *rrs);

/* ---- requests ---------------------------------------------------------- */

struct ask {
	const char *qname; /* text; NULL: wire has the name */
	const uint8_t *wire;
	uint16_t type;
	uint16_t rrclass;  /* 0: IN */
	uint16_t flags;    /* of the header */
	bool edns;
	bool dnssec;
	uint8_t version;
	uint16_t size;     /* of EDNS */
	const void *options;
	size_t options_len;
	enum exchange_transport transport;
	bool is_dated;       /* the same */
	uint16_t idle_100ms; /* exchange.idle_100ms */
	const char *from;  /* address; NULL: 127.0.0.1 */
	const char *proxy; /* IPv4 address; NULL: none */
};

/* Writes the request. out has room for 1024 octets. Returns its length. */
size_t ask_write(const struct ask *ask, uint8_t *out);

/* Fills a batch with the same request, of one client. Gives the room of the
 * replies: free() it. Borrows the request. */
uint8_t *world_repeat(const uint8_t *request, size_t len,
	enum exchange_transport transport,
	struct exchange exchanges[EXCHANGE_BATCH_MAX]);

struct answer_opt {
	bool present;
	uint16_t udp_size;
	uint16_t flags;
	uint8_t version;
	const uint8_t *options;
	uint16_t options_len;
};

/* A reply, taken apart. */
struct reply_parts {
	uint16_t id, flags, rcode; /* rcode with its extension */
	bool has_question;
	uint8_t qname[NAME_MAX_LEN]; /* as it stands */
	size_t qname_len;
	uint16_t qtype, qclass;
	struct world_rrs section[3];
	struct answer_opt opt;
	uint16_t tsig_error; /* 0xffff: no TSIG */
	size_t len;
	uint8_t octets[WORLD_REPLY_MAX];
};

/*
 * Sends raw octets. reply has room for capacity octets. Returns the reply's
 * length; 0: there is none.
 */
size_t world_send(struct world *w, const void *request, size_t len,
	const struct ask *how, uint8_t *reply, size_t capacity);

/* Asks, and takes the reply apart as reply_read does. */
void world_ask(struct world *w, const struct ask *ask,
	struct reply_parts *parts);
/* Takes a reply apart; fails the test if it is not a whole message. */
void reply_read(struct reply_parts *parts);
void reply_fini(struct reply_parts *parts);

/* The data of an EDNS option of the reply, or NULL. */
const uint8_t *reply_option(const struct reply_parts *parts, uint16_t code,
	uint16_t *len);

#endif
