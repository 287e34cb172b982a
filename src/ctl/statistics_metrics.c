/* statistics_metrics.c - the server's counters, in Prometheus' text format,
 * version 0.0.4. */
#include <stdio.h>
#include <string.h>

#include "ctl/statistics.h"
#include "ctl/statistics_names.h"

#define OF_GROUPS "zonestats_"
#define LABELS_MAX (5 * STATISTICS_NAME_MAX + 80)
#define USEC 1000000

/*
 * The families that the server and groups have, in the order of NSD: of an
 * array, or of the counter with this name and those behind it that are of the
 * same family. The first one, queries_total, is neither. The last ones are the
 * server's alone.
 */
static const struct family {
	unsigned array; /* STATISTICS_ARRAYS: none */
	const char *single;
} families[] = {
	{STATISTICS_ARRAYS, NULL},
	{STATISTICS_TYPES, NULL},
	{STATISTICS_CLASSES, NULL},
	{STATISTICS_OPCODES, NULL},
	{STATISTICS_RCODES, NULL},
	{STATISTICS_ARRAYS, "udp"},
	{STATISTICS_ARRAYS, "edns"},
	{STATISTICS_ARRAYS, "ednserr"},
	{STATISTICS_ARRAYS, "tcp"},
	{STATISTICS_ARRAYS, "raxfr"},
	{STATISTICS_ARRAYS, "dropped"},
	{STATISTICS_ARRAYS, "rxerr"},
	{STATISTICS_ARRAYS, "txerr"},
	{STATISTICS_ARRAYS, "answer_wo_aa"},
	{STATISTICS_ARRAYS, "truncated"},
	{STATISTICS_ARRAYS, "update.received"},
	{STATISTICS_UPDATES, NULL},
};
#define FAMILY_COUNT (sizeof(families) / sizeof(*families))
#define GROUP_FAMILY_COUNT (FAMILY_COUNT - 2)

/* The place of a counter in statistics_singles. */
static unsigned
single_find(const char *name)
{
	unsigned i = 0;

	while (strcmp(statistics_singles[i].name, name) != 0)
		i++;
	return i;
}

static void
print_head(struct statistics_text *out, const char *prefix, const char *family,
	const char *help, const char *type)
{
	statistics_text_printf(out, "# HELP nsd_%s%s %s\n# TYPE nsd_%s%s %s\n",
		prefix, family, help, prefix, family, type);
}

/* Prints a line. zone: the label of a group, or none; label: another label, or
 * NULL. */
static void
print_sample(struct statistics_text *out, const char *family, const char *zone,
	const char *label, uint64_t value)
{
	bool both = *zone != '\0' && label != NULL;
	bool any = *zone != '\0' || label != NULL;

	statistics_text_printf(out, "nsd_%s%s%s%s%s%s%s %llu\n",
		*zone != '\0' ? OF_GROUPS : "", family, any ? "{" : "", zone,
		both ? "," : "", label != NULL ? label : "", any ? "}" : "",
		(unsigned long long)value);
}

static void
samples_of(struct statistics_text *out, const char *zone,
	const struct statistics_array *array, const struct counters *c)
{
	char name[STATISTICS_ITEM_MAX], label[STATISTICS_ITEM_MAX + 16];
	uint64_t value;

	for (unsigned i = 0; i < array->count; i++) {
		if (!statistics_array_get(array, c, i, name, &value))
			continue;
		snprintf(label, sizeof(label), "%s=\"%s\"", array->label,
			name);
		print_sample(out, array->family, zone, label, value);
	}
}

static void
samples_of_single(struct statistics_text *out, const char *zone, unsigned first,
	const struct counters *c)
{
	const struct statistics_single *s = statistics_singles;

	for (unsigned i = first; i < statistics_single_count
		&& strcmp(s[i].family, s[first].family) == 0; i++)
		print_sample(out, s[i].family, zone, s[i].label,
			statistics_single_value(&s[i], c));
}

static void
family_head(struct statistics_text *out, const struct family *family,
	const char *prefix)
{
	const struct statistics_single *s;

	if (family->array < STATISTICS_ARRAYS) {
		print_head(out, prefix, statistics_arrays[family->array].family,
			statistics_arrays[family->array].help, "counter");
	} else if (family->single != NULL) {
		s = &statistics_singles[single_find(family->single)];
		print_head(out, prefix, s->family, s->help, "counter");
	} else {
		print_head(out, prefix, "queries_total", "Queries.", "counter");
	}
}

static void
family_samples(struct statistics_text *out, const struct family *family,
	const char *zone, const struct counters *c)
{
	if (family->array < STATISTICS_ARRAYS)
		samples_of(out, zone, &statistics_arrays[family->array], c);
	else if (family->single != NULL)
		samples_of_single(out, zone, single_find(family->single), c);
	else
		print_sample(out, "queries_total", zone, NULL, c->queries);
}

/* ---- of the server ------------------------------------------------------- */

