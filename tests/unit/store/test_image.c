/* test_image.c - a store in a named file: kept over a clean stop, and never
 * used when anything is wrong with it. */
#include "config.h"
#include "store/writer.h"

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
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/store/image_fixture.h"

/* Where header fields lie: doc/store.md. */
enum field { AT_LAYOUT = 8, AT_MACHINE = 32, AT_CLEAN = 48, AT_END = 208 };

/* A file of these octets is not served from; nothing else is left behind. */
static void
expect_rebuilt(const void *data, size_t len, enum store_file_state state)
{
	struct store *store;
	ino_t before;

	file_write(data, len);
	before = file_inode();
	store = open_expect(state);
	assert_int_not_equal(file_inode(), before);
	check_empty(store);
	store_destroy(store);
}

/* ---- kept */

static void
image_survives_a_clean_stop(void **state)
{
	uint64_t epoch = 0;

	make_image();
	for (int round = 0; round < 8; round++) {
		struct store *store = open_expect(STORE_FILE_ATTACHED);
		struct store_writer *writer = writer_open(store);
		struct store_stats stats;

		check_contents(writer);
		store_get_stats(writer, &stats);
		assert_true(stats.epoch >= epoch);
		epoch = stats.epoch;
		for (int i = 0; i < round; i++)
			fill(writer);
		/* Retired objects are free in the image. */
		assert_int_equal(store_writer_close_clean(writer), NSD_OK);
		store_destroy(store);
	}
}

/* Looking at it does not make it unclean; changing it does. */
static void
image_is_unclean_from_the_first_writer_on(void **state)
{
	struct store *store;
	ino_t before;

	file_write(image, image_len);
	before = file_inode();
	store_destroy(open_expect(STORE_FILE_ATTACHED));
	store = open_expect(STORE_FILE_ATTACHED);
	assert_int_equal(file_inode(), before);
	store_writer_close(writer_open(store));
	store_destroy(store);
	store = open_expect(STORE_FILE_UNCLEAN);
	check_empty(store);
	store_destroy(store);
}

static void
image_of_a_killed_writer_is_not_used(void **state)
{
	for (int i = 0; i < 40; i++) {
		struct store *store;
		int status;
		pid_t pid;

		file_write(image, image_len);
		store = open_expect(STORE_FILE_ATTACHED);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct store_writer *writer;

			if (store_writer_open(store, &writer) != NSD_OK)
				_exit(1);
			raise(SIGSTOP);
			for (;;) {
				fill(writer);
				store_reclaim(writer);
			}
		}
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		assert_true(WIFSTOPPED(status));
		kill(pid, SIGCONT);
		usleep((useconds_t)(rng_next() % 2000));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		store_destroy(store);
		store_destroy(open_expect(STORE_FILE_UNCLEAN));
	}
}

/* ---- altered */

/* Octets of spans without objects, and bitmaps of spans that do not exist yet,
 * do not count. */
static bool
octet_counts(size_t at)
{
	size_t spans = (image_len - DATA_AT) / SPAN;
	const uint8_t *bitmap = image + PAGE + (at - DATA_AT) / SPAN * 1024;

	if (at < DATA_AT)
		return at < PAGE + spans * 1024;
	return bitmap[0] != 0 || memcmp(bitmap, bitmap + 1, 1023) != 0;
}

static void
image_cut_anywhere_is_noticed(void **state)
{
	static const uint8_t zeros[PAGE];
	bool counts = false;
	uint8_t *cut;

	/* The whole image is accepted. */
	file_write(image, image_len);
	store_destroy(open_expect(STORE_FILE_ATTACHED));
	for (size_t len = PAGE; len < image_len; len += PAGE)
		expect_rebuilt(image, len, STORE_FILE_LENGTH);
	for (size_t len = 1; len < PAGE; len = len * 2 + 1)
		expect_rebuilt(image, len, STORE_FILE_LENGTH);
	expect_rebuilt(image, image_len - 1, STORE_FILE_LENGTH);
	cut = calloc(1, image_len + 1);
	assert_non_null(cut);
	memcpy(cut, image, image_len);
	expect_rebuilt(cut, image_len + 1, STORE_FILE_LENGTH);
	/* Cut and filled up with zeros: the end of what is used. */
	for (size_t len = image_len - PAGE; len > DATA_AT; len -= PAGE) {
		bool page_counts = octet_counts(len)
			&& memcmp(cut + len, zeros, PAGE) != 0;

		memset(cut + len, 0, image_len - len);
		counts = counts || page_counts;
		if (counts)
			expect_rebuilt(cut, image_len, STORE_FILE_ALTERED);
	}
	assert_true(counts);
	memset(cut, 0, image_len);
	expect_rebuilt(cut, image_len, STORE_FILE_UNCLEAN);
	free(cut);
}

