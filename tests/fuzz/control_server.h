/*
 * control_server.h - carries out the commands of fuzz_control, in place of
 * xfrd: a command's number and the position determine its output, so a client
 * sees whether it got its own. A verb decides what becomes of a
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
	struct ctl_call *call; /* NULL: ended */
	uint64_t printed;
	unsigned parts;        /* yet to be printed */
	unsigned holds;
	bool is_rough;         /* the output is known in part only */
	bool is_gone;
	bool is_sent;          /* the channel has sent the whole answer */
};

struct control_server {
	struct ctl_channel *channel;
	unsigned count;
	struct order orders[ORDERS_MAX];
	bool refuses_pages;
};

/* Of struct ctl_channel_options; ctx: the server. */
void control_server_on_call(void *ctx, struct ctl_call *call);

/* Makes the output of command id from a position on, up to ORDER_PART octets:
 * the two determine it. */
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
