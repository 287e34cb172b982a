/*
 * fuzz_update.c - two texts of a zone file, with a line "---" between them: the
 * first one is served, and becomes the second one by what the two differ by. It
 * then is the same as one that was built of the second, or both are refused.
 *
 * The first octet: 1 as a secondary's, 2 the changes have to be exact.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/build.h"
#include "fuzz/text_changes.h"
#include "fuzz/words_zone.h"
#include "lib/zone_check.h"
#include "lib/zone_fixture.h"
#include "store/writer.h"
#include "target.h"
#include "update/diff_history.h"
#include "update/update.h"
#include "zonedb/release.h"

#define APEX "example."
#define WIRE ((const uint8_t *)"\7example")
#define TEXT_MAX 8192u
#define HISTORY_MAX 5u

static struct zone_fixture f;

static void
note_step(const struct diff_change *changes, size_t count)
{
	static const struct history_limits limits = {HISTORY_MAX, 0};
	struct history_draft draft;

	history_draft_init(&draft, WIRE, &limits);
	diff_history_fill(&draft, changes, count);
	MUST(draft.lost || draft.from != draft.to);
	history_draft_fini(&draft);
}

static enum nsd_err
apply(store_ref entry, const struct diff_change *changes, size_t count,
	bool exact)
{
	const struct zone_update_options options = {.threads = 1,
		.secondary = f.secondary, .exact = exact};
	struct zone_update *update;
	struct diag_sink sink = {0};
	enum nsd_err err;

	MUST(update_begin(f.writer, entry, &options, &update) == NSD_OK);
	for (size_t i = 0; i < count; i++)
		MUST((changes[i].add ? update_add(update, &changes[i].rr)
			: update_remove(update, &changes[i].rr)) == NSD_OK);
	err = update_commit(update, &sink, NULL);
	MUST((err == NSD_OK) == (sink.errors == 0) || err != NSD_E_ZONE);
	return err;
}

/* Leaves out which nodes keep a hash. A name keeps none whose start is that of
 * another record's hash, so where an update brings such a record, the build of
 * all names knows more. Without a hash of 64 bits in common that needs a chain
 * that is not of this zone. */
static void
leave_out_hashes(char *text)
{
	const unsigned kept = NODE_HASHED | NODE_WILDCARD_HASHED;
	char *at = text;

	while ((at = strstr(at, " flags ")) != NULL) {
		char *end, digits[20];
		unsigned long flags;
		size_t len;

		at += strlen(" flags ");
		flags = strtoul(at, &end, 16);
		/* No longer than before. */
		len = (size_t)snprintf(digits, sizeof(digits), "%lx",
			flags & ~(unsigned long)kept);
		memcpy(at, digits, len);
		at += len;
		memmove(at, end, strlen(end) + 1);
	}
}

/* As readers see both. */
static void
check_same(store_ref changed, store_ref built)
{
	char *a = zone_check_print(f.view, changed, WIRE);
	char *b = zone_check_print(f.view, built, WIRE);

	leave_out_hashes(a);
	leave_out_hashes(b);
	MUST(strcmp(a, b) == 0);
	free(a);
	free(b);
	MUST(zone_check_sound(f.view, changed, WIRE) == NULL);
}

static void
change_to(store_ref entry, const char *text, bool exact)
{
	const struct zone_entry *e = store_get(f.view, entry);
	const struct diff_change *changes;
	enum nsd_err built, changed;
	size_t count;
	store_ref zone;
	struct diff *diff = find_changes(&f, store_get(f.view, e->zone), WIRE,
		text, &changes, &count);

	if (diff == NULL)
		return;
	built = zone_fixture_build(&f, APEX, text, &zone);
	note_step(changes, count);
	changed = apply(entry, changes, count, exact);
	MUST((built == NSD_OK) == (changed == NSD_OK));
	if (built == NSD_OK) {
		check_same(e->zone, zone);
		release_zone(store_writer_heap(f.writer), zone);
	}
	diff_destroy(diff);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;
	char first[TEXT_MAX + 1], *second;
	store_ref entry;

	if (!ready)
		zone_fixture_init(&f);
	ready = true;
	if (size == 0 || size > TEXT_MAX)
		return 0;
	memcpy(first, data + 1, size - 1);
	first[size - 1] = '\0';
	second = strstr(first, "---\n");
	if (second == NULL)
		return 0;
	*second = '\0';
	f.secondary = (data[0] & 1) != 0;
	if (zone_fixture_load(&f, APEX, first, &entry) == NSD_OK)
		change_to(entry, second + 4, (data[0] & 2) != 0);
	store_reclaim(f.writer);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

TOKENS_FOR_FUZZER(&words_zone)
