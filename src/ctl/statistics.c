/* statistics.c - the server's counters, as the lines of `stats`. */
#include "ctl/statistics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ctl/statistics_names.h"

#define USEC 1000000

void
statistics_text_free(struct statistics_text *out)
{
	free(out->text);
	*out = (struct statistics_text){.text = NULL};
}

/* Makes room for len octets and a NUL. */
static bool
text_reserve(struct statistics_text *out, size_t len)
{
	char *text;

	if (out->room - out->len > len)
		return true;
	text = grow_octets(out->text, out->len + len + 1, &out->room);
	if (text == NULL)
		return false;
	out->text = text;
	return true;
}

void
statistics_text_printf(struct statistics_text *out, const char *format, ...)
{
	va_list args;
	int len;

	if (out->failed)
		return;
	va_start(args, format);
	len = vsnprintf(out->text != NULL ? out->text + out->len : NULL,
		out->room - out->len, format, args);
	va_end(args);
	if (len < 0 || !text_reserve(out, (size_t)len)) {
		out->failed = true;
		return;
	}
	va_start(args, format);
	out->len += (size_t)vsnprintf(out->text + out->len,
		out->room - out->len, format, args);
	va_end(args);
}

/* Prints a line. prefix: that of a group, with a dot, or none. */
static void
print_value(struct statistics_text *out, const char *prefix, const char *name,
	uint64_t value)
{
	statistics_text_printf(out, "%s%s=%llu\n", prefix, name,
		(unsigned long long)value);
}

static void
lines_of(struct statistics_text *out, const char *prefix,
	const struct statistics_array *array, const struct counters *c)
{
	char name[STATISTICS_ITEM_MAX];
	uint64_t value;

	for (unsigned i = 0; i < array->count; i++)
		if (statistics_array_get(array, c, i, name, &value))
			statistics_text_printf(out, "%snum.%s.%s=%llu\n",
				prefix, array->name, name,
				(unsigned long long)value);
}

/* Prints the lines that the server and groups have. */
static void
print_block(struct statistics_text *out, const char *prefix,
	const struct counters *c)
{
	char name[STATISTICS_ITEM_MAX];

	for (unsigned i = 0; i < STATISTICS_UPDATES; i++)
		lines_of(out, prefix, &statistics_arrays[i], c);
	for (unsigned i = 0; i < statistics_single_count; i++) {
		const struct statistics_single *single =
			&statistics_singles[i];
		uint64_t value = statistics_single_value(single, c);

		if (single->may_lack && value == 0)
			continue;
		snprintf(name, sizeof(name), "num.%s", single->name);
		print_value(out, prefix, name, value);
	}
	lines_of(out, prefix, &statistics_arrays[STATISTICS_UPDATES], c);
}

static void
line_of_time(struct statistics_text *out, const char *name, int64_t usec)
{
	if (usec < 0)
		usec = 0;
	statistics_text_printf(out, "%s=%lld.%06lld\n", name,
		(long long)(usec / USEC), (long long)(usec % USEC));
}

void
statistics_print(struct statistics_text *out, const struct statistics *s)
{
	for (unsigned i = 0; i < s->server_count; i++)
		statistics_text_printf(out, "server%u.queries=%llu\n", i,
			(unsigned long long)s->queries[i]);
	print_value(out, "", "num.queries", s->all.queries);
	line_of_time(out, "time.boot", s->up_usec);
	line_of_time(out, "time.elapsed", s->elapsed_usec);
	print_value(out, "", "size.db.disk", s->db_disk);
	print_value(out, "", "size.db.mem", s->db_mem);
	print_value(out, "", "size.xfrd.mem", s->xfrd_mem);
	print_value(out, "", "size.config.disk", s->config_disk);
	print_value(out, "", "size.config.mem", s->config_mem);
	print_block(out, "", &s->all);
	print_value(out, "", "zone.primary", s->primary_zones);
	print_value(out, "", "zone.secondary", s->secondary_zones);
	print_value(out, "", "zone.master", s->primary_zones);
	print_value(out, "", "zone.slave", s->secondary_zones);
	if (s->refused_zones > 0)
		print_value(out, "", "zone.refused", s->refused_zones);
}

void
statistics_print_records(struct statistics_text *out,
	const struct statistics_records *r)
{
	if (r->has_dnstap) {
		print_value(out, "dnstap.", "sent", r->sent);
		print_value(out, "dnstap.", "dropped", r->dropped);
		print_value(out, "dnstap.", "connected", r->is_connected);
	}
	if (r->has_log) {
		print_value(out, "querylog.", "written", r->lines);
		print_value(out, "querylog.", "dropped", r->lines_dropped);
	}
}

void
statistics_print_names(struct statistics_text *out, const struct counters *c)
{
	static const char *const classes[COUNTER_CLASSES] = {
		[COUNTER_CH] = "CH",
		[COUNTER_HS] = "HS",
		[COUNTER_ANY] = "ANY",
		[COUNTER_OTHER] = "OTHER",
	};
	char name[RRTYPE_TEXT_MAX], number[RRTYPE_TEXT_MAX];

	for (uint16_t i = 0; i < COUNTER_TYPES - 1; i++) {
		(void)rrtype_print(i, name);
		if (!counters_print_type(i, number)
			&& strcmp(name, number) != 0)
			statistics_text_printf(out, "num.type.%s=%llu\n", name,
				(unsigned long long)c->type[i]);
	}
	for (unsigned i = 0; i < COUNTER_CLASSES; i++)
		if (classes[i] != NULL)
			statistics_text_printf(out, "num.class.%s=%llu\n",
				classes[i], (unsigned long long)c->rrclass[i]);
}

void
statistics_print_latency(struct statistics_text *out, const char *prefix,
	const struct latency *latency)
{
	for (unsigned i = 0; i < LATENCY_BUCKETS - 1; i++)
		statistics_text_printf(out, "%s.lt%uus=%llu\n", prefix, 1u << i,
			(unsigned long long)latency->count[i]);
	statistics_text_printf(out, "%s.more=%llu\n%s.usec=%llu\n", prefix,
		(unsigned long long)latency->count[LATENCY_BUCKETS - 1],
		prefix, (unsigned long long)latency->usec);
}

void
statistics_print_group(struct statistics_text *out, const char *name,
	const struct counters *counters)
{
	char prefix[STATISTICS_NAME_MAX + 2];

	snprintf(prefix, sizeof(prefix), "%s.", name);
	print_value(out, prefix, "num.queries", counters->queries);
	print_block(out, prefix, counters);
}
