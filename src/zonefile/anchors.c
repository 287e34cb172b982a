/* anchors.c - reads a file of trust anchors. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "dns/rrtype.h"
#include "zonefile/anchors.h"

/* A file that is being read. */
struct anchors_reading {
	const char *path;
	const uint8_t *apex;
	struct diag_sink *sink;
	struct anchors_file *file;
	size_t room;
};

static enum nsd_err
anchors_take(struct anchors_reading *r, const uint8_t *owner,
	const struct rrbatch_rr *rr)
{
	struct anchors *anchors = &r->file->anchors;
	char type[RRTYPE_TEXT_MAX];
	struct anchor *items;

	if (rr->type != TYPE_DS && rr->type != TYPE_DNSKEY) {
		rrtype_print(rr->type, type);
		diag_emit(r->sink, DIAG_ERROR, r->path, rr->line, 0,
			"a trust anchor is DS or DNSKEY, not %s", type);
		return NSD_E_SYNTAX;
	}
	if (r->apex != NULL && !name_equal(owner, r->apex))
		return NSD_OK;
	items = grow_array(anchors->items, anchors->count, &r->room,
		sizeof(*items));
	if (items == NULL)
		return NSD_E_MEMORY;
	anchors->items = items;
	items[anchors->count++] = (struct anchor){
		.rdata = rrbatch_rr_rdata(rr),
		.type = rr->type,
		.rdlen = rr->rdlen,
	};
	return NSD_OK;
}

static enum nsd_err
anchors_gather(struct anchors_reading *r)
{
	char name[NAME_TEXT_MAX] = "";
	enum nsd_err err = NSD_OK;

	for (const struct rrbatch *b = r->file->result.batches;
		b != NULL && err == NSD_OK; b = b->next) {
		const struct rrbatch_rr *rr = rrbatch_first(b);
		const uint8_t *owner = rr->data;

		for (size_t i = 0; i < b->count && err == NSD_OK; i++) {
			if (rr->owner_len > 0)
				owner = rr->data;
			err = anchors_take(r, owner, rr);
			rr = rrbatch_next(rr);
		}
	}
	if (err != NSD_OK || r->file->anchors.count > 0)
		return err;
	if (r->apex != NULL)
		name_print_text(r->apex, name);
	diag_emit(r->sink, DIAG_ERROR, r->path, 0, 0,
		"it has no trust anchor%s%s", r->apex != NULL ? " of " : "",
		name);
	return NSD_E_SYNTAX;
}

enum nsd_err
anchors_read(const char *path, const uint8_t *apex, struct diag_sink *sink,
	struct anchors_file *file)
{
	static const uint8_t root[] = {0};
	/* Warnings of one record do not spoil another. */
	const struct zonefile_options options = {
		.apex = root,
		.only_files = true,
	};
	struct anchors_reading r = {
		.path = path,
		.apex = apex,
		.sink = sink,
		.file = file,
	};
	enum nsd_err err;

	memset(file, 0, sizeof(*file));
	err = zonefile_parse(path, &options, sink, &file->result);
	if (err == NSD_OK)
		err = anchors_gather(&r);
	if (err != NSD_OK)
		anchors_fini(file);
	return err;
}

void
anchors_fini(struct anchors_file *file)
{
	free(file->anchors.items);
	rrbatch_destroy_all(file->result.batches);
	file->result.batches = NULL;
	zonefile_result_fini(&file->result);
	memset(file, 0, sizeof(*file));
}
