/* world.c - makes zones, asks questions, takes replies apart. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "compile/build.h"
#include "dns/rrbatch.h"
#include "lib/settings_fixture.h"
#include "store/writer.h"
#include "zonedb/table_edit.h"

#include "world.h"

/* ---- lists of records -------------------------------------------------- */

/* Tells records apart at little cost: many of a test differ in RDATA alone. */
static uint32_t
rr_sum(const struct world_rr *rr)
{
	uint32_t sum = rr->type;

	for (unsigned i = 0; i < rr->rdlen; i++)
		sum = sum * 31 + rr->rdata[i];
	return sum;
}

void
rrs_add(struct world_rrs *rrs, const struct world_rr *rr)
{
	if (rrs->count == rrs->room) {
		rrs->room = rrs->room * 2 + 8;
		rrs->rrs = realloc(rrs->rrs, rrs->room * sizeof(*rrs->rrs));
		assert_non_null(rrs->rrs);
	}
	rrs->rrs[rrs->count] = *rr;
	rrs->rrs[rrs->count++].sum = rr_sum(rr);
}

static bool
rr_equal(const struct world_rr *a, const struct world_rr *b)
{
	return a->type == b->type && a->rdlen == b->rdlen
		&& memcmp(a->rdata, b->rdata, a->rdlen) == 0
		&& name_equal(a->owner, b->owner);
}

bool
rrs_contain(const struct world_rrs *rrs, const struct world_rr *rr)
{
	uint32_t sum = rr_sum(rr);

	for (size_t i = 0; i < rrs->count; i++)
		if (rrs->rrs[i].sum == sum && rr_equal(&rrs->rrs[i], rr))
			return true;
	return false;
}

void
rrs_fini(struct world_rrs *rrs)
{
	free(rrs->rrs);
	memset(rrs, 0, sizeof(*rrs));
}

/* ---- records from text ------------------------------------------------- */

static size_t
put_name(uint8_t *out, const char *text)
{
	static const uint8_t root[1] = {0};
	const char *why;
	size_t len;
	uint8_t name[NAME_MAX_LEN];

	assert_int_equal(name_parse_text(text, strlen(text), root, name, &len,
		&why), NSD_OK);
	memcpy(out, name, len);
	return len;
}

static const char *
next_word(char **rest)
{
	const char *word = strtok_r(NULL, " ", rest);

	assert_non_null(word);
	return word;
}

static size_t
put_number(uint8_t *out, size_t size, char **rest)
{
	unsigned long v = strtoul(next_word(rest), NULL, 10);

	for (size_t i = 0; i < size; i++)
		out[i] = (uint8_t)(v >> (8 * (size - 1 - i)));
	return size;
}

static size_t
put_soa(uint8_t *out, char **rest)
{
	size_t at = put_name(out, next_word(rest));

	at += put_name(out + at, next_word(rest));
	for (unsigned i = 0; i < 5; i++)
		at += put_number(out + at, 4, rest);
	return at;
}

/* Makes a signature that looks right: covered type, signer, 24 octets. */
static size_t
put_rrsig(uint8_t *out, const uint8_t *owner, char **rest)
{
	uint16_t covered;
	const char *word = next_word(rest);
	size_t len;

	assert_int_equal(rrtype_parse(word, strlen(word), &covered), NSD_OK);
	octets_put_u16(out, covered);
	out[2] = 13;
	out[3] = (uint8_t)(name_count_labels(owner) - name_is_wildcard(owner));
	octets_put_u32(out + 4, 3600);
	octets_put_u32(out + 8, 2000000000u);
	octets_put_u32(out + 12, 1700000000u);
	octets_put_u16(out + 16, 12345);
	len = 18 + put_name(out + 18, next_word(rest));
	memset(out + len, covered & 0xff, 24);
	out[len] = owner[0] != 0 ? owner[1] : 0;
	return len + 24;
}

