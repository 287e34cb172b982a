/* reader_diag.c - tells of findings in the text of a master file. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "zonefile/kernel.h"
#include "zonefile/reader.h"

void
reader_diag(struct reader *r, enum diag_severity severity, const char *at,
	const char *format, ...)
{
	char text[1024];
	struct diag d = { severity, r->file_name, r->line_fixed, 0, text };
	va_list args;

	if (severity == DIAG_ERROR) {
		if (r->errors_left == 0)
			return;
		r->errors_left--;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
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
