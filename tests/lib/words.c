/* words.c - cuts a line into tokens. */
#include <string.h>

#include "lib/words.h"

static size_t
skip_quoted(const char *line, size_t len, size_t at)
{
	for (at++; at < len && line[at] != '"'; at++)
		if (line[at] == '\\')
			at++;
	return at < len ? at : len;
}

static size_t
skip_word(const char *line, size_t len, size_t at)
{
	while (at < len && line[at] != ' ') {
		if (line[at] == '"')
			return at;
		if (line[at] == '\\')
			at++;
		at++;
	}
	return at < len ? at : len;
}

size_t
words_split(const char *line, size_t len, struct token *tokens, size_t max)
{
	size_t at = 0, count = 0;

	for (;;) {
		struct token *t;
		size_t end;

		while (at < len && line[at] == ' ')
			at++;
		if (at >= len)
			return count;
		if (count == max)
			return max + 1;
		t = &tokens[count++];
		t->quoted = line[at] == '"';
		end = t->quoted ? skip_quoted(line, len, at)
			: skip_word(line, len, at);
		if (t->quoted)
			at++;
		t->text = line + at;
		t->len = (uint32_t)(end - at);
		t->escaped = memchr(line + at, '\\', end - at) != NULL;
		at = end < len && (t->quoted || line[end] == ' ') ? end + 1
			: end;
	}
}