static size_t
put_rdata(const struct world_rr *rr, uint8_t *out, char **rest)
{
	const char *word;
	size_t at = 0;

	switch (rr->type) {
	case TYPE_A:
		assert_int_equal(inet_pton(AF_INET, next_word(rest), out), 1);
		return 4;
	case TYPE_AAAA:
		assert_int_equal(inet_pton(AF_INET6, next_word(rest), out), 1);
		return 16;
	case TYPE_NS:
	case TYPE_CNAME:
	case TYPE_DNAME:
	case TYPE_PTR:
		return put_name(out, next_word(rest));
	case TYPE_SRV:
		at += put_number(out, 2, rest);
		at += put_number(out + at, 2, rest);
		/* fall through */
	case TYPE_MX:
	case TYPE_HTTPS:
	case TYPE_SVCB:
		at += put_number(out + at, 2, rest);
		return at + put_name(out + at, next_word(rest));
	case TYPE_SOA:
		return put_soa(out, rest);
	case TYPE_DS:
		at += put_number(out, 2, rest);
		out[2] = 13;
		out[3] = 2;
		memset(out + 4, out[1], 32);
		return 36;
	case TYPE_DNSKEY:
		memcpy(out, "\1\1\3\15key", 7);
		return 7;
	case TYPE_RRSIG:
		return put_rrsig(out, rr->owner, rest);
	default:
		word = next_word(rest);
		out[0] = (uint8_t)strlen(word);
		memcpy(out + 1, word, out[0]);
		return out[0] + 1u;
	}
}

void
world_parse_record(const char *line, struct world_rr *rr)
{
	char copy[1024], *rest;
	const char *word;

	memset(rr, 0, sizeof(*rr));
	rr->rrclass = CLASS_IN;
	snprintf(copy, sizeof(copy), "%s", line);
	word = strtok_r(copy, " ", &rest);
	assert_non_null(word);
	put_name(rr->owner, word);
	name_lower(rr->owner);
	rr->ttl_sec = (uint32_t)strtoul(next_word(&rest), NULL, 10);
	word = next_word(&rest);
	assert_int_equal(rrtype_parse(word, strlen(word), &rr->type), NSD_OK);
	rr->rdlen = (uint16_t)put_rdata(rr, rr->rdata, &rest);
}

void
world_add_record(struct world_zone *zone, const char *line)
{
	struct world_rr rr;

	world_parse_record(line, &rr);
	if (!rrs_contain(&zone->records, &rr))
		rrs_add(&zone->records, &rr);
}

void
world_add_many(struct world_zone *zone, const char *format, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char line[1024];

		snprintf(line, sizeof(line), format, i, i);
		world_add_record(zone, line);
	}
}

void
world_add_apex(struct world_zone *zone)
{
	world_add_record(zone, "z. 60 SOA ns.z. r. 1 2 3 4 5");
	world_add_record(zone, "z. 60 NS ns.z.");
	world_add_record(zone, "ns.z. 60 A 192.0.2.1");
}

const struct world_rr *
world_find(const struct world_zone *zone, const uint8_t *owner, uint16_t type)
{
	for (size_t i = 0; i < zone->records.count; i++) {
		const struct world_rr *rr = &zone->records.rrs[i];

		if ((type == 0 || rr->type == type)
			&& name_equal(rr->owner, owner))
			return rr;
	}
	return NULL;
}

/* ---- the world --------------------------------------------------------- */

void
world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->options.identity = "id";
	w->options.version = "version";
	w->options.udp4_size = 1232;
	w->options.udp6_size = 1232;
	w->query_options.cname_max = 18;
}

struct world_zone *
world_add_zone(struct world *w, const char *apex, const char *text)
{
	struct world_zone *zone = &w->zones[w->zone_count++];
	char *copy = strdup(text), *line, *rest;

	assert_true(w->zone_count <= WORLD_ZONES_MAX);
	assert_non_null(copy);
	memset(zone, 0, sizeof(*zone));
	put_name(zone->apex, apex);
	for (line = strtok_r(copy, "\n", &rest); line != NULL;
		line = strtok_r(NULL, "\n", &rest))
		world_add_record(zone, line);
	free(copy);
	return zone;
}

static void
print_diag(struct diag_sink *sink, const struct diag *d)
{
	if (d->severity == DIAG_ERROR)
		print_error("zone: %s\n", d->text);
}

