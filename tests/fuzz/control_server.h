/*
 * control_server.h - what does the commands in fuzz_control, in place of xfrd:
 * what it prints can be told from its number and place, so a client sees
 * whether it got what was printed for it. A verb decides what becomes of a
 * command: it ends at once, is printed in parts, takes lines, or waits.
 */
#ifndef TESTS_FUZZ_CONTROL_SERVER_H
#define TESTS_FUZZ_CONTROL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl/call.h"
#include "ctl/channel.h"
#include "ctl/metrics.h"

/* Commands of an input. */
#define ORDERS_MAX 128u
/* An answer begins with a line "id NNNNNNNN" of so many octets. */
#define ORDER_ID_LEN 12u

struct order {
	struct ctl_call *call; /* NULL: it has ended */
	uint64_t printed;
	unsigned parts;        /* yet to be printed */
	unsigned holds;
	bool is_rough;         /* what was printed is known in part */
	bool is_gone;
	bool is_sent;          /* all of it, as we were told */
};

struct control_server {
	struct ctl_channel *channel;
	unsigned count;
	struct order orders[ORDERS_MAX];
	bool refuses_pages;
};

/* Of struct ctl_channel_options; ctx: the server. */
void control_server_on_call(void *ctx, struct ctl_call *call);

/* What a command of a number prints from a place on, up to ORDER_PART octets:
 * it can be told from both. */
#define ORDER_PART 9000u
void order_fill(unsigned id, uint64_t at, uint8_t *out, size_t len);

/* Goes on with a command that waits, by any octet. */
void order_go_on(struct order *order, uint8_t how);

/* Ends all that wait. */
void control_server_end_all(struct control_server *s);

/* Of struct ctl_metrics_options; ctx: the server. */
void *control_server_open_page(void *ctx);
bool control_server_print_page(void *page, struct statistics_text *out);
void control_server_close_page(void *page);

#endif
