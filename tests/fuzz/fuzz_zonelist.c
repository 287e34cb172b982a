/* fuzz_zonelist.c - any octets as a zone list: what is read is written at
 * the same places again. */
#include <stdlib.h>
#include <string.h>

#include "conf/zonelist.h"
#include "fuzz/mutate_tokens.h"
#include "lib/chance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	const uint8_t *data;
	size_t size;
	uint64_t end; /* of the line before */
};

static void
check_place(struct fuzz *f, uint64_t offset, uint32_t len)
{
	if (offset < f->end || len < 5 || offset + len > f->size + 1)
		abort();
	f->end = offset + len;
}

static enum nsd_err
on_zone(void *ctx, const struct zonelist_line *line)
{
	struct fuzz *f = ctx;
	size_t name = strlen(line->name);

	check_place(f, line->offset, line->len);
	if (name == 0 || *line->pattern == '\0'
		|| strchr(line->pattern, ' ') != NULL
		|| strchr(line->name, '\n') != NULL
		|| name + strlen(line->pattern) + 6 > line->len
		|| memcmp(f->data + line->offset + 4, line->name, name) != 0)
		abort();
	return NSD_OK;
}

static void
on_free(void *ctx, const struct zonelist_line *line)
{
	check_place(ctx, line->offset, line->len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {data, size, 0};
	const struct zonelist_reader reader = {&f, on_zone, on_free};
	struct diag_sink sink = {.on_diag = NULL};
	char *text = malloc(size + 1);
	size_t whole;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (zonelist_parse("f", text, size, &reader, &sink, &whole) == NSD_OK
		&& whole > size)
		abort();
	free(text);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

static void
put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const words[] = {"add", "del", "cat", "#",
		"example.", "a", "b.test", "p", "pattern", "a\\.b", "..",
		"abc", "addx",
		"# NSD zone list"};

	mutate_pick(out, words, sizeof(words) / sizeof(*words), chance);
}

static const struct mutate_text text = {.put_word = put_word};

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_tokens(&text, data, size, max, seed);
}
