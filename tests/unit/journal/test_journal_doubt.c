/* Entries that are still to be judged: a start leaves them out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/journal_fixture.h"

#define SEGMENT (64u << 10)

static char path[JOURNAL_FIXTURE_PATH];
static struct journal *journal;

static void
begin(void)
{
	journal_fixture_folder(path);
	journal = journal_fixture_open(path, SEGMENT, NULL);
}

static void
end(void)
{
	journal_close(journal);
	journal_fixture_remove(path);
}

/* Makes an entry durable. */
static uint64_t
put(unsigned zone, uint32_t from, uint32_t to, bool is_taken)
{
	const struct journal_end ended = {
		.kind = from == 0 ? JOURNAL_WHOLE : JOURNAL_DIFFS,
		.from = from,
		.to = to,
		.is_doubtful = true,
		.is_taken = is_taken,
		.source = "a",
	};
	struct journal_transfer *transfer = journal_begin(journal,
		journal_fixture_apex(zone));
	struct journal_done done;
	uint64_t id;

	assert_non_null(transfer);
	assert_int_equal(journal_put(transfer, "text", 4), NSD_OK);
	id = journal_end(transfer, &ended);
	journal_fixture_wait(journal, &done);
	assert_int_equal(done.err, NSD_OK);
	assert_true(done.entry.is_doubtful);
	return id;
}

/* Finds the newest entry that a start sees. False: it sees none. */
static bool
find(unsigned zone, struct journal_entry *entry)
{
	struct journal_index *index;
	const struct journal_entry *newest;
	int dirfd = open(path, O_RDONLY | O_DIRECTORY);
	bool found;

	assert_int_equal(journal_index_open(dirfd, NULL, &index), NSD_OK);
	newest = journal_index_newest(index, journal_fixture_apex(zone));
	found = newest != NULL;
	if (found)
		*entry = *newest;
	journal_index_close(index);
	close(dirfd);
	return found;
}

static void
start_leaves_doubtful_entries_out(void **state)
{
	struct journal_entry entry;
	uint64_t octets, first, second;

	begin();
	first = put(1, 0, 1, false);
	assert_false(find(1, &entry));
	journal_accept(journal, journal_fixture_apex(1), first);
	second = put(1, 1, 2, true);
	/* The note of the first is on the disk with the second. */
	assert_true(find(1, &entry));
	assert_int_equal(entry.to, 1);
	/* The writer still has it, also after a restart. */
	journal_close(journal);
	journal = journal_fixture_open(path, SEGMENT, NULL);
	assert_true(journal_find_newest(journal, journal_fixture_apex(1),
		&entry, &octets));
	assert_true(entry.id == second && entry.is_doubtful && entry.is_taken);
	journal_accept(journal, journal_fixture_apex(1), second);
	journal_close(journal);
	assert_true(find(1, &entry));
	assert_true(entry.to == 2 && entry.is_taken && !entry.is_doubtful);
	journal = journal_fixture_open(path, SEGMENT, NULL);
	end();
}

static void
doubt_moves_with_an_entry(void **state)
{
	struct journal_entry before, entry;
	uint64_t octets;

	begin();
	journal_accept(journal, journal_fixture_apex(1), put(1, 0, 1, false));
	(void)put(2, 0, 1, false);
	assert_true(journal_find_newest(journal, journal_fixture_apex(1),
		&before, &octets));
	do {
		assert_true(journal_fixture_commit(journal, 3, 0, 1, 20000)
			!= 0);
		assert_true(journal_find_newest(journal,
			journal_fixture_apex(1), &entry, &octets));
	} while (entry.segment == before.segment);
	for (unsigned i = 0; i < 20; i++)
		assert_true(journal_fixture_commit(journal, 3, 0, 1, 20000)
			!= 0);
	journal_close(journal);
	assert_true(find(1, &entry));
	assert_false(find(2, &entry));
	journal = journal_fixture_open(path, SEGMENT, NULL);
	assert_true(journal_find_newest(journal, journal_fixture_apex(2),
		&entry, &octets));
	assert_true(entry.is_doubtful);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_leaves_doubtful_entries_out),
		cmocka_unit_test(doubt_moves_with_an_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