/* A store that can be attached to has all that it had; any other is not. */
static bool
open_with_flip(size_t at, unsigned bit)
{
	struct store_file_report report;
	struct store *store = NULL;
	struct store_writer *writer;
	uint8_t octet = (uint8_t)(image[at] ^ 1u << bit);
	int fd;

	file_write(image, image_len);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &octet, 1, (off_t)at), 1);
	close(fd);
	if (open_at(path, CONTENTS, &store, &report) == NSD_OK) {
		writer = writer_open(store);
		check_contents(writer);
		for (int i = 0; i < 100; i++)
			fill(writer);
		store_reclaim(writer);
		check_contents(writer);
		store_writer_close(writer);
		store_destroy(store);
	}
	return report.state != STORE_FILE_ATTACHED;
}

static void
image_with_a_flipped_bit_is_not_used(void **state)
{
	unsigned noticed = 0;

	for (size_t at = 0; at < AT_END; at++)
		assert_true(open_with_flip(at, (unsigned)(rng_next() % 8)));
	for (int i = 0; i < 600; i++) {
		size_t at = (size_t)(rng_next() % image_len);
		bool counts;

		if (i % 3 == 0)
			at = (size_t)(rng_next() % (4 * PAGE));
		if (i % 3 == 1)
			at = DATA_AT + at % (image_len - DATA_AT);
		counts = octet_counts(at);
		if (open_with_flip(at, (unsigned)(rng_next() % 8)) != counts)
			fail_msg("octet %zu", at);
		noticed += counts;
	}
	assert_true(noticed > 200);
}

/* After a power cut any page may be as it was before the last stop. */
static void
image_with_old_pages_is_not_used(void **state)
{
	struct store *store;
	struct store_writer *writer;
	uint8_t *old, *new, *mix;
	size_t old_len, new_len;

	file_write(image, image_len);
	store = open_expect(STORE_FILE_ATTACHED);
	writer = writer_open(store);
	fill(writer);
	old = file_read(&old_len);
	fill(writer);
	assert_int_equal(store_writer_close_clean(writer), NSD_OK);
	store_destroy(store);
	new = file_read(&new_len);
	free(image);
	image = new;
	image_len = new_len;
	mix = malloc(new_len);
	assert_non_null(mix);
	for (int i = 0; i < 200; i++) {
		bool differs = false;

		memcpy(mix, new, new_len);
		for (size_t at = PAGE; at < new_len && at < old_len;
			at += PAGE)
			if (rng_next() % 4 == 0) {
				differs = differs
					|| (octet_counts(at)
						&& memcmp(mix + at, old + at,
							   PAGE)
							!= 0);
				memcpy(mix + at, old + at, PAGE);
			}
		file_write(mix, new_len);
		store_destroy(open_expect(differs ? STORE_FILE_ALTERED
						  : STORE_FILE_ATTACHED));
	}
	free(mix);
	free(old);
}

static void
image_of_another_version_is_not_used(void **state)
{
	struct store_file_report report;
	struct store *store;
	uint8_t *copy = malloc(image_len);

	assert_non_null(copy);
	memcpy(copy, image, image_len);
	copy[AT_LAYOUT]++;
	expect_rebuilt(copy, image_len, STORE_FILE_LAYOUT);
	memcpy(copy, image, image_len);
	for (int i = 0; i < 8; i++)
		copy[AT_MACHINE + i] = image[AT_MACHINE + 7 - i];
	expect_rebuilt(copy, image_len, STORE_FILE_MACHINE);
	memcpy(copy, image, image_len);
	memset(copy + AT_CLEAN, 0, 8);
	expect_rebuilt(copy, image_len, STORE_FILE_UNCLEAN);
	free(copy);
	file_write(image, image_len);
	assert_int_equal(open_at(path, CONTENTS + 1, &store, &report), NSD_OK);
	assert_int_equal(report.state, STORE_FILE_LAYOUT);
	check_empty(store);
	store_destroy(store);
}

