/*
 * bench_query.c - the time of one answer, for batches of several sizes.
 *
 * usage: bench_query [-s] ZONE FILE [QUERIES]
 *        bench_query [-s] -g NAMES [QUERIES]
 *        bench_query -t ZONE FILE [TIMES]
 *
 * With BENCH_RSSAC in its environment it counts the figures of RSSAC002, with
 * BENCH_GROUP the queries of the zone as those of a group.
 * -g makes a zone like a TLD's: of ten names six are delegations to a few
 * hosters, two have servers (with glue) below themselves, two are hosts with
 * addresses. -s asks for NAMES zones of a few names each instead. -t makes
 * transfers of the zone (AXFR), and counts instructions where the kernel lets
 * us.
 * Nothing but query_answer_batch is inside the measured time, which is that of
 * the process's CPU. It is the least of several rounds.
 */
#include <arpa/inet.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "build/build.h"
#include "dns/message.h"
#include "dns/rrbatch.h"
#include "keep/table_edit.h"
#include "lib/settings_fixture.h"
#include "query/query.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonefile/zonefile.h"

#define ROUNDS 3
#define REPLY_ROOM 2048

static void
fail(const char *what, enum nsd_err err)
{
	fprintf(stderr, "bench_query: %s: %s\n", what, err_text(err));
	exit(1);
}

static double
cpu_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t random_state = 1;

static uint32_t
random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u
		+ 1442695040888963407u;
	return (uint32_t)(((random_state >> 32) * (uint64_t)n) >> 32);
}

static size_t
parse_name(const char *text, uint8_t *name)
{
	static const uint8_t root[1];
	const char *why;
	size_t len;

	if (name_parse_text(text, strlen(text), root, name, &len, &why)
		!= NSD_OK) {
		fprintf(stderr, "bench_query: %s: %s\n", text, why);
		exit(1);
	}
	return len;
}

/* ---- zones --------------------------------------------------------------- */

static void
add(struct rrbatch **batch, const char *owner, uint16_t type,
	const uint8_t *rdata, size_t rdlen)
{
	uint8_t name[NAME_MAX_LEN];
	struct rrbatch_rr head = { .ttl_sec = 3600, .type = type,
		.rdlen = (uint16_t)rdlen };
	struct rrbatch *next;

	head.owner_len = (uint8_t)parse_name(owner, name);
	if (rrbatch_append(*batch, &head, name, rdata) == NSD_OK)
		return;
	next = rrbatch_create(64u << 20);
	if (next == NULL)
		fail("rrbatch_create", NSD_E_MEMORY);
	(*batch)->next = next;
	*batch = next;
	if (rrbatch_append(*batch, &head, name, rdata) != NSD_OK)
		fail("rrbatch_append", NSD_E_LIMIT);
}

static void
add_name(struct rrbatch **batch, const char *owner, uint16_t type,
	const char *target)
{
	uint8_t rdata[NAME_MAX_LEN];

	add(batch, owner, type, rdata, parse_name(target, rdata));
}

static void
add_apex(struct rrbatch **batch, const char *apex)
{
	uint8_t soa[2 * NAME_MAX_LEN + 20];
	size_t len = parse_name("ns1.nic.example.", soa);

	len += parse_name("hostmaster.nic.example.", soa + len);
	for (unsigned i = 0; i < 5; i++, len += 4)
		octets_put_u32(soa + len, 3600);
	add(batch, apex, TYPE_SOA, soa, len);
	add_name(batch, apex, TYPE_NS, "ns1.nic.example.");
	add_name(batch, apex, TYPE_NS, "ns2.nic.example.");
}

static struct rrbatch *
generate(unsigned names)
{
	struct rrbatch *first = rrbatch_create(64u << 20), *batch = first;

	if (batch == NULL)
		fail("rrbatch_create", NSD_E_MEMORY);
	add_apex(&batch, "example.");
	add(&batch, "ns1.nic.example.", TYPE_A, (uint8_t[]){192, 0, 2, 1}, 4);
	add(&batch, "ns2.nic.example.", TYPE_A, (uint8_t[]){192, 0, 2, 2}, 4);
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
			add(&batch, target, TYPE_A, address + 12, 4);
			target[2] = '2';
			add_name(&batch, owner, TYPE_NS, target);
			add(&batch, target, TYPE_A, address + 12, 4);
			add(&batch, target, TYPE_AAAA, address, 16);
		} else {
			add(&batch, owner, TYPE_A, address + 12, 4);
			add(&batch, owner, TYPE_AAAA, address, 16);
		}
	}
	return first;
}

