/* test_unreadable.c - entries that the disk cannot read (EIO) are reported and
 * skipped, and stay where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/format.h"
#include "lib/journal_fixture.h"

#define ENTRIES 20u
#define PAGE 4096u
#define FIRST "0000000001.seg"

static char folder[JOURNAL_FIXTURE_PATH];
static struct journal_fixture_told told = {
	.sink = {.on_diag = journal_fixture_on_diag},
};
/* The place of each entry, by its zone. */
static struct journal_entry entries[ENTRIES + 1];

/* ---- a disk that cannot read some octets of the first segment ------------ */

static ino_t bad_file;
static uint64_t bad_from, bad_to;
static bool takes_all; /* a call fails if any octet is bad */
static unsigned calls;

/* The linker puts these in front of libc's (--wrap). */
ssize_t __real_pread(int fd, void *data, size_t len, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t len, off_t offset);

ssize_t
__wrap_pread(int fd, void *data, size_t len, off_t offset)
{
	uint64_t at = (uint64_t)offset;
	struct stat st;

	if (at >= bad_to || at + len <= bad_from || fstat(fd, &st) != 0
		|| st.st_ino != bad_file)
		return __real_pread(fd, data, len, offset);
	calls++;
	if (at < bad_from && !takes_all)
		return __real_pread(fd, data, bad_from - at, offset);
	errno = EIO;
	return -1;
}

static uint64_t
size_of(const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (stat(path, &st) != 0)
		return 0;
	bad_file = st.st_ino;
	return (uint64_t)st.st_size;
}

static void
mend(void)
{
	bad_from = bad_to = 0;
}

/* ---- journals ------------------------------------------------------------ */

/* How many of the zones have an entry; each is whole. */
static unsigned
count_whole(bool note)
{
	int dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	struct journal_index *index;
	unsigned count = 0;

	assert_int_equal(journal_index_open(dirfd, &told.sink, &index), NSD_OK);
	for (unsigned i = 1; i <= ENTRIES; i++) {
		const struct journal_entry *entry = journal_index_newest(index,
			journal_fixture_apex(i));

		if (entry == NULL)
			continue;
		assert_true(journal_fixture_check(dirfd, entry, i));
		if (note)
			entries[i] = *entry;
		count++;
	}
	journal_index_close(index);
	close(dirfd);
	return count;
}

/* A folder with a segment of entries 1 to ENTRIES, of a zone each. */
static void
begin(void)
{
	struct journal *journal;

	mend();
	journal_fixture_folder(folder);
	journal = journal_fixture_open(folder, 0, NULL);
	for (unsigned i = 1; i <= ENTRIES; i++)
		assert_true(journal_fixture_commit(journal, i, 0, i, 100 * i)
			== i);
	journal_close(journal);
	assert_int_equal(count_whole(true), ENTRIES);
	told.text[0] = '\0';
}

/* Entries none of which is in what cannot be read. */
static unsigned
count_readable(void)
{
	unsigned count = 0;

	for (unsigned i = 1; i <= ENTRIES; i++)
		count += bad_from > 0 && (entries[i].offset >= bad_to
			|| entries[i].offset + format_record_size(&entries[i])
				<= bad_from);
	return count;
}

/* A writer opens it, and appends; then all can be read again. */
static void
page_costs_its_records_as_long_as_it_is_bad(void **state)
{
	char text[128];
	uint64_t size, lost, id;
	bool ended = false;

	for (uint64_t at = 0; !ended; at += PAGE) {
		struct journal *journal;
		unsigned left;

		begin();
		size = size_of(FIRST);
		ended = at + PAGE >= size;
		bad_from = at;
		bad_to = at + PAGE;
		left = count_readable();
		assert_true(left < ENTRIES);
		/* A segment without a readable head is lost as a whole. */
		lost = at == 0 ? size : ended ? size - at : PAGE;
		snprintf(text, sizeof(text), FIRST ": journal: %u octets"
			" cannot be read: %s\n",
			(unsigned)lost, strerror(EIO));
		assert_int_equal(count_whole(false), left);
		assert_non_null(strstr(told.text, text));
		told.text[0] = '\0';
		journal = journal_fixture_open(folder, 0, &told.sink);
		assert_non_null(strstr(told.text, text));
		id = journal_fixture_commit(journal, 30, 0, 1, 100);
		assert_true(id > ENTRIES);
		journal_close(journal);
		assert_int_equal(count_whole(false), left);
		mend();
		assert_true(size_of(FIRST) == size);
		told.text[0] = '\0';
		assert_int_equal(count_whole(false), ENTRIES);
		assert_string_equal(told.text, "");
		journal_fixture_remove(folder);
	}
}

