/*
 * test_build_property.c - random zones: what goes into a build comes out of
 * the walk, as sent RRsets parse to the same, and nothing is left when a zone
 * is freed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile/build.h"
#include "dns/name.h"
#include "dns/rdata.h"
#include "lib/chance.h"
#include "lib/store_fixture.h"
#include "store/writer.h"
#include "unit/compile/chain_check.h"
#include "zone/unpack.h"
#include "zone/walk.h"
#include "zonedb/release.h"

#define RECORDS_MAX 200000u

struct record {
	uint8_t owner[NAME_MAX_LEN];
	uint32_t ttl_sec;
	uint16_t type;
	uint16_t rdlen;
	uint8_t *rdata;
};

struct world {
	uint64_t random;
	uint8_t apex[NAME_MAX_LEN];
	size_t apex_len;
	struct record *records;
	size_t count;
	unsigned label_pool; /* few labels: many shared suffixes */
	bool odd_octets;
	bool chain;          /* with an NSEC3PARAM; owners are hashes */
	struct store_fixture s;
};

static uint32_t
rnd(struct world *w, uint32_t below)
{
	return chance_below(&w->random, below);
}

/* ---- making records ---------------------------------------------------- */

static size_t
make_label(struct world *w, uint8_t *out)
{
	static const char *const words[] = {"ns1", "ns2", "www", "mail", "a",
		"b", "*", "example", "com", "x-1", "ab", "abc", "NS1", "Mail"};
	uint32_t i = rnd(w, w->label_pool);
	char number[16];
	const char *word = number;

	if (w->odd_octets && rnd(w, 4) == 0) {
		out[0] = (uint8_t)(1 + rnd(w, 3));
		for (unsigned n = 1; n <= out[0]; n++)
			out[n] = (uint8_t)(rnd(w, 2) == 0 ? rnd(w, 4)
							  : 0xfc + rnd(w, 4));
		return out[0] + 1u;
	}
	if (i < sizeof(words) / sizeof(words[0]))
		word = words[i];
	else
		snprintf(number, sizeof(number), "host%u", (unsigned)i);
	out[0] = (uint8_t)strlen(word);
	memcpy(out + 1, word, out[0]);
	return out[0] + 1u;
}

/* A name of a few labels, mostly in the zone. */
static size_t
make_name(struct world *w, uint8_t *out, bool in_zone)
{
	size_t len = 0;

	for (unsigned n = rnd(w, 4); n > 0; n--)
		len += make_label(w, out + len);
	if (in_zone || rnd(w, 3) > 0) {
		memcpy(out + len, w->apex, w->apex_len);
		return len + w->apex_len;
	}
	out[len] = 0;
	return len + 1;
}

