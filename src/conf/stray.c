/* stray.c - says what is wrong with words that stand where they should not. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "conf/parser.h"

static void
stray_error(struct conf_parser *p, const struct conf_word *word,
	const char *expected, const char *name)
{
	struct conf_place place = { word->file, word->line };

	error_syntax(p, &place, word->text, "expected %s %s:", expected, name);
}

/* The name that a word was perhaps meant to be: with its colon forgotten, the
 * blank behind that, or in capitals. NULL: none. */
static const struct conf_name *
stray_guess(struct conf_parser *p, const struct conf_word *word)
{
	char text[80];
	size_t len = strcspn(word->text, ":"), i;

	if (word->quoted || len >= sizeof(text))
		return NULL;
	for (i = 0; i < len; i++)
		text[i] = (char)tolower((unsigned char)word->text[i]);
	return map_find(&p->names, text, len);
}

static void
stray_explain(struct conf_parser *p, const struct conf_word *word)
{
	const struct conf_name *name = stray_guess(p, word);
	struct conf_place place = { word->file, word->line };

	if (name != NULL)
		error_syntax(p, &place, word->text, "expected '%s:'%s",
			name->name, word->len > name->len + 1
			? " and a blank behind it" : "");
	else if (p->clause < 0)
		stray_error(p, word, "a clause such as server: or", "zone");
	else
		stray_error(p, word, "a clause or an option of",
			conf_clauses[p->clause].name);
}

static bool
stray_looks_like_a_name(const struct conf_word *word)
{
	return !word->quoted && word->len > 1
		&& word->text[word->len - 1] == ':';
}

void
stray_word(struct conf_parser *p, const struct conf_word *word)
{
	/* The value of an unknown option is not a second error. A word that
	 * looks like another option's name is. */
	if (!p->stray || stray_looks_like_a_name(word))
		stray_explain(p, word);
	p->stray = true;
}

/* Words behind the last one that the option takes. */
void
stray_surplus_words(struct conf_parser *p, const struct conf_option *option,
	const struct conf_word *word, uint32_t count)
{
	/* The name of the next option, if it is misspelt, is among them. */
	if (!stray_looks_like_a_name(word) && stray_guess(p, word) == NULL) {
		stray_error(p, word, "nothing more behind", option->name);
		p->stray = true;
		word = word->next;
		count--;
	}
	for (; count > 0; count--, word = word->next)
		stray_word(p, word);
}

void
stray_option(struct conf_parser *p, const struct conf_token *token)
{
	char name[80], clauses[160] = "";
	size_t len = 0, i;

	for (i = 0; i < CLAUSE_COUNT; i++)
		if (token->name->row[i] >= 0 && len < sizeof(clauses))
			len += (size_t)snprintf(clauses + len,
				sizeof(clauses) - len, "%s%s:",
				len > 0 ? " or " : "", conf_clauses[i].name);
	snprintf(name, sizeof(name), "%s:", token->name->name);
	error_syntax(p, &token->place, name, "expected it in %s", clauses);
}
