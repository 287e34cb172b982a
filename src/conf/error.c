/* error.c - tells of errors in a configuration, and how their lines look. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/parser.h"

void
error_at(struct conf_parser *p, const char *file, uint32_t line,
	const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	p->errors++;
	diag_emit(p->sink, DIAG_ERROR, file, line, 0, "%s", text);
}

void
error_syntax(struct conf_parser *p, const char *file, uint32_t line,
	const char *token)
{
	if (token == NULL || token[0] == '\0')
		error_at(p, file, line, "syntax error");
	else
		error_at(p, file, line, "at '%.200s': error: syntax error",
			token);
}

void
error_memory(struct conf_parser *p)
{
	if (p->failed == NSD_OK)
		diag_emit(p->sink, DIAG_ERROR, NULL, 0, 0, "out of memory");
	p->failed = NSD_E_MEMORY;
}

size_t
conf_print_diag(const struct diag *d, char *out, size_t size)
{
	const char *word = d->severity == DIAG_ERROR ? "error: "
		: d->severity == DIAG_WARNING ? "warning: " : "";
	int len;

	assert(size > 0);
	/* A syntax error names the token in front of the word. */
	if (strncmp(d->text, "at '", 4) == 0)
		word = "";
	if (d->file == NULL)
		len = snprintf(out, size, "%s", d->text);
	else if (d->line == 0)
		len = snprintf(out, size, "%s: %s%s", d->file, word, d->text);
	else
		len = snprintf(out, size, "%s:%u: %s%s", d->file, d->line,
			word, d->text);
	if (len < 0)
		return 0;
	return (size_t)len < size ? (size_t)len : size - 1;
}
