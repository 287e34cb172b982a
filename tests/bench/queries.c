/* queries.c - a zone made up, and queries for its names. */
#include "queries.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile/build.h"
#include "dns/message.h"
#include "dns/rrbatch.h"
#include "zonedb/table_edit.h"

void
queries_fail(const char *what, enum nsd_err err)
{
	fprintf(stderr, "%s: %s\n", what, err_text(err));
	exit(1);
}

double
queries_cpu_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t random_state = 1;

uint32_t
queries_random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u
		+ 1442695040888963407u;
	return (uint32_t)(((random_state >> 32) * (uint64_t)n) >> 32);
}

size_t
queries_parse_name(const char *text, uint8_t *name)
{
	static const uint8_t root[1];
	const char *why;
	size_t len;

	if (name_parse_text(text, strlen(text), root, name, &len, &why)
		!= NSD_OK) {
		fprintf(stderr, "%s: %s\n", text, why);
		exit(1);
	}
	return len;
}

/* ---- zones --------------------------------------------------------------- */

void
queries_add_record(struct rrbatch **batch, const char *owner, uint16_t type,
	const uint8_t *rdata, size_t rdlen)
{
	uint8_t name[NAME_MAX_LEN];
	struct rrbatch_rr head = { .ttl_sec = 3600, .type = type,
		.rdlen = (uint16_t)rdlen };
	struct rrbatch *next;

	head.owner_len = (uint8_t)queries_parse_name(owner, name);
	if (rrbatch_append(*batch, &head, name, rdata) == NSD_OK)
		return;
	next = rrbatch_create(64u << 20);
	if (next == NULL)
		queries_fail("rrbatch_create", NSD_E_MEMORY);
	(*batch)->next = next;
	*batch = next;
	if (rrbatch_append(*batch, &head, name, rdata) != NSD_OK)
		queries_fail("rrbatch_append", NSD_E_LIMIT);
}

static void
add_name(struct rrbatch **batch, const char *owner, uint16_t type,
	const char *target)
{
	uint8_t rdata[NAME_MAX_LEN];

	queries_add_record(batch, owner, type, rdata,
		queries_parse_name(target, rdata));
}

void
queries_add_apex(struct rrbatch **batch, const char *apex)
{
	uint8_t soa[2 * NAME_MAX_LEN + 20];
	size_t len = queries_parse_name("ns1.nic.example.", soa);

	len += queries_parse_name("hostmaster.nic.example.", soa + len);
	for (unsigned i = 0; i < 5; i++, len += 4)
		octets_put_u32(soa + len, 3600);
	queries_add_record(batch, apex, TYPE_SOA, soa, len);
	add_name(batch, apex, TYPE_NS, "ns1.nic.example.");
	add_name(batch, apex, TYPE_NS, "ns2.nic.example.");
}

struct rrbatch *
queries_generate_zone(unsigned names)
{
	struct rrbatch *first = rrbatch_create(64u << 20), *batch = first;

	if (batch == NULL)
		queries_fail("rrbatch_create", NSD_E_MEMORY);
	queries_add_apex(&batch, "example.");
	queries_add_record(&batch, "ns1.nic.example.", TYPE_A,
		(uint8_t[]){192, 0, 2, 1}, 4);
	queries_add_record(&batch, "ns2.nic.example.", TYPE_A,
		(uint8_t[]){192, 0, 2, 2}, 4);
	for (unsigned i = 0; i < names; i++) {
		uint8_t address[16] = { 0x20, 1, 0xd, 0xb8 };
		char owner[64], target[96];

		snprintf(owner, sizeof(owner), "name%x.example.",
			i * 2654435761u);
		octets_put_u32(address + 12, i);
		if (i % 10 < 6) {
			snprintf(target, sizeof(target), "ns1.hoster%u.net.",
				i % 997);
			add_name(&batch, owner, TYPE_NS, target);
			target[2] = '2';
			add_name(&batch, owner, TYPE_NS, target);
		} else if (i % 10 < 8) {
			snprintf(target, sizeof(target), "ns1.%s", owner);
			add_name(&batch, owner, TYPE_NS, target);
			queries_add_record(&batch, target, TYPE_A,
				address + 12, 4);
			target[2] = '2';
			add_name(&batch, owner, TYPE_NS, target);
			queries_add_record(&batch, target, TYPE_A,
				address + 12, 4);
			queries_add_record(&batch, target, TYPE_AAAA,
				address, 16);
		} else {
			queries_add_record(&batch, owner, TYPE_A,
				address + 12, 4);
			queries_add_record(&batch, owner, TYPE_AAAA,
				address, 16);
		}
	}
	return first;
}

store_ref
queries_build_zone(struct store_writer *writer, const uint8_t *apex,
	const struct rrbatch *batches, const char *path)
{
	struct diag_sink sink = {0};
	struct zone_build_input input = { .apex = apex, .batches = batches,
		.files = &path, .file_count = path != NULL, .threads = 1 };
	store_ref zone = STORE_NONE;
	enum nsd_err err = build_zone(&input, writer,
		store_writer_heap(writer), &sink, &zone);

	if (err != NSD_OK)
		queries_fail("build_zone", err);
	return zone;
}