static void
print_metric(struct statistics_text *out, const char *family, const char *help,
	const char *type, uint64_t value)
{
	print_head(out, "", family, help, type);
	print_sample(out, family, "", NULL, value);
}

static void
metric_of_time(struct statistics_text *out, const char *family,
	const char *help, const char *type, int64_t usec)
{
	if (usec < 0)
		usec = 0;
	print_head(out, "", family, help, type);
	statistics_text_printf(out, "nsd_%s %lld.%06lld\n", family,
		(long long)(usec / USEC), (long long)(usec % USEC));
}

/* Buckets of this format count all that is not more than their bound. */
static void
print_latency(struct statistics_text *out, const char *transport,
	const struct latency *latency)
{
	uint64_t count = 0;
	char label[64];

	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		count += latency->count[i];
		snprintf(label, sizeof(label),
			"transport=\"%s\",le=\"%u.%06u\"", transport,
			(1u << i) / USEC, (1u << i) % USEC);
		if (i == LATENCY_BUCKETS - 1)
			snprintf(label, sizeof(label),
				"transport=\"%s\",le=\"+Inf\"", transport);
		print_sample(out, "answer_seconds_bucket", "", label, count);
	}
	statistics_text_printf(out,
		"nsd_answer_seconds_sum{transport=\"%s\"} %llu.%06llu\n",
		transport, (unsigned long long)(latency->usec / USEC),
		(unsigned long long)(latency->usec % USEC));
	snprintf(label, sizeof(label), "transport=\"%s\"", transport);
	print_sample(out, "answer_seconds_count", "", label, count);
}

static void
print_server(struct statistics_text *out, const struct statistics *s)
{
	char label[32];

	family_head(out, &families[0], "");
	for (unsigned i = 0; i < s->server_count; i++) {
		snprintf(label, sizeof(label), "server=\"%u\"", i);
		print_sample(out, "queries_total", "", label, s->queries[i]);
	}
	for (unsigned i = 1; i < FAMILY_COUNT; i++) {
		family_head(out, &families[i], "");
		family_samples(out, &families[i], "", &s->all);
	}
	print_metric(out, "queries_lost_total",
		"Datagrams that the kernel dropped for want of room in a"
		" socket.", "counter", s->all.lost);
	metric_of_time(out, "time_up_seconds_total",
		"Seconds since the server was started.", "counter",
		s->up_usec);
	metric_of_time(out, "time_elapsed_seconds",
		"Seconds since the counters were 0.", "untyped",
		s->elapsed_usec);
	print_metric(out, "size_db_on_disk_bytes",
		"Size of the database on disk.",
		"gauge", s->db_disk);
	print_metric(out, "size_db_in_mem_bytes",
		"Size of the zones in memory.",
		"gauge", s->db_mem);
	print_metric(out, "size_xfrd_in_mem_bytes",
		"Memory of the process that does transfers.", "gauge",
		s->xfrd_mem);
	print_metric(out, "size_config_on_disk_bytes",
		"Size of the list of zones on disk.", "gauge",
		s->config_disk);
	print_metric(out, "size_config_in_mem_bytes",
		"Size of the configuration in memory.", "gauge",
		s->config_mem);
	print_metric(out, "zones_primary", "Primary zones.", "gauge",
		s->primary_zones);
	print_metric(out, "zones_secondary", "Secondary zones.", "gauge",
		s->secondary_zones);
	print_head(out, "", "answer_seconds",
		"How long answers took within the server.", "histogram");
	print_latency(out, "udp", &s->latency.udp);
	print_latency(out, "tcp", &s->latency.tcp);
}

/* ---- trouble ------------------------------------------------------------- */

static void
print_trouble_of_zones(struct statistics_text *out,
	const struct statistics_trouble *t)
{
	static const char *const labels[STATISTICS_ZONE_TROUBLES] = {
		[STATISTICS_ZONE_NOT_LOADED] = "trouble=\"not loaded\"",
		[STATISTICS_ZONE_AS_IT_WAS] = "trouble=\"served as it was\"",
		[STATISTICS_ZONE_EXPIRED] = "trouble=\"expired\"",
		[STATISTICS_ZONE_NO_DATA] = "trouble=\"no data\"",
		[STATISTICS_ZONE_NOT_REFRESHED] = "trouble=\"not refreshed\"",
		[STATISTICS_ZONE_NOT_WRITTEN] = "trouble=\"not written\"",
		[STATISTICS_ZONE_NOT_HEARD] = "trouble=\"not acknowledged\"",
	};

	print_head(out, "", "zones_in_trouble",
		"Zones by what is wrong with them.",
		"gauge");
	for (unsigned i = STATISTICS_ZONE_WELL + 1;
		i < STATISTICS_ZONE_TROUBLES; i++)
		print_sample(out, "zones_in_trouble", "", labels[i],
			t->zones[i]);
}

