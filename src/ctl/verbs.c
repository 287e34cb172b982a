/* verbs.c - the table of what nsd-control can ask for. */
#include "config.h"

#include <string.h>

#include "ctl/verbs.h"

#define ROW(name, word_, least_, most_, flags_, arguments_, help_)           \
	[CTL_##name] = {                                                     \
		.word = word_,                                               \
		.arguments = arguments_,                                     \
		.help = help_,                                               \
		.least = least_,                                             \
		.most = most_,                                               \
		.flags = flags_,                                             \
	},
const struct ctl_verb_row ctl_verb_rows[CTL_VERB_COUNT] = {CTL_VERBS(ROW)};

enum ctl_verb
ctl_verbs_find(const char *word, bool local)
{
	unsigned i = 0;

	while (i < CTL_VERB_COUNT
		&& (strcmp(ctl_verb_rows[i].word, word) != 0
			|| (!local
				&& (ctl_verb_rows[i].flags & CTL_LOCAL) != 0)))
		i++;
	return (enum ctl_verb)i;
}
