/*
 * test_linked.c - answering queries needs no code that writes the store.
 *
 * The test is that this program links. It has all of libquery and libzone, but
 * only those objects of libstore that a reader needs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "dns/message.h"
#include "query/query.h"

/* The first page of a store in which nothing was ever published. */
static const uint8_t page[4096];

static void
answers_without_a_writer(void **state)
{
	static const uint8_t request[] = {
		0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,
		1, 'a', 0, 0, 1, 0, 1,
	};
	const struct query_options options = { .cname_max = 18 };
	const struct store_view view = { page };
	struct counters counters;
	struct query_ctx *ctx;
	uint8_t reply[512];
	struct exchange x = {
		.request = request,
		.request_len = sizeof(request),
		.reply = reply,
		.reply_capacity = sizeof(reply),
	};

	(void)state;
	memset(&counters, 0, sizeof(counters));
	assert_int_equal(query_ctx_create(&options, &counters, &ctx), NSD_OK);
	query_answer_batch(ctx, &view, &x, 1);
	assert_int_equal(x.reply_len, sizeof(request));
	assert_int_equal(message_get_flags(reply) & MESSAGE_RCODE_MASK,
		RCODE_REFUSED);
	query_ctx_destroy(ctx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_without_a_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