/* A file whose store was given up, and a store in memory with contents. */
static struct store_writer *
make_successor(struct store **kept, struct store **memory)
{
	struct store_writer *writer;

	file_write(image, image_len);
	*kept = open_expect(STORE_FILE_ATTACHED);
	store_writer_close(writer_open(*kept));
	(void)store_keep_file(*kept);
	assert_int_equal(store_create(&options, memory), NSD_OK);
	writer = writer_open(*memory);
	for (int i = 0; i < 3; i++)
		fill(writer);
	return writer;
}

static void
store_in_memory_goes_to_the_file_of_one_given_up(void **state)
{
	struct store *kept, *memory, *store;
	struct store_writer *writer = make_successor(&kept, &memory);
	struct store_file_report report;

	/* Still locked, and not to be used until it is closed. */
	assert_int_equal(open_at(path, CONTENTS, &store, &report),
		NSD_E_DENIED);
	assert_int_equal(report.state, STORE_FILE_IN_USE);
	assert_int_equal(store_writer_close_into(writer, store_keep_file(kept),
		CONTENTS), NSD_OK);
	store_destroy(kept);
	store_destroy(memory);
	store = open_expect(STORE_FILE_ATTACHED);
	writer = writer_open(store);
	check_contents(writer);
	fill(writer);
	assert_int_equal(store_writer_close_clean(writer), NSD_OK);
	store_destroy(store);
	store_destroy(open_expect(STORE_FILE_ATTACHED));
}

/* As on a full disk. */
static void
file_that_cannot_be_filled_stays_unclean(void **state)
{
	struct rlimit limit, low;
	struct store *kept, *memory;
	struct store_writer *writer = make_successor(&kept, &memory);

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	low = limit;
	low.rlim_cur = DATA_AT + 10000;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(store_writer_close_into(writer, store_keep_file(kept),
		CONTENTS), NSD_E_SYSTEM);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	store_destroy(kept);
	store_destroy(memory);
	store_destroy(open_expect(STORE_FILE_UNCLEAN));
}

/* A clean stop does not make good what somebody has cut off meanwhile. */
static void
image_cut_before_a_clean_stop_is_not_used(void **state)
{
	struct store *store;
	struct store_writer *writer;
	struct stat st;

	file_write(image, image_len);
	store = open_expect(STORE_FILE_ATTACHED);
	writer = writer_open(store);
	fill(writer);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - PAGE), 0);
	errno = 0;
	assert_int_equal(store_writer_close_clean(writer), NSD_E_SYSTEM);
	assert_int_equal(errno, ENODATA);
	store_destroy(store);
	store_destroy(open_expect(STORE_FILE_UNCLEAN));
}

/* Thousands of replacements, and each is flushed: not to a disk, please. */
static int
setup(void **state)
{
	if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
		return image_setup_in("/dev/shm");
	return image_setup(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(image_survives_a_clean_stop),
		cmocka_unit_test(image_is_unclean_from_the_first_writer_on),
		cmocka_unit_test(image_of_a_killed_writer_is_not_used),
		cmocka_unit_test(image_cut_anywhere_is_noticed),
		cmocka_unit_test(image_with_a_flipped_bit_is_not_used),
		cmocka_unit_test(image_with_old_pages_is_not_used),
		cmocka_unit_test(image_of_another_version_is_not_used),
		cmocka_unit_test(
			store_in_memory_goes_to_the_file_of_one_given_up),
		cmocka_unit_test(file_that_cannot_be_filled_stays_unclean),
		cmocka_unit_test(image_cut_before_a_clean_stop_is_not_used),
	};

	return cmocka_run_group_tests(tests, setup, image_teardown);
}