static size_t
make_rdata(struct world *w, uint16_t type, uint8_t *out)
{
	size_t len = 0;

	switch (type) {
	case TYPE_NS: case TYPE_CNAME: case TYPE_PTR: case TYPE_MB:
	case TYPE_DNAME:
		return make_name(w, out, false);
	case TYPE_MX: case TYPE_RT:
		octets_put_u16(out, (uint16_t)rnd(w, 3));
		return 2 + make_name(w, out + 2, false);
	case TYPE_SRV:
		memset(out, (int)rnd(w, 2), 6);
		return 6 + make_name(w, out + 6, false);
	case TYPE_MINFO:
		len = make_name(w, out, false);
		return len + make_name(w, out + len, false);
	case TYPE_SOA:
		len = make_name(w, out, false);
		len += make_name(w, out + len, false);
		for (unsigned i = 0; i < 5; i++, len += 4)
			octets_put_u32(out + len, rnd(w, 100000));
		return len;
	case TYPE_A:
		octets_put_u32(out, rnd(w, 50));
		return 4;
	case TYPE_AAAA:
		memset(out, (int)rnd(w, 10), 16);
		return 16;
	case TYPE_RRSIG:
		octets_put_u16(out, rnd(w, 2) == 0 ? TYPE_NSEC3 : TYPE_A);
		out[2] = 13;
		out[3] = (uint8_t)rnd(w, 3);
		octets_put_u32(out + 4, 3600);
		octets_put_u32(out + 8, rnd(w, 1000));
		octets_put_u32(out + 12, rnd(w, 1000));
		octets_put_u16(out + 16, (uint16_t)rnd(w, 2));
		memcpy(out + 18, w->apex, w->apex_len);
		len = 18 + w->apex_len;
		for (unsigned n = rnd(w, 70); n > 0; n--)
			out[len++] = (uint8_t)rnd(w, 256);
		return len;
	case TYPE_NSEC3PARAM:
		memcpy(out, "\1\0\0\5\0", 5);
		out[1] = rnd(w, 8) == 0;
		out[3] = (uint8_t)(5 + rnd(w, 2));
		return 5;
	case TYPE_NSEC3:
		memcpy(out, "\1\0\0\5\0\4", 6);
		octets_put_u32(out + 6, rnd(w, 100));
		if (!w->chain || rnd(w, 6) == 0)
			return 10;
		out[3] = (uint8_t)(rnd(w, 8) == 0 ? 6 : 5);
		out[5] = NSEC3_HASH_LEN;
		memset(out + 6, (int)rnd(w, 200), NSEC3_HASH_LEN);
		memcpy(out + 26, "\0\1\100", 3);
		return rnd(w, 2) == 0 ? 26 : 29;
	default: /* TXT */
		out[0] = (uint8_t)rnd(w, 20);
		memset(out + 1, 'T' + (int)rnd(w, 3), out[0]);
		return out[0] + 1u;
	}
}

static void
add_record(struct world *w, const uint8_t *owner, uint32_t ttl_sec,
	uint16_t type)
{
	struct record *r = &w->records[w->count++];
	uint8_t rdata[2048];

	assert_true(w->count <= RECORDS_MAX);
	memset(r->owner, 0, sizeof(r->owner));
	memcpy(r->owner, owner, name_len(owner));
	name_lower(r->owner);
	r->ttl_sec = ttl_sec;
	r->type = type;
	r->rdlen = (uint16_t)make_rdata(w, type, rdata);
	r->rdata = malloc(r->rdlen + 1u);
	memcpy(r->rdata, rdata, r->rdlen);
}

