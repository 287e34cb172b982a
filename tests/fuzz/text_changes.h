/* text_changes.h - for targets whose inputs are two texts of a zone: how the
 * second one differs from the first, which is served. */
#ifndef TESTS_FUZZ_TEXT_CHANGES_H
#define TESTS_FUZZ_TEXT_CHANGES_H

#include <string.h>

#include "lib/zone_fixture.h"
#include "target.h"
#include "update/diff.h"
#include "zonefile/zonefile.h"

#define COLLECT_MAX (1u << 20)

/* The differences of the served zone and a text; NULL: the text is no zone
 * file, or there is no difference. */
static inline struct diff *
find_changes(const struct zone_fixture *f, const struct zone *zone,
	const uint8_t *apex, const char *text,
	const struct diff_change **changes, size_t *count)
{
	static const uint64_t key[2] = {1, 2};
	const struct zonefile_options options = {.apex = apex,
		.default_ttl_sec = 3600};
	struct zonefile_result parsed;
	struct diag_sink sink = {0};
	struct diff *diff = NULL;
	bool equal = true;

	if (zonefile_parse_text("text", text, strlen(text), &options, &sink,
		&parsed) != NSD_OK)
		goto fail;
	MUST(diff_create(f->view, zone, apex, key, COLLECT_MAX, &diff)
		== NSD_OK);
	for (const struct rrbatch *b = parsed.batches; b != NULL; b = b->next)
		if (diff_sum(diff, b) != NSD_OK)
			goto fail;
	if (diff_compare(diff, &equal) != NSD_OK || equal)
		goto fail;
	for (const struct rrbatch *b = parsed.batches; b != NULL; b = b->next)
		if (diff_collect(diff, b) != NSD_OK)
			goto fail;
	if (diff_finish(diff, changes, count) != NSD_OK)
		goto fail;
	zonefile_result_fini(&parsed);
	return diff;
fail:
	zonefile_result_fini(&parsed);
	diff_destroy(diff);
	return NULL;
}

#endif
