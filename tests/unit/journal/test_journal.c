/* test_journal.c - entries of a journal are there, and go when they are not
 * needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/journal_fixture.h"

#define KIB 1024u
#define MIB (1024u * KIB)

static char folder[JOURNAL_FIXTURE_PATH];
static struct journal *journal;
static int dirfd_;
static struct journal_index *index_;
static struct journal_fixture_told told = {
	.sink = {.on_diag = journal_fixture_on_diag},
};

static void
begin(uint64_t segment_size)
{
	told.text[0] = '\0';
	journal_fixture_folder(folder);
	journal = journal_fixture_open(folder, segment_size, &told.sink);
	dirfd_ = open(folder, O_RDONLY | O_DIRECTORY);
	assert_true(dirfd_ != -1);
}

static void
reopen(uint64_t segment_size)
{
	journal_close(journal);
	journal = journal_fixture_open(folder, segment_size, &told.sink);
}

static void
end(void)
{
	journal_close(journal);
	close(dirfd_);
	journal_fixture_remove(folder);
}

static void
look(void)
{
	assert_int_equal(journal_index_open(dirfd_, &told.sink, &index_),
		NSD_OK);
}

/* A disk that takes some time, so that transfers come while it is busy. */
static bool disk_is_slow;

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int
__wrap_fdatasync(int fd)
{
	if (disk_is_slow)
		usleep(5000);
	return __real_fdatasync(fd);
}

/* The chain of a zone as text: FROM-TO of each; "none". Its texts are right.
 * serial 0: nothing is there. */
static const char *
chain_of(unsigned zone, uint32_t serial, uint64_t before)
{
	static char text[512];
	const struct journal_query query = {
		.apex = journal_fixture_apex(zone), .has_serial = serial != 0,
		.serial = serial, .before = before};
	struct journal_chain chain;
	enum nsd_err err = journal_find(index_, &query, &chain);

	if (err == NSD_E_NOT_FOUND)
		return "none";
	assert_int_equal(err, NSD_OK);
	text[0] = '\0';
	for (size_t i = 0; i < chain.count; i++) {
		const struct journal_entry *entry = &chain.entries[i];
		size_t used = strlen(text);

		assert_true(journal_fixture_check(dirfd_, entry, zone));
		snprintf(text + used, sizeof(text) - used, "%s%u-%u",
			used > 0 ? " " : "", (unsigned)entry->from,
			(unsigned)entry->to);
	}
	journal_chain_fini(&chain);
	return text;
}

static void
expect_chain(unsigned zone, uint32_t serial, const char *expected)
{
	look();
	assert_string_equal(chain_of(zone, serial, 0), expected);
	journal_index_close(index_);
}

static unsigned
count_files(const char *suffix)
{
	char command[128];
	unsigned count;
	FILE *f;

	snprintf(command, sizeof(command), "ls %s | grep -c '%s$'", folder,
		suffix);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%u", &count), 1);
	pclose(f);
	return count;
}

/* Has done all that the journal's threads had to do. */
static void
settle(void)
{
	assert_true(journal_fixture_commit(journal, 999, 0, 1, 10) != 0);
	journal_drop(journal, journal_fixture_apex(999));
	assert_true(journal_fixture_commit(journal, 999, 0, 1, 10) != 0);
	journal_drop(journal, journal_fixture_apex(999));
}

/* ---- texts */

static void
texts_of_all_lengths_come_back(void **state)
{
	static const uint64_t lens[] = {1, 31, 32, 33, 300, 64 * KIB - 1,
		64 * KIB, 64 * KIB + 1, 128 * KIB, 300 * KIB, MIB - 1, MIB,
		MIB + 1, MIB + 64 * KIB, 9 * MIB, 9 * MIB + 5};
	const unsigned count = sizeof(lens) / sizeof(lens[0]);

	begin(0);
	for (unsigned i = 0; i < count; i++)
		assert_true(journal_fixture_commit(journal, i, 0, 7, lens[i])
			== i + 1);
	for (unsigned i = 0; i < count; i++)
		assert_true(journal_fixture_commit(journal, i, 7, 8, lens[i])
			== count + i + 1);
	for (unsigned round = 0; round < 2; round++) {
		look();
		assert_true(journal_index_count(index_) == 2 * count);
		for (unsigned i = 0; i < count; i++)
			assert_string_equal(chain_of(i, 0, 0), "0-7 7-8");
		journal_index_close(index_);
		reopen(0);
	}
	assert_int_equal(count_files("zone"), 8);
	assert_int_equal(count_files("tmp"), 0);
	assert_string_equal(told.text, "");
	end();
}