void
statistics_print_trouble(struct statistics_text *out,
	const struct statistics_trouble *t)
{
	static const char *const labels[STATISTICS_PROCESSES] = {
		[STATISTICS_LOADER] = "process=\"loader\"",
		[STATISTICS_XFRD] = "process=\"xfrd\"",
		[STATISTICS_SERVER] = "process=\"server\"",
	};

	print_trouble_of_zones(out, t);
	print_metric(out, "zones_refused",
		"Zones whose last version was refused.", "gauge",
		t->refused_zones);
	print_metric(out, "refusals_total", "Versions that were refused.",
		"counter", t->refusals);
	metric_of_time(out, "zones_oldest_refresh_seconds",
		"Since a secondary zone was known to be fresh, the longest.",
		"gauge", t->oldest_refresh_msec * 1000);
	print_head(out, "", "trouble", "What else is wrong.", "gauge");
	print_sample(out, "trouble", "", "trouble=\"journal\"", t->no_journal);
	print_sample(out, "trouble", "", "trouble=\"zone list\"",
		t->no_changes);
	print_sample(out, "trouble", "", "trouble=\"waits for a restart\"",
		t->waiting);
	print_sample(out, "trouble", "",
		"trouble=\"died of what it had in hand\"", t->in_hand);
	print_sample(out, "trouble", "", "trouble=\"catalogs\"", t->catalogs);
	print_head(out, "", "process_deaths_total",
		"Deaths of processes that nobody wanted.", "counter");
	for (unsigned i = 0; i < STATISTICS_PROCESSES; i++)
		print_sample(out, "process_deaths_total", "", labels[i],
			t->deaths[i]);
}

/* ---- of groups ----------------------------------------------------------- */

/* Octets of the character of UTF-8 (RFC 3629 section 4) at the beginning of a
 * text; 0: it is none. */
static size_t
utf8_len(const char *text)
{
	const uint8_t *s = (const uint8_t *)text;
	size_t len = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2
		: *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f)
		|| (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/* Writes LABEL="NAME" with the escapes of the format. The format is UTF-8: a
 * page with other octets would be refused whole, so these are written as in a
 * name. */
static void
print_name_label(char *out, const char *label, const char *name)
{
	char *at = out + sprintf(out, "%s=\"", label);

	while (*name != '\0') {
		size_t len = utf8_len(name);

		if (*name == '"' || *name == '\\' || *name == '\n')
			*at++ = '\\';
		if (*name == '\n')
			*at++ = 'n';
		else if (len > 0)
			at = (char *)memcpy(at, name, len) + len;
		else
			at += sprintf(at, "\\\\%03u", (uint8_t)*name);
		name += len > 0 ? len : 1;
	}
	memcpy(at, "\"", 2);
}

bool
statistics_print_metrics(struct statistics_text *out,
	struct statistics_metrics *m)
{
	char name[STATISTICS_NAME_MAX + 1], zone[LABELS_MAX];
	struct counters counters;

	if (m->group == 0) {
		print_server(out, m->all);
		m->group = 1;
		return true;
	}
	if (!m->get_group(m->ctx, m->group, name, &counters)) {
		m->family++;
		if (m->group == 1)
			return false;
		m->group = 1;
		return m->family < GROUP_FAMILY_COUNT;
	}
	if (m->group == 1)
		family_head(out, &families[m->family], OF_GROUPS);
	if (*name != '\0') {
		print_name_label(zone, "zone", name);
		family_samples(out, &families[m->family], zone, &counters);
	}
	m->group++;
	return true;
}

/* ---- of sources of member zones ------------------------------------------ */

void
statistics_print_sources(struct statistics_text *out,
	const struct statistics_source *sources, size_t count)
{
	static const char *const families_of_sources[][2] = {
		{"catalog_members", "Zones that a catalog has here."},
		{"catalog_refused", "Members of a catalog that are not taken."},
		{"catalog_invalid", "1: a catalog is not followed."},
	};
	char label[LABELS_MAX];

	for (unsigned f = 0; f < 3 && count > 0; f++) {
		const char *family = families_of_sources[f][0];

		print_head(out, "", family, families_of_sources[f][1], "gauge");
		for (size_t i = 0; i < count; i++) {
			const struct statistics_source *s = &sources[i];

			print_name_label(label, "catalog", s->name);
			print_sample(out, family, "", label,
				f == 0 ? s->members
				: f == 1 ? s->refused
				: s->is_invalid);
		}
	}
}

void
statistics_print_records_metrics(struct statistics_text *out,
	const struct statistics_records *r)
{
	if (r->has_dnstap) {
		print_metric(out, "dnstap_sent_total",
			"Messages sent to the receiver of dnstap.", "counter",
			r->sent);
		print_metric(out, "dnstap_dropped_total",
			"Messages of dnstap that were lost.", "counter",
			r->dropped);
		print_metric(out, "dnstap_connected",
			"1: there is a connection to the receiver of dnstap.",
			"gauge", r->is_connected);
	}
	if (r->has_log) {
		print_metric(out, "querylog_written_total",
			"Lines of the query log.", "counter", r->lines);
		print_metric(out, "querylog_dropped_total",
			"Lines of the query log that were lost.", "counter",
			r->lines_dropped);
	}
}
