/* test_load_update.c - the octets of a message are taken as a whole or not at
 * all, and what they are is what is in memory. */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "dns/name.h"
#include "lib/one_fixture.h"
#include "loader/load_update.h"
#include "store/writer.h"

#define SMALL 1000u
#define AT_ONCE (LOAD_UPDATE_AT_ONCE - 1000u)
#define TAKES 20000u

static const uint8_t head[] = {LOAD_UPDATE_DIFFS, 7, 'e', 'x', 'a', 'm', 'p',
	'l', 'e', 0};

/* A file with so many octets, in memory that this process may write. */
static int
make_file(size_t len, uint8_t **octets)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_int_not_equal(fd, -1);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	*octets = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(*octets != MAP_FAILED);
	memcpy(*octets, head, sizeof(head));
	return fd;
}

static enum nsd_err
take(int fd, size_t len, struct load_change *change)
{
	const struct load_text text = {.fd = fd, .len = len};
	uint8_t apex[NAME_MAX_LEN];

	*change = (struct load_change){.text = {.fd = -1}};
	return load_update_take(f.view, &text, change, apex);
}

static void
octets_are_taken(void **state)
{
	static const size_t sizes[] = {sizeof(head), SMALL, AT_ONCE,
		LOAD_UPDATE_AT_ONCE + 1000u};
	struct load_change change;
	uint8_t *octets;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int fd = make_file(sizes[i], &octets);

		assert_int_equal(take(fd, sizes[i], &change), NSD_OK);
		assert_int_equal(change.kind, LOAD_UPDATE_DIFFS);
		if (sizes[i] <= LOAD_UPDATE_AT_ONCE) {
			assert_int_equal(change.len, sizes[i]);
			assert_memory_equal(change.data, octets, sizes[i]);
		}
		assert_int_equal(load_change_is_text(&change),
			sizes[i] > LOAD_UPDATE_AT_ONCE);
		load_wait_free(&change);
		munmap(octets, sizes[i]);
		close(fd);
	}
}

/* A disk that fails says so in the midst; whoever was taken over may say any
 * length. Then the change owns nothing. */
static void
a_file_with_fewer_octets_gives_nothing(void **state)
{
	static const size_t sizes[] = {SMALL, AT_ONCE};
	struct load_change change;
	uint8_t *octets;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int fd = make_file(sizes[i], &octets);

		assert_int_equal(take(fd, sizes[i] + 1, &change),
			NSD_E_SYSTEM);
		assert_null(change.data);
		load_wait_free(&change);
		munmap(octets, sizes[i]);
		close(fd);
	}
}

/* ---- how many octets of differences -------------------------------------- */

/* A transfer that brings more ends, and the whole zone is asked for. The bound
 * of a large zone is in proportion to its records. */
static void
a_large_zone_takes_more_differences(void **state)
{
	static const struct {
		uint64_t records;
		size_t len;
		enum nsd_err err;
	} rows[] = {
		{0, LOAD_UPDATE_DIFFS_MAX, NSD_OK},
		{0, LOAD_UPDATE_DIFFS_MAX + 1, NSD_E_LIMIT},
		{2000000, LOAD_UPDATE_DIFFS_MAX + 1, NSD_E_LIMIT},
		{20000000, LOAD_UPDATE_DIFFS_MAX + 1, NSD_OK},
		{20000000, 100000000, NSD_OK},
		{20000000, 100000001, NSD_E_LIMIT},
	};
	struct load_change change;
	store_ref entry, zone;
	uint8_t *octets;

	assert_int_equal(zone_fixture_load(&f, "example",
				 "@ 60 SOA . . 1 2 3 4 5\n@ 60 NS ns\n"
				 "ns 60 A 192.0.2.1\n", &entry), NSD_OK);
	zone = ((const struct zone_entry *)store_get(f.view, entry))->zone;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int fd = make_file(rows[i].len, &octets);

		((struct zone *)store_edit(store_writer_heap(f.writer),
			zone))->rr_count
			= rows[i].records;
		assert_int_equal(take(fd, rows[i].len, &change), rows[i].err);
		load_wait_free(&change);
		munmap(octets, rows[i].len);
		close(fd);
	}
}

static void
a_zone_that_is_not_served_takes_few_differences(void **state)
{
	struct load_change change;
	uint8_t *octets;
	int fd = make_file(LOAD_UPDATE_DIFFS_MAX + 1, &octets);

	assert_int_equal(take(fd, LOAD_UPDATE_DIFFS_MAX, &change), NSD_OK);
	load_wait_free(&change);
	assert_int_equal(take(fd, LOAD_UPDATE_DIFFS_MAX + 1, &change),
		NSD_E_LIMIT);
	load_wait_free(&change);
	munmap(octets, LOAD_UPDATE_DIFFS_MAX + 1);
	close(fd);
}

/* ---- a sender that changes its file meanwhile ---------------------------- */

struct changer {
	uint8_t *octets;
	bool over; /* atomic */
};

static void *
change_kind(void *arg)
{
	struct changer *c = arg;

	while (!__atomic_load_n(&c->over, __ATOMIC_RELAXED)) {
		__atomic_store_n(c->octets, LOAD_UPDATE_CHANGE,
			__ATOMIC_RELAXED);
		__atomic_store_n(c->octets, LOAD_UPDATE_DIFFS,
			__ATOMIC_RELAXED);
	}
	return NULL;
}

/* Differences are for zones with primaries alone, changes for test programs:
 * nobody passes off one as the other. */
static void
what_is_taken_is_what_it_is_said_to_be(void **state)
{
	struct changer c = {.over = false};
	struct load_change change;
	unsigned taken = 0;
	pthread_t thread;
	int fd = make_file(AT_ONCE, &c.octets);

	assert_int_equal(pthread_create(&thread, NULL, change_kind, &c), 0);
	for (unsigned i = 0; i < TAKES; i++) {
		if (take(fd, AT_ONCE, &change) == NSD_OK) {
			assert_int_equal(change.data[0], change.kind);
			taken++;
		}
		load_wait_free(&change);
	}
	__atomic_store_n(&c.over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_true(taken > 0);
	munmap(c.octets, AT_ONCE);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(octets_are_taken),
		cmocka_unit_test(a_file_with_fewer_octets_gives_nothing),
		cmocka_unit_test(a_zone_that_is_not_served_takes_few_differences),
		cmocka_unit_test(a_large_zone_takes_more_differences),
		cmocka_unit_test(what_is_taken_is_what_it_is_said_to_be),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