/* The loader reads an entry's text from a descriptor, an offset and a
 * length. */
static void
text_lies_in_one_piece(void **state)
{
	static const uint64_t lens[] = {100, 200 * KIB, 2 * MIB + 3};
	uint8_t *is = malloc(3 * MIB), *said = malloc(3 * MIB);

	begin(0);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t offset, id = journal_fixture_commit(journal, i, 0, 5,
			lens[i]);
		int fd;

		assert_int_equal(journal_open_text(journal,
			journal_fixture_apex(i), id, &fd, &offset), NSD_OK);
		assert_true(pread(fd, is, lens[i], (off_t)offset)
			== (ssize_t)lens[i]);
		journal_fixture_fill(said, lens[i], 0, i, 5);
		assert_memory_equal(is, said, lens[i]);
		assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		close(fd);
		assert_int_equal(journal_open_text(journal,
			journal_fixture_apex(i), id + 1, &fd, &offset),
			NSD_E_NOT_FOUND);
	}
	free(is);
	free(said);
	end();
}

static void
abandoned_text_leaves_nothing(void **state)
{
	static uint8_t data[MIB];
	struct journal_transfer *transfer;

	begin(0);
	for (unsigned i = 0; i < 4; i++) {
		transfer = journal_begin(journal, journal_fixture_apex(1));
		for (unsigned k = 0; k < i; k++)
			assert_int_equal(journal_put(transfer, data,
				sizeof(data) / 2), NSD_OK);
		if (i < 3)
			journal_abandon(transfer); /* the last one is left */
	}
	expect_chain(1, 0, "none");
	reopen(0);
	assert_int_equal(count_files("tmp"), 0);
	expect_chain(1, 0, "none");
	end();
}

static void
many_transfers_share_a_sync(void **state)
{
	struct journal_usage before, after;
	struct journal_done done;

	begin(0);
	assert_true(journal_fixture_commit(journal, 0, 0, 1, 100) != 0);
	journal_get_usage(journal, &before);
	disk_is_slow = true;
	for (uint32_t i = 0; i < 2000; i++)
		assert_true(journal_fixture_send(journal, i % 10, i + 1, i + 2,
			200) != 0);
	for (uint32_t i = 0; i < 2000; i++) {
		journal_fixture_wait(journal, &done);
		assert_int_equal(done.err, NSD_OK);
		assert_true(done.id == i + 2);
		assert_true(done.entry.to == i + 2 && done.entry.from == i + 1);
	}
	disk_is_slow = false;
	journal_get_usage(journal, &after);
	assert_true(after.syncs - before.syncs < 1000);
	assert_true(after.entries == 2001);
	end();
}

/* ---- chains */

static void
chain_leads_from_what_is_there(void **state)
{
	begin(0);
	assert_true(journal_fixture_commit(journal, 1, 0, 10, 500) == 1);
	assert_true(journal_fixture_commit(journal, 1, 10, 12, 50) == 2);
	assert_true(journal_fixture_commit(journal, 2, 4, 5, 50) == 3);
	assert_true(journal_fixture_commit(journal, 1, 12, 13, 50) == 4);
	look();
	assert_string_equal(chain_of(1, 0, 0), "0-10 10-12 12-13");
	assert_string_equal(chain_of(1, 9, 0), "0-10 10-12 12-13");
	assert_string_equal(chain_of(1, 10, 0), "10-12 12-13");
	assert_string_equal(chain_of(1, 12, 0), "12-13");
	assert_string_equal(chain_of(1, 13, 0), "");
	assert_string_equal(chain_of(1, 0, 4), "0-10 10-12");
	assert_string_equal(chain_of(1, 12, 4), "");
	assert_string_equal(chain_of(2, 0, 0), "none");
	assert_string_equal(chain_of(2, 3, 0), "none");
	assert_string_equal(chain_of(2, 4, 0), "4-5");
	assert_string_equal(chain_of(2, 5, 0), "");
	assert_string_equal(chain_of(3, 1, 0), "none");
	assert_int_equal(journal_index_newest(index_, journal_fixture_apex(1))
		->to, 13);
	assert_null(journal_index_newest(index_, journal_fixture_apex(3)));
	journal_index_close(index_);
	end();
}