static store_ref
world_build_zone(struct world *w, struct world_zone *zone)
{
	struct rrbatch *batch = rrbatch_create(zone->records.count * 1024
		+ 1024);
	struct diag_sink sink = { .on_diag = print_diag };
	struct zone_build_input input = {
		.apex = zone->apex,
		.batches = batch,
		.threads = 1,
		.secondary = true,
	};
	store_ref ref = STORE_NONE;

	assert_non_null(batch);
	for (size_t i = 0; i < zone->records.count; i++) {
		const struct world_rr *rr = &zone->records.rrs[i];
		struct rrbatch_rr head = {
			.ttl_sec = rr->ttl_sec,
			.type = rr->type,
			.rdlen = rr->rdlen,
			.owner_len = (uint8_t)name_len(rr->owner),
		};

		assert_int_equal(rrbatch_append(batch, &head, rr->owner,
			rr->rdata), NSD_OK);
	}
	assert_int_equal(build_zone(&input, w->writer,
		store_writer_heap(w->writer), &sink, &ref), NSD_OK);
	rrbatch_destroy_all(batch);
	return ref;
}

void
world_start(struct world *w)
{
	struct store_options options = { .reservation = 256u << 20,
		.reader_max = 4 };

	assert_int_equal(store_create(&options, &w->store), NSD_OK);
	assert_int_equal(store_writer_open(w->store, &w->writer), NSD_OK);
	for (size_t i = 0; i < w->zone_count; i++) {
		struct world_zone *zone = &w->zones[i];
		struct zone_setup setup = {
			.apex = zone->apex,
			.flags = zone->flags,
		};

		assert_int_equal(table_add(w->writer, &setup, 1,
			&zone->entry), NSD_OK);
		settings_fixture_set_acl(w->writer, zone->entry,
			zone->query_acl, zone->query_acl_count,
			zone->provide_acl, zone->provide_acl_count);
		table_set_expiry(w->writer, zone->entry, zone->expires_sec);
		if (!zone->not_loaded)
			table_set_zone(w->writer, zone->entry,
				world_build_zone(w, zone));
	}
	settings_fixture_publish(w->writer, &w->options);
	assert_int_equal(query_ctx_create(&w->query_options, &w->counters,
				 &w->ctx),
		NSD_OK);
}

void
world_fini(struct world *w)
{
	query_ctx_destroy(w->ctx);
	store_writer_close(w->writer);
	store_destroy(w->store);
	for (size_t i = 0; i < w->zone_count; i++)
		rrs_fini(&w->zones[i].records);
}

/* ---- requests ---------------------------------------------------------- */

size_t
ask_write(const struct ask *ask, uint8_t *out)
{
	size_t len = 12;

	memset(out, 0, 12);
	octets_put_u16(out, 0x4711);
	octets_put_u16(out + 2, ask->flags);
	octets_put_u16(out + 4, 1);
	if (ask->qname != NULL) {
		len += put_name(out + len, ask->qname);
	} else {
		memcpy(out + len, ask->wire, name_len(ask->wire));
		len += name_len(ask->wire);
	}
	octets_put_u16(out + len, ask->type);
	octets_put_u16(out + len + 2,
		ask->rrclass != 0 ? ask->rrclass : CLASS_IN);
	len += 4;
	if (!ask->edns && !ask->dnssec)
		return len;
	octets_put_u16(out + 10, 1);
	out[len] = 0;
	octets_put_u16(out + len + 1, TYPE_OPT);
	octets_put_u16(out + len + 3, ask->size);
	out[len + 5] = 0;
	out[len + 6] = ask->version;
	octets_put_u16(out + len + 7, ask->dnssec ? EDNS_DO : 0);
	octets_put_u16(out + len + 9, (uint16_t)ask->options_len);
	len += 11;
	memcpy(out + len, ask->options != NULL ? ask->options : "",
		ask->options_len);
	return len + ask->options_len;
}

