/* test_statistics.c - counters of the server, as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/statistics.h"
#include "dns/rrtype.h"

static const uint64_t queries[2] = {3, 4};

static void
fill(struct statistics *s)
{
	memset(s, 0, sizeof(*s));
	s->server_count = 2;
	s->queries = queries;
	s->up_usec = 12345678;
	s->elapsed_usec = 500;
	s->db_mem = 1000;
	s->xfrd_mem = 2000;
	s->config_disk = 5;
	s->config_mem = 3000;
	s->all.queries = 7;
	s->all.type[1] = 6;
	s->all.type[200] = 1;
	s->all.type[27] = 2; /* GPOS, which NSD does not name */
	s->all.type[255] = 3;
	s->all.type[256] = 9; /* not shown */
	s->all.opcode[0] = 7;
	s->all.opcode[5] = 1;
	s->all.rrclass[COUNTER_IN] = 7;
	s->all.rrclass[COUNTER_CS] = 2;
	s->all.rcode[3] = 2;
	s->all.rcode[16] = 1;
	s->all.udp = 5;
	s->all.tls6 = 2;
	s->all.dropped = 11;
	s->all.lost = 13;
	latency_add(&s->latency.udp, 3, 2);
	latency_add(&s->latency.udp, 2000000, 1);
	s->primary_zones = 8;
	s->secondary_zones = 9;
}

/* The text as a string, to be freed. */
static char *
finish(struct statistics_text *out)
{
	assert_false(out->failed);
	statistics_text_printf(out, "%c", '\0');
	return out->text;
}

/* Expects the lines in the text, in this order. */
static void
expect_in_order(const char *text, const char *const *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *at = strstr(text, lines[i]);

		if (at == NULL)
			fail_msg("no %s behind the line before", lines[i]);
		text = at + strlen(lines[i]);
	}
}

static void
lines_have_the_order_of_nsd(void **state)
{
	static const char *const lines[] = {"server0.queries=3\n",
		"server1.queries=4\n", "num.queries=7\n",
		"time.boot=12.345678\n", "time.elapsed=0.000500\n",
		"size.db.disk=0\n", "size.db.mem=1000\n",
		"size.xfrd.mem=2000\n", "size.config.disk=5\n",
		"size.config.mem=3000\n", "num.type.A=6\n", "num.type.NS=0\n",
		"num.type.TYPE27=2\n", "num.type.TYPE200=1\n",
		"num.type.TYPE255=3\n", "num.opcode.QUERY=7\n",
		"num.opcode.UPDATE=1\n", "num.class.IN=7\n",
		"num.class.CS=2\n",
		"num.rcode.NOERROR=0\n", "num.rcode.FORMERR=0\n",
		"num.rcode.SERVFAIL=0\n", "num.rcode.NXDOMAIN=2\n",
		"num.rcode.NOTIMP=0\n", "num.rcode.REFUSED=0\n",
		"num.rcode.YXDOMAIN=0\n", "num.rcode.BADVERS=1\n",
		"num.edns=0\n", "num.ednserr=0\n", "num.udp=5\n",
		"num.udp6=0\n", "num.tcp=0\n", "num.tcp6=0\n", "num.tls=0\n",
		"num.tls6=2\n", "num.answer_wo_aa=0\n", "num.rxerr=0\n",
		"num.txerr=0\n", "num.raxfr=0\n", "num.rixfr=0\n",
		"num.truncated=0\n", "num.dropped=11\n", "zone.primary=8\n",
		"zone.secondary=9\n", "zone.master=8\n", "zone.slave=9\n"};
	struct statistics_text out = {NULL};
	struct statistics s;
	char *text;

	fill(&s);
	statistics_print(&out, &s);
	text = finish(&out);
	assert_memory_equal(text, lines[0], strlen(lines[0]));
	expect_in_order(text, lines, sizeof(lines) / sizeof(*lines));
	assert_null(strstr(text, "TYPE201"));
	assert_null(strstr(text, "TYPE252"));
	assert_null(strstr(text, "AXFR"));
	assert_null(strstr(text, "TYPE256"));
	assert_null(strstr(text, "=9\nnum"));
	assert_null(strstr(text, "opcode.STATUS"));
	assert_null(strstr(text, "class.CH"));
	assert_null(strstr(text, "rcode.YXRRSET"));
	statistics_text_free(&out);
}

