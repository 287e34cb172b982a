/* checkconf_report.c - prints the report of nsd-checkconf --migrate: lines, or
 * JSON (RFC 8259). */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "checkconf_report.h"

static const char *const kind_names[CONF_MIGRATE_KINDS] = {
	[CONF_MIGRATE_TAKEN_OVER] = "taken over",
	[CONF_MIGRATE_ONLY_HERE] = "only here",
	[CONF_MIGRATE_NO_EFFECT] = "no effect",
	[CONF_MIGRATE_DIFFERS] = "differs",
	[CONF_MIGRATE_TO_DO] = "to do",
};

/* A line of the report. file, option, zone: NULL: none. */
struct report_line {
	const char *kind, *file, *option, *zone, *text;
	unsigned line, more;
};

/* ---- lines --------------------------------------------------------------- */

/* Prints text of a line; control characters, which a quoted word may have,
 * become \ooo. */
static void
text_print(const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			printf("\\%03o", (unsigned)c);
		else
			putchar(c);
	}
}

static void
text_print_before(const char *text, const char *behind)
{
	text_print(text);
	fputs(behind, stdout);
}

static void
line_print_text(const struct report_line *line)
{
	if (line->file != NULL && line->line > 0) {
		text_print(line->file);
		printf(":%u: ", line->line);
	} else if (line->file != NULL) {
		text_print_before(line->file, ": ");
	}
	printf("%s: ", line->kind);
	if (line->option != NULL)
		text_print_before(line->option, ": ");
	if (line->zone != NULL) {
		fputs("zone ", stdout);
		text_print_before(line->zone, ": ");
	}
	text_print(line->text);
	if (line->more > 0)
		printf(" (and %u more)", line->more);
	putchar('\n');
}

/* ---- JSON ---------------------------------------------------------------- */

/* Prints a string. Octets that are no ASCII count as characters of ISO 8859-1,
 * so that the text is JSON whatever the names of files are. */
static void
json_print_string(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", (unsigned)c);
		else
			putchar(c);
	}
	putchar('"');
}

/* text NULL: the member is left out. */
static void
json_print_member(const char *name, const char *text)
{
	if (text == NULL)
		return;
	printf(",\"%s\":", name);
	json_print_string(text);
}

static void
line_print_json(const struct report_line *line)
{
	printf("{\"kind\":\"%s\"", line->kind);
	json_print_member("file", line->file);
	if (line->line > 0)
		printf(",\"line\":%u", line->line);
	json_print_member("option", line->option);
	json_print_member("zone", line->zone);
	json_print_member("text", line->text);
	printf(",\"more\":%u}", line->more);
}

/* ---- both ---------------------------------------------------------------- */

static void
report_print(struct checkconf_report *report, const struct report_line *line)
{
	if (!report->json) {
		line_print_text(line);
		return;
	}
	if (report->begun)
		fputs(",\n", stdout);
	report->begun = true;
	line_print_json(line);
}

/* The last word of a reading that failed has no place, and counts errors, as
 * the report does. */
static bool
diag_is_count(const struct diag *d)
{
	return d->file == NULL && strncmp(d->text, "read ", 5) == 0;
}

static void
report_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct checkconf_report *report =
		(struct checkconf_report *)(void *)sink;
	const struct report_line line = {
		.kind = d->severity == DIAG_ERROR ? "error" : "warning",
		.file = d->file,
		.text = d->text,
		.line = d->line,
	};

	if (diag_is_count(d))
		return;
	report->errors += d->severity == DIAG_ERROR;
	report_print(report, &line);
}

void
checkconf_report_note(void *ctx, const struct conf_migrate_note *note)
{
	struct checkconf_report *report = ctx;
	const struct report_line line = {
		.kind = kind_names[note->kind],
		.file = note->file,
		.option = note->option,
		.zone = note->zone,
		.text = note->text,
		.line = note->line,
		.more = note->more,
	};

	report->counts[note->kind]++;
	report_print(report, &line);
}

void
checkconf_report_begin(struct checkconf_report *report)
{
	report->sink.on_diag = report_on_diag;
	if (!report->json)
		return;
	fputs("{\"file\":", stdout);
	json_print_string(report->file);
	fputs(",\"notes\":[\n", stdout);
}

int
checkconf_report_end(struct checkconf_report *report)
{
	const unsigned *counts = report->counts;
	unsigned i, errors = report->errors;
	int code = errors > 0 ? CHECKCONF_BAD_CONF
		: counts[CONF_MIGRATE_TO_DO] > 0 ? CHECKCONF_TO_DO : 0;

	if (report->json) {
		printf("\n],\"counts\":{\"error\":%u,\"warning\":%u", errors,
			(unsigned)report->sink.warnings);
		for (i = 0; i < CONF_MIGRATE_KINDS; i++)
			printf(",\"%s\":%u", kind_names[i], counts[i]);
		printf("},\"exit\":%d}\n", code);
		return code;
	}
	text_print_before(report->file, ": ");
	if (errors > 0)
		printf("%u errors, ", errors);
	for (i = CONF_MIGRATE_KINDS; i-- > 0;)
		printf("%u %s%s", counts[i], kind_names[i],
			i > 0 ? ", " : "\n");
	return code;
}
