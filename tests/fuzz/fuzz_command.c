/* fuzz_command.c - lines of clients of the control channel, from any octets. */
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"
#include "ctl/verbs.h"
#include "fuzz/mutate_tokens.h"
#include "lib/chance.h"
#include "target.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[CTL_LINE_MAX + 1], error[CTL_ERROR_MAX];
	struct ctl_command command;
	size_t len = size < CTL_LINE_MAX ? size : CTL_LINE_MAX;

	memcpy(line, data, len);
	line[len] = '\0';
	if (ctl_command_parse(line, len, &command, error) != NSD_OK) {
		MUST(strncmp(error, "error ", 6) == 0);
		MUST(strlen(error) < CTL_ERROR_MAX);
		for (const char *p = error; *p != '\0'; p++)
			MUST((unsigned char)*p >= ' ' && *p != 0x7f);
		return 0;
	}
	MUST(command.verb < CTL_VERB_COUNT);
	MUST(command.count >= ctl_verb_rows[command.verb].least
		&& command.count <= ctl_verb_rows[command.verb].most);
	for (unsigned i = 0; i < command.count; i++) {
		MUST(command.arguments[i] > line
			&& command.arguments[i] < line + len);
		MUST(command.arguments[i][0] != '\0'
			&& strpbrk(command.arguments[i], " \t\r") == NULL);
	}
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

/* The version of the protocol, verbs, and what these are about. */
static void
put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const words[] = {"NSDCT1", "NSDCT2", "example.",
		"a.b", "pattern", "key", "AAAA", "hmac-sha256", "%s", "\\",
		"0123456789abcdef0123456789abcdef", "1", "-1"};

	if (chance_below(chance, 2) == 0)
		snprintf(out, MUTATE_WORD_MAX, "%s", ctl_verb_rows[
			chance_below(chance, CTL_VERB_COUNT)].word);
	else
		mutate_pick(out, words, sizeof(words) / sizeof(*words),
			chance);
}

static void
put_first(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	int len = snprintf(out, MUTATE_WORD_MAX, "NSDCT%u ",
		1 + chance_below(chance, 8) / 7);
	char word[MUTATE_WORD_MAX];

	put_word(word, chance);
	snprintf(out + len, MUTATE_WORD_MAX - (size_t)len, "%.100s", word);
}

static const struct mutate_text text = {
	.put_word = put_word,
	.put_first = put_first,
};

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_tokens(&text, data, size, max, seed);
}
