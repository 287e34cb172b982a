/*
 * fuzz_chain.c - any octets as a zone with NSEC3 records of one or several
 * chains, sound or not. It is built or refused; each hash is found where a
 * walk of the chain says; what the walk of the zone gives builds the same zone
 * again; freed, it leaves nothing in the store.
 *
 * The first octet limits the iterations. Then, for each record: an octet for
 * its type and owner, two for the owner, and the RDATA's.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compile/build.h"
#include "dns/name.h"
#include "dns/rdata.h"
#include "zone/nsec3_page.h"
#include "zonedb/release.h"

#include "batch.h"
#include "store/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t apex[] = "\7example";

/* Many with the same start, many after each other. */
static void
make_hash(struct cursor *in, uint8_t hash[NSEC3_HASH_LEN])
{
	uint8_t fill = next(in), other = next(in);

	memset(hash, fill & 0xf0, NSEC3_HASH_LEN);
	hash[(fill & 15) % NSEC3_HASH_LEN] = other;
	hash[NSEC3_HASH_LEN - 1] ^= (uint8_t)(fill & 15);
}

static void
make_owner(struct cursor *in, unsigned how, uint8_t *owner)
{
	static const uint8_t names[4][3] = {"", "\1a", "\1*", "\1b"};
	uint8_t hash[NSEC3_HASH_LEN];
	size_t len = 0;

	if ((how & 4) == 0) {
		make_hash(in, hash);
		owner[0] = NSEC3_LABEL_LEN;
		nsec3_print_label(hash, owner + 1);
		len = NSEC3_LABEL_LEN + 1;
		/* Not quite a hash. */
		if ((how & 3) == 3)
			owner[1 + hash[1] % NSEC3_LABEL_LEN] = 'z';
	} else {
		len = names[how & 3][0] + 1u;
		memcpy(owner, names[how & 3], len);
		len -= owner[0] == 0;
	}
	memcpy(owner + len, apex, sizeof(apex));
}

static size_t
make_params(struct cursor *in, uint8_t *rdata)
{
	uint8_t how = next(in);

	rdata[0] = (how & 0xf0) == 0xf0 ? 2 : 1;
	rdata[1] = (how & 0xe0) == 0xc0;
	rdata[2] = (how & 0xfc) == 0x7c ? 0xff : 0;
	rdata[3] = how & 1;
	rdata[4] = (how & 2) != 0;
	rdata[5] = 0xab;
	return 5u + rdata[4];
}

static size_t
make_rdata(struct cursor *in, uint16_t type, uint8_t *rdata)
{
	size_t len = 0;

	switch (type) {
	case TYPE_NSEC3PARAM:
		return make_params(in, rdata);
	case TYPE_NSEC3:
		len = make_params(in, rdata);
		rdata[len] = rdata[3] == 1 && (next(in) & 15) == 0 ? 5
			: NSEC3_HASH_LEN;
		len++;
		make_hash(in, rdata + len);
		len += rdata[len - 1];
		memcpy(rdata + len, "\0\1\100", 3);
		return len + ((next(in) & 1) != 0 ? 3 : 0);
	case TYPE_RRSIG:
		memset(rdata, 0, 18);
		rdata[1] = TYPE_NSEC3;
		rdata[17] = next(in) & 3;
		memcpy(rdata + 18, apex, sizeof(apex));
		len = 18 + sizeof(apex);
		memset(rdata + len, 's', 64);
		return len + (next(in) & 63);
	case TYPE_NS:
	case TYPE_DNAME:
		memcpy(rdata, apex, sizeof(apex));
		return sizeof(apex);
	default: /* A */
		memset(rdata, next(in), 4);
		return 4;
	}
}

static void
make_record(struct cursor *in, struct rrbatch *batch)
{
	static const uint16_t types[] = {TYPE_NSEC3, TYPE_NSEC3, TYPE_NSEC3,
		TYPE_RRSIG, TYPE_A, TYPE_NS, TYPE_DNAME, TYPE_NSEC3PARAM};
	uint8_t owner[NAME_MAX_LEN], rdata[512], how = next(in);
	uint16_t type = types[how & 7];
	size_t rdlen;

	make_owner(in, how >> 3 & 7, owner);
	rdlen = make_rdata(in, type, rdata);
	if (!in->failed)
		append(batch, owner, (how & 64) != 0 ? 60 : 3600, type, rdata,
			rdlen);
}

