/* test_damage.c - damage is reported, skipped, and never trusted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/format.h"
#include "lib/journal_fixture.h"

#define ENTRIES 20u

static char folder[JOURNAL_FIXTURE_PATH];
static struct journal_fixture_told told = {
	.sink = {.on_diag = journal_fixture_on_diag},
};
static uint8_t *segment; /* the first one, as it was */
static size_t segment_len;

static void
put_segment(const char *name, const uint8_t *data, size_t len)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void
remove_segment(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

/* A folder with a segment of entries 1 to ENTRIES, of a zone each. */
static void
begin(void)
{
	char path[64];
	struct journal *journal;
	struct stat st;
	int fd;

	journal_fixture_folder(folder);
	journal = journal_fixture_open(folder, 0, NULL);
	for (unsigned i = 1; i <= ENTRIES; i++)
		assert_true(journal_fixture_commit(journal, i, 0, i, 100 * i)
			== i);
	journal_close(journal);
	snprintf(path, sizeof(path), "%s/0000000001.seg", folder);
	fd = open(path, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	segment_len = (size_t)st.st_size;
	segment = malloc(segment_len);
	assert_true(read(fd, segment, segment_len) == (ssize_t)segment_len);
	close(fd);
	told.text[0] = '\0';
}

static void
end(void)
{
	free(segment);
	journal_fixture_remove(folder);
}

/* How many entries a reader finds; each is whole. */
static unsigned
count_whole(void)
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
		count++;
	}
	assert_true(journal_index_count(index) == count);
	journal_index_close(index);
	close(dirfd);
	return count;
}

/* A wrong octet anywhere costs one entry, and the others are found. */
static void
damage_costs_one_entry(void **state)
{
	begin();
	for (size_t at = FORMAT_SEGMENT_HEAD; at < segment_len; at += 13) {
		segment[at] ^= 0x10;
		put_segment("0000000001.seg", segment, segment_len);
		/* A second one, so that the first one is not torn. */
		put_segment("0000000002.seg", segment, 0);
		told.text[0] = '\0';
		assert_int_equal(count_whole(), ENTRIES - 1);
		assert_non_null(strstr(told.text, "0000000001.seg: journal: "));
		segment[at] ^= 0x10;
	}
	end();
}

static void
damaged_head_costs_the_segment(void **state)
{
	begin();
	for (size_t at = 0; at < FORMAT_SEGMENT_HEAD; at++) {
		segment[at] ^= 0x10;
		put_segment("0000000001.seg", segment, segment_len);
		put_segment("0000000002.seg", segment, 0);
		told.text[0] = '\0';
		assert_int_equal(count_whole(), 0);
		assert_string_equal(told.text, "0000000001.seg: journal: not a "
			"segment; it is skipped\n");
		segment[at] ^= 0x10;
	}
	end();
}

/* The end is torn at any place: a reader is silent, a writer tells and cuts,
 * and what it appends is found. */
static void
torn_end_is_cut_off(void **state)
{
	begin();
	for (size_t len = segment_len - 1; len > 0; len -= len < 80 ? 1 : 77) {
		struct journal *journal;
		unsigned count;

		put_segment("0000000001.seg", segment, len);
		told.text[0] = '\0';
		count = count_whole();
		assert_true(count < ENTRIES);
		assert_string_equal(told.text, "");
		journal = journal_fixture_open(folder, 0, &told.sink);
		assert_true(journal_fixture_commit(journal, 20, 0, 20, 200)
			== (count > 0 ? count + 1 : 1));
		journal_close(journal);
		assert_int_equal(count_whole(), count + 1);
		if (len < FORMAT_SEGMENT_HEAD) {
			assert_string_equal(told.text, "0000000001.seg: "
				"journal: not begun; it is removed\n");
			remove_segment("0000000002.seg");
		}
	}
	end();
}

/* A record that stands where it was not written, as of another file. */
static void
record_of_another_place_is_not_trusted(void **state)
{
	static uint8_t moved[100000];

	begin();
	memcpy(moved, segment, segment_len);
	memmove(moved + FORMAT_SEGMENT_HEAD + 32, moved + FORMAT_SEGMENT_HEAD,
		segment_len - FORMAT_SEGMENT_HEAD);
	put_segment("0000000001.seg", moved, segment_len + 32);
	assert_int_equal(count_whole(), 0);
	/* The whole segment under another number. */
	put_segment("0000000001.seg", segment, segment_len);
	put_segment("0000000007.seg", segment, segment_len);
	assert_int_equal(count_whole(), ENTRIES);
	end();
}

/* The text of a transfer is a record, right in all but the salt, and the
 * record that it is in is damaged. */
