/* line.c - lines of options as they were read, for who compares them with what
 * another program makes of them. */
#include <string.h>

#include "base/grow.h"
#include "conf/parser.h"

void
line_begin_clause(struct conf_parser *p)
{
	if (p->lines != NULL && !conf_clauses[p->clause].single)
		p->lines->clauses++;
}

static uint32_t
line_clause(const struct conf_parser *p)
{
	return conf_clauses[p->clause].single ? 0 : p->lines->clauses;
}

/* An option that has one value, that of its last line. The elements of a list
 * come together; so do those of rrl-whitelist. */
static bool
line_has_one_value(const struct conf_option *option)
{
	enum conf_type type = (enum conf_type)option->type;

	return option_item_size(type) == 0 && type != TYPE_RRL;
}

/* The row of an option, that of its first name. */
static size_t
line_row(const struct conf_option *option)
{
	return (size_t)(option - conf_options)
		- ((option->flags & OPTION_ALIAS) != 0);
}

/* Takes the value from the line that has it in the clause at hand. */
static void
line_replace(const struct conf_parser *p, const struct conf_option *option)
{
	struct conf_lines *lines = p->lines;
	size_t last = lines->last[line_row(option)];

	if (last > 0 && line_has_one_value(option)
		&& lines->items[last - 1].clause == line_clause(p))
		lines->items[last - 1].replaced = true;
}

void
line_note(struct conf_parser *p, const struct conf_option *option,
	const struct conf_place *place, const struct conf_word *word)
{
	struct conf_lines *lines = p->lines;
	struct conf_line *items;
	const char *text;

	if (lines == NULL || !lines->wanted[option - conf_options])
		return;
	text = arena_copy_text(&p->owner->arena, word->text, word->len);
	items = grow_array(lines->items, lines->count, &lines->room,
		sizeof(*items));
	if (items != NULL)
		lines->items = items;
	if (items == NULL || text == NULL) {
		error_memory(p);
		return;
	}
	line_replace(p, option);
	items[lines->count++] = (struct conf_line){
		.place = *place,
		.option = option,
		.word = text,
		.clause = line_clause(p),
	};
	lines->last[line_row(option)] = lines->count;
}

void
line_note_included(struct conf_parser *p, const struct conf_pattern *from)
{
	size_t count, i;
	const struct conf_option *rows = option_rows(CLAUSE_PATTERN, &count);

	for (i = 0; p->lines != NULL && i < count; i++)
		if ((rows[i].flags & OPTION_NOT_INCLUDED) == 0
			&& option_is_set(&rows[i], from))
			line_replace(p, &rows[i]);
}
