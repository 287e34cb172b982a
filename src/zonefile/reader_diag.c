/* reader_diag.c - tells of findings in the text of a master file. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "zonefile/kernel.h"
#include "zonefile/reader.h"

/* Octets of a word that are shown. */
#define WORD_MAX 64u

/* Tells of a finding, which has a text. */
static void
tell_diag(struct reader *r, enum diag_severity severity, const char *at,
	const char *text)
{
	struct diag d = { severity, r->file_name, r->line_fixed, 0, text };

	if (d.line == 0) {
		d.line = r->line;
		if (at != NULL) {
			const char *start = at;

			assert(at >= r->record);
			d.line += r->kernel->count_newlines(r->record,
				(size_t)(at - r->record));
			while (start > r->record && start[-1] != '\n')
				start--;
			d.column = (uint32_t)(at - start) + 1;
		}
	}
	r->hooks->on_diag(r->hooks->ctx, &d);
}

/* False if the limit of errors that are told is reached. */
static bool
may_tell(struct reader *r, enum diag_severity severity)
{
	if (severity != DIAG_ERROR)
		return true;
	if (r->errors_left == 0)
		return false;
	r->errors_left--;
	return true;
}

void
reader_diag(struct reader *r, enum diag_severity severity, const char *at,
	const char *format, ...)
{
	char text[1024];
	va_list args;

	if (!may_tell(r, severity))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tell_diag(r, severity, at, text);
}

void
reader_diag_word(struct reader *r, enum diag_severity severity,
	const struct token *t, const char *expected, const char *format, ...)
{
	size_t len = t->len < WORD_MAX ? t->len : WORD_MAX;
	const char *quote = t->quoted ? "\"" : "";
	char text[1024];
	va_list args;
	int n;

	if (!may_tell(r, severity))
		return;
	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n,
			": '%s%.*s%s'%s%s", quote, (int)len, t->text,
			len < t->len ? "..." : quote,
			expected != NULL ? ": expected " : "",
			expected != NULL ? expected : "");
	tell_diag(r, severity, t->quoted ? t->text - 1 : t->text, text);
}
