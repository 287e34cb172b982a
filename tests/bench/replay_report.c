/* replay_report.c - the course of a run, and its line of JSON. */
#include "config.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "replay.h"

struct moment {
	double sec;
	struct replay_counts counts;
	struct usage usage;
};

static struct moment *moments;
static size_t moment_count;

void
report_note(const struct replay *r, double sec)
{
	moments = realloc(moments, (moment_count + 1) * sizeof(*moments));
	if (moments == NULL)
		err(1, NULL);
	moments[moment_count++] = (struct moment){
		.sec = sec,
		.counts = r->counts,
		.usage = usage_read(r->options.pids, r->options.pid_count),
	};
}

static void
print_number(const char *name, uint64_t number, const char *end)
{
	printf("\"%s\":%llu%s", name, (unsigned long long)number, end);
}

static void
print_counts(const struct replay_counts *c)
{
	printf(",\"udp\":{");
	print_number("sent", c->udp.sent, ",");
	print_number("answered", c->udp.answered, ",");
	print_number("timeouts", c->udp.timeouts, ",");
	print_number("unsent", c->udp.unsent, ",");
	print_number("bad", c->udp.bad, ",");
	print_number("late", c->udp.late, ",");
	print_number("octets", c->udp.octets, "}");
	printf(",\"tcp\":{");
	print_number("asked", c->tcp.asked, ",");
	print_number("connections", c->tcp.connections, ",");
	print_number("answered", c->tcp.answered, ",");
	print_number("timeouts", c->tcp.timeouts, ",");
	print_number("refused", c->tcp.refused, ",");
	print_number("cut", c->tcp.cut, ",");
	print_number("unsent", c->tcp.unsent, ",");
	print_number("bad", c->tcp.bad, ",");
	print_number("octets", c->tcp.octets, "}");
	printf(",");
	print_number("truncated", c->truncated, ",\"rcodes\":[");
	for (int i = 0; i < 16; i++)
		printf("%s%llu", i == 0 ? "" : ",",
			(unsigned long long)c->rcodes[i]);
	printf("]");
}

/* CPU time of the server between two moments, and its memory at the end. */
static void
print_used(const struct moment *from, const struct moment *to)
{
	printf("{\"user\":%.6f,\"system\":%.6f,\"pss_mib\":%.1f,"
		"\"processes\":%u}",
		to->usage.user_sec - from->usage.user_sec,
		to->usage.system_sec - from->usage.system_sec,
		(double)to->usage.pss_kib / 1024, to->usage.processes);
}

static void
print_course(void)
{
	printf(",\"course\":[");
	for (size_t i = 1; i < moment_count; i++) {
		const struct moment *a = &moments[i - 1], *b = &moments[i];
		const struct replay_counts *from = &a->counts, *to = &b->counts;

		printf("%s{\"begin\":%.3f,\"end\":%.3f,", i == 1 ? "" : ",",
			a->sec, b->sec);
		print_number("udp_sent", to->udp.sent - from->udp.sent, ",");
		print_number("udp_answered", to->udp.answered
			- from->udp.answered, ",");
		print_number("tcp_asked", to->tcp.asked - from->tcp.asked,
			",");
		print_number("tcp_answered", to->tcp.answered
			- from->tcp.answered, ",");
		printf("\"server\":");
		print_used(a, b);
		printf("}");
	}
	printf("]");
}

/* Octets of answers: exact. */
static void
print_lengths(const char *name, const uint32_t *lengths)
{
	uint64_t count = 0, sum = 0, seen = 0, p50 = 0, p99 = 0, max = 0;

	for (uint64_t len = 0; len < REPLAY_LENGTHS; len++) {
		count += lengths[len];
		sum += lengths[len] * len;
	}
	for (uint64_t len = 0; len < REPLAY_LENGTHS; len++) {
		if (lengths[len] == 0)
			continue;
		if (seen * 2 < count)
			p50 = len;
		if (seen * 100 < count * 99)
			p99 = len;
		max = len;
		seen += lengths[len];
	}
	printf("\"%s\":{\"mean\":%.1f,", name, count == 0 ? 0
		: (double)sum / (double)count);
	print_number("p50", p50, ",");
	print_number("p99", p99, ",");
	print_number("max", max, "}");
}

static void
print_own(void)
{
	struct rusage own;

	getrusage(RUSAGE_SELF, &own);
	printf(",\"client\":{\"user\":%.2f,\"system\":%.2f}",
		(double)own.ru_utime.tv_sec
		+ (double)own.ru_utime.tv_usec / 1e6,
		(double)own.ru_stime.tv_sec
		+ (double)own.ru_stime.tv_usec / 1e6);
}

void
report_print(const struct replay *r)
{
	const struct moment *last = &moments[moment_count - 1];

	printf("{");
	print_number("queries", r->in.count, ",");
	print_number("skipped", r->in.skipped, ",");
	printf("\"seconds\":%.3f,\"share\":%.4f,\"cut_again\":%s,"
		"\"only_tcp\":%s,\"kept\":%u", last->sec, r->options.share,
		r->options.cut_again ? "true" : "false",
		r->options.only_tcp ? "true" : "false", r->options.kept);
	print_counts(&r->counts);
	printf(",\"latency\":{\"udp\":");
	histogram_print(&r->udp, stdout);
	printf(",\"tcp\":");
	histogram_print(&r->tcp, stdout);
	printf(",\"both\":");
	histogram_print(&r->both, stdout);
	printf("},\"lateness\":");
	histogram_print(&r->late, stdout);
	printf(",\"lengths\":{");
	print_lengths("udp", r->udp_lengths);
	printf(",");
	print_lengths("tcp", r->tcp_lengths);
	printf("},\"server\":");
	print_used(&moments[0], last);
	print_own();
	print_course();
	printf("}\n");
}