/* A read of a bad disk may take seconds, so their number is bounded. */
static void
file_that_cannot_be_read_costs_few_calls(void **state)
{
	struct journal *journal;

	mend();
	journal_fixture_folder(folder);
	journal = journal_fixture_open(folder, 0, NULL);
	for (unsigned i = 1; i <= 16; i++)
		assert_true(journal_fixture_commit(journal, i, 0, i, 900000)
			== i);
	journal_close(journal);
	(void)size_of(FIRST);
	bad_to = UINT64_MAX;
	calls = 0;
	assert_int_equal(count_whole(false), 0);
	assert_in_range(calls, 1, 40);
	mend();
	assert_int_equal(count_whole(false), 16);
	/* Only the first page can be read. */
	bad_from = PAGE;
	bad_to = UINT64_MAX;
	calls = 0;
	assert_int_equal(count_whole(false), 0);
	assert_in_range(calls, 1, 80);
	/* Readable entries are not read together with the bad one. */
	bad_from = 100 * PAGE;
	bad_to = 101 * PAGE;
	takes_all = true;
	calls = 0;
	assert_int_equal(count_whole(false), 15);
	assert_in_range(calls, 1, 4);
	takes_all = false;
	mend();
	journal_fixture_remove(folder);
}

static void
large_text_stays_while_its_record_cannot_be_read(void **state)
{
	struct journal *journal;

	mend();
	journal_fixture_folder(folder);
	journal = journal_fixture_open(folder, 0, NULL);
	assert_int_equal(journal_fixture_commit(journal, 1, 0, 7, 1100000), 1);
	journal_close(journal);
	(void)size_of(FIRST);
	bad_to = PAGE;
	journal = journal_fixture_open(folder, 0, NULL);
	assert_true(journal_fixture_commit(journal, 2, 0, 7, 1100000) > 1);
	journal_close(journal);
	mend();
	assert_int_equal(count_whole(false), 2);
	journal_fixture_remove(folder);
}

/* A whole zone that replaces the one before, again and again. Returns how many
 * others were told to be lost; *lost: the last one. */
static unsigned
commit_often(struct journal *journal, unsigned zone, unsigned times,
	uint64_t *lost)
{
	unsigned count = 0;

	for (unsigned i = 1; i <= times; i++) {
		uint64_t id = journal_fixture_send(journal, zone, 0, i, 1000);
		struct journal_done done;

		assert_true(id != 0);
		for (;;) {
			journal_fixture_wait(journal, &done);
			if (done.id == id)
				break;
			assert_int_equal(done.err, NSD_E_WIRE);
			*lost = done.id;
			count++;
		}
		assert_int_equal(done.err, NSD_OK);
		journal_accept(journal, done.apex, id);
	}
	return count;
}

static void
bad_segment_goes_when_its_room_is_needed(void **state)
{
	struct journal_usage usage;
	struct journal *journal;
	uint64_t lost;

	begin();
	(void)size_of(FIRST);
	bad_to = UINT64_MAX;
	journal = journal_fixture_open(folder, 8 * PAGE, &told.sink);
	assert_int_equal(commit_often(journal, 30, 4, &lost), 0);
	assert_true(size_of(FIRST) > 0);
	assert_int_equal(commit_often(journal, 30, 200, &lost), 0);
	journal_get_usage(journal, &usage);
	assert_true(usage.disk_octets <= 3 * (usage.live_octets + 200)
			+ 4 * 8 * PAGE);
	journal_close(journal);
	assert_true(size_of(FIRST) == 0);
	mend();
	journal_fixture_remove(folder);
}

/* Live records of the oldest segment are moved, and one of them cannot be read
 * any more. */
static void
record_that_cannot_be_moved_is_lost_alone(void **state)
{
	struct journal *journal;
	uint64_t lost = 0;

	begin();
	(void)size_of(FIRST);
	journal = journal_fixture_open(folder, 2 * PAGE, &told.sink);
	bad_from = entries[7].offset + 200;
	bad_to = bad_from + 32;
	assert_int_equal(commit_often(journal, 30, 200, &lost), 1);
	assert_int_equal(lost, 7);
	journal_close(journal);
	assert_true(size_of(FIRST) == 0);
	mend();
	assert_int_equal(count_whole(false), ENTRIES - 1);
	journal_fixture_remove(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_costs_its_records_as_long_as_it_is_bad),
		cmocka_unit_test(file_that_cannot_be_read_costs_few_calls),
		cmocka_unit_test(
			large_text_stays_while_its_record_cannot_be_read),
		cmocka_unit_test(bad_segment_goes_when_its_room_is_needed),
		cmocka_unit_test(record_that_cannot_be_moved_is_lost_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
