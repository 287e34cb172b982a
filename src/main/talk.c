/* talk.c - the report of a reconfig. */
#include "config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "conf/conf.h"
#include "main/talk.h"

#define LINE_MAX_LEN 1024
/* Of a line about an option, behind its place: the longest has 100. */
#define OPTION_MAX_LEN 200
/* Octets that warnings and lists of options leave: errors, and zone files that
 * cannot be read, are worse news. */
#define LISTS_LEAVE 1000u

/* ---- lines --------------------------------------------------------------- */

/* Returns false if the line would leave fewer octets than `leave`. */
static bool
talk_put(struct talk *talk, const char *line, size_t len, size_t leave)
{
	assert(talk->len <= sizeof(talk->text));
	if (sizeof(talk->text) - talk->len < len + 1 + leave)
		return false;
	memcpy(talk->text + talk->len, line, len);
	talk->len += len;
	talk->text[talk->len++] = '\n';
	return true;
}

/* Adds a line, cut to its longest length. */
static void
talk_vadd(struct talk *talk, bool in_log, const char *format, va_list args)
{
	char line[LINE_MAX_LEN];
	int len = vsnprintf(line, sizeof(line) - 1, format, args);

	if (len < 0)
		return;
	if ((size_t)len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	if (in_log)
		log_notice("%s", line);
	(void)talk_put(talk, line, (size_t)len, 0);
}

void
talk_add(struct talk *talk, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	talk_vadd(talk, talk->in_log, format, args);
	va_end(args);
}

void
talk_add_logged(struct talk *talk, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	talk_vadd(talk, false, format, args);
	va_end(args);
}

void
talk_make_room(struct talk *talk, size_t len)
{
	assert(len <= sizeof(talk->text));
	while (talk->len > 0 && (sizeof(talk->text) - talk->len < len
			|| talk->text[talk->len - 1] != '\n'))
		talk->len--;
}

void
talk_weaken(struct talk *talk, size_t from, const char *what)
{
	static const char prefix[] = "error: ";
	const char *first = talk->text + from;
	const char *end = memchr(first, '\n', talk->len - from);
	size_t skip = sizeof(prefix) - 1;
	char why[400] = ""; /* two of them, and what is behind, have room */

	assert(from <= talk->len);
	if (end != NULL && (size_t)(end - first) > skip)
		snprintf(why, sizeof(why), "%.*s",
			(int)(end - first - (ptrdiff_t)skip), first + skip);
	talk->len = from;
	talk_add(talk, "warning: %s as they are: %s", what, why);
}

/* ---- findings ------------------------------------------------------------ */

void
talk_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct talk *talk = (struct talk *)sink;
	char line[1000];
	size_t len = conf_print_diag(d, line, sizeof(line));

	if (d->severity == DIAG_ERROR) {
		talk_add(talk, "%s", line);
		return;
	}
	log_diag(sink, d);
	if (talk_put(talk, line, len, LISTS_LEAVE))
		talk->warned += len + 1;
}

void
talk_on_file_diag(struct diag_sink *sink, const struct diag *d)
{
	log_diag(sink, d);
	talk_add_logged((struct talk *)sink, "error: %s", d->text);
}

/* ---- differences --------------------------------------------------------- */

static const char *
waits_text(bool waits)
{
	return waits ? ": that waits for a restart" : "";
}

void
talk_add_option(struct talk *talk, const struct conf_changed *changed)
{
	char place[LINE_MAX_LEN - OPTION_MAX_LEN] = "", line[LINE_MAX_LEN];
	int len;

	talk->waits |= changed->waits;
	if (changed->file != NULL)
		conf_print_place(changed->file, changed->line, place,
			sizeof(place));
	len = snprintf(line, sizeof(line), "%s%s: %s has changed%s", place,
		changed->clause, changed->option, waits_text(changed->waits));
	if (talk->in_log)
		log_notice("%s", line);
	if (!talk_put(talk, line, (size_t)len, LISTS_LEAVE))
		talk->left_out++;
}

void
talk_end_options(struct talk *talk, bool waits)
{
	if (talk->left_out > 0)
		talk_add_logged(talk, "%u more option%s changed%s",
			talk->left_out, talk->left_out == 1 ? " has" : "s have",
			waits_text(waits));
	talk->left_out = 0;
}

void
talk_add_difference(struct talk *talk, const struct conf_difference *d)
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
			talk_add_logged(talk, "%s: %zu new, gone or changed",
				rows[i].name, rows[i].count);
	if (d->zones_added + d->zones_removed + d->zones_changed > 0)
		talk_add_logged(talk, "zones: %zu new, %zu gone, %zu changed",
			d->zones_added, d->zones_removed, d->zones_changed);
}