/* An entry that was never applied does not hide what follows. */
static void
chain_passes_over_what_does_not_follow(void **state)
{
	begin(0);
	assert_true(journal_fixture_commit(journal, 1, 5, 6, 50) != 0);
	assert_true(journal_fixture_commit(journal, 1, 8, 9, 50) != 0);
	assert_true(journal_fixture_commit(journal, 1, 6, 7, 50) != 0);
	expect_chain(1, 5, "5-6 6-7");
	expect_chain(1, 8, "8-9");
	end();
}

/* Entries that could not be kept or applied, and of whose end no note has come
 * to the disk, hide no others. */
static void
chain_leads_to_the_newest_entry_that_it_can_reach(void **state)
{
	struct journal_done done;

	begin(0);
	assert_true(journal_fixture_commit(journal, 1, 5, 6, 50) != 0);
	assert_true(journal_fixture_commit(journal, 1, 6, 7, 50) != 0);
	assert_true(journal_fixture_commit(journal, 1, 7, 8, 50) != 0);
	assert_true(journal_fixture_commit(journal, 1, 6, 9, 50) != 0);
	expect_chain(1, 5, "5-6 6-9");
	expect_chain(1, 6, "6-9");
	assert_true(journal_fixture_commit(journal, 1, 8, 10, 50) != 0);
	expect_chain(1, 6, "6-7 7-8 8-10");
	assert_true(journal_fixture_commit(journal, 2, 0, 5, 50) != 0);
	assert_true(journal_fixture_commit(journal, 2, 5, 6, 50) != 0);
	/* A whole zone that is not accepted. */
	assert_true(journal_fixture_send(journal, 2, 0, 7, 50) != 0);
	journal_fixture_wait(journal, &done);
	assert_true(journal_fixture_commit(journal, 2, 6, 8, 50) != 0);
	expect_chain(2, 0, "0-5 5-6 6-8");
	expect_chain(2, 5, "5-6 6-8");
	assert_true(journal_fixture_commit(journal, 2, 8, 10, 50) != 0);
	expect_chain(2, 0, "0-5 5-6 6-8 8-10");
	end();
}

/* ---- entries go */

static void
accepted_whole_zone_replaces_what_was(void **state)
{
	struct journal_done done;
	uint64_t id;

	begin(0);
	assert_true(journal_fixture_commit(journal, 1, 0, 10, 3 * MIB) != 0);
	assert_true(journal_fixture_commit(journal, 1, 10, 11, 50) != 0);
	id = journal_fixture_send(journal, 1, 0, 20, 2 * MIB);
	journal_fixture_wait(journal, &done);
	/* A chain without the new entry remains until the entry is accepted. */
	look();
	assert_string_equal(chain_of(1, 0, 0), "0-20");
	assert_string_equal(chain_of(1, 0, id), "0-10 10-11");
	journal_index_close(index_);
	journal_accept(journal, done.apex, id);
	settle();
	assert_int_equal(count_files("zone"), 1);
	look();
	assert_string_equal(chain_of(1, 0, 0), "0-20");
	assert_string_equal(chain_of(1, 0, id), "none");
	journal_index_close(index_);
	end();
}

static void
refused_entry_leaves_what_was(void **state)
{
	struct journal_done done;
	uint64_t id;

	begin(0);
	assert_true(journal_fixture_commit(journal, 1, 0, 10, 50) != 0);
	id = journal_fixture_send(journal, 1, 0, 20, 2 * MIB);
	journal_fixture_wait(journal, &done);
	assert_true(journal_fixture_send(journal, 1, 20, 21, 60) != 0);
	journal_refuse(journal, journal_fixture_apex(1), id);
	journal_fixture_wait(journal, &done);
	assert_int_equal(done.err, NSD_E_NOT_FOUND);
	settle();
	expect_chain(1, 0, "0-10");
	reopen(0);
	expect_chain(1, 0, "0-10");
	assert_int_equal(count_files("zone"), 0);
	end();
}

