/* fuzz_command.c - lines of clients of the control channel, from any octets. */
#include <stdlib.h>
#include <string.h>

#include "ctl/command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool condition)
{
	if (!condition)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[CTL_LINE_MAX + 1], error[CTL_ERROR_MAX];
	struct ctl_command command;
	size_t len = size < CTL_LINE_MAX ? size : CTL_LINE_MAX;

	memcpy(line, data, len);
	line[len] = '\0';
	if (ctl_command_parse(line, len, &command, error) != NSD_OK) {
		check(strncmp(error, "error ", 6) == 0);
		check(strlen(error) < CTL_ERROR_MAX);
		for (const char *p = error; *p != '\0'; p++)
			check((unsigned char)*p >= ' ' && *p != 0x7f);
		return 0;
	}
	check(command.verb < CTL_VERB_COUNT);
	check(command.count >= ctl_verb_rows[command.verb].least
		&& command.count <= ctl_verb_rows[command.verb].most);
	for (unsigned i = 0; i < command.count; i++) {
		check(command.arguments[i] > line
			&& command.arguments[i] < line + len);
		check(command.arguments[i][0] != '\0'
			&& strpbrk(command.arguments[i], " \t\r") == NULL);
	}
	return 0;
}
