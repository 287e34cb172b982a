/* command.c - the programs that judge new versions of zones. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/fold.h"
#include "conf/command.h"

/* Odd numbers without a pattern, for the sum. */
#define SUM_BEGIN UINT64_C(0x9e3779b97f4a7c15)
#define SUM_STEP UINT64_C(0xd6e8feb86659fd93)

bool
conf_find_judging(const struct conf *conf,
	const struct conf_pattern *options, struct conf_judging *judging)
{
	const struct conf_verify *verify = &conf->verify;
	bool wanted = options->verify_zone == CONF_INHERIT
		? verify->verify_zones : options->verify_zone != 0;

	if (!verify->enable || !wanted)
		return false;
	judging->command = options->verifier.count > 0
		? &options->verifier : &verify->verifier;
	judging->feed = options->verifier_feed_zone == CONF_INHERIT
		? verify->verifier_feed_zone
		: options->verifier_feed_zone != 0;
	judging->timeout_sec =
		options->verifier_timeout == CONF_INHERIT_TIMEOUT
		? verify->verifier_timeout : options->verifier_timeout;
	return judging->command->count > 0;
}

uint64_t
conf_command_sum(const struct conf_strings *command)
{
	uint64_t sum = SUM_BEGIN;

	/* The NUL of each argument counts: "a b" is not "ab". */
	for (uint32_t i = 0; i < command->count; i++) {
		const char *at = command->items[i];

		do
			sum = fold_words(sum ^ (uint8_t)*at, SUM_STEP)
				+ SUM_BEGIN;
		while (*at++ != '\0');
	}
	return sum;
}

/* ---- all commands -------------------------------------------------------- */

/* Copies the arguments, in one piece of memory. */
static char **
command_copy(const struct conf_strings *command)
{
	size_t size = ((size_t)command->count + 1) * sizeof(char *);
	char **argv, *at;

	for (uint32_t i = 0; i < command->count; i++)
		size += strlen(command->items[i]) + 1;
	argv = malloc(size);
	if (argv == NULL)
		return NULL;
	at = (char *)(argv + command->count + 1);
	for (uint32_t i = 0; i < command->count; i++) {
		size_t len = strlen(command->items[i]) + 1;

		argv[i] = memcpy(at, command->items[i], len);
		at += len;
	}
	argv[command->count] = NULL;
	return argv;
}

/* Finds the place of a command, or where it belongs. */
static size_t
commands_seek(const struct conf_commands *commands, uint64_t sum)
{
	size_t low = 0, high = commands->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (commands->items[middle].sum < sum)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
commands_have(const struct conf_commands *commands, size_t place, uint64_t sum)
{
	return place < commands->count && commands->items[place].sum == sum;
}

/* Makes room for one more: the room doubles when it is full. */
static bool
commands_grow(struct conf_commands *commands)
{
	size_t count = commands->count;
	struct conf_command *items;

	if ((count & (count - 1)) != 0)
		return true;
	items = realloc(commands->items,
		(count == 0 ? 1 : 2 * count) * sizeof(*items));
	if (items == NULL)
		return false;
	commands->items = items;
	return true;
}

static bool
commands_add(struct conf_commands *commands, const struct conf_strings *command)
{
	uint64_t sum = conf_command_sum(command);
	size_t place = commands_seek(commands, sum);
	char **argv;

	if (command->count == 0 || commands_have(commands, place, sum))
		return true;
	if (!commands_grow(commands) || (argv = command_copy(command)) == NULL)
		return false;
	memmove(commands->items + place + 1, commands->items + place,
		(commands->count - place) * sizeof(*commands->items));
	commands->items[place] = (struct conf_command){
		.sum = sum,
		.argv = argv,
	};
	commands->count++;
	return true;
}

/* Zones of one pattern stand together, or have options of their own. */
static bool
commands_add_zones(struct conf_commands *commands, const struct conf *conf)
{
	const struct conf_pattern *last = NULL;

	for (size_t i = 0; i < conf->zone_count; i++) {
		const struct conf_pattern *options = conf->zones[i]->options;

		if (options != last && !commands_add(commands,
				&options->verifier))
			return false;
		last = options;
	}
	return true;
}

enum nsd_err
conf_commands_collect(const struct conf *conf, struct conf_commands **commands)
{
	struct conf_commands *made = calloc(1, sizeof(*made));
	bool whole = made != NULL;

	if (whole) {
		whole = commands_add(made, &conf->verify.verifier);
		for (size_t i = 0; whole && i < conf->pattern_count; i++)
			whole = commands_add(made,
				&conf->patterns[i]->verifier);
		whole = whole && commands_add_zones(made, conf);
	}
	if (!whole) {
		conf_commands_destroy(made);
		return NSD_E_MEMORY;
	}
	*commands = made;
	return NSD_OK;
}

void
conf_commands_destroy(struct conf_commands *commands)
{
	if (commands == NULL)
		return;
	for (size_t i = 0; i < commands->count; i++)
		free(commands->items[i].argv);
	free(commands->items);
	free(commands);
}

char *const *
conf_commands_find(const struct conf_commands *commands, uint64_t sum)
{
	size_t place;

	if (commands == NULL)
		return NULL;
	place = commands_seek(commands, sum);
	return commands_have(commands, place, sum)
		? commands->items[place].argv : NULL;
}

bool
conf_commands_are_same(const struct conf_commands *a,
	const struct conf_commands *b)
{
	size_t count = a != NULL ? a->count : 0;

	if (count != (b != NULL ? b->count : 0))
		return false;
	for (size_t i = 0; i < count; i++)
		if (a->items[i].sum != b->items[i].sum)
			return false;
	return true;
}
