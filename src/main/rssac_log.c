/* rssac_log.c - the figures of RSSAC002, version 4, as lines of main's log. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "main/rssac_log.h"
#include "process/counts.h"

#define SECONDS_A_DAY 86400
/* A line that is longer is continued on the next, with the same beginning. */
#define LINE_MAX_LEN 4000
#define FIELD_MAX_LEN 100

/* A log of a period that is being written: values of every line. */
struct writing {
	const struct rssac_log *log;
	time_t now;
};

struct line {
	const struct writing *writing;
	const char *metric;
	size_t head; /* octets */
	size_t len;
	char text[LINE_MAX_LEN];
};

static void
line_begin(struct line *line, const struct writing *writing,
	const char *metric)
{
	line->writing = writing;
	line->metric = metric;
	line->head = (size_t)snprintf(line->text, sizeof(line->text),
		"RSSAC002 %lld %lld %s", (long long)writing->now,
		(long long)writing->log->since, metric);
	line->len = line->head;
}

static void
line_end(const struct line *line)
{
	log_info("%s", line->text);
}

static void __attribute__((format(printf, 2, 3)))
line_add(struct line *line, const char *format, ...)
{
	va_list args;

	if (line->len + FIELD_MAX_LEN > sizeof(line->text)) {
		line_end(line);
		line_begin(line, line->writing, line->metric);
	}
	va_start(args, format);
	line->len += (size_t)vsnprintf(line->text + line->len,
		sizeof(line->text) - line->len, format, args);
	va_end(args);
}

static void
sum_all(const struct server *server, struct counters *counters,
	struct rssac *figures)
{
	memset(counters, 0, sizeof(*counters));
	memset(figures, 0, sizeof(*figures));
	for (unsigned i = 0; i < counts_workers(server->counts); i++) {
		struct counters_block block;

		counts_get_block(server->counts, i, &block);
		counters_add(counters, block.rows);
		rssac_add(figures, counts_get_rssac(server->counts, i));
	}
}

void
rssac_log_begin(struct rssac_log *log, const struct server *server, time_t now)
{
	log->since = now;
	sum_all(server, &log->counters, &log->figures);
	/* Sources of queries count again in the new period. */
	for (unsigned i = 0; i < counts_workers(server->counts); i++) {
		struct rssac *rssac = counts_get_rssac(server->counts, i);

		memset(rssac->sources, 0, sizeof(rssac->sources));
	}
}

static void
write_volume(const struct writing *w, const struct counters *c,
	const struct rssac *f)
{
	const struct counters *c0 = &w->log->counters;
	const struct rssac *f0 = &w->log->figures;
	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{"dns-udp-queries-received-ipv4", c->udp - c0->udp},
		{"dns-udp-queries-received-ipv6", c->udp6 - c0->udp6},
		{"dns-tcp-queries-received-ipv4", c->tcp - c0->tcp},
		{"dns-tcp-queries-received-ipv6", c->tcp6 - c0->tcp6},
		{"dns-udp-responses-sent-ipv4",
			f->sent[RSSAC_UDP][0] - f0->sent[RSSAC_UDP][0]},
		{"dns-udp-responses-sent-ipv6",
			f->sent[RSSAC_UDP][1] - f0->sent[RSSAC_UDP][1]},
		{"dns-tcp-responses-sent-ipv4",
			f->sent[RSSAC_TCP][0] - f0->sent[RSSAC_TCP][0]},
		{"dns-tcp-responses-sent-ipv6",
			f->sent[RSSAC_TCP][1] - f0->sent[RSSAC_TCP][1]},
	};
	struct line line;

	line_begin(&line, w, "traffic-volume");
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		line_add(&line, " %s=%llu", fields[i].name,
			(unsigned long long)fields[i].value);
	line_end(&line);
}

static void
write_sizes(const struct writing *w, const char *metric,
	const uint64_t bins[RSSAC_BINS], const uint64_t before[RSSAC_BINS])
{
	struct line line;

	line_begin(&line, w, metric);
	for (unsigned i = 0; i < RSSAC_BINS; i++) {
		unsigned first = i * RSSAC_BIN_OCTETS;
		unsigned long long value = bins[i] - before[i];

		if (value == 0)
			continue;
		if (i + 1 < RSSAC_BINS)
			line_add(&line, " %u-%u=%llu", first,
				first + RSSAC_BIN_OCTETS - 1, value);
		else
			line_add(&line, " %u-=%llu", first, value);
	}
	line_end(&line);
}

static void
write_rcodes(const struct writing *w, const struct counters *c)
{
	struct line line;

	line_begin(&line, w, "rcode-volume");
	for (unsigned i = 0; i < COUNTER_RCODES; i++) {
		unsigned long long value = c->rcode[i]
			- w->log->counters.rcode[i];

		if (value > 0)
			line_add(&line, " %u=%llu", i, value);
	}
	line_end(&line);
}

static void
write_sources(const struct writing *w, const struct rssac *f)
{
	static const char *const names[RSSAC_SOURCES] = {
		[RSSAC_IP4] = "num-sources-ipv4",
		[RSSAC_IP6] = "num-sources-ipv6",
		[RSSAC_IP6_NETS] = "num-sources-ipv6-aggregate",
	};
	struct line line;

	line_begin(&line, w, "unique-sources");
	for (unsigned i = 0; i < RSSAC_SOURCES; i++)
		line_add(&line, " %s=%llu", names[i],
			(unsigned long long)rssac_estimate(f->sources[i]));
	line_end(&line);
}

void
rssac_log_write(const struct rssac_log *log, const struct server *server,
	time_t now)
{
	const struct rssac *before = &log->figures;
	const struct writing w = {log, now};
	struct counters counters;
	struct rssac sum;

	sum_all(server, &counters, &sum);
	write_volume(&w, &counters, &sum);
	write_sizes(&w, "udp-request-sizes", sum.requests[RSSAC_UDP],
		before->requests[RSSAC_UDP]);
	write_sizes(&w, "udp-response-sizes", sum.replies[RSSAC_UDP],
		before->replies[RSSAC_UDP]);
	write_sizes(&w, "tcp-request-sizes", sum.requests[RSSAC_TCP],
		before->requests[RSSAC_TCP]);
	write_sizes(&w, "tcp-response-sizes", sum.replies[RSSAC_TCP],
		before->replies[RSSAC_TCP]);
	write_rcodes(&w, &counters);
	write_sources(&w, &sum);
}

unsigned
rssac_log_seconds_left(time_t now)
{
	return (unsigned)(SECONDS_A_DAY - now % SECONDS_A_DAY);
}
