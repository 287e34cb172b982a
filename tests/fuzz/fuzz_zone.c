/*
 * fuzz_zone.c - any octets as the records of a zone. It is built or refused;
 * what the walk of a zone gives builds the same zone again, without a
 * finding about duplicates or TTLs; freed, it leaves nothing in the store.
 *
 * The first octet says whether it is a secondary's zone. Then, for each
 * record: how the owner is made and its labels, the type, how the RDATA is
 * made and what it is.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/build.h"
#include "dns/name.h"
#include "dns/rdata.h"
#include "zonedb/release.h"

#include "batch.h"
#include "store/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t apex[] = "\7example\3org";

static const uint16_t types[] = {TYPE_A, TYPE_NS, TYPE_SOA, TYPE_CNAME,
	TYPE_MX, TYPE_SRV, TYPE_PTR, TYPE_DNAME, TYPE_DS, TYPE_RRSIG,
	TYPE_NSEC, TYPE_NSEC3, TYPE_NSEC3PARAM, TYPE_DNSKEY, TYPE_AAAA,
	TYPE_MINFO, TYPE_SVCB, TYPE_NAPTR, TYPE_TXT, TYPE_RP, TYPE_AFSDB,
	TYPE_CDS, TYPE_ZONEMD, TYPE_OPT, TYPE_ANY};

/* A name of up to seven labels, in the zone or not. */
static size_t
make_name(struct cursor *in, uint8_t *name)
{
	uint8_t how = next(in);
	size_t len = 0;

	for (unsigned n = how & 7; n > 0; n--) {
		static const char *const words[] = {"\1*", "\2ns", "\3www",
			"\1a", "\1A", "\1b", "\6sub\0\1x", "\1\377"};
		uint8_t word = next(in);
		const char *label = words[word & 7];

		/* One label in four is long. */
		if ((word & 0xc0) == 0xc0 && len < 100) {
			name[len] = (uint8_t)(1 + (word & 63) % 63);
			memset(name + len + 1, 'a' + (word & 15), name[len]);
		} else {
			memcpy(name + len, label, label[0] + 1u);
		}
		len += name[len] + 1u;
	}
	if ((how & 8) == 0) {
		memcpy(name + len, apex, sizeof(apex));
		return len + sizeof(apex);
	}
	name[len] = 0;
	return len + 1;
}

static size_t
make_rdata(struct cursor *in, uint8_t *rdata)
{
	uint8_t how = next(in), names = how >> 6;
	size_t len = how & 31;

	/* Octets, then names, then octets again. */
	for (size_t i = 0; i < len; i++)
		rdata[i] = next(in);
	while (names-- > 0)
		len += make_name(in, rdata + len);
	if ((how & 32) != 0)
		for (unsigned n = next(in) & 63; n > 0; n--)
			rdata[len++] = next(in);
	return len;
}

static void
make_record(struct cursor *in, struct rrbatch *batch)
{
	uint8_t owner[1024], rdata[2048], which;
	size_t owner_len = make_name(in, owner), rdlen;
	const char *why;
	uint16_t type;

	which = next(in);
	type = (which & 0xc0) == 0xc0 ? cursor_read_u16(in)
		: types[which % (sizeof(types) / sizeof(types[0]))];
	rdlen = make_rdata(in, rdata);
	if (in->failed || owner_len > NAME_MAX_LEN
		|| rdata_check(type, rdata, rdlen, &why) == NSD_E_WIRE)
		return;
	name_lower(owner);
	append(batch, owner, (which & 32) != 0 ? 60 : 3600, type, rdata,
		rdlen);
}

static enum nsd_err
on_rr(void *ctx, const struct zone_rr *rr)
{
	const char *why;

	if (rdata_check(rr->type, rr->rdata, rr->rdlen, &why) == NSD_E_WIRE)
		abort();
	append(ctx, rr->owner, rr->ttl_sec, rr->type, rr->rdata, rr->rdlen);
	return NSD_OK;
}

static enum nsd_err
build(struct store_writer *writer, const struct rrbatch *batch,
	bool secondary, struct diag_sink *sink, store_ref *zone)
{
	const struct zone_build_input input = {.apex = apex,
		.batches = batch, .threads = 1, .secondary = secondary};
	enum nsd_err err = build_zone(&input, writer,
		store_writer_heap(writer), sink, zone);

	if ((err == NSD_OK) != (sink->errors == 0))
		abort();
	return err;
}

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	if (strstr(d->text, "duplicate") != NULL
		|| strstr(d->text, "does not match") != NULL
		|| strstr(d->text, "out of zone") != NULL)
		abort();
}

static void
check_again(struct store_writer *writer, const struct rrbatch *first)
{
	struct diag_sink sink = {.on_diag = on_diag};
	struct rrbatch *again;
	store_ref zone;

	if (build(writer, first, true, &sink, &zone) != NSD_OK)
		abort();
	again = walk(store_writer_view(writer), zone, apex, on_rr);
	if (again->len != first->len
		|| memcmp(again->data, first->data, first->len) != 0)
		abort();
	rrbatch_destroy(again);
	release_zone(store_writer_heap(writer), zone);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct store_writer *writer;
	struct rrbatch *batch = rrbatch_create(BATCH_ROOM), *walked;
	struct diag_sink sink = {0};
	struct store_stats stats;
	struct cursor in;
	bool secondary;
	store_ref zone;

	if (batch == NULL)
		abort();
	if (writer == NULL)
		writer = open_store();
	cursor_init(&in, data, size < 65536 ? size : 65536);
	secondary = (next(&in) & 1) != 0;
	while (!in.failed && cursor_left(&in) > 0)
		make_record(&in, batch);
	if (build(writer, batch, secondary, &sink, &zone) == NSD_OK) {
		walked = walk(store_writer_view(writer), zone, apex, on_rr);
		release_zone(store_writer_heap(writer), zone);
		check_again(writer, walked);
		rrbatch_destroy(walked);
	}
	store_get_stats(writer, &stats);
	if (stats.live != 0)
		abort();
	rrbatch_destroy(batch);
	return 0;
}