static void
zone_file_makes_entries_needless(void **state)
{
	struct journal_entry oldest;

	begin(0);
	for (uint32_t i = 1; i < 5; i++)
		assert_true(journal_fixture_commit(journal, 1, i, i + 1, 50)
			!= 0);
	assert_true(journal_find_oldest(journal, journal_fixture_apex(1),
		&oldest));
	assert_int_equal(oldest.from, 1);
	assert_false(journal_forget(journal, journal_fixture_apex(1), 77));
	assert_false(journal_forget(journal, journal_fixture_apex(2), 3));
	assert_true(journal_forget(journal, journal_fixture_apex(1), 3));
	assert_true(journal_find_oldest(journal, journal_fixture_apex(1),
		&oldest));
	assert_int_equal(oldest.from, 3);
	settle();
	expect_chain(1, 3, "3-4 4-5");
	expect_chain(1, 2, "none");
	reopen(0);
	expect_chain(1, 3, "3-4 4-5");
	expect_chain(1, 2, "none");
	assert_true(journal_forget(journal, journal_fixture_apex(1), 5));
	assert_false(journal_find_oldest(journal, journal_fixture_apex(1),
		&oldest));
	settle();
	expect_chain(1, 5, "none");
	end();
}

/* ---- zone files */

static void
entry_of_a_serial_and_where_it_came_from(void **state)
{
	struct journal_end ends = {.kind = JOURNAL_DIFFS, .from = 3, .to = 4,
		.source = "192.0.2.1 TSIG verified with key k"};
	char source[JOURNAL_SOURCE_MAX + 1];
	struct journal_transfer *transfer;
	struct journal_entry entry;
	struct journal_done done;

	begin(0);
	assert_false(journal_find_serial(journal, journal_fixture_apex(1), 3,
		&entry));
	assert_true(journal_fixture_commit(journal, 1, 0, 3, 2 * MIB) != 0);
	transfer = journal_begin(journal, journal_fixture_apex(1));
	assert_int_equal(journal_put(transfer, "x", 1), NSD_OK);
	assert_true(journal_end(transfer, &ends) != 0);
	journal_fixture_wait(journal, &done);
	assert_int_equal(done.err, NSD_OK);
	assert_true(journal_fixture_commit(journal, 1, 4, 5, 50) != 0);
	assert_true(journal_find_serial(journal, journal_fixture_apex(1), 4,
		&entry));
	assert_true(entry.id == done.id && entry.from == 3);
	assert_int_equal(journal_read_source(journal, journal_fixture_apex(1),
		entry.id, source), NSD_OK);
	assert_string_equal(source, ends.source);
	assert_true(journal_find_serial(journal, journal_fixture_apex(1), 3,
		&entry));
	assert_int_equal(entry.kind, JOURNAL_WHOLE);
	assert_int_equal(journal_read_source(journal, journal_fixture_apex(1),
		entry.id, source), NSD_OK);
	assert_int_equal(journal_read_source(journal, journal_fixture_apex(1),
		77, source), NSD_E_NOT_FOUND);
	end();
}

static bool
went_back(unsigned zone, uint32_t serial)
{
	return journal_index_went_back(index_, journal_fixture_apex(zone),
		serial);
}

/* A forced transfer goes back: the versions that it replaces are out of
 * date. */
