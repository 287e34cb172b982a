/* fuzz_command.c - lines of clients of the control channel, from any octets. */
#include <string.h>

#include "ctl/command.h"
#include "fuzz/words_control.h"
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

static const struct mutate_text text = {
	.put_word = control_put_word,
	.put_first = control_put_first,
};

TOKENS_FOR_FUZZER(&text)