static void
classes_from_3_on_are_one_sum(void **state)
{
	struct counters c = {.rrclass = {[COUNTER_HS] = 2, [COUNTER_ANY] = 3,
		[COUNTER_OTHER] = 4}};
	struct statistics_text out = {NULL};
	char *text;

	statistics_print_group(&out, "g", &c);
	text = finish(&out);
	assert_non_null(strstr(text, "g.num.class.IN=0\ng.num.class.CH=9\n"
		"g.num.rcode."));
	statistics_text_free(&out);
}

static void
what_nsd_does_not_name_has_lines_of_its_own(void **state)
{
	static const char *const lines[] = {"num.type.GPOS=2\n",
		"num.type.TSIG=0\n", "num.type.ANY=3\n", "num.class.CH=0\n",
		"num.class.HS=5\n", "num.class.ANY=0\n",
		"num.class.OTHER=0\n"};
	struct statistics_text out = {NULL};
	struct statistics s;
	char *text;

	fill(&s);
	s.all.rrclass[COUNTER_HS] = 5;
	statistics_print_names(&out, &s.all);
	text = finish(&out);
	expect_in_order(text, lines, sizeof(lines) / sizeof(*lines));
	assert_null(strstr(text, ".TYPE"));
	assert_null(strstr(text, "num.type.A="));
	assert_null(strstr(text, "num.class.IN"));
	statistics_text_free(&out);
}

/* Servers that take no UPDATEs show what NSD shows. */
static void
updates_are_shown_when_there_were_some(void **state)
{
	static const char *const lines[] = {"num.dropped=11\n",
		"num.update.received=9\n", "num.update.NOERROR=6\n",
		"num.update.NOTZONE=2\n", "zone.primary=8\n"};
	struct statistics_text out = {NULL};
	struct statistics s;
	char *text;

	fill(&s);
	statistics_print(&out, &s);
	text = finish(&out);
	assert_null(strstr(text, "num.update"));
	statistics_text_free(&out);
	s.all.update_received = 9;
	s.all.update_rcode[0] = 6;
	s.all.update_rcode[10] = 2;
	statistics_print(&out, &s);
	text = finish(&out);
	expect_in_order(text, lines, sizeof(lines) / sizeof(*lines));
	assert_null(strstr(text, "num.update.FORMERR"));
	statistics_text_free(&out);
}

static void
a_group_has_its_name_before_each_line(void **state)
{
	static const char *const lines[] = {"a.b.num.queries=7\n",
		"a.b.num.type.A=6\n", "a.b.num.opcode.QUERY=7\n",
		"a.b.num.rcode.BADVERS=1\n", "a.b.num.udp=5\n",
		"a.b.num.dropped=11\n"};
	struct statistics_text out = {NULL};
	struct statistics s;
	char *text, *rest, *line;

	fill(&s);
	statistics_print_group(&out, "a.b", &s.all);
	text = finish(&out);
	expect_in_order(text, lines, sizeof(lines) / sizeof(*lines));
	for (line = strtok_r(text, "\n", &rest); line != NULL;
		line = strtok_r(NULL, "\n", &rest))
		assert_memory_equal(line, "a.b.num.", 8);
	statistics_text_free(&out);
}

