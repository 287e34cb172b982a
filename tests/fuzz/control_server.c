/* control_server.c - does commands, as fuzz_control has them. */
#include "fuzz/control_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/json.h"
#include "ctl/statistics.h"
#include "fuzz/target.h"

/* The text repeats itself after so many octets. */
#define PERIOD (64u * 23u)

/* ---- printing ------------------------------------------------------------ */

void
order_fill(unsigned id, uint64_t at, uint8_t *out, size_t len)
{
	static uint8_t text[PERIOD + ORDER_PART];
	char line[ORDER_ID_LEN + 1];

	MUST(len <= ORDER_PART);
	for (size_t i = 0; i < sizeof(text) && text[0] == 0; i++)
		text[sizeof(text) - 1 - i] = (uint8_t)(i % 64 == 63 ? '\n'
			: 'a' + i % 23);
	snprintf(line, sizeof(line), "id %08u\n", id % 100000000u);
	for (; at < ORDER_ID_LEN && len > 0; at++, len--)
		*out++ = (uint8_t)line[at];
	memcpy(out, text + (at + id) % PERIOD, len);
}

static unsigned
order_id(const struct control_server *s, const struct order *order)
{
	return (unsigned)(order - s->orders);
}

static struct order *
order_of(struct ctl_call *call)
{
	return ctl_hooks(call)->ctx;
}

/* The server that an order is of. */
static struct control_server *server;

static void
print(struct order *order, size_t len)
{
	uint8_t octets[ORDER_PART];

	order_fill(order_id(server, order), order->printed, octets, len);
	if (ctl_is_gone(order->call))
		order->is_rough = true;
	else
		order->printed += len;
	switch (len % 3) {
	case 0:
		ctl_write(order->call, octets, len);
		break;
	case 1:
		ctl_printf(order->call, "%.*s", (int)len,
			(const char *)octets);
		break;
	default:
		ctl_write_secret(order->call, octets, len);
	}
}

/* The figures that the layer prints. */
static struct statistics figures;

static void
fill_figures(void)
{
	static const uint64_t queries[2] = {3, 4};
	uint64_t *counter = (uint64_t *)&figures.all;

	if (figures.server_count != 0)
		return;
	figures.server_count = 2;
	figures.queries = queries;
	figures.up_usec = 12345678;
	for (size_t i = 0; i < sizeof(figures.all) / sizeof(*counter); i++)
		counter[i] = i % 3 != 0 ? i * i : 0;
	latency_add(&figures.latency.udp, 3, 2);
	latency_add(&figures.latency.tcp, 2000000, 1);
}

static void
print_figures(struct order *order, bool more)
{
	static const struct statistics_trouble trouble = {.zones = {1, 2, 3},
		.oldest_refresh_msec = 5, .deaths = {1, 0, 2}, .waiting = 1};
	static const struct statistics_source source = {.name = "a\"\377.test",
		.members = 1, .is_invalid = true};
	struct statistics_text out = {.text = NULL};

	fill_figures();
	if (more) {
		statistics_print_names(&out, &figures.all);
		statistics_print_latency(&out, "latency", &figures.latency.udp);
		statistics_print_trouble(&out, &trouble);
		statistics_print_sources(&out, &source, 1);
	} else {
		statistics_print(&out, &figures);
		statistics_print_group(&out, "group", &figures.all);
	}
	MUST(!out.failed && out.len > 0);
	ctl_write(order->call, out.text, out.len);
	statistics_text_free(&out);
	order->is_rough = true;
}

static void
print_json(struct order *order)
{
	struct ctl_json json = {.call = order->call};
	const struct ctl_command *command = ctl_command(order->call);

	ctl_json_open(&json, NULL, '{');
	ctl_json_text(&json, "state", NULL);
	ctl_json_open(&json, "arguments", '[');
	for (unsigned i = 0; i < command->count; i++)
		ctl_json_text(&json, NULL, ctl_argument(order->call, i));
	ctl_json_close(&json, ']');
	ctl_json_number(&json, "count", command->count);
	ctl_json_digits(&json, "digits", "1.5");
	ctl_json_close(&json, '}');
	MUST(ctl_argument(order->call, command->count) == NULL);
	order->is_rough = true;
}

/* ---- the end ------------------------------------------------------------- */

static void
on_sent(void *ctx, bool sent)
{
	struct order *order = ctx;

	MUST(!order->is_sent);
	order->is_sent = sent;
}

static void
finish(struct order *order)
{
	struct ctl_call *call = order->call;

	order->call = NULL;
	ctl_end_and(call, on_sent, order);
}

static void
on_gone(struct ctl_call *call)
{
	struct order *order = order_of(call);

	MUST(order->call == call && !order->is_gone && ctl_is_gone(call));
	order->is_gone = true;
	if (order_id(server, order) % 2 == 0)
		finish(order);
}

void
order_go_on(struct order *order, uint8_t how)
{
	if (order->call == NULL)
		return;
	switch (how % 8) {
	case 0:
		print(order, 100u + how);
		break;
	case 1:
		order->is_rough = true;
		ctl_break_off(order->call, "error it is broken off");
		break;
	case 2:
		order->holds++;
		ctl_hold(order->call);
		break;
	case 3:
		if (order->holds == 0)
			break;
		order->holds--;
		ctl_release(order->call);
		break;
	case 4:
		for (unsigned i = 0; i < 16; i++)
			print(order, ORDER_PART);
		break;
	default:
		finish(order);
	}
}

