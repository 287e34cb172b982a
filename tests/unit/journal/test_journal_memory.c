/* test_journal_memory.c - fault 71: each allocation of a journal fails once.
 * What is reported as durable is there, and the next one goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "lib/failing.h"
#include "lib/journal_fixture.h"

#define KIB 1024u
#define STEPS 30u

static bool durable[STEPS + 2]; /* by serial */

/* Opens, and commits an entry of each kind and size, as far as it goes. */
static void
work(const char *folder)
{
	const struct journal_options options = {.path = folder,
		.segment_size = 16 * KIB};
	struct journal *journal;

	memset(durable, 0, sizeof(durable));
	if (journal_open(&options, NULL, &journal) != NSD_OK)
		return;
	for (uint32_t to = 1; to <= STEPS; to++) {
		uint64_t len = to == 5 ? 1100 * KIB : to == 7 ? 200 * KIB
							      : 3000;

		/* Entries are of different zones, except the garbage. */
		durable[to] = journal_fixture_commit(journal, to, 0, to, len)
			!= 0;
		if (journal_fixture_commit(journal, 99, to, to + 1, 4000) != 0)
			(void)journal_forget(journal,
				journal_fixture_apex(99), to + 1);
	}
	journal_drop(journal, journal_fixture_apex(5));
	durable[5] = false;
	journal_close(journal);
}

static void
check(const char *folder)
{
	int dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	struct journal_index *index;

	journal_close(journal_fixture_open(folder, 0, NULL));
	assert_int_equal(journal_index_open(dirfd, NULL, &index), NSD_OK);
	for (uint32_t to = 1; to <= STEPS; to++) {
		const struct journal_entry *entry = journal_index_newest(index,
			journal_fixture_apex(to));

		if (durable[to] && entry == NULL)
			fail_msg("entry of serial %u is lost", (unsigned)to);
		if (entry != NULL)
			assert_true(journal_fixture_check(dirfd, entry, to));
	}
	journal_index_close(index);
	close(dirfd);
}

static void
each_allocation_that_fails_costs_its_transfer_at_most(void **state)
{
	bool failed = true;
	int n;

	for (n = 0; failed; n++) {
		char folder[JOURNAL_FIXTURE_PATH];

		journal_fixture_folder(folder);
		failing_once(n);
		work(folder);
		failed = failing_has_failed();
		failing_once(-1);
		check(folder);
		journal_fixture_remove(folder);
	}
	assert_true(n > 200);
}

/* The next start would publish the entry otherwise. */
static void
refused_entry_stays_refused_without_memory(void **state)
{
	char folder[JOURNAL_FIXTURE_PATH];
	struct journal_index *index;
	struct journal *journal;
	int dirfd;

	journal_fixture_folder(folder);
	journal = journal_fixture_open(folder, 0, NULL);
	for (unsigned zone = 1; zone <= 2; zone++) {
		uint64_t id = journal_fixture_commit(journal, zone, 0, 5, 300);

		assert_true(id != 0);
		failing_once(0);
		journal_refuse(journal, journal_fixture_apex(zone), id);
		assert_true(failing_has_failed());
		failing_once(-1);
		/* Another refusal allocates the spare job for the next
		 * round. */
		id = journal_fixture_commit(journal, 3, 0, zone, 300);
		journal_refuse(journal, journal_fixture_apex(3), id);
	}
	journal_close(journal);
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	assert_int_equal(journal_index_open(dirfd, NULL, &index), NSD_OK);
	assert_int_equal(journal_index_count(index), 0);
	journal_index_close(index);
	close(dirfd);
	journal_fixture_remove(folder);
}

static void
index_says_that_there_is_no_memory(void **state)
{
	char folder[JOURNAL_FIXTURE_PATH];
	enum nsd_err err = NSD_E_MEMORY;
	int dirfd, n;

	journal_fixture_folder(folder);
	work(folder);
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	for (n = 0; err == NSD_E_MEMORY; n++) {
		struct journal_index *index;

		err = FAILING_ONCE(n, journal_index_open(dirfd, NULL, &index));
		if (err == NSD_OK)
			journal_index_close(index);
	}
	assert_int_equal(err, NSD_OK);
	assert_true(n > 30);
	close(dirfd);
	journal_fixture_remove(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			each_allocation_that_fails_costs_its_transfer_at_most),
		cmocka_unit_test(refused_entry_stays_refused_without_memory),
		cmocka_unit_test(index_says_that_there_is_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