static store_ref
build(struct store_writer *writer, const uint8_t *apex,
	const struct rrbatch *batches, const char *path)
{
	struct diag_sink sink = {0};
	struct zone_build_input input = { .apex = apex, .batches = batches,
		.files = &path, .file_count = path != NULL, .threads = 1 };
	store_ref zone = STORE_NONE;
	enum nsd_err err = build_zone(&input, writer,
		store_writer_heap(writer), &sink, &zone);

	if (err != NSD_OK)
		fail("build_zone", err);
	return zone;
}

static void
serve(struct store_writer *writer, const uint8_t *apex, store_ref zone)
{
	struct zone_setup setup = { .apex = apex };
	store_ref entry;
	enum nsd_err err = table_add(writer, &setup, 1, &entry);

	if (err != NSD_OK)
		fail("table_add", err);
	table_set_zone(writer, entry, zone);
	if (getenv("BENCH_GROUP") != NULL)
		table_set_group(writer, entry, 1);
}

static void
load_file(struct store_writer *writer, const char *name, const char *path,
	uint8_t *apex)
{
	struct zonefile_options options = { .apex = apex,
		.default_ttl_sec = 3600, .threads = 2 };
	struct diag_sink sink = {0};
	struct zonefile_result parsed;
	enum nsd_err err;

	parse_name(name, apex);
	err = zonefile_parse(path, &options, &sink, &parsed);
	if (err != NSD_OK)
		fail(path, err);
	serve(writer, apex, build(writer, apex, parsed.batches, path));
	zonefile_result_fini(&parsed);
}

/* ---- queries ------------------------------------------------------------- */

struct names {
	size_t count;
	size_t room;
	uint8_t (*names)[NAME_MAX_LEN];
};

static void
names_add(struct names *n, const uint8_t *name)
{
	if (n->count == n->room) {
		n->room = n->room * 2 + 1024;
		n->names = realloc(n->names, n->room * sizeof(*n->names));
		if (n->names == NULL)
			fail("realloc", NSD_E_MEMORY);
	}
	memcpy(n->names[n->count++], name, name_len(name));
}

/* A sample of the names of a zone. */
static void
collect(const struct store_view *view, const struct zone_entry *entry,
	struct names *n, unsigned one_in)
{
	const struct zone *zone = store_get(view, entry->zone);
	struct trie_iter *iter = malloc(sizeof(*iter));
	store_ref ref;

	if (iter == NULL)
		fail("malloc", NSD_E_MEMORY);
	trie_iter_init(iter, view, &zone->names.root);
	while ((ref = trie_iter_next(iter)) != STORE_NONE) {
		const struct node *node = store_get(view, ref);
		uint8_t name[NAME_MAX_LEN];

		if (random_below(one_in) != 0)
			continue;
		memcpy(name, trie_leaf_name(&node->leaf), node->leaf.name_len);
		memcpy(name + node->leaf.name_len, entry->name,
			entry->leaf.name_len + 1u);
		names_add(n, name);
	}
	free(iter);
}

struct request {
	uint16_t len;
	uint8_t octets[12 + NAME_MAX_LEN + 64 + 15];
};

/* What is asked: one kind, or a mix. */
enum kind { KIND_EXISTING, KIND_ABSENT, KIND_BELOW, KIND_MIX, KIND_COUNT };
static const char *const kind_names[] = { "existing", "absent", "below",
	"mixed" };

