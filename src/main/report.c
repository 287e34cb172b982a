/* report.c - the report of a reconfig. */
#include "config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "conf/conf.h"
#include "main/report.h"

#define LINE_MAX_LEN 1024
/* Of a line about an option, behind its place: the longest has 100. */
#define OPTION_MAX_LEN 200
/* Octets that warnings and lists of options leave: errors, and zone files that
 * cannot be read, are worse news. */
#define LISTS_LEAVE 1000u

/* ---- lines --------------------------------------------------------------- */

/* Returns false if the line would leave fewer octets than `leave`. */
static bool
report_put(struct report *report, const char *line, size_t len, size_t leave)
{
	assert(report->len <= sizeof(report->text));
	if (sizeof(report->text) - report->len < len + 1 + leave)
		return false;
	memcpy(report->text + report->len, line, len);
	report->len += len;
	report->text[report->len++] = '\n';
	return true;
}

/* Adds a line, cut to its longest length. */
static void
report_vadd(struct report *report, bool in_log, const char *format,
	va_list args)
{
	char line[LINE_MAX_LEN];
	int len = vsnprintf(line, sizeof(line) - 1, format, args);

	if (len < 0)
		return;
	if ((size_t)len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	if (in_log)
		log_notice("%s", line);
	(void)report_put(report, line, (size_t)len, 0);
}

void
report_add(struct report *report, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report_vadd(report, report->in_log, format, args);
	va_end(args);
}

void
report_add_logged(struct report *report, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report_vadd(report, false, format, args);
	va_end(args);
}

void
report_make_room(struct report *report, size_t len)
{
	assert(len <= sizeof(report->text));
	while (report->len > 0 && (sizeof(report->text) - report->len < len
			|| report->text[report->len - 1] != '\n'))
		report->len--;
}

void
report_weaken(struct report *report, size_t from, const char *what)
{
	static const char prefix[] = "error: ";
	const char *first = report->text + from;
	const char *end = memchr(first, '\n', report->len - from);
	size_t skip = sizeof(prefix) - 1;
	char why[400] = ""; /* two of them, and what is behind, have room */

	assert(from <= report->len);
	if (end != NULL && (size_t)(end - first) > skip)
		snprintf(why, sizeof(why), "%.*s",
			(int)(end - first - (ptrdiff_t)skip), first + skip);
	report->len = from;
	report_add(report, "warning: %s as they are: %s", what, why);
}

/* ---- findings ------------------------------------------------------------ */

void
report_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct report *report = (struct report *)sink;
	char line[1000];
	size_t len = conf_print_diag(d, line, sizeof(line));

	if (d->severity == DIAG_ERROR) {
		report_add(report, "%s", line);
		return;
	}
	log_diag(sink, d);
	if (report_put(report, line, len, LISTS_LEAVE))
		report->warned += len + 1;
}

void
report_on_file_diag(struct diag_sink *sink, const struct diag *d)
{
	log_diag(sink, d);
	report_add_logged((struct report *)sink, "error: %s", d->text);
}

/* ---- differences --------------------------------------------------------- */

static const char *
waits_text(bool waits)
{
	return waits ? ": that waits for a restart" : "";
}

void
report_add_option(struct report *report, const struct conf_changed *changed)
{
	char place[LINE_MAX_LEN - OPTION_MAX_LEN] = "", line[LINE_MAX_LEN];
	int len;

	report->waits |= changed->waits;
	if (changed->file != NULL)
		conf_print_place(changed->file, changed->line, place,
			sizeof(place));
	len = snprintf(line, sizeof(line), "%s%s: %s has changed%s", place,
		changed->clause, changed->option, waits_text(changed->waits));
	if (report->in_log)
		log_notice("%s", line);
	if (!report_put(report, line, (size_t)len, LISTS_LEAVE))
		report->left_out++;
}

void
report_end_options(struct report *report, bool waits)
{
	if (report->left_out > 0)
		report_add_logged(report, "%u more option%s changed%s",
			report->left_out, report->left_out == 1 ? " has"
			: "s have",
			waits_text(waits));
	report->left_out = 0;
}

void
report_add_difference(struct report *report, const struct conf_difference *d)
{
	const struct {
		const char *name;
		size_t count;
	} rows[] = {
		{"keys", d->keys},
		{"tls-auth", d->tls_auths},
		{"patterns", d->patterns},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].count > 0)
			report_add_logged(report,
				"%s: %zu new, gone or changed",
				rows[i].name, rows[i].count);
	if (d->zones_added + d->zones_removed + d->zones_changed > 0)
		report_add_logged(report,
			"zones: %zu new, %zu gone, %zu changed",
			d->zones_added, d->zones_removed, d->zones_changed);
}
