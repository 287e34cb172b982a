/*
 * bench_update.c - the cost of a small change of a large zone: CPU time,
 * and octets of the store that it adds.
 *
 * usage: bench_update ZONE FILE [ROUNDS [RECORDS]]
 *
 * Each round is one transaction of 10 records (or so many): SOA and RRSIG
 * replaced, then in turn the NS of 3 delegations, or a new delegation with its
 * NSEC3 and the one before it changed (if the zone has a chain).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile/build.h"
#include "dns/name.h"
#include "store/writer.h"
#include "update/update.h"
#include "zone/nsec3_page.h"
#include "zone/unpack.h"
#include "zonedb/mark.h"
#include "zonedb/table_edit.h"
#include "zonefile/zonefile.h"

struct bench {
	struct store *store;
	struct store_writer *writer;
	const struct store_view *view;
	uint8_t apex[NAME_MAX_LEN];
	store_ref entry;
	struct zone_update *update;
	uint8_t (*cuts)[64]; /* first labels of delegations at the start */
	size_t cut_count;
	uint64_t random;
	unsigned added;
	unsigned records; /* of the transaction */
	unsigned wanted;
};

static void
fail(const char *what, enum nsd_err err)
{
	fprintf(stderr, "bench_update: %s: %s\n", what, err_text(err));
	exit(1);
}

static void
must(const char *what, enum nsd_err err)
{
	if (err != NSD_OK)
		fail(what, err);
}

static double
cpu_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t
rnd(struct bench *b, uint32_t below)
{
	b->random = b->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((b->random >> 33) % below);
}

static const struct zone *
served(const struct bench *b)
{
	const struct zone_entry *e = store_get(b->view, b->entry);

	return store_get(b->view, e->zone);
}

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	if (d->severity == DIAG_ERROR || sink->warnings < 5)
		fprintf(stderr, "%u: %s\n", (unsigned)d->line, d->text);
}

/* ---- the zone ---------------------------------------------------------- */

static void
load(struct bench *b, const char *name, const char *file)
{
	static const uint8_t root[1];
	struct zonefile_options options = {.apex = b->apex,
		.default_ttl_sec = 3600, .threads = 2};
	struct zone_build_input input = {.apex = b->apex, .threads = 2};
	const struct zone_setup setup = {.apex = b->apex};
	struct diag_sink sink = {.on_diag = on_diag};
	struct zonefile_result parsed;
	const char *why;
	store_ref zone;
	size_t len;

	must(name, name_parse_text(name, strlen(name), root, b->apex, &len,
		&why));
	must(file, zonefile_parse(file, &options, &sink, &parsed));
	input.batches = parsed.batches;
	must("build", build_zone(&input, b->writer,
		store_writer_heap(b->writer), &sink, &zone));
	zonefile_result_fini(&parsed);
	must("table", table_add(b->writer, &setup, 1, &b->entry));
	table_set_zone(b->writer, b->entry, zone);
}

static void
list_cuts(struct bench *b)
{
	const struct zone *zone = served(b);
	struct trie_iter iter;
	store_ref ref;

	b->cuts = malloc(zone->node_count * sizeof(*b->cuts));
	if (b->cuts == NULL)
		exit(1);
	trie_iter_init(&iter, b->view, &zone->names.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct node *node = store_get(b->view, ref);

		if ((node->flags & NODE_CUT) != 0 && node->leaf.labels == 1)
			memcpy(b->cuts[b->cut_count++], node->name,
				node->leaf.name_len);
	}
}

/* Takes over as the next loader does: the first update makes the index of
 * contents anew. */
static void
take_over(struct bench *b)
{
	double start = cpu_sec();
	struct store_sweep *sweep;
	uint64_t octets;

	must("sweep", store_sweep_begin(b->writer, &sweep));
	mark_roots(b->writer, sweep);
	must("sweep", store_sweep_end(sweep, &octets));
	store_reclaim(b->writer);
	printf("taken over   %8.1f ms of CPU, %.1f MB swept\n",
		(cpu_sec() - start) * 1e3, (double)octets / 1e6);
	start = cpu_sec();
	must("prepare", update_prepare(b->writer, b->entry));
	printf("prepared     %8.1f ms of CPU\n", (cpu_sec() - start) * 1e3);
}

/* ---- changes ----------------------------------------------------------- */