static void
make_apex(struct rrbatch *batch)
{
	static const uint8_t soa[] = "\7example\0\7example\0"
		"\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5";

	append(batch, apex, 3600, TYPE_SOA, soa, sizeof(soa) - 1);
	append(batch, apex, 3600, TYPE_NSEC3PARAM,
		(const uint8_t *)"\1\0\0\0\0", 5);
}

/* ---- the chain --------------------------------------------------------- */

static void
check_find(const struct store_view *view, const struct nsec3_chain *chain,
	struct nsec3_find *find)
{
	size_t len = find->is_prefix ? NSEC3_PREFIX_LEN : NSEC3_HASH_LEN;
	struct nsec3_iter iter;
	store_ref found = STORE_NONE, last = STORE_NONE;
	size_t same = 0;

	nsec3_find_batch(view, &find, 1);
	nsec3_iter_init(&iter, view, chain);
	for (; nsec3_iter_next(&iter); last = iter.ref) {
		int c = memcmp(iter.hash, find->hash, len);

		if (c <= 0)
			found = iter.ref;
		same += c == 0;
	}
	if (found == STORE_NONE)
		found = last;
	if (store_get(view, found) != (const void *)find->record
		|| find->matches != (same > 0)
		|| (find->is_prefix && find->ambiguous != (same > 1)))
		abort();
}

static void
check_chain(const struct store_view *view, const struct zone *zone,
	struct cursor *in)
{
	const struct nsec3_chain *chain = store_get(view, zone->chain);
	struct nsec3_find find = {.chain = chain};
	const uint8_t *last = NULL;
	struct nsec3_iter iter;
	size_t count = 0;

	if (zone->chain == STORE_NONE)
		return;
	nsec3_iter_init(&iter, view, chain);
	for (; nsec3_iter_next(&iter); last = iter.hash, count++)
		if (last != NULL && memcmp(last, iter.hash, NSEC3_HASH_LEN)
				>= 0)
			abort();
	if (count == 0 || count != chain->count)
		abort();
	for (unsigned i = 0; i < 16; i++) {
		make_hash(in, find.hash);
		find.is_prefix = i % 2 == 0;
		check_find(view, chain, &find);
	}
}

/* ---- the zone ---------------------------------------------------------- */

static enum nsd_err
on_rr(void *ctx, const struct zone_rr *rr)
{
	append(ctx, rr->owner, rr->ttl_sec, rr->type, rr->rdata, rr->rdlen);
	return NSD_OK;
}

static bool
build(struct store_writer *writer, const struct rrbatch *batch,
	uint32_t iterations_max, store_ref *zone)
{
	const struct zone_build_input input = {.apex = apex,
		.batches = batch, .threads = 1, .secondary = true,
		.nsec3_iterations_max = iterations_max};
	struct diag_sink sink = {0};

	return build_zone(&input, writer, store_writer_heap(writer), &sink,
		zone) == NSD_OK;
}

static void
check_zone(struct store_writer *writer, const struct rrbatch *batch,
	uint32_t iterations_max, struct cursor *in)
{
	const struct store_view *view = store_writer_view(writer);
	struct store_heap *heap = store_writer_heap(writer);
	struct rrbatch *walked, *again;
	store_ref zone;

	if (!build(writer, batch, iterations_max, &zone))
		return;
	check_chain(view, store_get(view, zone), in);
	walked = walk(view, zone, apex, on_rr);
	release_zone(heap, zone);
	if (!build(writer, walked, iterations_max, &zone))
		abort();
	again = walk(view, zone, apex, on_rr);
	release_zone(heap, zone);
	if (again->len != walked->len
		|| memcmp(again->data, walked->data, walked->len) != 0)
		abort();
	rrbatch_destroy(walked);
	rrbatch_destroy(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct store_writer *writer;
	struct rrbatch *batch = rrbatch_create(BATCH_ROOM);
	struct store_stats stats;
	uint32_t iterations_max;
	struct cursor in, again;

	if (batch == NULL)
		abort();
	if (writer == NULL)
		writer = open_store();
	cursor_init(&in, data, size < 16384 ? size : 16384);
	iterations_max = 1 + (next(&in) & 1u);
	again = in;
	make_apex(batch);
	while (!in.failed && cursor_left(&in) > 0)
		make_record(&in, batch);
	check_zone(writer, batch, iterations_max, &again);
	store_get_stats(writer, &stats);
	if (stats.live != 0)
		abort();
	rrbatch_destroy(batch);
	return 0;
}
