/* stray.c - says what is wrong with words that stand where they should not. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "conf/parser.h"

/* Names longer than this are not compared. */
#define STRAY_NAME_MAX 40u
/* Letters that may be wrong, missing or too many. */
#define STRAY_DISTANCE_MAX 2u
/* The most words that are compared: behind so many errors a hint is of no more
 * use. */
#define STRAY_COMPARED_MAX 100u

static bool
stray_looks_like_a_name(const struct conf_word *word)
{
	return !word->quoted && word->len > 1
		&& word->text[word->len - 1] == ':';
}

/* ---- guesses at a word ------------------------------------------------ */

/* The name that a word was perhaps meant to be: with its colon forgotten, the
 * blank behind that. NULL: none. */
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

static unsigned
stray_least(unsigned a, unsigned b, unsigned c)
{
	a = a < b ? a : b;
	return a < c ? a : c;
}

/* Counts the letters to be changed, added or removed until a is b. */
static unsigned
stray_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row[STRAY_NAME_MAX + 1], corner, above;
	size_t i, k;

	assert(b_len <= STRAY_NAME_MAX);
	for (k = 0; k <= b_len; k++)
		row[k] = (unsigned)k;
	for (i = 0; i < a_len; i++) {
		corner = row[0]++;
		for (k = 0; k < b_len; k++) {
			above = row[k + 1];
			row[k + 1] = stray_least(above + 1, row[k] + 1,
				corner + (a[i] != b[k]));
			corner = above;
		}
	}
	return row[b_len];
}

/* Takes name for *best if it is nearer to the text. */
static void
stray_compare(const char *text, size_t len, const char *name,
	unsigned *distance, const char **best)
{
	size_t name_len = strlen(name);
	unsigned found;

	if (name_len > STRAY_NAME_MAX || name_len + STRAY_DISTANCE_MAX < len
		|| len + STRAY_DISTANCE_MAX < name_len)
		return;
	found = stray_distance(text, len, name, name_len);
	if (found >= *distance)
		return;
	*distance = found;
	*best = name;
}

/* The name of a clause, or of an option of the one at hand, that is nearest to
 * a word with its colon; NULL: none is near. */
static const char *
stray_nearest(struct conf_parser *p, const struct conf_word *word)
{
	unsigned distance = STRAY_DISTANCE_MAX + 1;
	const struct conf_option *rows;
	const char *best = NULL;
	size_t len = word->len - 1, count, i;

	/* Most short names are near to each other. */
	if (!stray_looks_like_a_name(word) || len > STRAY_NAME_MAX
		|| p->compared++ >= STRAY_COMPARED_MAX)
		return NULL;
	if (len < 6)
		distance = 2;
	for (i = 0; i < CLAUSE_COUNT; i++)
		stray_compare(word->text, len, conf_clauses[i].name, &distance,
			&best);
	if (p->clause < 0)
		return best;
	rows = option_rows((enum conf_clause)p->clause, &count);
	for (i = 0; i < count; i++)
		/* The N of server-N-cpu-affinity is never written: not
		 * compared. */
		if (rows[i].type != TYPE_SERVER_CPU)
			stray_compare(word->text, len, rows[i].name,
				&distance, &best);
	return best;
}

/* ---- errors ------------------------------------------------------------- */

static void
stray_error(struct conf_parser *p, const struct conf_word *word,
	const char *expected, const char *name)
{
	struct conf_place place = { word->file, word->line };
	const char *nearest = stray_nearest(p, word);

	if (nearest == NULL)
		error_syntax(p, &place, word->text, "expected %s %s:",
			expected, name);
	else
		error_syntax(p, &place, word->text,
			"expected %s %s:, perhaps '%s:'", expected, name,
			nearest);
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