static void
change(struct bench *b, bool add, const uint8_t *owner, uint32_t ttl_sec,
	uint16_t type, const uint8_t *rdata, size_t rdlen)
{
	const struct zone_rr rr = {.owner = owner, .ttl_sec = ttl_sec,
		.type = type, .rdlen = (uint16_t)rdlen, .rdata = rdata};

	must("change", add ? update_add(b->update, &rr)
			   : update_remove(b->update, &rr));
	b->records++;
}

static void
change_soa(struct bench *b)
{
	const struct zone *zone = served(b);
	const struct rrset *soa = store_get(b->view, zone->soa);
	uint8_t rdata[65535];
	size_t len = unpack_rdata(soa, soa->data, b->apex, rdata);

	change(b, false, b->apex, soa->ttl_sec, TYPE_SOA, rdata, len);
	octets_put_u32(rdata + len - 20, zone->serial + 1);
	change(b, true, b->apex, soa->ttl_sec, TYPE_SOA, rdata, len);
	if (zone->soa_sigs != STORE_NONE) {
		const struct rrset_sigs *sigs = store_get(b->view,
			zone->soa_sigs);

		len = unpack_sig_rdata(b->view, (const struct sig *)sigs->data,
			rdata);
		change(b, false, b->apex, sigs->ttl_sec, TYPE_RRSIG, rdata,
			len);
		rdata[len - 1]++;
		change(b, true, b->apex, sigs->ttl_sec, TYPE_RRSIG, rdata,
			len);
	}
}

/* A delegation that was there at the start; its node may be gone. */
static size_t
choose_cut(struct bench *b, uint8_t owner[NAME_MAX_LEN],
	const struct rrset **ns)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_walk walk = {.root = &served(b)->names.root};

	for (;;) {
		const uint8_t *cut = b->cuts[rnd(b, (uint32_t)b->cut_count)];
		const struct node *node;

		memcpy(owner, cut, cut[0] + 1u);
		memcpy(owner + cut[0] + 1, b->apex, name_len(b->apex));
		walk.name = (struct trie_name){.labels = owner,
			.label_at = label_at, .len = (uint8_t)(cut[0] + 1)};
		for (unsigned p = 0; p < walk.name.len; p += owner[p] + 1u)
			label_at[walk.name.count++] = (uint8_t)p;
		trie_find(b->view, &walk);
		if (walk.exact == STORE_NONE)
			continue;
		node = store_get(b->view, walk.exact);
		*ns = store_get(b->view, node_find_entry(node, TYPE_NS)->ref);
		return node->leaf.name_len;
	}
}

/* NS records as others have them. */
static void
change_ns(struct bench *b)
{
	uint8_t owner[NAME_MAX_LEN], other[NAME_MAX_LEN], rdata[65535];
	const struct rrset *ns, *others;
	size_t len;

	choose_cut(b, owner, &ns);
	choose_cut(b, other, &others);
	len = unpack_rdata(ns, ns->data, b->apex, rdata);
	change(b, false, owner, ns->ttl_sec, TYPE_NS, rdata, len);
	len = unpack_rdata(others, others->data, b->apex, rdata);
	change(b, true, owner, ns->ttl_sec, TYPE_NS, rdata, len);
}

