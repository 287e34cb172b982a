/* test_credits.c - credits bound what one side sends before the other is done,
 * whatever either of them does. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ipc/credits.h"

static const struct ipc_channel xfrd_end = {.self = ROLE_XFRD,
	.peer = ROLE_LOADER};
static const struct ipc_channel loader_end = {.self = ROLE_LOADER,
	.peer = ROLE_XFRD};
static const struct ipc_channel worker_end = {.self = ROLE_WORKER,
	.peer = ROLE_XFRD};

static struct ipc_message
credit_message(enum ipc_role from, uint32_t type, uint32_t count)
{
	const struct ipc_credit credit = {.type = type, .count = count};
	struct ipc_message m = {.type = IPC_CREDIT, .from = from,
		.len = sizeof(credit)};

	memcpy(m.payload, &credit, sizeof(credit));
	return m;
}

static void
each_side_begins_with_the_credits_of_the_rows(void **state)
{
	struct ipc_credits a, b;

	ipc_credits_init(&a, &xfrd_end);
	ipc_credits_init(&b, &loader_end);
	for (unsigned type = 0; type < IPC_TYPE_COUNT; type++) {
		assert_int_equal(a.left[type], b.granted[type]);
		assert_int_equal(a.granted[type], b.left[type]);
	}
	assert_int_equal(a.left[IPC_UPDATE], ipc_rows[IPC_UPDATE].credits);
	assert_int_equal(a.left[IPC_NOTIFY], 0);
	assert_false(ipc_credits_has(&a, IPC_NOTIFY));
	/* Answers need none. */
	assert_true(ipc_credits_has(&b, IPC_UPDATED));
	assert_true(ipc_credits_take(&a, IPC_UPDATED));
}

/* A receiver that is slow, one that is done at once, and one that gives back
 * what it can: the sender never has more under way than the row says, and is
 * never left without credit for good. */
static void
sender_is_bounded_and_goes_on(void **state)
{
	const unsigned most = ipc_rows[IPC_UPDATE].credits;

	for (unsigned most_held = 0; most_held < most; most_held++) {
		struct ipc_credits a, b;
		unsigned in_hand = 0, sent = 0, hold = most_held;

		ipc_credits_init(&a, &xfrd_end);
		ipc_credits_init(&b, &loader_end);
		while (sent < 5 * most) {
			struct ipc_credit credit;
			struct ipc_message m;

			while (ipc_credits_has(&a, IPC_UPDATE)) {
				ipc_credits_spend(&a, IPC_UPDATE);
				assert_true(ipc_credits_take(&b, IPC_UPDATE));
				sent++;
				in_hand++;
				assert_true(in_hand <= most);
			}
			for (; in_hand > hold; in_hand--)
				ipc_credits_return(&b, IPC_UPDATE);
			if (!ipc_credits_next(&b, &credit)) {
				/* No credit is due only while much is held. */
				assert_true(hold >= most / 2);
				hold = 0;
				continue;
			}
			ipc_credits_give(&b, &credit);
			m = credit_message(ROLE_LOADER, credit.type,
				credit.count);
			assert_true(ipc_credits_add(&a, &m));
		}
	}
}

static void
message_without_credit_is_refused(void **state)
{
	struct ipc_credits b;

	ipc_credits_init(&b, &loader_end);
	for (unsigned i = 0; i < ipc_rows[IPC_UPDATE].credits; i++)
		assert_true(ipc_credits_take(&b, IPC_UPDATE));
	assert_false(ipc_credits_take(&b, IPC_UPDATE));
	/* Being done does not count before it is said. */
	ipc_credits_return(&b, IPC_UPDATE);
	assert_false(ipc_credits_take(&b, IPC_UPDATE));
}

static void
credit_that_was_not_taken_is_refused(void **state)
{
	struct ipc_credits a;
	const struct {
		enum ipc_role from;
		uint32_t type, count;
		bool good;
	} rows[] = {
		{ROLE_LOADER, IPC_UPDATE, 1, false},
		{ROLE_LOADER, IPC_CHANGE_ZONE, 3, false},
		{ROLE_LOADER, IPC_CHANGE_ZONE, UINT32_MAX, false},
		{ROLE_LOADER, IPC_CHANGE_ZONE, 0, false},
		{ROLE_LOADER, IPC_TYPE_COUNT, 1, false},
		{ROLE_LOADER, UINT32_MAX, 1, false},
		{ROLE_LOADER, IPC_UPDATED, 1, false},
		{ROLE_LOADER, IPC_NOTIFY, 1, false},
		{ROLE_WORKER, IPC_CHANGE_ZONE, 1, false},
		{ROLE_LOADER, IPC_CHANGE_ZONE, 2, true},
		{ROLE_LOADER, IPC_CHANGE_ZONE, 1, false},
	};

	ipc_credits_init(&a, &xfrd_end);
	ipc_credits_spend(&a, IPC_CHANGE_ZONE);
	ipc_credits_spend(&a, IPC_CHANGE_ZONE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct ipc_message m = credit_message(rows[i].from,
			rows[i].type, rows[i].count);

		assert_int_equal(ipc_credits_add(&a, &m), rows[i].good);
	}
	ipc_credits_init(&a, &worker_end);
	assert_int_equal(a.left[IPC_NOTIFY], ipc_rows[IPC_NOTIFY].credits);
}

/* A worker that was taken over can send a bounded number of messages to other
 * children. */
static void
all_that_a_worker_sends_to_children_has_credits(void **state)
{
	for (unsigned type = 0; type < IPC_TYPE_COUNT; type++)
		if (type != IPC_CREDIT
			&& (ipc_rows[type].sender & ROLE_WORKER) != 0
			&& (ipc_rows[type].receiver & ROLE_CHILDREN) != 0)
			assert_true(ipc_rows[type].credits > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_side_begins_with_the_credits_of_the_rows),
		cmocka_unit_test(sender_is_bounded_and_goes_on),
		cmocka_unit_test(message_without_credit_is_refused),
		cmocka_unit_test(credit_that_was_not_taken_is_refused),
		cmocka_unit_test(
			all_that_a_worker_sends_to_children_has_credits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
