/*
 * transferred.c - contents of transfers (xfr/changes.h), without a primary.
 *
 *   transferred whole ZONE FILE
 *       writes a zone file to standard output as AXFR brings it
 *   transferred keep FOLDER ZONE FROM TO
 *       puts the octets of standard input into a journal
 */
#include "config.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dns/name.h"
#include "dns/rrtype.h"
#include "journal/journal.h"
#include "xfr/changes.h"
#include "zonefile/zonefile.h"

struct writing {
	uint8_t apex[NAME_MAX_LEN];
	uint8_t out[CHANGES_RECORD_MAX];
	bool soa; /* was written */
};

static void
die(const char *what)
{
	fprintf(stderr, "transferred: %s\n", what);
	exit(1);
}

static void
parse_name(const char *text, uint8_t *name)
{
	const char *why;
	size_t len;

	if (name_parse_text(text, strlen(text), (const uint8_t *)"", name,
		    &len, &why)
		!= NSD_OK)
		die(why);
	name_lower(name);
}

static enum nsd_err
on_batch(void *ctx, const struct rrbatch *batch)
{
	struct writing *w = ctx;
	const struct rrbatch_rr *rr = rrbatch_first(batch), *named = rr;

	for (size_t i = 0; i < batch->count; i++, rr = rrbatch_next(rr)) {
		struct changes_rr change = {
			.action = XFR_ADD,
			.type = rr->type,
			.ttl_sec = rr->ttl_sec,
			.rdlen = rr->rdlen,
			.rdata = rrbatch_rr_rdata(rr),
		};

		if (rr->owner_len > 0)
			named = rr;
		change.owner = named->data;
		change.owner_len = named->owner_len;
		if (!w->soa && rr->type != TYPE_SOA)
			die("the SOA is to come first");
		w->soa = true;
		if (fwrite(w->out, changes_write(w->out, &change), 1, stdout)
			!= 1)
			die("cannot write");
	}
	return NSD_OK;
}

static void
write_whole(const char *zone, const char *file)
{
	static struct writing w;
	struct zonefile_options options = {
		.apex = w.apex,
		.secondary = true,
		.on_batch = on_batch,
		.batch_ctx = &w,
	};
	struct zonefile_result result;

	parse_name(zone, w.apex);
	if (fwrite(w.out, changes_write_head(w.out, XFR_WHOLE, w.apex,
			   name_len(w.apex)), 1, stdout)
			!= 1
		|| zonefile_parse(file, &options, NULL, &result) != NSD_OK
		|| fflush(stdout) != 0)
		die("no such zone file");
	zonefile_result_fini(&result);
}

/* Waits until it is durable. */
static void
await_done(struct journal *journal)
{
	struct pollfd fd = {.fd = journal_fd(journal), .events = POLLIN};
	static struct journal_done done;

	while (!journal_next(journal, &done))
		(void)poll(&fd, 1, -1);
	if (done.err != NSD_OK)
		die(err_text(done.err));
	if (done.entry.kind == JOURNAL_WHOLE)
		journal_accept(journal, done.apex, done.id);
}

static void
keep(const char *folder, const char *zone, const char *from, const char *to)
{
	const struct journal_options options = {.path = folder};
	struct journal_end end = {
		.from = (uint32_t)strtoul(from, NULL, 10),
		.to = (uint32_t)strtoul(to, NULL, 10),
		.source = "127.0.0.1",
	};
	uint8_t apex[NAME_MAX_LEN], buffer[65536];
	struct journal_transfer *transfer;
	struct journal *journal;
	size_t len;

	parse_name(zone, apex);
	if (journal_open(&options, NULL, &journal) != NSD_OK)
		die("no journal");
	transfer = journal_begin(journal, apex);
	while ((len = fread(buffer, 1, sizeof(buffer), stdin)) > 0) {
		if (end.kind == 0)
			end.kind = buffer[0] == XFR_WHOLE ? JOURNAL_WHOLE
							  : JOURNAL_DIFFS;
		if (transfer == NULL
			|| journal_put(transfer, buffer, len) != NSD_OK)
			die("cannot keep it");
	}
	if (transfer == NULL || end.kind == 0
		|| journal_end(transfer, &end) == 0)
		die("nothing to keep");
	await_done(journal);
	journal_close(journal);
}

int
main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "whole") == 0)
		write_whole(argv[2], argv[3]);
	else if (argc == 6 && strcmp(argv[1], "keep") == 0)
		keep(argv[2], argv[3], argv[4], argv[5]);
	else
		die("whole ZONE FILE, or keep FOLDER ZONE FROM TO");
	return 0;
}
