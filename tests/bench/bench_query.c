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
#include <unistd.h>

#include "dns/message.h"
#include "dns/rrbatch.h"
#include "lib/settings_fixture.h"
#include "queries.h"
#include "query/query.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/table_edit.h"
#include "zonefile/zonefile.h"

#define ROUNDS 3

static void
load_file(struct store_writer *writer, const char *name, const char *path,
	uint8_t *apex)
{
	struct zonefile_options options = { .apex = apex,
		.default_ttl_sec = 3600, .threads = 2 };
	struct diag_sink sink = {0};
	struct zonefile_result parsed;
	enum nsd_err err;

	queries_parse_name(name, apex);
	err = zonefile_parse(path, &options, &sink, &parsed);
	if (err != NSD_OK)
		queries_fail(path, err);
	queries_serve(writer, apex, queries_build_zone(writer, apex,
		parsed.batches, path));
	zonefile_result_fini(&parsed);
}

static const char *const kind_names[] = { "existing", "absent", "below",
	"mixed" };

static void
measure(struct query_ctx *ctx, const struct store_view *view,
	const struct queries_request *requests, size_t count, size_t batch,
	const char *title)
{
	double best = 1e9;
	uint64_t octets = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		double start = queries_cpu_sec(), took;

		octets = queries_answer(ctx, view, requests, count, batch);
		took = queries_cpu_sec() - start;
		if (took < best)
			best = took;
	}
	count -= count % batch;
	printf("%-14s batch %2zu %7.1f ns an answer, %5.1f octets\n", title,
		batch, best * 1e9 / (double)count,
		(double)octets / (double)count);
}

static void
measure_all(const struct store_view *view, const struct queries_names *names,
	size_t count)
{
	static const size_t batches[] = { 1, 8, 32, 64 };
	struct query_options options = { .cname_max = 18 };
	struct queries_request *requests = calloc(count, sizeof(*requests));
	static struct counters counters;
	static struct rssac rssac;
	static struct counters rows[4]; /* the memory of a block */
	struct counters_block block;
	struct query_ctx *ctx;
	enum nsd_err err;

	if (getenv("BENCH_RSSAC") != NULL)
		options.rssac = &rssac;
	counters_block_init(&block, rows, 1);
	options.block = &block;
	err = query_ctx_create(&options, &counters, &ctx);
	if (err != NSD_OK || requests == NULL)
		queries_fail("memory", NSD_E_MEMORY);
	for (unsigned k = 0; k < QUERIES_COUNT * 2; k++) {
		enum queries_kind kind = (enum queries_kind)(k / 2);
		char title[32];

		snprintf(title, sizeof(title), "%s%s", kind_names[kind],
			k % 2 ? " DO" : "");
		for (size_t i = 0; i < count; i++)
			queries_make(&requests[i],
				names->names[queries_random_below(
					(uint32_t)names->count)],
				kind, k % 2);
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
		queries_fail("no transfer", NSD_E_BUG);
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
		queries_fail("store_reader_open", NSD_E_SYSTEM);
	options.reader = reader;
	if (query_ctx_create(&options, &counters, &ctx) != NSD_OK)
		queries_fail("memory", NSD_E_MEMORY);
	store_reader_online(reader);
	for (unsigned i = 0; i < times; i++) {
		uint64_t before = read_counter(counter), octets;
		double start = queries_cpu_sec(), took;

		octets = transfer_once(ctx, view, apex);
		took = queries_cpu_sec() - start;
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
	struct queries_names *names)
{
	static const uint8_t address[] = {192, 0, 2, 1};
	struct zone_setup *setups = calloc(zones, sizeof(*setups));
	store_ref *entries = calloc(zones, sizeof(*entries));
	uint8_t (*apexes)[64] = calloc(zones, sizeof(*apexes));
	enum nsd_err err;

	if (setups == NULL || entries == NULL || apexes == NULL)
		queries_fail("calloc", NSD_E_MEMORY);
	for (unsigned i = 0; i < zones; i++) {
		char text[64];

		snprintf(text, sizeof(text), "zone%x.test.", i * 2654435761u);
		queries_parse_name(text, apexes[i]);
		setups[i].apex = apexes[i];
	}
	err = table_add(writer, setups, zones, entries);
	if (err != NSD_OK)
		queries_fail("table_add", err);
	for (unsigned i = 0; i < zones; i++) {
		struct rrbatch *batch = rrbatch_create(4096);
		char text[NAME_TEXT_MAX], owner[NAME_TEXT_MAX + 8];

		if (batch == NULL)
			queries_fail("rrbatch_create", NSD_E_MEMORY);
		name_print_text(apexes[i], text);
		queries_add_apex(&batch, text);
		queries_add_record(&batch, text, TYPE_A, address, 4);
		snprintf(owner, sizeof(owner), "www.%s", text);
		queries_add_record(&batch, owner, TYPE_A, address, 4);
		table_set_zone(writer, entries[i],
			queries_build_zone(writer, apexes[i], batch, NULL));
		rrbatch_destroy_all(batch);
		queries_collect(store_writer_view(writer), store_get(
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
	struct queries_names names = {0};
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
		queries_fail("store", NSD_E_SYSTEM);
	view = store_writer_view(writer);
	if (many) {
		make_many_zones(writer, (unsigned)atoi(argv[2]), &names);
	} else if (strcmp(argv[1], "-g") == 0) {
		struct rrbatch *batches =
			queries_generate_zone((unsigned)atoi(argv[2]));

		queries_parse_name("example.", apex);
		queries_serve(writer, apex,
			queries_build_zone(writer, apex, batches, NULL));
		rrbatch_destroy_all(batches);
	} else {
		load_file(writer, argv[1], argv[2], apex);
	}
	if (transfers) {
		measure_transfers(store, writer, apex,
			argc > 3 ? (unsigned)atoi(argv[3]) : 5);
	} else {
		if (!many)
			queries_collect(view,
				store_get(view, table_get(view)->only),
				&names, 1);
		printf("%zu names\n", names.count);
		measure_all(view, &names, argc > 3
			? (size_t)atol(argv[3]) : 1u << 18);
	}
	free(names.names);
	store_writer_close(writer);
	store_destroy(store);
	return 0;
}