static void
way_back_is_remembered(void **state)
{
	const struct journal_end back = {.kind = JOURNAL_WHOLE, .to = 20,
		.is_back = true, .from = UINT32_MAX};
	struct journal_transfer *transfer;
	struct journal_done done;

	begin(0);
	assert_true(journal_fixture_commit(journal, 1, 0, UINT32_MAX, 50) != 0);
	transfer = journal_begin(journal, journal_fixture_apex(1));
	assert_int_equal(journal_put(transfer, "x", 1), NSD_OK);
	assert_true(journal_end(transfer, &back) != 0);
	journal_fixture_wait(journal, &done);
	assert_true(journal_fixture_commit(journal, 1, 20, 21, 50) != 0);
	assert_true(journal_fixture_commit(journal, 2, 0, 21, 50) != 0);
	for (int i = 0; i < 2; i++) {
		look();
		assert_true(went_back(1, UINT32_MAX));
		assert_true(went_back(1, UINT32_MAX - 1));
		assert_false(went_back(1, 0));
		assert_false(went_back(2, 20));
		assert_false(went_back(3, 20));
		journal_index_close(index_);
		reopen(0);
	}
	/* A file of it ends that. */
	assert_true(journal_forget(journal, journal_fixture_apex(1), 20));
	settle();
	look();
	assert_false(went_back(1, UINT32_MAX));
	journal_index_close(index_);
	end();
}

static bool
keeps_even(void *ctx, const uint8_t *apex)
{
	++*(unsigned *)ctx;
	for (unsigned i = 0; i < 300; i += 2)
		if (name_equal(apex, journal_fixture_apex(i)))
			return true;
	return false;
}

static void
zones_that_nobody_keeps_are_dropped(void **state)
{
	unsigned asked = 0;

	begin(64 * KIB);
	for (unsigned i = 0; i < 300; i++)
		assert_true(journal_fixture_commit(journal, i, 0, 5, 300)
			!= 0);
	assert_int_equal(journal_drop_others(journal, keeps_even, &asked),
		150);
	assert_int_equal(asked, 300);
	settle();
	reopen(64 * KIB);
	for (unsigned i = 0; i < 300; i++)
		expect_chain(i, 0, i % 2 == 0 ? "0-5" : "none");
	end();
}

static void
dropped_zone_has_no_entries(void **state)
{
	struct journal_transfer *transfer;
	struct journal_end done_end = {.kind = JOURNAL_WHOLE, .to = 5};
	struct journal_done done;
	uint64_t id;

	begin(0);
	assert_true(journal_fixture_commit(journal, 1, 0, 10, 2 * MIB) != 0);
	transfer = journal_begin(journal, journal_fixture_apex(1));
	assert_int_equal(journal_put(transfer, "x", 1), NSD_OK);
	assert_true(journal_fixture_send(journal, 1, 10, 11, 500) != 0);
	journal_drop(journal, journal_fixture_apex(1));
	id = journal_end(transfer, &done_end);
	for (int i = 0; i < 2; i++) {
		journal_fixture_wait(journal, &done);
		assert_int_equal(done.err, NSD_E_NOT_FOUND);
	}
	assert_true(done.id == id);
	settle();
	expect_chain(1, 0, "none");
	reopen(0);
	expect_chain(1, 0, "none");
	expect_chain(1, 10, "none");
	assert_int_equal(count_files("zone"), 0);
	end();
}

/* ---- disk use */

static void
segments_without_live_entries_go(void **state)
{
	struct journal_usage usage;

	begin(64 * KIB);
	for (uint32_t i = 1; i < 400; i++) {
		assert_true(journal_fixture_commit(journal, 1, i, i + 1, 5000)
			!= 0);
		(void)journal_forget(journal, journal_fixture_apex(1), i);
	}
	settle();
	journal_get_usage(journal, &usage);
	assert_true(usage.segments <= 3);
	assert_true(usage.disk_octets <= 3 * 70 * KIB);
	assert_true(count_files("seg") <= 4);
	expect_chain(1, 399, "399-400");
	end();
}

/* A zone that nobody writes to a file is in the oldest segment; what comes and
 * goes after it does not make the journal grow. */