/* Adds records of a chain, which may be broken. */
static void
add_hash_records(struct world *w)
{
	uint8_t owner[NAME_MAX_LEN], hash[NSEC3_HASH_LEN];

	memset(hash, (int)rnd(w, 200), sizeof(hash));
	hash[19] = (uint8_t)rnd(w, 200);
	owner[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(hash, owner + 1);
	memcpy(owner + 1 + NSEC3_LABEL_LEN, w->apex, w->apex_len);
	add_record(w, owner, 3600, TYPE_NSEC3);
	if (rnd(w, 2) == 0)
		add_record(w, owner, 3600, TYPE_RRSIG);
	if (rnd(w, 10) == 0)
		add_record(w, owner, 3600, TYPE_NSEC3);
	if (rnd(w, 10) == 0)
		add_record(w, owner, 3600, TYPE_A);
}

static void
make_records(struct world *w, size_t count)
{
	static const uint16_t types[] = {TYPE_A, TYPE_A, TYPE_AAAA, TYPE_NS,
		TYPE_NS, TYPE_NS, TYPE_MX, TYPE_CNAME, TYPE_PTR, TYPE_TXT,
		TYPE_SRV, TYPE_MINFO, TYPE_RRSIG, TYPE_RRSIG, TYPE_NSEC3,
		TYPE_DNAME, TYPE_MB, TYPE_RT};

	add_record(w, w->apex, 3600, TYPE_SOA);
	add_record(w, w->apex, 3600, TYPE_NS);
	for (unsigned n = w->chain ? 1 + rnd(w, 2) : 0; n > 0; n--)
		add_record(w, w->apex, 3600, TYPE_NSEC3PARAM);
	while (w->count < count) {
		uint8_t owner[NAME_MAX_LEN];

		if (w->chain && rnd(w, 3) == 0) {
			add_hash_records(w);
			continue;
		}
		make_name(w, owner, rnd(w, 50) > 0);
		/* One owner in twenty gets many records. */
		for (unsigned n = 1 + rnd(w, rnd(w, 20) == 0 ? 40 : 4); n > 0
			&& w->count < count; n--)
			add_record(w, owner, rnd(w, 20) == 0 ? 60 : 3600,
				types[rnd(w, sizeof(types)
					/ sizeof(types[0]))]);
	}
	/* In any order. */
	for (size_t i = w->count; i-- > 1;) {
		size_t j = rnd(w, (uint32_t)i + 1);
		struct record moved = w->records[i];

		w->records[i] = w->records[j];
		w->records[j] = moved;
	}
}

static struct rrbatch *
make_batches(struct world *w)
{
	struct rrbatch *first = NULL, **tail = &first, *batch = NULL;
	const struct record *before = NULL;

	for (size_t i = 0; i < w->count; i++) {
		const struct record *r = &w->records[i];
		struct rrbatch_rr head = {
			.line = (uint32_t)i + 1,
			.ttl_sec = r->ttl_sec,
			.type = r->type,
			.rdlen = r->rdlen,
			.owner_len = (uint8_t)name_len(r->owner),
		};
		bool same = before != NULL && rnd(w, 2) == 0
			&& name_equal(before->owner, r->owner);

		while (batch == NULL || rrbatch_append(batch, &head,
				same ? NULL : r->owner, r->rdata) != NSD_OK) {
			batch = rrbatch_create(2 * (size_t)r->rdlen + 700
				+ rnd(w, 100000));
			*tail = batch;
			tail = &batch->next;
			same = false;
		}
		before = r;
	}
	return first;
}

/* ---- expected records -------------------------------------------------- */

static struct world *sorting;

static unsigned
covered(const struct record *r)
{
	return r->type == TYPE_RRSIG
		? octets_get_u16(r->rdata) * 2u + 1 : r->type * 2u;
}

static int
record_compare(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	int c = name_compare(x->owner, y->owner);
	unsigned cx = covered(x), cy = covered(y);

	if (c != 0)
		return c;
	/* The SOA of the apex is first of all. */
	if (name_equal(x->owner, sorting->apex)) {
		cx = cx / 2 == TYPE_SOA ? cx % 2 : cx;
		cy = cy / 2 == TYPE_SOA ? cy % 2 : cy;
	}
	if (cx != cy)
		return cx < cy ? -1 : 1;
	return rdata_compare(x->type, x->rdata, x->rdlen, y->rdata, y->rdlen);
}

/* Sorts the records, leaves out those that are not in the zone and duplicates,
 * and gives each RRset its lowest TTL. */
static void
make_expected(struct world *w)
{
	size_t n = 0, i, start;

	for (i = 0; i < w->count; i++) {
		if (name_is_within(w->records[i].owner, w->apex))
			w->records[n++] = w->records[i];
		else
			free(w->records[i].rdata);
	}
	w->count = n;
	sorting = w;
	qsort(w->records, n, sizeof(*w->records), record_compare);
	for (start = 0; start < n; start = i) {
		uint32_t lowest = w->records[start].ttl_sec;

		for (i = start; i < n && covered(&w->records[i])
				== covered(&w->records[start])
			&& name_equal(w->records[i].owner,
				w->records[start].owner); i++)
			if (w->records[i].ttl_sec < lowest)
				lowest = w->records[i].ttl_sec;
		for (size_t k = start; k < i; k++)
			w->records[k].ttl_sec = lowest;
	}
	for (i = 0, n = 0; i < w->count; i++) {
		if (n > 0 && record_compare(&w->records[n - 1],
				&w->records[i]) == 0)
			free(w->records[i].rdata);
		else
			w->records[n++] = w->records[i];
	}
	w->count = n;
}

struct checker {
	const struct world *w;
	size_t at;
};

static enum nsd_err
check_record(void *ctx, const struct zone_rr *rr)
{
	struct checker *c = ctx;
	const struct record *r = &c->w->records[c->at++];

	assert_true(c->at <= c->w->count);
	assert_int_equal(rr->type, r->type);
	assert_memory_equal(rr->owner, r->owner, name_len(r->owner));
	assert_int_equal(rr->ttl_sec, r->ttl_sec);
	/* Any of the duplicates that differ in case may remain. */
	assert_int_equal(rr->rdlen, r->rdlen);
	assert_int_equal(rdata_compare(rr->type, rr->rdata, rr->rdlen,
		r->rdata, r->rdlen), 0);
	return NSD_OK;
}

/* ---- RRsets as they are sent ------------------------------------------- */

static void
put_sent(uint8_t *message, size_t at, const struct rrset *rrset,
	size_t apex_at)
{
	const struct rrset_tail *tail = rrset_get_tail(rrset);
	const uint8_t *rr = rrset->data, *end = rr + rrset_len(rrset);
	size_t out = at;

	for (; rr < end; rr += 2u + octets_get_u16(rr)) {
		size_t len = 2u + octets_get_u16(rr);
		size_t head = rrset_rr_head(rrset);

		memset(message + out, 0, head);
		memcpy(message + out + head, rr, len);
		out += head + len;
	}
	for (unsigned i = 0; tail != NULL && i < tail->fixup_count; i++) {
		uint8_t *cell = message + at + tail->fixups[i];
		unsigned v = octets_get_u16(cell);

		assert_true(i == 0 || tail->fixups[i] > tail->fixups[i - 1]);
		assert_true((v & RRSET_CELL) != 0);
		if ((v & RRSET_CELL_INNER) == 0)
			v = 0xc000u | (unsigned)(apex_at + (v & 0x3fff));
		else
			v = 0xc000u | (unsigned)(at + (v & 0x3fff));
		octets_put_u16(cell, (uint16_t)v);
	}
}

static void
check_sent(const struct world *w, const struct rrset *rrset)
{
	static uint8_t message[65536], rdata[65536], unpacked[65536];
	size_t apex_at = 12, at = apex_at + w->apex_len + 100, sent = at;
	const uint8_t *rr = rrset->data, *end = rr + rrset_len(rrset);
	const struct rrset_tail *tail = rrset_get_tail(rrset);

	if (rrset_len(rrset) + rrset->count * (size_t)RRSET_RR_HEAD > 60000)
		return;
	memcpy(message + apex_at, w->apex, w->apex_len);
	put_sent(message, at, rrset, apex_at);
	for (; rr < end; rr += 2u + octets_get_u16(rr)) {
		struct cursor c;
		size_t len, want;

		sent += rrset_rr_head(rrset) + 2;
		cursor_init(&c, message, sizeof(message));
		assert_non_null(cursor_read_octets(&c, sent));
		if (rdata_read(rrset->type, &c, octets_get_u16(rr), rdata,
			    &len) != NSD_OK)
			fail_msg("type %u does not read back", rrset->type);
		want = unpack_rdata(rrset, rr, w->apex, unpacked);
		assert_int_equal(len, want);
		assert_memory_equal(rdata, unpacked, len);
		sent += octets_get_u16(rr);
	}
	for (unsigned i = 0; tail != NULL && i < tail->target_count; i++) {
		const struct rrset_target *t = &rrset_tail_targets(tail)[i];
		uint8_t name[NAME_MAX_LEN];
		struct cursor c;
		size_t len;

		cursor_init(&c, message, sizeof(message));
		assert_non_null(cursor_read_octets(&c, at + t->offset));
		assert_int_equal(name_read(&c, name, &len), NSD_OK);
		/* "." is the owner, of SVCB. */
		assert_int_equal(t->glue != STORE_NONE, !name_is_root(name)
			&& name_is_within(name, w->apex));
	}
}

static void
check_nodes(const struct world *w, const struct trie *trie)
{
	const struct store_view *view = store_writer_view(w->s.writer);
	struct trie_iter iter;
	store_ref ref;

	trie_iter_init(&iter, view, &trie->root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct node *node = store_get(view, ref);
		const struct node_rrset *e = node_entries(node);

		assert_int_equal((node->flags & NODE_EMPTY) != 0,
			node->entry_count == 0);
		for (unsigned i = 0; i < node->entry_count; i++) {
			const struct rrset *rrset = store_get(view, e[i].ref);

			if ((e[i].flags & NODE_RRSET_SIGS) != 0)
				continue;
			assert_int_equal(rrset_rr_head(rrset),
				w->apex_len == 1 && node->leaf.labels == 0
					? 9 : 10);
			check_sent(w, rrset);
		}
	}
}

/* ---- the property ------------------------------------------------------ */

static void
run_zone(struct world *w, size_t count, unsigned threads)
{
	struct zone_build_input input = {.apex = w->apex, .threads = threads,
		.secondary = true};
	struct store_heap *heap = store_writer_heap(w->s.writer);
	uint64_t before = store_fixture_live(w->s.writer);
	struct diag_sink sink = {0};
	struct checker c = {.w = w};
	struct rrbatch *batches;
	const struct zone *zone;
	store_ref ref;

	w->count = 0;
	w->apex_len = name_len(w->apex);
	make_records(w, count);
	batches = make_batches(w);
	input.batches = batches;
	assert_int_equal(build_zone(&input, w->s.writer, heap, &sink, &ref),
		NSD_OK);
	assert_int_equal(sink.errors, 0);
	rrbatch_destroy_all(batches);
	make_expected(w);
	zone = store_get(store_writer_view(w->s.writer), ref);
	assert_int_equal(zone->rr_count, w->count);
	assert_int_equal(zone_walk(store_writer_view(w->s.writer), zone,
		w->apex, check_record, &c), NSD_OK);
	assert_int_equal(c.at, w->count);
	check_nodes(w, &zone->names);
	check_nodes(w, &zone->nsec3);
	check_chain(store_writer_view(w->s.writer), w->apex, zone);
	release_zone(heap, ref);
	assert_int_equal(store_fixture_live(w->s.writer), before);
	for (size_t i = 0; i < w->count; i++)
		free(w->records[i].rdata);
}

static int
open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->records = calloc(RECORDS_MAX, sizeof(*w->records));
	w->label_pool = 20;
	memcpy(w->apex, "\7example\3com", 13);
	store_fixture_init(&w->s, 1);
	*state = w;
	return 0;
}

