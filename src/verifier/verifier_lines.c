/* verifier_lines.c - the output of a program, as lines of the log. */
#include "config.h"

#include <string.h>

#include "verifier/verifier_lines.h"

/* Copies octets, those that are not ASCII as \ooo: a terminal takes some for
 * commands. The log does so with control characters. */
static char *
lines_put(char *out, const char *octets, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)octets[i];

		if (c < 0x80) {
			*out++ = (char)c;
			continue;
		}
		*out++ = '\\';
		*out++ = (char)('0' + (c >> 6));
		*out++ = (char)('0' + (c >> 3 & 7));
		*out++ = (char)('0' + (c & 7));
	}
	*out = '\0';
	return out;
}

static void
lines_give(struct verifier_lines *lines, bool goes_on,
	verifier_on_line *on_line, void *ctx)
{
	char line[4 * VERIFIER_LINE_MAX + 8], *end;

	if (lines->given < VERIFIER_LINES_MAX) {
		end = lines_put(line, ".. ", lines->is_cut ? 3 : 0);
		end = lines_put(end, lines->text, lines->len);
		lines_put(end, " ..", goes_on ? 3 : 0);
		lines->given++;
		on_line(ctx, line);
	} else {
		lines->left_out += !goes_on;
	}
	lines->len = 0;
	lines->is_cut = goes_on;
}

void
verifier_lines_add(struct verifier_lines *lines, const char *octets,
	size_t len, verifier_on_line *on_line, void *ctx)
{
	for (size_t i = 0; i < len; i++) {
		if (octets[i] == '\n') {
			lines_give(lines, false, on_line, ctx);
			continue;
		}
		if (lines->len == VERIFIER_LINE_MAX)
			lines_give(lines, true, on_line, ctx);
		lines->text[lines->len++] = octets[i] != '\0' ? octets[i]
							      : '?';
	}
}

void
verifier_lines_end(struct verifier_lines *lines, verifier_on_line *on_line,
	void *ctx)
{
	if (lines->len > 0 || lines->is_cut)
		lines_give(lines, false, on_line, ctx);
}
