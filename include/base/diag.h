/*
 * diag.h - a sink for messages to people about their input.
 *
 * Parsers do not print. They give each finding, with its place, to the sink
 * that the caller passed in; the caller prints, logs, counts or collects.
 */
#ifndef BASE_DIAG_H
#define BASE_DIAG_H

#include <stdint.h>

enum diag_severity { DIAG_WARNING, DIAG_ERROR };

struct diag {
	enum diag_severity severity;
	const char *file; /* NULL: no file, the text says what it is about */
	uint32_t line;    /* 1-based; 0: the file as a whole */
	uint32_t column;  /* 1-based, in octets; 0: not known */
	const char *text; /* no newline, no place in it */
};

struct diag_sink {
	/* Called for each finding; d and its strings are lent for the call.
	 * May be called from several threads only if the function that was
	 * given the sink says so. NULL: only count. */
	void (*on_diag)(struct diag_sink *sink, const struct diag *d);
	uint32_t errors;   /* count of DIAG_ERROR so far */
	uint32_t warnings; /* count of DIAG_WARNING so far */
};

/*
 * Formats a finding, counts it in the sink and hands it on. The text is cut
 * at 1023 octets. Borrows all arguments. A NULL sink swallows it.
 */
void diag_emit(struct diag_sink *sink, enum diag_severity severity,
	const char *file, uint32_t line, uint32_t column, const char *format,
	...) __attribute__((format(printf, 6, 7)));

#endif