static int
close_world(void **state)
{
	struct world *w = *state;

	store_fixture_fini(&w->s);
	free(w->records);
	free(w);
	return 0;
}

/* RFC 4034 section 6, RFC 1035 section 4.1.4, RFC 3597 section 4 */
static void
records_in_are_records_out(void **state)
{
	struct world *w = *state;

	for (unsigned seed = 0; seed < 300; seed++) {
		w->random = seed;
		w->label_pool = 3 + seed % 40;
		w->odd_octets = seed % 3 == 0;
		w->chain = seed % 2 == 0;
		run_zone(w, 4 + seed * 2, 1);
	}
}

static void
root_zone_and_long_apex(void **state)
{
	struct world *w = *state;

	w->random = 77;
	memset(w->apex, 0, sizeof(w->apex));
	w->chain = true;
	run_zone(w, 300, 1);
	w->chain = false;
	for (unsigned i = 0; i < 3; i++) {
		w->apex[i * 64] = 63;
		memset(w->apex + i * 64 + 1, 'a' + (int)i, 63);
	}
	run_zone(w, 300, 1);
	memset(w->apex, 0, sizeof(w->apex));
	memcpy(w->apex, "\7example\3com", 13);
}

static void
several_threads_give_the_same(void **state)
{
	struct world *w = *state;

	for (unsigned threads = 2; threads <= 5; threads++) {
		w->random = threads;
		w->label_pool = 60;
		w->odd_octets = threads % 2 == 0;
		w->chain = threads % 2 == 1;
		run_zone(w, 120000, threads);
	}
}

