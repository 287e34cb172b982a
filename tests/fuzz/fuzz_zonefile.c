/*
 * fuzz_zonefile.c - any octets as a zone file. However it is cut into pieces,
 * by however many threads and with whichever scanner, the same records and
 * findings come out; and what the writer makes of the records reads back as
 * the same ones.
 *
 * The first octet says how it is done, the rest is the file.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
#include "fuzz/words_zone.h"
#include "zonefile/kernel.h"
#include "zonefile/parse.h"
#include "zonefile/writer.h"

#define GENERATE_MAX 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t apex[] = "\7example\3org";

struct octets {
	uint8_t *data;
	size_t len, size;
};

static void
put(struct octets *o, const void *data, size_t len)
{
	if (o->size - o->len < len) {
		o->size = 2 * o->size + len + 256;
		o->data = realloc(o->data, o->size);
		if (o->data == NULL)
			abort();
	}
	if (len > 0)
		memcpy(o->data + o->len, data, len);
	o->len += len;
}

struct outcome {
	struct diag_sink sink;
	struct octets records; /* owner, TTL, type, length, RDATA of each */
	struct octets lines;   /* and its line */
	struct octets findings;
	enum nsd_err err;
};

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct outcome *o = (struct outcome *)sink;

	put(&o->findings, &d->severity, sizeof(d->severity));
	put(&o->findings, &d->line, sizeof(d->line));
	put(&o->findings, &d->column, sizeof(d->column));
	put(&o->findings, d->text, strlen(d->text) + 1);
}

static void
print_rr(struct zonefile_writer *w, const uint8_t *owner,
	const struct rrbatch_rr *rr)
{
	if (zonefile_writer_rr(w, owner, rr->ttl_sec, rr->type,
			rrbatch_rr_rdata(rr), rr->rdlen) != NSD_OK)
		abort();
}

/* Parses; if w is given, writes the records with it. */
static struct outcome
parse(const char *text, size_t len, uint8_t how,
	const struct parse_tuning *tuning, struct zonefile_writer *w)
{
	struct zonefile_options options = { .apex = apex,
		.threads = how >> 6 == 3 ? 2 : 1,
		.secondary = (how & 0x20) != 0 };
	struct outcome o = { .sink = { on_diag, 0, 0 } };
	struct zonefile_result result;
	const uint8_t *owner = NULL;
	const struct rrbatch *b;

	o.err = parse_text("fuzz", text, len, &options, tuning, &o.sink,
		&result);
	if ((o.err == NSD_OK) != (o.sink.errors == 0))
		abort();
	for (b = result.batches; b != NULL; b = b->next) {
		const struct rrbatch_rr *rr = rrbatch_first(b);
		size_t i;

		for (i = 0; i < b->count; i++, rr = rrbatch_next(rr)) {
			if (rr->owner_len > 0)
				owner = rr->data;
			else if (i == 0)
				abort();
			put(&o.records, owner, name_len(owner));
			put(&o.records, &rr->ttl_sec, sizeof(rr->ttl_sec));
			put(&o.records, &rr->type, sizeof(rr->type));
			put(&o.records, &rr->rdlen, sizeof(rr->rdlen));
			put(&o.records, rrbatch_rr_rdata(rr), rr->rdlen);
			put(&o.lines, &rr->line, sizeof(rr->line));
			if (w != NULL)
				print_rr(w, owner, rr);
		}
	}
	zonefile_result_fini(&result);
	return o;
}

static void
outcome_fini(struct outcome *o)
{
	free(o->records.data);
	free(o->lines.data);
	free(o->findings.data);
}

static void
need_same(const char *what, const struct octets *a, const struct octets *b)
{
	if (a->len == b->len && (a->len == 0
			|| memcmp(a->data, b->data, a->len) == 0))
		return;
	fprintf(stderr, "%s differ\n", what);
	abort();
}

static void
check_pieces(const char *text, size_t len, uint8_t how,
	const struct outcome *want)
{
	struct parse_tuning tuning = parse_tuning_default;
	struct outcome have;
	unsigned kernels = 0;

	while (kernel_at(kernels) != NULL)
		kernels++;
	tuning.generate_max = GENERATE_MAX;
	tuning.parallel_size = 0;
	tuning.chunk_size = 1 + (how & 0x1fu) * (how & 0x1fu);
	tuning.head_size = tuning.chunk_size;
	tuning.kernel = kernel_at((unsigned)len % kernels);
	have = parse(text, len, how, &tuning, NULL);
	if (have.err != want->err)
		abort();
	need_same("records of pieces", &have.records, &want->records);
	need_same("lines of pieces", &have.lines, &want->lines);
	need_same("findings of pieces", &have.findings, &want->findings);
	outcome_fini(&have);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parse_tuning tuning = parse_tuning_default;
	struct outcome first, again;
	struct zonefile_writer w;
	char *written;
	size_t written_len;
	FILE *f;

	if (size == 0)
		return 0;
	f = open_memstream(&written, &written_len);
	if (f == NULL || zonefile_writer_init(&w, f, apex) != NSD_OK)
		abort();
	tuning.generate_max = GENERATE_MAX;
	first = parse((const char *)data + 1, size - 1, data[0], &tuning, &w);
	zonefile_writer_fini(&w);
	if (fclose(f) != 0)
		abort();
	check_pieces((const char *)data + 1, size - 1, data[0], &first);
	again = parse(written, written_len, data[0], &tuning, NULL);
	if (again.err != NSD_OK || again.sink.warnings
			> first.sink.warnings) {
		fprintf(stderr, "what was written does not read back:\n%.*s"
			"%s\n", (int)written_len, written,
			(const char *)again.findings.data + 12);
		abort();
	}
	need_same("records written", &again.records, &first.records);
	outcome_fini(&first);
	outcome_fini(&again);
	free(written);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

TOKENS_FOR_FUZZER(&words_zone)
