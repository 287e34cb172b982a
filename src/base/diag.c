/* diag.c - formats findings and hands them to a sink. */
#include <stdarg.h>
#include <stdio.h>

#include "base/diag.h"

#define DIAG_TEXT_MAX 1024

void
diag_emit(struct diag_sink *sink, enum diag_severity severity,
	const char *file, uint32_t line, uint32_t column, const char *format,
	...)
{
	char text[DIAG_TEXT_MAX];
	struct diag d = {
		.severity = severity,
		.file = file,
		.line = line,
		.column = column,
		.text = text,
	};
	va_list args;

	if (sink == NULL)
		return;
	if (severity == DIAG_ERROR)
		sink->errors++;
	else if (severity == DIAG_WARNING)
		sink->warnings++;
	if (sink->on_diag == NULL)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sink->on_diag(sink, &d);
}