/* ---- every type -------------------------------------------------------- */

static size_t
read_hex(const char *hex, uint8_t *out)
{
	size_t len = 0;
	unsigned octet;

	for (; hex[0] != '\t' && sscanf(hex, "%2x", &octet) == 1; hex += 2)
		out[len++] = (uint8_t)octet;
	return len;
}

/* Adds a row "TYPE<tab>text<tab>hex<tab>text" at an owner of its own. */
static void
add_row(struct world *w, char *line)
{
	struct record *r = &w->records[w->count];
	static uint8_t rdata[65536];
	char *hex = strchr(line, '\t');

	if (line[0] == '#' || line[0] == '!' || line[0] == '?' || hex == NULL)
		return;
	*hex = '\0';
	hex = strchr(hex + 1, '\t');
	if (hex == NULL || rrtype_parse(line, strlen(line), &r->type) != NSD_OK
		|| rrtype_is_meta(r->type))
		return;
	memset(r->owner, 0, sizeof(r->owner));
	snprintf((char *)r->owner, sizeof(r->owner), "\6t%05zu\7example\3com",
		w->count);
	r->ttl_sec = 3600;
	r->rdlen = (uint16_t)read_hex(hex + 1, rdata);
	r->rdata = malloc(r->rdlen + 1u);
	memcpy(r->rdata, rdata, r->rdlen);
	w->count++;
}

