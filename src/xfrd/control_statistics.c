/* control_statistics.c - the verbs stats, stats_noreset and stats_more. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ctl/json.h"
#include "process/counts.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_statistics.h"

/* Groups that are printed in a turn. */
#define TURN_GROUPS 8u

/* An answer on its way. */
struct control_statistics {
	struct xfrd_statistics *look;
	struct statistics_text text;
	uint32_t group; /* the next; 0: all that is not of groups */
	bool is_json;
	struct ctl_json json;
};

static void
statistics_free(struct control_statistics *s)
{
	xfrd_statistics_close(s->look);
	statistics_text_free(&s->text);
	free(s);
}

/* Prints one group, or first the counters of none. False: there is no more. */
static bool
statistics_print_next(struct control_statistics *s)
{
	char name[STATISTICS_NAME_MAX + 1];
	struct statistics_records records;
	struct counters counters;

	s->text.len = 0;
	if (s->group == 0) {
		statistics_print(&s->text, &s->look->all);
		xfrd_statistics_get_records(s->look->xfrd, &records);
		statistics_print_records(&s->text, &records);
	} else if (!xfrd_statistics_get_group(s->look, s->group, name,
			&counters)) {
		return false;
	} else if (*name != '\0') {
		statistics_print_group(&s->text, name, &counters);
	}
	s->group++;
	return true;
}

/* Prints the same lines as members of one object. Names may have any octets but
 * the end of a line; values have none but digits and a point. */
static void
statistics_write_json(struct statistics_text *text, struct ctl_json *json)
{
	char *line, *rest, *value;

	/* The text gets a NUL at its end. */
	statistics_text_printf(text, "%c", '\0');
	if (text->failed)
		return;
	for (line = strtok_r(text->text, "\n", &rest); line != NULL;
		line = strtok_r(NULL, "\n", &rest)) {
		value = strrchr(line, '=');
		if (value == NULL)
			continue;
		*value++ = '\0';
		ctl_json_digits(json, line, value);
	}
}

/* Sets counters back only if the client has got them: otherwise the next client
 * is shown them. */
static void
statistics_on_sent(void *ctx, bool sent)
{
	struct control_statistics *s = ctx;

	if (sent)
		xfrd_statistics_reset(s->look);
	statistics_free(s);
}

/* Ends the answer: it is printed whole, or there is no memory. */
static void
statistics_end(struct control_statistics *s, struct ctl_call *call)
{
	/* JSON is one line so far. */
	if (s->text.failed) {
		ctl_printf(call, "%serror out of memory\n",
			s->is_json ? "\n" : "");
		statistics_free(s);
		ctl_end(call);
		return;
	}
	if (s->is_json) {
		ctl_json_close(&s->json, '}');
		ctl_printf(call, "\n");
	}
	ctl_end_and(call, statistics_on_sent, s);
}

static void
statistics_on_room(struct ctl_call *call)
{
	struct control_statistics *s = ctl_hooks(call)->ctx;

	for (unsigned i = 0; i < TURN_GROUPS; i++) {
		if (!statistics_print_next(s) || s->text.failed) {
			statistics_end(s, call);
			return;
		}
		if (s->is_json)
			statistics_write_json(&s->text, &s->json);
		else
			ctl_write(call, s->text.text, s->text.len);
	}
}

static void
statistics_on_gone(struct ctl_call *call)
{
	statistics_free(ctl_hooks(call)->ctx);
	ctl_end(call);
}

static void
statistics_answer(struct xfrd *xfrd, struct ctl_call *call, bool reset)
{
	struct control_statistics *s = calloc(1, sizeof(*s));

	if (s != NULL)
		s->look = xfrd_statistics_open(xfrd, reset);
	if (s == NULL || s->look == NULL) {
		free(s);
		ctl_printf(call, "error out of memory\n");
		ctl_end(call);
		return;
	}
	s->is_json = ctl_command(call)->json;
	s->json.call = call;
	if (s->is_json)
		ctl_json_open(&s->json, NULL, '{');
	ctl_hooks(call)->ctx = s;
	ctl_hooks(call)->on_gone = statistics_on_gone;
	ctl_stream(call, statistics_on_room);
}