void
queries_serve(struct store_writer *writer, const uint8_t *apex, store_ref zone)
{
	struct zone_setup setup = { .apex = apex };
	store_ref entry;
	enum nsd_err err = table_add(writer, &setup, 1, &entry);

	if (err != NSD_OK)
		queries_fail("table_add", err);
	table_set_zone(writer, entry, zone);
	if (getenv("BENCH_GROUP") != NULL)
		table_set_group(writer, entry, 1);
}

/* ---- queries ------------------------------------------------------------- */

static void
names_add(struct queries_names *n, const uint8_t *name)
{
	if (n->count == n->room) {
		n->room = n->room * 2 + 1024;
		n->names = realloc(n->names, n->room * sizeof(*n->names));
		if (n->names == NULL)
			queries_fail("realloc", NSD_E_MEMORY);
	}
	memcpy(n->names[n->count++], name, name_len(name));
}

/* A sample of the names of a zone. */
void
queries_collect(const struct store_view *view, const struct zone_entry *entry,
	struct queries_names *n, unsigned one_in)
{
	const struct zone *zone = store_get(view, entry->zone);
	struct trie_iter *iter = malloc(sizeof(*iter));
	store_ref ref;

	if (iter == NULL)
		queries_fail("malloc", NSD_E_MEMORY);
	trie_iter_init(iter, view, &zone->names.root);
	while ((ref = trie_iter_next(iter)) != STORE_NONE) {
		const struct node *node = store_get(view, ref);
		uint8_t name[NAME_MAX_LEN];

		if (queries_random_below(one_in) != 0)
			continue;
		memcpy(name, trie_leaf_name(&node->leaf), node->leaf.name_len);
		memcpy(name + node->leaf.name_len, entry->name,
			entry->leaf.name_len + 1u);
		names_add(n, name);
	}
	free(iter);
}

void
queries_make(struct queries_request *r, const uint8_t *name,
	enum queries_kind kind, bool dnssec)
{
	uint8_t label[16];
	size_t at = 12;

	memset(r->octets, 0, 12);
	octets_put_u16(r->octets, (uint16_t)queries_random_below(65536));
	octets_put_u16(r->octets + 4, 1);
	if (kind == QUERIES_MIX)
		kind = (enum queries_kind)queries_random_below(3);
	if (kind == QUERIES_ABSENT && name[0] != 0)
		name += name[0] + 1;
	if (kind != QUERIES_EXISTING && name_len(name) < 240) {
		label[0] = (uint8_t)snprintf((char *)label + 1, 15, "%s%x",
			kind == QUERIES_ABSENT ? "no" : "w",
			queries_random_below(1u << 31));
		memcpy(r->octets + at, label, label[0] + 1u);
		at += label[0] + 1u;
	}
	memcpy(r->octets + at, name, name_len(name));
	at += name_len(name);
	octets_put_u16(r->octets + at, TYPE_A);
	octets_put_u16(r->octets + at + 2, CLASS_IN);
	at += 4;
	if (dnssec) {
		memcpy(r->octets + at, "\0\0\51\4\320\0\0\200\0\0\0", 11);
		at += 11;
		r->octets[11] = 1;
	}
	r->len = (uint16_t)at;
	memset(r->from, 0, sizeof(r->from));
	r->ip6 = false;
}

static void
put_peer(struct sockaddr_storage *peer, const struct queries_request *r)
{
	struct sockaddr_in *in = (struct sockaddr_in *)peer;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)peer;

	if (r->ip6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(5353);
		memcpy(&in6->sin6_addr, r->from, sizeof(in6->sin6_addr));
	} else {
		in->sin_family = AF_INET;
		in->sin_port = htons(5353);
		memcpy(&in->sin_addr, r->from, sizeof(in->sin_addr));
	}
}

uint64_t
queries_answer(struct query_ctx *ctx, const struct store_view *view,
	const struct queries_request *requests, size_t count, size_t batch)
{
	static uint8_t replies[EXCHANGE_BATCH_MAX][QUERIES_REPLY_ROOM];
	static struct sockaddr_storage peers[EXCHANGE_BATCH_MAX];
	struct exchange x[EXCHANGE_BATCH_MAX];
	uint64_t octets = 0;

	memset(x, 0, sizeof(x));
	for (size_t i = 0; i + batch <= count; i += batch) {
		for (size_t j = 0; j < batch; j++) {
			x[j].request = requests[i + j].octets;
			x[j].request_len = requests[i + j].len;
			x[j].reply = replies[j];
			x[j].reply_capacity = QUERIES_REPLY_ROOM;
			x[j].peer = &peers[j];
			put_peer(&peers[j], &requests[i + j]);
		}
		query_answer_batch(ctx, view, x, batch);
		for (size_t j = 0; j < batch; j++)
			octets += x[j].reply_len;
	}
	return octets;
}