static enum nsd_err
check_row(void *ctx, const struct zone_rr *rr)
{
	struct checker *c = ctx;
	const struct record *r = &c->w->records[c->at++];

	assert_int_equal(rr->type, r->type);
	assert_int_equal(rr->rdlen, r->rdlen);
	assert_memory_equal(rr->rdata, r->rdata, r->rdlen);
	return NSD_OK;
}

static void
every_type_comes_out_octet_for_octet(void **state)
{
	struct world *w = *state;
	struct zone_build_input input = {.apex = w->apex, .threads = 1,
		.secondary = true};
	FILE *f = fopen(TESTS_DIR "/data/rrtypes.txt", "r");
	struct checker c = {.w = w};
	struct diag_sink sink = {0};
	struct rrbatch *batches;
	const struct zone *zone;
	static char line[200000];
	store_ref ref;

	assert_non_null(f);
	w->count = 0;
	w->apex_len = name_len(w->apex);
	add_record(w, w->apex, 3600, TYPE_SOA);
	while (fgets(line, sizeof(line), f) != NULL)
		add_row(w, line);
	fclose(f);
	assert_true(w->count > 200);
	batches = make_batches(w);
	input.batches = batches;
	assert_int_equal(build_zone(&input, w->s.writer,
		store_writer_heap(w->s.writer), &sink, &ref), NSD_OK);
	rrbatch_destroy_all(batches);
	zone = store_get(store_writer_view(w->s.writer), ref);
	assert_int_equal(zone->rr_count, w->count);
	/* NSEC3 owners stand at their place among the names. */
	assert_int_equal(zone_walk(store_writer_view(w->s.writer), zone,
		w->apex, check_row, &c), NSD_OK);
	assert_int_equal(c.at, w->count);
	check_nodes(w, &zone->names);
	release_zone(store_writer_heap(w->s.writer), ref);
	for (size_t i = 0; i < w->count; i++)
		free(w->records[i].rdata);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_in_are_records_out),
		cmocka_unit_test(root_zone_and_long_apex),
		cmocka_unit_test(several_threads_give_the_same),
		cmocka_unit_test(every_type_comes_out_octet_for_octet),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
