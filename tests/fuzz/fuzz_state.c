/*
 * fuzz_state.c - xfrd.state. What is read is printed and read again; a file in
 * pieces reads as one in one piece.
 */
#include <string.h>

#include "fuzz/mutate_tokens.h"
#include "lib/chance.h"
#include "target.h"
#include "xfr/state.h"

struct copies {
	struct xfr_state_zone last;
	uint32_t count;
};

static void
on_copy(void *context, const struct xfr_state_zone *zone)
{
	struct copies *copies = context;

	copies->last = *zone;
	copies->count++;
}

/* A printed zone parses to the same zone. */
static void
on_zone(void *context, const struct xfr_state_zone *zone)
{
	static char text[3 * XFR_STATE_TEXT_MAX];
	static const struct xfr_state_clocks clocks = {1800000000, 5000};
	struct xfr_state_parser again;
	struct copies copies = {.count = 0};
	struct xfr_soa served = {.serial = zone->soas[0].serial};
	struct xfr_start start;
	size_t len = xfr_state_print_head(77, 1, text);

	len += xfr_state_print_zone(zone, 77, text + len);
	len += xfr_state_print_tail(text + len);
	xfr_state_parse_begin(&again, "again", NULL);
	again.on_zone = on_copy;
	again.context = &copies;
	MUST(xfr_state_parse(&again, text, len) == NSD_OK);
	MUST(xfr_state_parse_end(&again) == NSD_OK);
	MUST(copies.count == 1 && again.filetime_sec == 77);
	MUST(memcmp(&copies.last, zone, sizeof(*zone)) == 0);
	xfr_state_to_start(zone, 77, &clocks, &served, &start);
	MUST(start.acquired_at <= clocks.now && start.check_at >= clocks.now);
	(*(uint32_t *)context)++;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xfr_state_parser whole, cut;
	uint32_t count = 0;
	enum nsd_err err;
	bool is_right;

	xfr_state_parse_begin(&whole, "whole", NULL);
	whole.on_zone = on_zone;
	whole.context = &count;
	err = xfr_state_parse(&whole, (const char *)data, size);
	is_right = err == NSD_OK && xfr_state_parse_end(&whole) == NSD_OK;
	MUST(count == whole.zones_read);
	MUST(!is_right || count == whole.zone_count);

	xfr_state_parse_begin(&cut, "cut", NULL);
	for (size_t i = 0; i < size; i++)
		err = xfr_state_parse(&cut, (const char *)data + i, 1);
	MUST(is_right == (err == NSD_OK
		&& xfr_state_parse_end(&cut) == NSD_OK));
	MUST(cut.line == whole.line && cut.zones_read == whole.zones_read);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

static void
put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const words[] = {"NSDXFRD2", "filetime:",
		"numzones:", "zone:", "name:", "state:", "master:",
		"next_master:", "round_num:", "next_timeout:", "backoff:",
		"soa_nsd_acquired:", "soa_nsd:", "soa_disk_acquired:",
		"soa_disk:", "soa_notify_acquired:", "soa_notify:", "6", "1",
		"-1", "0", "2", "#", "example.", ".", "a\\.b.", "\\035a.",
		"1700000000", "12"};

	mutate_pick(out, words, sizeof(words) / sizeof(*words), chance);
}

static const struct mutate_text text = {.put_word = put_word};

TOKENS_FOR_FUZZER(&text)
