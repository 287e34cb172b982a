/* command.c - takes the line of a client apart. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "ctl/command.h"

#define BLANKS " \t\r"

/* Cuts the next word off; NULL: there is none. */
static char *
command_next_word(char **rest)
{
	char *word = *rest + strspn(*rest, BLANKS), *end;

	if (*word == '\0')
		return NULL;
	end = word + strcspn(word, BLANKS);
	*rest = *end != '\0' ? end + 1 : end;
	*end = '\0';
	return word;
}

/* Copies a client's word; control characters, which may not stand in a line,
 * become '?'. */
static void
command_print_word(const char *word, char *out, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && word[i] != '\0'; i++)
		out[i] = (unsigned char)word[i] < ' ' || word[i] == 0x7f
			? '?' : word[i];
	out[i] = '\0';
}

static bool
command_take_flag(const char *word, struct ctl_command *command)
{
	if (strcmp(word, "--no-wait") == 0)
		command->no_wait = true;
	else if (strcmp(word, "-j") == 0)
		command->json = true;
	else
		return false;
	return true;
}

static enum nsd_err
command_check_count(const struct ctl_command *command,
	char error[CTL_ERROR_MAX])
{
	const struct ctl_verb_row *row = &ctl_verb_rows[command->verb];
	char shown[CTL_ERROR_MAX - 56] = "";

	if (command->count >= row->least && command->count <= row->most)
		return NSD_OK;
	if (command->count > row->most) {
		snprintf(error, CTL_ERROR_MAX,
			"error too many arguments: %s%s%s", row->word,
			row->most > 0 ? " " : "", row->arguments);
		return NSD_E_SYNTAX;
	}
	if (command->count > 0)
		command_print_word(command->arguments[command->count - 1],
			shown, sizeof(shown));
	snprintf(error, CTL_ERROR_MAX,
		"error could not find next argument after %s", shown);
	return NSD_E_SYNTAX;
}

enum nsd_err
ctl_command_parse(char *line, size_t len, struct ctl_command *command,
	char error[CTL_ERROR_MAX])
{
	char shown[CTL_ERROR_MAX / 2], *word;

	*command = (struct ctl_command){.verb = CTL_VERB_COUNT};
	if (strlen(line) != len) {
		snprintf(error, CTL_ERROR_MAX, "error NUL in the command");
		return NSD_E_SYNTAX;
	}
	word = command_next_word(&line);
	if (word == NULL || strcmp(word, CTL_MAGIC) != 0) {
		snprintf(error, CTL_ERROR_MAX, "error version mismatch");
		return NSD_E_SYNTAX;
	}
	do
		word = command_next_word(&line);
	while (word != NULL && command_take_flag(word, command));
	command->verb = ctl_verbs_find(word != NULL ? word : "", false);
	if (command->verb == CTL_VERB_COUNT) {
		command_print_word(word != NULL ? word : "", shown,
			sizeof(shown));
		snprintf(error, CTL_ERROR_MAX, "error unknown command '%s'",
			shown);
		return NSD_E_SYNTAX;
	}
	while ((word = command_next_word(&line)) != NULL) {
		if (command->count == CTL_WORDS_MAX) {
			snprintf(error, CTL_ERROR_MAX,
				"error too many arguments");
			return NSD_E_SYNTAX;
		}
		command->arguments[command->count++] = word;
	}
	return command_check_count(command, error);
}