static void
what_lives_in_the_oldest_segment_moves(void **state)
{
	struct journal_usage usage;

	begin(64 * KIB);
	assert_true(journal_fixture_commit(journal, 5, 0, 3, 3000) != 0);
	assert_true(journal_fixture_commit(journal, 6, 0, 3, 2 * MIB) != 0);
	assert_true(journal_fixture_commit(journal, 5, 3, 4, 20 * KIB) != 0);
	for (uint32_t i = 1; i < 800; i++) {
		assert_true(journal_fixture_commit(journal, 1, i, i + 1, 5000)
			!= 0);
		(void)journal_forget(journal, journal_fixture_apex(1), i);
		journal_get_usage(journal, &usage);
		/* The bound of journal.h, and a segment until it is gone. */
		assert_true(usage.disk_octets <= 3 * usage.live_octets
			+ 6 * 70 * KIB);
		assert_true(usage.segments < 12);
	}
	settle();
	look();
	assert_string_equal(chain_of(5, 0, 0), "0-3 3-4");
	assert_string_equal(chain_of(6, 0, 0), "0-3");
	assert_true(journal_index_newest(index_, journal_fixture_apex(5))
		->segment > 10);
	journal_index_close(index_);
	reopen(64 * KIB);
	expect_chain(5, 0, "0-3 3-4");
	expect_chain(6, 0, "0-3");
	assert_string_equal(told.text, "");
	end();
}

/* ---- the lock */

static void
one_writer_at_a_time(void **state)
{
	int status;
	pid_t pid;

	begin(0);
	assert_true(journal_fixture_commit(journal, 1, 0, 3, 300) != 0);
	pid = fork();
	if (pid == 0) {
		const struct journal_options options = {.path = folder};
		struct journal *second;

		_exit(journal_open(&options, NULL, &second) == NSD_E_SYSTEM
			&& errno == EWOULDBLOCK ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* A reader may look meanwhile. */
	expect_chain(1, 0, "0-3");
	end();
}

static void
folder_is_for_its_owner(void **state)
{
	char path[128];
	struct stat st;
	const struct journal_options nowhere = {.path = "/nonexistent/x"};
	struct journal *inner;

	begin(0);
	snprintf(path, sizeof(path), "%s/sub", folder);
	inner = journal_fixture_open(path, 0, NULL);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	journal_close(inner);
	journal_fixture_remove(path);
	assert_int_equal(journal_open(&nowhere, NULL, &inner), NSD_E_SYSTEM);
	assert_int_equal(errno, ENOENT);
	end();
}

/* The error names the file that cannot be opened or removed, not the folder. */
static void
file_that_is_why_is_told(void **state)
{
	static const char *const names[] = {"lock", "0000000007.tmp"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct journal_options options = {.path = folder};
		char path[128], text[128];
		struct journal *none;

		journal_fixture_folder(folder);
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		assert_int_equal(mkdir(path, 0700), 0);
		told.text[0] = '\0';
		assert_int_equal(journal_open(&options, &told.sink, &none),
			NSD_E_SYSTEM);
		assert_int_equal(errno, EISDIR);
		snprintf(text, sizeof(text), "%s: %s\n", names[i],
			strerror(EISDIR));
		assert_string_equal(told.text, text);
		assert_int_equal(rmdir(path), 0);
		journal_fixture_remove(folder);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_all_lengths_come_back),
		cmocka_unit_test(text_lies_in_one_piece),
		cmocka_unit_test(abandoned_text_leaves_nothing),
		cmocka_unit_test(many_transfers_share_a_sync),
		cmocka_unit_test(chain_leads_from_what_is_there),
		cmocka_unit_test(chain_passes_over_what_does_not_follow),
		cmocka_unit_test(
			chain_leads_to_the_newest_entry_that_it_can_reach),
		cmocka_unit_test(accepted_whole_zone_replaces_what_was),
		cmocka_unit_test(refused_entry_leaves_what_was),
		cmocka_unit_test(zone_file_makes_entries_needless),
		cmocka_unit_test(entry_of_a_serial_and_where_it_came_from),
		cmocka_unit_test(way_back_is_remembered),
		cmocka_unit_test(zones_that_nobody_keeps_are_dropped),
		cmocka_unit_test(dropped_zone_has_no_entries),
		cmocka_unit_test(segments_without_live_entries_go),
		cmocka_unit_test(what_lives_in_the_oldest_segment_moves),
		cmocka_unit_test(one_writer_at_a_time),
		cmocka_unit_test(folder_is_for_its_owner),
		cmocka_unit_test(file_that_is_why_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