void
control_server_end_all(struct control_server *s)
{
	for (unsigned i = 0; i < s->count; i++)
		order_go_on(&s->orders[i], 5);
}

/* ---- commands ------------------------------------------------------------ */

static void
on_room(struct ctl_call *call)
{
	struct order *order = order_of(call);

	MUST(!order->is_gone && order->parts > 0);
	print(order, ORDER_PART - order->parts);
	if (--order->parts == 0)
		finish(order);
}

static void
on_line(struct ctl_call *call, const char *line)
{
	struct order *order = order_of(call);

	MUST(!order->is_gone && order->holds == 0);
	MUST(strlen(line) < CTL_LINE_MAX && strchr(line, '\n') == NULL);
	print(order, 1 + strlen(line) % ORDER_PART);
	if (line[0] == 'h') {
		order->holds++;
		ctl_hold(call);
	}
}

static void
on_lines_end(struct ctl_call *call)
{
	struct order *order = order_of(call);

	MUST(!order->is_gone);
	print(order, 5);
	if (order_id(server, order) % 3 != 0)
		finish(order);
}

static void
on_progress(struct ctl_call *call, struct ctl_progress *progress)
{
	progress->done = order_of(call)->printed;
}

static void
print_progress(struct ctl_call *call, void *arg)
{
	struct ctl_call_hooks *hooks = ctl_hooks(call);
	struct ctl_progress progress = {0};
	struct order *order = arg;

	if (hooks->on_progress == NULL)
		return;
	hooks->on_progress(call, &progress);
	ctl_printf(order->call, "%u\n", (unsigned)progress.done);
	order->is_rough = true;
}

/* True: the order is done. */
static bool
do_order(struct control_server *s, struct order *order)
{
	const struct ctl_command *command = ctl_command(order->call);

	if (command->json) {
		print_json(order);
		return true;
	}
	switch (command->verb) {
	case CTL_STATUS:
		return true;
	case CTL_STATS:
	case CTL_STATS_MORE:
		print_figures(order, command->verb == CTL_STATS_MORE);
		return true;
	case CTL_PROGRESS:
		ctl_channel_walk(s->channel, print_progress, order);
		return true;
	case CTL_STOP:
		ctl_channel_refuse(s->channel, "error it stops");
		return true;
	case CTL_VERBOSITY: /* more than anybody takes */
		for (unsigned i = 0; i < CTL_OUTPUT_MAX / ORDER_PART + 2; i++)
			print(order, ORDER_PART);
		return true;
	case CTL_LISTZONES:
	case CTL_ZONESTATUS:
	case CTL_DUMPZONE:
		order->parts = command->verb == CTL_DUMPZONE ? 100 : 9;
		ctl_stream(order->call, on_room);
		return false;
	default:
		return command->no_wait || command->verb % 3 == 0;
	}
}

void
control_server_on_call(void *ctx, struct ctl_call *call)
{
	struct control_server *s = ctx;
	const struct ctl_command *command = ctl_command(call);
	struct ctl_call_hooks *hooks = ctl_hooks(call);
	struct order *order;

	MUST(command->verb < CTL_VERB_COUNT);
	if (s->count == ORDERS_MAX) {
		ctl_printf(call, "error it is enough\n");
		ctl_end(call);
		return;
	}
	server = s;
	order = &s->orders[s->count++];
	order->call = call;
	hooks->ctx = order;
	hooks->on_gone = on_gone;
	hooks->on_progress = on_progress;
	print(order, ORDER_ID_LEN + 1);
	if ((ctl_verb_rows[command->verb].flags & CTL_LINES) != 0) {
		hooks->on_line = on_line;
		hooks->on_lines_end = on_lines_end;
	} else if (do_order(s, order) && order->call != NULL) {
		finish(order);
	}
}

/* ---- the page of metrics ------------------------------------------------- */

struct page {
	struct statistics_metrics metrics;
	unsigned rests; /* turns yet in which it prints nothing */
};

static bool
get_group(void *ctx, uint32_t group, char *name, struct counters *counters)
{
	static const char *const names[] = {"one", "", "t\"w\\o\n",
		"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		"\xff\xc3.\xe0\x80\x80\xf4\x90\x80\x80"};

	if (group == 0 || group > sizeof(names) / sizeof(*names))
		return false;
	strcpy(name, names[group - 1]);
	*counters = figures.all;
	return true;
}

void *
control_server_open_page(void *ctx)
{
	const struct control_server *s = ctx;
	struct page *page = calloc(1, sizeof(*page));

	MUST(page != NULL);
	if (s->refuses_pages) {
		free(page);
		return NULL;
	}
	fill_figures();
	page->metrics.all = &figures;
	page->metrics.get_group = get_group;
	page->rests = 2;
	return page;
}

bool
control_server_print_page(void *arg, struct statistics_text *out)
{
	struct page *page = arg;

	if (page->rests > 0) {
		page->rests--;
		return true;
	}
	return statistics_print_metrics(out, &page->metrics);
}

void
control_server_close_page(void *page)
{
	free(page);
}
