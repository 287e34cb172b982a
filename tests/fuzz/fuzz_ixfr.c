/* fuzz_ixfr.c - a file of what versions of a zone differ by: read, and written
 * and read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/words_zone.h"
#include "loader/ixfr_file.h"

#define APEX ((const uint8_t *)"\7example")

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct history_limits limits = {5, 1u << 20};

static void
check(bool condition)
{
	if (!condition)
		abort();
}

static enum nsd_err
parse(const char *text, size_t len, struct history_draft *draft)
{
	const char *why;

	history_draft_init(draft, APEX, &limits);
	return ixfr_file_parse(text, len, draft, &why);
}

/* The draft is printed as text that parses to the same draft. */
static void
write_again(const struct history_draft *draft)
{
	const struct ixfr_text comments = {.apex = APEX, .name = "example",
		.version = "1"};
	const struct ixfr_octets octets = {draft->from, draft->to,
		draft->octets, draft->len};
	struct history_draft again;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	check(out != NULL);
	check(ixfr_file_print(out, &comments, &octets) == NSD_OK);
	fclose(out);
	check(parse(text, len, &again) == NSD_OK);
	check(again.from == draft->from && again.to == draft->to);
	check(again.len == draft->len
		&& memcmp(again.octets, draft->octets, draft->len) == 0);
	history_draft_fini(&again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct history_draft draft;

	if (parse((const char *)data, size, &draft) == NSD_OK)
		write_again(&draft);
	history_draft_fini(&draft);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

static const struct mutate_text text = {
	.put_word = put_zone_word,
	.put_first = put_zone_first,
};

TOKENS_FOR_FUZZER(&text)
