/* error.c - tells of errors in a configuration, and how their lines look. */
#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/parser.h"

#define ERROR_TEXT_MAX 1024u

static void
error_tell(struct conf_parser *p, const struct conf_place *place,
	const char *text)
{
	p->errors++;
	diag_emit(p->sink, DIAG_ERROR, place->file, place->line, 0, "%s",
		text);
}

static void
error_tell_format(struct conf_parser *p, const struct conf_place *place,
	const char *format, va_list args)
{
	char text[ERROR_TEXT_MAX];

	vsnprintf(text, sizeof(text), format, args);
	error_tell(p, place, text);
}

void
error_at(struct conf_parser *p, const char *file, uint32_t line,
	const char *format, ...)
{
	const struct conf_place place = { file, line };
	va_list args;

	va_start(args, format);
	error_tell_format(p, &place, format, args);
	va_end(args);
}

void
error_at_place(struct conf_parser *p, const struct conf_place *place,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_tell_format(p, place, format, args);
	va_end(args);
}

void
error_syntax(struct conf_parser *p, const struct conf_place *place,
	const char *token, const char *format, ...)
{
	char text[ERROR_TEXT_MAX];
	int len = snprintf(text, sizeof(text),
		"at '%.200s': error: syntax error, ", token);
	va_list args;

	assert(len > 0 && (size_t)len < sizeof(text));
	va_start(args, format);
	vsnprintf(text + len, sizeof(text) - (size_t)len, format, args);
	va_end(args);
	error_tell(p, place, text);
}

void
error_memory(struct conf_parser *p)
{
	if (p->failed == NSD_OK)
		diag_emit(p->sink, DIAG_ERROR, NULL, 0, 0, "out of memory");
	p->failed = NSD_E_MEMORY;
}

/* Copies text of a line; control characters, which a quoted word may have,
 * become \ooo. */
static size_t
error_escape(const char *text, char *out, size_t size)
{
	size_t len = 0;

	for (; *text != '\0' && len + 1 < size; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 0x20 && c != 0x7f)
			out[len++] = (char)c;
		else if (len + 4 < size)
			len += (size_t)snprintf(out + len, size - len,
				"\\%03o", (unsigned)c);
		else
			break;
	}
	out[len] = '\0';
	return len;
}

void
conf_print_place(const char *file, uint32_t line, char *out, size_t size)
{
	size_t len;

	assert(size >= CONF_PLACE_MIN);
	len = error_escape(file, out, size + 1 - CONF_PLACE_MIN);
	snprintf(out + len, size - len, ":%u: ", (unsigned)line);
}

size_t
conf_print_diag(const struct diag *d, char *out, size_t size)
{
	const char *word = d->severity == DIAG_ERROR ? "error: "
		: d->severity == DIAG_WARNING ? "warning: " : "";
	char text[PATH_MAX + ERROR_TEXT_MAX + 64];
	int len;

	assert(size > 0);
	/* A syntax error names the token in front of the word. */
	if (strncmp(d->text, "at '", 4) == 0)
		word = "";
	if (d->file == NULL)
		len = snprintf(text, sizeof(text), "%s", d->text);
	else if (d->line == 0)
		len = snprintf(text, sizeof(text), "%s: %s%s", d->file, word,
			d->text);
	else
		len = snprintf(text, sizeof(text), "%s:%u: %s%s", d->file,
			d->line, word, d->text);
	if (len < 0) {
		out[0] = '\0';
		return 0;
	}
	return error_escape(text, out, size);
}
