/* history_fixture.c - differences between versions of a zone, from text. */
#include <stdlib.h>
#include <string.h>

#include "lib/history_fixture.h"
#include "store/writer.h"
#include "zone/zone.h"
#include "zonefile/zonefile.h"

void
history_fixture_add(struct history_draft *draft, const char *text)
{
	const struct zonefile_options options = {.apex = draft->apex,
		.secondary = true};
	struct zonefile_result result;
	const uint8_t *owner = NULL;

	if (zonefile_parse_text("history", text, strlen(text), &options, NULL,
		    &result) != NSD_OK)
		abort();
	for (const struct rrbatch *b = result.batches; b != NULL;
		b = b->next) {
		const struct rrbatch_rr *rr = rrbatch_first(b);

		for (size_t i = 0; i < b->count; i++) {
			struct zone_rr record = {
				.ttl_sec = rr->ttl_sec,
				.type = rr->type,
				.rdlen = rr->rdlen,
				.rdata = rrbatch_rr_rdata(rr),
			};

			owner = rr->owner_len > 0 ? rr->data : owner;
			record.owner = owner;
			history_draft_add(draft, &record);
			rr = rrbatch_next(rr);
		}
	}
	zonefile_result_fini(&result);
}

void
history_fixture_push(struct store_writer *writer, store_ref ref,
	const struct history_limits *limits, const char *removed,
	const char *added)
{
	const struct zone_entry *entry = store_get(store_writer_view(writer),
		ref);
	struct history_draft draft;

	history_draft_init(&draft, entry->name, limits);
	history_fixture_add(&draft, removed);
	history_fixture_add(&draft, added);
	history_push(writer, ref, &draft);
	history_draft_fini(&draft);
}