static void
hash_owner(const struct bench *b, const uint8_t *hash, uint8_t *owner)
{
	owner[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(hash, owner + 1);
	memcpy(owner + 1 + NSEC3_LABEL_LEN, b->apex, name_len(b->apex));
}

/* A new name, in the chain. */
static void
add_delegation(struct bench *b)
{
	uint8_t owner[NAME_MAX_LEN], hashed[NAME_MAX_LEN], rdata[65535];
	uint8_t ns_rdata[NAME_MAX_LEN + 2];
	const struct nsec3_chain *chain = store_get(b->view,
		served(b)->chain);
	struct nsec3_find find = {.chain = chain}, *finds = &find;
	const struct nsec3_template *template;
	const struct rrset *ns;
	const struct nsec3_params params = {.salt = chain->salt,
		.salt_len = chain->salt_len, .iterations = chain->iterations};
	struct nsec3_job job = {.name = owner}, *jobs = &job;
	size_t len, at;

	choose_cut(b, owner, &ns);
	len = unpack_rdata(ns, ns->data, b->apex, ns_rdata);
	owner[0] = 9;
	snprintf((char *)owner + 1, 10, "new%06u", b->added++);
	memcpy(owner + 10, b->apex, name_len(b->apex));
	change(b, true, owner, ns->ttl_sec, TYPE_NS, ns_rdata, len);
	nsec3_hash_batch(&params, &jobs, 1);
	memcpy(find.hash, job.hash, NSEC3_HASH_LEN);
	nsec3_find_batch(b->view, &finds, 1);
	template = store_get(b->view, find.record->template);
	len = nsec3_unpack_rdata(b->view, find.record, find.next_hash, rdata);
	at = 6u + chain->salt_len;
	hash_owner(b, find.owner_hash, hashed);
	change(b, false, hashed, template->ttl_sec, TYPE_NSEC3, rdata, len);
	memcpy(rdata + at, job.hash, NSEC3_HASH_LEN);
	change(b, true, hashed, template->ttl_sec, TYPE_NSEC3, rdata, len);
	memcpy(rdata + at, find.next_hash, NSEC3_HASH_LEN);
	hash_owner(b, job.hash, hashed);
	change(b, true, hashed, template->ttl_sec, TYPE_NSEC3, rdata, len);
}

/* ---- rounds ------------------------------------------------------------ */

struct sums {
	double cpu, most_cpu;
	uint64_t octets, most_octets, names, hashed, records;
	unsigned rounds;
};

static uint64_t
in_use(const struct bench *b)
{
	struct store_stats stats;

	store_get_stats(b->writer, &stats);
	return stats.live + stats.retired;
}

static void
run_round(struct bench *b, bool with_chain, struct sums *s)
{
	const struct zone_update_options options = {.threads = 1};
	struct zone_update_result result;
	struct diag_sink sink = {.on_diag = on_diag};
	uint64_t before = in_use(b), octets;
	double start, took;

	b->records = 0;
	start = cpu_sec();
	must("begin", update_begin(b->writer, b->entry, &options,
		&b->update));
	change_soa(b);
	if (with_chain)
		add_delegation(b);
	while (b->records < b->wanted)
		change_ns(b);
	must("commit", update_commit(b->update, &sink, &result));
	octets = in_use(b) - before;
	store_reclaim(b->writer);
	took = cpu_sec() - start;
	s->rounds++;
	s->cpu += took;
	s->octets += octets;
	s->names += result.names;
	s->hashed += result.hashed;
	s->records += result.added + result.removed;
	if (took > s->most_cpu)
		s->most_cpu = took;
	if (octets > s->most_octets)
		s->most_octets = octets;
}

static void
print_sums(const char *what, const struct sums *s)
{
	if (s->rounds == 0)
		return;
	printf("%-24s %8.1f us of CPU (at most %.1f), %8.1f KiB of store "
		"(at most %.1f), %.1f records, %.1f names, %.1f hashes\n",
		what, s->cpu / s->rounds * 1e6, s->most_cpu * 1e6,
		(double)s->octets / s->rounds / 1024,
		(double)s->most_octets / 1024,
		(double)s->records / s->rounds, (double)s->names / s->rounds,
		(double)s->hashed / s->rounds);
}

int
main(int argc, char **argv)
{
	const struct store_options options = {.reader_max = 1};
	struct bench b = {
		.random = 1,
		.wanted = argc > 4 ? (unsigned)atoi(argv[4]) : 10,
	};
	struct sums first = {0}, names = {0}, chain = {0}, after = {0};
	unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 1000;
	uint64_t before;

	if (argc < 3) {
		fprintf(stderr, "usage: bench_update ZONE FILE [ROUNDS "
			"[RECORDS]]\n");
		return 2;
	}
	must("store", store_create(&options, &b.store));
	must("store", store_writer_open(b.store, &b.writer));
	b.view = store_writer_view(b.writer);
	load(&b, argv[1], argv[2]);
	list_cuts(&b);
	before = in_use(&b);
	run_round(&b, false, &first);
	print_sums("the first", &first);
	for (unsigned i = 1; i < rounds; i++) {
		bool with_chain = served(&b)->chain != STORE_NONE && i % 2 == 1;

		run_round(&b, with_chain, with_chain ? &chain : &names);
	}
	print_sums("NS records", &names);
	print_sums("with NSEC3", &chain);
	take_over(&b);
	run_round(&b, false, &after);
	print_sums("the first after that", &after);
	printf("in the store before: %.1f MB, afterwards: %.1f MB\n",
		(double)before / 1e6, (double)in_use(&b) / 1e6);
	free(b.cuts);
	store_writer_close(b.writer);
	store_destroy(b.store);
	return 0;
}