void
control_on_stats(struct xfrd *xfrd, struct ctl_call *call)
{
	statistics_answer(xfrd, call, true);
}

void
control_on_stats_noreset(struct xfrd *xfrd, struct ctl_call *call)
{
	statistics_answer(xfrd, call, false);
}

/* ---- more ---------------------------------------------------------------- */

static void
more_of_store(const struct counts *counts, struct statistics_text *out)
{
	const struct counts_store *store = counts_get_store(counts);
	const struct {
		const char *name;
		const uint64_t *value;
	} rows[] = {
		{"live", &store->live},
		{"free", &store->free},
		{"mapped", &store->mapped},
		{"retired", &store->retired},
		{"epoch", &store->epoch},
		{"oldest", &store->oldest},
		{"pins", &store->pins},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		statistics_text_printf(out, "store.%s=%llu\n", rows[i].name,
			(unsigned long long)__atomic_load_n(rows[i].value,
				__ATOMIC_RELAXED));
}

static void
more_of_names(const struct counts *counts, struct statistics_text *out)
{
	struct counters sum = {.queries = 0};

	for (unsigned i = 0; i < counts_workers(counts); i++) {
		struct counters_block block;

		counts_get_block(counts, i, &block);
		counters_add(&sum, block.rows);
	}
	statistics_print_names(out, &sum);
}

static void
more_of_worker(const struct counts *counts, unsigned worker,
	struct statistics_text *out)
{
	struct counters_block block;
	char prefix[40];

	counts_get_block(counts, worker, &block);
	statistics_text_printf(out,
		"server%u.udp=%llu\nserver%u.tcp=%llu\nserver%u.tls=%llu\n"
		"server%u.dropped=%llu\nserver%u.lost=%llu\n",
		worker, (unsigned long long)(block.rows->udp
			+ block.rows->udp6),
		worker, (unsigned long long)(block.rows->tcp
			+ block.rows->tcp6),
		worker, (unsigned long long)(block.rows->tls
			+ block.rows->tls6),
		worker, (unsigned long long)block.rows->dropped,
		worker, (unsigned long long)block.rows->lost);
	snprintf(prefix, sizeof(prefix), "server%u.latency.udp", worker);
	statistics_print_latency(out, prefix,
		&counts_get_latency(counts, worker)->udp);
	snprintf(prefix, sizeof(prefix), "server%u.latency.tcp", worker);
	statistics_print_latency(out, prefix,
		&counts_get_latency(counts, worker)->tcp);
}

static void
more_of_process(const struct counts *counts, unsigned place,
	struct statistics_text *out)
{
	struct counts_process process;
	int64_t age;

	if (!counts_get_process(counts, place, &process))
		return;
	age = clock_now_msec() - process.started_msec;
	statistics_text_printf(out,
		"process.%s.pid=%lld\nprocess.%s.restarts=%llu\n"
		"process.%s.age=%lld.%03lld\n",
		process.name, (long long)process.pid, process.name,
		(unsigned long long)process.restarts, process.name,
		(long long)(age / 1000), (long long)(age % 1000));
}

/* Prints statistics that are never set back to 0. */
void
control_on_stats_more(struct xfrd *xfrd, struct ctl_call *call)
{
	const struct counts *counts = xfrd->role.server->counts;
	struct statistics_text text = {.text = NULL};
	struct ctl_json json = {.call = call};

	more_of_store(counts, &text);
	more_of_names(counts, &text);
	for (unsigned i = 0; i < counts_workers(counts); i++)
		more_of_worker(counts, i, &text);
	for (unsigned i = 0; i < counts_workers(counts) + 3; i++)
		more_of_process(counts, i, &text);
	if (!text.failed && ctl_command(call)->json) {
		ctl_json_open(&json, NULL, '{');
		statistics_write_json(&text, &json);
		ctl_json_close(&json, '}');
		ctl_printf(call, "\n");
	} else if (!text.failed) {
		ctl_write(call, text.text, text.len);
	}
	if (text.failed)
		ctl_printf(call, "error out of memory\n");
	statistics_text_free(&text);
	ctl_end(call);
}