static void
time_is_counted_by_its_power_of_two(void **state)
{
	static const struct {
		int64_t usec;
		unsigned bucket;
	} rows[] = {{-1, 0}, {0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {7, 3},
		{8, 4}, {1023, 10}, {1024, 11}, {(1 << 20) - 1, 20},
		{1 << 20, 21}, {INT64_MAX / 8, 21}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct latency latency = {.usec = 0};

		latency_add(&latency, rows[i].usec, 3);
		assert_int_equal(latency.count[rows[i].bucket], 3);
		assert_int_equal(latency.usec,
			rows[i].usec < 0 ? 0 : rows[i].usec * 3);
		latency_sum(&latency, &latency);
		assert_int_equal(latency.count[rows[i].bucket], 6);
	}
}

static void
lines_of_times(void **state)
{
	static const char *const lines[] = {"s.lt1us=0\n", "s.lt2us=0\n",
		"s.lt4us=2\n", "s.lt8us=0\n", "s.lt1048576us=0\n",
		"s.more=1\n", "s.usec=2000006\n"};
	struct statistics_text out = {NULL};
	struct latency latency = {.usec = 0};

	latency_add(&latency, 3, 2);
	latency_add(&latency, 2000000, 1);
	statistics_print_latency(&out, "s", &latency);
	expect_in_order(finish(&out), lines, sizeof(lines) / sizeof(*lines));
	statistics_text_free(&out);
}

/* ---- metrics ------------------------------------------------------------- */

static const char *const group_names[] = {"one", "t\"w\\o\n"};

static bool
get_group(void *ctx, uint32_t group, char *name, struct counters *counters)
{
	const struct statistics *s = ctx;

	if (group > s->server_count)
		return false;
	strcpy(name, group_names[group - 1]);
	*counters = s->all;
	counters->udp = group;
	return true;
}

static char *
print_metrics(struct statistics *s, struct statistics_text *out)
{
	struct statistics_metrics m = {
		.all = s,
		.get_group = get_group,
		.ctx = s,
	};

	while (statistics_print_metrics(out, &m))
		;
	return finish(out);
}

static void
metrics_have_families(void **state)
{
	static const char *const lines[] = {
		"# HELP nsd_queries_total ",
		"# TYPE nsd_queries_total counter\n",
		"nsd_queries_total{server=\"0\"} 3\n",
		"nsd_queries_total{server=\"1\"} 4\n",
		"# TYPE nsd_queries_by_type_total counter\n",
		"nsd_queries_by_type_total{type=\"A\"} 6\n",
		"nsd_queries_by_type_total{type=\"TYPE255\"} 3\n",
		"# TYPE nsd_queries_by_transport_total counter\n",
		"nsd_queries_by_transport_total{transport=\"udp\"} 5\n",
		"nsd_connections_total{transport=\"tls6\"} 2\n",
		"nsd_xfr_requests_served_total{xfrtype=\"AXFR\"} 0\n",
		"# TYPE nsd_queries_lost_total counter\n",
		"nsd_queries_lost_total 13\n",
		"# TYPE nsd_time_up_seconds_total counter\n",
		"nsd_time_up_seconds_total 12.345678\n",
		"# TYPE nsd_time_elapsed_seconds untyped\n",
		"nsd_time_elapsed_seconds 0.000500\n",
		"# TYPE nsd_zones_secondary gauge\n",
		"nsd_zones_secondary 9\n",
		"# TYPE nsd_answer_seconds histogram\n",
		"nsd_answer_seconds_bucket{transport=\"udp\",le=\"0.000001\"}"
		" 0\n",
		"nsd_answer_seconds_bucket{transport=\"udp\",le=\"0.000004\"}"
		" 2\n",
		"nsd_answer_seconds_bucket{transport=\"udp\",le=\"1.048576\"}"
		" 2\n",
		"nsd_answer_seconds_bucket{transport=\"udp\",le=\"+Inf\"}"
		" 3\n",
		"nsd_answer_seconds_sum{transport=\"udp\"} 2.000006\n",
		"nsd_answer_seconds_count{transport=\"udp\"} 3\n",
		"nsd_answer_seconds_count{transport=\"tcp\"} 0\n",
		"# TYPE nsd_zonestats_queries_total counter\n",
		"nsd_zonestats_queries_total{zone=\"one\"} 7\n",
		"nsd_zonestats_queries_total{zone=\"t\\\"w\\\\o\\n\"} 7\n",
		"# TYPE nsd_zonestats_queries_by_type_total counter\n",
		"nsd_zonestats_queries_by_type_total{zone=\"one\",type=\"A\"}"
		" 6\n",
		"nsd_zonestats_queries_by_transport_total{zone=\"one\","
		"transport=\"udp\"} 1\n",
		"nsd_zonestats_queries_by_transport_total{zone=\"t\\\"w\\\\o"
		"\\n\",transport=\"udp\"} 2\n",
		"nsd_zonestats_queries_dropped_total{zone=\"one\"} 11\n",
	};
	struct statistics_text out = {NULL};
	struct statistics s;

	fill(&s);
	expect_in_order(print_metrics(&s, &out), lines,
		sizeof(lines) / sizeof(*lines));
	statistics_text_free(&out);
}

static bool
get_one_group(void *ctx, uint32_t group, char *name, struct counters *counters)
{
	strcpy(name, ctx);
	*counters = (struct counters){.queries = 1};
	return group == 1;
}

/* RFC 3629 section 4. Prometheus refuses a page with anything else. */
static void
labels_are_utf8(void **state)
{
	static const char *const rows[][2] = {
		{"b\xc3\xbc", "b\xc3\xbc"},
		{"\xe0\xa0\x80\xed\x9f\xbf", "\xe0\xa0\x80\xed\x9f\xbf"},
		{"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
			"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
		{"b\xfc" "cher", "b\\\\252cher"},
		{"\xc3", "\\\\195"},
		{"\x80", "\\\\128"},
		{"\xc1\x80", "\\\\193\\\\128"},
		{"\xe0\x9f\x80", "\\\\224\\\\159\\\\128"},
		{"\xed\xa0\x80", "\\\\237\\\\160\\\\128"},
		{"\xf0\x8f\x80\x80", "\\\\240\\\\143\\\\128\\\\128"},
		{"\xf4\x90\x80\x80", "\\\\244\\\\144\\\\128\\\\128"},
		{"\xe2\x82.", "\\\\226\\\\130."},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char name[32], line[128];
		struct statistics_metrics m = {
			.get_group = get_one_group,
			.ctx = name,
			.group = 1,
		};
		struct statistics_text out = {NULL};

		snprintf(name, sizeof(name), "%s", rows[i][0]);
		snprintf(line, sizeof(line), "\nnsd_zonestats_queries_total"
			"{zone=\"%s\"} 1\n", rows[i][1]);
		assert_true(statistics_print_metrics(&out, &m));
		assert_non_null(strstr(finish(&out), line));
		statistics_text_free(&out);
	}
}

/* Prometheus refuses a family that stands in two places. */
static void
a_family_stands_in_one_place(void **state)
{
	struct statistics_text out = {NULL};
	struct statistics s;
	char family[100] = "", *rest, *line, *text;
	unsigned heads = 0;

	fill(&s);
	text = print_metrics(&s, &out);
	for (line = strtok_r(text, "\n", &rest); line != NULL;
		line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, "# TYPE ", 7) == 0) {
			sscanf(line + 7, "%99s", family);
			heads++;
		} else if (*line != '#') {
			size_t len = strcspn(line, "{ ");

			/* Series of a histogram have a suffix. */
			if (strcmp(family, "nsd_answer_seconds") == 0)
				len = strlen(family);
			assert_int_equal(len, strlen(family));
			assert_memory_equal(line, family, len);
		}
	}
	assert_int_equal(heads, 17 + 11 + 15);
	statistics_text_free(&out);
}

static void
without_groups_there_are_no_families_of_them(void **state)
{
	struct statistics_text out = {NULL};
	struct statistics s;

	fill(&s);
	s.server_count = 0;
	assert_null(strstr(print_metrics(&s, &out), "zonestats"));
	statistics_text_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_the_order_of_nsd),
		cmocka_unit_test(classes_from_3_on_are_one_sum),
		cmocka_unit_test(what_nsd_does_not_name_has_lines_of_its_own),
		cmocka_unit_test(time_is_counted_by_its_power_of_two),
		cmocka_unit_test(lines_of_times),
		cmocka_unit_test(updates_are_shown_when_there_were_some),
		cmocka_unit_test(a_group_has_its_name_before_each_line),
		cmocka_unit_test(metrics_have_families),
		cmocka_unit_test(labels_are_utf8),
		cmocka_unit_test(a_family_stands_in_one_place),
		cmocka_unit_test(without_groups_there_are_no_families_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