size_t
world_send(struct world *w, const void *request, size_t len,
	const struct ask *how, uint8_t *reply, size_t capacity)
{
	const char *from = how->from != NULL ? how->from : "127.0.0.1";
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer;
	struct sockaddr_in proxy = { .sin_family = AF_INET };
	uint8_t *copy = malloc(len > 0 ? len : 1);
	struct exchange x = {
		.request = copy,
		.request_len = (uint32_t)len,
		.reply = reply,
		.reply_capacity = (uint32_t)capacity,
		.transport = how->transport,
		.is_dated = how->is_dated,
		.idle_100ms = how->idle_100ms,
		.peer = &peer,
	};

	assert_non_null(copy);
	memcpy(copy, request, len);
	if (strchr(from, ':') != NULL) {
		peer.ss_family = AF_INET6;
		in6->sin6_port = htons(4000);
		assert_int_equal(inet_pton(AF_INET6, from, &in6->sin6_addr), 1);
	} else {
		in->sin_port = htons(4000);
		assert_int_equal(inet_pton(AF_INET, from, &in->sin_addr), 1);
	}
	if (how->proxy != NULL) {
		assert_int_equal(inet_pton(AF_INET, how->proxy,
			&proxy.sin_addr), 1);
		x.proxy = (struct sockaddr *)&proxy;
	}
	query_answer_batch(w->ctx, store_writer_view(w->writer), &x, 1);
	free(copy);
	assert_true(x.reply_len <= capacity);
	return x.reply_len;
}

/* ---- replies ----------------------------------------------------------- */

static bool
has_compressed_names(uint16_t type)
{
	return type == TYPE_NS || type == TYPE_CNAME || type == TYPE_PTR
		|| type == TYPE_MX || type == TYPE_SOA;
}

/* RDATA with its names in full. */
static void
read_rdata(struct cursor *c, uint16_t rdlen, struct world_rr *rr)
{
	const uint8_t *end = c->at + rdlen;
	unsigned names = rr->type == TYPE_SOA ? 2 : 1;
	size_t at = 0, len;

	assert_true(cursor_left(c) >= rdlen);
	if (has_compressed_names(rr->type)) {
		if (rr->type == TYPE_MX) {
			memcpy(rr->rdata, cursor_read_octets(c, 2), 2);
			at = 2;
		}
		while (names-- > 0) {
			uint8_t name[NAME_MAX_LEN];

			assert_int_equal(name_read(c, name, &len), NSD_OK);
			/* The zones of the tests are in lower case, but a CNAME
			 * made from a DNAME has the question's case. */
			name_lower(name);
			memcpy(rr->rdata + at, name, len);
			at += len;
		}
		assert_true(c->at <= end);
	}
	len = (size_t)(end - c->at);
	/* Records of the tests are short. Longer ones are only counted. */
	if (at + len <= sizeof(rr->rdata))
		memcpy(rr->rdata + at, c->at, len);
	rr->rdlen = (uint16_t)(at + len);
	c->at = end;
}

static void
read_opt(struct reply_parts *parts, const struct message_rr *rr)
{
	assert_false(parts->opt.present);
	parts->opt.present = true;
	parts->opt.udp_size = rr->rrclass;
	parts->opt.version = (uint8_t)(rr->ttl_sec >> 16);
	parts->opt.flags = (uint16_t)rr->ttl_sec;
	parts->opt.options = rr->rdata;
	parts->opt.options_len = rr->rdlen;
	parts->rcode |= (uint16_t)(rr->ttl_sec >> 24 << 4);
}

static void
read_section(struct reply_parts *parts, struct cursor *c, unsigned section,
	unsigned count)
{
	while (count-- > 0) {
		struct world_rr rr = {0};
		struct message_rr head;
		struct cursor ahead = *c;
		size_t len;

		assert_int_equal(message_read_rr(&ahead, &head), NSD_OK);
		if (head.type == TYPE_OPT) {
			assert_int_equal(section, 2);
			assert_int_equal(*c->at, 0);
			read_opt(parts, &head);
			*c = ahead;
			continue;
		}
		if (head.type == TYPE_TSIG) {
			assert_int_equal(count, 0);
			assert_int_equal(section, 2);
			parts->tsig_error = octets_get_u16(head.rdata
				+ head.rdlen - 4);
			*c = ahead;
			continue;
		}
		assert_int_equal(name_read(c, rr.owner, &len), NSD_OK);
		c->at += 10;
		rr.type = head.type;
		rr.rrclass = head.rrclass;
		rr.ttl_sec = head.ttl_sec;
		read_rdata(c, head.rdlen, &rr);
		/* A transfer ends with the SOA that it began with; what
		 * differences add they may remove later. */
		if (parts->qtype != TYPE_IXFR
			&& (rr.type != TYPE_SOA || parts->qtype != TYPE_AXFR)
			&& rrs_contain(&parts->section[section], &rr)) {
			char text[NAME_TEXT_MAX];

			name_print_text(rr.owner, text);
			fail_msg("%s type %u twice in section %u", text,
				rr.type, section);
		}
		rrs_add(&parts->section[section], &rr);
	}
}

