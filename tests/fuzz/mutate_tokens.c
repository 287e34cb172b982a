/* mutate_tokens.c - changes words, numbers and lines of a text. */
#include "fuzz/mutate_tokens.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/chance.h"

#define CHANGES_MAX 5u
#define LINE_WORDS_MAX 10u

struct draft {
	const struct mutate_text *text;
	uint64_t chance;
	char *data; /* behind the prefix */
	size_t len, max;
};

/* Octets from one place to another. */
struct range {
	size_t at, len;
};

static uint32_t
below(struct draft *d, size_t number)
{
	return chance_below(&d->chance, (uint32_t)number);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
replace(struct draft *d, struct range old, const char *octets, size_t len)
{
	if (d->len - old.len + len > d->max)
		return false;
	memmove(d->data + old.at + len, d->data + old.at + old.len,
		d->len - old.at - old.len);
	if (len > 0)
		memcpy(d->data + old.at, octets, len);
	d->len += len;
	d->len -= old.len;
	return true;
}

/* The word at or behind a place, maybe an empty one at the end. */
static struct range
find_word(const struct draft *d, size_t at)
{
	struct range word;

	while (at > 0 && !is_blank(d->data[at - 1]))
		at--;
	while (at < d->len && is_blank(d->data[at]))
		at++;
	word.at = at;
	while (at < d->len && !is_blank(d->data[at]))
		at++;
	word.len = at - word.at;
	return word;
}

/* The line at a place, with its end. */
static struct range
find_line(const struct draft *d, size_t at)
{
	struct range line;

	while (at > 0 && d->data[at - 1] != '\n')
		at--;
	line.at = at;
	while (at < d->len && d->data[at] != '\n')
		at++;
	line.len = at + (at < d->len) - line.at;
	return line;
}

static struct range
pick_word(struct draft *d)
{
	return find_word(d, below(d, d->len + 1));
}

static struct range
pick_line(struct draft *d)
{
	return find_line(d, below(d, d->len + 1));
}

/* ---- words --------------------------------------------------------------- */

void
mutate_pick(char out[MUTATE_WORD_MAX], const char *const *words, size_t count,
	uint64_t *chance)
{
	snprintf(out, MUTATE_WORD_MAX, "%s",
		words[chance_below(chance, (uint32_t)count)]);
}

void
mutate_put_number(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const uint64_t bounds[] = {0, 1, 2, 10, 31, 32, 63, 64, 127, 128,
		255, 256, 32767, 32768, 65535, 65536, 2147483647, 2147483648u,
		4294967295u, 4294967296u, INT64_MAX, UINT64_MAX};
	static const char *const units[] = {"s", "m", "h", "d", "w", "M", "k",
		"-", ".", ".5", "-1", "x"};
	uint64_t number = chance_below(chance, 3) == 0
		? chance_next(chance) >> chance_below(chance, 64)
		: bounds[chance_below(chance,
			sizeof(bounds) / sizeof(*bounds))];

	snprintf(out, MUTATE_WORD_MAX, "%s%" PRIu64 "%s",
		chance_below(chance, 16) == 0 ? "-" : "", number,
		chance_below(chance, 5) == 0 ? units[chance_below(chance,
			sizeof(units) / sizeof(*units))] : "");
}

/* Returns its length. */
static size_t
make_word(struct draft *d, char out[MUTATE_WORD_MAX], bool is_first)
{
	static const char *const marks[] = {"\"", "(", ")", ";", "#", "\\",
		"\\065", "\\256", "\\\"", "\"a b\"", "\"\"", "''", "@", "*",
		".", "-", "\\#"};

	if (is_first && d->text->put_first != NULL)
		d->text->put_first(out, &d->chance);
	else if (below(d, 6) == 0)
		mutate_put_number(out, &d->chance);
	else if (below(d, 12) == 0)
		mutate_pick(out, marks, sizeof(marks) / sizeof(*marks),
			&d->chance);
	else
		d->text->put_word(out, &d->chance);
	return strlen(out);
}

static void
set_word(struct draft *d)
{
	char word[MUTATE_WORD_MAX];
	struct range old = pick_word(d);
	bool is_first = old.at == 0 || d->data[old.at - 1] == '\n';
	size_t len = make_word(d, word, is_first);

	(void)replace(d, old, word, len);
}

static void
set_number(struct draft *d)
{
	char word[MUTATE_WORD_MAX];

	for (unsigned i = 0; i < 8; i++) {
		struct range old = pick_word(d);

		if (old.len == 0 || d->data[old.at] < '0'
			|| d->data[old.at] > '9')
			continue;
		mutate_put_number(word, &d->chance);
		(void)replace(d, old, word, strlen(word));
		return;
	}
}

static void
add_word(struct draft *d)
{
	char word[MUTATE_WORD_MAX + 1];
	size_t len = make_word(d, word, false);
	struct range at = pick_word(d);

	word[len++] = " \t\n "[below(d, 4)];
	at.len = 0;
	(void)replace(d, at, word, len);
}

static void
remove_word(struct draft *d)
{
	(void)replace(d, pick_word(d), NULL, 0);
}

/* Puts a copy of octets somewhere, maybe in the place of others. */
static void
copy_range(struct draft *d, struct range from, struct range to)
{
	char *copy = malloc(from.len + 1);

	if (copy == NULL)
		abort();
	memcpy(copy, d->data + from.at, from.len);
	(void)replace(d, to, copy, from.len);
	free(copy);
}

static void
copy_word(struct draft *d)
{
	struct range from = pick_word(d), to = pick_word(d);

	if (below(d, 2) == 0 && from.at + from.len < d->len) {
		from.len++;
		to.len = 0;
	}
	copy_range(d, from, to);
}

/* Two neighbours: words of a line, or lines. */
static void
swap_ranges(struct draft *d, struct range a, struct range b)
{
	char *copy;

	if (b.at < a.at + a.len || b.len == 0)
		return;
	copy = malloc(b.at + b.len - a.at);
	if (copy == NULL)
		abort();
	memcpy(copy, d->data + b.at, b.len);
	memcpy(copy + b.len, d->data + a.at + a.len, b.at - a.at - a.len);
	memcpy(copy + b.at - a.at + b.len - a.len, d->data + a.at, a.len);
	memcpy(d->data + a.at, copy, b.at + b.len - a.at);
	free(copy);
}

static void
swap_words(struct draft *d)
{
	struct range a = pick_word(d);

	swap_ranges(d, a, find_word(d, a.at + a.len));
}

/* A letter of a word, or what is around it. */
static void
touch_word(struct draft *d)
{
	static const char letters[] = "\\\"();#@*.-_:=,/0919azAZ{}$!\n\t \177";
	struct range word = pick_word(d);
	char letter[2] = {letters[below(d, sizeof(letters) - 1)]};
	struct range at = {word.at + below(d, word.len + 1), 0};

	at.len = at.at < d->len && below(d, 2) == 0 ? 1 : 0;
	(void)replace(d, at, letter, below(d, 4) == 0 ? 0 : 1);
}

/* ---- lines --------------------------------------------------------------- */

static void
add_line(struct draft *d)
{
	char line[(LINE_WORDS_MAX + 2) * (MUTATE_WORD_MAX + 1)];
	struct range at = {pick_line(d).at, 0};
	size_t len = make_word(d, line, true);

	for (uint32_t i = below(d, LINE_WORDS_MAX); i > 0; i--) {
		line[len++] = ' ';
		len += make_word(d, line + len, false);
	}
	line[len++] = '\n';
	(void)replace(d, at, line, len);
}

static void
remove_line(struct draft *d)
{
	(void)replace(d, pick_line(d), NULL, 0);
}

static void
copy_line(struct draft *d)
{
	struct range from = pick_line(d), to = pick_line(d);

	if (below(d, 3) != 0)
		to.len = 0;
	copy_range(d, from, to);
}

static void
swap_lines(struct draft *d)
{
	struct range a = pick_line(d);

	if (a.at + a.len < d->len)
		swap_ranges(d, a, find_line(d, a.at + a.len));
}

static void
touch_octets(struct draft *d)
{
	if (below(d, 4) == 0)
		d->len = below(d, d->len + 1);
	else
		d->len = mutate_octets(&d->chance, (uint8_t *)d->data, d->len,
			d->max);
}

size_t
mutate_tokens(const struct mutate_text *text, uint8_t *data, size_t size,
	size_t max, unsigned seed)
{
	static void (*const ways[])(struct draft *) = {set_word, set_word,
		set_word, set_number, set_number, add_word, add_word,
		remove_word, copy_word, swap_words, touch_word, touch_word,
		add_line, add_line, remove_line, copy_line, swap_lines};
	struct draft d = {.text = text, .chance = seed};
	size_t prefix = text->prefix;

	if (max < prefix || max == 0)
		return size;
	while (size < prefix)
		data[size++] = (uint8_t)chance_next(&d.chance);
	if (prefix > 0 && below(&d, 8) == 0)
		data[below(&d, prefix)] = (uint8_t)chance_next(&d.chance);
	d.data = (char *)data + prefix;
	d.len = size - prefix;
	d.max = max - prefix;
	for (uint32_t i = below(&d, CHANGES_MAX) + 1; i > 0; i--) {
		if (below(&d, 24) == 0)
			touch_octets(&d);
		else
			ways[below(&d, sizeof(ways) / sizeof(*ways))](&d);
	}
	return prefix + d.len;
}
