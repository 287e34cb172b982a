/* test_handlers.c - the sets of messages by which each role is checked to take
 * all that it receives. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ipc/handlers.h"

static void
set_of_a_role_is_what_the_table_has_for_it(void **state)
{
	const struct {
		enum ipc_role role;
		uint64_t set;
	} rows[] = {
		{ROLE_MAIN, 0 IPC_MESSAGES(IPC_TO_MAIN)},
		{ROLE_LOADER, 0 IPC_MESSAGES(IPC_TO_LOADER)},
		{ROLE_WORKER, 0 IPC_MESSAGES(IPC_TO_WORKER)},
		{ROLE_XFRD, 0 IPC_MESSAGES(IPC_TO_XFRD)},
		{ROLE_WRITER, 0 IPC_MESSAGES(IPC_TO_WRITER)},
		{ROLE_VERIFIER, 0 IPC_MESSAGES(IPC_TO_VERIFIER)},
		{ROLE_COLLECTOR, 0 IPC_MESSAGES(IPC_TO_COLLECTOR)},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t set = 0;

		for (unsigned type = 0; type < IPC_TYPE_COUNT; type++)
			if ((ipc_rows[type].receiver & rows[i].role) != 0)
				set |= UINT64_C(1) << type;
		assert_int_equal(rows[i].set, set);
		assert_int_not_equal(set, 0);
	}
}

static void
set_of_a_list_is_what_it_names(void **state)
{
#define LIST(X) X(RELOAD, NULL) X(UPDATED, NULL)
	assert_int_equal(0 LIST(IPC_TAKES),
		UINT64_C(1) << IPC_RELOAD | UINT64_C(1) << IPC_UPDATED);
}

static void
every_message_has_a_receiver(void **state)
{
	const uint64_t all = (0 IPC_MESSAGES(IPC_TO_MAIN))
		| (0 IPC_MESSAGES(IPC_TO_LOADER))
		| (0 IPC_MESSAGES(IPC_TO_WORKER))
		| (0 IPC_MESSAGES(IPC_TO_XFRD))
		| (0 IPC_MESSAGES(IPC_TO_WRITER))
		| (0 IPC_MESSAGES(IPC_TO_VERIFIER))
		| (0 IPC_MESSAGES(IPC_TO_COLLECTOR));

	assert_int_equal(all, (UINT64_C(1) << IPC_TYPE_COUNT) - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_of_a_role_is_what_the_table_has_for_it),
		cmocka_unit_test(set_of_a_list_is_what_it_names),
		cmocka_unit_test(every_message_has_a_receiver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