static void
make_request(struct request *r, const uint8_t *name, enum kind kind,
	bool dnssec)
{
	uint8_t label[16];
	size_t at = 12;

	memset(r->octets, 0, 12);
	octets_put_u16(r->octets, (uint16_t)random_below(65536));
	octets_put_u16(r->octets + 4, 1);
	if (kind == KIND_MIX)
		kind = (enum kind)random_below(3);
	if (kind == KIND_ABSENT && name[0] != 0)
		name += name[0] + 1;
	if (kind != KIND_EXISTING && name_len(name) < 240) {
		label[0] = (uint8_t)snprintf((char *)label + 1, 15, "%s%x",
			kind == KIND_ABSENT ? "no" : "w",
			random_below(1u << 31));
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
}

static void
measure(struct query_ctx *ctx, const struct store_view *view,
	const struct request *requests, size_t count, size_t batch,
	const char *title)
{
	static uint8_t replies[EXCHANGE_BATCH_MAX][REPLY_ROOM];
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct exchange x[EXCHANGE_BATCH_MAX];
	double best = 1e9;
	uint64_t octets = 0;

	((struct sockaddr_in *)&peer)->sin_port = htons(5353);
	memset(x, 0, sizeof(x));
	for (unsigned round = 0; round < ROUNDS; round++) {
		double start = cpu_sec(), took;

		octets = 0;
		for (size_t i = 0; i + batch <= count; i += batch) {
			for (size_t j = 0; j < batch; j++) {
				x[j].request = requests[i + j].octets;
				x[j].request_len = requests[i + j].len;
				x[j].reply = replies[j];
				x[j].reply_capacity = REPLY_ROOM;
				x[j].peer = &peer;
			}
			query_answer_batch(ctx, view, x, batch);
			for (size_t j = 0; j < batch; j++)
				octets += x[j].reply_len;
		}
		took = cpu_sec() - start;
		if (took < best)
			best = took;
	}
	count -= count % batch;
	printf("%-14s batch %2zu %7.1f ns an answer, %5.1f octets\n", title,
		batch, best * 1e9 / (double)count,
		(double)octets / (double)count);
}

static void
measure_all(const struct store_view *view, const struct names *names,
	size_t count)
{
	static const size_t batches[] = { 1, 8, 32, 64 };
	struct query_options options = { .cname_max = 18 };
	struct request *requests = calloc(count, sizeof(*requests));
	static struct counters counters;
	static struct rssac rssac;
	static struct counters rows[4]; /* the memory of a book */
	struct counters_book book;
	struct query_ctx *ctx;
	enum nsd_err err;

	if (getenv("BENCH_RSSAC") != NULL)
		options.rssac = &rssac;
	counters_book_init(&book, rows, 1);
	options.book = &book;
	err = query_ctx_create(&options, &counters, &ctx);
	if (err != NSD_OK || requests == NULL)
		fail("memory", NSD_E_MEMORY);
	for (unsigned k = 0; k < KIND_COUNT * 2; k++) {
		enum kind kind = (enum kind)(k / 2);
		char title[32];

		snprintf(title, sizeof(title), "%s%s", kind_names[kind],
			k % 2 ? " DO" : "");
		for (size_t i = 0; i < count; i++)
			make_request(&requests[i], names->names[random_below(
				(uint32_t)names->count)], kind, k % 2);
		for (size_t b = 0; b < 4; b++)
			measure(ctx, view, requests, count, batches[b], title);
	}
	query_ctx_destroy(ctx);
	free(requests);
}

/* ---- transfers ----------------------------------------------------------- */

/* Counts instructions of this process; -1: it may not. */
static int
open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static uint64_t
read_counter(int counter)
{
	uint64_t count = 0;

	if (counter == -1 || read(counter, &count, sizeof(count))
		!= (ssize_t)sizeof(count))
		return 0;
	return count;
}

/* Makes all messages of a transfer. Returns their octets. */
static uint64_t
transfer_once(struct query_ctx *ctx, const struct store_view *view,
	const uint8_t *apex)
{
	static uint8_t message[MESSAGE_MAX_LEN];
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	uint8_t request[512] = {0};
	size_t apex_len = name_len(apex), len;
	struct exchange x = {
		.request = request,
		.request_len = (uint32_t)(16 + apex_len),
		.reply = message,
		.reply_capacity = MESSAGE_MAX_LEN,
		.transport = TRANSPORT_TCP,
		.peer = &peer,
	};
	uint64_t octets = 0;

	request[5] = 1;
	memcpy(request + 12, apex, apex_len);
	octets_put_u16(request + 12 + apex_len, TYPE_AXFR);
	octets_put_u16(request + 14 + apex_len, CLASS_IN);
	query_answer_batch(ctx, view, &x, 1);
	if (x.stream == NULL)
		fail("no transfer", NSD_E_BUG);
	while ((len = query_stream_next(ctx, x.stream, message,
			sizeof(message))) > 0)
		octets += len;
	query_stream_end(ctx, x.stream);
	return octets;
}

static void
measure_transfers(struct store *store, struct store_writer *writer,
	const uint8_t *apex, unsigned times)
{
	static const struct acl_element anyone = { .family = 4,
		.kind = ACL_MASK };
	const struct store_view *view = store_writer_view(writer);
	struct settings_setup setup = { .identity = "", .version = "",
		.udp4_size = 1232, .udp6_size = 1232 };
	struct query_options options = { .cname_max = 18 };
	static struct counters counters;
	struct store_reader *reader;
	struct query_ctx *ctx;
	int counter = open_counter();

	settings_fixture_set_acl(writer, table_get(view)->only, NULL, 0,
		&anyone, 1);
	settings_fixture_publish(writer, &setup);
	if (store_reader_open(store, 0, "bench", &reader) != NSD_OK)
		fail("store_reader_open", NSD_E_SYSTEM);
	options.reader = reader;
	if (query_ctx_create(&options, &counters, &ctx) != NSD_OK)
		fail("memory", NSD_E_MEMORY);
	store_reader_online(reader);
	for (unsigned i = 0; i < times; i++) {
		uint64_t before = read_counter(counter), octets;
		double start = cpu_sec(), took;

		octets = transfer_once(ctx, view, apex);
		took = cpu_sec() - start;
		printf("%.1f MB, %.3f ms for 1 MB, %.2f instructions an"
			" octet\n", (double)octets / 1e6,
			took * 1e9 / (double)octets,
			(double)(read_counter(counter) - before)
				/ (double)octets);
	}
	store_reader_offline(reader);
	query_ctx_destroy(ctx);
	store_reader_close(reader);
}

/* ---- many zones ---------------------------------------------------------- */

static void
make_many_zones(struct store_writer *writer, unsigned zones,
	struct names *names)
{
	struct zone_setup *setups = calloc(zones, sizeof(*setups));
	store_ref *entries = calloc(zones, sizeof(*entries));
	uint8_t (*apexes)[64] = calloc(zones, sizeof(*apexes));
	enum nsd_err err;

	if (setups == NULL || entries == NULL || apexes == NULL)
		fail("calloc", NSD_E_MEMORY);
	for (unsigned i = 0; i < zones; i++) {
		char text[64];

		snprintf(text, sizeof(text), "zone%x.test.", i * 2654435761u);
		parse_name(text, apexes[i]);
		setups[i].apex = apexes[i];
	}
	err = table_add(writer, setups, zones, entries);
	if (err != NSD_OK)
		fail("table_add", err);
	for (unsigned i = 0; i < zones; i++) {
		struct rrbatch *batch = rrbatch_create(4096);
		char text[NAME_TEXT_MAX], owner[NAME_TEXT_MAX + 8];

		if (batch == NULL)
			fail("rrbatch_create", NSD_E_MEMORY);
		name_print_text(apexes[i], text);
		add_apex(&batch, text);
		add(&batch, text, TYPE_A, (uint8_t[]){192, 0, 2, 1}, 4);
		snprintf(owner, sizeof(owner), "www.%s", text);
		add(&batch, owner, TYPE_A, (uint8_t[]){192, 0, 2, 1}, 4);
		table_set_zone(writer, entries[i], build(writer, apexes[i],
			batch, NULL));
		rrbatch_destroy_all(batch);
		collect(store_writer_view(writer), store_get(
			store_writer_view(writer), entries[i]), names, 1);
	}
	free(setups);
	free(entries);
	free(apexes);
}

int
main(int argc, char **argv)
{
	const struct store_options options = { .reader_max = 1,
		.huge_pages = getenv("BENCH_HUGE") != NULL };
	bool many = argc > 1 && strcmp(argv[1], "-s") == 0;
	bool transfers = argc > 1 && strcmp(argv[1], "-t") == 0;
	struct names names = {0};
	struct store_writer *writer = NULL;
	const struct store_view *view;
	struct store *store;
	uint8_t apex[NAME_MAX_LEN];

	argc -= many || transfers;
	argv += many || transfers;
	if (argc < 3) {
		fprintf(stderr, "usage: bench_query ZONE FILE [QUERIES]\n"
			"       bench_query [-s] -g NAMES [QUERIES]\n"
			"       bench_query -t ZONE FILE [TIMES]\n");
		return 1;
	}
	if (store_create(&options, &store) != NSD_OK
		|| store_writer_open(store, &writer) != NSD_OK)
		fail("store", NSD_E_SYSTEM);
	view = store_writer_view(writer);
	if (many) {
		make_many_zones(writer, (unsigned)atoi(argv[2]), &names);
	} else if (strcmp(argv[1], "-g") == 0) {
		struct rrbatch *batches = generate((unsigned)atoi(argv[2]));

		parse_name("example.", apex);
		serve(writer, apex, build(writer, apex, batches, NULL));
		rrbatch_destroy_all(batches);
	} else {
		load_file(writer, argv[1], argv[2], apex);
	}
	if (transfers) {
		measure_transfers(store, writer, apex,
			argc > 3 ? (unsigned)atoi(argv[3]) : 5);
	} else {
		if (!many)
			collect(view, store_get(view, table_get(view)->only),
				&names, 1);
		printf("%zu names\n", names.count);
		measure_all(view, &names,
			argc > 3 ? (size_t)atol(argv[3]) : 1u << 18);
	}
	free(names.names);
	store_writer_close(writer);
	store_destroy(store);
	return 0;
}