void
reply_read(struct reply_parts *parts)
{
	struct cursor c;

	memset(parts->section, 0, sizeof(parts->section));
	memset(&parts->opt, 0, sizeof(parts->opt));
	parts->tsig_error = 0xffff;
	assert_true(parts->len >= 12);
	cursor_init(&c, parts->octets, parts->len);
	parts->id = message_get_id(parts->octets);
	parts->flags = message_get_flags(parts->octets);
	parts->rcode = message_get_rcode(parts->octets);
	assert_true((parts->flags & MESSAGE_QR) != 0);
	c.at += 12;
	parts->has_question = message_get_count(c.start, MESSAGE_QDCOUNT) == 1;
	if (parts->has_question) {
		assert_int_equal(name_read_uncompressed(&c, parts->qname,
			&parts->qname_len), NSD_OK);
		parts->qtype = cursor_read_u16(&c);
		parts->qclass = cursor_read_u16(&c);
	} else {
		assert_int_equal(message_get_count(c.start, MESSAGE_QDCOUNT),
			0);
	}
	for (unsigned i = 0; i < 3; i++)
		read_section(parts, &c, i, octets_get_u16(c.start
			+ MESSAGE_ANCOUNT + 2 * i));
	assert_false(c.failed);
	assert_int_equal(cursor_left(&c), 0);
}

void
reply_fini(struct reply_parts *parts)
{
	for (unsigned i = 0; i < 3; i++)
		rrs_fini(&parts->section[i]);
}

uint8_t *
world_repeat(const uint8_t *request, size_t len,
	enum exchange_transport transport,
	struct exchange exchanges[EXCHANGE_BATCH_MAX])
{
	static struct sockaddr_storage peer;
	uint8_t *replies = malloc(EXCHANGE_BATCH_MAX * (size_t)WORLD_REPLY_MAX);

	assert_non_null(replies);
	*(struct sockaddr_in *)&peer = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(4000),
	};
	for (size_t i = 0; i < EXCHANGE_BATCH_MAX; i++)
		exchanges[i] = (struct exchange){
			.request = request,
			.request_len = (uint32_t)len,
			.reply = replies + i * WORLD_REPLY_MAX,
			.reply_capacity = WORLD_REPLY_MAX,
			.transport = transport,
			.peer = &peer,
		};
	return replies;
}

void
world_ask(struct world *w, const struct ask *ask, struct reply_parts *parts)
{
	uint8_t request[2048];
	size_t len = ask_write(ask, request);

	parts->len = world_send(w, request, len, ask, parts->octets,
		sizeof(parts->octets));
	reply_read(parts);
	assert_int_equal(parts->id, 0x4711);
	assert_memory_equal(parts->octets + 12, request + 12,
		parts->has_question ? name_len(request + 12) + 4 : 0);
}

const uint8_t *
reply_option(const struct reply_parts *parts, uint16_t code, uint16_t *len)
{
	struct cursor c;

	cursor_init(&c, parts->opt.options, parts->opt.options_len);
	while (parts->opt.present && cursor_left(&c) > 0) {
		uint16_t found = cursor_read_u16(&c);
		const uint8_t *data;

		*len = cursor_read_u16(&c);
		data = cursor_read_octets(&c, *len);
		assert_false(c.failed);
		if (found == code)
			return data;
	}
	return NULL;
}