static void
text_is_not_taken_for_a_record(void **state)
{
	_Alignas(8) uint8_t fake[512] = {0};
	static uint8_t data[4096];
	struct format_head head = {.record = FORMAT_DEAD, .last = 100};
	const struct journal_end said = {.kind = JOURNAL_WHOLE, .to = 1};
	const uint8_t salt[FORMAT_SALT] = {0};
	struct journal_transfer *transfer;
	struct journal_done done;
	struct journal *journal;
	uint64_t text_at;
	char path[64];
	int fd;

	begin();
	journal = journal_fixture_open(folder, 0, NULL);
	/* The forged head's text will follow a head of this length. */
	memcpy(head.apex, journal_fixture_apex(3), 4);
	text_at = segment_len + format_pad(FORMAT_RECORD_HEAD + 4);
	head.entry.segment = 1;
	head.entry.offset = text_at;
	format_put_head(fake, &head, salt);
	transfer = journal_begin(journal, journal_fixture_apex(4));
	assert_int_equal(journal_put(transfer, fake, 160), NSD_OK);
	(void)!journal_end(transfer, &said);
	journal_fixture_wait(journal, &done);
	assert_int_equal(done.err, NSD_OK);
	assert_true(done.entry.offset + done.entry.head_len == text_at);
	journal_close(journal);
	assert_int_equal(done.entry.segment, 1);
	snprintf(path, sizeof(path), "%s/0000000001.seg", folder);
	fd = open(path, O_RDWR);
	assert_true(pread(fd, data, 1, (off_t)segment_len + 50) == 1);
	data[0] ^= 1;
	assert_true(pwrite(fd, data, 1, (off_t)segment_len + 50) == 1);
	close(fd);
	assert_int_equal(count_whole(), ENTRIES);
	end();
}

static void
damaged_file_is_found_by_its_reader(void **state)
{
	static const off_t places[] = {0, 70000, 131072, 1100000, 1100031,
		1100040, 1100280};
	char path[64];
	struct journal *journal;
	int dirfd, fd;

	begin();
	journal = journal_fixture_open(folder, 0, NULL);
	assert_true(journal_fixture_commit(journal, 1, 0, 7, 1100000) == 21);
	journal_close(journal);
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/0000000021.zone", folder);
	fd = open(path, O_RDWR);
	assert_true(fd != -1);
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct journal_index *index;
		const struct journal_entry *entry;
		uint8_t octet;

		assert_true(pread(fd, &octet, 1, places[i]) == 1);
		octet ^= 4;
		assert_true(pwrite(fd, &octet, 1, places[i]) == 1);
		assert_int_equal(journal_index_open(dirfd, &told.sink, &index),
			NSD_OK);
		entry = journal_index_newest(index, journal_fixture_apex(1));
		assert_false(journal_fixture_check(dirfd, entry, 1));
		octet ^= 4;
		assert_true(pwrite(fd, &octet, 1, places[i]) == 1);
		assert_true(journal_fixture_check(dirfd, entry, 1));
		journal_index_close(index);
	}
	/* A text file that is cut or missing is no entry. */
	told.text[0] = '\0';
	assert_int_equal(ftruncate(fd, 1100000), 0);
	close(fd);
	close(dirfd);
	assert_int_equal(count_whole(), ENTRIES - 1);
	assert_string_equal(told.text, "0000000021.zone: journal: missing or "
		"not whole; what it held is lost\n");
	end();
}

/* Other files in the folder: links, folders, names that are nearly right. */
static void
other_files_are_left_alone(void **state)
{
	begin();
	put_segment("1.seg", segment, segment_len);
	put_segment("0000000002.seg~", segment, segment_len);
	put_segment("00000000003.seg", segment, segment_len);
	put_segment("9999999999.seg", segment, segment_len);
	journal_close(journal_fixture_open(folder, 0, &told.sink));
	assert_int_equal(count_whole(), ENTRIES);
	assert_string_equal(told.text, "");
	end();
}

/* The contents of that segment are lost; the journal goes on in another one. */
static void
segment_that_is_no_file_is_skipped(void **state)
{
	struct journal *journal;
	char path[64];

	begin();
	snprintf(path, sizeof(path), "%s/0000000001.seg", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("1.seg", path), 0);
	snprintf(path, sizeof(path), "%s/0000000002.seg", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	journal = journal_fixture_open(folder, 0, &told.sink);
	assert_string_equal(told.text,
		"0000000001.seg: journal: this is no file: it is skipped\n"
		"0000000002.seg: journal: this is no file: it is skipped\n");
	assert_true(journal_fixture_commit(journal, 1, 0, 1, 100) != 0);
	journal_close(journal);
	assert_int_equal(count_whole(), 1);
	assert_int_equal(rmdir(path), 0);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_costs_one_entry),
		cmocka_unit_test(damaged_head_costs_the_segment),
		cmocka_unit_test(torn_end_is_cut_off),
		cmocka_unit_test(record_of_another_place_is_not_trusted),
		cmocka_unit_test(text_is_not_taken_for_a_record),
		cmocka_unit_test(damaged_file_is_found_by_its_reader),
		cmocka_unit_test(other_files_are_left_alone),
		cmocka_unit_test(segment_that_is_no_file_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
